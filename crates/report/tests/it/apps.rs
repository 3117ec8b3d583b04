//! Tests of the table of applications.

use crate::page::{page, section};
use crate::support::{absent, house, measured, result};
use serde_json::json;
use ws_report::{AppLine, Apps, Predicted, TrafficPrices, Traffics};
use ws_results::{HostView, ResultFile, Row, Status};

/// A workload whose 10 units took these instructions in each boot.
fn row(name: &str, boots: &[u64], exits: Option<u64>) -> Row {
    let boots: Vec<[u64; 1]> = boots.iter().map(|insns| [*insns]).collect();
    let boots: Vec<&[u64]> = boots.iter().map(|boot| &boot[..]).collect();
    let mut row = measured(name, "application", "insns", &boots);
    row.work = Some("transaction".into());
    row.host.extend(exits.map(|exits| HostView {
        boot: 1,
        operations: Some(10),
        reasons: [("hlt".to_owned(), exits / 2), ("npf".to_owned(), exits)].into(),
        kvm: Some([("exits".to_owned(), exits)].into()),
        ..HostView::default()
    }));
    row
}

fn machine(platform: &str, rows: Vec<Row>) -> ResultFile {
    result(platform, 2, json!({"unit": "insns"}), rows)
}

fn results() -> Vec<ResultFile> {
    let native = vec![
        row("sevenzip", &[100, 100], None),
        row("tcp-rr", &[40, 40], None),
        row("kernbench", &[50, 50], None),
    ];
    let failed = "its run ended with exit status 1";
    let kvm = vec![
        row("sevenzip", &[107, 107], Some(2)),
        row("tcp-rr", &[92, 92], Some(31)),
        absent("kernbench", "application", Status::Skip, failed),
        row("hypercall", &[1, 1], None),
    ];
    let mut kvm = machine("lab:kvm-linux", kvm);
    kvm.rows[3].category = "exception".into();
    vec![machine("lab:linux", native), kvm]
}

fn apps(results: &[ResultFile]) -> Apps {
    Apps::of(
        results,
        &ws_report::reference::load().unwrap(),
        &Traffics::new(),
    )
}

fn line<'a>(apps: &'a Apps, workload: &str, platform: &str) -> &'a AppLine {
    let app = apps.workloads.iter().find(|app| app.workload == workload);
    let lines = app.unwrap().lines.iter();
    lines
        .into_iter()
        .find(|line| line.platform == platform)
        .unwrap()
}

#[test]
fn what_programs_get_fits_its_schema() {
    let json = ws_results::schema_check::valid(&apps(&results()).to_json().unwrap(), "apps");
    assert_eq!(json["workloads"][1]["lines"][1]["reasons"]["npf"], 3.1);
}

#[test]
fn workloads_are_in_the_papers_order_with_ratios_to_the_machine_without_a_hypervisor() {
    let apps = apps(&results());
    assert_eq!(apps.natives, ["lab:linux"]);
    let names: Vec<&str> = apps.workloads.iter().map(|app| &*app.workload).collect();
    assert_eq!(names, ["kernbench", "tcp-rr", "sevenzip"]);
    assert_eq!(apps.workloads[1].unit.as_deref(), Some("transaction"));
    let native = line(&apps, "tcp-rr", "lab:linux");
    assert_eq!(
        (native.ratio, native.published, native.exits()),
        (None, None, None)
    );
    let kvm = line(&apps, "tcp-rr", "lab:kvm-linux");
    assert_eq!((kvm.ratio, kvm.exits()), (Some(2.3), Some(3.1)));
    assert_eq!(kvm.reasons["hlt"], 1.5);
    assert!(apps.to_terminal().contains("npf 3.10, hlt 1.50"));
}

#[test]
fn a_published_rate_is_the_reciprocal_of_a_time() {
    let apps = apps(&results());
    // Table 5: 21,089 and 11,490 transactions a second; kernbench 28.91 and 27.12 s.
    let rate = line(&apps, "tcp-rr", "lab:kvm-linux").published.unwrap();
    assert!((rate - 21_089.0 / 11_490.0).abs() < 1e-9);
    let time = line(&apps, "kernbench", "lab:kvm-linux").published.unwrap();
    assert!((time - 27.12 / 28.91).abs() < 1e-9);
    assert_eq!(line(&apps, "sevenzip", "lab:kvm-linux").published, None);
}

#[test]
fn a_row_that_is_lost_has_its_reason_and_all_media_show_it() {
    let apps = apps(&results());
    let kvm = line(&apps, "kernbench", "lab:kvm-linux");
    assert_eq!((kvm.insns, kvm.ratio), (None, None));
    for text in [apps.to_terminal(), apps.to_markdown()] {
        assert!(text.contains("kernbench on lab:kvm-linux: its run ended with exit status 1"));
        assert!(text.contains("2.30") && text.contains("3.10") && text.contains("1.84"));
    }
}

