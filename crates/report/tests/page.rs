//! The report as text. What a browser makes of it is tested in tests/e2e/report.bats.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[allow(dead_code)]
mod support;

use proptest::prelude::*;
use serde_json::json;
use support::{house, many_runs, measured, result};
use ws_report::page::*;
use ws_results::ResultFile;

fn page(results: &[ResultFile]) -> String {
    let report = Report {
        results,
        ..Report::default()
    };
    render(&report).unwrap()
}

/// The section of that id.
fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let from = page.find(&format!("<section id=\"{id}\"")).unwrap();
    let page = &page[from..];
    &page[..page.find("</section>").unwrap()]
}

#[test]
fn the_same_results_make_the_same_page() {
    assert_eq!(page(&house()), page(&house()));
    let empty = page(&[]);
    assert!(empty.contains("0 results of 0 platforms"));
}

#[test]
fn a_slowdown_is_on_time_and_added_instructions_are_on_counts() {
    let results = house();
    let page = page(&results);
    let overview = section(&page, "overview");
    assert!(overview.contains(">added<") && !overview.contains(">slowdown<"));
    assert!(overview.contains("One result is not compared: no baseline in its unit"));
    // The reasons of what was skipped are there.
    assert!(overview.contains("hypercall=none: no hypervisor is here"));
    let timed = result(
        "qemu-tcg",
        2,
        json!({"unit": "tsc_ticks"}),
        vec![measured("in", "io", "tsc_ticks", &[&[100], &[100]])],
    );
    let mut slower = timed.clone();
    slower.platform = "kvm".into();
    slower.rows = vec![measured("in", "io", "tsc_ticks", &[&[400], &[400]])];
    let report = Report {
        results: &[timed, slower],
        baseline: Some("qemu-tcg".into()),
        ..Report::default()
    };
    let page = render(&report).unwrap();
    assert!(
        section(&page, "overview").contains("<td class=\"compared c4\" data-v=\"4\">4.00x</td>")
    );
}

#[test]
fn a_run_is_compared_with_the_baseline_of_its_own_run() {
    let run = |day: u32, base: u64, other: u64| {
        let of = |platform: &str, value| {
            let mut result = result(
                platform,
                1,
                json!({"unit": "insns"}),
                vec![measured("in", "io", "insns", &[&[value]])],
            );
            result.created = format!("2026-01-{day:02}T00:00:00Z");
            result
        };
        [of("lab:native", base), of("lab:kvm", other)]
    };
    let results = [run(1, 1, 3001), run(2, 2, 3003)].concat();
    let page = page(&results);
    let overview = section(&page, "overview");
    assert!(
        overview.contains(">+3,000<") && overview.contains(">+3,001<"),
        "{overview}"
    );
    assert!(!overview.contains(">+3,002<"));
}

#[test]
fn what_the_lab_does_not_show_stands_where_its_counts_do_and_only_there() {
    let of = |platform: &str, unit: &str| {
        let rows = vec![measured("in", "io", unit, &[&[1]])];
        page(&[result(
            platform,
            1,
            json!({"unit": unit, "arch": "x86_64"}),
            rows,
        )])
    };
    let counted = of("lab:kvm", "insns");
    for id in ["overview", "boots", "published"] {
        assert!(
            section(&counted, id).contains("no microarchitecture"),
            "{id}"
        );
        assert!(section(&counted, id).contains("no NRIPS"), "{id}");
    }
    assert!(!of("qemu-tcg", "tsc_ticks").contains("no microarchitecture"));
}

#[test]
fn two_units_are_two_plots() {
    let rows = |unit| vec![measured("in", "io", unit, &[&[7], &[8]])];
    let results = [
        result("lab:native", 2, json!({"unit": "insns"}), rows("insns")),
        result(
            "qemu-tcg",
            2,
            json!({"unit": "tsc_ticks"}),
            rows("tsc_ticks"),
        ),
    ];
    let page = page(&results);
    let plots: Vec<&str> = section(&page, "boots").split("<svg ").skip(1).collect();
    assert_eq!(plots.len(), 2);
    assert!(plots[0].contains("insns for one operation") && !plots[0].contains("tsc_ticks for"));
    assert!(plots[1].contains("tsc_ticks for one operation"));
}

#[test]
fn iterations_are_drawn_from_three_chosen_counts_on() {
    let run = |iterations: u64| {
        let mut row = measured("in", "io", "tsc_ticks", &[&[100]]);
        row.metrics[0].boots[0].iterations = iterations;
        row.metrics[0].boots[0].run = vec![100 * iterations];
        let mut result = result("qemu-tcg", 1, json!({"unit": "tsc_ticks"}), vec![row]);
        result
            .command
            .extend(["--iters".to_owned(), iterations.to_string()]);
        result
    };
    let two = page(&[run(10), run(100)]);
    assert!(section(&two, "iterations").contains("Not drawn: it takes 3 runs"));
    assert!(section(&two, "iterations").contains("These results have 2."));
    let mut runs = [run(10), run(100), run(1000)];
    let three = page(&runs);
    assert!(section(&three, "iterations").contains("<svg "));
    assert!(section(&three, "iterations").contains("1,000 iterations: 100"));
    // Where the guest chose them, they are no experiment.
    for run in &mut runs {
        run.command.truncate(2);
    }
    assert!(section(&page(&runs), "iterations").contains("Not drawn"));
}

