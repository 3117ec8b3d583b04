//! Times commands on a long history: fills an empty one with made-up results, the same in each run, and times each
//! command on it.
//!
//!     cargo bench -p ws-history --bench million -- FIGURES PLACE...
//!
//! PLACE: a file that does not exist, or an empty database. One that has runs is not filled again. The times of
//! `target/release/worldswitch` are of the whole program.

use serde_json::{Value, json};
use std::process::{Command, Stdio};
use std::time::Instant;
use ws_history::{Filter, Place, Store};
use ws_results::ResultFile;

type Any = Box<dyn std::error::Error>;

const COMMAND: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../target/release/worldswitch"
);
/// Figures of a run.
const ROWS: u64 = 20;
const HOSTS: u64 = 40;
const KERNELS: u64 = 50;
/// Runs that are added at a time.
const AT_ONCE: u64 = 500;

fn main() -> Result<(), Any> {
    let words = std::env::args().skip(1).filter(|word| word != "--bench");
    let words: Vec<String> = words.collect();
    let Some((figures, places)) = words.split_first() else {
        println!("cargo bench -p ws-history --bench million -- FIGURES PLACE...");
        return Ok(());
    };
    let runs = figures.replace('_', "").parse::<u64>()? / ROWS;
    let mut heads = vec!["seconds".to_owned()];
    let mut columns = Vec::new();
    for text in places {
        let place = Place::parse(text)?;
        let filled = fill(&place, runs)?;
        heads.push(place.to_string());
        columns.push((filled, timed(text)?));
    }
    println!(
        "{} figures of {runs} runs, {HOSTS} hosts, {KERNELS} kernels",
        runs * ROWS
    );
    println!("{}", heads.join("  "));
    let filled = columns.iter().map(|(filled, _)| format!("{filled:.1}"));
    println!("fill  {}", filled.collect::<Vec<_>>().join("  "));
    for (index, words) in commands().iter().enumerate() {
        let times = columns
            .iter()
            .map(|(_, times)| format!("{:.2}", times[index]));
        println!(
            "{}  {}",
            words.join(" "),
            times.collect::<Vec<_>>().join("  ")
        );
    }
    Ok(())
}

/// Commands that are timed.
fn commands() -> Vec<Vec<&'static str>> {
    vec![
        vec!["check"],
        vec!["show", "1000"],
        vec!["list"],
        vec!["list", "--host", "n7", "--platform", "kvm"],
        vec!["plot", "row-7", "--by", "kernel"],
        vec!["hosts"],
        vec!["report", "-o", "-"],
    ]
}

/// Times each command, in seconds: the median of three.
fn timed(place: &str) -> Result<Vec<f64>, Any> {
    let option = if place.contains("://") {
        "--db"
    } else {
        "--store"
    };
    let once = |words: &[&str]| -> Result<f64, Any> {
        let start = Instant::now();
        let mut command = Command::new(COMMAND);
        command.arg("history").args(words).args([option, place]);
        let status = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        // The exit code of check is its verdict.
        match status.code() {
            Some(0 | 3 | 4) => Ok(start.elapsed().as_secs_f64()),
            _ => Err(format!("history {} failed: {status}", words.join(" ")).into()),
        }
    };
    let median = |words: Vec<&str>| {
        let mut times = [once(&words)?, once(&words)?, once(&words)?];
        times.sort_by(f64::total_cmp);
        Ok(times[1])
    };
    commands().into_iter().map(median).collect()
}

/// Adds the runs to an empty history, and pins the first of each kind; returns how many seconds that took.
fn fill(place: &Place, runs: u64) -> Result<f64, Any> {
    let start = Instant::now();
    let mut store = Store::create(place)?;
    let first = Filter {
        platform: Some("kvm"),
        host: Some("n0"),
    };
    if !store.runs(first)?.is_empty() {
        return Ok(0.0);
    }
    let mut next = 0;
    while next < runs {
        let end = runs.min(next + AT_ONCE);
        let results = (next..end).map(result).collect::<Result<Vec<_>, _>>()?;
        let added = store.add_all(&results)?;
        for one in added
            .iter()
            .take(if next == 0 { 2 * HOSTS as usize } else { 0 })
        {
            store.pin_first(one.id)?;
        }
        next = end;
    }
    Ok(start.elapsed().as_secs_f64())
}

/// A number that looks random and is always the same.
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Makes the run of this number. Even numbers are on time, odd ones in the lab; hosts take turns.
fn result(number: u64) -> Result<ResultFile, serde_json::Error> {
    let (lab, host) = (number % 2 == 1, number / 2 % HOSTS);
    let turn = number / 2 / HOSTS;
    let kernel = format!("6.{}", turn % KERNELS);
    let (platform, unit, boots) = match lab {
        true => ("lab:kvm", "insns", 2),
        false => ("kvm", "tsc_ticks", 8),
    };
    let row = |index: u64| {
        let samples = |boot: u64| {
            let cost = match lab {
                true => 1000 * (index + 1) + turn % KERNELS,
                false => 100_000 * (index + 1) + mixed(number ^ index << 40 ^ boot << 50) % 1000,
            };
            // One host has a bad governor.
            let cost = if !lab && host == 7 {
                cost * 7 / 5
            } else {
                cost
            };
            json!({"boot": boot, "launch": 0, "iterations": 1, "run": [cost + 10, cost + 10, cost + 10],
                "control": [10, 10, 10]})
        };
        let boots: Vec<Value> = (1..=boots).map(samples).collect();
        json!({"benchmark": format!("row-{index}"), "category": "io", "status": "ok", "reason": null,
            "outcomes": [], "conditions": {"vcpus": 1}, "exact": lab.then_some(true),
            "metrics": [{"name": "cost", "unit": unit, "boots": boots}]})
    };
    let boot = |boot: u64| {
        json!({"boot": boot, "launches": [{"nonce": format!("{number:x}"), "vcpus": 1, "asked": [], "hello": null,
            "first_record_ms": 1, "wall_ms": 1, "end": "bye", "end_detail": "", "bad_lines": 0,
            "stale_records": 0, "lost_records": 0, "console_tail": ""}]})
    };
    let governor = (!lab && host == 7).then(|| {
        json!([{"id": "processor.governor", "severity": "warning", "title": "the governor", "found": "powersave",
            "why": "the clock changes"}])
    });
    let day = turn % 28 + 1;
    let month = turn / 28 % 12 + 1;
    let year = 2020 + turn / 28 / 12;
    serde_json::from_value(json!({"schema": ws_results::SCHEMA,
        "created": format!("{year}-{month:02}-{day:02}T{:02}:{:02}:00Z", host / 2, number % 60),
        "tool": "worldswitch", "command": ["worldswitch", "run"], "platform": platform,
        "identity": {"subject": {"host": format!("n{host}"), "kernel": kernel,
                "machine_digest": lab.then(|| format!("m{}", turn % KERNELS))},
            "conditions": {"unit": unit, "cpu": "made up"}},
        "disturbances": governor, "interrupted": false, "boots": (1..=boots).map(boot).collect::<Vec<_>>(),
        "rows": (0..ROWS).map(row).collect::<Vec<_>>()}))
}
