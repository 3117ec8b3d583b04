//! System calls for which no library in use has a safe wrapper. One of the modules with `unsafe`; the
//! others are the engines and `pending`, which keep a request's memory until the kernel is done with it.

use elvis_ring::Piece;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

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

/// preadv2. Like io_uring it returns bytes or a negative errno.
#[must_use]
pub fn readv(fd: BorrowedFd, pieces: &[Piece], offset: u64) -> i32 {
    let count = i32::try_from(pieces.len()).unwrap_or(i32::MAX);
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

/// pwritev2. With `dsync` it waits until the data are on the disk.
#[must_use]
pub fn writev(fd: BorrowedFd, pieces: &[Piece], offset: u64, dsync: bool) -> i32 {
    let count = i32::try_from(pieces.len()).unwrap_or(i32::MAX);
    let flags = if dsync { libc::RWF_DSYNC } else { 0 };
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

/// fdatasync.
#[must_use]
pub fn datasync(fd: BorrowedFd) -> i32 {
    // SAFETY: no memory is involved.
    result(unsafe { libc::fdatasync(fd.as_raw_fd()) } as isize)
}

/// fallocate.
#[must_use]
pub fn allocate(fd: BorrowedFd, mode: i32, offset: u64, bytes: u64) -> i32 {
    // SAFETY: no memory is involved.
    result(unsafe { libc::fallocate(fd.as_raw_fd(), mode, offset as i64, bytes as i64) } as isize)
}

/// Interrupts a system call in which a thread of this process blocks: it returns EINTR. The handler
/// of [`interruptible`] must be installed.
pub fn interrupt(thread: i32) {
    // SAFETY: no memory is involved; for a thread that has ended, the call only fails.
    unsafe {
        libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, libc::SIGUSR2);
    }
}

/// Makes SIGUSR2 do nothing but interrupt system calls.
pub fn interruptible() {
    extern "C" fn nothing(_signal: i32) {}
    // SAFETY: the handler does nothing, so it is async-signal-safe; a zeroed sigaction is valid.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as *const () as usize;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut());
    }
}

/// The NUMA node of each page of this process at these addresses; a negative errno for a page that is not
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

/// A user's UID and GID, by name.
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
