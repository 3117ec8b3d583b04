//! A console whose output is timestamped as it arrives. A thread blocks in `read` on a pipe, and reads the host's
//! counter as soon as `read` returns.
//!
//! For external measurement (HyperBench, 5.1): a console in a file, polled now and then, would give
//! timestamps milliseconds late. Used by machines whose program writes its console to its standard
//! output or to another descriptor that it inherits. This file does not interpret the bytes.

use crate::counter;
use crate::machine::MachineError;
use rustix::pipe::{PipeFlags, pipe_with};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Result of a `read` of the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Number of bytes that the `read` returned.
    pub bytes: usize,
    /// The host's counter when the `read` returned ([`counter::read`]).
    pub ticks: u64,
}

/// The most bytes of a `read`.
const CHUNK_BYTES: usize = 16 << 10;

/// The most bytes that are buffered. If the caller takes nothing, the thread stops reading, the pipe fills, and the
/// machine blocks: a flood uses no more memory than this.
const KEPT_BYTES: usize = 1 << 20;

/// How long the thread may take to exit after its machine ended.
const END_LIMIT: Duration = Duration::from_secs(1);

/// The reading end of a console.
#[derive(Debug)]
pub struct Earshot {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// [`END_LIMIT`].
    patience: Duration,
}

#[derive(Debug, Default)]
struct Shared {
    heard: Mutex<Heard>,
    taken: Condvar,
}

#[derive(Debug, Default)]
struct Heard {
    bytes: VecDeque<u8>,
    chunks: VecDeque<Chunk>,
    /// Set when nothing more will come; an error if the console could not be read.
    over: Option<Result<(), std::io::Error>>,
    /// The reader is dropped.
    unwanted: bool,
}

impl Shared {
    /// Ignores poisoning: a thread that panics with the lock held leaves consistent values.
    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Earshot {
    /// Starts reading. The returned file is the writing end, for the machine's program only: the
    /// console ends when the last copy of it is closed.
    pub fn listen() -> Result<(Self, File), MachineError> {
        let failed = |e: std::io::Error| {
            MachineError::Other(format!("can't listen to a machine's console: {e}"))
        };
        let (ours, theirs) =
            pipe_with(PipeFlags::CLOEXEC).map_err(|e| failed(std::io::Error::from(e)))?;
        let shared = Arc::new(Shared::default());
        let thread = std::thread::Builder::new()
            .name("console".into())
            .spawn({
                let shared = Arc::clone(&shared);
                move || hear(File::from(ours), &shared)
            })
            .map_err(failed)?;
        let earshot = Self {
            shared,
            thread: Some(thread),
            patience: END_LIMIT,
        };
        Ok((earshot, File::from(theirs)))
    }

    /// Appends the bytes since the last call to `bytes`, at most about 64 KiB, and their chunks to `chunks`, in order.
    /// Does not wait. Returns false if there is nothing and nothing more will come.
    pub fn take(
        &mut self,
        bytes: &mut Vec<u8>,
        chunks: &mut Vec<Chunk>,
    ) -> Result<bool, std::io::Error> {
        const ENOUGH_BYTES: usize = 48 << 10;
        let mut heard = self.shared.lock();
        let mut count = 0;
        while count < ENOUGH_BYTES {
            let Some(chunk) = heard.chunks.pop_front() else {
                break;
            };
            count += chunk.bytes;
            bytes.extend(heard.bytes.drain(..chunk.bytes));
            chunks.push(chunk);
        }
        if count > 0 {
            self.shared.taken.notify_one();
            return Ok(true);
        }
        match heard.over.take() {
            None => Ok(true),
            Some(Err(error)) => {
                heard.over = Some(Ok(()));
                Err(error)
            }
            Some(Ok(())) => {
                heard.over = Some(Ok(()));
                Ok(false)
            }
        }
    }
}

impl Drop for Earshot {
    /// The machine is gone by now, and with it the writing end, so the thread exits at once. If
    /// another process still holds the writing end, the thread is left to run until that is closed.
    fn drop(&mut self) {
        self.shared.lock().unwanted = true;
        self.shared.taken.notify_one();
        let started = Instant::now();
        if let Some(thread) = self.thread.take() {
            while !thread.is_finished() && started.elapsed() < self.patience {
                std::thread::sleep(Duration::from_millis(1));
            }
            if thread.is_finished() {
                // It returns nothing, and a panic was already printed on standard error.
                let _ = thread.join();
            }
        }
    }
}

/// Reads the console in a thread of its own. Nothing comes between `read` and the counter, which would make timestamps
/// late.
fn hear(mut console: File, shared: &Shared) {
    // Ahead of the host's other threads, where permitted (root, or RLIMIT_NICE): a mark is timed when this
    // thread runs. On Linux the priority is the calling thread's alone.
    let _ = rustix::process::setpriority_process(None, -20);
    let mut chunk = [0u8; CHUNK_BYTES];
    let over = loop {
        let result = console.read(&mut chunk);
        let ticks = counter::read();
        match result {
            Ok(0) => break Ok(()),
            Ok(count) => {
                let bytes = chunk.get(..count).unwrap_or_default();
                if !keep(shared, bytes, ticks) {
                    break Ok(());
                }
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => break Err(e),
        }
    };
    shared.lock().over = Some(over);
}

/// Buffers the bytes of a `read`, and waits while the buffer is full. Returns false if the reader is dropped.
fn keep(shared: &Shared, bytes: &[u8], ticks: u64) -> bool {
    let mut heard = shared.lock();
    heard.bytes.extend(bytes);
    heard.chunks.push_back(Chunk {
        bytes: bytes.len(),
        ticks,
    });
    while heard.bytes.len() >= KEPT_BYTES && !heard.unwanted {
        heard = shared
            .taken
            .wait(heard)
            .unwrap_or_else(PoisonError::into_inner);
    }
    !heard.unwanted
}

#[cfg(test)]
#[path = "earshot_tests.rs"]
mod tests;