#[test]
fn a_vm_of_four_vcpus_relates_to_the_machine_of_four_cpus() {
    let of = |platform: &str, insns| {
        let mut rows = vec![row("tcp-rr", &[insns, insns], None)];
        rows[0].host.push(HostView {
            operations: Some(10),
            steps: [("idle".to_owned(), 30)].into(),
            ..HostView::default()
        });
        machine(platform, rows)
    };
    let mut results = vec![
        of("lab:linux", 40),
        of("lab:kvm-linux", 92),
        of("lab:linux+cpus=4", 50),
        of("lab:kvm-linux+cpus=4", 150),
    ];
    let mut skipped = absent("apache-interrupts-one", "application", Status::Skip, "x");
    skipped.conditions.insert("vcpus".into(), json!(2));
    results[1].rows.push(skipped);
    let ratio = |apps: &Apps, platform: &str| line(apps, "tcp-rr", platform).ratio;
    let both = apps(&results);
    assert_eq!(both.natives, ["lab:linux", "lab:linux+cpus=4"]);
    assert_eq!(ratio(&both, "lab:kvm-linux"), Some(2.3));
    assert_eq!(ratio(&both, "lab:linux+cpus=4"), None);
    assert_eq!(ratio(&both, "lab:kvm-linux+cpus=4"), Some(3.0));
    // The paper's VMs have four vCPUs.
    let four = line(&both, "tcp-rr", "lab:kvm-linux+cpus=4");
    assert_eq!(
        four.published,
        line(&both, "tcp-rr", "lab:kvm-linux").published
    );
    let text = both.to_terminal();
    assert!(
        text.contains("tcp-rr on lab:kvm-linux+cpus=4: all CPUs were idle in 2.0 %"),
        "{text}"
    );
    assert!(text.contains("Ratios are relative to the native machine with as many CPUs"));
    // Not to that of one CPU, if the other one was not measured.
    results.remove(2);
    assert_eq!(ratio(&apps(&results), "lab:kvm-linux+cpus=4"), None);
    results.truncate(1);
    assert!(!apps(&results).to_terminal().contains("+cpus="));
}

#[test]
fn without_the_native_machine_there_are_no_ratios() {
    let mut results = results();
    results.remove(0);
    let apps = apps(&results);
    assert!(apps.natives.is_empty());
    assert!(
        apps.workloads
            .iter()
            .flat_map(|app| &app.lines)
            .all(|line| line.ratio.is_none())
    );
}

/// Natively 100 instructions, in the VM 230 with 3.1 exits for nested page faults and 1.5 halts.
#[test]
fn t_virt_is_predicted_from_exits_and_what_they_cost_elsewhere() {
    let mut results = results();
    assert!(apps(&results).predicted.is_empty());
    let price = |name, insns: u64| measured(name, "exception", "insns", &[&[insns], &[insns]]);
    let prices = [
        ("hypercall", 3),
        ("mmio-write-eventfd", 10),
        ("ipi-halted", 25),
        ("ipi-running", 5),
        ("io-latency-out-woken", 9),
        ("io-latency-out-spinning", 2),
    ];
    let prices = prices.map(|(name, insns)| price(name, insns)).to_vec();
    results.push(machine("lab:kvm@6.12", prices));
    let apps = apps(&results);
    let of = |workload: &str| {
        let mut all = apps.predicted.iter();
        all.find(|one| one.workload == workload).unwrap()
    };
    // The platform with the prices has no workloads, and no lines.
    let mut lines = apps.workloads.iter().flat_map(|app| &app.lines);
    assert!(lines.all(|line| line.platform != "lab:kvm@6.12"));
    // One for each workload on the platform with a VM: none is left out.
    assert_eq!(apps.predicted.len(), apps.workloads.len());
    let rr = of("tcp-rr");
    let exits: Vec<(&str, &str, f64)> = rr
        .events
        .iter()
        .map(|exit| (&*exit.reason, &*exit.benchmark, exit.each))
        .collect();
    assert_eq!(
        exits,
        [
            ("npf", "mmio-write-eventfd", 10.0),
            ("hlt", "ipi-halted - ipi-running", 20.0),
            (
                "receiver",
                "io-latency-out-woken - io-latency-out-spinning",
                7.0
            ),
        ]
    );
    let cost = 3.1 * 10.0 + 1.5 * 20.0 + 3.1 * 7.0;
    let near = |value: Option<f64>, wanted: f64| (value.unwrap() - wanted).abs() < 1e-9;
    assert!(near(rr.exits_cost, cost) && near(rr.virt, rr.measured.unwrap() - rr.direct.unwrap()));
    assert!(near(rr.virt_error, cost / rr.virt.unwrap() - 1.0) && rr.why.is_none());
    // Of the other half of the workloads: never of the one that is judged. Neither states any data. Exits
    // cost more here than T_virt, and no price is below 0.
    let zip = of("sevenzip");
    let left = |one: &Predicted| (one.virt.unwrap() - one.exits_cost.unwrap()).max(0.0) / one.kicks;
    let kick = |one: &Predicted| one.prices.unwrap().kick;
    assert!(near(kick(rr), left(zip)) && near(kick(zip), left(rr)));
    assert!(rr.prices.unwrap().kib.is_none());
    assert!(near(rr.with_traffic, cost + 3.1 * left(zip)));
    assert!(near(
        rr.with_traffic_error,
        rr.with_traffic.unwrap() / rr.virt.unwrap() - 1.0
    ));
    // A row that was lost says so.
    let lost = of("kernbench");
    assert!(lost.virt_error.is_none() && lost.why.as_ref().unwrap().contains("exit status 1"));
    // Kicks are counted without a price of their receivers' wake-up too.
    let mut unpriced = results.clone();
    unpriced.last_mut().unwrap().rows.truncate(4);
    let unpriced = self::apps(&unpriced);
    let mut all = unpriced.predicted.iter();
    let rr = all.find(|one| one.workload == "tcp-rr").unwrap();
    assert!(rr.kicks == 3.1 && rr.events.len() == 2 && kick(rr).is_some());
    // Page faults that KVM counts are part of npf, and have their own price; sevenzip's 0.2 are all of them.
    let of_zip = &of("sevenzip").events;
    assert!(of_zip.iter().all(|event| event.reason != "pf_taken"));
    for boot in &mut results[1].rows[0].host {
        let exits = boot.kvm.as_mut().unwrap();
        exits.insert("pf_taken".into(), 3);
    }
    let faulting = self::apps(&results);
    let zip = faulting
        .predicted
        .iter()
        .find(|one| one.workload == "sevenzip");
    let events: Vec<(&str, f64)> = zip
        .unwrap()
        .events
        .iter()
        .map(|event| (&*event.reason, event.count))
        .collect();
    assert_eq!(events, [("hlt", 0.1), ("pf_taken", 0.2)]);
    // In a perturbed boot it took fewer instructions than natively: its T_virt says nothing.
    results[1].rows[1] = row("tcp-rr", &[92, 39], Some(31));
    for result in &mut results[..2] {
        result.boots[1].perturbed = Some(ws_results::Perturbation {
            pad: Some(64),
            memory_mib: None,
        });
    }
    let moving = self::apps(&results);
    let mut all = moving.predicted.iter();
    let rr = all.find(|one| one.workload == "tcp-rr").unwrap();
    assert!(rr.virt.is_some() && rr.virt_error.is_none());
    let text = apps.to_markdown();
    assert!(text.contains("npf 3.10 x 10 (mmio-write-eventfd)"));
    assert!(text.contains("The median error of T\\_virt over"), "{text}");
}

