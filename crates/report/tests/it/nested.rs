//! Tests of nested virtualization beside the paper's tables.

use crate::support::{absent, measured, render, result};
use serde_json::json;
use ws_report::page::Report;
use ws_report::{Nested, NestedBenchmark, NestedLine, Slowdown};
use ws_results::{HostView, ResultFile, Row, Status};

/// A row in which neve counted these traps in 64 operations.
fn row(name: &str, insns: u64, returns: &[(&str, u64)]) -> Row {
    let mut row = measured(name, "exception", "insns", &[&[insns], &[insns]]);
    row.host = vec![HostView {
        boot: 1,
        operations: Some(64),
        returns: returns.iter().map(|(k, n)| ((*k).into(), *n)).collect(),
        ..HostView::default()
    }];
    row
}

fn machine(platform: &str, policy: &str, rows: Vec<Row>) -> ResultFile {
    let mut file = result(platform, 2, json!({"unit": "insns", "cpu": "max"}), rows);
    let subject = &mut file.identity.subject;
    subject.insert("hypervisor_policy".into(), json!(policy));
    file
}

fn results() -> Vec<ResultFile> {
    let end = [
        ("write_ICC_SGI1R_EL1", 128),
        ("hvc", 128),
        ("el2_eret", 256),
    ];
    vec![
        machine(
            "lab:neve",
            "lean",
            vec![row("hypercall", 200, &[("hvc", 64)])],
        ),
        machine(
            "lab:neve+policy=kvm-4.10",
            "kvm-4.10",
            vec![row("hypercall", 700, &[("hvc", 64)])],
        ),
        machine(
            "lab:neve-nested@neve+policy=kvm-4.10+vhe=1",
            "kvm-4.10",
            vec![
                row("hypercall", 6300, &[("hvc", 64), ("el2_eret", 896)]),
                absent("in", "exception", Status::Skip, "no such device"),
                row("irq-completion", 3, &end),
            ],
        ),
        machine(
            "lab:neve-nested@nv2",
            "lean",
            vec![row("hypercall", 2000, &[("hvc", 64), ("el2_eret", 64)])],
        ),
    ]
}

fn nested(results: &[ResultFile]) -> Vec<NestedBenchmark> {
    Nested::of(results, &ws_report::reference::load().unwrap()).benchmarks
}

#[test]
fn each_nested_vm_is_set_beside_vms_of_both_its_hypervisors_and_the_paper_s_beside_its_like() {
    let all = nested(&results());
    let rows: Vec<&str> = all.iter().map(|b| b.row.as_str()).collect();
    assert_eq!(
        rows,
        ["Hypercall", "Device I/O", "Virtual IPI", "Virtual EOI"]
    );
    let hypercall = &all[0].lines;
    // By the paper's definition: relative to a VM on the hypervisor below the guest hypervisor.
    let over_l0 = |line: &NestedLine| line.over_l0.clone();
    let over_l1 = |line: &NestedLine| line.over_l1.clone();
    let beside = |over: &dyn Fn(&NestedLine) -> Option<Slowdown>| {
        let of = hypercall.iter().map(over);
        of.map(|s| s.map(|s| (s.vm, s.ratio.unwrap()))).collect()
    };
    let (lean, papers) = ("lab:neve", "lab:neve+policy=kvm-4.10");
    let some = |vm: &str, ratio| Some((vm.to_owned(), ratio));
    let found: [Vec<_>; 2] = [beside(&over_l0), beside(&over_l1)];
    assert_eq!(found[0], [None, None, some(lean, 31.5), some(lean, 10.0)]);
    assert_eq!(found[1], [None, None, some(papers, 9.0), some(lean, 10.0)]);
    let traps: Vec<_> = hypercall.iter().map(|line| line.traps).collect();
    assert_eq!(traps, [Some(1.0), Some(1.0), Some(15.0), Some(2.0)]);
    let published: Vec<_> = hypercall
        .iter()
        .map(|line| {
            line.published
                .as_ref()
                .map(|p| (p.column.as_str(), p.cycles, p.traps))
        })
        .collect();
    let expected = [
        None,
        Some(("ARMv8.3 VM", Some(2729.0), None)),
        Some(("NEVE Nested VM VHE", Some(100_895.0), Some(15.0))),
        None,
    ];
    assert_eq!(published, expected);
    let others: Vec<&str> = all[0].others.iter().map(|p| p.column.as_str()).collect();
    assert!(others.contains(&"x86 Nested VM") && !others.contains(&"NEVE Nested VM VHE"));
}

#[test]
fn of_the_end_of_an_interrupt_only_its_own_traps_count() {
    let all = nested(&results());
    let line = &all[3].lines[2];
    assert_eq!((line.traps, line.causes["el2_eret"]), (Some(0.0), 4.0));
    let mut trapping = results();
    trapping[2].rows[2] = row("irq-completion", 900, &[("write_ICC_EOIR1_EL1", 64)]);
    assert_eq!(nested(&trapping)[3].lines[2].traps, Some(1.0));
}

