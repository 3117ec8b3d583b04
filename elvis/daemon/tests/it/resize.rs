//! Disks whose file has grown: their size, and the front-end's channel by which it is told.

use crate::client::{Client, LIMIT, add_disk, image, limited, memfd, serve, socket, until};
use crate::raw::{DATA, Raw};
use elvis::resize::Resized;
use elvis::serve::Server;
use elvis::storage::{Blocks, Disk};
use elvis_policy::simulation::Mode;
use rustix::net::{AddressFamily, SocketType};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;
use vhost::vhost_user::VhostUserFrontend;
use vhost::vhost_user::message::{VhostUserConfigFlags, VhostUserProtocolFeatures as Protocol};
use vmm_sys_util::sock_ctrl_msg::ScmSocket;

const MIB: u64 = 1 << 20;
const SET_BACKEND_REQ_FD: u32 = 21;
/// VHOST_USER_BACKEND_CONFIG_CHANGE_MSG, version 1, no body: as the specification has it.
const CONFIG_CHANGED: [u8; 12] = [2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
/// Request types and a status (VIRTIO 1.2, section 5.2.6).
const READ: u64 = 0;
const WRITE: u64 = 1;
const IO_ERROR: u8 = 1;

fn set_len(path: &Path, bytes: u64) {
    File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_len(bytes)
        .unwrap();
}

/// Both ends of a channel: the front-end's, and the one for the device.
fn pair() -> (UnixStream, UnixStream) {
    let (own, given) = UnixStream::pair().unwrap();
    own.set_read_timeout(Some(LIMIT)).unwrap();
    (own, given)
}

/// Gives a front-end's device a channel, and returns the front-end's end.
fn channel(raw: &mut Raw) -> UnixStream {
    let (own, given) = pair();
    raw.frontend.set_backend_request_fd(&given).unwrap();
    own
}

/// Waits for one message.
fn told(mut channel: &UnixStream) {
    let mut message = [0; 12];
    channel.read_exact(&mut message).unwrap();
    assert_eq!(message, CONFIG_CHANGED);
}

/// Asserts that no more messages are there, and that the device's end is open.
fn told_nothing(mut channel: &UnixStream) {
    channel.set_nonblocking(true).unwrap();
    let read = channel.read(&mut [0]).map_err(|error| error.kind());
    assert_eq!(read, Err(ErrorKind::WouldBlock));
    channel.set_nonblocking(false).unwrap();
}

/// Waits until the device's end is closed.
fn closed(mut channel: &UnixStream) {
    assert_eq!(channel.read(&mut [0]).unwrap(), 0);
}

/// Sectors as the configuration space has them.
fn sectors(raw: &mut Raw) -> u64 {
    let flags = VhostUserConfigFlags::WRITABLE;
    let (_, bytes) = raw.frontend.get_config(0, 8, flags, &[0; 8]).unwrap();
    u64::from_le_bytes(bytes.try_into().unwrap())
}

/// Whether a request for one block of 4 KiB that ends here is done.
fn takes(raw: &mut Raw, kind: u64, end: u64) -> bool {
    let status = raw.request(kind, (end - 4096) / 512, &[(DATA, 4096, kind == READ)]);
    assert!(status == 0 || status == IO_ERROR);
    status == 0
}

/// The answer for one disk: its name, its sizes, and whether its front-end was told.
fn one(resized: &Resized) -> (&str, u64, u64, bool) {
    (&resized.name, resized.before, resized.bytes, resized.told)
}

fn resized(server: &Server, name: &str) -> Resized {
    let mut all = limited("a resize", || server.resize(name).unwrap());
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

/// A server with the disk `a` in a file of 1 MiB.
fn start(dir: &Path) -> (Server, std::path::PathBuf) {
    let path = image(dir, MIB);
    let server = serve(dir, Mode::Elvis, &[&format!("a={}", path.display())]);
    (server, path)
}

#[test]
fn a_file_that_grew_is_served_to_its_end_and_the_front_end_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let (server, path) = start(dir.path());
    let mut raw = Raw::connect(&socket(dir.path(), "a"));
    let own = channel(&mut raw);
    raw.start(0);
    set_len(&path, 3 * MIB + 100);
    // Not before it is asked for.
    assert_eq!(sectors(&mut raw), 2048);
    assert!(takes(&mut raw, WRITE, MIB) && !takes(&mut raw, WRITE, 2 * MIB));
    told_nothing(&own);
    let answer = resized(&server, "a");
    assert_eq!(one(&answer), ("a", MIB, 3 * MIB, true));
    assert_eq!(answer.seen, "its front-end is notified");
    told(&own);
    told_nothing(&own);
    assert_eq!(sectors(&mut raw), 3 * 2048);
    assert_eq!(server.list()[0].bytes, Some(3 * MIB));
    let data = raw.driver.memory().span(DATA, 4096).unwrap();
    data.store_u8(4095, 7, std::sync::atomic::Ordering::Relaxed);
    assert!(takes(&mut raw, WRITE, 3 * MIB) && takes(&mut raw, READ, 3 * MIB));
    assert!(!takes(&mut raw, WRITE, 3 * MIB + 512) && !takes(&mut raw, READ, 4 * MIB));
    let mut last = [0];
    let file = File::open(&path).unwrap();
    file.read_exact_at(&mut last, 3 * MIB - 1).unwrap();
    assert_eq!(last, [7]);
    // A reset keeps the channel. A front-end is told again, as it may not have listened the first time.
    raw.frontend.reset_device().unwrap();
    assert_eq!(one(&resized(&server, "a")), ("a", 3 * MIB, 3 * MIB, true));
    told(&own);
}

#[test]
fn a_front_end_without_a_channel_reads_the_new_size() {
    let dir = tempfile::tempdir().unwrap();
    let (server, path) = start(dir.path());
    set_len(&path, 2 * MIB);
    let answer = resized(&server, "a");
    assert_eq!(one(&answer), ("a", MIB, 2 * MIB, false));
    assert_eq!(answer.seen, "no front-end is connected");
    // libblkio's driver gives no channel.
    let mut client = Client::connect(&socket(dir.path(), "a"), 1, 16, MIB);
    let capacity = |client: &Client| u64::from(client.transport.get_config().unwrap().capacity);
    assert_eq!(capacity(&client), 4096);
    assert_eq!(client.write(2 * MIB - 4096, 1), 0);
    assert_ne!(client.write(3 * MIB - 4096, 1), 0);
    set_len(&path, 3 * MIB);
    let answer = resized(&server, "a");
    assert_eq!(one(&answer), ("a", 2 * MIB, 3 * MIB, false));
    assert!(answer.seen.contains("at its next start"), "{answer:?}");
    assert_eq!(capacity(&client), 6144);
    assert_eq!(client.write(3 * MIB - 4096, 1), 0);
}

#[test]
fn a_file_that_grew_by_less_than_a_block_is_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let (server, path) = start(dir.path());
    let file = File::options().read(true).write(true).open(&path).unwrap();
    let blocks = Blocks {
        logical: 4096,
        physical: 4096,
        ranges: 4096,
        ..Blocks::SECTORS
    };
    let disk = Disk::given(file, MIB, blocks, false).unwrap();
    add_disk(&server, &socket(dir.path(), "b"), disk);
    let sizes = |bytes: u64| {
        set_len(&path, bytes);
        let all = server.resize("b").unwrap();
        let sizes = |disk: &Resized| (disk.name.clone(), disk.before, disk.bytes);
        all.iter().map(sizes).collect::<Vec<_>>()
    };
    let of = |b: [u64; 2], a: [u64; 2]| vec![("b".into(), b[0], b[1]), ("a".into(), a[0], a[1])];
    assert_eq!(sizes(MIB + 511), of([MIB, MIB], [MIB, MIB]));
    // A block of the one disk, and less than a block of the other.
    assert_eq!(sizes(MIB + 4095), of([MIB, MIB], [MIB, MIB + 3584]));
    assert_eq!(
        sizes(MIB + 4096),
        of([MIB, MIB + 4096], [MIB + 3584, MIB + 4096])
    );
    // Less than a block is lost again, which no disk has.
    assert_eq!(sizes(MIB + 5000).len(), 2);
    set_len(&path, MIB + 4096 + 512);
    assert!(server.resize("b").is_ok());
}

