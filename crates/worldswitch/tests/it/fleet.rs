//! `worldswitch run fleet` on this host alone; `tests/e2e/fleet.bats` has a real Slurm.

use crate::common::{Lab, expect_code, fake, stderr, text, valid, worldswitch};
use std::process::Output;

const CAMPAIGN: &str = r#"
name = "try"
folder = "shared"
machines = ["lab:native"]
benchmarks = ["a", "b"]
cells = "benchmark"
boots = 1
perturb = 0
history = "history.sqlite"
"#;

/// `worldswitch run fleet WHAT campaign.toml` on a node of this name.
fn fleet(lab: &Lab, node: &str, what: &str, more: &[&str]) -> Output {
    let mut command = worldswitch();
    command
        .current_dir(lab.folder.path())
        .env("SLURMD_NODENAME", node)
        .env("FAKE_STATE", lab.path("state"))
        .env("FAKE_MODE", lab.mode)
        .env("XDG_CACHE_HOME", lab.path(&format!("cache-{node}")))
        .args(["run", "fleet", what, "campaign.toml", "--qemu"])
        .arg(fake("fake-qemu"))
        .arg("--guest")
        .arg(lab.path("guest.elf"))
        .args(more);
    command.output().unwrap()
}

fn states(lab: &Lab, node: &str, what: &str, more: &[&str]) -> Vec<String> {
    let output = fleet(lab, node, what, &[&["--json"], more].concat());
    expect_code(&output, 0);
    let fleet = valid(&text(&output.stdout), "fleet");
    let cells = fleet["cells"].as_array().unwrap().iter();
    cells
        .map(|cell| cell["state"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_campaign_is_planned_measured_once_and_collected() {
    let lab = Lab::new(&["a", "b", "c"]);
    std::fs::write(lab.path("campaign.toml"), CAMPAIGN).unwrap();
    assert_eq!(states(&lab, "n1", "plan", &[]), ["to do", "to do"]);
    let output = fleet(&lab, "n1", "cancel", &["--json"]);
    expect_code(&output, 0);
    valid(&text(&output.stdout), "fleet-cancel");
    assert!(!lab.path("shared").exists(), "plan writes nothing");
    assert_eq!(states(&lab, "n1", "submit", &["--local"]), ["done", "done"]);
    let machines = lab.pids().len();
    assert_eq!(machines, 2, "a machine each; the proof is one of them");
    assert_eq!(states(&lab, "n2", "submit", &["--local"]), ["done", "done"]);
    assert_eq!(lab.pids().len(), machines, "nothing was measured again");
    assert_eq!(states(&lab, "n2", "status", &[]), ["done", "done"]);
    let output = fleet(&lab, "n1", "collect", &["-o", "out", "--json"]);
    expect_code(&output, 0);
    valid(&text(&output.stdout), "fleet");
    assert!(stderr(&output).contains("1 results are new in the history"));
    let result = lab.result("lab:native");
    let rows: Vec<&str> = result.rows.iter().map(|row| &*row.benchmark).collect();
    assert_eq!((rows, result.boots.len()), (vec!["a", "b"], 1));
}

#[test]
fn what_a_budget_leaves_out_is_said() {
    let lab = Lab::new(&["a", "b"]);
    let budget = "[budget]\ncore_hours = 0.01\ncell_minutes = 0.5\n";
    std::fs::write(lab.path("campaign.toml"), format!("{CAMPAIGN}{budget}")).unwrap();
    let output = fleet(&lab, "n1", "submit", &["--local"]);
    expect_code(&output, 0);
    let said = stderr(&output);
    assert!(said.contains("1 cells are left out"), "{said}");
    assert!(text(&output.stdout).contains("1 done, 1 to do"));
}

#[test]
fn a_cell_that_fails_is_named_with_its_node_and_tried_again() {
    let mut lab = Lab::new(&["a", "b"]);
    std::fs::write(lab.path("campaign.toml"), CAMPAIGN).unwrap();
    lab.mode = "silent";
    let output = fleet(&lab, "n1", "submit", &["--local"]);
    expect_code(&output, 1);
    assert_eq!(states(&lab, "n1", "status", &[]), ["failed", "failed"]);
    let status = text(&fleet(&lab, "n1", "status", &[]).stdout);
    assert!(
        status.contains("n1-local1_0: ") && status.contains("sent no record"),
        "{status}"
    );
    lab.mode = "";
    assert_eq!(states(&lab, "n1", "submit", &["--local"]), ["done", "done"]);
}

/// Makes another node's run of a cell, with other digits.
fn contradict(lab: &Lab, node: &str) {
    let cells = std::fs::read_dir(lab.path("shared/cells")).unwrap();
    let runs = cells.map(|cell| cell.unwrap().path().join("runs"));
    let runs = runs.min().unwrap();
    let first = std::fs::read_dir(&runs).unwrap().next().unwrap().unwrap();
    let text = std::fs::read_to_string(first.path().join("run.json")).unwrap();
    let mut run: serde_json::Value = serde_json::from_str(&text).unwrap();
    run["node"] = node.into();
    let digits = run["digits"].as_object_mut().unwrap();
    digits
        .values_mut()
        .for_each(|digit| *digit = "other".into());
    let folder = runs.join(format!("{node}-1"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("run.json"), run.to_string()).unwrap();
}

#[test]
fn a_third_node_decides_a_dispute() {
    let lab = Lab::new(&["a", "b"]);
    std::fs::write(lab.path("campaign.toml"), CAMPAIGN).unwrap();
    assert_eq!(states(&lab, "n1", "submit", &["--local"]), ["done", "done"]);
    contradict(&lab, "n2");
    let sorted = |mut states: Vec<String>| {
        states.sort();
        states
    };
    let disputed = ["disputed", "to do"];
    assert_eq!(sorted(states(&lab, "n3", "status", &[])), disputed);
    // Neither of both decides.
    for node in ["n1", "n2"] {
        assert_eq!(sorted(states(&lab, node, "submit", &["--local"])), disputed);
    }
    let machines = lab.pids().len();
    assert_eq!(states(&lab, "n3", "submit", &["--local"]), ["done", "done"]);
    assert!(lab.pids().len() > machines, "the third one has measured");
    let status = fleet(&lab, "n3", "status", &["--json"]);
    let status = valid(&text(&status.stdout), "fleet");
    let nodes = status["nodes"].as_array().unwrap().iter();
    let standings = nodes.map(|node| (node["name"].as_str(), node["standing"].as_str()));
    assert_eq!(
        standings.collect::<Vec<_>>(),
        [("n1", "trusted"), ("n2", "odd"), ("n3", "trusted")]
            .map(|(name, standing)| (Some(name), Some(standing)))
    );
}
