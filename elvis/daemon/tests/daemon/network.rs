//! Network devices of a daemon with all its restrictions: the command line, `elvis ctl`, metrics.

use super::daemon::{Daemon, metrics_have};
use crate::client::{Client, two_cores, until};
use crate::nic::{Nic, frame};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

fn ask(control: &str, request: &Value) -> Value {
    elvis::control::ask(Path::new(control), request).unwrap()
}

#[test]
fn networks_come_move_and_go_beside_a_disk() {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (control, metrics) = (path("control"), path("metrics"));
    let (a, disk) = (
        format!("{}=switch:s", path("a")),
        format!("{}=ram:1M", path("disk")),
    );
    let Some(cores) = two_cores() else {
        println!("skipped: needs two CPUs");
        return;
    };
    let words = [
        "--control",
        &control,
        "--metrics",
        &metrics,
        "--io-cores",
        &cores,
    ];
    let devices = ["--net", &a, "--blk", &disk];
    let _served = Daemon::start(&[&words[..], &devices].concat(), Path::new(&path("a")));
    let device = json!({ "socket": path("b"), "net": "switch:s", "weight": 3 });
    assert_eq!(
        ask(&control, &json!({ "do": "add", "device": device }))["ok"],
        true
    );
    let list = ask(&control, &json!({ "do": "list" }));
    let of = |name: &str| -> Value {
        let devices = list["devices"].as_array().unwrap();
        devices
            .iter()
            .find(|device| device["name"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(
        (&of("b")["kind"], &of("b")["net"]),
        (&json!("net"), &json!("switch:s"))
    );
    assert_eq!(
        (&of("b")["queues"], &of("disk")["bytes"]),
        (&json!(2), &json!(1 << 20))
    );
    // Of the one that came later too the daemon may keep how far packed rings got.
    let mut nics = ["a", "b"].map(|name| Nic::packed(Path::new(&path(name)), 0));
    let mut client = Client::connect(Path::new(&path("disk")), 1, 16, 1 << 20);
    // Answered after the queues are served.
    ask(&control, &json!({ "do": "stats" }));
    for thread in [0, 1, 0, 1] {
        let request = json!({ "do": "move", "name": "b", "thread": thread });
        assert_eq!(ask(&control, &request)["ok"], true);
        ask(&control, &json!({ "do": "stats" }));
        let [a, b] = &mut nics;
        a.send_plain(&frame(0xff, 1, 100 + thread));
        assert_eq!(b.receive().1.len(), 100 + thread);
        assert_eq!(client.write(0, 7), 0);
    }
    metrics_have(
        &metrics,
        &[
            "elvis_net_frames_total{device=\"a\",queue=\"1\"} 4",
            "elvis_net_frames_total{device=\"b\",queue=\"0\"} 4",
            "elvis_net_dropped_total{device=\"b\",queue=\"0\",reason=\"full\"} 0",
            "elvis_queue_requests_total{device=\"disk\",queue=\"0\"} 4",
        ],
    );
    assert_eq!(
        ask(&control, &json!({ "do": "remove", "name": "b" }))["ok"],
        true
    );
    nics[0].send_plain(&frame(0xff, 1, 60));
    until("the end of a device", || {
        (!Path::new(&path("b")).exists()).then_some(())
    });
    // Its front-end may come again.
    assert!(Path::new(&path("b.rings")).exists());
}

#[test]
fn a_wrong_network_is_said() {
    for (words, why) in [
        (["--net", "/run/x=ram:1M"], "not tap:NAME"),
        (["--blk", "/run/x=tap:tap0"], "use --net"),
        (["--net", "/run/x=switch:"], "is not a name"),
        (
            ["--net", "/run/x=switch:s,readonly"],
            "only for a block device",
        ),
        (
            ["--uplink", "lan=switch:b"],
            "is not tap:NAME or interface:NAME",
        ),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_elvis"))
            .arg("serve")
            .args(words)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            (output.status.code(), said.contains(why)),
            (Some(2), true),
            "{said}"
        );
    }
}