#[test]
fn a_file_that_shrank_is_refused_and_nothing_changes() {
    let dir = tempfile::tempdir().unwrap();
    let (server, path) = start(dir.path());
    let mut raw = Raw::connect(&socket(dir.path(), "a"));
    let own = channel(&mut raw);
    for bytes in [MIB - 1, MIB / 2 + 1, 0] {
        set_len(&path, bytes);
        let why = server.resize("a").unwrap_err().to_string();
        let sizes = format!("a: its file has {bytes} bytes, fewer than the {MIB} of the disk");
        assert!(why.starts_with(&sizes), "{why}");
        assert_eq!(sectors(&mut raw), 2048);
    }
    told_nothing(&own);
    set_len(&path, MIB);
    assert_eq!(one(&resized(&server, "a")), ("a", MIB, MIB, true));
    told(&own);
}

#[test]
fn all_disks_of_a_storage_grow_or_none() {
    let dir = tempfile::tempdir().unwrap();
    let path = image(dir.path(), MIB);
    let (link, other) = (dir.path().join("link"), dir.path().join("other"));
    std::fs::hard_link(&path, &link).unwrap();
    std::fs::copy(&path, &other).unwrap();
    let server = serve(dir.path(), Mode::Elvis, &["null=null:1M", "ram=ram:1M"]);
    let add = |name: &str, path: &Path| {
        let argument = format!(
            "{}={},readonly",
            dir.path().join(name).display(),
            path.display()
        );
        let device = elvis::config::device_argument(&argument).unwrap();
        let spec = elvis::config::device_from_json(device).unwrap();
        server.add(spec).unwrap();
    };
    add("a", &path);
    add("z", &other);
    set_len(&path, 2 * MIB);
    set_len(&other, 2 * MIB);
    add("b", &link);
    let mut fronts = ["a", "b", "z"].map(|name| Raw::connect(&socket(dir.path(), name)));
    let channels = fronts.each_mut().map(channel);
    // One of them would shrink.
    set_len(&path, MIB + MIB / 2);
    for name in ["a", "b"] {
        let why = server.resize(name).unwrap_err().to_string();
        let sizes = format!(
            "b: its file has {} bytes, fewer than the {} of",
            3 * MIB / 2,
            2 * MIB
        );
        assert!(why.starts_with(&sizes), "{why}");
    }
    assert_eq!(fronts.each_mut().map(sectors), [2048, 4096, 2048]);
    channels.iter().for_each(told_nothing);
    set_len(&path, 3 * MIB);
    let answer = server.resize("b").unwrap();
    let wanted = [("b", 2 * MIB, 3 * MIB, true), ("a", MIB, 3 * MIB, true)];
    assert_eq!(answer.iter().map(one).collect::<Vec<_>>(), wanted);
    assert_eq!(fronts.each_mut().map(sectors), [6144, 6144, 2048]);
    let [a, b, z] = &channels;
    told(a);
    told(b);
    told_nothing(z);
    for (name, why) in [
        (
            "null",
            "only a disk on a file or a block device can be resized",
        ),
        (
            "ram",
            "only a disk on a file or a block device can be resized",
        ),
        ("nobody", "no device \"nobody\""),
    ] {
        let said = server.resize(name).unwrap_err().to_string();
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn a_network_device_has_no_size_and_takes_no_channel() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(dir.path(), Mode::Elvis, &["n=switch:s"]);
    let why = server.resize("n").unwrap_err().to_string();
    assert_eq!(why, "n: it is no disk");
    let stream = UnixStream::connect(socket(dir.path(), "n")).unwrap();
    let (own, given) = pair();
    // Its front-end did not see the feature, and sets it all the same.
    let body = Protocol::BACKEND_REQ.bits().to_ne_bytes();
    send(&stream, 16, &body, &[]);
    send(&stream, SET_BACKEND_REQ_FD, &[], &[given.as_raw_fd()]);
    drop(given);
    closed(&own);
}

/// Sends a message, and asks for a reply.
fn send(stream: &UnixStream, request: u32, body: &[u8], descriptors: &[RawFd]) {
    let words = [request, 1 | 1 << 3, body.len() as u32].map(u32::to_ne_bytes);
    let bytes = [words.as_flattened(), body].concat();
    let sent = stream.send_with_fds(&[&bytes[..]], descriptors).unwrap();
    assert_eq!(sent, bytes.len());
}

/// A front-end's connection, for messages that the crate vhost does not send.
fn stream(raw: &Raw) -> UnixStream {
    // SAFETY: the front-end keeps its descriptor open during the borrow.
    let borrowed = unsafe { BorrowedFd::borrow_raw(raw.frontend.as_raw_fd()) };
    let stream = UnixStream::from(borrowed.try_clone_to_owned().unwrap());
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream
}

/// Whether a message with these descriptors is done; otherwise the connection has ended.
fn accepted(raw: &Raw, body: &[u8], descriptors: &[RawFd]) -> bool {
    let mut stream = stream(raw);
    send(&stream, SET_BACKEND_REQ_FD, body, descriptors);
    let mut reply = [0; 20];
    match stream.read_exact(&mut reply) {
        Ok(()) => {
            let words = [SET_BACKEND_REQ_FD, 1 | 1 << 2, 8, 0, 0];
            assert_eq!(reply, *words.map(u32::to_ne_bytes).as_flattened());
            true
        }
        // It was closed with or without bytes that the server did not read.
        Err(error) => {
            let kind = error.kind();
            assert!(
                matches!(kind, ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset),
                "{error}"
            );
            false
        }
    }
}

#[test]
fn what_is_no_channel_ends_the_connection_and_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    let (server, _path) = start(dir.path());
    let path = socket(dir.path(), "a");
    let of = |family, kind| rustix::net::socket(family, kind, None).unwrap();
    let wrong: [(&str, OwnedFd); 8] = [
        ("a memory file", memfd(4096).into()),
        (
            "an eventfd",
            rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).unwrap(),
        ),
        ("a pipe", rustix::pipe::pipe().unwrap().1),
        ("a folder", File::open(dir.path()).unwrap().into()),
        ("datagrams", of(AddressFamily::UNIX, SocketType::DGRAM)),
        ("packets", of(AddressFamily::UNIX, SocketType::SEQPACKET)),
        ("TCP", of(AddressFamily::INET, SocketType::STREAM)),
        ("netlink", of(AddressFamily::NETLINK, SocketType::RAW)),
    ];
    for (what, descriptor) in wrong {
        let raw = Raw::connect(&path);
        assert!(!accepted(&raw, &[], &[descriptor.as_raw_fd()]), "{what}");
    }
    for count in [0, 2, 3, 16, 253] {
        let raw = Raw::connect(&path);
        let pairs: Vec<_> = (0..count).map(|_| pair()).collect();
        let all: Vec<RawFd> = pairs.iter().map(|(_, given)| given.as_raw_fd()).collect();
        assert!(!accepted(&raw, &[], &all), "{count} descriptors");
        // The server has closed all that it got.
        for (own, given) in pairs {
            drop(given);
            closed(&own);
        }
    }
    for body in [1, 8, 4096] {
        let raw = Raw::connect(&path);
        let (_own, given) = pair();
        assert!(
            !accepted(&raw, &vec![0; body], &[given.as_raw_fd()]),
            "{body} bytes"
        );
    }
    // A feature that was not negotiated.
    let mut raw = Raw::connect(&path);
    let (own, given) = pair();
    let protocol = raw.frontend.get_protocol_features().unwrap();
    let without = protocol - Protocol::BACKEND_REQ;
    raw.frontend.set_protocol_features(without).unwrap();
    assert!(!accepted(&raw, &[], &[given.as_raw_fd()]));
    drop(given);
    closed(&own);
    drop(raw);
    let mut client = Client::connect(&path, 1, 16, MIB);
    assert_eq!(client.write(0, 1), 0);
    assert!(!resized(&server, "a").told);
}

