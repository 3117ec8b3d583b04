//! Tests of the command line.

use super::daemon::{Daemon, metrics_have};
use crate::client::{Client, LIMIT, exchange, image, two_cores, until};
use crate::raw::Raw;
use rustix::process::Signal;
use serde_json::Value;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Output};
use vhost::vhost_user::VhostUserFrontend;

fn elvis(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_elvis"))
        .args(words)
        .output()
        .unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_server_is_told_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (control, config, socket) = (path("control"), path("elvis.toml"), path("a.sock"));
    let text =
        format!("control = {control:?}\n[[device]]\nsocket = {socket:?}\nimage = \"ram:1M\"\n");
    std::fs::write(&config, text).unwrap();
    let mut served = Daemon::start(&["--config", &config], Path::new(&control));
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
        stderr(&again).contains("there is already a device \"b\""),
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
    // Opening a file still works although system calls are filtered by now.
    std::fs::write(path("image"), [0; 512]).unwrap();
    let file = ctl(&["add", &format!("{}={}", path("d.sock"), path("image"))]);
    assert!(file.status.success(), "{}", stderr(&file));

    let mut client = Client::connect(Path::new(&path("b.sock")), 1, 64, 1 << 20);
    assert_eq!(client.write(0, 1), 0);
    let stats = json(&["stats"]);
    assert_eq!(stats["devices"]["b"][0]["requests"], 1);
    assert_eq!(stats["devices"]["b"][0]["written_bytes"], 4096);
    assert_eq!(json(&["list"])[1]["connected"], true);
    assert!(ctl(&["remove", "b"]).status.success());
    assert_eq!(ctl(&["remove", "b"]).status.code(), Some(1));

    assert!(ctl(&["drain"]).status.success());
    assert_eq!(served.ended().code(), Some(0));
    assert!(!Path::new(&socket).exists() && !Path::new(&control).exists());
    let gone = ctl(&["list"]);
    assert_eq!(gone.status.code(), Some(1));
    assert!(
        stderr(&gone).contains("does \"elvis serve --control\" run?"),
        "{}",
        stderr(&gone)
    );
}

/// System calls are filtered: the channel's are allowed.
#[test]
fn a_disk_is_resized() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (control, socket) = (path("control"), path("a.sock"));
    let file = image(dir.path(), 1 << 20);
    let device = format!("{socket}={}", file.display());
    let _served = Daemon::start(
        &["--blk", &device, "--control", &control],
        Path::new(&control),
    );
    let resize = || elvis(&["ctl", "--control", &control, "resize", "a"]);
    let said = || {
        let output = resize();
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let set_len = |bytes| {
        let file = File::options().write(true).open(&file).unwrap();
        file.set_len(bytes).unwrap();
    };
    assert_eq!(
        said(),
        "a: 1048576 bytes, as before; no front-end is connected\n"
    );
    let mut raw = Raw::connect(Path::new(&socket));
    let (mut own, given) = UnixStream::pair().unwrap();
    own.set_read_timeout(Some(LIMIT)).unwrap();
    raw.frontend.set_backend_request_fd(&given).unwrap();
    set_len(2 << 20);
    assert_eq!(
        said(),
        "a: 1048576 bytes, now 2097152; its front-end is notified\n"
    );
    let mut message = [0; 12];
    own.read_exact(&mut message).unwrap();
    assert_eq!(message[0], 2);
    set_len(3);
    let refused = resize();
    assert_eq!(refused.status.code(), Some(1));
    let why = stderr(&refused);
    let sizes = "a: its file has 3 bytes, fewer than the 2097152 of the disk";
    assert!(
        why.contains(sizes) && why.contains("truncate -s 2097152"),
        "{why}"
    );
    assert_eq!(
        elvis(&["ctl", "--control", &control, "resize"])
            .status
            .code(),
        Some(2)
    );
    let help = elvis(&["ctl", "resize", "--help"]).stdout;
    let help = String::from_utf8(help).unwrap();
    assert!(
        help.contains("truncate -s, lvextend") && help.contains("next start"),
        "{help}"
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
}

#[test]
fn a_signal_ends_it_and_leaves_no_socket() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("a.sock");
    let device = format!("{}=ram:1M", socket.display());
    let words = ["--mode", "per-device-pinned", "--blk", &device];
    let mut served = Daemon::start(&words, &socket);
    let _client = Client::connect(&socket, 1, 64, 1 << 20);
    served.signal(Signal::TERM);
    assert_eq!(served.ended().code(), Some(0));
    assert!(!socket.exists());
}

