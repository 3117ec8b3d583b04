//! Properties of the scheduler that hold whatever its devices do.

use crate::play::{IN_PARTS, Play, Queue};
use elvis_policy::{Begin, DeviceId, Limiter, Look, Params, QueueId, RateLimit, Scheduler, Step};
use proptest::prelude::*;

fn params() -> impl Strategy<Value = Params> {
    (
        1u32..100,
        0u32..200,
        any::<bool>(),
        0u64..100_000,
        0u32..8,
        any::<bool>(),
        1u32..10,
    )
        .prop_map(
            |(min_work, more, stuck_rule, stuck_ns, peeks, polling, poll_on_kicks)| Params {
                min_work,
                max_work: min_work + more,
                stuck_rule,
                stuck_ns,
                peeks,
                polling,
                poll_on_kicks,
                unit_ns: 0,
                ..Params::default()
            },
        )
}

fn devices() -> impl Strategy<Value = Vec<(u32, RateLimit, u64)>> {
    let bytes = prop_oneof![Just(512u64), Just(4096), Just(IN_PARTS)];
    prop::collection::vec((1u32..20, Just(RateLimit::default()), bytes), 1..12)
}

/// CPU time that a thread polls one queue until polling ends, in ns. It runs in steps of 1 us, and the
/// host stops it for `stop_ns` after every 100 steps.
fn polls_for(stop_ns: u64) -> u64 {
    let mut core = Scheduler::new(Params::default());
    let device = core.add_device(1, &RateLimit::default());
    let nothing = Look {
        avail: 0,
        pending: 0,
    };
    let queue = core.add_queue(device, nothing, 1).unwrap();
    core.keep_polled(queue, 1);
    let (mut now_ns, mut ran_ns) = (1, 0);
    while core.polled(queue) {
        now_ns += 1_000;
        ran_ns += 1_000;
        if let Step::Visit(queue) = core.next(now_ns) {
            core.begin(queue, nothing, now_ns);
        }
        if ran_ns % 100_000 == 0 {
            now_ns += stop_ns;
        }
        assert!(ran_ns < 1_000_000_000, "polling does not end");
    }
    ran_ns
}

#[test]
fn time_in_which_the_thread_was_stopped_pays_for_no_polling() {
    let pays_ns = Params::default().poll_off_idle_ns;
    // Only the time between the last two looks before each stop is lost.
    for stop_ns in [0, 10 * pays_ns] {
        let ran_ns = polls_for(stop_ns);
        assert!(
            (pays_ns..pays_ns + pays_ns / 10).contains(&ran_ns),
            "{stop_ns}: {ran_ns}"
        );
    }
    // Stops shorter than `stopped_ns` are indistinguishable from slow looks.
    assert!(polls_for(Params::default().stopped_ns / 2) < pays_ns);
}

/// How long a thread polls a queue of which storage has a request, after the host stopped it for `stop_ns`, and how often
/// it goes to sleep within 10 ms. Storage answers every 50 us, and gets a new request.
fn polls_for_storage(stop_ns: u64) -> (u64, u64) {
    let mut core = Scheduler::new(Params::default());
    let device = core.add_device(1, &RateLimit::default());
    let mut look = Look {
        avail: 0,
        pending: 0,
    };
    let queue = core.add_queue(device, look, 1).unwrap();
    core.keep_polled(queue, 1);
    core.stored(queue, 1, false, 1);
    let (mut polled_ns, mut sleeps) = (0, 0);
    let mut now_ns = 1_000;
    for step in 0..10_000u64 {
        now_ns += 1_000 + if step == 10 { stop_ns } else { 0 };
        if step % 50 == 49 {
            look.avail = look.avail.wrapping_add(1);
            core.stored(queue, 1, false, now_ns);
        }
        match core.next(now_ns) {
            Step::Visit(queue) => drop(core.begin(queue, look, now_ns)),
            Step::Sleep { .. } => sleeps += 1,
            Step::Events => {}
        }
        polled_ns += if core.polled(queue) { 1_000 } else { 0 };
    }
    (polled_ns, sleeps)
}

#[test]
fn a_thread_that_the_host_stopped_sleeps_for_a_while_instead_of_polling_for_storage() {
    assert_eq!(polls_for_storage(0), (10_000_000, 0));
    let short = polls_for_storage(Params::default().stopped_ns / 2);
    assert_eq!(short.1, 0, "{short:?}");
    let (polled_ns, sleeps) = polls_for_storage(200_000);
    let slept_ns = 10_000_000 - polled_ns;
    // A step more counts as stopped, and the sleep ends at a reply of storage.
    let calm_ns = 201_000 * Params::CALM;
    assert!(sleeps > 0);
    assert!(
        (calm_ns..calm_ns + 50_000).contains(&slept_ns),
        "{slept_ns} ns, {sleeps} sleeps"
    );
}