/// The first part has the descriptor.
#[test]
fn a_header_in_parts_brings_no_channel() {
    let dir = tempfile::tempdir().unwrap();
    let (_server, _path) = start(dir.path());
    for cut in [1, 4, 11] {
        let raw = Raw::connect(&socket(dir.path(), "a"));
        let mut stream = stream(&raw);
        let (own, given) = pair();
        let header = [SET_BACKEND_REQ_FD, 1, 0].map(u32::to_ne_bytes);
        let header = header.as_flattened();
        stream
            .send_with_fds(&[&header[..cut]], &[given.as_raw_fd()])
            .unwrap();
        drop(given);
        // Time for the server to read it; it fails for the one reason or the other.
        std::thread::sleep(Duration::from_millis(20));
        let _ = stream.write_all(&header[cut..]);
        closed(&own);
        closed(&stream);
    }
}

#[test]
fn a_full_channel_stops_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let (server, path) = start(dir.path());
    let mut raw = Raw::connect(&socket(dir.path(), "a"));
    let (own, given) = pair();
    // The smallest buffer that the kernel allows. The front-end could make the socket block, too.
    rustix::net::sockopt::set_socket_send_buffer_size(&given, 1).unwrap();
    given.set_nonblocking(false).unwrap();
    raw.frontend.set_backend_request_fd(&given).unwrap();
    raw.start(0);
    let mut sent = 0;
    let full = until("a full channel", || {
        let answer = resized(&server, "a");
        sent += u64::from(answer.told);
        (!answer.told).then_some(answer)
    });
    assert!(full.seen.contains("does not read"), "{full:?}");
    // The size changes all the same, and requests are served.
    set_len(&path, 2 * MIB);
    assert_eq!(one(&resized(&server, "a")), ("a", MIB, 2 * MIB, false));
    assert_eq!(sectors(&mut raw), 4096);
    assert!(takes(&mut raw, WRITE, 2 * MIB));
    // Whole messages only, then more again.
    (0..sent).for_each(|_| told(&own));
    told_nothing(&own);
    assert!(resized(&server, "a").told);
    told(&own);
}

