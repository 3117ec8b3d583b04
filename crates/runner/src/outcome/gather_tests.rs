//! Tests: boots become rows.

use super::*;
use ws_records::CheckVerdict;
use ws_results::{IoRow, Launch};

fn known(name: &str) -> BenchmarkRow {
    BenchmarkRow {
        name: name.into(),
        category: "io".into(),
        digest: "d1".into(),
        ..BenchmarkRow::default()
    }
}

fn boot(number: u32) -> Boot {
    Boot {
        boot: number,
        perturbed: None,
        launches: vec![Launch::ended("1", Vec::new())],
    }
}

fn good(name: &str, run: u64, page_bytes: Option<u64>) -> RowReport {
    let result = BenchResult {
        bench: name.into(),
        iterations: 10,
        cpus: 1,
        page_bytes,
        ws_bytes: None,
        port: Some(0x3ff),
        check: CheckVerdict::Proved,
        note: String::new(),
        lead: None,
        unmarked: None,
        run: vec![run, run],
        control: vec![1, 1],
    };
    RowReport {
        bench: name.into(),
        launch: 0,
        status: Status::Ok,
        reason: None,
        check: None,
        result: Some(result),
        exits: None,
        strayed: Vec::new(),
        external: None,
    }
}

fn bad(name: &str, status: Status) -> RowReport {
    RowReport::without(name, status, "why")
}

#[test]
fn rows_have_their_facts_before_and_after_they_are_measured() {
    let io = IoRow {
        device: "qemu".into(),
        depth: 8,
        busy: true,
    };
    let row = BenchmarkRow {
        facts: io.clone().into(),
        ..known("a")
    };
    let mut gathered = Gathered::of_image(&[row]);
    assert_eq!(gathered.rows()[0].facts.io.as_ref(), Some(&io));
    // A row that nobody knows has none, whatever its name.
    let reports = vec![good("a", 7, None), good("io-qemu-d8", 7, None)];
    gathered.add(boot(1), reports, "insns", None);
    let rows = gathered.rows();
    assert_eq!(rows[0].facts.io.as_ref(), Some(&io));
    assert!(rows[1].facts.is_empty());
}

#[test]
fn rows_keep_their_order_and_their_boots() {
    let mut gathered = Gathered::of_image(&[known("a"), known("b")]);
    gathered.add(
        boot(1),
        vec![good("b", 5, None), good("a", 7, None)],
        "insns",
        None,
    );
    gathered.add(
        boot(2),
        vec![good("a", 7, None), good("b", 6, None)],
        "insns",
        None,
    );
    let rows = gathered.rows();
    assert_eq!([&*rows[0].benchmark, &*rows[1].benchmark], ["a", "b"]);
    assert_eq!(rows[0].conditions["digest"], "d1");
    assert_eq!(rows[0].conditions["port"], 0x3ff);
    assert_eq!(rows[0].metrics[0].boots.len(), 2);
    assert_eq!((rows[0].exact, rows[1].exact), (Some(true), Some(false)));
    assert_eq!(rows[0].status, Status::Ok);
}

#[test]
fn the_first_outcome_that_is_not_ok_is_the_rows() {
    let mut gathered = Gathered::of_image(&[known("a")]);
    gathered.add(boot(1), vec![good("a", 7, None)], "tsc_ticks", None);
    gathered.add(boot(2), vec![bad("a", Status::Died)], "tsc_ticks", None);
    gathered.add(boot(3), vec![bad("a", Status::Timeout)], "tsc_ticks", None);
    let row = &gathered.rows()[0];
    assert_eq!(
        (row.status, row.reason.as_deref()),
        (Status::Died, Some("why"))
    );
    assert_eq!(row.outcomes.len(), 3);
    assert_eq!(row.metrics[0].boots.len(), 1);
    assert_eq!(row.exact, None);
}

#[test]
fn a_cut_boot_leaves_rows_unreached_and_a_whole_one_does_not() {
    let mut gathered = Gathered::of_image(&[known("a"), known("b")]);
    gathered.add(boot(1), vec![good("a", 7, None)], "insns", Some("stopped"));
    let rows = gathered.rows();
    assert_eq!(rows[1].status, Status::Unreached);
    assert_eq!(rows[1].reason.as_deref(), Some("stopped"));
    let mut whole = Gathered::default();
    whole.add(boot(1), vec![good("a", 7, None)], "insns", None);
    whole.add(boot(2), vec![good("b", 7, None)], "insns", None);
    assert!(
        whole
            .rows()
            .iter()
            .all(|row| row.status == Status::Ok && row.outcomes.len() == 1)
    );
}