/// A workload of 10 units in a VM that kicks, whose T_virt is what exits do not explain: 1000 instructions natively.
fn kicking(name: &str, kicks: u64, virt: u64) -> [Row; 2] {
    let insns = 1000 + virt;
    let mut in_vm = row(name, &[insns, insns], None);
    in_vm.host = vec![HostView {
        boot: 1,
        operations: Some(10),
        reasons: named(&[("npf", 10 * kicks)]),
        kvm: Some(named(&[("exits", 10 * kicks)])),
        ..HostView::default()
    }];
    let digest = format!("digest of {name}");
    in_vm.conditions.insert("digest".into(), digest.into());
    [row(name, &[1000, 1000], None), in_vm]
}

#[test]
fn traffic_has_the_prices_of_the_other_half_of_the_workloads() {
    // A kick costs 40 beside its exit's 10, and a KiB 3.
    let workloads = [
        ("a", 1, 0),
        ("b", 2, 0),
        ("c", 5, 100),
        ("d", 4, 300),
        ("e", 6, 0),
        ("f", 2, 40),
        ("g", 2, 0),
    ];
    let traffics: Traffics = workloads
        .iter()
        .map(|(name, _, kib)| (format!("digest of {name}"), kib * 1024))
        .collect();
    let apps = |workloads: &[(&str, u64, u64)], wild: &str| {
        let rows = workloads.iter().map(|(name, kicks, kib)| {
            let wild = 300 * u64::from(*name == wild);
            kicking(name, *kicks, 50 * kicks + 3 * kib + wild)
        });
        let (natively, in_vm): (Vec<Row>, Vec<Row>) = rows.map(|[native, vm]| (native, vm)).unzip();
        let prices = [("hypercall", 3), ("mmio-write-eventfd", 10)];
        let prices =
            prices.map(|(name, insns)| measured(name, "exception", "insns", &[&[insns], &[insns]]));
        let results = [
            machine("lab:linux", natively),
            machine("lab:kvm-linux", in_vm),
            machine("lab:kvm@6.12", prices.to_vec()),
        ];
        Apps::of(&results, &ws_report::reference::load().unwrap(), &traffics)
    };
    let near = |value: Option<f64>, wanted: f64| (value.unwrap() - wanted).abs() < 1e-6;
    let exact = |prices: Option<TrafficPrices>| {
        let prices = prices.unwrap();
        near(prices.kick, 40.0) && near(prices.kib, 3.0)
    };
    let all = apps(&workloads, "");
    assert_eq!(all.predicted.len(), 7);
    let judged = |one: &Predicted| exact(one.prices) && near(one.with_traffic_error, 0.0);
    assert!(all.predicted.iter().all(judged), "{:#?}", all.predicted);
    let text = all.to_markdown();
    for said in [
        "over 7 rows is 80 % by exits and 0 % with traffic, 0 % if prices for each workload come from all others",
        "other machines: median error 0 % with traffic. Prices fitted to either half: a kick 40 or 40, a KiB 3 or 3.",
    ] {
        assert!(text.contains(said), "{text}");
    }
    // One whose T_virt is another moves no price, and is judged by those of the others.
    let wild = apps(&workloads, "g");
    let of = |apps: &Apps, name: &str| {
        let mut all = apps.predicted.iter();
        all.find(|one| one.workload == name).unwrap().clone()
    };
    assert!(exact(of(&wild, "b").prices) && near(of(&wild, "g").with_traffic_error, -0.75));
    // A KiB has no price if no workload of the other half sends data.
    let few = apps(&workloads[..3], "");
    let sends = of(&few, "c");
    assert!(sends.prices.unwrap().kib.is_none() && sends.with_traffic.is_none());
    assert!(sends.virt_error.is_some() && sends.with_traffic_error.is_none());
    assert!(few.to_markdown().contains("0 % with traffic (over 2 rows)"));
    assert!(near(of(&few, "b").with_traffic_error, 0.0));
}

