use super::*;
use crate::conditions::Unlike;
use serde_json::json;
use std::collections::BTreeMap;
use ws_results::{HostView, Paging, ResultFile};

/// A benchmark: name, category, page size, and the cost of one operation in each boot.
struct Bench<'a>(&'a str, &'a str, Option<u64>, &'a [u64]);

/// A result in which every batch has `iterations` operations and every control loop takes 10 ticks.
fn result(platform: &str, unit: &str, iterations: u64, benches: &[Bench]) -> ResultFile {
    let boots = benches.iter().map(|bench| bench.3.len()).max().unwrap_or(0);
    let boots = (1..=boots).map(|boot| {
        json!({"boot": boot, "launches": [{"nonce": "1", "vcpus": 1, "asked": [], "hello": null,
            "first_record_ms": null, "wall_ms": 1, "end": "bye", "end_detail": "", "bad_lines": 0,
            "stale_records": 0, "lost_records": 0, "console_tail": ""}]})
    });
    let rows = benches.iter().map(|Bench(name, category, page, costs)| {
        let samples = (1..).zip(*costs).map(|(boot, cost): (u32, &u64)| {
            json!({"boot": boot, "launch": 0, "iterations": iterations,
                "run": [cost * iterations + 10, cost * iterations + 10], "control": [10, 10]})
        });
        let conditions = page.map_or(json!({"vcpus": 1}), |page| json!({"page_bytes": page}));
        json!({"benchmark": name, "category": category, "status": "ok", "reason": null, "outcomes": [],
            "conditions": conditions, "exact": null,
            "metrics": [{"name": "cost", "unit": unit, "boots": samples.collect::<Vec<_>>()}]})
    });
    let value = json!({"schema": ws_results::SCHEMA, "created": "", "tool": "", "command": [],
        "platform": platform, "identity": {"subject": {}, "conditions": {"cpu": "max"}},
        "interrupted": false, "boots": boots.collect::<Vec<_>>(), "rows": rows.collect::<Vec<_>>()});
    serde_json::from_value(value).unwrap()
}

const NATIVE: [Bench; 5] = [
    Bench("in", "io", None, &[1, 1]),
    Bench("set-cr3", "privileged", None, &[1, 1]),
    Bench("hot-memory-access", "memory", Some(4096), &[1, 1]),
    Bench("cold-memory-access", "memory", Some(4096), &[1, 1]),
    Bench("idle", "idle", None, &[0, 0]),
];

fn lab_guest(platform: &str) -> ResultFile {
    let benches = [
        Bench("in", "io", None, &[3122, 3122]),
        Bench("set-cr3", "privileged", None, &[6525, 6525]),
        Bench("hypercall", "exception", None, &[3022, 3022]),
        Bench("hot-memory-access", "memory", Some(4096), &[1, 1]),
        Bench("cold-memory-access", "memory", Some(4096), &[4765, 4765]),
        Bench("idle", "idle", None, &[0, 0]),
    ];
    result(platform, "insns", 1, &benches)
}

fn model(guest: &ResultFile) -> Model {
    let native = result("lab:native", "insns", 1, &NATIVE);
    fit(
        std::slice::from_ref(guest),
        &[native],
        &ModelOptions::default(),
    )
    .unwrap()
}

fn counts(counts: &[(&str, f64)]) -> BTreeMap<String, f64> {
    counts
        .iter()
        .map(|(name, count)| ((*name).to_owned(), *count))
        .collect()
}

#[test]
fn each_term_has_its_cost_or_the_reason_why_it_is_zero() {
    let nested = model(&lab_guest("lab:kvm"));
    assert_eq!((nested.paging, &*nested.unit), (Paging::Nested, "insns"));
    let term = |model: &Model, symbol: &str| {
        model
            .terms
            .iter()
            .find(|term| term.term.symbol() == symbol)
            .unwrap()
            .clone()
    };
    assert_eq!(term(&nested, "T_in").greatest, Some(3121.0));
    assert_eq!(
        term(&nested, "T_ext").greatest,
        Some(3022.0),
        "natively there is none"
    );
    assert_eq!(term(&nested, "T_sen").benchmarks, ["set-cr3"]);
    assert!(
        term(&nested, "T_switch")
            .zero
            .unwrap()
            .contains("nested paging")
    );
    assert_eq!(term(&nested, "T_two").greatest, Some(0.0));
    assert!(
        nested
            .notes
            .iter()
            .any(|note| note.contains("nested page walks cost nothing"))
    );
    assert!(
        nested
            .separation
            .why
            .as_ref()
            .unwrap()
            .contains("page walks")
    );
    let shadow = model(&lab_guest("lab:kvm-shadow"));
    assert_eq!(term(&shadow, "T_switch").greatest, Some(6524.0));
    assert!(term(&shadow, "T_two").zero.is_some());
    assert!(
        nested.rows.iter().all(|row| row.gnr.is_none()),
        "no ratio of counts"
    );
}