#[test]
fn a_thread_does_not_keep_its_cpu_from_threads_of_storage() {
    let mut core = Scheduler::new(Params::default());
    let device = core.add_device(1, &RateLimit::default());
    let nothing = Look {
        avail: 0,
        pending: 0,
    };
    let queue = core.add_queue(device, nothing, 1).unwrap();
    core.keep_polled(queue, 1);
    core.stored(queue, 2, true, 1);
    assert_eq!(core.next(2), Step::Visit(queue));
    assert!(matches!(core.begin(queue, nothing, 2), Begin::Arm));
    assert!(matches!(core.next(3), Step::Sleep { .. }));
    assert!(!core.stored(queue, 1, true, 4), "a thread still works");
    assert!(core.stored(queue, 1, false, 5) && core.polled(queue));
}

proptest! {
    /// Whatever storage does: a queue is polled in silence for `poll_in_flight_ns` at most, and the first reply after
    /// that starts polling again if it was not too rare.
    #[test]
    fn storage_is_polled_in_silence_for_a_bounded_time(
        silences in prop::collection::vec(1u64..2_000, 1..40),
        most_us in 1u64..1_000,
    ) {
        let params = Params { poll_in_flight_ns: most_us * 1_000, ..Params::default() };
        let mut core = Scheduler::new(params);
        let device = core.add_device(1, &RateLimit::default());
        let nothing = Look { avail: 0, pending: 0 };
        let queue = core.add_queue(device, nothing, 1).unwrap();
        core.keep_polled(queue, 1);
        let mut now_ns = 1_000;
        let mut asleep = false;
        // Until when it has earned polling: when it began, and at each reply after which it goes on.
        let mut earned_until_ns = 1 + params.poll_off_idle_ns;
        for silence_us in silences {
            let goes_on = core.stored(queue, 1, false, now_ns);
            prop_assert_eq!(goes_on, asleep, "polling goes on at a reply");
            if goes_on {
                earned_until_ns = earned_until_ns.max(now_ns + params.poll_off_idle_ns);
            }
            let from_ns = now_ns;
            for _ in 0..silence_us {
                now_ns += 1_000;
                if let Step::Visit(queue) = core.next(now_ns) {
                    core.begin(queue, nothing, now_ns);
                }
                let silent_ns = now_ns - from_ns;
                if !core.polled(queue) {
                    let asleep = core.next(now_ns);
                    prop_assert!(matches!(asleep, Step::Sleep { .. }), "{asleep:?}");
                    break;
                }
                // It looks for events too.
                prop_assert!(silent_ns <= params.poll_in_flight_ns + 2_000);
            }
            asleep = !core.polled(queue);
            if asleep && now_ns >= earned_until_ns {
                // What it had earned is spent: polling has ended.
                break;
            }
            prop_assert!(!asleep || now_ns - from_ns >= params.poll_in_flight_ns);
            now_ns = now_ns.max(from_ns + silence_us * 1_000);
        }
    }
}

/// Polled queues change places now and then. No device misses its turn by that: all are served in each round.
#[test]
fn a_change_of_places_costs_no_device_its_quantum() {
    for weights in [vec![1; 14], vec![4, 2, 1]] {
        let params = Params {
            poll_on_kicks: 1,
            unit_ns: 0,
            ..Params::default()
        };
        let devices: Vec<_> = weights
            .iter()
            .map(|&weight| (weight, RateLimit::default(), 4096))
            .collect();
        let heaviest = u64::from(*weights.iter().max().unwrap());
        let mut play = Play::new(params, &devices);
        for _ in 0..8_000 {
            for index in 0..devices.len() {
                let room = 1024 - play.queues[index].look().pending;
                play.submit(index, room);
            }
            play.step();
            let quanta = play.queues.iter().zip(&weights).map(|(queue, &weight)| {
                queue.units * heaviest / u64::from(params.max_work * weight)
            });
            let (least, most) = (quanta.clone().min().unwrap(), quanta.max().unwrap());
            assert!(
                most - least <= 2,
                "{least} quanta and {most} of {weights:?}"
            );
        }
    }
}

