//! A console that is heard as it speaks: a thread that waits in `read` on a pipe, and takes the
//! host's counter the moment that something comes.
//!
//! For external measurement (HyperBench, 5.1), where a console in a file, looked at now and then,
//! would be heard milliseconds late. Used by machines whose program writes its console to its
//! standard output, or to any other descriptor that it is handed. What the bytes mean is the
//! business of whoever takes them.

use crate::counter;
use crate::machine::MachineError;
use rustix::pipe::{PipeFlags, pipe_with};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// One `read` of the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// How many bytes it gave.
    pub bytes: usize,
    /// The host's counter as it returned ([`counter::read`]).
    pub ticks: u64,
}

/// So much is read at once at most.
const CHUNK_BYTES: usize = 16 << 10;

/// So much is kept at most. When nobody takes it, the thread stops reading, the pipe fills, and
/// the machine waits: a flood costs no memory beyond this.
const KEPT_BYTES: usize = 1 << 20;

/// How long the thread may take to end after its machine has.
const END_LIMIT: Duration = Duration::from_secs(1);

/// The listening end of a console.
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
    /// Nothing more will come, with the reason where it is none of the other end's making.
    over: Option<Result<(), std::io::Error>>,
    /// Nobody listens any more.
    unwanted: bool,
}

impl Shared {
    /// A thread that panicked with the lock held would have left whole values behind.
    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Earshot {
    /// Begins to listen. The file is the speaking end, for the machine's program alone: the
    /// console ends when the last copy of it is closed.
    ///
    /// # Errors
    /// The system has no pipe or no thread left.
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

    /// Adds to `bytes` and `chunks` what was heard since, at most about 64 KiB, and does not wait.
    /// The chunks are those of these bytes, in order. False when nothing came and nothing will.
    ///
    /// # Errors
    /// The console could not be read.
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
    /// The machine is gone by now, and with it the speaking end, so the thread ends at once. One
    /// whose speaking end somebody else still holds is left to itself: it ends with that.
    fn drop(&mut self) {
        self.shared.lock().unwanted = true;
        self.shared.taken.notify_one();
        let started = Instant::now();
        if let Some(thread) = self.thread.take() {
            while !thread.is_finished() && started.elapsed() < self.patience {
                std::thread::sleep(Duration::from_millis(1));
            }
            if thread.is_finished() {
                // It has nothing to say, and a panic in it has shown itself on standard error.
                let _ = thread.join();
            }
        }
    }
}

/// The thread. Nothing stands between `read` and the counter.
fn hear(mut console: File, shared: &Shared) {
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

/// Keeps what was heard, and waits while too much of it is there. False when nobody listens.
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