#[test]
fn exits_have_the_prices_of_a_guest_at_el1_that_counts_instructions() {
    let price = |insns| {
        let rows = ["hypercall", "mmio-write-eventfd"];
        let row = |name| measured(name, "exception", "insns", &[&[insns], &[insns]]);
        rows.map(row).to_vec()
    };
    let mut at_el2 = machine("lab:kvm@6.1", price(900));
    let level = json!("el2-vhe");
    at_el2
        .identity
        .subject
        .insert("exception_level".into(), level);
    let mut exits = machine("lab:kvm@7.2", price(800));
    exits
        .identity
        .conditions
        .insert("unit".into(), json!("count"));
    let mut results = results();
    results.extend([at_el2, exits]);
    assert!(apps(&results).predicted.is_empty());
    results.push(machine("lab:kvm@6.12", price(3)));
    let priced = apps(&results).predicted;
    assert!(!priced.is_empty());
    let of = priced
        .iter()
        .flat_map(|one| &one.events)
        .map(|event| &*event.of);
    assert!(of.clone().count() > 0 && of.clone().all(|of| of == "lab:kvm@6.12"));
}

/// A row with what the host counted of 10 units.
fn with(mut row: Row, view: HostView) -> Row {
    row.host = vec![HostView {
        boot: 1,
        operations: Some(10),
        ..view
    }];
    row
}

fn named(counts: &[(&str, u64)]) -> std::collections::BTreeMap<String, u64> {
    let counts = counts.iter();
    counts.map(|(name, n)| ((*name).to_owned(), *n)).collect()
}

#[test]
fn what_neve_states_of_nested_vms_stands_below_with_its_machines() {
    let apps = apps(&results());
    let nested = &apps.workloads[0].nested;
    let stated: Vec<_> = nested
        .iter()
        .map(|ratio| (&*ratio.column, ratio.ratio))
        .collect();
    let expected = [("ARMv8.3 Nested VM", 1.33), ("ARMv8.3 Nested VM VHE", 1.26)];
    assert_eq!(stated, expected);
    assert!(nested[0].hardware.starts_with("HP Moonshot m400"));
    assert!(apps.workloads[1].nested.is_empty());
    for text in [apps.to_terminal(), apps.to_markdown()] {
        assert!(text.contains("kernbench 1.33 (ARMv8.3 Nested VM), 1.26 (ARMv8.3 Nested VM VHE)."));
        assert!(text.contains("HP Moonshot m400") && text.contains("not measured here"));
        assert!(!text.contains("parts of a transaction") && !text.contains("by vCPU"));
    }
}

#[test]
fn a_transaction_is_taken_apart_as_in_the_papers_table() {
    let steps = |steps: &[(&str, u64)]| HostView {
        steps: named(steps),
        ..HostView::default()
    };
    let native = steps(&[("recv-to-send", 150), ("send-to-recv", 250)]);
    let kvm = steps(&[
        ("recv-to-vm-recv", 300),
        ("send-to-recv", 250),
        ("vm-recv-to-vm-send", 150),
        ("vm-send-to-send", 300),
    ]);
    let results = [
        machine(
            "lab:linux",
            vec![with(row("tcp-rr", &[36, 36], None), native.clone())],
        ),
        machine(
            "lab:kvm-linux",
            vec![
                with(
                    row("tcp-rr", &[92, 92], None),
                    HostView {
                        traced: Some(1010),
                        ..kvm
                    },
                ),
                with(row("udp-rr", &[92, 92], None), native),
            ],
        ),
    ];
    let apps = apps(&results);
    let of: Vec<_> = apps
        .transactions
        .iter()
        .map(|t| (&*t.workload, &*t.platform))
        .collect();
    assert_eq!(
        of,
        [
            ("tcp-rr", "lab:linux"),
            ("tcp-rr", "lab:kvm-linux"),
            ("udp-rr", "lab:kvm-linux")
        ]
    );
    let parts = |index: usize| -> Vec<(&str, f64, Option<f64>)> {
        let parts = apps.transactions[index].parts.iter();
        parts
            .map(|part| (&*part.part, part.insns, part.published_us))
            .collect()
    };
    // Table 6 of Dall et al.
    assert_eq!(
        parts(0),
        [
            ("send to recv", 25.0, Some(29.7)),
            ("recv to send", 15.0, Some(14.5))
        ]
    );
    assert_eq!(
        parts(1),
        [
            ("send to recv", 25.0, Some(29.8)),
            ("recv to send", 75.0, Some(53.0)),
            ("recv to VM recv", 30.0, Some(21.1)),
            ("VM recv to VM send", 15.0, Some(16.9)),
            ("VM send to send", 30.0, Some(15.0)),
        ]
    );
    assert!(parts(2).iter().all(|(_, _, us)| us.is_none()));
    let vm = &apps.transactions[1];
    assert_eq!(
        (vm.traced_insns, vm.insns, vm.parts[1].share),
        (101.0, Some(92.0), 0.75)
    );
    let whole = vm.parts.iter().filter(|part| !part.within);
    assert_eq!(whole.map(|part| part.share).sum::<f64>(), 1.0);
    for text in [apps.to_terminal(), apps.to_markdown()] {
        assert!(text.contains("tcp-rr on lab:kvm-linux: a traced transaction takes 101 instructions, 9 more than the 92"));
        assert!(text.contains("VM recv to VM send") && text.contains("16.9"));
    }
}

