//! Tests of what the page opens with, and of its colours.

use crate::support::{absent, measured, render, result};
use serde_json::json;
use ws_report::page::Report;
use ws_results::{Perturbation, ResultFile, Row, Status};

const INSNS: &str = "insns";

fn rows(unit: &str, values: &[(&str, u64)]) -> Vec<Row> {
    let row = |(name, value): &(&str, u64)| measured(name, "exception", unit, &[&[*value][..]; 3]);
    values.iter().map(row).collect()
}

fn of(platform: &str, unit: &str, values: &[(&str, u64)]) -> ResultFile {
    let conditions = json!({"unit": unit, "arch": "x86_64"});
    let mut result = result(platform, 3, conditions, rows(unit, values));
    if unit == INSNS {
        result.boots[2].perturbed = Some(Perturbation {
            pad: Some(17),
            memory_mib: None,
        });
    }
    result
}

/// Two guests and the native machine.
fn run() -> Vec<ResultFile> {
    let mut native = of(
        "lab:native",
        INSNS,
        &[("cpuid", 1), ("set-cr3", 1), ("sgdt", 1)],
    );
    let why = "no hypervisor is here";
    native
        .rows
        .push(absent("hypercall", "exception", Status::Skip, why));
    let guest = |name, cr3, hypercall| {
        let exits = [
            ("cpuid", 2795),
            ("set-cr3", cr3),
            ("sgdt", 1),
            ("hypercall", hypercall),
        ];
        let others = [("print", 215_357), ("wbinvd", 2900), ("invd", 2900)];
        of(name, INSNS, &[&exits[..], &others].concat())
    };
    vec![
        native,
        guest("lab:kvm", 1, 3032),
        guest("lab:kvm-shadow", 3370, 3000),
    ]
}

/// The first screen of the page.
fn opening(report: &Report) -> String {
    let page = render(report).unwrap();
    let from = page.find("<header").unwrap();
    page[from..page.find("</header>").unwrap()].to_owned()
}

/// The texts between these tags, in order.
fn between<'a>(page: &'a str, from: &str, to: &str) -> Vec<&'a str> {
    let parts = page.split(from).skip(1);
    parts.map(|part| &part[..part.find(to).unwrap()]).collect()
}

#[test]
fn the_finding_and_the_main_rows_by_what_they_cost_come_first() {
    let results = run();
    let opening = opening(&Report {
        results: &results,
        ..Report::default()
    });
    assert!(opening.contains(
        "<h1>In lab:kvm a hypercall takes 3,032 instructions; the longest exit is print, 215,357"
    ));
    // Not sgdt, which costs nothing, and not what few people ask for.
    let names = between(&opening, "<div class=\"name\">", "<");
    assert_eq!(names, ["print", "set-cr3", "hypercall", "cpuid"]);
    let keys = between(&opening, "<i class=\"box\"></i>", "<");
    assert_eq!(
        keys,
        ["lab:kvm", "lab:kvm-shadow"],
        "the baseline is not drawn"
    );
    assert!(opening.contains("(log axis)") && !opening.contains("class=\"bar h2\""));
    let details = between(&opening, "data-t=\"", "\"");
    assert_eq!(
        details[4],
        "hypercall, lab:kvm: 3,032 insns, of 2 boots; exact"
    );
    assert_eq!(
        details[7],
        "cpuid, lab:kvm-shadow: 2,795 insns, of 2 boots; +2,794 over lab:native; exact"
    );
}

#[test]
fn each_unit_has_its_own_chart() {
    let mut results = run();
    results.push(of("qemu-tcg", "tsc_ticks", &[("cpuid", 100), ("in", 3000)]));
    let opening = opening(&Report {
        results: &results,
        ..Report::default()
    });
    let charts: Vec<&str> = opening.split("<figure").skip(1).collect();
    assert_eq!(charts.len(), 2);
    assert!(charts[0].contains("in instructions") && !charts[0].contains("qemu-tcg"));
    assert!(charts[1].contains("ticks of the guest's clock") && !charts[1].contains("lab:"));
    assert_eq!(
        between(charts[1], "<div class=\"name\">", "<"),
        ["in", "cpuid"]
    );
}

#[test]
fn of_many_platforms_six_are_drawn_and_the_rest_counted() {
    let platform = |n: usize| {
        of(
            &format!("kvm@{n}"),
            "tsc_ticks",
            &[("cpuid", 100), ("in", 3000)],
        )
    };
    let results: Vec<ResultFile> = (0..9).map(platform).collect();
    let opening = opening(&Report {
        results: &results,
        ..Report::default()
    });
    assert_eq!(between(&opening, "<i class=\"box\"></i>", "<").len(), 6);
    assert!(opening.contains("3 more platforms in the table"));
}

fn compared(change: impl Fn(&str, u64) -> u64) -> String {
    let bases = run();
    let mut results = run();
    let mut comparisons = Vec::new();
    for (base, result) in bases.iter().zip(&mut results) {
        result.created = "2026-02-01T12:00:00Z".into();
        for row in &mut result.rows {
            let name = row.benchmark.clone();
            let boots = row.metrics.iter_mut().flat_map(|metric| &mut metric.boots);
            for ticks in boots.flat_map(|boot| &mut boot.run) {
                *ticks = if result.platform == "lab:kvm" {
                    change(&name, *ticks)
                } else {
                    *ticks
                };
            }
        }
        let options = ws_analysis::CompareOptions::default();
        comparisons.push(ws_analysis::compare_results(base, result, &options).unwrap());
    }
    render(&Report {
        results: &results,
        comparisons,
        ..Report::default()
    })
    .unwrap()
}

