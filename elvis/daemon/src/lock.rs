//! Locks on files, against other processes that open them.
//!
//! Open file description locks belong to the open file, not to the process (fcntl(2)). So they last until the
//! requests in flight have ended too.

use crate::sys::link_of;
use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

/// Takes a lock on the whole file, shared if it is only read.
///
/// # Errors
///
/// Another process has a lock that excludes this one, and does not end within `wait`.
pub fn lock(file: &File, readonly: bool, wait: Duration) -> io::Result<()> {
    let end = Instant::now() + wait;
    let mut is_told = wait.is_zero();
    loop {
        match try_lock(file, readonly) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
                if Instant::now() >= end {
                    let why = "another process has locked it; stop that one first";
                    return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
                }
                if !is_told {
                    let name = link_of(file).unwrap_or_else(|_| "a file".into());
                    log::info!(
                        "{}: another process has locked it; elvis waits up to {} s",
                        name.display(),
                        wait.as_secs()
                    );
                    is_told = true;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            other => return other,
        }
    }
}

fn try_lock(file: &File, readonly: bool) -> io::Result<()> {
    let kind = if readonly {
        libc::F_RDLCK
    } else {
        libc::F_WRLCK
    };
    crate::sys::ofd_lock(file, kind)
}
