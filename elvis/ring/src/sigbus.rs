//! Containment of SIGBUS: a front-end that truncates its memory file must not kill a process that
//! serves others. One of the modules with `unsafe`.
//!
//! An access beyond the end of a file raises SIGBUS in the thread that made it. The handler maps
//! anonymous zero pages over the whole mapping, marks it as broken and returns, so that the access
//! is retried and succeeds. The I/O thread sees [`faults`] change and ends that device. (Sealing,
//! `F_SEAL_SHRINK`, would prevent this, but not every front-end seals its memory.)

use std::io;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Greatest number of mappings watched at a time.
pub const SLOTS: usize = 16_384;

struct Watched {
    /// FREE, BUSY (being filled or emptied), or the first address.
    base: AtomicUsize,
    bytes: AtomicUsize,
    broken: AtomicBool,
    /// Number of times that the slot was filled.
    uses: AtomicUsize,
}

impl Watched {
    const fn new() -> Self {
        Self {
            base: AtomicUsize::new(FREE),
            bytes: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            uses: AtomicUsize::new(0),
        }
    }

    /// Takes the slot if it is free.
    fn fill(&self, base: usize, bytes: usize) -> bool {
        let taken = self
            .base
            .compare_exchange(FREE, BUSY, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok();
        if taken {
            // The count of uses comes first: `range` compares it to see that the slot was refilled.
            self.uses.fetch_add(1, Ordering::SeqCst);
            self.bytes.store(bytes, Ordering::SeqCst);
            self.broken.store(false, Ordering::SeqCst);
            self.base.store(base, Ordering::SeqCst);
        }
        taken
    }

    fn empty(&self) {
        self.base.store(BUSY, Ordering::SeqCst);
        self.bytes.store(0, Ordering::SeqCst);
        self.base.store(FREE, Ordering::SeqCst);
    }

    /// Returns the watched range, first address and length, both from the same use of the slot. None if there is none,
    /// or if the slot is refilled meanwhile (a test does that by `meanwhile`).
    fn range(&self, meanwhile: impl FnOnce()) -> Option<(usize, usize)> {
        let uses = self.uses.load(Ordering::SeqCst);
        let base = self.base.load(Ordering::SeqCst);
        meanwhile();
        let bytes = self.bytes.load(Ordering::SeqCst);
        let same = self.uses.load(Ordering::SeqCst) == uses;
        (base > BUSY && same).then_some((base, bytes))
    }
}

const FREE: usize = 0;
const BUSY: usize = 1;

static WATCHED: [Watched; SLOTS] = [const { Watched::new() }; SLOTS];
/// Slots from this one on were never used.
static HIGHEST: AtomicUsize = AtomicUsize::new(0);
static FAULTS: AtomicUsize = AtomicUsize::new(0);
static INSTALL: Once = Once::new();

/// A watched mapping; dropping it ends the watch.
#[derive(Debug)]
pub struct Slot(usize);

impl Slot {
    /// Whether there was an access beyond the end of the file.
    #[must_use]
    pub fn broken(&self) -> bool {
        WATCHED[self.0].broken.load(Ordering::Acquire)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        WATCHED[self.0].empty();
    }
}

/// Accesses beyond the end of a watched file so far. If this changes, some mapping is broken.
#[must_use]
pub fn faults() -> usize {
    FAULTS.load(Ordering::Relaxed)
}

/// Watches a mapped address range. The first call installs the handler.
pub(crate) fn watch(base: usize, bytes: usize) -> io::Result<Slot> {
    INSTALL.call_once(install);
    for (index, slot) in WATCHED.iter().enumerate() {
        if slot.fill(base, bytes) {
            HIGHEST.fetch_max(index + 1, Ordering::SeqCst);
            return Ok(Slot(index));
        }
    }
    Err(io::Error::other("too many memory regions are mapped"))
}

fn install() {
    // SAFETY: `handler` has the signature that SA_SIGINFO requires and is async-signal-safe; a
    // zeroed sigaction is a valid value.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
    }
}

/// Handles SIGBUS. Async-signal-safe: atomics and system calls only.
extern "C" fn handler(_signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo to a SA_SIGINFO handler, and sets si_addr for SIGBUS.
    let address = unsafe { (*info).si_addr() } as usize;
    for slot in &WATCHED[..HIGHEST.load(Ordering::SeqCst)] {
        // A slot that is changing belongs to another mapping: the one accessed lives, and so does its watch.
        let Some((base, bytes)) = slot.range(|| ()) else {
            continue;
        };
        if address < base || address - base >= bytes {
            continue;
        }
        // SAFETY: the faulting thread is accessing this mapping, so its `Mapping` lives (every `Span`
        // holds one), and the range belongs to it alone: nothing else is replaced.
        let mapped = unsafe {
            libc::mmap(
                base as *mut libc::c_void,
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if mapped != libc::MAP_FAILED {
            slot.broken.store(true, Ordering::Release);
            FAULTS.fetch_add(1, Ordering::Release);
            return;
        }
    }
    // Not a watched mapping: the access is retried and kills the process, as without this handler.
    // SAFETY: SIG_DFL is a valid disposition for SIGBUS.
    unsafe {
        libc::signal(libc::SIGBUS, libc::SIG_DFL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A handler that mixed the address and the length of two uses would map over other memory.
    #[test]
    fn a_range_is_of_one_use_though_the_slot_is_used_again() {
        let slot = Watched::new();
        assert!(slot.fill(0x10_000, 0x1000));
        assert_eq!(slot.range(|| ()), Some((0x10_000, 0x1000)));
        let again = || {
            slot.empty();
            assert!(slot.fill(0x7000_0000, 0x4000_0000));
        };
        assert_eq!(slot.range(again), None);
        assert_eq!(slot.range(|| ()), Some((0x7000_0000, 0x4000_0000)));
        // A watch that ends meanwhile has length 0.
        assert_eq!(slot.range(|| slot.empty()), Some((0x7000_0000, 0)));
        assert_eq!(slot.range(|| ()), None);
    }
}