#[test]
fn other_conditions_or_units_are_not_put_together() {
    let mut gathered = Gathered::of_image(&[known("a")]);
    gathered.add(boot(1), vec![good("a", 7, Some(4096))], "insns", None);
    gathered.add(boot(2), vec![good("a", 7, Some(8192))], "insns", None);
    gathered.add(boot(3), vec![good("a", 7, None)], "insns", None);
    gathered.add(boot(4), vec![good("a", 7, Some(4096))], "ns", None);
    let row = &gathered.rows()[0];
    assert_eq!(row.metrics[0].boots.len(), 1);
    let reasons: Vec<_> = row
        .outcomes
        .iter()
        .filter_map(|o| o.reason.as_deref())
        .collect();
    assert_eq!(
        reasons,
        [
            "measured with page_bytes 8192, earlier boots with 4096",
            "measured with page_bytes nothing, earlier boots with 4096",
            "measured in ns, earlier boots in insns"
        ]
    );
}

#[test]
fn nothing_but_unreached_rows_is_empty() {
    let mut gathered = Gathered::of_image(&[known("a")]);
    assert!(gathered.is_empty());
    gathered.add(boot(1), Vec::new(), "insns", Some("stopped"));
    assert!(gathered.is_empty());
    gathered.add(boot(2), vec![bad("a", Status::Skip)], "insns", None);
    assert!(!gathered.is_empty());
}

#[test]
fn what_the_host_counted_becomes_metrics_behind_the_cost() {
    let mut counted = good("a", 5, None);
    counted.exits = serde_json::from_value(json!({"bench": "a", "operations": 20,
        "returns": {"io": 20}, "kvm": {"exits": 21}}))
    .unwrap();
    let mut gathered = Gathered::of_image(&[known("a")]);
    gathered.add(boot(1), vec![counted.clone()], "tsc_ticks", None);
    gathered.add(boot(2), vec![counted], "tsc_ticks", None);
    let row = &gathered.rows()[0];
    let names: Vec<(&str, &str)> = row
        .metrics
        .iter()
        .map(|metric| (&*metric.name, &*metric.unit))
        .collect();
    assert_eq!(
        names,
        [
            ("cost", "tsc_ticks"),
            ("exits", "count"),
            ("returns", "count")
        ]
    );
    let exits = &row.metrics[1].boots[1];
    assert_eq!((exits.boot, exits.iterations), (2, 20));
    assert_eq!((&exits.run[..], &exits.control[..]), (&[21][..], &[0][..]));
    assert_eq!(row.host.len(), 2);
    assert_eq!(row.host[0].returns["io"], 20);
}

#[test]
fn where_only_exits_count_they_are_the_cost_and_the_guest_s_clock_is_not() {
    let mut counted = good("a", 5, None);
    counted.exits = serde_json::from_value(json!({"bench": "a", "operations": 64,
        "kvm": {"exits": 65, "io_exits": 64, "irq_exits": 1}}))
    .unwrap();
    let mut gathered = Gathered::of_image(&[known("a")]);
    gathered.add(boot(1), vec![counted], EXITS_UNIT, None);
    gathered.add(boot(2), vec![good("a", 5, None)], EXITS_UNIT, None);
    let row = &gathered.rows()[0];
    assert_eq!(
        (&*row.metrics[0].name, &*row.metrics[0].unit),
        ("cost", "count")
    );
    let [first, uncounted] = &row.metrics[0].boots[..] else {
        panic!("{row:?}");
    };
    assert_eq!((first.iterations, &first.run[..]), (64, &[65][..]));
    assert!(uncounted.run.is_empty(), "no count, no figure");
    assert_eq!(row.exact, None);
}

#[test]
fn what_the_host_timed_stands_beside_what_the_guest_timed() {
    let timed = |external: External| {
        let mut report = good("a", 7, None);
        report.external = Some(external);
        if let Some(result) = &mut report.result {
            result.lead = Some(2000);
        }
        report
    };
    let mut gathered = Gathered::of_image(&[known("a")]);
    let heard = External {
        run: vec![9],
        control: vec![2],
        missing: vec![1],
        why: Some("one was not heard".into()),
    };
    gathered.add(boot(1), vec![timed(heard)], "tsc_ticks", None);
    let none = External::none(2, "nothing came".into());
    gathered.add(boot(2), vec![timed(none)], "tsc_ticks", None);
    let row = &gathered.rows()[0];
    let [inside, outside] = &row.metrics[..] else {
        panic!("{row:?}");
    };
    assert_eq!((&*inside.name, inside.boots.len()), ("cost", 2));
    assert_eq!(
        (inside.boots[0].lead_ticks, &*inside.boots[0].run),
        (0, &[7, 7][..])
    );
    assert_eq!((&*outside.name, outside.boots.len()), ("cost_external", 1));
    let samples = &outside.boots[0];
    assert_eq!((samples.iterations, samples.lead_ticks), (10, 2000));
    assert_eq!((&*samples.run, &*samples.missing), (&[9][..], &[1][..]));
    let why: Vec<_> = row.outcomes.iter().map(|o| o.external.as_deref()).collect();
    assert_eq!(why, [Some("one was not heard"), Some("nothing came")]);
}
