//! A block device's connection for libblkio's driver, to servers without memory slots too.
//!
//! The driver tells a server of memory piece by piece (ADD_MEM_REG). DPDK's vhost library, and so SPDK's target,
//! accepts that only since version 26.07. Older versions accept a table of all memory (SET_MEM_TABLE). A thread passes
//! messages on, and translates one message into the other. Requests do not pass here.

use anyhow::{Context, bail};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use std::io::{IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc;
use vhost::vhost_user::message::{
    FrontendReq, VhostUserHeaderFlag as Flag, VhostUserProtocolFeatures as Protocol,
};
use virtio_driver::{VhostUser, VirtioBlkConfig, VirtioBlkReqBuf};

/// Protocol feature of vhost-user: the server has memory slots.
const SLOTS: u64 = Protocol::CONFIGURE_MEM_SLOTS.bits();
/// Most regions of a table, by the protocol.
const MOST: u64 = 8;
/// Bytes of a message's header: request, flags, bytes of the rest.
const HEADER: usize = 12;
/// Bytes of the longest message here: 256 bytes of a device's configuration, or a full table.
const LONGEST: usize = 512;
/// Bytes of a memory region: addresses of guest and front-end, size, place in the file.
const REGION: usize = 32;

/// Messages that are not just passed on, or that always have a reply.
mod request {
    use super::FrontendReq;

    pub(super) const GET_FEATURES: u32 = FrontendReq::GET_FEATURES as u32;
    pub(super) const SET_MEM_TABLE: u32 = FrontendReq::SET_MEM_TABLE as u32;
    pub(super) const GET_PROTOCOL_FEATURES: u32 = FrontendReq::GET_PROTOCOL_FEATURES as u32;
    pub(super) const SET_PROTOCOL_FEATURES: u32 = FrontendReq::SET_PROTOCOL_FEATURES as u32;
    pub(super) const GET_QUEUE_NUM: u32 = FrontendReq::GET_QUEUE_NUM as u32;
    pub(super) const GET_CONFIG: u32 = FrontendReq::GET_CONFIG as u32;
    pub(super) const GET_MAX_MEM_SLOTS: u32 = FrontendReq::GET_MAX_MEM_SLOTS as u32;
    pub(super) const ADD_MEM_REG: u32 = FrontendReq::ADD_MEM_REG as u32;
    pub(super) const REM_MEM_REG: u32 = FrontendReq::REM_MEM_REG as u32;
}

/// A message, without the files that came with it.
#[derive(Clone, Debug, PartialEq)]
struct Message {
    request: u32,
    flags: u32,
    payload: Vec<u8>,
}

impl Message {
    /// Receives the next message and its files; None at the end of the connection.
    fn receive(from: &UnixStream) -> anyhow::Result<Option<(Self, Vec<OwnedFd>)>> {
        let mut header = [0; HEADER];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST as usize))];
        let mut with = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut header)];
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::WAITALL;
        match rustix::net::recvmsg(from, &mut parts, &mut with, flags)?.bytes {
            0 => return Ok(None),
            HEADER => {}
            _ => bail!("half a message"),
        }
        let files = with.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(files) => Some(files),
            _ => None,
        });
        let files = files.flatten().collect();
        let word = |at: usize| {
            let bytes: [u8; 4] = std::array::from_fn(|byte| header[at + byte]);
            u32::from_ne_bytes(bytes)
        };
        let bytes = word(8) as usize;
        if bytes > LONGEST {
            bail!("a message of {bytes} bytes");
        }
        let mut payload = vec![0; bytes];
        (&mut &*from).read_exact(&mut payload)?;
        let message = Self {
            request: word(0),
            flags: word(4),
            payload,
        };
        Ok(Some((message, files)))
    }

    fn send<F: AsFd>(&self, to: &UnixStream, files: &[F]) -> anyhow::Result<()> {
        let mut bytes = Vec::with_capacity(HEADER + self.payload.len());
        for word in [self.request, self.flags, self.payload.len() as u32] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(&self.payload);
        let files: Vec<BorrowedFd> = files.iter().map(AsFd::as_fd).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST as usize))];
        let mut with = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() && !with.push(SendAncillaryMessage::ScmRights(&files)) {
            bail!("a message with {} files", files.len());
        }
        // A message is far shorter than a socket's buffer, so it is sent whole.
        let sent =
            rustix::net::sendmsg(to, &[IoSlice::new(&bytes)], &mut with, SendFlags::NOSIGNAL)?;
        if sent != bytes.len() {
            bail!("half a message was sent");
        }
        Ok(())
    }

    /// Whether the server replies to the message.
    fn has_reply(&self) -> bool {
        use request::*;
        let asks = matches!(
            self.request,
            GET_FEATURES | GET_PROTOCOL_FEATURES | GET_QUEUE_NUM | GET_CONFIG | GET_MAX_MEM_SLOTS
        );
        asks || self.flags & Flag::NEED_REPLY.bits() != 0
    }

    /// Returns the number that is the whole payload.
    fn number(&self) -> anyhow::Result<u64> {
        let bytes = self.payload.as_slice().try_into();
        Ok(u64::from_ne_bytes(
            bytes.context("a message that is not a number")?,
        ))
    }
}