/// The first request that the host does not do is told, and only that.
#[test]
fn a_request_that_fails_is_told_once() {
    let dir = tempfile::tempdir().unwrap();
    let (socket, path) = (
        dir.path().join("a.sock"),
        image(dir.path(), (1 << 20) + 100),
    );
    let device = format!("{}={}", socket.display(), path.display());
    let served = Daemon::start(&["--blk", &device], &socket);
    let rest =
        "image: its last 100 bytes are not served: they are less than a block of 512 bytes\n";
    assert!(served.said().contains(rest), "{}", served.said());
    let mut client = Client::connect(&socket, 1, 64, 1 << 20);
    assert_eq!(client.write(0, 1), 0);
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(8192)
        .unwrap();
    for offset in [1 << 19, 1 << 19, 8192] {
        assert_ne!(client.read(offset).0, 0);
    }
    let wanted = "elvis: a: a read of 4096 bytes at offset 524288 failed: the file ends before that; further errors are only \
                  counted (stats: errors)\n";
    let said = served.said();
    assert!(said.contains(wanted), "{said}");
    assert_eq!(said.matches("failed").count(), 1, "{said}");
}

const GET_CONFIG: u32 = 24;

/// Old versions of Cloud Hypervisor read at offset 0x100.
#[test]
fn a_read_outside_of_the_configuration_space_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("a.sock");
    let device = format!("{}=null:1G", socket.display());
    let served = Daemon::start(&["--blk", &device], &socket);
    let read = |raw: &Raw, offset: u32, size: u32| {
        let head = [offset, size, 0].map(u32::to_ne_bytes);
        let body = [head.as_flattened(), &vec![0; size as usize]].concat();
        exchange(&raw.frontend, GET_CONFIG, &body).len() as u32 - 12
    };
    assert_eq!(read(&Raw::connect(&socket), 0x100, 60), 0);
    let wanted = "elvis: a: closed the connection: handler failed to handle request: a read of 60 bytes at offset 256 of \
                  its configuration space, which has 72\n";
    until("the reason", || {
        served.said().contains(wanted).then_some(())
    });
    assert_eq!(read(&Raw::connect(&socket), 0, 200), 200);
    let said = served.said();
    let wanted = "elvis: a: its front-end reads 200 bytes of a configuration space of 72: the rest is zeros\n";
    assert!(said.contains(wanted), "{said}");
}

/// Waits until a field of the daemon's status has this value: it drops privileges after its sockets exist.
fn becomes(served: &Daemon, field: &str, wanted: &[&str]) {
    until(field, || {
        let text = std::fs::read_to_string(format!("/proc/{}/status", served.id())).unwrap();
        let line = text.lines().find(|line| line.starts_with(field)).unwrap();
        line.split_whitespace()
            .skip(1)
            .eq(wanted.iter().copied())
            .then_some(())
    });
}

