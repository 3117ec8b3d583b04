//! Notification descriptors from untrusted front-ends: only eventfds are taken. [`crate::aio`] signals them.

use crate::sys::link_of;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

/// Checks that a descriptor is an eventfd.
pub fn check_eventfd(file: File) -> io::Result<OwnedFd> {
    let link = link_of(&file)?;
    if link.to_str() == Some("anon_inode:[eventfd]") {
        return Ok(file.into());
    }
    let why = format!(
        "a notification descriptor must be an eventfd, is {}",
        link.display()
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};

    #[test]
    fn only_an_eventfd_is_taken() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        assert!(check_eventfd(writer.into()).is_err());
        assert!(check_eventfd(reader.into()).is_err());
        let good = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        assert!(check_eventfd(good.into()).is_ok());
    }
}
