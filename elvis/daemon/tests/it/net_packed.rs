//! Network devices with packed rings: they continue, or start anew, as their front-ends' rings did.

use crate::client::{config, serve, serve_by, socket};
use crate::nic::{Nic, OFFLOADS, frame};
use elvis::config::Config;
use elvis::net::{Header, feature};
use elvis::serve::Server;
use elvis_policy::simulation::Mode;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use tempfile::TempDir;
use vhost::VhostBackend;
use ws_io::nic::feature::RING_PACKED;

const PORTS: [&str; 2] = ["a=switch:s", "b=switch:s"];

/// A folder in memory, for sockets and what is kept of rings.
fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap()
}

/// Two devices of a server, the first with packed rings, the second with packed ones or not.
fn pair(server: &Server, dir: &Path, packed: bool) -> (Nic, Nic) {
    let a = Nic::packed(&socket(dir, "a"), 0);
    let b = match packed {
        true => Nic::packed(&socket(dir, "b"), 0),
        false => Nic::connect(&socket(dir, "b"), 0),
    };
    // Answered when the queues are served.
    server.stats().unwrap();
    (a, b)
}

/// Sends frames of all lengths both ways, one to six at a time. On a busy host each wait for the device takes a time
/// slice.
fn talk(a: &mut Nic, b: &mut Nic, rounds: usize) {
    let lengths: Vec<usize> = (0..rounds).map(|round| 60 + round * 37 % 9000).collect();
    let mut rest = &lengths[..];
    for burst in (1..=6).cycle() {
        let (now, later) = rest.split_at(burst.min(rest.len()));
        pass(a, b, [0xff, 1], now);
        pass(b, a, [1, 2], now);
        rest = later;
        if rest.is_empty() {
            return;
        }
    }
}

/// Sends frames of these lengths between these stations, which arrive in order.
fn pass(from: &mut Nic, to: &mut Nic, [station, own]: [u8; 2], lengths: &[usize]) {
    for &bytes in lengths {
        from.submit(&Header::default(), &frame(station, own, bytes));
    }
    for &bytes in lengths {
        assert_eq!(to.receive().1, frame(station, own, bytes));
    }
    from.until_sent();
}

/// Whether a file with the rings of a device is there.
fn kept(dir: &Path, name: &str) -> bool {
    dir.join(format!("{name}.rings")).exists()
}

#[test]
fn frames_between_packed_rings_and_others() {
    // With the polling window that users have, too.
    for (packed, config) in [
        (true, config()),
        (false, config()),
        (true, Config::default()),
    ] {
        let dir = folder();
        let server = serve_by(dir.path(), config, &PORTS);
        let (mut a, mut b) = pair(&server, dir.path(), packed);
        talk(&mut a, &mut b, 600);
    }
}

/// The whole ring several times, in steps of all sizes, with a daemon that ends in between; its front-ends know
/// only where the rings were new.
#[test]
fn a_new_process_goes_on_where_the_last_one_was() {
    let dir = folder();
    let mut server = serve(dir.path(), Mode::Elvis, &PORTS);
    let (mut a, mut b) = pair(&server, dir.path(), true);
    for round in 0..12 {
        talk(&mut a, &mut b, 30 + 7 * round);
        drop(server);
        assert!(kept(dir.path(), "a") && kept(dir.path(), "b"));
        // Sent while nobody serves.
        for number in 0..5 {
            assert!(a.try_send(&Header::default(), &frame(0xff, 1, 200 + number), 4000));
        }
        server = serve(dir.path(), Mode::Elvis, &PORTS);
        let base = a.new_base();
        b.reconnect(&socket(dir.path(), "b"), base);
        server.stats().unwrap();
        a.reconnect(&socket(dir.path(), "a"), base);
        for number in 0..5 {
            assert_eq!(b.receive().1.len(), 200 + number);
        }
    }
}

/// The front-end has lost its connection, and does not know how far the rings got.
#[test]
fn a_new_connection_goes_on_too() {
    let dir = folder();
    let server = serve(dir.path(), Mode::Elvis, &PORTS);
    let (mut a, mut b) = pair(&server, dir.path(), true);
    for _ in 0..5 {
        talk(&mut a, &mut b, 77);
        a.stream().shutdown(std::net::Shutdown::Both).unwrap();
        let base = a.new_base();
        a.reconnect(&socket(dir.path(), "a"), base);
        server.stats().unwrap();
    }
}

