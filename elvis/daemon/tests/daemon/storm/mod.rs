//! An attacker and devices that behave well share one I/O thread. Whatever the attacker does, the others keep their share
//! and their short waits.
//!
//! Two disks have full rings; a third one has one request at a time. An attack lasts [`STRIKE_NS`]. Known attacks come
//! first; then attacks are drawn from a grammar (`attacks`). During an attack each disk with a full ring has to get at
//! least [`KEPT`] of its fair share of the I/O thread's time: by [`WEIGHTS`] a quarter and a half. A request of the third
//! disk may come at any moment: for at most [`LATE`] of all moments it may wait longer than [`BOUND_NS`].
//!
//! Time is that of the I/O thread ([`victims::Clock`]): it stops while the host runs other programs on its CPU. Other
//! effects of a busy host do not come three times in a row: an attack that seems to do harm is repeated, and counts if it
//! does harm each time. A wait of more than [`STOPPED_NS`] counts at once.
//!
//! `STORM_SECONDS` sets how long all attacks take together. `STORM_SEED` makes the same choices again; with
//! `STORM_ATTACK` only one of them is made, again and again.

mod attacker;
mod attacks;
mod victims;

use super::daemon::Daemon;
use super::random::{Random, number};
use crate::client::{limited, socket, split_cpus};
use crate::nic::Nic;
use attacker::{attack, rest};
use attacks::{Attack, DISKS, Meanwhile, PORT};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use victims::{Busy, Clock, Quick, REQUEST_NS};

/// The part of its fair share that a device keeps.
const KEPT: f64 = 0.8;
/// The part of all moments at which a request that comes may wait longer than [`BOUND_NS`].
const LATE: f64 = 0.01;
/// The same beside a front-end that frees pages of its memory all the time. An access to one waits until the kernel has
/// freed it. Only the size of the memory bounds that.
const KEPT_BESIDE_PUNCHES: f64 = 0.6;
const LATE_BESIDE_PUNCHES: f64 = 0.4;
/// The same where the storm is short: it is one of many tests then, which take the time of both CPUs.
const KEPT_IF_SHORT: f64 = 0.2;
const LATE_IF_SHORT: f64 = 0.6;
/// A request of a quick device that waits longer is late. It is the I/O thread's time.
const BOUND_NS: u64 = 2_000_000;
/// A longer wait is harm at once. Its device pays for it later, so the same attack may do no harm when it is repeated.
/// Not where others than the daemon decide how long it takes: a real disk, and memory that is freed.
const STOPPED_NS: u64 = 50_000_000;
/// How long an attack of a storm lasts, in the I/O thread's time.
const STRIKE_NS: u64 = 25_000_000;
/// How long it may last at most, in wall time. The requests of the busy disks last longer.
const LONGEST: Duration = Duration::from_millis(900);
/// The weights of the disks with full rings. The attacker has 1.
const WEIGHTS: [u32; 2] = [1, 2];
/// How often an attack has to do harm to count.
const TIMES: u32 = 3;
/// The pause before the last time. A host that is short of memory makes all pages late for a moment.
const PAUSE: Duration = Duration::from_secs(2);
/// Devices at the attacker's switch.
const STATIONS: [&str; 4] = ["s1", "s2", "s3", "s4"];

struct Storm {
    // Dropped before the daemon, whose I/O thread it looks at.
    quick: Quick,
    busy: [Busy; 2],
    stations: Vec<Nic>,
    daemon: Daemon,
    dirs: [tempfile::TempDir; 3],
    is_short: bool,
    strike_ns: u64,
    // Another storm would be on the same CPUs.
    _alone: MutexGuard<'static, ()>,
}

/// Storms take turns.
static STORMS: Mutex<()> = Mutex::new(());

/// What an attack did to the others.
#[derive(Debug, Clone, Copy)]
struct Harm {
    /// The part of its fair share that a busy disk got; the lesser of both.
    kept: f64,
    /// The part of all moments at which a request would have waited longer than [`BOUND_NS`].
    late: f64,
    worst_ns: u64,
}

