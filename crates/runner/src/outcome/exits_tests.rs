//! Tests: the host's counts against the guest's verdict.

use super::*;
use crate::outcome::row::External;
use serde_json::json;
use ws_results::Check;

/// A monitor's counts for 1,000 operations.
fn exits(more: serde_json::Value) -> Exits {
    let mut object = json!({"bench": "x", "operations": 1000});
    let more = more.as_object().unwrap().clone();
    object.as_object_mut().unwrap().extend(more);
    serde_json::from_value(object).unwrap()
}

/// A measured row with this verdict of the guest.
fn row(bench: &str, verdict: Verdict, exits: Option<Exits>) -> RowReport {
    let mut report = RowReport::without(bench, Status::Ok, "");
    report.reason = None;
    report.check = Some(Check {
        verdict,
        note: "the guest's word".into(),
    });
    report.exits = exits;
    report
}

/// The verdict, status and note of a row after the judgement.
fn judged(
    bench: &str,
    verdict: Verdict,
    engine: Engine,
    more: serde_json::Value,
) -> (Verdict, Status, String) {
    let mut report = row(bench, verdict, Some(exits(more)));
    judge(&mut report, engine, Architecture::X86_64, &[]);
    let check = report.check.unwrap();
    assert_eq!(report.reason.is_some(), report.status == Status::Failed);
    (check.verdict, report.status, check.note)
}

use Engine::{HardwareKvm, SoftwareKvm};
use Verdict::{Failed, Proved, Unproven};

#[test]
fn as_many_hypercalls_and_exits_as_calls_prove_them() {
    let counts = json!({"kvm": {"hypercalls": 1000, "exits": 1012, "irq_exits": 12}});
    let (verdict, status, note) = judged("hypercall", Unproven, HardwareKvm, counts);
    assert_eq!((verdict, status), (Proved, Status::Ok));
    assert_eq!(
        note,
        "the guest's word. On the host: KVM counted 1000 hypercalls in 1012 exits for 1000 operations"
    );
}

#[test]
fn fewer_hypercalls_or_exits_than_calls_contradict_them() {
    for counts in [
        json!({"kvm": {"hypercalls": 999, "exits": 1012}}),
        json!({"kvm": {"hypercalls": 1000, "exits": 999}}),
        json!({"kvm": {}}),
    ] {
        let (verdict, status, _) = judged("hypercall", Unproven, HardwareKvm, counts);
        assert_eq!((verdict, status), (Failed, Status::Failed));
    }
    // Even if the guest's own check proved it.
    let counts = json!({"kvm": {}, "returns": {"io": 999}});
    let (verdict, status, _) = judged("in", Proved, HardwareKvm, counts);
    assert_eq!((verdict, status), (Failed, Status::Failed));
}

#[test]
fn counters_of_a_software_kvm_prove_and_contradict_nothing() {
    for counts in [
        json!({"kvm": {"hypercalls": 1000, "exits": 1000}}),
        json!({"kvm": {}}),
        json!({"kvm": null}),
    ] {
        let (verdict, status, note) = judged("hypercall", Unproven, SoftwareKvm, counts);
        assert_eq!((verdict, status), (Unproven, Status::Ok));
        assert_eq!(note, "the guest's word");
    }
}

#[test]
fn a_kernel_without_counters_proves_nothing() {
    let (verdict, ..) = judged("hypercall", Unproven, HardwareKvm, json!({"kvm": null}));
    assert_eq!(verdict, Unproven);
}

#[test]
fn what_comes_back_to_the_monitor_counts_on_any_kvm() {
    for engine in [HardwareKvm, SoftwareKvm] {
        let (verdict, ..) = judged("out", Unproven, engine, json!({"returns": {"io": 1000}}));
        assert_eq!(verdict, Proved);
        let (verdict, ..) = judged("out", Unproven, engine, json!({"returns": {"mmio": 1000}}));
        assert_eq!(verdict, Failed);
    }
}

#[test]
fn marks_for_a_host_that_listens_are_not_taken_for_operations() {
    let counts = json!({"returns": {"io": 999}});
    let mut timed = row("out", Unproven, Some(exits(counts)));
    timed.external = Some(External::none(3, String::new()));
    judge(&mut timed, HardwareKvm, Architecture::X86_64, &[]);
    assert_eq!(timed.check.unwrap().verdict, Unproven);
}

