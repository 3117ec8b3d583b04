//! Pins vCPU threads to CPUs, and checks that they are there.

use rustix::process::Pid;
use std::fs;
use std::io;
use ws_cpus::list;

/// The field of /proc/PID/stat that names the CPU on which the thread ran last (proc(5)).
const STAT_PROCESSOR: usize = 39;

/// Parses a list of CPUs as `--pin` has it: `0,2-3`. Keeps the list's order. The error shows what a list looks like.
pub fn parse(text: &str) -> Result<Vec<u32>, String> {
    let wrong = || format!("\"{text}\" is not a list of CPUs, such as 2,3 or 0,4-7");
    list::in_order(text).ok_or_else(wrong)
}

/// Pins a thread to one CPU, and checks that the kernel accepted it.
///
/// # Errors
/// There is no such thread or CPU, or a control group forbids it.
pub fn pin(thread: Pid, cpu: u32) -> io::Result<()> {
    ws_cpus::bind(Some(thread), &[cpu].into())
}

/// The value of a result's condition `pinning`.
pub fn condition(pins: &[u32]) -> String {
    match pins {
        [] => "none".into(),
        pins => self::list(pins),
    }
}

/// A vCPU thread and the CPU that it is pinned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pinned {
    pub vcpu: u32,
    pub thread: Pid,
    pub cpu: u32,
}

impl Pinned {
    /// A message if the thread may now run elsewhere (somebody changed its affinity), or last ran elsewhere. A move
    /// between two checks is not noticed. None if the thread is in its place or gone.
    pub fn strayed(&self) -> Option<String> {
        let Pinned { vcpu, thread, cpu } = *self;
        let allowed = ws_cpus::allowed(Some(thread)).ok()?;
        if allowed != [cpu].into() {
            return Some(format!(
                "vCPU {vcpu} was pinned to CPU {cpu} and may now run on {}",
                list::show(&allowed)
            ));
        }
        let id = thread.as_raw_nonzero();
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let ran_on = processor(&stat).filter(|ran_on| *ran_on != cpu)?;
        Some(format!(
            "vCPU {vcpu} was pinned to CPU {cpu} and ran on CPU {ran_on}"
        ))
    }
}

/// The CPU in a line of /proc/PID/stat. The name, field 2, may contain anything and ends at the
/// last parenthesis.
fn processor(stat: &str) -> Option<u32> {
    let (_, rest) = stat.rsplit_once(')')?;
    let field = rest.split_whitespace().nth(STAT_PROCESSOR - 3)?;
    field.parse().ok()
}

/// CPUs as text that [`parse`] accepts.
pub fn list(cpus: &[u32]) -> String {
    let cpus: Vec<String> = cpus.iter().map(ToString::to_string).collect();
    cpus.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_in_their_order() {
        assert_eq!(parse("0"), Ok(vec![0]));
        assert_eq!(parse("3,1"), Ok(vec![3, 1]));
        assert_eq!(parse("0,4-6\n"), Ok(vec![0, 4, 5, 6]));
        assert_eq!(parse("1,1"), Ok(vec![1, 1]));
        for wrong in ["", "a", "1,", "3-1", "-1", "1-", "0x1", "99999999"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(super::list(&[2, 3]), "2,3");
    }

    #[test]
    fn the_processor_is_found_behind_any_name() {
        let mut fields: Vec<String> = (3..=52).map(|n| n.to_string()).collect();
        fields[STAT_PROCESSOR - 3] = "7".into();
        let rest = fields.join(" ");
        assert_eq!(processor(&format!("12 (CPU 0/KVM) {rest}\n")), Some(7));
        assert_eq!(processor(&format!("12 (a) b) ) {rest}")), Some(7));
        assert_eq!(processor("12 (a) R 1"), None);
        assert_eq!(processor(""), None);
    }

    /// The first CPU that this program may use.
    fn first() -> u32 {
        *ws_cpus::allowed(None).unwrap().first().unwrap()
    }

    /// A thread of its own, so that the other tests keep their CPUs.
    fn on_a_thread(test: impl FnOnce(Pid) + Send) {
        std::thread::scope(|scope| {
            let test = scope.spawn(|| test(rustix::thread::gettid()));
            test.join().unwrap();
        });
    }

    #[test]
    fn a_pinned_thread_is_where_it_should_be() {
        on_a_thread(|thread| {
            let cpu = first();
            pin(thread, cpu).unwrap();
            let pinned = Pinned {
                vcpu: 0,
                thread,
                cpu,
            };
            assert_eq!(pinned.strayed(), None);
        });
    }

    #[test]
    fn a_thread_that_somebody_lets_run_elsewhere_is_told() {
        on_a_thread(|thread| {
            let before = ws_cpus::allowed(Some(thread)).unwrap();
            let cpu = first();
            pin(thread, cpu).unwrap();
            // It was never on the next CPU, which may not even exist.
            let elsewhere = Pinned {
                vcpu: 1,
                thread,
                cpu: cpu + 1,
            };
            let told = elsewhere.strayed().unwrap();
            assert!(told.contains(&format!("vCPU 1 was pinned to CPU {}", cpu + 1)));
            if before.len() > 1 {
                ws_cpus::bind(Some(thread), &before).unwrap();
                let told = Pinned {
                    vcpu: 1,
                    thread,
                    cpu,
                }
                .strayed();
                assert!(told.unwrap().contains("may now run on"));
            }
        });
    }
}