#[test]
fn a_workload_costs_what_its_events_cost() {
    let model = model(&lab_guest("lab:kvm"));
    let events = counts(&[
        ("in", 2000.0),
        ("hypercall", 100.0),
        ("cold-memory-access", 512.0),
    ]);
    let found = predict(&model, &events, vec![]).unwrap();
    let (cpu, memory, io) = (100.0 * 3022.0, 512.0 * 4764.0, 2000.0 * 3121.0);
    let totals: Vec<f64> = found.components.iter().map(|c| c.total).collect();
    assert_eq!(totals, [cpu, memory, io]);
    assert_eq!(
        (found.total, found.low, found.high),
        (cpu + memory + io, found.total, found.total)
    );
    assert_eq!(found.events[1].operator, OperatorKind::NotDetermined);
    assert!(found.left_out.is_empty());
}

#[test]
fn events_of_absent_terms_are_left_out_with_the_reason() {
    let model = model(&lab_guest("lab:kvm-shadow"));
    let found = predict(
        &model,
        &counts(&[("hot-memory-access", 9.0)]),
        vec!["more".into()],
    );
    let found = found.unwrap();
    assert_eq!((found.total, found.events.len()), (0.0, 0));
    assert!(found.left_out[1].contains("T_two is 0"));
}

#[test]
fn what_cannot_be_predicted_says_why() {
    let model = model(&lab_guest("lab:kvm"));
    let error = |events: &[(&str, f64)]| predict(&model, &counts(events), vec![]).unwrap_err();
    let text = error(&[("inn", 1.0), ("idle", 1.0)]).to_string();
    assert!(
        text.contains("no cost of idle, inn; it has in, set-cr3, hypercall"),
        "{text}"
    );
    assert!(
        error(&[("in", f64::NAN)])
            .to_string()
            .contains("give a count of 0 or more")
    );
    assert!(
        error(&[("in", -1.0)])
            .to_string()
            .contains("give a count of 0 or more")
    );
}

#[test]
fn times_have_ratios_and_intervals() {
    let guest = [Bench("in", "io", None, &[8000, 8400, 8200, 8100, 8300])];
    let native = [Bench("in", "io", None, &[4000, 4100, 3900, 4050, 3950])];
    let (guest, native) = (
        result("kvm", "ns", 5, &guest),
        result("serial:x", "ns", 5, &native),
    );
    let error = fit(
        std::slice::from_ref(&guest),
        std::slice::from_ref(&native),
        &ModelOptions::default(),
    );
    assert!(error.unwrap_err().to_string().contains("--paging nested"));
    let options = ModelOptions {
        paging: Some(Paging::Nested),
        ..ModelOptions::default()
    };
    let model = fit(&[guest], &[native], &options).unwrap();
    let row = &model.rows[0];
    assert_eq!((row.gnr, row.added), (Some(2.05), 4200.0));
    assert!(row.gnr_low.unwrap() >= 8000.0 / 4100.0 && row.gnr_high.unwrap() <= 8400.0 / 3900.0);
    assert!(row.added_low < 4200.0 && row.added_high > 4200.0);
    let found = predict(&model, &counts(&[("in", 10.0)]), vec![]).unwrap();
    assert!((found.low - 10.0 * row.added_low).abs() < 1e-6, "{found:?}");
}

#[test]
fn three_iteration_counts_give_the_operator_and_it_is_applied() {
    let of = |iterations, cost| {
        let costs = [cost, cost + 1, cost - 1, cost, cost];
        result("kvm", "ns", iterations, &[Bench("in", "io", None, &costs)])
    };
    let guests = [of(10, 1000), of(100, 600), of(1000, 400)];
    let native = result("native", "ns", 10, &[Bench("in", "io", None, &[100; 5])]);
    let options = ModelOptions {
        paging: Some(Paging::Nested),
        ..ModelOptions::default()
    };
    let model = fit(&guests, &[native], &options).unwrap();
    let row = &model.rows[0];
    assert_eq!(
        (row.operator.kind, row.guest),
        (OperatorKind::SubLinear, 400.0)
    );
    let each = |count| {
        predict(&model, &counts(&[("in", count)]), vec![])
            .unwrap()
            .events[0]
            .each
    };
    assert_eq!(
        [each(1.0), each(100.0), each(1e6)].map(f64::round),
        [900.0, 500.0, 300.0]
    );
}