impl Harm {
    fn is_too_much(self, what: &Attack, is_short: bool) -> bool {
        let (kept, late) = match what.meanwhile {
            _ if is_short => (KEPT_IF_SHORT, LATE_IF_SHORT),
            Meanwhile::Punches => (KEPT_BESIDE_PUNCHES, LATE_BESIDE_PUNCHES),
            _ => (KEPT, LATE),
        };
        self.kept < kept || self.late > late
    }

    /// Whether it stopped the I/O thread.
    fn is_a_stop(self, what: &Attack) -> bool {
        let others_decide =
            matches!(what.device, "file" | "direct") || what.meanwhile == Meanwhile::Punches;
        self.worst_ns > STOPPED_NS && !others_decide
    }
}

impl Storm {
    /// `policy` is a part of a configuration file.
    fn new(policy: &str) -> Self {
        let alone = STORMS.lock().unwrap_or_else(PoisonError::into_inner);
        let io_core = split_cpus();
        // In memory: network devices keep the state of packed rings beside their sockets.
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        // One disk is in memory. Two are on a real disk, which has to allow direct I/O.
        let memory = tempfile::tempdir_in("/dev/shm").unwrap();
        let disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let image = |dir: &tempfile::TempDir, name: &str, bytes| {
            let path = dir.path().join(name);
            std::fs::File::create(&path)
                .unwrap()
                .set_len(bytes)
                .unwrap();
            path.display().to_string()
        };
        let images = [
            "ram:1G".to_owned(),
            image(&memory, "tmp", 1 << 30),
            image(&disk, "file", 64 << 20),
            image(&disk, "direct", 64 << 20) + ",direct",
            "null:1G".to_owned(),
        ];
        let busy = format!("null:1G,service_ns={REQUEST_NS}");
        let disks = DISKS.into_iter().zip(images);
        let victims = [
            ("b1", format!("{busy},weight={}", WEIGHTS[0])),
            ("b2", format!("{busy},weight={}", WEIGHTS[1])),
            ("quick", "null:1G".to_owned()),
        ];
        let config = dir.path().join("elvis.toml");
        std::fs::write(&config, policy).unwrap();
        let mut words = vec!["--io-cores".to_owned(), io_core.to_string()];
        words.extend(["--config".to_owned(), config.display().to_string()]);
        let at = |name: &str| dir.path().join(name).display().to_string();
        for (name, image) in disks.chain(victims) {
            words.extend(["--blk".to_owned(), format!("{}={image}", at(name))]);
        }
        for name in STATIONS.into_iter().chain([PORT]) {
            words.extend(["--net".to_owned(), format!("{}=switch:lan", at(name))]);
        }
        let daemon = Daemon::start(&words, &socket(dir.path(), PORT));
        let connect = |name| Busy::connect(&socket(dir.path(), name));
        let stations = STATIONS.map(|name| Nic::connect(&socket(dir.path(), name), 0));
        let busy = [connect("b1"), connect("b2")];
        let clock = Clock::new(daemon.id());
        Self {
            quick: Quick::start(&socket(dir.path(), "quick"), clock, &busy),
            busy,
            stations: stations.into(),
            daemon,
            dirs: [dir, memory, disk],
            is_short: false,
            strike_ns: STRIKE_NS,
            _alone: alone,
        }
    }