#[test]
fn a_recorded_transaction_has_a_table_of_its_own_and_says_that_nothing_was_traced() {
    let results = [
        machine("lab:linux", vec![row("tcp-rr", &[36, 36], None)]),
        machine("lab:kvm-linux", vec![row("tcp-rr", &[92, 92], None)]),
    ];
    let mut apps = apps(&results);
    assert_eq!(apps.recorded_to_terminal(), None);
    let reference = ws_report::reference::load().unwrap();
    let steps = |steps: &[(&str, f64)]| {
        let steps = steps.iter();
        steps
            .map(|(name, ticks)| ((*name).to_owned(), *ticks))
            .collect()
    };
    let native = steps(&[("recv-to-send", 15.0), ("send-to-recv", 21.0)]);
    let in_vm = steps(&[
        ("recv-to-vm-recv", 30.5),
        ("vm-recv-to-vm-send", 15.0),
        ("vm-send-to-send", 25.0),
        ("send-to-recv", 21.5),
    ]);
    apps.take_apart("tcp-rr", "lab:linux", &native, &reference);
    apps.take_apart("tcp-rr", "lab:kvm-linux", &in_vm, &reference);
    // Neither a platform that was not measured nor what is no transaction.
    apps.take_apart("tcp-rr", "lab:xen-linux", &native, &reference);
    apps.take_apart("tcp-rr", "lab:linux", &steps(&[]), &reference);
    assert_eq!(apps.transactions.len(), 2);
    let vm = &apps.transactions[1];
    assert_eq!((vm.traced_insns, vm.insns), (92.0, Some(92.0)));
    let published: Vec<Option<f64>> = vm.parts.iter().map(|part| part.published_us).collect();
    // Table 6 of Dall et al.
    let wanted = [29.8, 53.0, 21.1, 16.9, 15.0].map(Some);
    assert_eq!(published, wanted);
    assert_eq!(apps.transactions[0].parts[1].published_us, Some(14.5));
    let text = apps.recorded_to_terminal().unwrap();
    assert!(
        text.contains("nothing was traced") && text.contains("53.0"),
        "{text}"
    );
    assert!(!text.contains("a traced transaction"), "{text}");
    assert!(!apps.to_terminal().contains("parts of a transaction"));
}

#[test]
fn the_busiest_vcpu_sets_a_bound_and_its_gain_stands_beside_dall_s() {
    let on = |name: &str, vcpu0, vcpu1| {
        let threads = HostView {
            threads: named(&[
                ("other", 10),
                ("vcpu0", vcpu0),
                ("vcpu1", vcpu1),
                ("vhost", 100),
            ]),
            ..HostView::default()
        };
        with(row(name, &[200, 200], None), threads)
    };
    let rows = vec![
        on("apache-interrupts-one", 2000, 1000),
        on("apache-interrupts-spread", 1600, 1500),
        on("mine-interrupts-spread", 1000, 3000),
        row("memcached", &[7, 7], None),
    ];
    let mut vm = machine("lab:kvm-linux", rows);
    for row in &mut vm.rows[..3] {
        row.conditions.insert("vcpus".into(), json!(2));
    }
    let apps = apps(&[
        vm,
        machine("lab:linux", vec![row("memcached", &[5, 5], None)]),
    ]);
    // Without a VM there is no row with two vCPUs; the native machine is first.
    let of = |index: usize| apps.workloads[index].lines.iter();
    let platforms: Vec<&str> = of(0).map(|line| &*line.platform).collect();
    assert_eq!(platforms, ["lab:linux", "lab:kvm-linux"]);
    assert!(apps.workloads[1..].iter().all(|app| app.lines.len() == 1));
    let [one, spread, mine] = &apps.vcpus[..] else {
        panic!("{:?}", apps.vcpus)
    };
    assert_eq!(
        (&*one.busiest, one.bound, one.gain),
        ("vcpu0", 5_000_000.0, None)
    );
    assert_eq!((spread.bound, spread.gain), (6_250_000.0, Some(1.25)));
    assert_eq!(
        (one.published_overhead, spread.published_overhead),
        (Some(0.35), Some(0.14))
    );
    assert!((spread.published_gain.unwrap() - 1.35 / 1.14).abs() < 1e-9);
    assert_eq!(
        (&*mine.busiest, mine.gain, mine.published_gain),
        ("vcpu1", None, None)
    );
    let text = apps.to_terminal();
    let heads = "insns a unit  vcpu0  vcpu1  other  vhost      bound  gain  Dall  Dall's gain";
    assert!(text.contains(heads), "{text}");
    let line = "apache-interrupts-spread (transaction)  lab:kvm-linux           200    160    150      1     10  6,250,000  1.25  14 %         1.18";
    assert!(text.contains(line), "{text}");
}

