//! Runs on machines that misbehave in every way: at most one row is lost, and no process is left
//! behind.

use crate::common::{Lab, expect_code, finish, row, stderr, text, worldswitch};
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use ws_results::{LaunchEnd, Status, Verdict};

#[test]
fn each_planted_fault_costs_its_own_row() {
    let names = [
        "first", "dies", "killed", "faults", "skips", "floods", "restarts", "fails", "garbage",
        "two-cpus", "last",
    ];
    let lab = Lab::new(&names);
    // No row here reaches the time limit; the flood takes as long as the disk needs.
    let output = lab
        .run(
            "qemu-tcg",
            &["--boots", "1", "--timeout", "600", "--seed", "0"],
        )
        .output()
        .unwrap();
    expect_code(&output, 0);
    let result = lab.result("qemu-tcg");
    let expected = [
        ("first", Status::Ok),
        ("dies", Status::Died),
        ("killed", Status::Died),
        ("faults", Status::Fault),
        ("skips", Status::Skip),
        ("floods", Status::Died),
        ("restarts", Status::Died),
        ("fails", Status::Failed),
        ("garbage", Status::Ok),
        ("two-cpus", Status::Ok),
        ("last", Status::Ok),
    ];
    for (name, status) in expected {
        let row = row(&result, name);
        assert_eq!(row.status, status, "{name}: {:?}", row.reason);
        assert_eq!(row.reason.is_none(), status == Status::Ok, "{name}");
        assert_eq!(row.metrics.is_empty(), status != Status::Ok, "{name}");
    }
    let order: Vec<&str> = result
        .rows
        .iter()
        .map(|row| row.benchmark.as_str())
        .collect();
    assert_eq!(order, names, "rows stand in the image's order");
    let ends: Vec<LaunchEnd> = result.boots[0].launches.iter().map(|l| l.end).collect();
    assert_eq!(
        ends,
        [
            LaunchEnd::Died,
            LaunchEnd::Died,
            LaunchEnd::Flood,
            LaunchEnd::Died,
            LaunchEnd::Bye,
            LaunchEnd::Bye
        ]
    );
    assert_eq!(row(&result, "two-cpus").conditions["vcpus"], 2);
    assert_eq!(row(&result, "first").conditions["vcpus"], 1);
    assert_eq!(
        row(&result, "first").conditions["digest"]
            .as_str()
            .unwrap()
            .len(),
        64
    );
    assert_eq!(
        row(&result, "first").outcomes[0]
            .check
            .as_ref()
            .unwrap()
            .verdict,
        Verdict::Unproven
    );
    assert!(
        result.boots[0].launches[4].bad_lines >= 1,
        "the garbage was counted"
    );
    let shown = text(&output.stdout) + &stderr(&output);
    assert!(
        !shown.contains('\x1b'),
        "no escape of the guest's reaches the terminal"
    );
    assert!(
        stderr(&output).contains("worldswitch show"),
        "{}",
        stderr(&output)
    );
    assert_eq!(lab.pids().len(), ends.len());
    assert_eq!(lab.alive(), Vec::<String>::new());
}

#[test]
fn a_hang_costs_its_own_row() {
    let lab = Lab::new(&["first", "hangs", "two-cpus", "last"]);
    let output = lab
        .run(
            "qemu-tcg",
            &["--boots", "1", "--timeout", "0.5", "--seed", "0"],
        )
        .output()
        .unwrap();
    expect_code(&output, 0);
    let result = lab.result("qemu-tcg");
    let statuses: Vec<Status> = result.rows.iter().map(|row| row.status).collect();
    use Status::{Ok, Timeout};
    assert_eq!(statuses, [Ok, Timeout, Ok, Ok]);
    let hangs = row(&result, "hangs");
    assert!(hangs.metrics.is_empty());
    assert!(hangs.reason.as_ref().unwrap().contains("0.5 s"));
    let ends: Vec<LaunchEnd> = result.boots[0].launches.iter().map(|l| l.end).collect();
    assert_eq!(ends, [LaunchEnd::Timeout, LaunchEnd::Bye, LaunchEnd::Bye]);
    assert_eq!(lab.pids().len(), ends.len());
    assert_eq!(lab.alive(), Vec::<String>::new());
}

#[test]
fn boots_of_time_run_their_rows_in_other_orders_and_lose_none() {
    let names = ["a", "dies", "b", "c", "faults", "d", "two-cpus", "e"];
    let lab = Lab::new(&names);
    let boots = |platform: &str, more: &[&str]| {
        let output = lab.run(platform, more).output().unwrap();
        expect_code(&output, 0);
        let result = lab.result(platform);
        for name in ["a", "b", "c", "d", "e", "two-cpus"] {
            assert_eq!(row(&result, name).status, Status::Ok, "{name}");
        }
        assert_eq!(row(&result, "dies").status, Status::Died);
        let asked = |boot: &ws_results::Boot| boot.launches[0].asked.clone();
        let asked: Vec<Vec<String>> = result.boots.iter().map(asked).collect();
        (asked, result.identity.conditions.get("order").cloned())
    };
    let (time, order) = boots("qemu-tcg", &["--boots", "3"]);
    assert!(time[0] != time[1] && time[1] != time[2]);
    assert_eq!(order.unwrap(), "by a boot's seed");
    let again = boots("qemu-tcg", &["--boots", "2", "--seed", "2", "--force"]);
    assert_eq!(again.0, time[1..], "a seed is an order");
    let (alike, order) = boots("qemu-tcg", &["--boots", "2", "--seed", "0", "--force"]);
    assert_eq!(alike[0], alike[1]);
    assert_eq!(order.unwrap(), "as in the image");
    let (counts, order) = boots("lab:native", &["--boots", "2"]);
    assert_eq!((counts[0] == alike[0], order), (true, None));
}

