//! Front-ends that pass no descriptor for kicks, calls or errors (vhost-user: bit 8 of the messages).

use crate::client::{exchange, serve_by, socket, until, until_asleep};
use crate::nic::{Nic, frame};
use crate::raw::Raw;
use elvis::config::Config;
use elvis::serve::Server;
use elvis_policy::Params;
use elvis_policy::simulation::Mode;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;
use vhost::VhostBackend;
use vhost::vhost_user::VhostUserFrontend;

const SET_VRING_KICK: u32 = 12;
const SET_VRING_CALL: u32 = 13;
const SET_VRING_ERR: u32 = 14;
/// In the message: there is no descriptor.
const NO_DESCRIPTOR: u64 = 1 << 8;

/// A server that ends polling soon.
fn serve(dir: &Path, mode: Mode, devices: &[&str]) -> Server {
    let config = Config {
        mode,
        derive_window: false,
        params: Params {
            poll_on_gap_ns: 100,
            poll_off_idle_ns: 1_000,
            poll_keep_ns: 1_000,
            ..Params::default()
        },
        ..Config::default()
    };
    serve_by(dir, config, devices)
}

/// Passes no descriptor. False if that is refused.
fn none(frontend: &impl AsRawFd, request: u32, queue: u64) -> bool {
    exchange(frontend, request, &(queue | NO_DESCRIPTOR).to_ne_bytes()) == [0; 8]
}

fn polled(server: &Server, device: &str) -> Vec<bool> {
    let stats = server.stats().unwrap();
    stats.devices[device].iter().map(|it| it.polled).collect()
}

/// Time in which polling would end many times.
fn idle() {
    std::thread::sleep(Duration::from_millis(2));
}

/// Each request is served although none is kicked for, in all modes, with short pauses and long ones.
#[test]
fn a_ring_without_kicks_is_polled_always() {
    for mode in Mode::ALL {
        for packed in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let server = serve(dir.path(), mode, &["a=ram:1M"]);
            let mut raw = Raw::of(&socket(dir.path(), "a"), packed);
            raw.start_at(None);
            assert!(none(&raw.frontend, SET_VRING_KICK, 0));
            for number in 0..40 {
                raw.submit_write(number, number % 8, 7).unwrap();
                raw.reply();
                assert_eq!(raw.status(number), 0);
                if number % 8 == 0 {
                    idle();
                }
            }
            idle();
            assert_eq!(polled(&server, "a"), [true], "{mode:?}, packed {packed}");
            let stats = server.stats().unwrap();
            assert_eq!(stats.devices["a"][0].policy.kicks, 0);
        }
    }
}

/// So is one that is stopped and started again, or moved. With a descriptor it is no longer.
#[test]
fn a_ring_without_kicks_stays_polled_until_it_has_a_descriptor() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(dir.path(), Mode::FineGrained, &["a=ram:1M"]);
    let mut raw = Raw::connect(&socket(dir.path(), "a"));
    raw.start(0);
    assert!(none(&raw.frontend, SET_VRING_KICK, 0));
    // A change of memory takes the queue from its I/O thread, and gives it back.
    let served = |raw: &mut Raw, number| {
        raw.submit_write(number, 0, 7).unwrap();
        raw.reply();
    };
    served(&mut raw, 0);
    raw.frontend.set_vring_enable(0, false).unwrap();
    raw.frontend.set_vring_enable(0, true).unwrap();
    idle();
    served(&mut raw, 1);
    raw.frontend.set_vring_kick(0, &raw.kick).unwrap();
    until("a queue that is not polled", || {
        (polled(&server, "a") == [false]).then_some(())
    });
    until_asleep(&server);
    raw.submit_write(2, 0, 7).unwrap();
    assert!(raw.driver.kick_wanted());
    raw.kick.write(1).unwrap();
    raw.reply();
}

/// Replies are published all the same, and a ring that breaks the rules ends.
#[test]
fn a_ring_without_calls_and_errors_is_served() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(dir.path(), Mode::Elvis, &["a=ram:1M"]);
    let mut raw = Raw::connect(&socket(dir.path(), "a"));
    raw.start(0);
    for request in [SET_VRING_CALL, SET_VRING_ERR] {
        assert!(none(&raw.frontend, request, 0));
    }
    raw.driver.want_calls(true);
    for number in 0..8 {
        raw.submit_write(number, number, 7).unwrap();
        raw.kick();
        raw.reply();
    }
    assert_eq!(server.stats().unwrap().devices["a"][0].calls, 0);
    raw.driver.offer(u16::MAX);
    raw.kick.write(1).unwrap();
    let fault = until("a device's fault", || {
        server.stats().unwrap().devices["a"][0].fault.clone()
    });
    assert!(fault.contains("descriptor 65535"), "{fault}");
}

/// A receive queue that has no buffers needs no kick for new ones either.
#[test]
fn a_network_device_without_kicks() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(dir.path(), Mode::Elvis, &["a=switch:s", "b=switch:s"]);
    let mut a = Nic::connect(&socket(dir.path(), "a"), 0);
    let mut b = Nic::idle(&socket(dir.path(), "b"), 0);
    b.begin();
    for (nic, queue) in [(&a, 1), (&b, 0)] {
        assert!(none(&nic.frontend, SET_VRING_KICK, queue));
    }
    until("a receive queue that is served", || {
        (polled(&server, "b").first() == Some(&true)).then_some(())
    });
    // Nobody reads the descriptors that they still write to.
    a.send_plain(&frame(0xff, 1, 60));
    idle();
    b.offer_some(1);
    assert_eq!(b.receive().1.len(), 60);
    drop(b);
    let mut b = Nic::idle(&socket(dir.path(), "b"), 0);
    b.begin();
    assert!(none(&b.frontend, SET_VRING_KICK, 0));
    let large = frame(0xff, 1, 9000);
    until("a receive queue that is served", || {
        (polled(&server, "b").first() == Some(&true)).then_some(())
    });
    a.send_plain(&large);
    for _ in 0..3 {
        b.offer_some(2);
        idle();
    }
    assert_eq!(b.receive().1, large);
}
