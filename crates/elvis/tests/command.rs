//! The command as a user calls it.

#![allow(clippy::unwrap_used)]

mod client;

use client::Client;
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn elvis(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_elvis"))
        .args(words)
        .output()
        .unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A server of the user's; killed where a test does not end it.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(words: &[&str], socket: &Path) -> Served {
    let mut command = Command::new(env!("CARGO_BIN_EXE_elvis"));
    let child = command
        .arg("serve")
        .args(words)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let served = Served(child);
    let end = Instant::now() + Duration::from_secs(10);
    while std::os::unix::net::UnixStream::connect(socket).is_err() {
        assert!(Instant::now() < end, "it does not start");
        std::thread::sleep(Duration::from_millis(5));
    }
    served
}

#[test]
fn a_server_is_told_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (control, config, socket) = (path("control"), path("elvis.toml"), path("a.sock"));
    let text =
        format!("control = {control:?}\n[[device]]\nsocket = {socket:?}\nimage = \"ram:1M\"\n");
    std::fs::write(&config, text).unwrap();
    let mut served = serve(&["--config", &config], Path::new(&control));
    let ctl = |words: &[&str]| elvis(&[&["ctl", "--control", &control], words].concat());
    let json = |words: &[&str]| -> Value {
        let output = ctl(words);
        assert!(output.status.success(), "{}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    };

    assert_eq!(json(&["list"])[0]["name"], "a");
    assert!(
        ctl(&["add", &format!("{}=null:1G,weight=3", path("b.sock"))])
            .status
            .success()
    );
    assert_eq!(json(&["list"])[1]["weight"], 3);
    let again = ctl(&["add", &format!("{}=null:1G", path("b.sock"))]);
    assert_eq!(again.status.code(), Some(1));
    assert!(
        stderr(&again).contains("there is a device called \"b\" already"),
        "{}",
        stderr(&again)
    );
    let missing = ctl(&[
        "add",
        &format!("{}={}", path("c.sock"), path("no-such-image")),
    ]);
    assert!(
        stderr(&missing).contains("no-such-image"),
        "{}",
        stderr(&missing)
    );
    assert_eq!(ctl(&["add", "/x=null:1G,speed=1"]).status.code(), Some(2));

    let mut client = Client::connect(Path::new(&path("b.sock")), 1, 64, 1 << 20);
    assert_eq!(client.write(0, 1), 0);
    let stats = json(&["stats"]);
    assert_eq!(stats["devices"]["b"][0]["requests"], 1);
    assert_eq!(stats["devices"]["b"][0]["written_bytes"], 4096);
    assert_eq!(json(&["list"])[1]["connected"], true);
    assert!(ctl(&["remove", "b"]).status.success());
    assert_eq!(ctl(&["remove", "b"]).status.code(), Some(1));

    assert!(ctl(&["drain"]).status.success());
    let end = Instant::now() + Duration::from_secs(10);
    while served.0.try_wait().unwrap().is_none() {
        assert!(Instant::now() < end, "it does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(served.0.wait().unwrap().code(), Some(0));
    assert!(!Path::new(&socket).exists() && !Path::new(&control).exists());
    let gone = ctl(&["list"]);
    assert_eq!(gone.status.code(), Some(1));
    assert!(
        stderr(&gone).contains("does \"elvis serve --control\" run?"),
        "{}",
        stderr(&gone)
    );
}

#[test]
fn bad_usage_says_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("elvis.toml");
    std::fs::write(
        &config,
        "mode = \"elvis\"\n[[device]]\nsocket = \"/s\"\nimage = \"\"\n",
    )
    .unwrap();
    let output = elvis(&["serve", "--config", config.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("elvis.toml:4: image: it is empty"),
        "{}",
        stderr(&output)
    );
    let output = elvis(&["serve", "--blk", "/run/x.sock"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("is not SOCKET=IMAGE"),
        "{}",
        stderr(&output)
    );
    assert_eq!(elvis(&["serve"]).status.code(), Some(2));
    assert_eq!(
        elvis(&["simulate", "--group", "depth=0"]).status.code(),
        Some(2)
    );
    let socket = dir.path().join("a.sock").display().to_string();
    let output = elvis(&[
        "serve",
        "--io-cores",
        "4000",
        "--blk",
        &format!("{socket}=null:1G"),
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("there is no CPU 4000"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_signal_ends_it_and_leaves_no_socket() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("a.sock");
    let device = format!("{}=ram:1M", socket.display());
    let mut served = serve(&["--mode", "per-device-pinned", "--blk", &device], &socket);
    let _client = Client::connect(&socket, 1, 64, 1 << 20);
    let pid = rustix::process::Pid::from_child(&served.0);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(served.0.wait().unwrap().code(), Some(0));
    assert!(!socket.exists());
}

#[test]
fn a_simulation_as_json_is_the_same_twice() {
    let words = [
        "simulate",
        "--json",
        "--duration-ms",
        "20",
        "--mode",
        "elvis,per-device",
    ];
    let (one, two) = (elvis(&words), elvis(&words));
    assert_eq!(one.stdout, two.stdout);
    let outcomes: Value = serde_json::from_slice(&one.stdout).unwrap();
    assert_eq!(outcomes["outcomes"].as_array().unwrap().len(), 2);
    assert!(outcomes["outcomes"][0]["per_s"].as_f64().unwrap() > 100_000.0);
}