    fn strike(&mut self, what: &Attack, seed: u64) -> Harm {
        for station in &mut self.stations {
            while station.try_receive().is_some() {}
        }
        for busy in &mut self.busy {
            busy.go_on();
        }
        let before = self.quick.moment();
        self.quick.waits();
        let end = Instant::now() + LONGEST;
        let over = || {
            self.quick.now_ns().wrapping_sub(before.now_ns) > self.strike_ns || Instant::now() > end
        };
        limited("an attacker", || attack(what, seed, self.dir(), &over));
        let after = self.quick.moment();
        let waits = self.quick.waits();
        limited("an attacker's end", || rest(what, self.dir()));
        let passed_ns = after.now_ns.wrapping_sub(before.now_ns) as f64;
        let all = f64::from(WEIGHTS.iter().sum::<u32>() + 1);
        let got = [0, 1].map(|at| {
            let fair = passed_ns * f64::from(WEIGHTS[at]) / all;
            let served = after.served[at].wrapping_sub(before.served[at]);
            (u64::from(served) * REQUEST_NS) as f64 / fair
        });
        let late: u64 = waits.iter().map(|wait| wait.saturating_sub(BOUND_NS)).sum();
        Harm {
            kept: got[0].min(got[1]),
            late: late as f64 / passed_ns,
            worst_ns: waits.into_iter().max().unwrap_or(0),
        }
    }

    fn dir(&self) -> &Path {
        self.dirs[0].path()
    }

    /// Makes an attack, and repeats it if it does harm. Fails if it does harm each time.
    fn attack(&mut self, what: &Attack, seed: u64) -> Harm {
        let mut harms = Vec::new();
        for time in 1..=TIMES {
            if time == TIMES && !self.is_short {
                std::thread::sleep(PAUSE);
            }
            let harm = self.strike(what, seed);
            assert_eq!(self.daemon.has_ended(), None, "{what:?} ended the daemon");
            if !harm.is_too_much(what, self.is_short) {
                return harm;
            }
            harms.push(harm);
            if harm.is_a_stop(what) && !self.is_short {
                break;
            }
        }
        panic!("an attack of seed {seed} does harm: {harms:?}: {what:?}");
    }
}

#[test]
fn others_keep_what_is_theirs_in_a_storm() {
    let drawn = || {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_nanos() as u64
    };
    let long = number("STORM_SECONDS");
    let seed = number("STORM_SEED").unwrap_or_else(|| long.map_or(1, |_| drawn()));
    let seconds = long.unwrap_or(2);
    println!("STORM_SEED={seed} STORM_SECONDS={seconds}");
    let mut random = Random(seed);
    let mut storm = Storm::new("");
    storm.is_short = long.is_none();
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut attacks, mut least, mut worst_ns) = (0u64, f64::MAX, 0);
    let mut known = Attack::known();
    let only = number("STORM_ATTACK");
    for at in 1.. {
        let what = match known.is_empty() {
            true => Attack::any(&mut random),
            false => known.swap_remove(random.below(known.len() as u64) as usize),
        };
        let seed = random.next();
        if only.is_some_and(|only| only != at) {
            continue;
        }
        println!("attack {at}: {what:?}");
        loop {
            let harm = match only {
                Some(_) => storm.strike(&what, seed),
                None => storm.attack(&what, seed),
            };
            attacks += 1;
            least = harm.kept.min(least);
            worst_ns = harm.worst_ns.max(worst_ns);
            println!("{harm:.3?}");
            if only.is_none() || Instant::now() > end {
                break;
            }
        }
        if Instant::now() > end {
            break;
        }
    }
    println!(
        "{attacks} attacks; the least share kept was {least:.2}, the longest wait {worst_ns} ns"
    );
    assert!(attacks > 0);
}

/// The storm can find harm: with shares of units of work, requests of many segments take time from the others. Attacks last
/// longer, so that an attacker on a busy host can begin.
#[test]
fn without_shares_of_time_an_attack_does_harm() {
    let known = Attack::known();
    // Another daemon for the next seeds: one of a busy host was seen to take no harm from any of them.
    let seen = (0..5).any(|daemon| {
        let mut storm = Storm::new("[policy]\nunit_ns = 0\n");
        storm.strike_ns = 8 * STRIKE_NS;
        let mut does_harm = |attack: &Attack, seed| {
            (0..TIMES).all(|_| storm.strike(attack, seed).is_too_much(attack, false))
        };
        (2 * daemon..2 * daemon + 2)
            .any(|seed| known.iter().rev().any(|attack| does_harm(attack, seed)))
    });
    assert!(
        seen,
        "attacks from which shares of time protect do no harm without them"
    );
}
