//! Child processes that never outlive this process, and unlinked files for their output.
//!
//! Used by machines that are processes (QEMU, vmm). One of two places in this crate with `unsafe`;
//! the other is `counter`.
//!
//! A child is killed when its handle is dropped, and by the kernel when the thread that started it
//! ends for any reason, including SIGKILL. So spawn from a thread that lives as long as the child
//! should (the runner uses its main thread).

use crate::machine::MachineError;
use crate::room::free_bytes;
use rustix::fs::OFlags;
use rustix::io::{Errno, FdFlags};
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions};
use std::ffi::OsStr;
use std::fs::{DirEntry, File};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A running or ended child process.
#[derive(Debug)]
pub struct Process {
    child: Child,
    stderr: File,
    status: Option<ExitStatus>,
}

/// A file that a child gets, and its descriptor's number in the child.
#[derive(Debug)]
pub struct Handed {
    file: OwnedFd,
    number: RawFd,
}

impl Handed {
    /// Gives the file a number of the caller's choice, which no other file of this process should have.
    pub fn at(number: RawFd, file: OwnedFd) -> Self {
        Self { file, number }
    }

    /// Gives the child the file, after the fork and before the child executes its program.
    fn give(&self) -> io::Result<()> {
        if self.number == self.file.as_raw_fd() {
            return Ok(rustix::io::fcntl_setfd(&self.file, FdFlags::empty())?);
        }
        // SAFETY: this process is about to execute a program, so whatever had the number is not used any more; the
        // number is never closed here.
        let mut theirs = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(self.number) });
        Ok(rustix::io::dup2(&self.file, &mut theirs)?)
    }
}

impl From<File> for Handed {
    /// Keeps the number that the file has in this process.
    fn from(file: File) -> Self {
        OwnedFd::from(file).into()
    }
}

impl From<OwnedFd> for Handed {
    /// Keeps the number that the file has in this process.
    fn from(file: OwnedFd) -> Self {
        let number = file.as_raw_fd();
        Self { file, number }
    }
}

/// An unlinked file in the temporary folder, so that nothing is left behind however this process
/// ends.
///
/// # Errors
/// The temporary folder can't be written, or has less than `room_bytes` free: a full disk would
/// otherwise show only as missing records in a console.
pub fn unnamed_file(room_bytes: u64) -> Result<File, MachineError> {
    let folder = std::env::temp_dir();
    let file = tempfile::tempfile().map_err(|e| {
        MachineError::io(
            "make a temporary file (TMPDIR names another place) in",
            &folder,
            e,
        )
    })?;
    if let Some(free) = free_bytes(&folder).filter(|free| *free < room_bytes) {
        return Err(MachineError::Other(format!(
            "{} has only {} KiB free and a console may need {} KiB: free some space, or name another place in TMPDIR",
            folder.display(),
            free >> 10,
            room_bytes >> 10
        )));
    }
    Ok(file)
}

impl Process {
    /// Starts `command` with no input, its standard output going to `stdout`, and its standard error kept for
    /// [`Process::stderr`]. No file that the process writes grows beyond `file_limit_bytes`. The process gets its own
    /// process group: the terminal's Ctrl-C reaches only this process, which then ends the child in order.
    pub fn spawn(
        command: Command,
        stdout: File,
        file_limit_bytes: u64,
    ) -> Result<Self, MachineError> {
        Self::spawn_with(command, stdout, file_limit_bytes, Vec::new())
    }

