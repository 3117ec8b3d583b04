//! System calls for which no library in use has a safe wrapper. One of the modules with `unsafe`; the
//! others are `aio`, and the engines and `pending`, which keep a request's memory until the kernel is done with it.

use elvis_ring::Piece;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::PathBuf;

/// Returns the kernel's name of an open file: its path, or such as `anon_inode:[eventfd]`.
///
/// # Errors
///
/// There is no /proc.
pub fn link_of(file: &File) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Sets an open-file-description lock (`F_RDLCK`, `F_WRLCK`; `F_UNLCK` unlocks) on a whole file.
///
/// # Errors
///
/// EAGAIN or EACCES if the lock is held elsewhere.
pub fn ofd_lock(file: &File, kind: i32) -> io::Result<()> {
    // SAFETY: a zeroed flock is a valid value (the whole file), and F_OFD_SETLK only reads it.
    let done = unsafe {
        let mut lock: libc::flock = std::mem::zeroed();
        lock.l_type = kind as libc::c_short;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock)
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn result(done: isize) -> i32 {
    if done < 0 {
        return -io::Error::last_os_error()
            .raw_os_error()
            .unwrap_or(libc::EIO);
    }
    i32::try_from(done).unwrap_or(i32::MAX)
}

/// Calls preadv2. Like io_uring, returns bytes or a negative errno.
#[must_use]
pub fn readv(fd: BorrowedFd, pieces: &[Piece], offset: u64) -> i32 {
    let count = i32::try_from(pieces.len()).unwrap_or(i32::MAX);
    pieces.iter().for_each(|piece| piece.touch(true));
    // SAFETY: the kernel may access the pieces' memory; the array has the given length.
    result(unsafe {
        libc::preadv2(
            fd.as_raw_fd(),
            Piece::as_iovecs(pieces),
            count,
            offset as i64,
            0,
        )
    })
}

/// Calls pwritev2. With `dsync`, waits until the data are on the disk.
#[must_use]
pub fn writev(fd: BorrowedFd, pieces: &[Piece], offset: u64, dsync: bool) -> i32 {
    let count = i32::try_from(pieces.len()).unwrap_or(i32::MAX);
    let flags = if dsync { libc::RWF_DSYNC } else { 0 };
    pieces.iter().for_each(|piece| piece.touch(false));
    // SAFETY: as for `readv`.
    result(unsafe {
        libc::pwritev2(
            fd.as_raw_fd(),
            Piece::as_iovecs(pieces),
            count,
            offset as i64,
            flags,
        )
    })
}

/// Calls fdatasync.
#[must_use]
pub fn datasync(fd: BorrowedFd) -> i32 {
    // SAFETY: no memory is involved.
    result(unsafe { libc::fdatasync(fd.as_raw_fd()) } as isize)
}

/// Calls fallocate.
#[must_use]
pub fn allocate(fd: BorrowedFd, mode: i32, offset: u64, bytes: u64) -> i32 {
    // SAFETY: no memory is involved.
    result(unsafe { libc::fallocate(fd.as_raw_fd(), mode, offset as i64, bytes as i64) } as isize)
}

/// Returns the NUMA node of each page of this process at these addresses; a negative errno for a page that is not
/// mapped or not used yet by this process. Pages are neither moved nor read.
///
/// # Errors
///
/// ENOSYS if the kernel has no NUMA support.
pub fn nodes_of_pages(pages: &[usize]) -> io::Result<Vec<i32>> {
    let mut nodes = vec![-libc::ENOENT; pages.len()];
    // SAFETY: without target nodes the kernel only looks up the pages; it checks each address itself,
    // and both arrays have the given length.
    let done = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            0,
            pages.len(),
            pages.as_ptr(),
            std::ptr::null::<i32>(),
            nodes.as_mut_ptr(),
            0,
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(nodes)
}

/// Returns a user's UID and GID, by name.
#[must_use]
pub fn user(name: &str) -> Option<(u32, u32)> {
    let name = std::ffi::CString::new(name).ok()?;
    let mut text = vec![0 as libc::c_char; 16 << 10];
    // SAFETY: a zeroed passwd is a valid value; getpwnam_r fills it and the text, whose length is
    // passed. If `found` is set, it points to the record.
    unsafe {
        let mut record: libc::passwd = std::mem::zeroed();
        let mut found = std::ptr::null_mut();
        let (at, length) = (text.as_mut_ptr(), text.len());
        libc::getpwnam_r(name.as_ptr(), &raw mut record, at, length, &raw mut found);
        (!found.is_null()).then_some((record.pw_uid, record.pw_gid))
    }
}

/// Makes all threads of this process run as this user and group, without other groups.
///
/// # Errors
///
/// EPERM without the privilege.
pub fn become_user(uid: u32, gid: u32) -> io::Result<()> {
    // The C library's functions: the bare system calls would change one thread only.
    // SAFETY: no memory is involved; an empty list of groups is not read.
    let done = unsafe {
        libc::setgroups(0, std::ptr::null()) == 0
            && libc::setresgid(gid, gid, gid) == 0
            && libc::setresuid(uid, uid, uid) == 0
    };
    if done {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Most pieces of a frame, besides its header and its private part.
pub const PIECES: usize = 62;

/// Parts of a frame for one system call.
struct Vectors {
    parts: [MaybeUninit<libc::iovec>; PIECES + 3],
    /// Number of valid parts.
    count: usize,
}

impl Vectors {
    fn new() -> Self {
        Self {
            parts: [const { MaybeUninit::uninit() }; PIECES + 3],
            count: 0,
        }
    }

    /// Adds a part. False if there are too many.
    fn add(&mut self, place: *mut u8, bytes: usize) -> bool {
        let Some(part) = self.parts.get_mut(self.count) else {
            return false;
        };
        part.write(libc::iovec {
            iov_base: place.cast(),
            iov_len: bytes,
        });
        self.count += 1;
        true
    }

    fn first(&self) -> *const libc::iovec {
        self.parts.as_ptr().cast()
    }
}

/// Reads a frame and its header into private memory. Returns bytes or a negative errno.
#[must_use]
pub fn read_private(fd: BorrowedFd, memory: &mut [u8]) -> i32 {
    raw(rustix::io::read(fd, memory))
}

/// Writes a frame and its header from private memory. Returns bytes or a negative errno.
#[must_use]
pub fn write_private(fd: BorrowedFd, memory: &[u8]) -> i32 {
    raw(rustix::io::write(fd, memory))
}

/// Returns bytes, or a negative errno.
fn raw(done: rustix::io::Result<usize>) -> i32 {
    match done {
        Ok(bytes) => i32::try_from(bytes).unwrap_or(i32::MAX),
        Err(error) => -error.raw_os_error(),
    }
}

/// Reads a frame: its header, then as much as fits into the pieces, then the rest into `tail`. Returns bytes or a
/// negative errno, E2BIG if there are too many pieces.
#[must_use]
pub fn read_frame<'a>(
    fd: BorrowedFd,
    header: &mut [u8],
    pieces: impl IntoIterator<Item = Piece<'a>>,
    tail: &mut [u8],
) -> i32 {
    let mut vectors = Vectors::new();
    let mut fit = vectors.add(header.as_mut_ptr(), header.len());
    for piece in pieces {
        piece.touch(true);
        fit &= vectors.add(piece.address() as *mut u8, piece.bytes());
    }
    fit &= vectors.add(tail.as_mut_ptr(), tail.len());
    if !fit {
        return -libc::E2BIG;
    }
    // SAFETY: the first `count` parts are valid; the kernel writes to two borrowed slices, and to pieces, whose
    // memory it may access.
    result(unsafe { libc::readv(fd.as_raw_fd(), vectors.first(), vectors.count as i32) })
}

/// Writes a frame: its private parts, then the pieces. Returns bytes or a negative errno, E2BIG if there are
/// too many of both.
#[must_use]
pub fn write_frame<'a>(
    fd: BorrowedFd,
    private: &[&[u8]],
    pieces: impl IntoIterator<Item = Piece<'a>>,
) -> i32 {
    let mut vectors = Vectors::new();
    let mut fit = true;
    for part in private {
        fit &= vectors.add(part.as_ptr().cast_mut(), part.len());
    }
    for piece in pieces {
        piece.touch(false);
        fit &= vectors.add(piece.address() as *mut u8, piece.bytes());
    }
    if !fit {
        return -libc::E2BIG;
    }
    // SAFETY: the first `count` parts are valid; the kernel only reads borrowed slices, and pieces, whose memory it
    // may access.
    result(unsafe { libc::writev(fd.as_raw_fd(), vectors.first(), vectors.count as i32) })
}

/// Returns the result of a call that only passes a number or a structure.
fn ended(done: i32) -> io::Result<()> {
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Returns a request about the interface of this name, which must be short enough.
fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: a zeroed ifreq is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= libc::IFNAMSIZ {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

/// Makes an open /dev/net/tun a queue of a tap device whose frames have a header of 10 bytes.
///
/// # Errors
///
/// EPERM without the privilege or for another user's tap, EBUSY if it is in use, EINVAL if it was made with
/// `several` and is opened without, or the reverse.
pub fn tap_set(tun: BorrowedFd, name: &str, several: bool) -> io::Result<()> {
    let mut flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
    if several {
        flags |= libc::IFF_MULTI_QUEUE;
    }
    let mut request = request(name)?;
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    let header: libc::c_int = 10;
    // SAFETY: the kernel reads and writes one ifreq, then reads one int.
    unsafe {
        ended(libc::ioctl(
            tun.as_raw_fd(),
            libc::TUNSETIFF as _,
            &raw mut request,
        ))?;
        ended(libc::ioctl(
            tun.as_raw_fd(),
            libc::TUNSETVNETHDRSZ as _,
            &raw const header,
        ))
    }
}

/// Sets whether the kernel sends frames to this queue of a tap device.
///
/// # Errors
///
/// EINVAL if that is so already.
pub fn tap_use(tap: BorrowedFd, used: bool) -> io::Result<()> {
    let flags = if used {
        libc::IFF_ATTACH_QUEUE
    } else {
        libc::IFF_DETACH_QUEUE
    };
    let mut request = request("")?;
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    // SAFETY: the kernel reads one ifreq.
    ended(unsafe { libc::ioctl(tap.as_raw_fd(), libc::TUNSETQUEUE as _, &raw const request) })
}

/// Sets which frames a tap device may get from the kernel (TUN_F_...).
///
/// # Errors
///
/// EINVAL if the kernel does not know a flag.
pub fn tap_offload(tap: BorrowedFd, flags: u32) -> io::Result<()> {
    // SAFETY: the argument is a number.
    ended(unsafe {
        libc::ioctl(
            tap.as_raw_fd(),
            libc::TUNSETOFFLOAD as _,
            libc::c_ulong::from(flags),
        )
    })
}

/// Options of packet sockets (linux/if_packet.h).
const PACKET_AUXDATA: libc::c_int = 8;
const PACKET_VNET_HDR: libc::c_int = 15;
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// `struct packet_mreq`.
#[repr(C)]
#[derive(Default)]
struct Membership {
    index: libc::c_int,
    kind: u16,
    address_bytes: u16,
    address: [u8; 8],
}

/// Treatment of frames with a VLAN tag, which the kernel takes off before a packet socket gets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tags {
    /// The kernel drops them.
    Drop,
    /// The kernel tells the tag with the frame ([`receive_frame`]).
    Tell,
}

/// Opens a packet socket on a network interface, for all frames, which have a header of 10 bytes. The interface takes
/// frames for all addresses from now on.
///
/// # Errors
///
/// EPERM without the privilege, ENODEV if there is no such interface.
pub fn packet_socket(name: &str, tags: Tags) -> io::Result<OwnedFd> {
    let protocol = (libc::ETH_P_ALL as u16).to_be();
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no memory is involved; the new descriptor is owned by nothing else.
    let socket = unsafe {
        let socket = libc::socket(libc::AF_PACKET, kind, 0);
        ended(socket)?;
        OwnedFd::from_raw_fd(socket)
    };
    match tags {
        // Tags are set before the socket is bound: from then on it gets frames.
        Tags::Drop => drop_tagged(&socket)?,
        // SAFETY: the option is a number.
        Tags::Tell => unsafe { set(&socket, libc::SOL_PACKET, PACKET_AUXDATA, &1i32) }?,
    }
    let mut request = request(name)?;
    // SAFETY: the kernel fills one ifreq, whose index it then has; a zeroed sockaddr_ll is
    // valid, and is only read, with its length; each option has its type.
    unsafe {
        ended(libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCGIFINDEX as _,
            &raw mut request,
        ))?;
        let index = request.ifr_ifru.ifru_ifindex;
        set(&socket, libc::SOL_PACKET, PACKET_VNET_HDR, &1i32)?;
        // Frames that this socket or others send there are left out.
        set(&socket, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1i32)?;
        let all = Membership {
            index,
            kind: libc::PACKET_MR_PROMISC as u16,
            ..Membership::default()
        };
        set(&socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &all)?;
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        (address.sll_protocol, address.sll_ifindex) = (protocol, index);
        let bytes = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        ended(libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            bytes,
        ))?;
    }
    Ok(socket)
}

