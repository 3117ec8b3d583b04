//! Messages of network devices' front-ends that the crate vhost does not handle: the MTU, and the announcement
//! of a guest that came by migration. It also refuses to enable queues before features are negotiated; QEMU does
//! so when it makes a network device.

use super::Frontend;
use super::own::{Header, lock};
use crate::server::kind::Kind;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use vhost::vhost_user::VhostUserBackendReqHandlerMut;
use vhost::vhost_user::message::{FrontendReq, VhostUserProtocolFeatures as Protocol};

/// Message of a network device's front-end.
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
    /// Carries out a message. False: it can't be done, which the front-end learns if it asked for a reply.
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

/// Answers the message, if it is a [`Message`]. After an error the connection must be closed.
pub(super) fn answer(
    mut stream: &UnixStream,
    header: Header,
    frontend: &Arc<Mutex<Frontend>>,
) -> io::Result<bool> {
    let Some(kind) = Message::of(header.request) else {
        return Ok(false);
    };
    let mut message = [0; Header::BYTES + 8];
    if header.bytes as usize != message.len() - Header::BYTES {
        return Err(io::Error::other("a message has a wrong length"));
    }
    stream.read_exact(&mut message)?;
    let mut body = [0; 8];
    body.copy_from_slice(&message[Header::BYTES..]);
    let done = lock(frontend).network(kind, body)?;
    header.acknowledge(stream, frontend, done)?;
    Ok(true)
}
