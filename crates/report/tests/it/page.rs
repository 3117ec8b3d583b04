//! Tests of the report's text. Its behaviour in a browser is tested in tests/e2e/report.bats.

use crate::support::{house, many_runs, measured, render, result};
use proptest::prelude::*;
use serde_json::json;
use ws_report::page::Report;
use ws_report::{Options, table};
use ws_results::{Disturbance, ResultFile};

pub fn page(results: &[ResultFile]) -> String {
    let report = Report {
        results,
        ..Report::default()
    };
    render(&report).unwrap()
}

/// The section of that id.
pub fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let from = page.find(&format!("<section id=\"{id}\"")).unwrap();
    let page = &page[from..];
    &page[..page.find("</section>").unwrap()]
}

/// The first screen.
pub fn opening(page: &str) -> &str {
    &page[..page.find("</header>").unwrap()]
}

#[test]
fn the_same_results_make_the_same_page() {
    assert_eq!(page(&house()), page(&house()));
    let empty = page(&[]);
    assert!(empty.contains("<h1>Nothing here was measured.</h1>") && !empty.contains("<section"));
}

#[test]
fn what_the_doctor_found_stands_in_the_noise() {
    let timed = result(
        "qemu-tcg",
        2,
        json!({"unit": "tsc_ticks"}),
        vec![measured("in", "io", "tsc_ticks", &[&[100], &[100]])],
    );
    let with = |disturbances| ResultFile {
        disturbances,
        ..timed.clone()
    };
    let governor = Disturbance {
        id: "processor.governor".into(),
        severity: "warning".into(),
        title: "frequency governor".into(),
        found: "<powersave>".into(),
        why: "It moves the clock.".into(),
    };
    let noise = |result: ResultFile| section(&page(&[result]), "noise").to_owned();
    let found = noise(with(Some(vec![governor])));
    assert!(found.contains("&lt;powersave&gt;") && found.contains("It moves the clock."));
    assert!(noise(with(Some(Vec::new()))).contains("found nothing"));
    assert!(noise(with(None)).contains("The host was not checked"));
}

#[test]
fn a_slowdown_is_on_time_and_added_instructions_are_on_counts() {
    let results = house();
    let page = page(&results);
    let overview = section(&page, "overview");
    assert!(overview.contains(">added<") && !overview.contains(">slowdown<"));
    assert!(overview.contains("One result is not compared: no baseline in its unit"));
    // The reasons of skipped rows are shown.
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
    assert!(section(&page, "overview").contains("<td class=\"compared\" data-v=\"4\">4.00x</td>"));
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
fn table_and_page_compare_each_result_with_the_same_baseline() {
    let of = |day: u32, platform: &str, arch: &str, value| {
        let rows = vec![measured("in", "io", "insns", &[&[value]])];
        let mut result = result(platform, 1, json!({"unit": "insns", "arch": arch}), rows);
        result.created = format!("2026-01-{day:02}T00:00:00Z");
        result
    };
    // Two architectures; in the second run the native costs are a little higher.
    let results = [
        of(1, "lab:native", "x86_64", 1),
        of(1, "lab:kvm", "x86_64", 3001),
        of(1, "lab:arm-native", "aarch64", 5),
        of(1, "lab:kvm-vhe", "aarch64", 1005),
        of(2, "lab:native", "x86_64", 2),
        of(2, "lab:kvm", "x86_64", 3001),
        of(2, "lab:kvm-vhe", "aarch64", 1006),
    ];
    let table = table(&results, &Options::default()).unwrap();
    let against: Vec<_> = table.columns.iter().map(|column| column.baseline).collect();
    let expected = [0, 0, 2, 2, 4, 4, 2].map(Some);
    assert_eq!(against, expected);
    let cells = table.rows[0].cells.iter().flatten();
    let added: Vec<_> = cells.map(|cell| cell.added).collect();
    let of_kvm = |a: f64, b: f64| [None, Some(a), None, Some(b)];
    assert_eq!(added[..4], of_kvm(3000.0, 1000.0));
    assert_eq!(added[4..], [None, Some(2999.0), Some(1001.0)]);
    let page = page(&results);
    let overview = section(&page, "overview");
    for shown in ["+3,000", "+1,000", "+2,999", "+1,001"] {
        assert!(overview.contains(&format!(">{shown}<")), "no {shown}");
    }
    assert!(overview.contains("Compared with lab:native and lab:arm-native, of the same run"));
}

#[test]
fn what_the_lab_does_not_show_is_said_once_and_only_where_there_are_counts() {
    let of = |platform: &str, unit: &str| {
        let rows = vec![measured("in", "io", unit, &[&[1]])];
        result(platform, 1, json!({"unit": unit, "arch": "x86_64"}), rows)
    };
    // A machine's caveat is shown with the machines that have it.
    let said = |name: &str, caveat: &str| {
        let mut result = of(name, "insns");
        let subject = &mut result.identity.subject;
        subject.insert("caveat".into(), caveat.into());
        result
    };
    let counted = page(&[
        of("lab:native", "insns"),
        said("lab:kvm", "no NRIPS"),
        said("lab:kvm-shadow", "no NRIPS"),
        said("lab:xen", "walks tables"),
    ]);
    for part in [
        "no microarchitecture",
        "lab:kvm, lab:kvm-shadow: no NRIPS.",
        "lab:xen: walks tables.",
    ] {
        assert!(opening(&counted).contains(part), "no {part}");
        assert_eq!(counted.matches(part).count(), 1, "{part} is said once");
    }
    // Not as a note of the table too, only in the identity.
    assert!(!section(&counted, "overview").contains("NRIPS"));
    let bare = page(&[of("lab:native", "insns")]);
    assert!(bare.contains("no microarchitecture") && !bare.contains("NRIPS"));
    assert!(!page(&[of("qemu-tcg", "tsc_ticks")]).contains("no microarchitecture"));
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
    assert!(
        !two.contains("id=\"iterations\""),
        "two points are always on a line"
    );
    let mut runs = [run(10), run(100), run(1000)];
    let three = page(&runs);
    assert!(section(&three, "iterations").contains("<svg "));
    assert!(section(&three, "iterations").contains("1,000 iterations: 100"));
    // If the guest chose them, they are not an experiment.
    for run in &mut runs {
        run.command.truncate(2);
    }
    assert!(!page(&runs).contains("id=\"iterations\""));
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
    assert!(!alike.contains("id=\"placement\""));
}

#[test]
fn variants_of_a_xen_machine_are_drawn_relative_to_the_first() {
    let run = |platform: &str, value| {
        let rows = vec![measured("in", "io", "insns", &[&[value]])];
        result(platform, 1, json!({"unit": "insns"}), rows)
    };
    let both = page(&[run("lab:xen-linux", 100), run("lab:xen-linux@apart", 150)]);
    let variants = section(&both, "variants");
    for text in [
        "1.50x",
        "lab:xen-linux@apart",
        "HyperBench, Figure 6",
        "3021x",
    ] {
        assert!(variants.contains(text), "no {text} in {variants}");
    }
    // Another machine, and variants of machines without Xen's dom0.
    for alone in [
        [run("lab:xen-linux", 100), run("lab:xen", 150)],
        [run("lab:kvm", 100), run("lab:kvm@6.12", 150)],
    ] {
        assert!(!page(&alone).contains("id=\"variants\""));
    }
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
        "published numbers are not drawn on our axes"
    );
}