/// `struct tpacket_auxdata`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Auxiliary {
    status: u32,
    bytes: u32,
    kept: u32,
    mac: u16,
    network: u16,
    tag_number: u16,
    tag_kind: u16,
}

/// TP_STATUS_VLAN_VALID: the kernel took a tag off.
const TAGGED: u32 = 1 << 4;

/// Makes the kernel drop frames that had a VLAN tag before they come to a packet socket.
fn drop_tagged(socket: &OwnedFd) -> io::Result<()> {
    let operation = |code: u32, jf, k| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf,
        k,
    };
    // Place at which the kernel says that it took a tag off (linux/filter.h); negative places are no bytes of the
    // frame.
    let tagged = (libc::SKF_AD_OFF + libc::SKF_AD_VLAN_TAG_PRESENT) as u32;
    let mut program = [
        operation(libc::BPF_LD | libc::BPF_B | libc::BPF_ABS, 0, tagged),
        operation(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, 0),
        // All bytes, or none.
        operation(libc::BPF_RET | libc::BPF_K, 0, u32::MAX),
        operation(libc::BPF_RET | libc::BPF_K, 0, 0),
    ];
    let program = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the kernel reads the option, which is a sock_fprog, and the operations that it names.
    unsafe { set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program) }
}

/// Receives a frame from a packet socket: its header, then the frame. Returns bytes or a negative errno, and the tag that
/// the kernel took off: EtherType and number.
#[must_use]
pub fn receive_frame(
    socket: BorrowedFd,
    header: &mut [u8],
    frame: &mut [u8],
) -> (i32, Option<(u16, u16)>) {
    let mut vectors = Vectors::new();
    vectors.add(header.as_mut_ptr(), header.len());
    vectors.add(frame.as_mut_ptr(), frame.len());
    // More than one message of this kind has; aligned for its header.
    let mut control = [0u64; 16];
    // SAFETY: a zeroed msghdr is valid. The kernel writes to two borrowed slices and to `control`, whose lengths it is told.
    // The macros walk what it wrote. Data of this kind are an Auxiliary: any bytes are one, and they are read unaligned.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = vectors.parts.as_mut_ptr().cast();
        message.msg_iovlen = vectors.count;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control);
        let read = result(libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0));
        let mut next = match read {
            0.. => libc::CMSG_FIRSTHDR(&raw const message),
            _ => std::ptr::null_mut(),
        };
        while !next.is_null() {
            let whole = libc::CMSG_LEN(size_of::<Auxiliary>() as u32) as usize;
            let kind = ((*next).cmsg_level, (*next).cmsg_type);
            if kind == (libc::SOL_PACKET, PACKET_AUXDATA) && (*next).cmsg_len >= whole {
                let told: Auxiliary = libc::CMSG_DATA(next).cast::<Auxiliary>().read_unaligned();
                let tagged = told.status & TAGGED != 0;
                return (read, tagged.then_some((told.tag_kind, told.tag_number)));
            }
            next = libc::CMSG_NXTHDR(&raw const message, next);
        }
        (read, None)
    }
}

/// Sets an option of a socket.
///
/// # Safety
///
/// The value is of the option's type.
unsafe fn set<T>(
    socket: &OwnedFd,
    level: libc::c_int,
    option: libc::c_int,
    value: &T,
) -> io::Result<()> {
    let bytes = size_of::<T>() as libc::socklen_t;
    let at = (&raw const *value).cast();
    // SAFETY: the kernel reads `bytes` bytes of the value.
    ended(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, at, bytes) })
}

/// Looks at the first bytes that wait in a socket, and leaves them there.
pub fn peek(socket: BorrowedFd, bytes: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the kernel writes into a borrowed slice of this length.
    let done = unsafe {
        libc::recv(
            socket.as_raw_fd(),
            bytes.as_mut_ptr().cast(),
            bytes.len(),
            libc::MSG_PEEK,
        )
    };
    usize::try_from(done).map_err(|_| io::Error::last_os_error())
}
