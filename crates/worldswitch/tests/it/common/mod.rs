//! Helpers that the tests of the command share.

use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use ws_records::{BenchResult, CheckVerdict, Encoder, Nonce};
use ws_results::{ResultFile, Row};

#[allow(dead_code)]
#[path = "../../../../machines/src/fake_image.rs"]
mod fake_image;
use fake_image::{FakeRow, fake_image};

/// Folder of home directories of new users; those of the last test run are removed.
static HOMES: LazyLock<PathBuf> = LazyLock::new(|| {
    let homes = Path::new(env!("CARGO_TARGET_TMPDIR")).join("homes");
    let _ = std::fs::remove_dir_all(&homes);
    homes
});

pub fn worldswitch() -> Command {
    of_new_user(env!("CARGO_BIN_EXE_worldswitch"))
}

/// A program run as a new user: its environment has only PATH and TMPDIR of the tests' environment, and
/// a new HOME.
pub fn of_new_user(program: &str) -> Command {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let home = HOMES.join(NEXT.fetch_add(1, Ordering::Relaxed).to_string());
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home);
    for kept in ["PATH", "TMPDIR"] {
        if let Some(value) = std::env::var_os(kept) {
            command.env(kept, value);
        }
    }
    command
}

/// Waits for the command to end. If it hangs, it is killed and the test fails.
pub fn finish(child: Child) -> Output {
    let pid = Pid::from_child(&child);
    let (over, ends) = mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        let hangs = ends.recv_timeout(Duration::from_secs(120)) == Err(RecvTimeoutError::Timeout);
        if hangs {
            let _ = kill_process(pid, Signal::KILL);
        }
        hangs
    });
    let output = child.wait_with_output().expect("its end");
    drop(over);
    assert!(!watch.join().expect("a watch"), "it hung: {output:?}");
    output
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

pub fn stderr(output: &Output) -> String {
    text(&output.stderr)
}

/// Fails with the command's output unless it exited with `code`.
#[track_caller]
pub fn expect_code(output: &Output, code: i32) {
    let (out, err) = (text(&output.stdout), stderr(output));
    assert_eq!(
        output.status.code(),
        Some(code),
        "stdout:\n{out}\nstderr:\n{err}"
    );
}

pub use ws_results::schema_check::valid;

/// The path of a fake program.
pub fn fake(name: &str) -> PathBuf {
    let mut fake = PathBuf::from(env!("CARGO_BIN_EXE_worldswitch"));
    fake.set_file_name("examples");
    fake.push(name);
    assert!(fake.is_file(), "cargo test builds {}", fake.display());
    fake
}

/// The row of a benchmark in a result.
#[track_caller]
pub fn row<'a>(result: &'a ResultFile, name: &str) -> &'a Row {
    result
        .rows
        .iter()
        .find(|row| row.benchmark == name)
        .unwrap_or_else(|| panic!("no row {name}"))
}

/// A folder with a guest image of these benchmarks (a name that begins with "two" needs two
/// vCPUs, `hypercall` makes hypercalls), and the state of the fake QEMU.
pub struct Lab {
    pub folder: tempfile::TempDir,
    pub mode: &'static str,
}

impl Lab {
    pub fn new(names: &[&str]) -> Self {
        let rows: Vec<FakeRow<'_>> = names
            .iter()
            .map(|name| FakeRow {
                texts: [name, "kind", "what it does", ""],
                numbers: [
                    if name.starts_with("two") { 2 } else { 1 },
                    1,
                    1,
                    10,
                    8,
                    // The bit of the parameter hypercall=.
                    if *name == "hypercall" { 1 << 5 } else { 0 },
                ],
            })
            .collect();
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("guest.elf"), fake_image(&rows).bytes).expect("an image");
        std::fs::create_dir(folder.path().join("state")).expect("a folder");
        Self { folder, mode: "" }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `worldswitch run` on `platform` with the fake QEMU and the fake monitor, results in `out`.
    pub fn run(&self, platform: &str, more: &[&str]) -> Command {
        let mut command = worldswitch();
        command
            .env("FAKE_STATE", self.path("state"))
            // The counts of earlier runs are kept there.
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("FAKE_MODE", self.mode)
            .args(["run", "--on", platform, "--qemu"])
            .arg(fake("fake-qemu"))
            .arg("--vmm")
            .arg(fake("fake-vmm"))
            .arg("--guest")
            .arg(self.path("guest.elf"))
            .arg("-o")
            .arg(self.path("out"))
            .args(more);
        command
    }

