//! Containment of SIGBUS: a front-end that shortens the file of its memory must not end a process
//! that serves others. One of the modules with `unsafe`.
//!
//! An access behind a file's end raises SIGBUS in the thread that made it. The handler here maps
//! anonymous zero pages over the whole mapping, marks it as broken and returns, so that the access
//! is made again and succeeds. The I/O thread sees [`faults`] move and ends that device. (Sealing,
//! `F_SEAL_SHRINK`, would prevent this, but not every front-end seals its memory.)

use std::io;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Mappings that can be watched at a time.
pub const SLOTS: usize = 16_384;

struct Watched {
    /// 0: free; 1: being filled or emptied; else the first address.
    base: AtomicUsize,
    bytes: AtomicUsize,
    broken: AtomicBool,
    /// How often it was filled.
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

    /// Takes it, where it is free.
    fn fill(&self, base: usize, bytes: usize) -> bool {
        let taken = self
            .base
            .compare_exchange(FREE, BUSY, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok();
        if taken {
            // Before any of what follows, see `range`.
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

    /// The range that is watched: its first address and its length, of one use. None where there is none, or
    /// where that changes just now, as `meanwhile` does in a test.
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
/// No slot at or above this was ever used.
static HIGHEST: AtomicUsize = AtomicUsize::new(0);
static FAULTS: AtomicUsize = AtomicUsize::new(0);
static INSTALL: Once = Once::new();

/// A watched mapping; dropping it ends the watch.
#[derive(Debug)]
pub struct Slot(usize);

impl Slot {
    /// Whether an access behind the file's end was made.
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

/// Accesses behind the end of a watched file so far. A change says that some mapping is broken.
#[must_use]
pub fn faults() -> usize {
    FAULTS.load(Ordering::Relaxed)
}

/// Watches an address range that is mapped. The first call installs the handler.
///
/// # Errors
///
/// All [`SLOTS`] are taken.
pub(crate) fn watch(base: usize, bytes: usize) -> io::Result<Slot> {
    INSTALL.call_once(install);
    for (index, slot) in WATCHED.iter().enumerate() {
        if slot.fill(base, bytes) {
            HIGHEST.fetch_max(index + 1, Ordering::SeqCst);
            return Ok(Slot(index));
        }
    }
    Err(io::Error::other("too many mapped regions"))
}

fn install() {
    // SAFETY: `handler` has the signature that SA_SIGINFO asks for and is async-signal-safe; a
    // zeroed sigaction is a valid value to be filled in.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
    }
}

/// Async-signal-safe: atomics and system calls only.
extern "C" fn handler(_signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo to a SA_SIGINFO handler, and for SIGBUS si_addr is
    // its member in use.
    let address = unsafe { (*info).si_addr() } as usize;
    for slot in &WATCHED[..HIGHEST.load(Ordering::SeqCst)] {
        // What changes just now is another's: the mapping that this thread is in lives, and so its watch does.
        let Some((base, bytes)) = slot.range(|| ()) else {
            continue;
        };
        if address < base || address - base >= bytes {
            continue;
        }
        // SAFETY: the faulting thread is inside an access to this mapping, so its `Mapping` lives
        // (every `Span` holds one) and the range is its own; nothing else is mapped over.
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
    // Not ours: the access is made again, and ends the process as it would have without us.
    // SAFETY: SIG_DFL is a valid disposition for SIGBUS.
    unsafe {
        libc::signal(libc::SIGBUS, libc::SIG_DFL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A handler that took one watch's address and another's length would map over the memory of strangers.
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
        // One that ends has no bytes in it.
        assert_eq!(slot.range(|| slot.empty()), Some((0x7000_0000, 0)));
        assert_eq!(slot.range(|| ()), None);
    }
}