#[test]
fn intel_s_nested_vm_has_the_traps_that_the_kvm_below_counted_and_the_paper_s_x86_columns() {
    let on_intel = |platform: &str, name: &str, insns, exits| {
        let mut row = row(name, insns, &[]);
        row.host[0].kvm = Some([("exits".to_owned(), 64)].into());
        row.host[0].below = Some([("exits".to_owned(), exits), ("irq_exits".to_owned(), 3)].into());
        result(platform, 2, json!({"unit": "insns"}), vec![row])
    };
    let nested_eoi = on_intel(
        "lab:kvm-intel-nested+vmcs-shadowing=0",
        "irq-completion",
        900,
        67,
    );
    let mut vm = on_intel("lab:kvm-intel", "hypercall", 1000, 0);
    vm.rows[0].host[0].below = None;
    let all = nested(&[
        vm,
        on_intel("lab:kvm-intel-nested", "hypercall", 13_500, 195),
        nested_eoi,
    ]);
    let [vm, shadowing, without] = &all[0].lines[..] else {
        panic!("{all:?}");
    };
    assert_eq!(
        (vm.traps, shadowing.traps, without.traps),
        (None, Some(3.0), None)
    );
    let over = shadowing.over_l0.as_ref().unwrap();
    assert_eq!((&*over.vm, over.ratio), ("lab:kvm-intel", Some(13.5)));
    let published = shadowing.published.as_ref().unwrap();
    assert_eq!(
        (&*published.column, published.slowdown, published.traps),
        ("x86 Nested VM", Some(31.0), Some(5.0))
    );
    assert_eq!(without.published, None);
    // All exits of the row together do not tell which were for the end of the interrupt.
    assert_eq!(
        (all[3].lines[2].value, all[3].lines[2].traps),
        (Some(900.0), None)
    );
}

#[test]
fn svm_s_nested_vm_is_set_beside_lab_kvm_but_not_beside_the_paper_s_intel_columns() {
    let on_svm = |platform: &str, insns| {
        let row = row("hypercall", insns, &[]);
        result(platform, 2, json!({"unit": "insns"}), vec![row])
    };
    let all = nested(&[
        on_svm("lab:kvm", 3000),
        on_svm("lab:kvm-svm-nested", 30_000),
    ]);
    let over: Vec<_> = all[0].lines.iter().map(|l| &l.over_l0).collect();
    let over = over[1].as_ref().unwrap();
    assert_eq!((&*over.vm, over.ratio), ("lab:kvm", Some(10.0)));
    assert!(all[0].lines.iter().all(|line| line.published.is_none()));
}

#[test]
fn unlike_machines_are_not_set_beside_each_other() {
    let mut all = results();
    let conditions = &mut all[1].identity.conditions;
    conditions.insert("cpu".into(), json!("cortex-a57"));
    let line = &nested(&all)[0].lines[2];
    assert_eq!(line.over_l1, None);
    assert!(line.over_l0.is_some());
    all[0]
        .identity
        .conditions
        .insert("cpu".into(), json!("cortex-a57"));
    assert_eq!(nested(&all)[0].lines[2].over_l0, None);
}

#[test]
fn what_was_not_measured_has_its_reason_and_all_media_show_it() {
    let results = results();
    let nested = Nested::of(&results, &ws_report::reference::load().unwrap());
    assert_eq!(
        nested.benchmarks[1].lines[2].why.as_deref(),
        Some("no such device")
    );
    let page = render(&Report {
        results: &results,
        ..Report::default()
    })
    .unwrap();
    for text in [nested.to_terminal(), nested.to_markdown(), page.clone()] {
        assert!(text.contains("no such device") && text.contains("NEVE Nested VM VHE"));
        assert!(text.contains("not measured there"));
    }
    let opening = &page[..page.find("</header>").unwrap()];
    let sentence = "In lab:neve-nested@neve+policy=kvm-4.10+vhe=1 one hypercall of a nested VM takes 6,300 instructions, \
        31.5x those of a VM on lab:neve.";
    assert!(opening.contains(sentence), "{opening}");
    assert_eq!(opening.matches("data-t=").count(), 4);
    assert!(opening.contains(">15 traps<") && opening.contains(">1 trap<"));
    assert!(page.contains("<section id=\"nested\">"));
    let json = ws_results::schema_check::valid(&nested.to_json().unwrap(), "nested");
    assert_eq!(json["schema"], "worldswitch-nested/2");
    let plain = render(&Report {
        results: &results[..2],
        ..Report::default()
    })
    .unwrap();
    assert!(!plain.contains("id=\"nested\""), "no nested VM, no view");
}

#[test]
fn the_page_opens_with_what_neve_saved_where_trapping_alone_was_measured_too() {
    let mut all = results();
    let mut trapping = all[2].clone();
    trapping.platform = trapping.platform.replace("@neve", "@nv");
    trapping.rows[0] = row("hypercall", 24_000, &[("hvc", 64), ("el2_eret", 4992)]);
    all.push(trapping);
    let page = render(&Report {
        results: &all,
        ..Report::default()
    })
    .unwrap();
    let sentence = "With NEVE (lab:neve-nested@neve+policy=kvm-4.10+vhe=1) one hypercall of a nested VM takes 6,300 \
        instructions instead of 24,000, and 15 traps instead of 79 traps.";
    assert!(page.contains(sentence), "{page}");
}