#[test]
fn a_page_that_was_not_there_and_is_was_cold() {
    for engine in [HardwareKvm, SoftwareKvm] {
        let pages = |before: u64, after: u64| {
            let counts = json!({"pages_before": before, "pages_after": after});
            judged("cold-memory-access", Unproven, engine, counts).0
        };
        assert_eq!(pages(5000, 6000), Proved);
        assert_eq!(pages(5000, 6100), Proved);
        assert_eq!(pages(5000, 5999), Failed);
        assert_eq!(pages(6000, 5000), Failed);
        // Pages of 2 MiB serve many operations each.
        assert_eq!(pages(1536, 1536), Unproven);
        assert_eq!(pages(1536, 2048), Unproven);
        assert_eq!(pages(0, 0), Failed);
        assert_eq!(pages(1024, 2048), Unproven);
        let (verdict, ..) = judged("cold-memory-access", Unproven, engine, json!({}));
        assert_eq!(verdict, Unproven, "nobody looked");
    }
}

#[test]
fn every_byte_of_a_string_must_have_arrived() {
    let print = |counts| judged("print", Unproven, HardwareKvm, counts).0;
    assert_eq!(print(json!({"returns": {"io": 32_000}})), Proved);
    assert_eq!(print(json!({"returns": {"io": 1000}})), Unproven);
    assert_eq!(print(json!({"returns": {"io": 999}})), Failed);
}

#[test]
fn a_row_that_need_not_leave_the_guest_and_does_says_so_and_keeps_its_figures() {
    let counts = json!({"kvm": {"exits": 1030, "irq_exits": 30}});
    let (verdict, status, note) = judged("sgdt", Proved, HardwareKvm, counts);
    assert_eq!((verdict, status), (Proved, Status::Ok));
    assert!(note.contains("unneeded exits"), "{note}");
    let counts = json!({"kvm": {"exits": 330, "irq_exits": 30}});
    let (.., note) = judged("sgdt", Proved, HardwareKvm, counts);
    assert_eq!(note, "the guest's word");
    let few = json!({"operations": 30, "kvm": {"exits": 30}});
    assert_eq!(
        judged("idle", Proved, HardwareKvm, few).2,
        "the guest's word"
    );
}

#[test]
fn what_depends_and_what_is_unknown_is_left_alone() {
    for bench in ["set-cr3", "ipi-halted", "somebodys-own"] {
        let (verdict, status, note) = judged(bench, Unproven, HardwareKvm, json!({"kvm": {}}));
        assert_eq!((verdict, status), (Unproven, Status::Ok));
        assert_eq!(note, "the guest's word");
    }
    let none = json!({"operations": 0, "kvm": {}});
    assert_eq!(judged("hypercall", Unproven, HardwareKvm, none).0, Unproven);
}

#[test]
fn a_check_that_failed_stays_failed_and_a_row_without_counts_stays_as_it_is() {
    let mut failed = row("in", Failed, Some(exits(json!({"returns": {"io": 1000}}))));
    failed.status = Status::Failed;
    judge(&mut failed, HardwareKvm, Architecture::X86_64, &[]);
    assert_eq!(failed.check.unwrap().verdict, Failed);
    let mut silent = row("in", Unproven, None);
    let before = silent.clone();
    judge(&mut silent, HardwareKvm, Architecture::X86_64, &[0]);
    assert_eq!(silent, before);
}

#[test]
fn a_pinned_vcpu_that_ran_elsewhere_is_told() {
    let strayed = |pins: &[u32], more| {
        let mut report = row("sgdt", Proved, Some(exits(more)));
        judge(&mut report, HardwareKvm, Architecture::X86_64, pins);
        report.strayed
    };
    assert!(strayed(&[2, 3], json!({"host_cpus": [2, -1]})).is_empty());
    assert!(strayed(&[], json!({"host_cpus": [1], "moves": 7})).is_empty());
    assert_eq!(
        strayed(&[2, 3], json!({"host_cpus": [2, 1], "moves": 1})),
        [
            "vCPU 1 was pinned to CPU 3 and ran on CPU 1",
            "pinned vCPUs changed their CPU 1 times"
        ]
    );
}

