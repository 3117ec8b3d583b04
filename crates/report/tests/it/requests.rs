//! Tests of the table of I/O requests in the lab.

use crate::page::{page, section};
use crate::support::{absent, house, measured, result};
use serde_json::json;
use ws_report::{IoLine, Requests};
use ws_results::{COST, EXITS_UNIT, HostView, ResultFile, Row, Samples, Status};

/// A row whose 100 requests took these instructions each in every boot, with these counts of all.
fn row(name: &str, insns: u64, exits: u64, reasons: &[(&str, u64)]) -> Row {
    let mut row = measured(name, "io", "insns", &[&[insns], &[insns]]);
    row.work = Some("request".into());
    row.host = vec![HostView {
        boot: 1,
        operations: Some(100),
        kvm: Some(
            [
                ("exits".to_owned(), exits),
                ("irq_injections".to_owned(), 103),
            ]
            .into(),
        ),
        reasons: reasons
            .iter()
            .map(|(name, n)| ((*name).to_owned(), *n))
            .collect(),
        ..HostView::default()
    }];
    row
}

/// Some rows of the lab's VM, and other rows of the same category.
fn lab(platform: &str) -> ResultFile {
    let kicked = [("hlt", 101), ("npf", 100), ("interrupt", 1), ("cpuid", 5)];
    let rows = vec![
        row("io-qemu-d1", 101_521, 207, &kicked),
        row("io-qemu-d8-busy", 79_607, 35, &kicked[1..2]),
        row("io-elvis-d1", 43_462, 104, &kicked[..1]),
        {
            let why = "there is no elvis";
            let mut row = absent("io-elvis-d8", "io", Status::Skip, why);
            row.work = Some("request".into());
            row
        },
        measured("in", "io", "insns", &[&[3400]]),
        measured("io-mine-d1", "io", "ns", &[&[3400]]),
    ];
    result(platform, 2, json!({"unit": "insns"}), rows)
}

fn requests(results: &[ResultFile]) -> Requests {
    Requests::of(results, &ws_report::reference::load().unwrap())
}

fn line<'a>(requests: &'a Requests, name: &str) -> &'a IoLine {
    let mut lines = requests.lines.iter();
    lines.find(|line| line.benchmark == name).unwrap()
}

#[test]
fn a_request_has_its_exits_by_reason() {
    let results = [lab("lab:kvm-linux")];
    assert!(Requests::concerns(&results) && !Requests::concerns(&house()));
    let requests = requests(&results);
    assert_eq!(requests.lines.len(), 4);
    let qemu = line(&requests, "io-qemu-d1");
    assert_eq!(
        (&*qemu.row.device, qemu.row.depth, qemu.row.busy),
        ("qemu", 1, false)
    );
    assert_eq!(
        (qemu.insns, qemu.exits(), qemu.injected()),
        (Some(101_521.0), Some(2.07), Some(1.03))
    );
    let by = |reason| {
        (
            qemu.exits_by(&[reason]),
            line(&requests, "io-elvis-d1").exits_by(&[reason]),
        )
    };
    assert_eq!(by("npf"), (Some(1.0), Some(0.0)));
    assert_eq!(by("hlt"), (Some(1.01), Some(1.01)));
    let lost = line(&requests, "io-elvis-d8");
    assert_eq!(
        (lost.exits(), lost.exits_by(&["npf"]), lost.injected()),
        (None, None, None)
    );
}

#[test]
fn a_machine_that_counts_exits_only_has_their_spread_and_vmx_s_reasons() {
    let mut row = row(
        "io-elvis-d1",
        0,
        3,
        &[("msr_write", 2), ("ept_misconfig", 100), ("interrupt", 1)],
    );
    row.metrics.clear();
    for (boot, exits) in [(1, 3), (2, 9)] {
        let samples = Samples {
            boot,
            iterations: 100,
            run: vec![exits],
            control: vec![0],
            ..Samples::default()
        };
        row.add(COST, EXITS_UNIT, samples);
    }
    let result = result(
        "lab:kvm-intel-linux",
        2,
        json!({"unit": EXITS_UNIT}),
        vec![row],
    );
    let requests = requests(&[result]);
    let elvis = line(&requests, "io-elvis-d1");
    assert_eq!((elvis.insns, &elvis.why), (None, &None));
    assert_eq!(elvis.exits_of_boots, Some([0.03, 0.09]));
    let terminal = requests.to_terminal();
    let line = "elvis   virtio-blk, elvis      1  sleeps                -     -  0.03 to 0.09  1.00  0.00  0.01  0.02   0.00   0.00      1.03";
    assert!(terminal.contains(line), "{terminal}");
}