/// Relay between the driver and a server.
struct Relay {
    driver: UnixStream,
    server: UnixStream,
    /// Whether the server says that it has memory slots.
    slots: bool,
    /// All memory so far and its files, for a server without memory slots.
    table: Vec<u8>,
    files: Vec<OwnedFd>,
}

impl Relay {
    fn new(driver: UnixStream, server: UnixStream) -> Self {
        Self {
            driver,
            server,
            slots: true,
            table: Vec::new(),
            files: Vec::new(),
        }
    }

    /// Passes on all messages until the driver closes its end.
    fn run(&mut self) -> anyhow::Result<()> {
        while let Some((message, files)) = Message::receive(&self.driver)? {
            self.one(message, files)?;
        }
        Ok(())
    }

    fn one(&mut self, mut message: Message, files: Vec<OwnedFd>) -> anyhow::Result<()> {
        let asked = message.request;
        let replied = message.has_reply();
        match asked {
            // The server does not know this request, so the relay replies.
            request::GET_MAX_MEM_SLOTS if !self.slots => {
                message.flags |= Flag::REPLY.bits();
                message.payload = MOST.to_ne_bytes().to_vec();
                return message.send::<OwnedFd>(&self.driver, &[]);
            }
            request::SET_PROTOCOL_FEATURES if !self.slots => {
                let wanted = message.number()? & !SLOTS;
                message.payload = wanted.to_ne_bytes().to_vec();
                message.send(&self.server, &files)?;
            }
            request::ADD_MEM_REG if !self.slots => {
                // A word of padding is before the region.
                let region = message.payload.get(8..8 + REGION);
                self.table.extend(region.context("memory without a size")?);
                self.files.extend(files);
                message.request = request::SET_MEM_TABLE;
                let regions = (self.table.len() / REGION) as u64;
                message.payload = [&regions.to_ne_bytes(), &self.table[..]].concat();
                message.send(&self.server, &self.files)?;
            }
            // No client here takes memory back.
            request::REM_MEM_REG if !self.slots => {
                bail!("memory can't be taken back from a server without memory slots")
            }
            _ => message.send(&self.server, &files)?,
        }
        if !replied {
            return Ok(());
        }
        let reply = Message::receive(&self.server)?;
        let (mut reply, files) = reply.context("the server closed the connection")?;
        if reply.request != message.request {
            bail!("a reply to another message");
        }
        // The driver waits for a reply to its own request, not to SET_MEM_TABLE.
        reply.request = asked;
        if asked == request::GET_PROTOCOL_FEATURES {
            let offered = reply.number()?;
            self.slots = offered & SLOTS != 0;
            reply.payload = (offered | SLOTS).to_ne_bytes().to_vec();
        }
        reply.send(&self.driver, &files)
    }
}

