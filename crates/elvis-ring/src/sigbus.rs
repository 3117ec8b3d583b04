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
}

const FREE: usize = 0;
const BUSY: usize = 1;

static WATCHED: [Watched; SLOTS] = [const {
    Watched {
        base: AtomicUsize::new(FREE),
        bytes: AtomicUsize::new(0),
        broken: AtomicBool::new(false),
    }
}; SLOTS];
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
        WATCHED[self.0].base.store(BUSY, Ordering::SeqCst);
        WATCHED[self.0].bytes.store(0, Ordering::SeqCst);
        WATCHED[self.0].base.store(FREE, Ordering::SeqCst);
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
pub fn watch(base: usize, bytes: usize) -> io::Result<Slot> {
    INSTALL.call_once(install);
    for (index, slot) in WATCHED.iter().enumerate() {
        if slot
            .base
            .compare_exchange(FREE, BUSY, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
        {
            HIGHEST.fetch_max(index + 1, Ordering::SeqCst);
            slot.bytes.store(bytes, Ordering::SeqCst);
            slot.broken.store(false, Ordering::SeqCst);
            slot.base.store(base, Ordering::SeqCst);
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
        let (base, bytes) = (
            slot.base.load(Ordering::SeqCst),
            slot.bytes.load(Ordering::SeqCst),
        );
        if base <= BUSY || address < base || address - base >= bytes {
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
