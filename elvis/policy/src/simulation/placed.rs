//! Cores that are opened and released with load, and devices that move between them, by elvis'
//! placement.
//!
//! Cores are simulated one after another for a window. Then the placement gets each device's load, as
//! from the daemon, and devices are moved.

use crate::simulation::outcome::{Counts, Outcome, PlacementOutcome};
use crate::simulation::scenario::Scenario;
use crate::simulation::shared::Core;
use crate::{Change, DeviceLoad, Placement};

/// Simulates all cores. All devices start on the first.
pub fn play(scenario: &Scenario) -> Outcome {
    let params = scenario.placement;
    let devices: u32 = scenario.groups.iter().map(|group| group.devices).sum();
    let core = |number| {
        let mine = if number == 0 { 0..devices } else { 0..0 };
        Core::new(scenario, number, mine)
    };
    let mut cores: Vec<Core> = (0..scenario.cores).map(core).collect();
    let mut placement = Placement::new(params, &vec![None; cores.len()]);
    // For each device: its core, and its number there.
    let mut at: Vec<(usize, u32)> = (0..devices).map(|number| (0, number)).collect();
    let mut done = PlacementOutcome::default();
    let end_ns = scenario.warmup_ns + scenario.duration_ns;
    let mut now_ns = 0;
    while now_ns < end_ns {
        now_ns = (now_ns + params.window_ns).min(end_ns);
        for core in &mut cores {
            core.run(now_ns);
        }
        done.open_cores.push(placement.open_cores());
        if now_ns == end_ns {
            // No changes after the last window.
            break;
        }
        let seen: Vec<DeviceLoad> = at
            .iter()
            .enumerate()
            .map(|(device, &(core, number))| DeviceLoad {
                device: device as u64,
                core,
                load: cores[core].take_spent_ns(number) as f64 / params.window_ns as f64,
                node: None,
            })
            .collect();
        for change in placement.window(now_ns, &seen) {
            match change {
                Change::Open(_) => done.opened += 1,
                Change::Release(_) => done.released += 1,
                Change::Move { device, core } => {
                    let (from, number) = at[device as usize];
                    let mover = cores[from].take(number);
                    // The old core may be ahead: the device must not go back in time.
                    let left_ns = cores[from].now_ns();
                    cores[core].run(left_ns);
                    at[device as usize] = (core, cores[core].put(mover));
                    done.moves += 1;
                }
            }
        }
    }
    let (mut tallies, mut counts) = (Vec::new(), Counts::default());
    for core in cores {
        core.gather(&mut tallies, &mut counts);
    }
    Outcome {
        placement: Some(done),
        ..Outcome::gather(scenario, &tallies, &counts)
    }
}
