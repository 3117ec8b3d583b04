//! Simulations with known results, and properties that hold for all.

use elvis_policy::simulation::{Arrival, Costs, Group, Mode, Outcome, Scenario, jain, simulate};
use elvis_policy::{Params, PlacementParams, RateLimit};
use proptest::prelude::*;

/// Only the requests themselves take time.
const FREE: Costs = Costs {
    poll_ns: 10,
    visit_ns: 0,
    look_ns: 0,
    wake_ns: 0,
    kick_ns: 0,
    call_ns: 0,
    interrupt_ns: 0,
    complete_ns: 0,
    move_ns: 0,
    switch_ns: 0,
    slice_ns: 3_000_000,
};

fn scenario(mode: Mode, groups: Vec<Group>) -> Scenario {
    Scenario {
        mode,
        groups,
        cores: 1,
        costs: Costs::default(),
        params: Params::default(),
        placement: PlacementParams::default(),
        warmup_ns: 10_000_000,
        duration_ns: 100_000_000,
        seed: 1,
    }
}

fn closed(devices: u32, depth: u16, think_ns: u64) -> Group {
    Group {
        devices,
        arrival: Arrival::Closed { depth, think_ns },
        ..Group::default()
    }
}

fn play(scenario: &Scenario) -> Outcome {
    simulate(scenario).unwrap()
}

/// M/D/1: with Poisson arrivals and fixed service time s at load r, the mean time in the queue is
/// s + r s / 2 (1 - r) (Pollaczek-Khinchine).
#[test]
fn one_queue_is_an_m_d_1() {
    for (load, mean_ns) in [(0.3, 1214.3), (0.5, 1500.0), (0.8, 3000.0)] {
        let arrival = Arrival::Open { per_s: load * 1e6 };
        let group = Group {
            arrival,
            ..Group::default()
        };
        for mode in Mode::ALL {
            let mut scenario = scenario(mode, vec![group.clone()]);
            scenario.costs = FREE;
            scenario.params.max_work = 1;
            scenario.params.min_work = 1;
            scenario.duration_ns = 400_000_000;
            let outcome = play(&scenario);
            let found_ns = outcome.groups[0].mean_ns;
            assert!(
                (found_ns / mean_ns - 1.0).abs() < 0.03,
                "{mode:?} {load}: {found_ns} ns {outcome:?}"
            );
            assert!((outcome.per_s / (load * 1e6) - 1.0).abs() < 0.01);
        }
    }
}

#[test]
fn a_full_core_serves_what_it_can_and_fairly() {
    for mode in Mode::ALL {
        let mut scenario = scenario(mode, vec![closed(14, 32, 0)]);
        scenario.duration_ns = 200_000_000;
        let outcome = play(&scenario);
        assert!(
            (900_000.0..=1_000_000.0).contains(&outcome.per_s),
            "{mode:?} {}",
            outcome.per_s
        );
        assert!(outcome.jain > 0.98, "{mode:?} {}", outcome.jain);
    }
}

#[test]
fn the_paper_s_order_of_latencies() {
    let at = |mode| play(&scenario(mode, vec![closed(7, 1, 20_000)])).groups[0].clone();
    let [elvis, fine, _, pinned] = Mode::ALL.map(at);
    assert!(
        elvis.p50_ns < fine.p50_ns,
        "{} {}",
        elvis.p50_ns,
        fine.p50_ns
    );
    assert!(
        fine.p50_ns < pinned.p50_ns,
        "{} {}",
        fine.p50_ns,
        pinned.p50_ns
    );
    assert!(elvis.per_s > pinned.per_s);
}

#[test]
fn weights_are_shares() {
    let group = |weight| Group {
        weight,
        ..closed(1, 128, 0)
    };
    let outcome = play(&scenario(Mode::Elvis, [1, 2, 4].map(group).to_vec()));
    for (group, weight) in outcome.groups.iter().zip([1.0, 2.0, 4.0]) {
        let share = group.per_s / outcome.per_s;
        assert!(
            (share / (weight / 7.0) - 1.0).abs() < 0.1,
            "{weight}: {share}"
        );
    }
    assert!(outcome.jain > 0.98, "{}", outcome.jain);
}