#[test]
fn applications_have_bars_beside_dall_s() {
    let workloads = |values: [u64; 3]| {
        let names = ["tcp-rr", "memcached", "<b>"];
        let rows = names.into_iter().zip(values);
        let rows = rows.map(|(name, value)| {
            let mut row = measured(name, "application", "insns", &[&[value], &[value]]);
            row.work = Some("<i>unit".into());
            row
        });
        rows.collect::<Vec<_>>()
    };
    let insns = || json!({"unit": "insns"});
    let results = [
        result("lab:linux", 2, insns(), workloads([100, 100, 100])),
        result("lab:kvm-linux", 2, insns(), workloads([226, 102, 90])),
    ];
    let whole = page(&results);
    // The page opens with their figure: ours on one platform with a ratio, the paper's of two workloads.
    let opening = &whole[..whole.find("</header>").unwrap()];
    assert!(
        opening.contains("In lab:kvm-linux tcp-rr (&lt;i&gt;unit) takes 2.26 times"),
        "{opening}"
    );
    assert_eq!(opening.matches("<div class=\"bar h1\"").count(), 3);
    assert_eq!(opening.matches("<div class=\"bar theirs\"").count(), 2);
    for text in [">2.26<", ">1.02<", ">0.90<", ">1.84", "linear axis"] {
        assert!(opening.contains(text), "no {text} in {opening}");
    }
    let apps = section(&whole, "apps");
    assert!(apps.contains("NEVE") && !apps.contains("<figure"));
    assert!(!whole.contains("<b>&") && !whole.contains("<i>unit"));
    assert!(whole.find("id=\"apps\"") < whole.find("id=\"boots\""));
    // Without the native machine there are no ratios.
    let alone = page(&results[1..]);
    let apps = section(&alone, "apps");
    assert!(!alone[..alone.find("id=\"boots\"").unwrap()].contains("relative to native;"));
    assert!(apps.contains(">226<"));
    assert!(!page(&house()).contains("id=\"apps\""));
}

#[test]
fn a_ratio_is_to_the_native_result_of_the_same_run() {
    for (native, unit) in [("lab:linux", "insns"), ("host", "ns")] {
        let of = |platform: &str, created: &str, value: u64| {
            let row = measured("tcp-rr", "application", unit, &[&[value], &[value]]);
            let mut of = result(platform, 2, json!({"unit": unit}), vec![row]);
            of.created = created.into();
            of
        };
        let (first, second, other) = ("2026-01-01", "2026-02-02", "2026-03-03");
        let results = [
            of(native, first, 100),
            of("lab:kvm-linux", first, 150),
            of("lab:xen-linux", second, 150),
            of(native, second, 50),
            of("lab:kvm-vfio-linux", other, 150),
        ];
        let json: serde_json::Value =
            serde_json::from_str(&apps(&results).to_json().unwrap()).unwrap();
        let table = if unit == "ns" { "times" } else { "workloads" };
        let lines = json[table][0]["lines"].as_array().unwrap();
        let ratio = |platform: &str| {
            let line = lines.iter().find(|line| line["platform"] == platform);
            line.unwrap()["ratio"].as_f64()
        };
        assert_eq!(ratio("lab:kvm-linux"), Some(1.5), "{unit}");
        assert_eq!(ratio("lab:xen-linux"), Some(3.0), "{unit}");
        assert_eq!(ratio("lab:kvm-vfio-linux"), Some(1.5), "{unit}");
        assert!(
            lines
                .iter()
                .all(|line| line["platform"] != native || line["ratio"].is_null())
        );
    }
}

#[test]
fn the_opening_tells_of_one_platform() {
    let of = |platform: &str, values: [u64; 3]| {
        let names = ["tcp-rr", "memcached", "sevenzip"].into_iter().zip(values);
        machine(
            platform,
            names
                .map(|(name, value)| row(name, &[value], None))
                .collect(),
        )
    };
    let results = [
        of("lab:linux", [100, 100, 100]),
        of("lab:kvm-linux", [226, 150, 130]),
        of("lab:xen-linux", [200, 90, 160]),
    ];
    let whole = page(&results);
    let sentence = "In lab:kvm-linux tcp-rr (transaction) takes 2.26 times the native instructions, sevenzip (transaction) 1.30 times.";
    assert!(crate::page::opening(&whole).contains(sentence));
}

#[test]
fn nested_vms_have_a_figure_of_their_own_with_what_neve_s_text_states() {
    let native = vec![
        row("memcached", &[100], None),
        row("sevenzip", &[100], None),
    ];
    let vm = vec![
        row("memcached", &[160], None),
        row("sevenzip", &[101], None),
    ];
    let nested = vec![row("memcached", &[700], None)];
    let results = [
        machine("lab:arm-linux", native),
        machine("lab:kvm-vhe-linux", vm),
        machine("lab:neve-linux@nv2", nested),
    ];
    let whole = page(&results);
    // The first figure is that of VMs, and the nested one is not in it.
    let opening = crate::page::opening(&whole);
    assert!(opening.contains(">1.60<") && !opening.contains(">7.00<"));
    let section = section(&whole, "apps");
    for text in [
        "NEVE, Figure 2",
        ">7.00<",
        ">1.60<",
        ">more than 40 <",
        ">less than 3 <",
        ">2.5 <",
        "ARMv8.3 Nested VM",
        "log axis",
    ] {
        assert!(section.contains(text), "no {text} in {section}");
    }
    assert_eq!(section.matches("NEVE, Figure 2").count(), 1);
    assert!(!section.contains("not measured here"));
    let apps = apps(&results);
    assert_eq!(
        line(&apps, "memcached", "lab:neve-linux@nv2").ratio,
        Some(7.0)
    );
    assert!(crate::page::page(&results[..2]).contains("not measured here"));
}

