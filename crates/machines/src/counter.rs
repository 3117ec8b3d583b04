//! The host's counter, from which a guest's clock is derived; read to time a guest from outside
//! (`earshot`).
//!
//! One of two places in this crate with `unsafe`; the other is `process`.

/// The unit of [`read`]'s ticks, as result files name it; none if this host's CPU has no supported
/// counter.
pub const UNIT: Option<&str> = if cfg!(target_arch = "x86_64") {
    Some("tsc_ticks")
} else if cfg!(target_arch = "aarch64") {
    Some("cntvct_ticks")
} else {
    None
};

/// Reads the time stamp counter, after all earlier and before all later instructions.
///
/// The fences are those of the guest's own clock, for the same reason (Intel SDM vol. 2B, RDTSC). Without them the CPU
/// may read the counter before the system call that received a byte has returned. It may also execute some of the later
/// instructions first.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
// Newer compilers treat these as safe, as SSE2 is part of x86_64; 1.85 does not.
#[allow(unused_unsafe)]
pub fn read() -> u64 {
    use core::arch::x86_64::{_mm_lfence, _mm_mfence, _rdtsc};
    // SAFETY: MFENCE and LFENCE are SSE2, which every x86_64 CPU has, and only order memory
    // accesses. RDTSC reads a counter; if the system forbids it to programs (CR4.TSD), this program
    // ends with a signal and no memory is harmed.
    unsafe {
        _mm_mfence();
        _mm_lfence();
        let ticks = _rdtsc();
        _mm_lfence();
        ticks
    }
}

/// Reads the virtual counter, after all earlier and before all later instructions: ISB keeps the
/// read from being executed early (Arm ARM, CNTVCT_EL0).
#[cfg(target_arch = "aarch64")]
#[inline(never)]
pub fn read() -> u64 {
    let ticks: u64;
    // SAFETY: reads a counter that Linux lets programs read; no memory and no flag is touched.
    unsafe {
        core::arch::asm!("isb", "mrs {}, cntvct_el0", "isb", out(reg) ticks,
            options(nostack, preserves_flags));
    }
    ticks
}

/// Returns 0: this CPU has no supported counter, so [`UNIT`] is none and nothing is timed.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn read() -> u64 {
    0
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn the_counter_goes_on_with_time() {
        let outer = Instant::now();
        let first = read();
        let inner = Instant::now();
        std::thread::sleep(Duration::from_millis(20));
        let least = inner.elapsed();
        let ticks = (read() - first) as f64;
        let most = outer.elapsed();
        // Every counter in use runs at 1 MHz to 10 GHz. The counter is read between two reads of
        // the clock, so it does not matter how long the thread is preempted.
        assert!(ticks > 1e6 * least.as_secs_f64(), "{ticks} in {least:?}");
        assert!(ticks < 1e10 * most.as_secs_f64(), "{ticks} in {most:?}");
        assert!(UNIT.is_some());
    }

    #[test]
    fn it_never_goes_back() {
        let mut last = read();
        for _ in 0..100_000 {
            let now = read();
            assert!(now >= last);
            last = now;
        }
    }
}
