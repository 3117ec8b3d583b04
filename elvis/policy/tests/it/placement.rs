//! Properties of the placement that hold for all loads.

use elvis_policy::{Change, DeviceLoad, Placement, PlacementParams};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Devices that each want a fraction of a core; an overloaded core gives them less.
struct Play {
    placement: Placement,
    nodes: Vec<Option<u32>>,
    core_of: Vec<usize>,
    home: Vec<Option<u32>>,
    open: Vec<bool>,
    now_ns: u64,
    moved_ns: BTreeMap<u64, u64>,
    changes: usize,
    moves: usize,
    releases: usize,
}

impl Play {
    fn new(nodes: Vec<Option<u32>>, home: Vec<Option<u32>>) -> Self {
        let params = PlacementParams::default();
        params.check().unwrap();
        let mut open = vec![false; nodes.len()];
        open[0] = true;
        Self {
            placement: Placement::new(params, &nodes),
            core_of: vec![0; home.len()],
            nodes,
            home,
            open,
            now_ns: 0,
            moved_ns: BTreeMap::new(),
            changes: 0,
            moves: 0,
            releases: 0,
        }
    }

    fn alike(cores: usize, devices: usize) -> Self {
        Self::new(vec![None; cores], vec![None; devices])
    }

    fn wanted(&self, core: usize, wants: &[f64]) -> f64 {
        let here = self.core_of.iter().zip(wants);
        here.filter(|(on, _)| **on == core)
            .map(|(_, want)| want)
            .sum()
    }

    /// Plays one window, and checks what holds in each.
    fn window(&mut self, wants: &[f64]) {
        self.now_ns += self.placement.params().window_ns;
        let mut wanted = vec![0.0f64; self.nodes.len()];
        for (&core, want) in self.core_of.iter().zip(wants) {
            wanted[core] += want;
        }
        let seen: Vec<DeviceLoad> = (0..wants.len())
            .map(|device| {
                let core = self.core_of[device];
                let load = wants[device] / wanted[core].max(1.0);
                DeviceLoad {
                    device: device as u64,
                    core,
                    load,
                    node: self.home[device],
                }
            })
            .collect();
        for change in self.placement.window(self.now_ns, &seen) {
            self.changes += 1;
            match change {
                Change::Open(core) => {
                    assert!(!std::mem::replace(&mut self.open[core], true), "open twice");
                }
                Change::Move { device, core } => {
                    assert!(self.open[core], "moved to a core that is not in use");
                    assert_ne!(self.core_of[device as usize], core, "moved to its own core");
                    let before = self.moved_ns.insert(device, self.now_ns);
                    let dwell_ns = self.placement.params().dwell_ns;
                    assert!(before.is_none_or(|before| self.now_ns - before >= dwell_ns));
                    self.core_of[device as usize] = core;
                    self.moves += 1;
                }
                Change::Release(core) => {
                    assert!(std::mem::replace(&mut self.open[core], false));
                    assert!(!self.core_of.contains(&core), "devices are left behind");
                    self.releases += 1;
                }
            }
        }
        assert!(self.open.contains(&true));
        for (core, &open) in self.open.iter().enumerate() {
            assert_eq!(self.placement.open(core), open);
        }
    }

    fn open_cores(&self) -> usize {
        assert_eq!(
            self.open.iter().filter(|open| **open).count(),
            self.placement.open_cores()
        );
        self.placement.open_cores()
    }
}

#[test]
fn cores_follow_a_load_that_rises_and_falls() {
    let mut play = Play::alike(16, 128);
    let (mut most, mut moves_at_top) = (0, 0);
    for period in 0..3 {
        let moves = play.moves;
        for window in 0..600 {
            // From zero to the load of eight cores and back, in a minute.
            let part = 0.5 - 0.5 * (f64::from(window) / 600.0 * std::f64::consts::TAU).cos();
            play.window(&[8.0 / 128.0 * part; 128]);
            most = most.max(play.open_cores());
            if window == 300 {
                let busiest = (0..16).map(|core| play.wanted(core, &[8.0 / 128.0; 128]));
                assert!(busiest.fold(0.0, f64::max) <= 1.0, "period {period}");
                moves_at_top = play.moves;
            }
        }
        assert!(play.open_cores() <= 2, "{} at the end", play.open_cores());
        // In one cycle each device is moved a few times, not at every window.
        assert!(play.moves - moves < 6 * 128, "{} moves", play.moves - moves);
        assert!(moves_at_top - moves > 60);
    }
    for _ in 0..200 {
        play.window(&[0.0; 128]);
    }
    assert_eq!(play.open_cores(), 1);
    // The load of eight cores, on cores filled to between 0.6 and 0.8.
    assert!((10..=14).contains(&most), "{most} at most");
}

#[test]
fn a_burst_opens_no_core_and_a_short_pause_releases_none() {
    let mut play = Play::alike(4, 8);
    for _ in 0..20 {
        play.window(&[0.01; 8]);
    }
    play.window(&[0.12; 8]);
    for _ in 0..20 {
        play.window(&[0.01; 8]);
    }
    assert_eq!(play.changes, 0);
    for _ in 0..20 {
        play.window(&[0.12; 8]);
    }
    assert_eq!(play.open_cores(), 2);
    let changes = play.changes;
    for window in 0..200 {
        // On for a second, off for a second.
        play.window(&[if window / 10 % 2 == 0 { 0.01 } else { 0.12 }; 8]);
    }
    assert_eq!(play.changes, changes);
}