#[test]
fn a_channel_ends_with_its_connection_or_for_another() {
    let dir = tempfile::tempdir().unwrap();
    let (server, _path) = start(dir.path());
    let path = socket(dir.path(), "a");
    let mut raw = Raw::connect(&path);
    let first = channel(&mut raw);
    let second = channel(&mut raw);
    closed(&first);
    assert!(resized(&server, "a").told);
    told(&second);
    // What the front-end says there is not read.
    (&second).write_all(&[0xee; 4096]).unwrap();
    assert!(resized(&server, "a").told);
    told(&second);
    // Another one that is refused.
    assert!(!accepted(&raw, &[], &[]));
    closed_after_bytes(&second);
    let mut raw = Raw::connect(&path);
    let third = channel(&mut raw);
    drop(raw);
    closed(&third);
    // The front-end closes its end.
    let mut raw = Raw::connect(&path);
    drop(channel(&mut raw));
    let answer = resized(&server, "a");
    assert!(!answer.told && answer.seen.contains("closed"), "{answer:?}");
    let answer = resized(&server, "a");
    assert!(
        !answer.told && answer.seen.contains("can't be notified"),
        "{answer:?}"
    );
    // Sockets that are not connected.
    let listener = UnixListener::bind(dir.path().join("listener")).unwrap();
    let alone = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    for descriptor in [listener.as_raw_fd(), alone.as_raw_fd()] {
        assert!(accepted(&raw, &[], &[descriptor]));
        let answer = resized(&server, "a");
        assert!(!answer.told && answer.seen.contains("closed"), "{answer:?}");
    }
    let last = channel(&mut raw);
    server.remove("a").unwrap();
    closed(&last);
}

/// As `closed`, where bytes were written that the device did not read.
fn closed_after_bytes(mut channel: &UnixStream) {
    let read = channel.read(&mut [0]).map_err(|error| error.kind());
    assert!(
        matches!(read, Ok(0) | Err(ErrorKind::ConnectionReset)),
        "{read:?}"
    );
}
