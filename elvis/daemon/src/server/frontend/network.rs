//! Messages of network devices' front-ends that the crate vhost does not handle: the MTU, and the announcement
//! of a guest that came by migration. It also refuses to enable queues before features are negotiated; QEMU does
//! so when it makes a network device.

use super::Frontend;
use crate::server::kind::Kind;
use crate::sys;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use vhost::vhost_user::VhostUserBackendReqHandlerMut;
use vhost::vhost_user::message::{
    FrontendReq, VhostUserHeaderFlag as Flag, VhostUserProtocolFeatures as Protocol,
};

/// Bytes of a message's header: request, flags, length of its body.
const HEADER: usize = 12;
/// The version in the flags.
const VERSION: u32 = 1;

/// One of these messages.
#[derive(Clone, Copy)]
enum Message {
    Mtu,
    Announce,
    Enable,
}

impl Message {
    fn of(request: u32) -> Option<Self> {
        const MTU: u32 = FrontendReq::NET_SET_MTU as u32;
        const RARP: u32 = FrontendReq::SEND_RARP as u32;
        const ENABLE: u32 = FrontendReq::SET_VRING_ENABLE as u32;
        match request {
            MTU => Some(Self::Mtu),
            RARP => Some(Self::Announce),
            ENABLE => Some(Self::Enable),
            _ => None,
        }
    }
}

impl Frontend {
    /// Does what a message says. False: it can't be done, which the front-end learns if it asked for a reply.
    fn network(&mut self, message: Message, body: [u8; 8]) -> io::Result<bool> {
        let negotiated = |feature: Protocol| self.protocol & feature.bits() != 0;
        let Kind::Net(net) = &self.shared.kind else {
            return Err(io::Error::other("a message for network devices"));
        };
        match message {
            Message::Mtu => Ok(negotiated(Protocol::MTU) && net.set_mtu(u64::from_ne_bytes(body))),
            Message::Announce => {
                let [a, b, c, d, e, f, ..] = body;
                Ok(negotiated(Protocol::RARP) && net.announce([a, b, c, d, e, f]))
            }
            Message::Enable => {
                let [i0, i1, i2, i3, e0, e1, e2, e3] = body;
                let index = u32::from_ne_bytes([i0, i1, i2, i3]);
                let enable = u32::from_ne_bytes([e0, e1, e2, e3]);
                let done = match enable {
                    0 | 1 => self.set_vring_enable(index, enable == 1),
                    _ => return Err(io::Error::other("a queue is neither enabled nor disabled")),
                };
                done.map(|()| true)
                    .map_err(|error| io::Error::other(error.to_string()))
            }
        }
    }
}

/// Answers the next message, if it is one of these. Waits for a message.
///
/// # Errors
///
/// The message is not valid, or the connection has failed: close it.
pub fn answer(mut stream: &UnixStream, frontend: &Arc<Mutex<Frontend>>) -> io::Result<bool> {
    let mut header = [0; HEADER];
    if sys::peek(stream.as_fd(), &mut header)? < HEADER {
        return Ok(false);
    }
    let [r0, r1, r2, r3, f0, f1, f2, f3, l0, l1, l2, l3] = header;
    let request = u32::from_ne_bytes([r0, r1, r2, r3]);
    let Some(kind) = Message::of(request) else {
        return Ok(false);
    };
    let mut message = [0; HEADER + 8];
    let (flags, bytes) = (
        u32::from_ne_bytes([f0, f1, f2, f3]),
        u32::from_ne_bytes([l0, l1, l2, l3]),
    );
    if bytes as usize != message.len() - HEADER {
        return Err(io::Error::other("a message has a wrong length"));
    }
    stream.read_exact(&mut message)?;
    let mut body = [0; 8];
    body.copy_from_slice(&message[HEADER..]);
    let mut frontend = frontend.lock().unwrap_or_else(PoisonError::into_inner);
    let done = frontend.network(kind, body)?;
    let acknowledges = frontend.protocol & Protocol::REPLY_ACK.bits() != 0;
    drop(frontend);
    if flags & Flag::NEED_REPLY.bits() != 0 && acknowledges {
        let flags = VERSION | Flag::REPLY.bits();
        let words = [
            request.to_ne_bytes(),
            flags.to_ne_bytes(),
            bytes.to_ne_bytes(),
        ];
        let reply = [words.as_flattened(), &u64::from(!done).to_ne_bytes()].concat();
        stream.write_all(&reply)?;
    }
    Ok(true)
}