#[test]
fn a_damaged_result_is_measured_again_once() {
    let lab = Lab::new(&["lost-once", "lost-always", "good"]);
    let output = lab.run("qemu-tcg", &["--boots", "1"]).output().unwrap();
    expect_code(&output, 0);
    let result = lab.result("qemu-tcg");
    assert_eq!(row(&result, "lost-once").status, Status::Ok);
    assert_eq!(row(&result, "lost-once").metrics[0].boots[0].launch, 1);
    assert_eq!(row(&result, "good").metrics[0].boots[0].launch, 0);
    let lost = row(&result, "lost-always");
    assert_eq!(lost.status, Status::Lost);
    assert!(
        lost.reason
            .as_ref()
            .unwrap()
            .ends_with("lost in two launches")
    );
    assert_eq!(result.boots[0].launches.len(), 2);
    assert!(
        stderr(&output).contains("damaged records"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_machine_that_never_speaks_is_an_error_and_no_loop() {
    let mut lab = Lab::new(&["a", "b"]);
    lab.mode = "silent";
    // Several boots run beside each other.
    let output = lab.run("lab:native", &["--boots", "1"]).output().unwrap();
    expect_code(&output, 1);
    let told = stderr(&output);
    assert!(told.contains("could not load the kernel"), "{told}");
    assert!(told.contains("nothing to boot \\u{1b}[31m<b>"), "{told}");
    assert!(output.stdout.is_empty());
    assert_eq!(lab.pids().len(), 2, "two launches and no more");
    assert!(!lab.path("out").exists(), "no empty folder is left");
}

#[test]
fn exact_platforms_boot_twice_and_agree() {
    let lab = Lab::new(&["a", "two"]);
    let output = lab.run("lab:native", &[]).output().unwrap();
    expect_code(&output, 0);
    let result = lab.result("lab:native");
    // And one perturbed boot, which does not decide whether the counts are exact.
    assert_eq!(result.boots.len(), 3);
    assert_eq!(result.perturbed(), [3].into());
    assert_eq!(row(&result, "a").exact, Some(true));
    assert_eq!(row(&result, "a").metrics[0].unit, "insns");
    let nonces = |boot: usize| -> Vec<String> {
        result.boots[boot]
            .launches
            .iter()
            .map(|l| l.nonce.clone())
            .collect()
    };
    assert_eq!(
        nonces(0),
        nonces(1),
        "each boot is given the same command lines"
    );
    assert_ne!(nonces(0)[0], nonces(0)[1]);
    assert!(!stderr(&output).contains("NOT EXACT"));
}

#[test]
fn digits_that_differ_are_told_loudly() {
    let lab = Lab::new(&["a", "unsteady"]);
    let output = lab.run("lab:native", &[]).output().unwrap();
    expect_code(&output, 1);
    assert_eq!(
        row(&lab.result("lab:native"), "unsteady").exact,
        Some(false)
    );
    let told = stderr(&output);
    assert!(
        told.contains("NOT EXACT: boots gave different counts for unsteady."),
        "{told}"
    );
    assert!(
        told.contains(
            "lab:native: THE LAB IS BROKEN: the same machine gave other counts before: unsteady: "
        ),
        "{told}"
    );
    assert!(!told.contains(" a: "), "{told}");
}

#[test]
fn platforms_take_turns_and_change_their_order() {
    let lab = Lab::new(&["a"]);
    let output = lab
        .run(
            "qemu-tcg+memory=128,lab:native,qemu-tcg",
            &["--boots", "2", "-v", "--baseline", "qemu-tcg"],
        )
        .output()
        .unwrap();
    expect_code(&output, 0);
    let told = stderr(&output);
    let turns: Vec<&str> = told
        .lines()
        .filter(|line| line.contains("first record after"))
        .map(|line| line.split(": ").next().unwrap())
        .collect();
    let other = "qemu-tcg+memory=128";
    assert_eq!(
        turns,
        [
            "lab:native",
            "lab:native",
            other,
            "qemu-tcg",
            "qemu-tcg",
            other
        ],
        "what no load can change goes first, the others take turns"
    );
    assert!(
        told.contains("-append 'bench=^(a)$ unit=insns smp=1 hypercall=none nonce="),
        "{told}"
    );
    assert!(
        told.contains("qemu-tcg: a took 8 samples of 10 operations"),
        "{told}"
    );
}

#[test]
fn later_commands_have_the_order_of_the_run() {
    let lab = Lab::new(&["a"]);
    // Sorted by name, the first would be in the middle.
    let order = ["qemu-tcg+memory=64", "qemu-tcg+memory=128", "qemu-tcg"];
    let run = lab.run(&order.join(","), &["--boots", "1"]);
    let run = { run }.output().unwrap();
    expect_code(&run, 0);
    let names = |text: &str| -> Vec<String> {
        let has_all = |line: &&str| order.iter().all(|name| line.contains(name));
        let line = text
            .lines()
            .find(has_all)
            .unwrap_or_else(|| panic!("{text}"));
        line.split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(names(&text(&run.stdout)), order);
    let say = |words: &[&str]| {
        let output = worldswitch()
            .args(words)
            .arg(lab.path("out"))
            .output()
            .unwrap();
        expect_code(&output, 0);
        text(&output.stdout)
    };
    assert_eq!(names(&say(&["show"])), order);
    let page = say(&["report", "-o", "-"]);
    let table = page.split("<th").collect::<Vec<_>>();
    let at = |name: &str| {
        let cell = format!(">{name}<");
        table
            .iter()
            .position(|head| head.contains(&cell))
            .unwrap_or_else(|| panic!("{name}: {page}"))
    };
    assert!(order.map(at).is_sorted(), "{:?}", order.map(at));
}

#[test]
fn quick_says_what_it_chose() {
    let lab = Lab::new(&["a"]);
    let output = lab
        .run("lab:native,qemu-tcg", &["--quick"])
        .output()
        .unwrap();
    expect_code(&output, 0);
    let told = stderr(&output);
    assert!(told.contains("quick: boots 16 x qemu-tcg"), "{told}");
    assert!(!told.contains("left out"), "{told}");
    assert_eq!(lab.result("qemu-tcg").boots.len(), 16);
    // The perturbed one is made before another plain one, which may not fit.
    let result = lab.result("lab:native");
    assert_eq!((result.boots.len(), result.perturbed()), (3, [2].into()));
    let output = lab
        .run("lab:native", &["--quick", "--perturb", "0", "--force"])
        .output()
        .unwrap();
    expect_code(&output, 0);
    assert!(lab.result("lab:native").perturbed().is_empty());
}

#[test]
fn who_chooses_the_boots_gets_no_others_unless_asked() {
    let lab = Lab::new(&["a"]);
    for (words, boots, perturbed) in [
        (&["--boots", "3"][..], 3, 0),
        (&["--boots", "1", "--perturb", "1"], 2, 1),
        (&["--perturb", "0"], 2, 0),
    ] {
        let mut run = lab.run("lab:native", words);
        expect_code(&run.arg("--force").output().unwrap(), 0);
        let result = lab.result("lab:native");
        assert_eq!(
            (result.boots.len(), result.perturbed().len()),
            (boots, perturbed),
            "{words:?}"
        );
    }
}

/// Waits until `ready` says so.
fn wait_until(what: &str, mut ready: impl FnMut() -> bool) {
    let started = Instant::now();
    while !ready() {
        assert!(started.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn spawn(mut command: Command) -> Child {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

#[test]
fn ctrl_c_stops_the_machines_and_keeps_finished_boots() {
    for signal in [Signal::INT, Signal::TERM] {
        let mut lab = Lab::new(&["a", "b", "c", "d"]);
        lab.mode = "third-hangs";
        let child = spawn(lab.run("qemu-tcg", &["--timeout", "600"]));
        // The third launch is the third boot.
        wait_until("the third boot", || lab.path("state/hangs").exists());
        send(&child, signal);
        let output = finish(child);
        expect_code(&output, 1);
        let result = lab.result("qemu-tcg");
        assert!(result.interrupted);
        assert_eq!(result.boots.len(), 2);
        assert!(result.rows.iter().all(|row| row.status == Status::Ok));
        assert!(
            text(&output.stdout).contains("qemu-tcg"),
            "the table is shown"
        );
        assert_eq!(lab.alive(), Vec::<String>::new());
    }
}

#[test]
fn a_first_boot_that_is_stopped_keeps_its_rows() {
    let lab = Lab::new(&["a", "hangs"]);
    let child = spawn(lab.run("lab:native", &["--timeout", "600", "--boots", "1"]));
    // The first row was written completely before that, so the runner reads it.
    wait_until("the second row", || lab.path("state/hangs").exists());
    send(&child, Signal::INT);
    let output = finish(child);
    expect_code(&output, 1);
    let result = lab.result("lab:native");
    assert_eq!(row(&result, "a").status, Status::Ok);
    assert_eq!(row(&result, "hangs").status, Status::Unreached);
    assert_eq!(result.boots[0].launches[0].end, LaunchEnd::Interrupted);
}

#[test]
fn no_machine_outlives_a_killed_runner() {
    let lab = Lab::new(&["hangs"]);
    let mut child = spawn(lab.run("lab:native", &["--timeout", "600", "--boots", "1"]));
    wait_until("a machine", || lab.alive().len() == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the machine's end", || lab.alive().is_empty());
}
