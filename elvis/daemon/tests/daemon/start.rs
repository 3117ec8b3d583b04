//! How the daemon starts, and how it ends if it can't: CPUs that it can't use, threads and descriptors that it does
//! not get, a disk that another process has, and a signal at any time.

use super::daemon::Daemon;
use crate::client::{LIMIT, two_cores, until};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;
use tempfile::TempDir;

/// What a daemon says when it serves.
const SERVES: &str = ", mode ";

/// A daemon with all kinds of threads, whose sockets are in a folder of its own.
struct Whole {
    dir: TempDir,
    words: Vec<String>,
}

impl Whole {
    fn new() -> Self {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = |name: &str| dir.path().join(name).display().to_string();
        let mut words = vec!["--threads-only".to_owned()];
        let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
        add("--control", path("control"));
        add("--metrics", path("metrics"));
        add("--blk", format!("{}=ram:1M", path("a")));
        add("--net", format!("{}=switch:s", path("b")));
        if let Some(cores) = two_cores() {
            add("--io-cores", cores);
            words.push("--placement".to_owned());
        }
        Self { dir, words }
    }

    /// By a shell that does this first.
    fn command(&self, first: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{first} exec \"$0\" \"$@\"")]);
        command.args([env!("CARGO_BIN_EXE_elvis"), "serve"]);
        command.args(&self.words);
        command
    }

    /// The sockets that there are.
    fn sockets(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.dir.path()).unwrap();
        let names = files.map(|file| file.unwrap().file_name().to_string_lossy().into_owned());
        names.filter(|name| !name.ends_with(".rings")).collect()
    }
}

/// How a daemon came to serve, or ended.
enum Outcome {
    Serves(Daemon),
    Ended(ExitStatus, String),
}

fn outcome(command: Command) -> Outcome {
    let mut daemon = Daemon::of(command);
    let ended = until("a daemon that serves or ends", || {
        match daemon.has_ended() {
            Some(status) => Some(Some(status)),
            None => daemon.said().contains(SERVES).then_some(None),
        }
    });
    match ended {
        None => Outcome::Serves(daemon),
        Some(status) => Outcome::Ended(status, daemon.said()),
    }
}

/// A service manager is told that the daemon serves, that it still does, and that it ends.
#[test]
fn a_service_manager_is_told() {
    let whole = Whole::new();
    let path = whole.dir.path().join("manager");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(LIMIT)).unwrap();
    let told = || {
        let mut text = [0; 64];
        let bytes = manager.recv(&mut text).unwrap();
        String::from_utf8_lossy(&text[..bytes]).into_owned()
    };
    let mut command = whole.command("");
    command.env("NOTIFY_SOCKET", &path);
    command.env("WATCHDOG_USEC", "20000");
    let mut daemon = Daemon::of(command);
    let three = [told(), told(), told()];
    assert_eq!(three, ["READY=1", "WATCHDOG=1", "WATCHDOG=1"]);
    assert!(daemon.said().contains(SERVES));
    daemon.signal(Signal::TERM);
    while told() != "STOPPING=1" {}
    assert!(daemon.ended().success());
}

/// The names of a daemon's threads.
fn threads(daemon: &Daemon) -> BTreeSet<String> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", daemon.id())).unwrap();
    // One may end meanwhile.
    let name = |task: &Path| std::fs::read_to_string(task.join("comm")).ok();
    let names = tasks.filter_map(|task| name(&task.unwrap().path()));
    names.map(|name| name.trim().to_owned()).collect()
}

/// The threads of a whole daemon. If the daemon has another one, this test fails, as it can be made to fail.
fn usual() -> BTreeSet<String> {
    let mut names: BTreeSet<String> = [
        "elvis",
        "elvis-signals",
        "elvis-control",
        "elvis-ctl",
        "elvis-metrics",
    ]
    .map(str::to_owned)
    .into();
    names.extend((0..4).map(|number| format!("elvis-file-{number}")));
    match two_cores() {
        Some(cores) => {
            names.insert("elvis-placer".to_owned());
            names.extend(cores.split(',').map(|cpu| format!("elvis-io-{cpu}")));
        }
        None => {
            names.insert("elvis-io".to_owned());
        }
    }
    names
}

/// Waits until a daemon has these threads and no other.
fn has_all_threads(daemon: &Daemon) {
    until("all threads of a daemon", || {
        (threads(daemon) == usual()).then_some(())
    });
}

/// A library that fails a program's thread of number $FAIL_THREAD.
fn library(dir: &Path) -> PathBuf {
    let (source, library) = (dir.join("fail.c"), dir.join("fail.so"));
    let text = r#"
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <pthread.h>
        #include <stdlib.h>
        #include <unistd.h>

        int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*work)(void *), void *with)
        {
            static int count;
            int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

            if (__atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST) == atoi(getenv("FAIL_THREAD"))) {
                (void)!write(2, "planted\n", 8);
                return EAGAIN;
            }
            *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
            return real(thread, how, work, with);
        }
    "#;
    std::fs::write(&source, text).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library);
    let done = compiler.arg(&source).arg("-ldl").status().unwrap();
    assert!(done.success());
    library
}