#[test]
fn variants_of_a_machine_share_the_paper_s_bar() {
    let native = machine("lab:linux", vec![row("tcp-rr", &[40], None)]);
    let vm = |platform: &str, insns| machine(platform, vec![row("tcp-rr", &[insns], None)]);
    let both = page(&[
        native,
        vm("lab:xen-linux", 80),
        vm("lab:xen-linux@apart", 90),
    ]);
    let opening = crate::page::opening(&both);
    for text in [">2.00<", ">2.25<"] {
        assert!(opening.contains(text), "no {text} in {opening}");
    }
    assert_eq!(opening.matches("bar theirs").count(), 1);
}

#[test]
fn what_lmbench_measures_is_drawn_in_instructions_beside_the_ratio() {
    let native = vec![row("context-switch-2p-0k", &[6_000], None)];
    let vm = vec![row("context-switch-2p-0k", &[6_600], None)];
    let whole = page(&[machine("lab:linux", native), machine("lab:kvm-linux", vm)]);
    // It is the only figure here, so the page opens with it.
    let opening = crate::page::opening(&whole);
    for text in ["lmbench", ">6,000<", ">x 1.10<", ">6,600 <", "log axis"] {
        assert!(opening.contains(text), "no {text} in {opening}");
    }
    assert!(!section(&whole, "apps").contains("<figure"));
}

/// On the host a transaction takes 20 us, in a VM of KVM 40; the emulator's row is lost.
fn timed() -> Vec<ResultFile> {
    let row = |boots: &[u64]| {
        let boots: Vec<[u64; 1]> = boots.iter().map(|ns| [*ns]).collect();
        let boots: Vec<&[u64]> = boots.iter().map(|boot| &boot[..]).collect();
        let mut row = measured("tcp-rr", "application", "ns", &boots);
        row.work = Some("transaction".into());
        row
    };
    let time = |platform, row| result(platform, 3, json!({"unit": "ns"}), vec![row]);
    let lost = absent(
        "tcp-rr",
        "application",
        Status::Skip,
        "the VM ended too early",
    );
    vec![
        time("qemu-kvm", row(&[40_000, 40_000, 40_000])),
        time("host", row(&[19_000, 20_000, 21_000])),
        time("qemu-tcg", lost),
    ]
}

#[test]
fn times_are_relative_to_the_host_and_apart_from_counts() {
    let mut results = timed();
    results.extend(self::results());
    let apps = apps(&results);
    assert_eq!(apps.workloads.len(), 3);
    let lines = &apps.times[0].lines;
    let platforms: Vec<&str> = lines.iter().map(|line| &*line.platform).collect();
    assert_eq!(platforms, ["host", "qemu-kvm", "qemu-tcg"]);
    assert_eq!((lines[0].ns, lines[0].ratio), (Some(20_000.0), None));
    assert_eq!(lines[0].range, Some([19_000.0, 21_000.0]));
    assert_eq!((lines[1].ratio, lines[1].boots), (Some(2.0), 3));
    assert!((lines[1].published.unwrap() - 21_089.0 / 11_490.0).abs() < 1e-9);
    assert_eq!(lines[2].why.as_deref(), Some("the VM ended too early"));
    ws_results::schema_check::valid(&apps.to_json().unwrap(), "apps");
    for text in [apps.to_terminal(), apps.to_markdown()] {
        assert!(text.contains("50,000") && text.contains("2.00") && text.contains("1.84"));
        assert!(text.contains("tcp-rr on qemu-tcg: the VM ended too early"));
        assert!(text.contains("qemu-tcg is an emulator"));
    }
}

#[test]
fn the_page_draws_times_beside_the_papers() {
    let page = page(&timed());
    // It is the only figure here, so the page opens with it.
    let opening = crate::page::opening(&page);
    assert!(opening.contains(
        "<h1>In qemu-kvm tcp-rr (transaction) takes 2.00 times the time on the host.</h1>"
    ));
    assert!(opening.contains("qemu-kvm: 2.00 times as long as on the host"));
    assert!(opening.contains("Dall et al. 2015"));
    assert!(!page.contains("In VMs (Dall et al., Figure 4)"));
}

#[test]
fn the_page_draws_times_of_nested_vms_beside_neve_s() {
    let of = |platform, ns| {
        let mut row = measured("kernbench", "application", "ns", &[&[ns]]);
        row.work = Some("file".into());
        result(platform, 1, json!({"unit": "ns"}), vec![row])
    };
    let all = [
        of("host", 1_000),
        of("qemu-kvm", 1_100),
        of("qemu-kvm-nested", 1_500),
    ];
    let page = page(&all);
    let opening = crate::page::opening(&page);
    assert!(
        opening
            .contains("In qemu-kvm-nested kernbench (file) takes 1.50 times the time on the host.")
    );
    assert!(opening.contains("qemu-kvm: 1.10 times") && !opening.contains("qemu-kvm-nested: "));
    let apps = section(&page, "apps");
    assert!(apps.contains("In nested VMs of this host, in real time (NEVE, Figure 2)"));
    assert!(apps.contains("qemu-kvm-nested: 1.50 times as long as on the host"));
    assert!(apps.contains("qemu-kvm: 1.10 times as long as on the host"));
    // The paper states 33 % for one kind of nested VM.
    assert!(apps.contains("Lim et al. 2017 (NEVE)") && apps.contains(">1.33"));
}

