//! Tests of `--external`: the guest's marks in the result file and in the table.

use crate::common::{Lab, expect_code, row, stderr, text, worldswitch};
use ws_results::{Row, Samples, Status};

#[track_caller]
fn outside(row: &Row) -> &Samples {
    let metric = row.metrics.iter().find(|m| m.name == "cost_external");
    &metric.unwrap_or_else(|| panic!("{row:?}")).boots[0]
}

#[test]
fn marks_become_samples_beside_those_of_the_guest() {
    let lab = Lab::new(&["good", "together", "unmarked", "silent", "dies", "skips"]);
    let output = lab
        .run("qemu-tcg", &["--boots", "1", "--external"])
        .output()
        .unwrap();
    expect_code(&output, 0);
    let result = lab.result("qemu-tcg");

    let good = row(&result, "good");
    let names: Vec<&str> = good.metrics.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["cost", "cost_external"]);
    assert_eq!(good.metrics[1].unit, good.metrics[0].unit);
    let samples = outside(good);
    assert_eq!((samples.run.len(), &samples.missing[..]), (8, &[][..]));
    // For each mark, the fake wrote two readings of the counter, before and after the mark arrived.
    let times = std::fs::read_to_string(lab.path("state/marks-good")).unwrap();
    let times: Vec<u64> = times
        .split_whitespace()
        .map(|tick| tick.parse().unwrap())
        .collect();
    let batches = samples.control.iter().zip(&samples.run);
    let batches: Vec<u64> = batches
        .flat_map(|(control, run)| [*control, *run])
        .collect();
    assert_eq!(times.len(), 4 * batches.len());
    for (ticks, noted) in batches.iter().zip(times.chunks(4)) {
        let least_to_most = noted[2] - noted[1]..=noted[3] - noted[0];
        assert!(least_to_most.contains(ticks), "{ticks}: {least_to_most:?}");
    }

    let together = row(&result, "together");
    assert_eq!(together.status, Status::Ok);
    assert!(outside(together).missing.contains(&1));
    let why = together.outcomes[0].external.as_deref().unwrap();
    assert!(
        why.contains("a mark was read together with others"),
        "{why}"
    );
    assert!(stderr(&output).contains("samples have no time from outside"));

    for (name, why) in [
        ("unmarked", "the guest sent no marks: it is too quick"),
        ("silent", "no mark came"),
    ] {
        let row = row(&result, name);
        assert_eq!((row.status, row.metrics.len()), (Status::Ok, 1), "{name}");
        assert_eq!(row.outcomes[0].external.as_deref(), Some(why));
    }
    for name in ["dies", "skips"] {
        assert_eq!(row(&result, name).outcomes[0].external, None);
    }
    assert!(lab.alive().is_empty());
}

#[test]
fn without_the_word_nothing_is_heard() {
    let lab = Lab::new(&["good"]);
    let output = lab.run("qemu-tcg", &["--boots", "1"]).output().unwrap();
    expect_code(&output, 0);
    let result = lab.result("qemu-tcg");
    assert_eq!(row(&result, "good").metrics.len(), 1);
    assert!(!text(&output.stdout).contains("external"));
}

#[test]
fn what_no_host_can_time_is_refused_with_the_reason() {
    for (platform, why) in [
        ("lab:native", "it counts instructions"),
        ("qemu-tcg,lab:native", "it counts instructions"),
        ("serial:/dev/ttyS0", "this host's counter is not that"),
        ("log:x", "has no arrival times"),
    ] {
        let output = worldswitch()
            .args(["run", "--external", "--on", platform])
            .output()
            .unwrap();
        expect_code(&output, 2);
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
    }
}

#[test]
fn a_flood_and_a_hang_cost_their_rows_when_heard_over_a_pipe_too() {
    use Status::{Died, Ok, Timeout};
    for (limit, rows) in [
        // Without a hang the limit is never reached. The rows beside the hang send no marks, so each
        // is one write and can't reach the short limit.
        ("600", &[("floods", Died), ("killed", Died), ("last", Ok)]),
        (
            "0.5",
            &[("silent", Ok), ("hangs", Timeout), ("silent-last", Ok)],
        ),
    ] {
        let lab = Lab::new(&rows.map(|(name, _)| name));
        let words = ["--boots", "1", "--external", "--timeout", limit];
        let output = lab.run("qemu-tcg", &words).output().unwrap();
        expect_code(&output, 0);
        let result = lab.result("qemu-tcg");
        for (name, status) in rows {
            let row = row(&result, name);
            assert_eq!(row.status, *status, "{name}: {:?}", row.reason);
        }
        assert!(lab.alive().is_empty());
    }
}