#[test]
fn one_device_that_takes_a_core_keeps_it_and_the_others_leave() {
    let mut wants = vec![0.05; 7];
    wants[3] = 0.9;
    let mut play = Play::alike(3, 7);
    for _ in 0..50 {
        play.window(&wants);
    }
    assert_eq!(play.open_cores(), 2);
    let alone = play.core_of[3];
    assert_eq!(
        play.core_of.iter().filter(|core| **core == alone).count(),
        1
    );
    // Alone from the start, it is not moved: another core would not help it.
    let mut play = Play::alike(3, 2);
    for _ in 0..50 {
        play.window(&[1.0, 0.0]);
    }
    assert_eq!(play.changes, 0);
}

#[test]
fn the_two_sockets_of_a_machine() {
    let nodes = vec![Some(0), Some(0), Some(1), Some(1)];
    let home: Vec<_> = (0..8).map(|device| Some(device % 2)).collect();
    let mut play = Play::new(nodes, home);
    for _ in 0..100 {
        play.window(&[0.001; 8]);
    }
    assert_eq!(
        play.open_cores(),
        1,
        "idle devices do not get a second core"
    );
    for _ in 0..100 {
        play.window(&[0.1; 8]);
    }
    assert_eq!(play.open_cores(), 2);
    for device in 0..8 {
        assert_eq!(play.nodes[play.core_of[device]], play.home[device]);
    }
    // Too much for the first core of each node: both second cores are opened.
    for _ in 0..100 {
        play.window(&[0.3; 8]);
    }
    assert_eq!(play.open_cores(), 4);
    for device in 0..8 {
        assert_eq!(play.nodes[play.core_of[device]], play.home[device]);
    }
    for _ in 0..200 {
        play.window(&[0.001; 8]);
    }
    assert_eq!(play.open_cores(), 1);
}

#[test]
fn a_bad_value_is_named() {
    let bad = PlacementParams {
        fill: 0.9,
        ..PlacementParams::default()
    };
    assert_eq!(
        bad.check().unwrap_err().to_string(),
        "fill is 0.9, and must be 0.05 to 0.8"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 8, failure_persistence: None, ..ProptestConfig::default() })]

    /// Once the load is constant except for noise, devices do not move to and fro and no core is
    /// released. Noise may still push a nearly full core above `high` and so open another, once. In the
    /// end at most twice as many cores are in use as the load needs.
    #[test]
    fn it_comes_to_rest(
        cores in 1usize..17,
        wants in prop::collection::vec(prop_oneof![0.0..0.02f64, 0.0..0.5f64, 0.9..3.0f64], 1..60),
        before in prop::collection::vec(0.0..1.0f64, 0..30),
        two_nodes in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let node = |number: usize| two_nodes.then_some(number as u32 % 2);
        let mut play = Play::new((0..cores).map(node).collect(), (0..wants.len()).map(node).collect());
        let mut random = seed | 1;
        let mut noise = move || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            0.97 + (random % 1000) as f64 * 0.000_06
        };
        for part in before {
            let wants: Vec<f64> = wants.iter().map(|want| want * part).collect();
            play.window(&wants);
        }
        for _ in 0..400 {
            let now: Vec<f64> = wants.iter().map(|want| want * noise()).collect();
            play.window(&now);
        }
        let (releases, rested_ns) = (play.releases, play.now_ns);
        for _ in 0..100 {
            let now: Vec<f64> = wants.iter().map(|want| want * noise()).collect();
            let moved = play.moved_ns.clone();
            play.window(&now);
            let again = |(device, &at_ns): (&u64, &u64)| at_ns > rested_ns && play.moved_ns[device] > at_ns;
            prop_assert!(!moved.iter().any(again), "a device moves to and fro");
        }
        prop_assert_eq!(play.releases, releases, "cores come and go");
        let sum: f64 = wants.iter().map(|want| want.min(1.0)).sum();
        let nodes = if two_nodes { 2.0 } else { 1.0 };
        prop_assert!(play.open_cores() as f64 <= 2.0 * sum * 1.05 / 0.6 + nodes, "{} for {sum}", play.open_cores());
    }

    /// If there are enough cores for small devices, none is overloaded in the end.
    #[test]
    fn nobody_stays_on_a_full_core(
        cores in 2usize..17,
        wants in prop::collection::vec(0.0..0.2f64, 1..200),
    ) {
        let scale = (cores as f64 * 0.4 / wants.iter().sum::<f64>().max(0.01)).min(1.0);
        let wants: Vec<f64> = wants.iter().map(|want| want * scale).collect();
        let mut play = Play::alike(cores, wants.len());
        for _ in 0..400 {
            play.window(&wants);
        }
        for core in 0..cores {
            prop_assert!(play.wanted(core, &wants) <= 0.8 + 1e-9);
        }
    }
}