/// Lets busy devices of these weights play until they have `enough` in all, of what `of` says. Their shares are as
/// their weights.
fn shares_are(
    play: &mut Play,
    weights: &[u32],
    enough: f64,
    of: impl Fn(&Queue) -> u64,
) -> Result<(), TestCaseError> {
    let total = |play: &Play| play.queues.iter().map(&of).sum::<u64>() as f64;
    while total(play) < enough {
        for index in 0..weights.len() {
            let room = 1024 - play.queues[index].look().pending.min(1024);
            play.submit(index, room);
        }
        play.step();
    }
    let all = weights.iter().map(|&weight| f64::from(weight)).sum::<f64>();
    for (queue, &weight) in play.queues.iter().zip(weights) {
        let share = of(queue) as f64 / total(play);
        let right = f64::from(weight) / all;
        prop_assert!(
            (share / right - 1.0).abs() < 0.1,
            "share {share} where {right} is right"
        );
    }
    Ok(())
}

/// From the next round on, whatever the device owed by its old weight.
#[test]
fn a_new_weight_counts_at_once() {
    let limit = RateLimit::default();
    let devices = [(1, limit, 4096), (1, limit, 4096), (100, limit, 4096)];
    let mut play = Play::new(Params::default(), &devices);
    for weights in [[1, 1, 100], [1, 2, 3], [100, 50, 1], [7, 7, 7]] {
        for (queue, &weight) in play.queues.iter_mut().zip(&weights) {
            play.core.set_weight(queue.device, weight);
            queue.spent_ns = 0;
        }
        // 100 ms, of which the first two rounds may pay old debts.
        let (most, least) = (weights.iter().max(), weights.iter().min());
        let rounds = f64::from(most.unwrap() / least.unwrap());
        let enough = 100e6 * rounds.sqrt();
        shares_are(&mut play, &weights, enough, |queue| queue.spent_ns).unwrap();
    }
}

/// A device whose queue waits for its limit is served at once when it has none.
#[test]
fn a_new_limit_counts_at_once() {
    let limit = RateLimit {
        requests_per_s: Some(1),
        ..RateLimit::default()
    };
    let mut play = Play::new(Params::default(), &[(1, limit, 4096)]);
    play.submit(0, 100);
    let mut until = |served| {
        let mut steps = 0;
        while play.queues[0].served < served {
            play.step();
            steps += 1;
            assert!(steps < 1000, "not served");
        }
        play.now_ns
    };
    assert!(until(3) > 1_000_000_000);
    let limiter = Limiter::new(&RateLimit::default());
    let (device, before_ns) = (play.queues[0].device, play.now_ns);
    play.core.set_limiter(device, limiter);
    while play.queues[0].served < 100 {
        play.step();
    }
    assert!(
        play.now_ns - before_ns < 1_000_000,
        "{} ns",
        play.now_ns - before_ns
    );
}

