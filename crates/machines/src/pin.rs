//! Where vCPU threads may run: which CPUs there are, pinning a thread to one, and checking that it
//! is there.

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs;
use std::io;

/// The field of /proc/PID/stat that names the CPU on which the thread ran last (proc(5)).
const STAT_PROCESSOR: usize = 39;

/// Parses a list of CPUs as the kernel and `--pin` write it: `0,2-3`. Keeps its order.
///
/// # Errors
/// The text is not a list; the message shows what one looks like.
pub fn parse(text: &str) -> Result<Vec<u32>, String> {
    let wrong = || format!("\"{text}\" is not a list of CPUs, such as 2,3 or 0,4-7");
    let number = |text: &str| {
        let number = text.trim().parse::<u32>().ok();
        number.filter(|cpu| (*cpu as usize) < CpuSet::MAX_CPU)
    };
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => cpus.extend(first..=last),
            _ => return Err(wrong()),
        }
    }
    Ok(cpus)
}

/// CPUs that the kernel's scheduler does not use (`isolcpus=`) and that we may use.
pub fn isolated() -> Vec<u32> {
    let text = fs::read_to_string("/sys/devices/system/cpu/isolated").unwrap_or_default();
    let mut cpus = parse(&text).unwrap_or_default();
    cpus.retain(|cpu| may_use(*cpu).is_ok());
    cpus
}

/// Tries whether a thread of ours can be pinned to this CPU, on a thread made for that. Reading our
/// own affinity would not do: it leaves out isolated CPUs.
///
/// # Errors
/// There is no such CPU, or a control group forbids it.
pub fn may_use(cpu: u32) -> io::Result<()> {
    let tried = std::thread::spawn(move || pin(rustix::thread::gettid(), cpu)).join();
    tried.unwrap_or_else(|_| Err(io::Error::other("the test thread panicked")))
}

/// The CPUs that a thread may use; without `thread`, the calling thread.
fn allowed_to(thread: Option<Pid>) -> io::Result<Vec<u32>> {
    let set = sched_getaffinity(thread)?;
    let cpus = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu));
    Ok(cpus.filter_map(|cpu| u32::try_from(cpu).ok()).collect())
}

/// Pins a thread to one CPU, and checks that the kernel accepted it.
///
/// # Errors
/// There is no such thread or CPU, or a control group forbids it.
pub fn pin(thread: Pid, cpu: u32) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    sched_setaffinity(Some(thread), &set)?;
    match allowed_to(Some(thread))?.as_slice() {
        [only] if *only == cpu => Ok(()),
        other => Err(io::Error::other(format!(
            "the kernel lets it run on {other:?}"
        ))),
    }
}

/// The value of a result's condition `pinning`.
pub fn condition(pins: &[u32]) -> String {
    match pins {
        [] => "none".into(),
        pins => list(pins),
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
    /// A message if the thread is not where it should be: it may now run elsewhere (somebody
    /// changed its affinity), or it last ran elsewhere. What happened between two checks is not
    /// noticed. Nothing if all is well or the thread is gone.
    pub fn strayed(&self) -> Option<String> {
        let Pinned { vcpu, thread, cpu } = *self;
        let allowed = allowed_to(Some(thread)).ok()?;
        if allowed != [cpu] {
            return Some(format!(
                "vCPU {vcpu} was pinned to CPU {cpu} and may now run on {}",
                list(&allowed)
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
        assert_eq!(list(&[2, 3]), "2,3");
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
            let cpu = allowed_to(None).unwrap()[0];
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
            let before = sched_getaffinity(Some(thread)).unwrap();
            let cpu = allowed_to(None).unwrap()[0];
            pin(thread, cpu).unwrap();
            // It was never on the next CPU, which may not even exist.
            let elsewhere = Pinned {
                vcpu: 1,
                thread,
                cpu: cpu + 1,
            };
            let told = elsewhere.strayed().unwrap();
            assert!(told.contains(&format!("vCPU 1 was pinned to CPU {}", cpu + 1)));
            if before.count() > 1 {
                sched_setaffinity(Some(thread), &before).unwrap();
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

    #[test]
    fn a_cpu_that_is_not_there_is_an_error() {
        assert!(may_use(1000).is_err());
        assert!(may_use(allowed_to(None).unwrap()[0]).is_ok());
    }
}