/// Whichever thread can't be started: the daemon ends with an error that names it, or it has all its threads.
#[test]
fn every_thread_that_cannot_be_started_ends_the_daemon() {
    let dir = tempfile::tempdir().unwrap();
    let library = library(dir.path());
    let mut failed = BTreeSet::new();
    for number in 1.. {
        let whole = Whole::new();
        let mut command = whole.command("");
        command.env("LD_PRELOAD", &library);
        command.env("FAIL_THREAD", number.to_string());
        match outcome(command) {
            Outcome::Serves(daemon) => {
                has_all_threads(&daemon);
                if !daemon.said().contains("planted") {
                    // There are no more threads.
                    break;
                }
            }
            Outcome::Ended(status, said) => {
                assert_eq!(status.code(), Some(1), "thread {number}: {said}");
                let (_, name) = said.split_once("can't start the thread ").expect(&said);
                let (name, why) = name.split_once(": ").unwrap();
                assert!(why.contains("raise the limit of threads"), "{said}");
                assert!(whole.sockets().is_empty(), "{name}: {:?}", whole.sockets());
                failed.insert(name.to_owned());
            }
        }
    }
    // All that run as long as the daemon serves, and those that are only there while it starts.
    let mut all = usual();
    all.remove("elvis");
    all.extend(["elvis-start", "elvis-wake-echo", "elvis-wake-call"].map(str::to_owned));
    assert_eq!(failed, all);
}

/// With however few descriptors: the daemon ends with an error, or serves with all its threads.
#[test]
fn a_daemon_without_descriptors_ends() {
    // With fewer no program starts.
    for descriptors in 4.. {
        let whole = Whole::new();
        match outcome(whole.command(&format!("ulimit -n {descriptors};"))) {
            Outcome::Serves(daemon) => {
                has_all_threads(&daemon);
                assert!(descriptors > 10, "{descriptors}");
                break;
            }
            Outcome::Ended(status, said) => {
                assert!(
                    !status.success() && !said.is_empty(),
                    "{descriptors}: {said}"
                );
                assert!(whole.sockets().is_empty(), "{descriptors}: {said}");
            }
        }
    }
}

#[test]
fn io_cores_that_cannot_be_used_are_an_error_that_names_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let device = format!("{}=null:1G", path("a.sock"));
    let file = path("elvis.toml");
    let there = ws_cpus::Cpus::here();
    let one = there.bindable.first().unwrap();
    let absent = there.present.last().unwrap() + 1;
    let modes = ["elvis", "fine-grained", "per-device", "per-device-pinned"];
    for (cores, why) in [
        (format!("{absent}"), "there is no such CPU; use "),
        (format!("{one},{absent}"), "there is no such CPU; use "),
        (format!("{absent},{one}"), "there is no such CPU; use "),
        ("4000".to_owned(), "there is no such CPU; use "),
        ("9000".to_owned(), "there is no such CPU; use "),
        (format!("{one},{one}"), "is named twice"),
    ] {
        std::fs::write(&file, format!("io_cores = [{cores}]\n")).unwrap();
        for mode in modes {
            let words = ["--io-cores", &cores, "--mode", mode];
            let by_file = ["--config", &file, "--mode", mode];
            for (words, from) in [
                (words, "--io-cores: CPU "),
                (by_file, "elvis.toml: io_cores: CPU "),
            ] {
                let mut command = Command::new(env!("CARGO_BIN_EXE_elvis"));
                command.arg("serve").args(words).args(["--blk", &device]);
                match outcome(command) {
                    Outcome::Serves(_) => panic!("{words:?}: it serves"),
                    Outcome::Ended(status, said) => {
                        assert_eq!(status.code(), Some(2), "{words:?}: {said}");
                        assert!(said.contains(from) && said.contains(why), "{said}");
                        assert!(!said.contains("no such CPU") || said.contains(&one.to_string()));
                    }
                }
            }
        }
    }
    for wrong in ["", "x", "1-0", "0,", "-1", "18446744073709551615"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_elvis"));
        command.args(["serve", &format!("--io-cores={wrong}"), "--blk", &device]);
        match outcome(command) {
            Outcome::Serves(_) => panic!("{wrong}: it serves"),
            Outcome::Ended(status, said) => {
                assert_eq!(status.code(), Some(2), "{wrong}: {said}");
                assert!(said.contains("--io-cores"), "{said}");
            }
        }
    }
    // The arguments win. A range is a list.
    let cores = format!("{one}-{one}");
    let words = [
        "serve",
        "--config",
        &file,
        "--io-cores",
        &cores,
        "--blk",
        &device,
    ];
    let mut command = Command::new(env!("CARGO_BIN_EXE_elvis"));
    command.args(words);
    assert!(matches!(outcome(command), Outcome::Serves(_)));
}