proptest! {
    #![proptest_config(ProptestConfig {  failure_persistence: None, ..ProptestConfig::default() })]

    /// Every request is served, whatever devices send and when, and whether they can kick or not. A queue that can't be
    /// kicked is polled from then on.
    #[test]
    fn everything_is_served(params in params(), devices in devices(), kickless: u16, load in prop::collection::vec((0usize..12, 0u16..300, 0u64..5_000_000), 0..60)) {
        let mut play = Play::new(params, &devices);
        let mut sent = vec![0u64; devices.len()];
        let without: Vec<usize> = (0..devices.len()).filter(|index| kickless >> index & 1 == 1).collect();
        without.iter().for_each(|&index| play.without_kicks(index));
        for (index, count, pause_ns) in load {
            let index = index % devices.len();
            play.submit(index, count);
            sent[index] += u64::from(count);
            play.now_ns += pause_ns;
            for _ in 0..3 {
                play.step();
            }
        }
        for _ in 0..400_000 {
            if play.queues.iter().all(|queue| queue.look().pending == 0) {
                break;
            }
            play.step();
        }
        let served: Vec<u64> = play.queues.iter().map(|queue| queue.served).collect();
        prop_assert_eq!(served, sent);
        prop_assert!(without.iter().all(|&index| play.core.polled(play.queues[index].id)));
    }

    /// Between two turns of a device that always has requests, no other gets more than its quanta
    /// of two rounds plus what one request overdraws; and the core is never idle.
    #[test]
    fn nobody_starves(params in params(), devices in devices()) {
        let mut play = Play::new(params, &devices);
        let largest = devices.iter().map(|device| params.units(device.2)).max().unwrap();
        let heaviest = devices.iter().map(|device| device.0).max().unwrap();
        // Rounds that a device of this weight may need to pay for one request.
        let rounds = |weight: u32| {
            let quantum = f64::from(params.max_work) * f64::from(weight) / f64::from(heaviest);
            2.0 + (f64::from(largest) / quantum).ceil()
        };
        let mut since: Vec<Vec<u64>> = vec![vec![0; devices.len()]; devices.len()];
        let mut fruitless = 0u32;
        for _ in 0..4_000 {
            for index in 0..devices.len() {
                let room = 1024 - play.queues[index].look().pending.min(1024);
                play.submit(index, room);
            }
            let before: Vec<u64> = play.queues.iter().map(|queue| queue.units).collect();
            let Some(served) = play.step() else {
                fruitless += 1;
                let scan = 2 * u32::try_from(devices.len()).unwrap();
                prop_assert!(fruitless <= 4 * scan + 4, "{} steps without work", fruitless);
                continue;
            };
            fruitless = 0;
            let units = play.queues[served].units - before[served];
            for (index, others) in since.iter_mut().enumerate() {
                others[served] += units;
                let (mine, its) = (devices[index].0, devices[served].0);
                let quantum = f64::from(params.max_work) * f64::from(its) / f64::from(heaviest);
                let most = rounds(mine) * (quantum + 1.0) + 2.0 * f64::from(largest);
                prop_assert!(others[served] as f64 <= most, "{} units of {} before {} had its turn, {} allowed", others[served], served, index, most);
            }
            since[served].fill(0);
        }
    }

    /// Devices that always have requests get units of work in proportion to their weights, even if
    /// visits end early.
    #[test]
    fn shares_are_as_weights(params in params(), devices in devices()) {
        let mut play = Play::new(params, &devices);
        let round: f64 = devices.iter().map(|device| f64::from(params.max_work) * f64::from(device.0)).sum::<f64>() / f64::from(devices.iter().map(|device| device.0).max().unwrap());
        let enough = 200.0 * (round + 16.0 * devices.len() as f64);
        let of_devices: Vec<u32> = devices.iter().map(|device| device.0).collect();
        shares_are(&mut play, &of_devices, enough, |queue| queue.units)?;
    }

    /// The same of time: whatever their requests take, and however few units they are.
    #[test]
    fn shares_are_of_time(params in params(), unit_ns in 1_000u64..10_000, devices in prop::collection::vec((1u32..20, 100u64..50_000), 2..12)) {
        let params = Params { unit_ns, ..params };
        let plain: Vec<_> = devices.iter().map(|&(weight, _)| (weight, RateLimit::default(), 512)).collect();
        let mut play = Play::new(params, &plain);
        for (queue, device) in play.queues.iter_mut().zip(&devices) {
            queue.serve_ns = device.1;
        }
        let weights: f64 = devices.iter().map(|device| f64::from(device.0)).sum();
        let heaviest = devices.iter().map(|device| device.0).max().unwrap();
        let longest = devices.iter().map(|device| device.1).max().unwrap();
        // A quantum, or a request that exceeds it, of each; many times.
        let round = params.visit_ns().max(longest) as f64 * weights / f64::from(heaviest);
        let enough = 100.0 * (round + devices.len() as f64 * longest as f64 * f64::from(heaviest));
        let of_devices: Vec<u32> = devices.iter().map(|device| device.0).collect();
        shares_are(&mut play, &of_devices, enough, |queue| queue.spent_ns)?;
    }

    /// A limited device stays within its rate, and the rest of the core's time goes to the others.
    #[test]
    fn limits_hold_and_waste_nothing(params in params(), rate in 1_000u64..100_000) {
        let limit = RateLimit { requests_per_s: Some(rate), burst_ns: 1_000_000, ..RateLimit::default() };
        let free = RateLimit::default();
        let mut play = Play::new(params, &[(1, limit, 4096), (1, free, 4096)]);
        while play.now_ns < 100_000_000 {
            for index in 0..2 {
                let room = 1024 - play.queues[index].look().pending.min(1024);
                play.submit(index, room);
            }
            play.step();
        }
        let most = rate * play.now_ns / 1_000_000_000 + rate / 1000 + 2;
        prop_assert!(play.queues[0].served <= most, "{} of {}", play.queues[0].served, most);
        let both = play.queues[0].served + play.queues[1].served;
        prop_assert!(both >= 100_000 * 9 / 10, "the core served {} of 100000", both);
    }
}