    pub fn result(&self, platform: &str) -> ResultFile {
        let path = self.path("out").join(ws_results::file_name(platform));
        ws_results::read_file(&path).expect("a result")
    }

    /// Process ids of all fake machines so far.
    pub fn pids(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path("state")).expect("a folder");
        entries
            .filter_map(|entry| {
                let name = entry.ok()?.file_name().into_string().ok()?;
                name.strip_prefix("pid-").map(str::to_owned)
            })
            .collect()
    }

    /// Fake machines that are still running.
    pub fn alive(&self) -> Vec<String> {
        let runs = |pid: &String| {
            let command = std::fs::read(Path::new("/proc").join(pid).join("cmdline"));
            command.is_ok_and(|words| String::from_utf8_lossy(&words).contains("/fake-"))
        };
        self.pids().into_iter().filter(runs).collect()
    }
}

/// A console as a guest would write it.
pub struct Console {
    pub bytes: Vec<u8>,
    encoder: Encoder,
}

impl Console {
    /// A console with a `hello`; `more` is appended to its members, such as `,"selected":3`.
    pub fn new(nonce: u64, more: &str) -> Self {
        let mut console = Self {
            bytes: Vec::new(),
            encoder: Encoder::new("guest", Nonce(nonce)).expect("an encoder"),
        };
        console.boot(nonce, more);
        console
    }

    /// Another boot on the same console.
    pub fn boot(&mut self, nonce: u64, more: &str) {
        self.encoder = Encoder::new("guest", Nonce(nonce)).expect("an encoder");
        self.say(
            "hello",
            &format!(
                r#"{{"protocol":1,"guest":"0","arch":"x86_64","unit":"tsc_ticks","cpus":1{more}}}"#
            ),
        );
    }

    pub fn line(&mut self, kind: &str, json: &str) -> Vec<u8> {
        let value: serde_json::Value = serde_json::from_str(json).expect("JSON");
        self.encoder.line(kind, &value).expect("a record")
    }

    pub fn say(&mut self, kind: &str, json: &str) {
        let line = self.line(kind, json);
        self.bytes.extend(line);
    }

    pub fn begin(&mut self, bench: &str) {
        self.say("begin", &format!(r#"{{"bench":"{bench}","index":0}}"#));
    }

    pub fn end(&mut self, bench: &str) {
        self.say("end", &format!(r#"{{"bench":"{bench}"}}"#));
    }

    /// The line of a result in which one operation costs `cost`.
    pub fn result(&mut self, bench: &str, cost: u64, note: &str) -> Vec<u8> {
        let result = BenchResult {
            bench: bench.to_owned(),
            iterations: 10,
            cpus: 1,
            page_bytes: Some(4096),
            ws_bytes: None,
            port: None,
            check: CheckVerdict::Proved,
            note: note.to_owned(),
            lead: None,
            unmarked: None,
            run: vec![100 + 10 * cost; 6],
            control: vec![100; 6],
        };
        self.encoder.result(&result).expect("a record").concat()
    }

    pub fn whole(&mut self, bench: &str, cost: u64) {
        self.begin(bench);
        let line = self.result(bench, cost, "seen");
        self.bytes.extend(line);
        self.end(bench);
    }

    pub fn bye(&mut self) {
        self.say("bye", r#"{"status":"ok"}"#);
    }
}