#[test]
fn a_paper_s_table_stands_whole_and_says_what_is_not_ours() {
    let rows = vec![
        measured("hypercall", "exception", "insns", &[&[1061]]),
        measured("irq-completion", "exception", "insns", &[&[3]]),
        measured("set-page-table-4k", "memory", "insns", &[&[34]]),
    ];
    let page = page(&[result("lab:kvm-vhe", 1, json!({"unit": "insns"}), rows)]);
    let published = section(&page, "published");
    let dall = published.rsplit("A Measurement Study").next().unwrap();
    for row in [
        "Hypercall",
        "Interrupt Controller Trap",
        "Virtual IPI",
        "Virtual IRQ Completion",
        "VM Switch",
        "I/O Latency Out",
        "I/O Latency In",
    ] {
        assert!(dall.contains(&format!("{row}<br>")), "no {row}");
    }
    let dall = &dall[..dall.find("</table>").unwrap()];
    assert!(dall.contains("18,923") && dall.contains("not measured"));
    // In the table itself, not only below it.
    let set = published.split("Set Page Table<br>").nth(1).unwrap();
    let line = &set[..set.find("</tr>").unwrap()];
    assert!(line.contains("The units of work differ"), "{line}");
}

/// A result of one row, with the last boot perturbed.
fn banded(platform: &str, benchmark: &str, boots: &[&[u64]]) -> ResultFile {
    let rows = vec![measured(benchmark, "io", "insns", boots)];
    let count = u32::try_from(boots.len()).unwrap();
    let mut result = result(platform, count, json!({"unit": "insns"}), rows);
    result.boots.last_mut().unwrap().perturbed = Some(ws_results::Perturbation {
        pad: Some(17),
        memory_mib: None,
    });
    result
}

#[test]
fn a_perturbed_boot_has_no_mark_but_a_band() {
    let results = [banded("lab:kvm", "in", &[&[3000], &[3000], &[3011]])];
    let page = page(&results);
    let boots = section(&page, "boots");
    assert_eq!(boots.matches("<use ").count(), 2);
    assert!(boots.contains("<rect class=\"band\""), "{boots}");
    assert!(boots.contains("3,000 to 3,011 with 1 perturbed boot"));
    assert!(boots.contains(">exact<"));
    let page = self::page(&[banded("lab:kvm", "in", &[&[7], &[7], &[7]])]);
    assert!(section(&page, "boots").contains("invariant with 1 perturbed boot"));
}

