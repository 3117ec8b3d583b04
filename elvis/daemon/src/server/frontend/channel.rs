//! Message by which a disk's front-end gives a channel. The crate vhost would take it, but can't send the one message
//! that a disk sends there.

use super::Frontend;
use super::own::{Header, lock};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recvmsg};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use vhost::vhost_user::message::{FrontendReq, VhostUserProtocolFeatures as Protocol};

fn refused(why: &str) -> io::Error {
    let why = format!("SET_BACKEND_REQ_FD: {why}");
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// Takes a header with the descriptor that is passed with it. Further descriptors are closed.
fn receive(stream: &UnixStream) -> io::Result<OwnedFd> {
    let mut header = [0; Header::BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(&mut header)];
    let got = recvmsg(stream, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let mut passed = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            passed.extend(descriptors);
        }
    }
    let whole = got.bytes == Header::BYTES && !got.flags.contains(ReturnFlags::CTRUNC);
    match (passed.pop(), passed.is_empty() && whole) {
        (Some(only), true) => Ok(only),
        _ => Err(refused("it must pass one descriptor")),
    }
}

/// Answers the message, if it is SET_BACKEND_REQ_FD. After an error the connection must be closed.
pub(super) fn answer(
    stream: &UnixStream,
    header: Header,
    frontend: &Arc<Mutex<Frontend>>,
) -> io::Result<bool> {
    if header.request != FrontendReq::SET_BACKEND_REQ_FD as u32 {
        return Ok(false);
    }
    if header.bytes != 0 {
        return Err(refused("it has no body"));
    }
    let passed = receive(stream)?;
    let locked = lock(frontend);
    if locked.protocol & Protocol::BACKEND_REQ.bits() == 0 {
        return Err(refused("without the feature BACKEND_REQ"));
    }
    let shared = Arc::clone(&locked.shared);
    // To close a descriptor that is no socket may wait for its server.
    drop(locked);
    let set = shared.channel.set(passed);
    set.map_err(|error| refused(&error.to_string()))?;
    header.acknowledge(stream, frontend, true)?;
    Ok(true)
}