#[test]
fn rings_that_were_reset_meanwhile_start_anew() {
    let dir = folder();
    let mut server = serve(dir.path(), Mode::Elvis, &PORTS);
    let (mut a, mut b) = pair(&server, dir.path(), true);
    for round in 0..8 {
        talk(&mut a, &mut b, 100 + 13 * round);
        drop(server);
        // The same addresses, the same place to start at.
        for nic in [&mut a, &mut b] {
            nic.reset();
            if round % 2 > 0 {
                nic.offer_buffers();
            }
        }
        server = serve(dir.path(), Mode::Elvis, &PORTS);
        let base = a.new_base();
        a.reconnect(&socket(dir.path(), "a"), base);
        b.reconnect(&socket(dir.path(), "b"), base);
        a.offer_buffers();
        b.offer_buffers();
        server.stats().unwrap();
    }
    talk(&mut a, &mut b, 10);
}

/// A front-end that stopped its rings knows where they go on; nothing is kept then.
#[test]
fn rings_that_were_stopped_go_on_where_their_front_end_says() {
    let dir = folder();
    let server = serve(dir.path(), Mode::Elvis, &PORTS);
    let (mut a, mut b) = pair(&server, dir.path(), true);
    let stop = |nic: &mut Nic| [0, 1].map(|queue| nic.frontend.get_vring_base(queue).unwrap());
    for round in 0..6 {
        talk(&mut a, &mut b, 41 + round);
        for nic in [&mut a, &mut b] {
            let bases = stop(nic);
            // Both places of a ring, each with its wrap counter, are the same.
            assert!(bases.iter().all(|base| base >> 16 == base & 0xffff));
            nic.start_each(bases.map(|base| base as u16));
        }
        server.stats().unwrap();
    }
    stop(&mut a);
    stop(&mut b);
    drop(server);
    assert!(!kept(dir.path(), "a") && !kept(dir.path(), "b"));
}

/// A process that is killed when it has stopped a ring, and before its front-end knows where that continues, leaves
/// that. The front-end's next message shows that it knows.
#[test]
fn what_a_front_end_may_not_have_heard_is_kept() {
    let dir = folder();
    let path = dir.path().join("a.rings");
    let first_word = || std::fs::read(&path).unwrap()[..8].to_vec();
    let mut server = serve(dir.path(), Mode::Elvis, &PORTS);
    let (mut a, mut b) = pair(&server, dir.path(), true);
    for round in 0..6 {
        talk(&mut a, &mut b, 41 + 7 * round);
        let base = a.frontend.get_vring_base(0).unwrap();
        let killed = std::fs::read(&path).unwrap();
        assert_ne!(killed[..8], [0; 8]);
        a.frontend.get_features().unwrap();
        assert_eq!(first_word(), [0; 8]);
        drop(server);
        // As if it had been killed before.
        std::fs::write(&path, killed).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        server = serve(dir.path(), Mode::Elvis, &PORTS);
        let new = a.new_base();
        assert_ne!(base, u32::from(new));
        // Both do not know that it was stopped.
        a.reconnect(&socket(dir.path(), "a"), new);
        b.reconnect(&socket(dir.path(), "b"), new);
        server.stats().unwrap();
    }
    talk(&mut a, &mut b, 10);
}

/// The answer can't be sent: the front-end does not know that the ring was stopped, and starts it where it last did.
#[test]
fn what_a_front_end_can_not_have_heard_is_kept() {
    let dir = folder();
    let server = serve(dir.path(), Mode::Elvis, &PORTS);
    let (mut a, mut b) = pair(&server, dir.path(), true);
    for round in 0..6 {
        talk(&mut a, &mut b, 41 + 7 * round);
        a.stream().shutdown(std::net::Shutdown::Read).unwrap();
        a.frontend.get_vring_base(0).unwrap_err();
        let base = a.new_base();
        a.reconnect(&socket(dir.path(), "a"), base);
        server.stats().unwrap();
    }
    talk(&mut a, &mut b, 10);
}