#[test]
fn verdicts_and_predictions_are_drawn_and_escaped() {
    let name = "<q>in";
    let mut native = banded("lab:native", name, &[&[1], &[1], &[1]]);
    native.rows[0].benchmark = name.into();
    let base = banded("lab:kvm", name, &[&[3000], &[3000], &[3000]]);
    let mut other = banded("lab:kvm-shadow", name, &[&[3369], &[3369], &[3369]]);
    let subject = &mut other.identity.subject;
    subject.insert("caveat".into(), "<i>no NRIPS".into());
    let compared =
        ws_analysis::compare_results(&base, &other, &ws_analysis::CompareOptions::default());
    let modelled = |guest: &ResultFile| {
        let model = ws_analysis::model::fit(
            std::slice::from_ref(guest),
            std::slice::from_ref(&native),
            &ws_analysis::model::ModelOptions::default(),
        )
        .unwrap();
        let counts = [(name.to_owned(), 2.0)].into();
        let prediction = ws_analysis::model::predict(&model, &counts, vec!["<u>".into()]);
        ws_report::Modelled {
            model,
            prediction: Some(prediction.unwrap()),
        }
    };
    let report = Report {
        results: &[native.clone(), base.clone(), other.clone()],
        comparisons: vec![compared.unwrap()],
        not_compared: vec!["no <base>".into()],
        models: vec![modelled(&base), modelled(&other)],
        workload: "<web>".into(),
        not_modelled: vec!["no <paging>".into()],
        ..Report::default()
    };
    let page = render(&report).unwrap();
    for text in ["<q>", "<i>", "<u>", "<base>", "<web>", "<paging>"] {
        assert!(!page.contains(text), "{text}");
    }
    let verdicts = section(&page, "verdicts");
    for part in [
        "<h3>lab:kvm-shadow: 1 worse</h3>",
        "lab:kvm-shadow against lab:kvm: what changed",
        "<td class=\"verdict worse\">worse</td>",
        ">+369<",
        "369 instructions more",
        "Not compared: no &lt;base&gt;",
    ] {
        assert!(verdicts.contains(part), "{part} is not in {verdicts}");
    }
    assert!(opening(&page).contains("&lt;i&gt;no NRIPS"));
    let model = section(&page, "model");
    // One of each platform of the one term, and their sums.
    assert_eq!(model.matches("<div class=\"bar h").count(), 4);
    for part in [
        "&lt;web&gt;: what virtualization adds",
        "<td class=\"value\">5,998</td>",
        "<td class=\"value\"><b>6,736</b></td>",
        "0: with nested paging there are no shadow",
        "not included: &lt;u&gt;",
        "No model: no &lt;paging&gt;",
        "a trap itself costs nothing here",
        "&lt;i&gt;no NRIPS",
    ] {
        assert!(model.contains(part), "{part} is not in {model}");
    }
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
    /// Anything that a result file may contain: extreme ticks, unknown units, strings of a hostile guest.
    #[test]
    fn any_results_make_a_page(
        boots in proptest::collection::vec(proptest::collection::vec(any::<(u64, u64)>(), 1..4), 0..4),
        iterations in 1u64.., unit in "(insns|tsc_ticks|per_s|\\PC{0,5})", text in any::<String>(), step in any::<u32>(),
    ) {
        let runs: Vec<Vec<u64>> = boots.iter().map(|b| b.iter().map(|s| s.0).collect()).collect();
        let runs: Vec<&[u64]> = runs.iter().map(Vec::as_slice).collect();
        let mut row = measured(&text, &text, &unit, &runs);
        for (samples, boot) in row.metrics[0].boots.iter_mut().zip(&boots) {
            samples.control = boot.iter().map(|s| s.1).collect();
            samples.iterations = iterations;
        }
        for name in ["experiment", "role"] {
            row.conditions.insert(name.into(), json!(text));
        }
        let mut whole = row.clone();
        whole.work = Some(text.clone());
        whole.host = vec![ws_results::HostView {
            operations: Some(iterations),
            kvm: Some([(text.clone(), iterations)].into()),
            reasons: [("npf".to_owned(), u64::MAX), (text.clone(), iterations)].into(),
            threads: [("vcpu0".to_owned(), u64::MAX), ("vcpu1".to_owned(), iterations)].into(),
            steps: [("send-to-recv".to_owned(), u64::MAX), ("recv-to-send".to_owned(), iterations)].into(),
            ..ws_results::HostView::default()
        }];
        row.conditions.insert("step".into(), json!(step));
        let mut rows = vec![row.clone()];
        for (name, category) in [("io-x-d1", "io"), ("tcp-rr", "application")] {
            (whole.benchmark, whole.category) = (name.into(), category.into());
            rows.push(whole.clone());
        }
        row.benchmark.push('2');
        row.conditions.insert("step".into(), json!(7));
        rows.push(row);
        let conditions = json!({"unit": unit, "pinning": text});
        let mut results = [
            result(&text, 3, conditions.clone(), rows.clone()),
            result("lab:native", 3, conditions.clone(), rows.clone()),
            result("lab:linux", 3, conditions.clone(), rows.clone()),
            result("lab:kvm-linux", 3, conditions, rows),
        ];
        results[0].command.push("--iters".into());
        let page = page(&results);
        prop_assert_eq!(page.matches("<script").count(), 1);
        prop_assert_eq!(page.matches("<section").count(), page.matches("</section>").count());
        prop_assert!(page.contains("id=\"identity\"") && page.contains("<h1>"));
    }
}