#[test]
fn a_transaction_in_time_is_that_of_the_median_boot() {
    let view = |boot, scale: u64, rest: &[(&str, u64)]| HostView {
        boot,
        operations: Some(10),
        traced: Some(scale * 45_000),
        steps: named(rest),
        ..HostView::default()
    };
    let host = |boot, us: u64| {
        view(
            boot,
            us,
            &[("recv-to-send", us * 14_500), ("send-to-recv", us * 29_700)],
        )
    };
    let mut results = timed();
    results[1].rows[0].host = vec![host(1, 12), host(2, 9), host(3, 10)];
    results[0].rows[0].host = vec![view(
        1,
        20,
        &[
            ("recv-to-vm-recv", 200_000),
            ("vm-recv-to-vm-send", 100_000),
            ("vm-send-to-send", 100_000),
            ("send-to-recv", 400_000),
            ("clock-bound", 3_000),
        ],
    )];
    let apps = apps(&results);
    assert!(apps.transactions.is_empty());
    let [host, vm] = &apps.timed_transactions[..] else {
        panic!("{:?}", apps.timed_transactions)
    };
    // 10 * (14.5 + 29.7) us for 10 transactions.
    assert_eq!(
        (&*host.platform, host.ns, host.boots),
        ("host", 44_200.0, 3)
    );
    assert_eq!(
        (host.captured_ns, host.uncaptured_ns, host.clock_bound_ns),
        (Some(45_000.0), Some(20_000.0), None)
    );
    assert_eq!((vm.ns, vm.clock_bound_ns), (80_000.0, Some(300.0)));
    let parts: Vec<_> = (vm.parts.iter())
        .map(|part| (&*part.part, part.within, part.ns, part.published_us))
        .collect();
    assert_eq!(
        parts,
        [
            ("send to recv", false, 40_000.0, Some(29.8)),
            ("recv to send", false, 40_000.0, Some(53.0)),
            ("recv to VM recv", true, 20_000.0, Some(21.1)),
            ("VM recv to VM send", true, 10_000.0, Some(16.9)),
            ("VM send to send", true, 10_000.0, Some(15.0)),
        ]
    );
    ws_results::schema_check::valid(&apps.to_json().unwrap(), "apps");
    for text in [apps.to_terminal(), apps.to_markdown()] {
        assert!(text.contains("parts of a transaction, in time") && text.contains("29.7"));
        assert!(text.contains(
            "tcp-rr on host: with its run's start and end 45.0 us captured, 20.0 not captured"
        ));
        assert!(text.contains("tcp-rr on qemu-kvm: the clocks of host and VM agree to 0.300 us"));
        assert!(!text.contains("insns"));
    }
}

#[test]
fn who_serves_the_network_has_a_table_with_exits_by_reason_and_what_elvis_states() {
    let mut by_elvis = row("tcp-rr", &[70, 70], Some(11));
    by_elvis.host[0].steps = [("idle".to_owned(), 30)].into();
    let mut results = results();
    results.push(machine(
        "lab:kvm-linux+net=vhost",
        vec![row("tcp-rr", &[90, 90], Some(31))],
    ));
    results.push(machine("lab:kvm-linux+net=elvis", vec![by_elvis]));
    let apps = apps(&results);
    let elvis = line(&apps, "tcp-rr", "lab:kvm-linux+net=elvis");
    // Dall et al.'s VM has vhost.
    assert_eq!((elvis.published, elvis.exits()), (None, Some(1.1)));
    assert!((elvis.idle.unwrap() - 3.0 / 70.0).abs() < 1e-9);
    assert!(apps.exits_stated.iter().any(|rate| rate.column == "ELVIS"));
    let text = apps.to_terminal();
    let (_, table) = text.split_once("by who serves the network\n").unwrap();
    let lines: Vec<&str> = table
        .lines()
        .filter(|line| line.contains("+net="))
        .collect();
    let cells = |line: &str| {
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        cells(lines[0])[2..],
        [
            "lab:kvm-linux+net=vhost",
            "90",
            "3.10",
            "3.10",
            "1.50",
            "0.00",
            "0.00",
            "0.00",
            "0.00",
            "0.00",
            "0.00"
        ]
    );
    assert_eq!(cells(lines[1])[1..4], ["70", "1.10", "1.10"]);
    assert!(lines[2].starts_with("tcp-rr on lab:kvm-linux+net=elvis: all CPUs were idle in 4.3 %"));
    assert!(table.contains("Baseline 142K (Netperf TCP stream, 1 VM)"));
    ws_results::schema_check::valid(&apps.to_json().unwrap(), "apps");
    assert!(
        !self::apps(&self::results())
            .to_terminal()
            .contains("by who serves")
    );
}
