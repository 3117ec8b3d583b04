//! Starts the daemon's threads.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Starts a thread; without `stack`, with the usual one.
///
/// # Errors
///
/// The thread can't be started; the message names it, and the cure.
pub fn start<T: Send + 'static>(
    name: &str,
    stack: Option<usize>,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let builder = match stack {
        Some(bytes) => Builder::new().stack_size(bytes),
        None => Builder::new(),
    };
    let started = builder.name(name.to_owned()).spawn(work);
    started.map_err(|error| cannot(name, &error))
}

/// Returns the error of a thread that can't be started.
pub fn cannot(name: &str, error: &io::Error) -> io::Error {
    let cure = match error.kind() {
        io::ErrorKind::WouldBlock => {
            "; raise the limit of threads (ulimit -u, or TasksMax= of its unit) or of memory (ulimit -v)"
        }
        _ => "",
    };
    let why = format!("can't start the thread {name}: {error}{cure}");
    io::Error::new(error.kind(), why)
}
