//! Time for which the host stopped this thread to run other programs on its CPU. No device is charged for that time.
//! Devices are charged for all other time, in which the thread ran or waited for something else.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Shortest time for which the kernel is asked about stops, in ns: that takes a system call.
const SHORT_NS: u64 = 500_000;
/// Time after which the rest counts as a stop if the kernel does not say it, in ns.
const UNKNOWN_NS: u64 = 2_000_000;

pub(super) struct Stops {
    /// File with the thread's CPU time, then the time in which it waited for a CPU. None: this kernel has no such file.
    schedstat: Option<File>,
    seen_ns: u64,
    /// Sum of all stops that were found.
    pub(super) found_ns: u64,
}

impl Stops {
    /// Returns the stops of the calling thread.
    pub(super) fn new() -> Self {
        let schedstat = File::open("/proc/thread-self/schedstat").ok();
        let mut stops = Self {
            schedstat,
            seen_ns: 0,
            found_ns: 0,
        };
        stops.seen_ns = stops.look().unwrap_or(0);
        stops
    }

    fn look(&self) -> Option<u64> {
        let mut text = [0; 64];
        let bytes = self.schedstat.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(&text[..bytes]).ok()?;
        text.split_whitespace().nth(1)?.parse().ok()
    }

    /// Returns how much of the last `passed_ns` were stops, in ns.
    pub(super) fn within(&mut self, passed_ns: u64) -> u64 {
        if passed_ns < SHORT_NS {
            return 0;
        }
        let stopped_ns = match self.look() {
            Some(all_ns) => {
                let before_ns = std::mem::replace(&mut self.seen_ns, all_ns);
                all_ns.saturating_sub(before_ns).min(passed_ns)
            }
            None => passed_ns.saturating_sub(UNKNOWN_NS),
        };
        self.found_ns += stopped_ns;
        stopped_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn what_a_thread_waits_for_itself_is_no_stop() {
        let mut stops = Stops::new();
        assert_eq!(stops.within(SHORT_NS - 1), 0);
        let start = Instant::now();
        std::thread::sleep(Duration::from_millis(50));
        let passed_ns = start.elapsed().as_nanos() as u64;
        // It may wait for a CPU after it.
        let least_ns = passed_ns - 50_000_000;
        assert!(stops.within(passed_ns) <= least_ns + 1_000_000);
    }

    #[test]
    fn threads_that_share_a_cpu_stop_each_other() {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let all = sched_getaffinity(None).unwrap();
        let first = (0..CpuSet::MAX_CPU).find(|&cpu| all.is_set(cpu)).unwrap();
        let busy = move || {
            let mut set = CpuSet::new();
            set.set(first);
            sched_setaffinity(None, &set).unwrap();
            let (mut stops, start) = (Stops::new(), Instant::now());
            while start.elapsed() < Duration::from_millis(200) {}
            let passed_ns = start.elapsed().as_nanos() as u64;
            (passed_ns - stops.within(passed_ns), passed_ns)
        };
        let threads = [std::thread::spawn(busy), std::thread::spawn(busy)];
        let [one, two] = threads.map(|thread| thread.join().unwrap());
        let (ran_ns, passed_ns) = (one.0 + two.0, one.1.max(two.1));
        // Each starts when it can.
        assert!(
            ran_ns <= 2 * passed_ns && ran_ns < 2 * passed_ns - 50_000_000,
            "{one:?} {two:?}"
        );
    }

    #[test]
    fn without_the_kernel_s_word_a_long_time_is_a_stop() {
        let mut stops = Stops {
            schedstat: None,
            seen_ns: 0,
            found_ns: 0,
        };
        assert_eq!(stops.within(UNKNOWN_NS), 0);
        assert_eq!(stops.within(UNKNOWN_NS + 7), 7);
    }
}
