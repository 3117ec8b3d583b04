//! System calls that the libraries in use have no safe form of. The module of this crate with `unsafe`, beside the
//! engines and `pending`, which keep what a request needs until the kernel is done with it.

use elvis_ring::Piece;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Takes an open-file-description lock of this kind (`F_RDLCK`, `F_WRLCK`, `F_UNLCK`: none) on a whole file.
///
/// # Errors
///
/// EAGAIN or EACCES where somebody else has it.
pub fn ofd_lock(file: &File, kind: i32) -> io::Result<()> {
    // SAFETY: a zeroed flock is a valid value (from the start, to the end), and F_OFD_SETLK reads it.
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

/// preadv2, with the result as io_uring gives it: bytes, or a negative errno.
#[must_use]
pub fn readv(fd: BorrowedFd, pieces: &[Piece], offset: u64) -> i32 {
    let count = i32::try_from(pieces.len()).unwrap_or(i32::MAX);
    // SAFETY: the kernel may access what the pieces are; the array is ours and as long as said.
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

/// pwritev2; `dsync` waits until the data are on the disk.
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

/// Ends a system call in which a thread of this process waits, with EINTR. The handler of
/// [`interruptible`] must be installed.
pub fn interrupt(thread: i32) {
    // SAFETY: no memory is involved; a thread that has ended is an error that changes nothing.
    unsafe {
        libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, libc::SIGUSR2);
    }
}

/// Makes SIGUSR2 a signal that does nothing but end system calls.
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

/// The NUMA node of each of these pages of this process, by their addresses; a negative errno for one that
/// is not there, or that this process has not used yet. Nothing is moved, and nothing read.
///
/// # Errors
///
/// ENOSYS where the kernel knows no nodes.
pub fn nodes_of_pages(pages: &[usize]) -> io::Result<Vec<i32>> {
    let mut nodes = vec![-libc::ENOENT; pages.len()];
    // SAFETY: without wanted nodes the kernel only looks; it checks each address by itself, and both
    // arrays are ours and as long as said.
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

/// A user's number and its group's, by the system's list of users.
#[must_use]
pub fn user(name: &str) -> Option<(u32, u32)> {
    let name = std::ffi::CString::new(name).ok()?;
    let mut text = vec![0 as libc::c_char; 16 << 10];
    // SAFETY: a zeroed passwd is a valid value; getpwnam_r fills it and the text, whose length it is
    // told, and what `found` points to is the record then.
    unsafe {
        let mut record: libc::passwd = std::mem::zeroed();
        let mut found = std::ptr::null_mut();
        let (at, length) = (text.as_mut_ptr(), text.len());
        libc::getpwnam_r(name.as_ptr(), &raw mut record, at, length, &raw mut found);
        (!found.is_null()).then_some((record.pw_uid, record.pw_gid))
    }
}

/// Makes this process, with all its threads, another user's, with no group but that one.
///
/// # Errors
///
/// EPERM for who is not root.
pub fn become_user(uid: u32, gid: u32) -> io::Result<()> {
    // The C library's functions and not the system calls, which would change one thread only.
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
