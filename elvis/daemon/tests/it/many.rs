//! A thousand attached, idle devices. Their cost is measured in `../daemon/idle.rs`.

use crate::client::{Client, assert_sleeps_on, serve_on, socket, split_cpus};
use elvis_policy::simulation::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const DEVICES: usize = 1000;

#[test]
fn a_thousand_idle_devices_sleep_and_wake() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    )
    .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let io_core = split_cpus();
    let names: Vec<String> = (0..DEVICES).map(|n| format!("d{n}=null:1G")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let server = serve_on(dir.path(), Mode::Elvis, &names, &[io_core]);
    let mut clients: Vec<Client> = (0..DEVICES)
        .map(|n| Client::connect(&socket(dir.path(), &format!("d{n}")), 1, 64, 4096))
        .collect();
    for client in &mut clients {
        assert_eq!(client.read(0).0, 0);
    }
    assert_sleeps_on(&server);
    assert_eq!(clients[777].read(0).0, 0);
    assert_sleeps_on(&server);
}