#[test]
fn page_sizes_tell_building_from_walking() {
    let pages = |platform, hot, cold, page| {
        let (hot, cold) = ([hot; 5], [cold; 5]);
        let benches = [
            Bench("hot-memory-access", "memory", Some(page), &hot),
            Bench("cold-memory-access", "memory", Some(page), &cold),
        ];
        result(platform, "ns", 5, &benches)
    };
    let guests = [
        pages("kvm", 100, 1200, 4096),
        pages("kvm", 80, 1180, 2 << 20),
    ];
    let natives = [pages("n", 60, 800, 4096), pages("n", 55, 795, 2 << 20)];
    let options = ModelOptions {
        paging: Some(Paging::Nested),
        ..ModelOptions::default()
    };
    let model = fit(&guests, &natives, &options).unwrap();
    let shown: Vec<_> = model
        .separation
        .pages
        .iter()
        .map(|p| (p.two, p.cons))
        .collect();
    assert_eq!(shown, [(40.0, 360.0), (25.0, 360.0)]);
    let added = |name: &str| {
        model
            .rows
            .iter()
            .find(|row| row.benchmark == name)
            .unwrap()
            .added
    };
    assert_eq!(
        (added("cold-memory-access"), added("hot-memory-access")),
        (360.0, 40.0)
    );
    assert_eq!(model.rows.len(), 2);
}

#[test]
fn unlike_conditions_and_platforms_are_refused() {
    let guest = lab_guest("lab:kvm");
    let mut native = result("lab:native", "insns", 1, &NATIVE);
    native
        .identity
        .conditions
        .insert("cpu".into(), json!("other"));
    let natives = [native];
    let refused = |options: &ModelOptions| fit(std::slice::from_ref(&guest), &natives, options);
    let error = refused(&ModelOptions::default()).unwrap_err();
    let ModelError::Unlike { fields, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(
        fields
            .iter()
            .map(|f: &Unlike| &*f.field)
            .collect::<Vec<_>>(),
        ["cpu"]
    );
    let options = ModelOptions {
        allow: vec!["cpu".into()],
        ..ModelOptions::default()
    };
    assert!(refused(&options).is_ok());
    let two = [lab_guest("lab:kvm"), lab_guest("lab:kvm-shadow")];
    let error = fit(&two, &natives, &options).unwrap_err();
    assert!(error.to_string().contains("give results of one platform"));
    assert_eq!(
        fit(&[], &natives, &options).unwrap_err(),
        ModelError::Nothing
    );
    let nothing = result("lab:native", "ns", 1, &[]);
    let error = fit(
        &[result("kvm", "ns", 1, &[])],
        &[nothing],
        &ModelOptions {
            paging: Some(Paging::Nested),
            ..ModelOptions::default()
        },
    );
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("no benchmark was measured")
    );
}

#[test]
fn what_kvm_counted_becomes_events() {
    let view = |boot, io: u64| HostView {
        boot,
        returns: BTreeMap::from([("io".into(), io)]),
        kvm: Some(BTreeMap::from([
            ("hypercalls".into(), 10),
            ("exits".into(), 999),
            ("pf_taken".into(), 4),
            ("signal_exits".into(), 2),
        ])),
        ..HostView::default()
    };
    let events = host_events(&[view(1, 100), view(2, 102)]);
    let wanted = [
        ("cold-memory-access", 4.0),
        ("hypercall", 10.0),
        ("in", 50.5),
        ("out", 50.5),
    ];
    assert_eq!(events.counts, counts(&wanted));
    assert!(events.left_out[0].contains("half is taken for each"));
    assert!(events.left_out[1].starts_with("2 signal_exits"));
    assert_eq!(events.left_out.len(), 2);
    assert_eq!(host_events(&[]), HostEvents::default());
}

#[test]
fn accesses_of_strings_are_events_of_print() {
    let view = |io_exits: u64, emulated: u64, exits: u64| HostView {
        returns: BTreeMap::from([("io".into(), 2048)]),
        kvm: Some(BTreeMap::from([
            ("exits".into(), exits),
            ("io_exits".into(), io_exits),
            ("insn_emulation".into(), emulated),
        ])),
        ..HostView::default()
    };
    // The counts of the benchmark print in lab:kvm: 64 strings of 32 bytes.
    let print = host_events(&[view(2112, 2112, 2112)]);
    assert_eq!(print.counts, counts(&[("print", 64.0)]));
    assert!(print.left_out.is_empty(), "{:?}", print.left_out);
    // Plain ones are not decoded; other exits may be.
    let plain = host_events(&[view(2048, 100, 2148)]);
    assert_eq!(plain.counts, counts(&[("in", 1024.0), ("out", 1024.0)]));
    assert!(plain.left_out[1].starts_with("up to 100 port accesses may be string"));
}

#[test]
fn a_workload_s_time_in_the_guest_is_its_own_and_what_is_added() {
    let model = model(&lab_guest("lab:kvm"));
    let found = predict(&model, &counts(&[("in", 10.0)]), vec![]).unwrap();
    assert_eq!(found.whole, None);
    let whole = found
        .clone()
        .with_times(1000.0, Some(32_300.0))
        .whole
        .unwrap();
    assert_eq!((whole.guest, whole.gnr), (32_210.0, Some(32.21)));
    assert_eq!((whole.guest_low, whole.eta), (32_210.0, Some(90.0)));
    let whole = found.with_times(0.0, None).whole.unwrap();
    assert_eq!((whole.gnr, whole.eta), (None, None));
}