    /// Starts `command` as [`Process::spawn`] does; the child also gets these files.
    pub fn spawn_with(
        mut command: Command,
        stdout: File,
        file_limit_bytes: u64,
        handed: Vec<Handed>,
    ) -> Result<Self, MachineError> {
        let program = command.get_program().to_owned();
        let stderr = unnamed_file(0)?;
        let keep = |e| MachineError::io("keep the errors of", &program, e);
        // A machine's second serial line may open the same file through another descriptor
        // (/dev/stderr). With O_APPEND neither overwrites what the other wrote.
        rustix::fs::fcntl_setfl(&stderr, OFlags::APPEND).map_err(|e| keep(e.into()))?;
        let stderr_of_child = stderr.try_clone().map_err(keep)?;
        command
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr_of_child)
            .process_group(0);
        let parent = rustix::process::getpid();
        // A process can't raise the hard limit that it inherited.
        let ours = rustix::process::getrlimit(Resource::Fsize).maximum;
        let file_limit_bytes = ours.map_or(file_limit_bytes, |most| most.min(file_limit_bytes));
        let before_exec = move || {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            // If the parent ended before the line above, the signal never comes.
            if rustix::process::getppid() != Some(parent) {
                return Err(Errno::SRCH.into());
            }
            let limit = Rlimit {
                current: Some(file_limit_bytes),
                maximum: Some(file_limit_bytes),
            };
            rustix::process::setrlimit(Resource::Fsize, limit)?;
            handed.iter().try_for_each(Handed::give)
        };
        // SAFETY: the closure runs between fork and exec, where only async-signal-safe calls are
        // allowed. It makes only system calls (prctl, getppid, setrlimit, fcntl, dup2), takes no lock and
        // allocates nothing: its errors are plain error numbers.
        unsafe {
            command.pre_exec(before_exec);
        }
        let child = command
            .spawn()
            .map_err(|e| MachineError::io("start", &program, e))?;
        Ok(Self {
            child,
            stderr,
            status: None,
        })
    }

    /// How the process ended, or none while it runs; [`describe`] formats the status. Once the process has ended, the
    /// rest of its process group is killed.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() && self.has_ended()? {
            self.kill_group();
            self.status = self.child.try_wait()?;
        }
        Ok(self.status)
    }

    /// Whether the process has ended, without reaping it. Until it is reaped, its PID, which is also its group's, is
    /// not reused.
    fn has_ended(&self) -> io::Result<bool> {
        let Some(pid) = self.pid() else {
            return Ok(false);
        };
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(rustix::process::waitid(WaitId::Pid(pid), look)?.is_some())
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    /// Kills the process group. Call this only while the process is not reaped, since its PID may be reused afterwards.
    fn kill_group(&self) {
        if let Some(pid) = self.pid() {
            // It is no error if the group is already gone.
            let _ = rustix::process::kill_process_group(pid, Signal::KILL);
        }
    }

    /// How long the process was runnable without getting a CPU: the time of the thread that waited longest. Zero where
    /// the kernel does not count this (CONFIG_SCHED_INFO).
    pub fn waited(&self) -> Duration {
        // The fields of each thread: nanoseconds on a CPU, nanoseconds runnable, how often
        // (Documentation/scheduler/sched-stats.rst).
        let waited = |thread: io::Result<DirEntry>| -> Option<u64> {
            let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
            text.split(' ').nth(1)?.parse().ok()
        };
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let most = threads.into_iter().flatten().filter_map(waited).max();
        Duration::from_nanos(most.unwrap_or(0))
    }

    /// Asks the process and all of its group to end (SIGTERM), waits for that at most `limit`, then kills them.
    pub fn end(&mut self, limit: Duration) {
        if self.status.is_some() {
            return;
        }
        let began = Instant::now();
        if let Some(pid) = self.pid() {
            let _ = rustix::process::kill_process_group(pid, Signal::TERM);
        }
        while matches!(self.has_ended(), Ok(false)) && began.elapsed() < limit {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.kill();
    }

    /// Kills the process and all of its group, and waits for it.
    pub fn kill(&mut self) {
        if self.status.is_some() {
            return;
        }
        self.kill_group();
        let _ = self.child.kill();
        self.status = self.child.wait().ok();
    }

    /// The last 4 KiB that the process wrote to its standard error.
    pub fn stderr(&self) -> String {
        const KEPT: u64 = 4096;
        let length = self.stderr.metadata().map_or(0, |m| m.len());
        let mut text = [0u8; KEPT as usize];
        // Reading by position leaves the file offset alone, at which the child writes next.
        let count = self
            .stderr
            .read_at(&mut text, length.saturating_sub(KEPT))
            .unwrap_or(0);
        let text = text.get(..count).unwrap_or_default();
        String::from_utf8_lossy(text).trim().to_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// How a process ended, as a message.
pub fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("its process exited with status {code}"),
        (None, Some(signal)) => format!("its process was killed by signal {signal}"),
        (None, None) => "its process exited".to_owned(),
    }
}

/// A command in shell syntax.
pub fn shell_words(command: &Command) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+.,:/@%".contains(c);
    let quote = |word: &OsStr| {
        let word = word.to_string_lossy();
        if !word.is_empty() && word.chars().all(plain) {
            word.into_owned()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    let mut words = Vec::new();
    let folder = command.get_current_dir();
    let set: Vec<(&OsStr, &OsStr)> = command
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect();
    if folder.is_some() || !set.is_empty() {
        words.push("env".to_owned());
    }
    if let Some(folder) = folder {
        words.extend(["-C".to_owned(), quote(folder.as_os_str())]);
    }
    for (name, value) in set {
        words.push(format!("{}={}", name.to_string_lossy(), quote(value)));
    }
    let arguments = std::iter::once(command.get_program()).chain(command.get_args());
    words.extend(arguments.map(quote));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, Write};
    use std::time::Instant;

    fn shell(script: &str, limit: u64) -> (Process, File) {
        shell_with(script, limit, Vec::new())
    }

    fn shell_with(script: &str, limit: u64, handed: Vec<Handed>) -> (Process, File) {
        let out = unnamed_file(0).unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        let stdout = out.try_clone().unwrap();
        let process = Process::spawn_with(command, stdout, limit, handed).unwrap();
        (process, out)
    }

    #[test]
    fn files_have_the_numbers_that_they_are_given() {
        let file = |text: &str| {
            let mut file = unnamed_file(0).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            file
        };
        let (fixed, own, kept) = (file("fixed "), file("own "), file("kept"));
        let numbers = [own.as_raw_fd(), kept.as_raw_fd()];
        let handed = vec![Handed::at(200, fixed.into()), own.into()];
        let [own, kept] = numbers;
        let script = format!("cat /dev/fd/200 /dev/fd/{own}; [ ! -e /dev/fd/{kept} ]");
        let (mut process, mut out) = shell_with(&script, 1 << 20, handed);
        assert_eq!(wait(&mut process), "its process exited with status 0");
        let mut text = String::new();
        out.rewind().unwrap();
        out.read_to_string(&mut text).unwrap();
        assert_eq!(text, "fixed own ");
    }

    fn wait(process: &mut Process) -> String {
        let start = Instant::now();
        loop {
            if let Some(status) = process.ended().unwrap() {
                return describe(status);
            }
            assert!(start.elapsed() < Duration::from_secs(60), "still running");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Whether a process runs; a zombie does not.
    fn runs(pid: &str) -> bool {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !state.is_empty() && !state.contains(") Z")
    }

    #[test]
    fn output_errors_and_status_are_told() {
        let (mut process, out) = shell("echo data; echo oops >&2; exit 3", 1 << 20);
        assert_eq!(wait(&mut process), "its process exited with status 3");
        assert_eq!(process.stderr(), "oops");
        let mut text = String::new();
        let mut out = out;
        out.rewind().unwrap();
        out.read_to_string(&mut text).unwrap();
        assert_eq!(text, "data\n");
    }

    #[test]
    fn what_a_second_descriptor_writes_and_the_errors_are_both_kept() {
        let (mut process, _out) = shell(
            "exec 3>/dev/stderr; echo console >&3; echo oops >&2",
            1 << 20,
        );
        wait(&mut process);
        assert_eq!(process.stderr(), "console\noops");
    }

    #[test]
    fn only_the_last_errors_are_kept() {
        let (mut process, _out) = shell(
            "head -c 9000 /dev/zero | tr '\\0' x >&2; echo end >&2",
            1 << 20,
        );
        wait(&mut process);
        let text = process.stderr();
        assert!(text.len() <= 4096 && text.ends_with("end"));
    }

    /// The PID that a process wrote, once it did.
    fn told(out: &File) -> String {
        let start = Instant::now();
        let mut text = [0u8; 16];
        let mut count = 0;
        while count == 0 || text[count - 1] != b'\n' {
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "it never started"
            );
            count = out.read_at(&mut text, 0).unwrap();
        }
        std::str::from_utf8(&text[..count])
            .unwrap()
            .trim()
            .to_owned()
    }

    fn ends(pid: &str) {
        let start = Instant::now();
        while runs(pid) {
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "its child still runs"
            );
        }
    }

    #[test]
    fn a_dropped_process_is_gone_with_its_children() {
        let (process, out) = shell("sleep 600 & echo $!; wait", 1 << 20);
        let pid = process.child.id();
        let sleeper = told(&out);
        assert!(runs(&sleeper));
        drop(process);
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
        ends(&sleeper);
    }

    #[test]
    fn a_process_that_ended_before_its_children_does_not_leave_them_behind() {
        let (mut process, out) = shell("sleep 600 & echo $!; exit 3", 1 << 20);
        let sleeper = told(&out);
        assert_eq!(wait(&mut process), "its process exited with status 3");
        ends(&sleeper);
        // Its PID may belong to another process by now.
        process.kill();
        assert_eq!(wait(&mut process), "its process exited with status 3");
    }

    #[test]
    fn who_shares_a_processor_waits_for_it_and_who_sleeps_does_not() {
        let mut cpus = rustix::thread::CpuSet::new();
        let ours = rustix::thread::sched_getaffinity(None).unwrap();
        cpus.set((0..1024).find(|cpu| ours.is_set(*cpu)).unwrap());
        let spinner = || {
            let (process, _) = shell("while :; do :; done", 1 << 20);
            let pid = Pid::from_raw(i32::try_from(process.child.id()).unwrap());
            rustix::thread::sched_setaffinity(pid, &cpus).unwrap();
            process
        };
        let pair = [spinner(), spinner()];
        let start = Instant::now();
        while pair
            .iter()
            .any(|process| process.waited() < Duration::from_millis(100))
        {
            assert!(start.elapsed() < Duration::from_secs(60), "none waits");
            std::thread::sleep(Duration::from_millis(2));
        }
        let (asleep, _) = shell("exec sleep 600", 1 << 20);
        assert!(asleep.waited() <= start.elapsed());
    }

    #[test]
    fn no_file_grows_beyond_the_limit() {
        let (mut process, out) = shell("exec head -c 9000000 /dev/zero", 1 << 20);
        assert!(wait(&mut process).contains("signal 25"), "SIGXFSZ");
        assert_eq!(out.metadata().unwrap().len(), 1 << 20);
    }

    #[test]
    fn the_kernel_kills_it_with_the_thread_that_started_it() {
        let pid = std::thread::spawn(|| {
            let (process, _out) = shell("exec sleep 600", 1 << 20);
            let pid = process.child.id();
            // Forgotten, so that the handle does not kill it: as after a SIGKILL of the whole
            // program.
            std::mem::forget(process);
            pid
        })
        .join()
        .unwrap();
        let start = Instant::now();
        while runs(&pid.to_string()) {
            assert!(start.elapsed() < Duration::from_secs(60), "it still runs");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error_with_its_name() {
        let out = unnamed_file(0).unwrap();
        let command = Command::new("/nonexistent/emulator");
        let error = Process::spawn(command, out, 1).unwrap_err().to_string();
        assert!(
            error.contains("can't start /nonexistent/emulator"),
            "{error}"
        );
    }

    #[test]
    fn a_disk_without_room_is_an_error() {
        let error = unnamed_file(u64::MAX).unwrap_err().to_string();
        assert!(error.contains("TMPDIR"), "{error}");
    }

    #[test]
    fn commands_are_shown_as_a_shell_takes_them() {
        let mut command = Command::new("/bin/q");
        command.args(["-append", "bench=^(a|b)$ x", "it's"]);
        assert_eq!(
            shell_words(&command),
            r"/bin/q -append 'bench=^(a|b)$ x' 'it'\''s'"
        );
    }
}