/// A small version of section 4.6: one device with a full ring, six that wait for each reply. Returns
/// the longest wait of those six in ns, and the number of visits that ended early.
fn worst_wait(stuck_rule: bool) -> (u64, u64) {
    let params = Params {
        stuck_rule,
        ..Params::default()
    };
    let free = RateLimit::default();
    let mut play = Play::new(params, &[(1, free, 4096); 7]);
    // The latency devices are polled, as they would be in such a load.
    let mut sent_ns = [None::<u64>; 7];
    let (mut worst_ns, mut think_ns) = (0, 0);
    while play.now_ns < 200_000_000 {
        let room = 256 - play.queues[0].look().pending.min(256);
        play.submit(0, room);
        for (index, sent) in sent_ns.iter_mut().enumerate().skip(1) {
            let queue = &play.queues[index];
            if queue.look().pending == 0 {
                if let Some(sent_ns) = sent.take().filter(|_| play.now_ns > 50_000_000) {
                    worst_ns = worst_ns.max(play.now_ns - sent_ns);
                }
                think_ns = (think_ns + 7_919) % 40_000;
                if think_ns < 8_000 {
                    *sent = Some(play.now_ns);
                    play.submit(index, 1);
                }
            }
        }
        play.step();
    }
    (worst_ns, play.stuck_exits)
}

#[test]
fn a_stuck_queue_ends_a_long_visit() {
    let (with_ns, exits) = worst_wait(true);
    let (without_ns, none) = worst_wait(false);
    assert!(exits > 0);
    assert_eq!(none, 0);
    assert!(
        with_ns * 2 < without_ns,
        "{with_ns} ns with the rule, {without_ns} ns without"
    );
}

#[test]
fn an_idle_core_sleeps_and_a_busy_queue_is_not_kicked() {
    let mut play = Play::new(Params::default(), &[(1, RateLimit::default(), 4096)]);
    let id = play.queues[0].id;
    for _ in 0..20_000 {
        play.submit(0, 1);
        while play.queues[0].look().pending > 0 {
            play.step();
        }
        play.now_ns += 1_000;
    }
    let kicks = play.core.queue_counters(id).unwrap().kicks;
    assert!(kicks <= 10, "{kicks} kicks for 20000 requests");
    assert!(play.core.polled(id));
    // It is polled for at most as long as its requests have earned.
    let idle_ns = play.now_ns;
    while play.core.polled(id) {
        play.step();
        assert!(play.now_ns - idle_ns <= Params::default().poll_keep_ns + 1_000);
    }
    assert!(matches!(
        play.core.next(play.now_ns),
        Step::Sleep { until_ns: None }
    ));
    play.submit(0, 1);
    assert_eq!(play.core.queue_counters(id).unwrap().kicks, kicks + 1);
}

/// A queue was taken back while storage had its requests. Its device pays for them all the same, when a queue of it comes.
#[test]
fn work_for_a_queue_that_is_gone_is_paid_for() {
    let limit = RateLimit::default();
    let mut play = Play::new(Params::default(), &[(1, limit, 4096), (1, limit, 4096)]);
    let (device, gone) = (play.queues[0].device, play.queues[0].id);
    assert!(play.core.remove_queue(gone).is_some());
    const OWED_NS: u64 = 10_000_000;
    play.core.charge_time(device, OWED_NS);
    let look = play.queues[0].look();
    play.queues[0].id = play.core.add_queue(device, look, play.now_ns).unwrap();
    while play.queues[0].served == 0 {
        for index in 0..2 {
            let room = 1024 - play.queues[index].look().pending;
            play.submit(index, room);
        }
        play.step();
    }
    let others_ns = play.queues[1].spent_ns;
    assert!(
        others_ns.abs_diff(OWED_NS) < OWED_NS / 10,
        "the other device had {others_ns} ns before it"
    );
}

#[test]
fn devices_and_queues_come_and_go() {
    let mut core = Scheduler::new(Params::default());
    let empty = Look {
        avail: 0,
        pending: 0,
    };
    let first = core.add_device(1, &RateLimit::default());
    let queue = core.add_queue(first, empty, 0).unwrap();
    core.remove_device(first);
    assert!(
        core.add_queue(first, empty, 0).is_some(),
        "a device with queues stays"
    );
    assert!(core.remove_queue(queue).is_some());
    assert!(core.remove_queue(queue).is_none());
    assert!(core.remove_queue(QueueId(1)).is_some());
    core.remove_device(first);
    assert!(core.add_queue(first, empty, 0).is_none());
    assert!(core.add_queue(DeviceId(77), empty, 0).is_none());
    assert_eq!(core.begin(queue, empty, 5), Begin::Empty);
    assert!(!core.kicked(queue, 5));
    assert!(matches!(core.next(5), Step::Sleep { until_ns: None }));
}
