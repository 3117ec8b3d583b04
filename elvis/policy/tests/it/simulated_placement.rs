//! 128 machines whose load rises and falls, on as many cores as it needs.

use elvis_policy::simulation::{Arrival, Costs, Group, Mode, Outcome, Scenario, simulate};
use elvis_policy::{Params, PlacementParams};

/// Windows in one period of the load.
const PERIOD: usize = 200;
const WINDOW_NS: u64 = 10_000_000;

/// `devices` devices whose total load rises from nearly 0 to the time of `most` cores and falls again,
/// twice.
fn tide(devices: u32, most: f64, cores: u32) -> Scenario {
    let service_ns = 20_000;
    let most_per_s = most * 1e9 / (f64::from(devices) * service_ns as f64);
    Scenario {
        mode: Mode::Elvis,
        groups: vec![Group {
            devices,
            service_ns,
            arrival: Arrival::Tide {
                least_per_s: most_per_s / 100.0,
                most_per_s,
                period_ns: PERIOD as u64 * WINDOW_NS,
            },
            ..Group::default()
        }],
        cores,
        // Slow looks, so that there are fewer to simulate.
        costs: Costs {
            poll_ns: 2_000,
            ..Costs::default()
        },
        params: Params::default(),
        placement: PlacementParams {
            automatic: true,
            window_ns: WINDOW_NS,
            dwell_ns: 10 * WINDOW_NS,
            ..PlacementParams::default()
        },
        warmup_ns: 0,
        duration_ns: 2 * PERIOD as u64 * WINDOW_NS,
        seed: 1,
    }
}

fn play(scenario: &Scenario) -> Outcome {
    simulate(scenario).unwrap()
}

#[test]
fn cores_follow_the_load_of_128_machines() {
    let scenario = tide(128, 8.0, 16);
    let outcome = play(&scenario);
    let placement = outcome.placement.clone().unwrap();
    let open = &placement.open_cores;
    assert_eq!(open.len(), 2 * PERIOD);
    for period in 0..2 {
        let from = period * PERIOD;
        // At the top the load of eight cores, on cores filled to 0.6 to 0.8; almost none in between.
        let top = open[from + PERIOD / 2..from + PERIOD * 6 / 10].iter();
        assert!(
            top.clone().all(|cores| (9..=15).contains(cores)),
            "{open:?}"
        );
        assert!(open[from + PERIOD - 1] <= 6, "{open:?}");
        assert!(open[from + PERIOD / 10] <= 3, "{open:?}");
    }
    // The number of cores rises and falls twice, with at most two more changes of direction.
    let steps = open.windows(2).map(|pair| pair[1] as i64 - pair[0] as i64);
    let directions: Vec<i64> = steps.filter(|step| *step != 0).map(i64::signum).collect();
    let turns = directions.windows(2).filter(|pair| pair[0] != pair[1]);
    assert!(turns.count() <= 5, "{open:?}");
    assert!(placement.moves < 2 * 6 * 128, "{} moves", placement.moves);
    // No request is lost, and the latency stays low.
    assert_eq!(outcome.groups[0].lost, 0);
    assert!(
        outcome.groups[0].p50_ns < 200_000,
        "{} ns",
        outcome.groups[0].p50_ns
    );
    // Keeping the cores of the top open at all times would take half as many again.
    let mean = open.iter().sum::<usize>() as f64 / open.len() as f64;
    assert!(mean < 10.5, "{mean} cores on average");
    assert_eq!(outcome, play(&scenario), "two runs differ");
}

/// All requests are served on any number of cores, if the load never exceeds their capacity.
#[test]
fn moves_lose_and_repeat_nothing() {
    for (cores, most) in [(1, 0.5), (2, 1.0), (4, 2.0)] {
        let scenario = tide(16, most, cores);
        let moved = play(&scenario);
        // The mean of the cosine is (most + most / 100) / 2.
        let made = most * 1.01 / 2.0 * 1e9 / 20_000.0;
        let served = moved.per_s;
        assert!(
            (served / made - 1.0).abs() < 0.03,
            "{cores} cores: {served} of {made}"
        );
        assert_eq!(moved.groups[0].lost, 0);
        let moves = moved.placement.unwrap().moves;
        assert_eq!(moves > 0, cores > 1, "{moves}");
    }
}

#[test]
fn requests_in_storage_move_with_their_device() {
    let mut scenario = tide(16, 1.5, 4);
    scenario.groups[0].storage_ns = 300_000;
    let outcome = play(&scenario);
    assert!(outcome.placement.unwrap().moves > 0);
    let made = 1.5 * 1.01 / 2.0 * 1e9 / 20_000.0;
    assert!(
        (outcome.per_s / made - 1.0).abs() < 0.03,
        "{}",
        outcome.per_s
    );
}