#[test]
fn a_base_is_drawn_too_and_the_sentence_is_about_what_changed() {
    let page = compared(|name, ticks| match name {
        "hypercall" => ticks + 13,
        "wbinvd" => ticks - 900,
        _ => ticks,
    });
    let sentence = "<h1>1 row costs more than in the base, most of all hypercall in lab:kvm, 3,032 to 3,045 instructions \
        (+13); 1 less; 15 the same.</h1>";
    assert!(
        page.contains(sentence),
        "{}",
        &page[page.find("<h1>").unwrap()..]
    );
    // A changed row has a place though it is no main one.
    let opening = &page[..page.find("</header>").unwrap()];
    let names = between(opening, "<div class=\"name\">", "<");
    assert_eq!(names, ["print", "set-cr3", "hypercall", "wbinvd", "cpuid"]);
    assert!(opening.contains("3,045 <span class=\"worse\">+13</span>"));
    assert!(opening.contains("2,000 <span class=\"better\">-900</span>"));
    // Two platforms with five lanes each.
    assert_eq!(opening.matches("<s style").count(), 10);
    let verdicts = &page[page.find("id=\"verdicts\"").unwrap()..];
    assert!(verdicts.contains("lab:kvm: 1 worse, 1 better, 5 no change"));
    assert!(verdicts.contains("<summary>lab:kvm-shadow: 7 no change</summary>"));
}

#[test]
fn where_nothing_changed_the_sentence_says_so() {
    let page = compared(|_, ticks| ticks);
    assert!(page.contains("<h1>Nothing changed against the base: all 17 rows are the same.</h1>"));
    let better = compared(|name, ticks| {
        if name == "hypercall" {
            ticks - 32
        } else {
            ticks
        }
    });
    let sentence = "<h1>1 row costs less than in the base, most of all hypercall in lab:kvm, 3,032 to 3,000 instructions \
        (-32); none costs more; 16 the same.</h1>";
    assert!(better.contains(sentence));
}

// ---- Colours ------------------------------------------------------------------------------------

/// A colour's parts in linear light.
type Light = [f64; 3];

fn light(hex: &str) -> Light {
    let hex = match hex.len() {
        4 => hex[1..].chars().flat_map(|c| [c, c]).collect(),
        _ => hex[1..].to_owned(),
    };
    [0, 2, 4].map(|at| {
        let part = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
        if part <= 0.04045 {
            part / 12.92
        } else {
            ((part + 0.055) / 1.055).powf(2.4)
        }
    })
}

fn times(matrix: &[Light; 3], colour: &Light) -> Light {
    matrix.map(|row| {
        row.iter()
            .zip(colour)
            .map(|(a, b)| a * b)
            .sum::<f64>()
            .clamp(0.0, 1.0)
    })
}

/// CIE 1976 L*a*b* of a colour, for D65.
fn lab(colour: &Light) -> Light {
    let xyz = [
        [0.4124, 0.3576, 0.1805],
        [0.2126, 0.7152, 0.0722],
        [0.0193, 0.1192, 0.9505],
    ];
    let white = [0.95047, 1.0, 1.08883];
    let sum = |row: &Light| row.iter().zip(colour).map(|(a, b)| a * b).sum::<f64>();
    let part = |index: usize| match sum(&xyz[index]) / white[index] {
        share if share > 216.0 / 24389.0 => share.cbrt(),
        share => 841.0 / 108.0 * share + 4.0 / 29.0,
    };
    let (x, y, z) = (part(0), part(1), part(2));
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// How colours are seen: by most people, and without one kind of cones (Machado, Oliveira and Fernandes, A
/// Physiologically-based Model for Simulation of Color Vision Deficiency, 2009, severity 1.0).
const SEEN: [[Light; 3]; 4] = [
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
];

#[test]
fn platforms_are_told_apart_with_each_kind_of_colour_blindness_in_light_and_dark() {
    const APART: f64 = 25.0;
    const DARK: &str = "@media (prefers-color-scheme: dark)";
    let common = include_str!("../../src/page/colours.css");
    let report = include_str!("../../src/page/page.css");
    let [common, report] = [common, report].map(|style| style.split_once(DARK).unwrap());
    for scheme in [
        common.0.to_owned() + report.0,
        common.1.to_owned() + report.1,
    ] {
        let colour = |name: &str| {
            let from = scheme.split(&format!("--{name}: ")).nth(1).unwrap();
            light(&from[..from.find(';').unwrap()])
        };
        let luminance =
            |colour: &Light| 0.2126 * colour[0] + 0.7152 * colour[1] + 0.0722 * colour[2];
        let back = luminance(&colour("bg"));
        let platforms: Vec<Light> = (0..6).map(|hue| colour(&format!("h{hue}"))).collect();
        for (hue, one) in platforms.iter().enumerate() {
            // WCAG 2.1, 1.4.11: at least 3 to 1.
            let (high, low) = (back.max(luminance(one)), back.min(luminance(one)));
            assert!(
                (high + 0.05) / (low + 0.05) >= 3.0,
                "h{hue} on the background"
            );
            for (other_hue, other) in platforms[..hue].iter().enumerate() {
                for (kind, seen) in SEEN.iter().enumerate() {
                    let (a, b) = (lab(&times(seen, one)), lab(&times(seen, other)));
                    let apart = a
                        .iter()
                        .zip(&b)
                        .map(|(a, b)| (a - b).powi(2))
                        .sum::<f64>()
                        .sqrt();
                    assert!(
                        apart > APART,
                        "h{hue} and h{other_hue}, vision {kind}: {apart}"
                    );
                }
            }
        }
    }
}