/// Section 4.6: one throughput device and six latency devices. The rule halves the latter's p99.
#[test]
fn the_stuck_rule_halves_the_tail() {
    let groups = vec![closed(1, 64, 0), closed(6, 1, 50_000)];
    let mut with = scenario(Mode::Elvis, groups);
    let mut without = with.clone();
    without.params.stuck_rule = false;
    with.duration_ns = 500_000_000;
    without.duration_ns = 500_000_000;
    let (with, without) = (play(&with), play(&without));
    let tail = |outcome: &Outcome| outcome.groups[1].p99_ns;
    assert!(
        tail(&with) * 2 <= tail(&without),
        "{} {}",
        tail(&with),
        tail(&without)
    );
    assert!(with.groups[0].per_s > 0.8 * without.groups[0].per_s);
}

#[test]
fn polling_ends_kicks_and_fine_grained_keeps_them() {
    let group = || vec![closed(4, 1, 5_000)];
    let (elvis, fine) = (
        play(&scenario(Mode::Elvis, group())),
        play(&scenario(Mode::FineGrained, group())),
    );
    assert!(
        elvis.kicks as f64 <= elvis.per_s * 0.1 / 10_000.0,
        "{} kicks",
        elvis.kicks
    );
    assert!(
        fine.kicks as f64 >= fine.per_s * 0.1 * 0.5,
        "{} kicks",
        fine.kicks
    );
}

#[test]
fn idle_devices_cost_nothing() {
    let arrival = Arrival::Open { per_s: 0.001 };
    let outcome = play(&scenario(
        Mode::Elvis,
        vec![Group {
            devices: 1000,
            arrival,
            ..Group::default()
        }],
    ));
    assert!(outcome.cores.asleep_ns >= 99_000_000, "{:?}", outcome.cores);
}

#[test]
fn storage_overlaps() {
    for mode in Mode::ALL {
        let group = Group {
            storage_ns: 100_000,
            ..closed(1, 32, 0)
        };
        let outcome = play(&scenario(mode, vec![group]));
        // 32 at a time, each for a little more than 100 us.
        assert!(
            (200_000.0..320_000.0).contains(&outcome.per_s),
            "{mode:?} {}",
            outcome.per_s
        );
    }
}

#[test]
fn jain_s_known_values() {
    assert_eq!(jain(&[]), 1.0);
    assert_eq!(jain(&[5.0, 5.0]), 1.0);
    assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), 0.25);
}

#[test]
fn a_bad_scenario_is_named() {
    let bad = scenario(Mode::Elvis, vec![closed(0, 1, 0)]);
    assert_eq!(
        simulate(&bad).unwrap_err().to_string(),
        "devices is 0, and must be 1 to 65536 in all"
    );
}

fn any_group() -> impl Strategy<Value = Group> {
    let arrival = prop_oneof![
        (1u16..64, 0u64..100_000).prop_map(|(depth, think_ns)| Arrival::Closed { depth, think_ns }),
        (1.0f64..1e6).prop_map(|per_s| Arrival::Open { per_s }),
        (1.0f64..1e6, 1u64..1_000_000, 0u64..1_000_000).prop_map(|(per_s, on_ns, off_ns)| {
            Arrival::Bursts {
                per_s,
                on_ns,
                off_ns,
            }
        }),
    ];
    let limit = prop_oneof![
        Just(RateLimit::default()),
        (1u64..1_000_000).prop_map(|rate| RateLimit {
            requests_per_s: Some(rate),
            ..RateLimit::default()
        }),
    ];
    (
        1u32..5,
        arrival,
        1u64..50_000,
        prop_oneof![Just(0u64), 1u64..200_000],
        1u32..10,
        limit,
    )
        .prop_map(
            |(devices, arrival, service_ns, storage_ns, weight, limit)| Group {
                devices,
                arrival,
                service_ns,
                storage_ns,
                weight,
                limit,
                ..Group::default()
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every simulation ends, gives the same result twice, and accounts for at most the cores' time.
    #[test]
    fn any_play_ends(groups in prop::collection::vec(any_group(), 1..4), mode in 0usize..4, cores in 1u32..4, seed in any::<u64>()) {
        let scenario = Scenario {
            cores,
            seed,
            warmup_ns: 1_000_000,
            duration_ns: 5_000_000,
            ..scenario(Mode::ALL[mode], groups)
        };
        let outcome = play(&scenario);
        prop_assert_eq!(&outcome, &play(&scenario));
        let cores = outcome.cores;
        let all_ns = cores.serving_ns + cores.polling_ns + cores.overhead_ns + cores.asleep_ns;
        let there_ns = u64::from(scenario.cores) * scenario.duration_ns;
        // Work that starts before the end may end after it.
        prop_assert!(all_ns <= there_ns + u64::from(scenario.cores) * 500_000, "{:?}", cores);
        prop_assert!(outcome.jain > 0.0 && outcome.jain < 1.000_001);
    }
}
