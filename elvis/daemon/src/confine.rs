//! Drops privileges that serving does not need: root, new privileges, unused system calls. Front-ends are not trusted;
//! this limits one that takes over the daemon.

use crate::sys;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use std::collections::BTreeMap;
use std::io;

/// The user that the daemon becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct User {
    /// UID of the user.
    pub uid: u32,
    /// GID of the user.
    pub gid: u32,
}

impl User {
    /// Looks up a user by name, or reads `UID:GID`.
    pub fn find(name: &str) -> Result<Self, String> {
        if let Some((uid, gid)) = name.split_once(':') {
            let number = |text: &str| {
                text.parse::<u32>()
                    .map_err(|_| format!("{text:?} in {name:?} is not a number"))
            };
            return Ok(Self {
                uid: number(uid)?,
                gid: number(gid)?,
            });
        }
        let (uid, gid) = sys::user(name).ok_or_else(|| {
            format!(
                "there is no user {name:?}; create it (useradd --system {name}), or use UID:GID"
            )
        })?;
        Ok(Self { uid, gid })
    }
}

/// Makes the whole process run as this user, irrevocably. Open files stay open.
///
/// # Errors
///
/// The process has no privilege to do so.
pub fn become_user(user: User) -> io::Result<()> {
    sys::become_user(user.uid, user.gid)
        .map_err(|error| io::Error::new(error.kind(), format!("can't become {user:?}: {error}")))
}

/// The allowed system calls: those of the I/O threads, then those for new devices and front-ends, then
/// those of threads and the runtime.
const ALLOWED: &[i64] = &[
    // The I/O threads.
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_create1,
    libc::SYS_eventfd2,
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_preadv2,
    libc::SYS_pwritev2,
    libc::SYS_fdatasync,
    libc::SYS_fallocate,
    libc::SYS_io_setup,
    libc::SYS_io_submit,
    libc::SYS_io_destroy,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_register,
    libc::SYS_clock_gettime,
    // To find the NUMA node of a front-end's memory.
    libc::SYS_move_pages,
    // Sockets of front-ends, `elvis ctl` and metrics.
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept4,
    libc::SYS_recvmsg,
    libc::SYS_sendmsg,
    libc::SYS_recvfrom,
    libc::SYS_sendto,
    libc::SYS_shutdown,
    libc::SYS_setsockopt,
    libc::SYS_getsockopt,
    libc::SYS_poll,
    libc::SYS_ppoll,
    // Disks, paths of sockets, memory of front-ends.
    libc::SYS_openat,
    libc::SYS_close,
    libc::SYS_fcntl,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_lseek,
    libc::SYS_pread64,
    libc::SYS_ftruncate,
    libc::SYS_geteuid,
    libc::SYS_readlink,
    libc::SYS_readlinkat,
    libc::SYS_unlink,
    libc::SYS_unlinkat,
    libc::SYS_chmod,
    libc::SYS_fchmodat,
    libc::SYS_memfd_create,
    libc::SYS_ioctl,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
    // Threads, which each device starts, and the runtime.
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_prctl,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_tgkill,
    libc::SYS_futex,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_restart_syscall,
    libc::SYS_getrandom,
    libc::SYS_prlimit64,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

fn program() -> Result<BpfProgram, seccompiler::BackendError> {
    let rules: BTreeMap<i64, Vec<_>> = ALLOWED.iter().map(|&call| (call, Vec::new())).collect();
    SeccompFilter::new(
        rules,
        // Fail the call, don't kill the process: it serves other devices.
        SeccompAction::Errno(libc::EPERM as u32),
        SeccompAction::Allow,
        std::env::consts::ARCH.try_into()?,
    )?
    .try_into()
}

/// Restricts all threads of this process, current and future, to the allowed system calls, and prevents
/// them from gaining privileges.
///
/// # Errors
///
/// The kernel does not support seccomp filters.
pub fn filter() -> io::Result<()> {
    let program = program().map_err(io::Error::other)?;
    // This also sets no_new_privs.
    seccompiler::apply_filter_all_threads(&program).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found() {
        assert_eq!(User::find("root"), Ok(User { uid: 0, gid: 0 }));
        assert_eq!(User::find("12:34"), Ok(User { uid: 12, gid: 34 }));
        for wrong in ["no such user", "", "12:", "-1:0", "a\0b"] {
            assert!(User::find(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_filter_can_be_made() {
        assert!(program().unwrap().len() > ALLOWED.len());
    }
}
