//! A front-end's channel for messages from its device (VHOST_USER_SET_BACKEND_REQ_FD): a connected socket.
//!
//! The front-end is not trusted. A message is sent only if it fits into the socket at once, and nothing is read from
//! the socket. So no thread waits for the other end.

use rustix::io::Errno;
use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{AddressFamily, SendFlags, SocketType, send};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// VHOST_USER_BACKEND_CONFIG_CHANGE_MSG: its number, the version in the flags, no body. No reply is asked for, as the
/// reply would have to be waited for.
const CONFIG_CHANGED: [u32; 3] = [2, 1, 0];

/// Result of a message to a front-end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The message is in the channel's socket.
    Sent,
    /// No front-end is connected. The next one reads the configuration space anyway.
    NoFrontend,
    /// The front-end has given no channel.
    NoChannel,
    /// The front-end does not read its channel, which is full.
    Full,
    /// The front-end has closed its end, or its descriptor is no connected socket. The channel is closed.
    Broken,
}

impl Notice {
    /// Returns the result's meaning for a changed configuration space, for users.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Sent => "its front-end is notified",
            Self::NoFrontend => "no front-end is connected",
            Self::NoChannel => {
                "its front-end can't be notified: the guest sees the size at its next start, with a new front-end"
            }
            Self::Full => {
                "its front-end does not read notifications: resize again later, or the guest sees the size at its \
                 next start, with a new front-end"
            }
            Self::Broken => {
                "its front-end has closed its channel: the guest sees the size at its next start, with a new front-end"
            }
        }
    }
}

/// The channel of a device's connection. None: the front-end has given none, or there is no front-end.
#[derive(Debug, Default)]
pub struct Channel(Mutex<Option<OwnedFd>>);

impl Channel {
    fn socket(&self) -> MutexGuard<'_, Option<OwnedFd>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Uses this descriptor from now on, and closes the one before it.
    ///
    /// # Errors
    ///
    /// The descriptor is no stream socket of the family AF_UNIX. The one before it stays.
    pub fn set(&self, socket: OwnedFd) -> io::Result<()> {
        let (domain, kind) = (socket_domain(&socket), socket_type(&socket));
        if (domain, kind) != (Ok(AddressFamily::UNIX), Ok(SocketType::STREAM)) {
            let why = "a channel must be a stream socket of the family AF_UNIX";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        *self.socket() = Some(socket);
        Ok(())
    }

    /// Closes the channel: the connection has ended.
    pub fn close(&self) {
        *self.socket() = None;
    }

    /// Tells the front-end that the configuration space has changed. Never waits.
    pub fn config_changed(&self) -> Notice {
        let mut socket = self.socket();
        let Some(open) = &*socket else {
            return Notice::NoChannel;
        };
        let message = CONFIG_CHANGED.map(u32::to_ne_bytes);
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match send(open, message.as_flattened(), flags) {
            Ok(sent) if sent == message.as_flattened().len() => Notice::Sent,
            Err(Errno::AGAIN) => Notice::Full,
            // After a part of a message the front-end would misread the next one.
            Ok(_) | Err(_) => {
                *socket = None;
                Notice::Broken
            }
        }
    }
}