/// Connects to a server, with the features of these that it offers.
pub(crate) fn connect(
    socket: &Path,
    features: u64,
) -> anyhow::Result<VhostUser<VirtioBlkConfig, VirtioBlkReqBuf>> {
    let server = UnixStream::connect(socket)?;
    // The driver connects by a path.
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("driver");
    let name = path.to_str().context("a folder that is not UTF-8")?;
    let listener = UnixListener::bind(&path)?;
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let Ok((driver, _)) = listener.accept() else {
            return;
        };
        let mut relay = Relay::new(driver, server);
        // The reason is sent before the connection ends, so that whoever sees the end finds it.
        let _ = tell.send(relay.run());
    });
    VhostUser::new(name, features).map_err(|error| match told.try_recv() {
        Ok(Err(why)) => why,
        _ => error.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nic::feature;
    use request::*;
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use virtio_driver::VirtioTransport;

    /// Features of vhost-user that the driver needs besides slots.
    const PLAIN: u64 = Protocol::REPLY_ACK.bits() | Protocol::CONFIG.bits();

    /// A server with these features of the protocol. Returns all messages, and how many files each had.
    fn serve(listener: &UnixListener, offered: u64) -> Vec<(Message, usize)> {
        let driver = listener.accept().unwrap().0;
        let mut all = Vec::new();
        while let Some((message, files)) = Message::receive(&driver).unwrap() {
            let number = match message.request {
                GET_FEATURES => feature::PROTOCOL | feature::VERSION_1,
                GET_PROTOCOL_FEATURES => offered,
                GET_MAX_MEM_SLOTS => 5,
                _ => 0,
            };
            if message.has_reply() {
                let reply = Message {
                    flags: message.flags | Flag::REPLY.bits(),
                    payload: number.to_ne_bytes().to_vec(),
                    ..message
                };
                reply.send::<OwnedFd>(&driver, &[]).unwrap();
            }
            all.push((message, files.len()));
        }
        all
    }

    /// Tells a server of two pieces of memory. Returns how many it can have, and the messages.
    fn told(offered: u64) -> anyhow::Result<(u64, Vec<(Message, usize)>)> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("server");
        let listener = UnixListener::bind(&path)?;
        let server = std::thread::spawn(move || serve(&listener, offered));
        let mut transport = connect(&path, feature::VERSION_1)?;
        // The driver sends them again when it takes memory back.
        let mut files = Vec::new();
        for number in [1, 2] {
            let flags = rustix::fs::MemfdFlags::CLOEXEC;
            let file = File::from(rustix::fs::memfd_create("test", flags)?);
            file.set_len(number << 12)?;
            transport.map_mem_region(number as usize, number as usize, file.as_raw_fd(), 0)?;
            files.push(file);
        }
        let most = transport.max_mem_regions();
        let taken = transport.unmap_mem_region(1, 1);
        assert_eq!(taken.is_ok(), offered & SLOTS != 0);
        drop(transport);
        Ok((most, server.join().unwrap()))
    }

    /// The numbers in the payloads of these messages, and how many files they had.
    fn of(all: &[(Message, usize)], request: u32) -> Vec<(Vec<u64>, usize)> {
        let these = all.iter().filter(|(message, _)| message.request == request);
        let numbers = |message: &Message| {
            let words = message.payload.chunks_exact(8);
            words
                .map(|word| u64::from_ne_bytes(word.try_into().unwrap()))
                .collect()
        };
        these
            .map(|(message, files)| (numbers(message), *files))
            .collect()
    }

    #[test]
    fn a_server_without_slots_gets_a_table_of_all_memory() {
        let (most, all) = told(PLAIN).unwrap();
        assert_eq!(most, MOST);
        assert_eq!(of(&all, SET_PROTOCOL_FEATURES), [(vec![PLAIN], 0)]);
        let (first, second) = ([1, 1, 1, 0], [2, 2, 2, 0]);
        let one = [&[1], &first[..]].concat();
        let both = [&[2], &first[..], &second[..]].concat();
        assert_eq!(of(&all, SET_MEM_TABLE), [(one, 1), (both, 2)]);
        for request in [ADD_MEM_REG, REM_MEM_REG, GET_MAX_MEM_SLOTS] {
            assert!(of(&all, request).is_empty());
        }
    }

    #[test]
    fn a_server_with_slots_gets_what_the_driver_says() {
        let (most, all) = told(PLAIN | SLOTS).unwrap();
        assert_eq!(most, 5);
        assert_eq!(of(&all, SET_PROTOCOL_FEATURES), [(vec![PLAIN | SLOTS], 0)]);
        let pieces = [1, 2].map(|number| (vec![0, number, number, number, 0], 1));
        assert_eq!(of(&all, ADD_MEM_REG), pieces);
        assert_eq!(of(&all, REM_MEM_REG)[0].0, pieces[0].0);
        assert!(of(&all, SET_MEM_TABLE).is_empty());
    }

    #[test]
    fn a_server_that_lacks_more_or_ends_is_an_error() {
        let error = told(0).unwrap_err().to_string();
        assert!(error.contains("required protocol features"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server");
        let listener = UnixListener::bind(&path).unwrap();
        let server = std::thread::spawn(move || drop(listener.accept()));
        let error = connect(&path, 0).err().unwrap().to_string();
        server.join().unwrap();
        let ended = ["the server closed", "Broken pipe", "reset by peer"];
        assert!(ended.iter().any(|why| error.contains(why)), "{error}");
    }
}
