//! Any vhost-user messages, with any descriptors.

#![allow(dead_code, clippy::unwrap_used)]

use crate::client::memfd;
use proptest::prelude::*;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use vmm_sys_util::eventfd::EventFd;
use vmm_sys_util::sock_ctrl_msg::ScmSocket;

/// The descriptors passed with a message.
#[derive(Clone, Copy, Debug)]
pub enum Passed {
    Nothing,
    Memory,
    EventFd,
    Socket,
    Many,
}

/// One message: its number, flags, body and descriptors, and the error in its length.
pub type Message = (u32, u32, Vec<u8>, Passed, i8);

pub fn words(words: Vec<u64>) -> Vec<u8> {
    words.into_iter().flat_map(u64::to_ne_bytes).collect()
}

/// A plausible number: an index, a size, an address, a set of features.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        0u64..4,
        Just(64),
        (0u64..0x20_0000).prop_map(|n| n & !15),
        (0u32..64).prop_map(|bit| 1 << bit),
        any::<u64>(),
    ]
}

pub fn message() -> impl Strategy<Value = Message> {
    let body = prop_oneof![
        2 => prop::collection::vec(any::<u8>(), 0..80),
        4 => prop::collection::vec(number(), 0..9).prop_map(words),
        // A ring's index and number.
        3 => (0u32..3, prop_oneof![Just(64u32), any::<u32>()])
            .prop_map(|(index, num)| [index.to_ne_bytes(), num.to_ne_bytes()].concat()),
        // One region of memory.
        2 => (1u64..3, number(), number(), number())
            .prop_map(|(count, guest, bytes, user)| words(vec![count, guest, bytes, user, 0])),
    ];
    let passed = prop_oneof![
        3 => Just(Passed::Nothing),
        2 => Just(Passed::Memory),
        2 => Just(Passed::EventFd),
        1 => Just(Passed::Socket),
        1 => Just(Passed::Many),
    ];
    let wrong = prop_oneof![12 => Just(0i8), 1 => any::<i8>()];
    let flags = prop_oneof![6 => Just(1u32), 3 => Just(1 | 1 << 3), 1 => any::<u32>()];
    (0u32..45, flags, body, passed, wrong)
}

/// Sends a message. False if that fails: the server may have closed the connection.
pub fn send(stream: &UnixStream, (code, flags, body, passed, wrong): &Message) -> bool {
    let length = (body.len() as i64 + i64::from(*wrong)) as u32;
    let head = [
        code.to_ne_bytes(),
        flags.to_ne_bytes(),
        length.to_ne_bytes(),
    ]
    .concat();
    let bytes = [head, body.clone()].concat();
    let (memory, event) = (memfd(1 << 20), EventFd::new(0).unwrap());
    let (other, _end) = UnixStream::pair().unwrap();
    let all = [memory.as_raw_fd(), event.as_raw_fd(), other.as_raw_fd()];
    let fds = match passed {
        Passed::Nothing => &all[..0],
        Passed::Memory => &all[..1],
        Passed::EventFd => &all[1..2],
        Passed::Socket => &all[2..],
        Passed::Many => &all[..],
    };
    let sent = stream.send_with_fds(&[&bytes[..]], fds);
    sent.is_ok_and(|sent| sent == bytes.len())
}