/// Another machine with the same addresses gets nothing of the last one's.
#[test]
fn a_new_machine_starts_anew() {
    let dir = folder();
    for round in 0..4 {
        let server = serve(dir.path(), Mode::Elvis, &PORTS);
        let (mut a, mut b) = pair(&server, dir.path(), true);
        talk(&mut a, &mut b, 100 + 50 * round);
        // Both die with the daemon.
    }
}

#[test]
fn without_a_place_for_its_file_a_device_has_split_rings() {
    let dir = folder();
    let kept_in = |state: Option<&Path>| Config {
        state: state.map(Into::into),
        ..config()
    };
    // No such folder, and one that is not in memory.
    let (none, disk) = (dir.path().join("none"), crate::registered::folder());
    for state in [&none, disk.path()] {
        let server = serve_by(dir.path(), kept_in(Some(state)), &PORTS);
        let nic = Nic::connect(&socket(dir.path(), "a"), 0);
        assert_eq!(nic.frontend.get_features().unwrap() & RING_PACKED, 0);
        drop((nic, server));
    }
    assert_eq!(disk.path().read_dir().unwrap().count(), 0);
    // A folder of its own.
    let state = folder();
    let server = serve_by(dir.path(), kept_in(Some(state.path())), &PORTS);
    let (mut a, mut b) = pair(&server, dir.path(), true);
    talk(&mut a, &mut b, 3);
    let file = state.path().join("a.rings").metadata().unwrap();
    assert_eq!((file.mode() & 0o777, kept(dir.path(), "a")), (0o600, false));
    drop(server);
    // A damaged file: the rings start where their front-end says.
    for name in ["a.rings", "b.rings"] {
        std::fs::write(state.path().join(name), [0xa5; 5000]).unwrap();
    }
    let server = serve_by(dir.path(), kept_in(Some(state.path())), &PORTS);
    let (mut a, mut b) = pair(&server, dir.path(), true);
    talk(&mut a, &mut b, 3);
    // One that is shortened while its rings run: the device works on.
    let open = std::fs::File::options();
    let file = open.clone().write(true).open(state.path().join("a.rings"));
    file.unwrap().set_len(0).unwrap();
    talk(&mut a, &mut b, 300);
    drop(server);
}

/// A driver that takes no mergeable buffers, one without offloads: they get the same by packed rings.
#[test]
fn other_features_with_packed_rings() {
    let dir = folder();
    for without in [feature::MRG_RXBUF, OFFLOADS, 1 << 28, 1 << 29] {
        let server = serve(dir.path(), Mode::Elvis, &PORTS);
        let mut a = Nic::packed(&socket(dir.path(), "a"), without);
        let mut b = Nic::packed(&socket(dir.path(), "b"), without);
        server.stats().unwrap();
        let lengths: Vec<usize> = (60..460).collect();
        for some in lengths.chunks(5) {
            pass(&mut a, &mut b, [0xff, 1], some);
            pass(&mut b, &mut a, [1, 2], &[60; 5]);
        }
    }
}

/// The last process has published a frame, and died before it called the driver, which waits.
#[test]
fn a_driver_that_still_waits_for_the_last_process_is_called() {
    for packed in [true, false] {
        let dir = folder();
        let server = serve(dir.path(), Mode::Elvis, &PORTS);
        let (mut a, mut b) = pair(&server, dir.path(), packed);
        talk(&mut a, &mut b, 20);
        a.send_plain(&frame(0xff, 1, 60));
        crate::client::until("a frame", || b.rings[0].has_reply().then_some(()));
        drop(server);
        b.rings[0].want_calls(true);
        if b.called() {
            b.calls[0].read().unwrap();
        }
        assert!(!b.called());
        let server = serve(dir.path(), Mode::Elvis, &PORTS);
        let base = b.new_base();
        b.reconnect(&socket(dir.path(), "b"), base);
        server.stats().unwrap();
        assert!(b.called(), "packed {packed}");
        assert_eq!(b.receive().1, frame(0xff, 1, 60));
    }
}
