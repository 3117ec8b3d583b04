//! Tests of the table of applications.

use crate::support::{absent, measured, result};
use serde_json::json;
use ws_report::{AppLine, Apps};
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
    Apps::of(results, &ws_report::reference::load().unwrap())
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
fn workloads_are_in_the_papers_order_with_ratios_to_the_machine_without_a_hypervisor() {
    let apps = apps(&results());
    assert_eq!(apps.native.as_deref(), Some("lab:linux"));
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
fn without_the_native_machine_there_are_no_ratios() {
    let mut results = results();
    results.remove(0);
    let apps = apps(&results);
    assert_eq!(apps.native, None);
    assert!(
        apps.workloads
            .iter()
            .flat_map(|app| &app.lines)
            .all(|line| line.ratio.is_none())
    );
}
