//! The daemon's messages: their levels, their form, and who stamps them.

use super::daemon::Daemon;
use crate::client::{Client, socket, until};
use rustix::process::Signal;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

/// A daemon with one null disk that has served one front-end and ended, by these words and this configuration.
/// With `journal`, as if systemd's journal read its messages. Returns them.
fn said(words: &[&str], config: &str, journal: bool) -> String {
    let dir = tempfile::tempdir().unwrap();
    let (path, file) = (socket(dir.path(), "a"), dir.path().join("elvis.toml"));
    std::fs::write(&file, config).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_elvis"));
    command.arg("serve").arg("--config").arg(&file).args(words);
    command.args(["--blk", &format!("{}=null:1G", path.display())]);
    let stderr = tempfile::tempfile().unwrap();
    let of = stderr.metadata().unwrap();
    if journal {
        command.env("JOURNAL_STREAM", format!("{}:{}", of.dev(), of.ino()));
    }
    let mut daemon = Daemon::writing(command, stderr);
    until("its socket", || listens(&path).then_some(()));
    if !config.contains("error") || !words.is_empty() {
        until("its start", || {
            daemon.said().contains("mode elvis").then_some(())
        });
    }
    drop(Client::connect(&path, 1, 16, 1 << 20));
    daemon.signal(Signal::TERM);
    assert!(daemon.ended().success());
    daemon.said()
}

/// Whether a process listens at a path. A file is there a little earlier: bind() makes it, listen() comes after.
fn listens(path: &Path) -> bool {
    const ACCEPTS: &str = "00010000";
    let sockets = std::fs::read_to_string("/proc/net/unix").unwrap();
    sockets.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.get(3) == Some(&ACCEPTS) && words.get(7).map(Path::new) == Some(path)
    })
}

/// The messages without those that only root gets.
fn lines(said: &str) -> Vec<&str> {
    let root = |line: &&str| !line.contains("runs as root");
    said.lines().filter(root).collect()
}

#[test]
fn messages_have_levels_and_times_in_utc() {
    let all = said(&[], "", false);
    let [first, last] = lines(&all)[..] else {
        panic!("{all}");
    };
    for (line, text) in [
        (first, "1 device, mode elvis, "),
        (last, "exits when requests in flight are done"),
    ] {
        let (time, rest) = line.split_at("2023-11-14T22:13:20.042Z".len());
        humantime::parse_rfc3339(time).unwrap();
        assert!(rest.starts_with(&format!(" INFO  elvis: {text}")), "{line}");
    }
    let debug = said(&["--log-level", "debug"], "log_level = \"error\"", false);
    assert!(
        debug.contains(" DEBUG elvis: a: a front-end connects\n"),
        "{debug}"
    );
    assert_eq!(said(&[], "log_level = \"error\"", false), "");
}

#[test]
fn the_journal_gets_priorities_instead() {
    let all = said(&[], "", true);
    let [first, last] = lines(&all)[..] else {
        panic!("{all}");
    };
    assert!(first.starts_with("<6>1 device, mode elvis, "), "{all}");
    assert_eq!(last, "<6>exits when requests in flight are done");
}

/// An error at the start is a message too, whatever the level.
#[test]
fn an_error_at_the_start_is_logged() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_elvis"));
    command.args([
        "serve",
        "--log-level",
        "error",
        "--blk",
        "/tmp/a=/no/such/image",
    ]);
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text.contains("Z ERROR elvis: a: ") && text.lines().count() == 1,
        "{text}"
    );
    let wrong = Command::new(env!("CARGO_BIN_EXE_elvis"))
        .args(["serve", "--log-level", "loud"])
        .output()
        .unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}