#[test]
fn it_gives_up_what_it_does_not_need() {
    let dir = tempfile::tempdir().unwrap();
    let (socket, image) = (dir.path().join("a.sock"), dir.path().join("image"));
    std::fs::write(&image, vec![0; 1 << 20]).unwrap();
    let device = format!("{}={}", socket.display(), image.display());
    for words in [&["--threads-only"][..], &[]] {
        let served = Daemon::start(&[&["--blk", &device], words].concat(), &socket);
        becomes(&served, "NoNewPrivs:", &["1"]);
        becomes(&served, "Seccomp:", &["2"]);
        let mut client = Client::connect(&socket, 1, 64, 1 << 20);
        assert_eq!((client.write(0, 1), client.flush()), (0, 0));
        assert_eq!(client.read(0), (0, vec![1; 4096]));
    }
    let served = Daemon::start(&["--blk", &device, "--no-seccomp"], &socket);
    becomes(&served, "Seccomp:", &["0"]);
    drop(served);
    let words = ["--blk", &device, "--user", "65534:65534"];
    if rustix::process::geteuid().is_root() {
        let served = Daemon::start(&words, &socket);
        becomes(&served, "Uid:", &["65534"; 4]);
        becomes(&served, "Gid:", &["65534"; 4]);
        becomes(&served, "CapEff:", &["0000000000000000"]);
        let mut client = Client::connect(&socket, 1, 64, 1 << 20);
        assert_eq!(client.read(0), (0, vec![1; 4096]));
    } else {
        let output = elvis(&[&["serve"], &words[..]].concat());
        assert!(
            stderr(&output).contains("can't become"),
            "{}",
            stderr(&output)
        );
    }
    let output = elvis(&["serve", "--blk", &device, "--user", "no such user"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn counters_for_prometheus_and_for_people() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (socket, control, metrics) = (path("a.sock"), path("control"), path("metrics"));
    let device = format!("{socket}=ram:1M");
    let words = [
        "--blk",
        &device,
        "--control",
        &control,
        "--metrics",
        &metrics,
    ];
    let _served = Daemon::start(&words, Path::new(&socket));
    let mut client = Client::connect(Path::new(&socket), 1, 64, 1 << 20);
    assert_eq!(client.write(0, 1), 0);
    let get = |request: &str| {
        let mut stream = UnixStream::connect(&metrics).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    };
    let reply = get("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
    let (_, text) = reply.split_once("\r\n\r\n").unwrap();
    for line in [
        "# TYPE elvis_queue_requests_total counter",
        "elvis_queue_requests_total{device=\"a\",queue=\"0\"} 1",
        "elvis_queue_written_bytes_total{device=\"a\",queue=\"0\"} 4096",
    ] {
        assert!(
            text.lines().any(|other| other == line),
            "no {line} in\n{text}"
        );
    }
    assert!(get("GET /secrets HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
    assert!(get("POST / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
    let output = elvis(&[
        "ctl",
        "--control",
        &control,
        "stats",
        "--watch",
        "--looks",
        "1",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("thread 0:") && text.contains("requests/s"),
        "{text}"
    );
    let output = elvis(&["serve", "--blk", &device, "--metrics", "0.0.0.0:9100"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("loopback"), "{}", stderr(&output));
}

#[test]
fn threads_in_use_are_shown() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (socket, control, metrics) = (path("a.sock"), path("control"), path("metrics"));
    let device = format!("{socket}=ram:1M");
    let Some(cores) = two_cores() else {
        println!("skipped: needs two CPUs");
        return;
    };
    let ways = ["--control", &control, "--metrics", &metrics];
    let words = ["--placement", "--io-cores", &cores, "--blk", &device];
    let _served = Daemon::start(&[&words[..], &ways].concat(), Path::new(&socket));
    let mut client = Client::connect(Path::new(&socket), 1, 64, 1 << 20);
    assert_eq!(client.write(0, 1), 0);
    let ctl = |words: &[&str]| {
        let output = elvis(&[&["ctl", "--control", &control], words].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let stats: Value = serde_json::from_str(&ctl(&["stats"])).unwrap();
    assert_eq!(stats["placement"]["open"], serde_json::json!([true, false]));
    let watched = ctl(&["stats", "--watch", "--looks", "1"]);
    assert!(
        watched.contains("placement: 1 of 2 threads in use;"),
        "{watched}"
    );
    metrics_have(
        &metrics,
        &[
            "elvis_placement_moves_total 0",
            "elvis_thread_open{thread=\"1\"} 0",
        ],
    );
    // Placement requires two I/O cores, and a mode with shared threads.
    let (one, _) = cores.split_once(',').unwrap();
    for words in [
        &["--io-cores", one][..],
        &["--io-cores", &cores, "--mode", "per-device"],
    ] {
        let output = elvis(&[&["serve", "--placement", "--blk", &device], words].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(
            stderr(&output).contains("placement:"),
            "{}",
            stderr(&output)
        );
    }
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

#[test]
fn output_that_nobody_reads_any_more_is_no_error() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_elvis"));
    command.args([
        "simulate",
        "--group",
        "devices=2",
        "--duration-ms",
        "1",
        "--json",
    ]);
    let (ours, theirs) = UnixStream::pair().unwrap();
    drop(ours);
    let output = command.stdout(OwnedFd::from(theirs)).output().unwrap();
    assert_eq!(
        (output.status.code(), stderr(&output).as_str()),
        (Some(0), "")
    );
}
