//! Messages that elvis takes from a connection itself: the crate vhost does not handle them, or in a way that elvis
//! can't use. This file has the parts that all of them share.

use super::{Frontend, channel, network};
use crate::server::kind::Kind;
use crate::sys;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use vhost::vhost_user::message::{
    VhostUserHeaderFlag as Flag, VhostUserProtocolFeatures as Protocol,
};

/// Version of the protocol, in the flags.
const VERSION: u32 = 1;

/// Header of a message.
#[derive(Clone, Copy)]
pub(super) struct Header {
    pub(super) request: u32,
    flags: u32,
    /// Length of the body.
    pub(super) bytes: u32,
}

impl Header {
    /// Bytes of a header in a message.
    pub(super) const BYTES: usize = 12;

    /// Returns the header of the next message, which stays in the socket. Waits for a message. None: the connection has
    /// ended, or the header comes in parts.
    fn peek(stream: &UnixStream) -> io::Result<Option<Self>> {
        let mut header = [0; Self::BYTES];
        if sys::peek(stream.as_fd(), &mut header)? < Self::BYTES {
            return Ok(None);
        }
        let [r0, r1, r2, r3, f0, f1, f2, f3, b0, b1, b2, b3] = header;
        Ok(Some(Self {
            request: u32::from_ne_bytes([r0, r1, r2, r3]),
            flags: u32::from_ne_bytes([f0, f1, f2, f3]),
            bytes: u32::from_ne_bytes([b0, b1, b2, b3]),
        }))
    }

    /// Replies whether the message was carried out, if the front-end asked for a reply.
    pub(super) fn acknowledge(
        self,
        mut stream: &UnixStream,
        frontend: &Mutex<Frontend>,
        done: bool,
    ) -> io::Result<()> {
        let protocol = lock(frontend).protocol;
        if self.flags & Flag::NEED_REPLY.bits() == 0 || protocol & Protocol::REPLY_ACK.bits() == 0 {
            return Ok(());
        }
        let body = u64::from(!done).to_ne_bytes();
        let words = [
            self.request.to_ne_bytes(),
            (VERSION | Flag::REPLY.bits()).to_ne_bytes(),
            (body.len() as u32).to_ne_bytes(),
        ];
        stream.write_all(&[words.as_flattened(), &body].concat())
    }
}

pub(super) fn lock(frontend: &Mutex<Frontend>) -> std::sync::MutexGuard<'_, Frontend> {
    frontend.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers the next message, if `network` or `channel` handles it. Waits for a message.
///
/// # Errors
///
/// The message is not valid, or the connection has failed: close it.
pub fn answer(stream: &UnixStream, frontend: &Arc<Mutex<Frontend>>) -> io::Result<bool> {
    let Some(header) = Header::peek(stream)? else {
        return Ok(false);
    };
    let net = matches!(lock(frontend).shared.kind, Kind::Net(_));
    match net {
        true => network::answer(stream, header, frontend),
        false => channel::answer(stream, header, frontend),
    }
}