#[test]
fn the_table_has_the_paper_s_figures_and_the_reasons_of_lost_rows() {
    let requests = requests(&[lab("lab:kvm-linux")]);
    let terminal = requests.to_terminal();
    let line = "qemu    virtio-blk, QEMU's main loop      1  sleeps          101,521     -   2.07  1.00  1.01  0.01  0.00   0.00   0.05      1.03";
    assert!(terminal.contains(line), "{terminal}");
    assert!(!terminal.contains("platform"));
    let markdown = requests.to_markdown();
    assert!(
        markdown.contains("|  |  | 8 | busy | 79,607 |"),
        "{markdown}"
    );
    for text in [&terminal, &markdown] {
        assert!(text.contains("io-elvis-d8 on lab:kvm-linux: there is no elvis"));
        for stated in [
            "142K",
            "109K",
            "146K",
            "53K",
            "39K",
            "60K",
            "less than 800",
            "500 of them",
            "x3550 M4",
        ] {
            assert!(text.contains(stated), "{stated} is not in {text}");
        }
    }
}

#[test]
fn several_platforms_are_told_apart_line_by_line() {
    let requests = requests(&[lab("lab:kvm-linux"), lab("lab:kvm-linux@6.1")]);
    let text = requests.to_terminal();
    assert!(text.contains("platform"));
    let platforms: Vec<&str> = requests
        .lines
        .iter()
        .take(2)
        .map(|line| &*line.platform)
        .collect();
    assert_eq!(platforms, ["lab:kvm-linux", "lab:kvm-linux@6.1"]);
}

#[test]
fn idle_time_above_one_percent_is_said() {
    let mut result = lab("lab:kvm-linux");
    let mut set = |row: usize, ticks| {
        result.rows[row].host[0].steps = [("idle".to_owned(), ticks)].into();
    };
    set(0, 101_521 * 100 / 50);
    set(2, 43_462 * 100 / 200);
    let requests = requests(&[result]);
    let text = requests.to_terminal();
    assert!(text.contains("io-qemu-d1 on lab:kvm-linux: all CPUs were idle in 2.0 % of its ticks"));
    assert!(!text.contains("io-elvis-d1 on"));
    let json = ws_results::schema_check::valid(&requests.to_json().unwrap(), "io");
    assert_eq!(json["lines"][2]["device"], "elvis");
    assert_eq!(json["lines"][2]["idle"], 0.005);
}

#[test]
fn requests_open_the_page_with_what_serves_a_disk_best() {
    let mut result = lab("lab:kvm-linux");
    result.rows.retain(|row| row.work.is_some());
    let whole = page(&[result]);
    let opening = &whole[..whole.find("</header>").unwrap()];
    let sentence = "One virtio-blk request served by elvis takes 43,462 instructions and 1.04 exits; by QEMU's main \
        loop it takes 101,521 instructions and 2.07 exits.";
    assert!(opening.contains(sentence), "{opening}");
    // One request at a time and a vCPU that sleeps; a lost row has no bar.
    assert_eq!(opening.matches("<div class=\"bar h0\"").count(), 2);
    assert!(opening.contains("hlt 1.01, npf 1.00, cpuid 0.05, interrupt 0.01"));
    let requests = section(&whole, "requests");
    assert!(requests.contains("there is no elvis") && requests.contains("142K"));
    assert!(requests.contains(">busy<") && !requests.contains("<figure"));
    assert!(whole.find("id=\"requests\"") < whole.find("id=\"boots\""));
    assert!(!page(&house()).contains("id=\"requests\""));
}