/// A disk that another process has locked for a while holds up the start.
#[test]
fn a_signal_ends_a_daemon_that_waits_for_a_disk() {
    let whole = Whole::new();
    let image = whole.dir.path().join("image");
    File::create(&image).unwrap().set_len(1 << 20).unwrap();
    let first = whole.dir.path().join("first");
    let device = |socket: &Path| format!("{}={}", socket.display(), image.display());
    let other = Daemon::start(&["--blk", &device(&first)], &first);
    for signal in [Signal::TERM, Signal::INT] {
        let mut command = whole.command("");
        command.args(["--blk", &device(&whole.dir.path().join("c"))]);
        let mut waits = Daemon::of(command);
        // The device before it is there.
        until("the socket of the other disk", || {
            whole.sockets().contains(&"a".to_owned()).then_some(())
        });
        let told = format!(
            "{}: another process has locked it; elvis waits up to 5 s",
            image.display()
        );
        until("what it waits for", || {
            waits.said().contains(&told).then_some(())
        });
        assert!(!waits.said().contains(SERVES), "{}", waits.said());
        waits.signal(signal);
        assert_eq!(waits.ended().code(), Some(0), "{}", waits.said());
        assert!(!waits.said().contains("stop that one"), "{}", waits.said());
        let mut left = whole.sockets();
        left.sort();
        assert_eq!(left, ["first", "image"]);
    }
    drop(other);
}

/// At any time: before it heeds signals, while it starts, and when it serves.
#[test]
fn a_signal_ends_the_daemon_whenever_it_comes() {
    for delay_us in (0..30_000).step_by(1000) {
        let whole = Whole::new();
        let mut daemon = Daemon::of(whole.command(""));
        std::thread::sleep(Duration::from_micros(delay_us));
        daemon.signal(Signal::TERM);
        let status = daemon.ended();
        match status.code() {
            Some(0) => assert!(whole.sockets().is_empty(), "{:?}", whole.sockets()),
            _ => {
                assert_eq!(
                    status.signal(),
                    Some(Signal::TERM.as_raw()),
                    "{}",
                    daemon.said()
                );
                assert!(whole.sockets().is_empty(), "{:?}", whole.sockets());
            }
        }
    }
}

/// In a cpuset of one CPU. Only root can make one, where the kernel's first version of control groups is mounted.
#[test]
fn an_io_core_outside_of_the_cpuset_is_an_error() {
    let Some(group) = Group::new() else {
        println!("skipped: no cpuset can be made here");
        return;
    };
    let whole = Whole::new();
    let cpus = ws_cpus::Cpus::here();
    let [inside, outside] = [cpus.bindable.first(), cpus.bindable.last()].map(Option::unwrap);
    let text = format!(
        "echo $$ >{}/cgroup.procs && exec {} serve --blk {}/c=null:1G --io-cores",
        group.0.display(),
        env!("CARGO_BIN_EXE_elvis"),
        whole.dir.path().display()
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{text} {outside}")]);
    match outcome(shell) {
        Outcome::Serves(_) => panic!("it serves on CPU {outside}"),
        Outcome::Ended(status, said) => {
            assert_eq!(status.code(), Some(2), "{said}");
            let why =
                format!("CPU {outside} can't be used: it is not in the cpuset of control group ");
            assert!(said.contains(&why), "{said}");
            assert!(said.contains(&format!("use CPU {inside}")), "{said}");
        }
    }
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{text} {inside}")]);
    assert!(matches!(outcome(shell), Outcome::Serves(_)));
}

/// A control group of this test, with one CPU.
struct Group(PathBuf);

impl Group {
    fn new() -> Option<Self> {
        let cpus = ws_cpus::Cpus::here().bindable;
        let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        let own = own
            .lines()
            .find_map(|line| line.split_once(":cpuset:"))?
            .1
            .to_owned();
        let around = PathBuf::from(format!(
            "/sys/fs/cgroup/cpuset{}",
            own.trim_end_matches('/')
        ));
        let memory = std::fs::read_to_string(around.join("cpuset.mems")).ok()?;
        let path = around.join(format!("elvis-test-{}", std::process::id()));
        std::fs::create_dir(&path).ok()?;
        let group = Self(path);
        let write = |file: &str, text: &str| std::fs::write(group.0.join(file), text).ok();
        write("cpuset.mems", memory.trim())?;
        write("cpuset.cpus", &cpus.first()?.to_string())?;
        (cpus.len() > 1).then_some(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Its last process may be ending.
        until("the end of a control group", || {
            let gone = std::fs::remove_dir(&self.0);
            gone.is_ok().then_some(())
        });
    }
}