#[test]
fn placement_is_drawn_where_pinnings_differ() {
    let run = |pinning: &str, value| {
        let rows = vec![measured("in", "io", "tsc_ticks", &[&[value]])];
        result(
            "kvm",
            1,
            json!({"unit": "tsc_ticks", "pinning": pinning}),
            rows,
        )
    };
    let both = page(&[run("2-3", 100), run("2,2", 150)]);
    let placement = section(&both, "placement");
    assert!(placement.contains("1.50x") && placement.contains("pinned to 2,2"));
    let alike = page(&[run("2-3", 100), run("2-3", 150)]);
    assert!(section(&alike, "placement").contains("Not drawn"));
}

#[test]
fn the_papers_figures_name_their_machine_and_unit() {
    let page = page(&house());
    let published = section(&page, "published");
    for words in [
        "Lenovo RQ940",
        "published, cycles",
        "2,178 (242x)",
        "HP Moonshot m400",
        ">insns<",
    ] {
        assert!(published.contains(words), "{words}");
    }
    assert!(
        !published.contains("<svg"),
        "nothing of theirs is drawn on an axis of ours"
    );
}

#[test]
fn verdicts_and_predictions_are_drawn_and_escaped() {
    let row = Compared {
        benchmark: "set-cr3".into(),
        unit: "insns".into(),
        base: "4".into(),
        other: "6,524".into(),
        change: "+6,520".into(),
        interval: "exact".into(),
        verdict: Verdict::Worse,
        note: "<b>".into(),
    };
    let component = |name: &str, cost, why: &str| Component {
        name: name.into(),
        cost,
        interval: Some((cost, cost * 1.1)),
        why: why.into(),
    };
    let report = Report {
        results: &house(),
        comparisons: vec![Comparison {
            base: "lab:kvm".into(),
            other: "lab:kvm-shadow".into(),
            differs: vec![["npt".into(), "1".into(), "0".into()]],
            method: "1 instruction".into(),
            rows: vec![row],
        }],
        predictions: vec![Prediction {
            name: "<mixed>".into(),
            unit: "insns".into(),
            components: vec![
                component("T_ext", 3022.0, "hypercall"),
                component("T_sync", 0.0, "nested paging keeps no shadow tables"),
            ],
            measured: Some(3050.0),
        }],
        ..Report::default()
    };
    let page = render(&report).unwrap();
    let verdicts = section(&page, "verdicts");
    assert!(
        verdicts.contains("<td class=\"verdict worse\">worse</td>")
            && verdicts.contains("&lt;b&gt;")
    );
    assert!(verdicts.contains("npt: 1, here 0"));
    let model = section(&page, "model");
    assert_eq!(
        model.matches("<rect class=\"h").count(),
        2,
        "one for each component"
    );
    assert!(
        model.contains("nested paging keeps no shadow tables") && model.contains("&lt;mixed&gt;")
    );
    assert!(model.contains("no microarchitecture"));
}

#[test]
fn a_baseline_that_is_not_there_is_an_error_that_lists_what_is() {
    let report = Report {
        results: &house(),
        baseline: Some("kvm".into()),
        ..Report::default()
    };
    let error = render(&report).unwrap_err().to_string();
    assert!(
        error.contains("no result of the baseline \"kvm\""),
        "{error}"
    );
}

#[test]
fn fifty_runs_stay_below_two_megabytes() {
    let page = page(&many_runs(50));
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    assert_eq!(
        section(&page, "overview").matches("<tr data-b=").count(),
        18
    );
}

proptest! {
    /// Whatever a result file may hold: extreme ticks, unknown units, strings of a hostile guest.
    #[test]
    fn any_results_make_a_page(
        boots in proptest::collection::vec(proptest::collection::vec(any::<(u64, u64)>(), 1..4), 0..4),
        iterations in 1u64.., unit in "(insns|tsc_ticks|per_s|\\PC{0,5})", text in any::<String>(),
    ) {
        let runs: Vec<Vec<u64>> = boots.iter().map(|b| b.iter().map(|s| s.0).collect()).collect();
        let runs: Vec<&[u64]> = runs.iter().map(Vec::as_slice).collect();
        let mut row = measured(&text, &text, &unit, &runs);
        for (samples, boot) in row.metrics[0].boots.iter_mut().zip(&boots) {
            samples.control = boot.iter().map(|s| s.1).collect();
            samples.iterations = iterations;
        }
        let mut rows = vec![row.clone()];
        row.benchmark.push('2');
        rows.push(row);
        let conditions = json!({"unit": unit, "pinning": text});
        let mut results = [
            result(&text, 3, conditions.clone(), rows.clone()),
            result("lab:native", 3, conditions, rows),
        ];
        results[0].command.push("--iters".into());
        let page = page(&results);
        prop_assert_eq!(page.matches("<script").count(), 1);
        prop_assert_eq!(page.matches("</section>").count(), 9);
    }
}