#[test]
fn steps_are_in_the_view_and_no_metric_of_a_machine_without_monitor() {
    let native = exits(json!({"steps": {"recv-to-send": 7}, "traced": 9}));
    assert_eq!(samples(&native, &Samples::default()), []);
    let seen = view(&row("tcp-rr", Verdict::Proved, Some(native)), 1).unwrap();
    assert_eq!((seen.steps["recv-to-send"], seen.traced), (7, Some(9)));
    let vm = exits(json!({"kvm": {"exits": 5}, "threads": {"vcpu0": 3}, "steps": {"a": 1}}));
    assert_eq!(samples(&vm, &Samples::default()).len(), 2);
    let seen = view(&row("tcp-rr", Verdict::Proved, Some(vm)), 1).unwrap();
    assert_eq!(seen.threads["vcpu0"], 3);
}

#[test]
fn counts_become_a_view_and_samples() {
    let totals = |exits: &Exits| -> Vec<(&str, u64)> {
        let samples = samples(exits, &Samples::default());
        samples.iter().map(|(name, s)| (*name, s.run[0])).collect()
    };
    let mut report = row(
        "in",
        Unproven,
        Some(exits(
            json!({"returns": {"io": 1000, "hlt": 2}, "kvm": {"exits": 1010}, "pages_before": 7, "pages_after": 8}),
        )),
    );
    assert_eq!(
        totals(report.exits.as_ref().unwrap()),
        [("exits", 1010), ("returns", 1002)]
    );
    report.launch = 1;
    let view = view(&report, 3).unwrap();
    assert_eq!(
        (view.boot, view.launch, view.operations),
        (3, 1, Some(1000))
    );
    assert_eq!((view.pages_before, view.pages_after), (Some(7), Some(8)));
    report.exits = None;
    assert_eq!(super::view(&report, 3), None);
    assert!(totals(&exits(json!({"operations": 0}))).is_empty());
    assert_eq!(totals(&exits(json!({}))), [("returns", 0)]);
}

#[test]
fn every_row_of_the_table_is_named_once() {
    for rules in [&RULES[..], &ARM_RULES, &RISCV_RULES, &MMIO_RULES] {
        for (index, (name, _)) in rules.iter().enumerate() {
            assert!(
                !rules[..index].iter().any(|(other, _)| other == name),
                "{name}"
            );
        }
    }
}

#[test]
fn each_architecture_is_judged_by_its_own_counters() {
    let counts = json!({
        "returns": {"mmio": 1000, "sbi": 1000},
        "kvm": {"exits": 1000, "mmio_exit_kernel": 1000, "csr_exit_kernel": 1000},
    });
    let check = |bench, architecture| {
        let mut report = row(bench, Unproven, Some(exits(counts.clone())));
        judge(&mut report, HardwareKvm, architecture, &[]);
        report.check.unwrap()
    };
    let verdict = |bench, architecture| check(bench, architecture).verdict;
    let note = |bench, architecture| check(bench, architecture).note;
    for bench in ["hypercall", "interrupt-controller-trap", "in", "out"] {
        assert_eq!(verdict(bench, Architecture::Aarch64), Proved, "{bench}");
    }
    for bench in [
        "hypercall",
        "hypercall-user",
        "read-counter",
        "set-timer",
        "remote-fence-halted",
        "interrupt-controller-trap",
        "in",
        "out",
    ] {
        assert_eq!(verdict(bench, Architecture::Riscv64), Proved, "{bench}");
    }
    for bench in ["set-cr3", "tlb-invalidate", "write-vector-base"] {
        assert_eq!(verdict(bench, Architecture::Riscv64), Unproven, "{bench}");
        assert!(note(bench, Architecture::Riscv64).contains("unneeded exits"));
    }
    assert_eq!(note("set-cr3", Architecture::Aarch64), "the guest's word");
    assert_eq!(
        verdict("in", Architecture::X86_64),
        Failed,
        "no port was read"
    );
    assert_eq!(verdict("set-cr3", Architecture::Aarch64), Unproven);
    let trap = verdict("interrupt-controller-trap", Architecture::X86_64);
    assert_eq!(trap, Proved, "KVM counted the exits");
}
