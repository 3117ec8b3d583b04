//! Tests of the state machine: every way in which a launch can go.

use super::*;
use serde_json::Value;
use ws_records::{Decoder, Encoder, Expect, Item, Nonce};

const NONCE: Nonce = Nonce(7);

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A launch that is fed records as the guest writes them.
struct Told {
    state: LaunchState,
    encoder: Encoder,
    decoder: Decoder,
    now: Duration,
}

impl Told {
    fn new() -> Self {
        let mut told = Self {
            state: LaunchState::new(Limits::launched(Duration::from_secs(30))),
            encoder: Encoder::new("guest", NONCE).unwrap(),
            decoder: Decoder::new(Expect::Exact(NONCE)),
            now: Duration::ZERO,
        };
        told.say(
            "hello",
            r#"{"protocol":1,"arch":"x86_64","unit":"insns","cpus":1}"#,
        );
        told
    }

    /// Feeds a record, 10 ms after the last event.
    fn say(&mut self, kind: &str, json: &str) -> bool {
        let value: Value = serde_json::from_str(json).unwrap();
        let line = self.encoder.line(kind, &value).unwrap();
        self.line(&line)
    }

    fn line(&mut self, line: &[u8]) -> bool {
        self.now += ms(10);
        let mut over = false;
        for item in self.decoder.feed(line) {
            if let Item::Record(record) = item {
                over = self.state.on(Event::Record(record), self.now);
            }
        }
        over
    }

    fn begin(&mut self, bench: &str) {
        self.say("begin", &format!(r#"{{"bench":"{bench}","index":0}}"#));
    }

    fn end(&mut self, bench: &str) {
        self.say("end", &format!(r#"{{"bench":"{bench}"}}"#));
    }

    fn result(&mut self, bench: &str, part: u32, parts: u32, check: &str) {
        let first = if part == 1 {
            format!(r#","iterations":100,"cpus":1,"check":"{check}","note":"seen""#)
        } else {
            String::new()
        };
        self.say(
            "result",
            &format!(
                r#"{{"bench":"{bench}","part":{part},"parts":{parts}{first},"run":[300,301],"control":[100,100]}}"#
            ),
        );
    }

    fn whole(&mut self, bench: &str) {
        self.begin(bench);
        self.result(bench, 1, 1, "proved");
        self.end(bench);
    }

    fn event(&mut self, event: Event<'_>, after: Duration) -> bool {
        self.now += after;
        self.state.on(event, self.now)
    }

    fn rows(self) -> Vec<(String, Status)> {
        let rows = self.state.finish().rows;
        rows.into_iter()
            .map(|row| (row.bench, row.status))
            .collect()
    }
}

fn row(bench: &str, status: Status) -> (String, Status) {
    (bench.to_owned(), status)
}

#[test]
fn a_launch_in_which_all_goes_well() {
    let mut told = Told::new();
    told.whole("a");
    told.begin("b");
    told.result("b", 1, 2, "unproven");
    told.result("b", 2, 2, "");
    told.end("b");
    assert!(told.say("bye", r#"{"status":"ok"}"#));
    let report = told.state.finish();
    assert_eq!(report.end, LaunchEnd::Bye);
    assert_eq!(report.detail, "the guest ended");
    assert_eq!(report.hello.unwrap().unit, "insns");
    let b = &report.rows[1];
    assert_eq!((b.status, b.reason.as_deref()), (Status::Ok, None));
    assert_eq!(b.check.as_ref().unwrap().verdict, Verdict::Unproven);
    assert_eq!(b.result.as_ref().unwrap().run, [300, 301, 300, 301]);
}

#[test]
fn skips_faults_and_failed_checks_are_reported_with_their_reasons() {
    let mut told = Told::new();
    told.begin("s");
    told.say("skip", r#"{"bench":"s","reason":"no such thing"}"#);
    told.end("s");
    told.begin("f");
    told.say(
        "fault",
        r##"{"bench":"f","phase":"run","vector":6,"name":"#UD","error":0,"address":0,"ip":1052688}"##,
    );
    told.end("f");
    told.begin("c");
    told.result("c", 1, 1, "failed");
    told.end("c");
    let rows = told.state.finish().rows;
    assert_eq!(rows[0].status, Status::Skip);
    assert_eq!(rows[0].reason.as_deref(), Some("no such thing"));
    assert_eq!(rows[1].status, Status::Fault);
    assert_eq!(
        rows[1].reason.as_deref(),
        Some("#UD (vector 6) in run, error 0x0, address 0x0, at 0x101010")
    );
    assert_eq!(rows[2].status, Status::Failed);
    assert_eq!(
        rows[2].reason.as_deref(),
        Some("its own check failed: seen")
    );
    assert_eq!(rows[2].result, None);
}

#[test]
fn a_benchmark_that_takes_too_long_is_stopped_at_its_limit() {
    let mut told = Told::new();
    told.whole("a");
    told.begin("slow");
    assert!(!told.event(Event::Tick, ms(29_999)));
    assert!(told.event(Event::Tick, ms(1)));
    let report = told.state.finish();
    assert_eq!(report.end, LaunchEnd::Timeout);
    assert_eq!(
        report.detail,
        "it took longer than 30 s, so the machine was stopped (in slow)"
    );
    assert_eq!(report.rows[0].status, Status::Ok);
    assert_eq!(report.rows[1].status, Status::Timeout);
}

#[test]
fn the_limit_counts_from_each_begin() {
    let mut told = Told::new();
    for name in ["a", "b", "c"] {
        told.begin(name);
        assert!(!told.event(Event::Tick, ms(20_000)));
        told.end(name);
    }
    assert!(!told.event(Event::Tick, ms(14_999)));
    assert!(
        told.event(Event::Tick, ms(1)),
        "silence between benchmarks is limited too"
    );
    let report = told.state.finish();
    assert_eq!(report.end, LaunchEnd::Timeout);
    assert!(report.detail.contains("between benchmarks"));
    assert_eq!(report.rows.len(), 3);
}

#[test]
fn a_guest_that_never_speaks_is_stopped() {
    let mut state = LaunchState::new(Limits::launched(Duration::from_secs(30)));
    assert!(!state.on(Event::Tick, ms(14_999)));
    assert!(state.on(Event::Tick, ms(15_000)));
    let report = state.finish();
    assert_eq!((report.end, report.hello), (LaunchEnd::Timeout, None));
    assert!(report.detail.contains("no record"));
}

#[test]
fn nobody_is_hurried_whose_limits_are_none() {
    let mut state = LaunchState::new(Limits::listened(Duration::from_secs(30)));
    assert!(!state.on(Event::Tick, Duration::from_secs(1_000_000)));
    let mut told = Told::new();
    told.state = LaunchState::new(Limits::NONE);
    told.begin("a");
    assert!(!told.event(Event::Tick, Duration::from_secs(1_000_000)));
}

#[test]
fn a_machine_that_dies_costs_the_benchmark_that_ran() {
    for event in [
        Event::Ended("status 1"),
        Event::Restarted,
        Event::Flood(16 << 20),
    ] {
        let mut told = Told::new();
        told.whole("a");
        told.begin("b");
        assert!(told.event(event, ms(1)));
        assert_eq!(told.rows(), [row("a", Status::Ok), row("b", Status::Died)]);
    }
}

#[test]
fn a_machine_that_dies_between_benchmarks_costs_none() {
    let mut told = Told::new();
    told.whole("a");
    assert!(told.event(Event::Ended("status 1"), ms(1)));
    assert_eq!(told.rows(), [row("a", Status::Ok)]);
}

#[test]
fn a_result_that_came_whole_stands_though_the_machine_dies_after_it() {
    let mut told = Told::new();
    told.begin("a");
    told.result("a", 1, 1, "proved");
    told.event(Event::Ended("status 1"), ms(1));
    assert_eq!(told.rows(), [row("a", Status::Ok)]);
}

#[test]
fn a_result_that_never_came_or_came_in_pieces_is_lost() {
    let mut told = Told::new();
    told.begin("none");
    told.end("none");
    told.begin("first");
    told.result("first", 2, 2, "");
    told.end("first");
    told.begin("last");
    told.result("last", 1, 2, "proved");
    told.end("last");
    told.whole("after");
    let rows = told.state.finish().rows;
    assert_eq!(
        rows[0].reason.as_deref(),
        Some("it ended, but its result never arrived")
    );
    for row in &rows[0..3] {
        assert_eq!(
            (row.status, &row.result),
            (Status::Lost, &None),
            "{}",
            row.bench
        );
    }
    assert_eq!(rows[3].status, Status::Ok);
}

#[test]
fn a_lost_begin_or_end_costs_nothing() {
    let mut told = Told::new();
    told.result("a", 1, 1, "proved");
    told.result("b", 1, 1, "proved");
    told.end("b");
    told.whole("c");
    assert_eq!(
        told.rows(),
        [
            row("a", Status::Ok),
            row("b", Status::Ok),
            row("c", Status::Ok)
        ]
    );
}

#[test]
fn a_benchmark_that_comes_twice_counts_once() {
    let mut told = Told::new();
    told.whole("a");
    told.end("a");
    told.begin("a");
    told.say("skip", r#"{"bench":"a","reason":"again"}"#);
    told.end("a");
    assert_eq!(told.rows(), [row("a", Status::Ok)]);
}

#[test]
fn a_fault_outside_any_benchmark_is_told_with_the_end() {
    let mut told = Told::new();
    told.say(
        "fault",
        r##"{"bench":null,"vector":14,"name":"#PF","error":2,"address":16,"ip":32}"##,
    );
    told.say("bye", r#"{"status":"fault"}"#);
    let report = told.state.finish();
    assert_eq!(report.end, LaunchEnd::Bye);
    assert!(
        report.detail.contains("#PF (vector 14)"),
        "{}",
        report.detail
    );
}

#[test]
fn an_interrupted_launch_keeps_what_it_has_and_says_why() {
    for (why, said) in [
        (Why::Asked, "the run was stopped (in b)"),
        (Why::TimeIsUp, "the time was used up (in b)"),
    ] {
        let mut told = Told::new();
        told.whole("a");
        told.begin("b");
        assert!(told.event(Event::Interrupted(why), ms(1)));
        let report = told.state.clone().finish();
        assert_eq!(
            (report.end, &*report.detail),
            (LaunchEnd::Interrupted, said)
        );
        assert_eq!(
            told.rows(),
            [row("a", Status::Ok), row("b", Status::Unreached)]
        );
    }
}

#[test]
fn a_log_that_is_cut_leaves_its_last_benchmark_unreached() {
    let mut told = Told::new();
    told.begin("a");
    assert!(told.event(Event::Eof("the log ends here"), ms(1)));
    let report = told.state.finish();
    assert_eq!(report.end, LaunchEnd::Eof);
    assert_eq!(report.rows[0].status, Status::Unreached);
}

#[test]
fn nothing_changes_after_the_end() {
    let mut told = Told::new();
    told.say("bye", r#"{"status":"ok"}"#);
    assert!(told.event(Event::Ended("status 0"), ms(1)));
    told.begin("a");
    let report = told.state.finish();
    assert_eq!(report.end, LaunchEnd::Bye);
    assert!(report.rows.is_empty());
}

/// Feeds the monitor's counts of a benchmark.
fn exits(told: &mut Told, bench: &str) {
    let mut encoder = Encoder::new("vmm", NONCE).unwrap();
    let value = serde_json::json!({"bench": bench, "operations": 100, "returns": {"io": 100}});
    let line = encoder.line("exits", &value).unwrap();
    told.line(&line);
}

#[test]
fn what_the_monitor_counted_stands_with_its_benchmark() {
    let mut told = Told::new();
    told.begin("in");
    exits(&mut told, "in");
    told.result("in", 1, 1, "unproven");
    told.end("in");
    told.whole("out");
    let report = told.state.finish();
    assert_eq!(report.rows[0].exits.as_ref().unwrap().returns["io"], 100);
    assert_eq!(report.rows[1].exits, None);
}

#[test]
fn what_the_monitor_below_counted_stands_beside_the_own_monitor_s_counts() {
    let mut told = Told::new();
    let mut own = Encoder::new("vmm", NONCE).unwrap();
    let mut below = Encoder::new("l0", NONCE).unwrap();
    let mut exits = |told: &mut Told, bench: &str| {
        let value = serde_json::json!({"bench": bench, "operations": 100, "returns": {"io": 100}});
        told.line(&own.line("exits", &value).unwrap());
    };
    let mut below_counts = |told: &mut Told, bench: &str| {
        let value = serde_json::json!({"bench": bench, "operations": 100, "kvm": {"exits": 300}});
        told.line(&below.line("exits", &value).unwrap());
    };
    told.begin("in");
    below_counts(&mut told, "out"); // which does not run
    exits(&mut told, "in");
    told.result("in", 1, 1, "unproven");
    told.end("in");
    told.begin("out");
    below_counts(&mut told, "out");
    exits(&mut told, "out");
    told.result("out", 1, 1, "unproven");
    told.end("out");
    // The count of one row is not that of the next.
    told.begin("print");
    exits(&mut told, "print");
    told.result("print", 1, 1, "unproven");
    told.end("print");
    let report = told.state.finish();
    let counts = |index: usize| report.rows[index].exits.as_ref().unwrap();
    assert_eq!(counts(0).below, None);
    assert_eq!(counts(1).returns["io"], 100);
    assert_eq!(counts(1).below.as_ref().unwrap()["exits"], 300);
    assert_eq!(counts(2).below, None);
}

#[test]
fn what_marks_cost_below_is_taken_off_rows_that_have_marks() {
    let mut told = Told::new();
    let mut own = Encoder::new("vmm", NONCE).unwrap();
    let mut neve = Encoder::new("neve", NONCE).unwrap();
    let mut traps = |told: &mut Told, bench: &str, eret: u64| {
        let value =
            serde_json::json!({"bench": bench, "operations": 1, "returns": {"el2_eret": eret}});
        told.line(&neve.line("exits", &value).unwrap());
    };
    let mut exits = |told: &mut Told, bench: &str, marked: bool| {
        let value = serde_json::json!({"bench": bench, "operations": 1, "marked": marked, "kvm": {"exits": 9}});
        told.line(&own.line("exits", &value).unwrap());
    };
    traps(&mut told, "marks", 70);
    traps(&mut told, "marks", 60);
    for (bench, marked) in [("in", true), ("out", false)] {
        told.begin(bench);
        traps(&mut told, bench, 100);
        exits(&mut told, bench, marked);
        told.result(bench, 1, 1, "unproven");
        told.end(bench);
    }
    // Without a monitor above, neve's own counts are the guest's.
    told.begin("print");
    traps(&mut told, "print", 5);
    told.result("print", 1, 1, "unproven");
    told.end("print");
    let report = told.state.finish();
    let counts = |index: usize| report.rows[index].exits.as_ref().unwrap();
    assert_eq!(counts(0).below.as_ref().unwrap()["exits"], 40);
    assert_eq!(counts(0).below_causes["el2_eret"], 40);
    assert_eq!(counts(1).below.as_ref().unwrap()["exits"], 100);
    assert_eq!(
        (counts(2).returns["el2_eret"], &counts(2).below),
        (5, &None)
    );
}

#[test]
fn a_shorter_run_is_taken_off_what_is_counted_below() {
    let mut told = Told::new();
    let mut own = Encoder::new("vmm", NONCE).unwrap();
    let mut host = Encoder::new("l0", NONCE).unwrap();
    told.begin("in");
    for (bench, traps) in [
        ("marks", 7),
        ("shorter", 400),
        ("in", 1000),
        ("shorter", 50),
    ] {
        let value = serde_json::json!({"bench": bench, "operations": 1, "kvm": {"exits": traps}});
        told.line(&host.line("exits", &value).unwrap());
    }
    let value = serde_json::json!({"bench": "in", "operations": 1, "marked": true, "kvm": {}});
    told.line(&own.line("exits", &value).unwrap());
    told.result("in", 1, 1, "unproven");
    told.end("in");
    let report = told.state.finish();
    let exits = report.rows[0].exits.as_ref().unwrap();
    assert_eq!(exits.below.as_ref().unwrap()["exits"], 550);
}

#[test]
fn counts_of_a_benchmark_that_does_not_run_are_nobodys() {
    let mut told = Told::new();
    exits(&mut told, "in");
    told.begin("out");
    exits(&mut told, "in");
    told.result("out", 1, 1, "unproven");
    told.end("out");
    assert_eq!(told.state.finish().rows[0].exits, None);
}

#[test]
fn a_monitor_neither_begins_nor_ends_a_launch() {
    let mut told = Told::new();
    let mut encoder = Encoder::new("vmm", NONCE).unwrap();
    let hello = serde_json::json!({"protocol": 1, "arch": "x86_64", "unit": "ns", "cpus": 9});
    let hello = encoder.line("hello", &hello).unwrap();
    assert!(!told.line(&hello));
    let bye = serde_json::json!({"status": "ok"});
    let bye = encoder.line("bye", &bye).unwrap();
    assert!(!told.line(&bye));
    assert_eq!(told.state.hello().unwrap().unit, "insns");
}

#[test]
fn an_instruction_that_a_software_kvm_cannot_emulate_is_a_skip() {
    let mut told = Told::new();
    told.whole("in");
    told.begin("plant");
    assert!(
        told.state
            .on(Event::CouldNotEmulate("KVM gave up"), told.now)
    );
    let report = told.state.finish();
    assert_eq!(report.end, LaunchEnd::Died);
    assert_eq!(report.rows[1].status, Status::Skip);
    let reason = report.rows[1].reason.as_ref().unwrap();
    assert!(reason.contains("emulate") && reason.contains("KVM gave up"));
}

#[test]
fn a_thread_that_strayed_is_told_of_the_rows_that_ran_meanwhile() {
    let mut told = Told::new();
    told.whole("a");
    let before = told.state.rows_done();
    told.whole("b");
    told.begin("c");
    let how = ["vCPU 0 ran elsewhere".to_owned()];
    told.state.saw_strayed(&how, before);
    told.state.saw_strayed(&how, 2);
    told.result("c", 1, 1, "proved");
    told.end("c");
    let rows = told.state.finish().rows;
    let strayed: Vec<usize> = rows.iter().map(|row| row.strayed.len()).collect();
    assert_eq!(strayed, [0, 1, 1]);
}

#[test]
fn marks_belong_to_the_benchmark_in_which_they_came() {
    let mut told = Told::new();
    told.state = told.state.clone().timed(true);
    let marks = |told: &mut Told, times: &[(ws_records::Mark, u64)]| {
        for &(mark, ticks) in times {
            let heard = Heard {
                mark,
                ticks: Some(ticks),
            };
            told.event(Event::Mark(heard), ms(1));
        }
    };
    use ws_records::Mark::{Control, End, Run};
    let two = [
        (Control, 10),
        (End, 12),
        (Run, 20),
        (End, 29),
        (Control, 30),
        (End, 33),
        (Run, 40),
        (End, 48),
    ];
    // Before any benchmark: they are ignored.
    marks(&mut told, &two);
    told.begin("a");
    marks(&mut told, &two);
    told.result("a", 1, 1, "proved");
    told.end("a");
    told.begin("b");
    marks(&mut told, &two[..4]);
    // A truncated launch: no result, so no samples.
    told.event(Event::Ended("status 1"), ms(1));
    let rows = told.state.finish().rows;
    let a = rows[0].external.as_ref().unwrap();
    assert_eq!((&*a.run, &*a.control), (&[9, 8][..], &[2, 3][..]));
    assert_eq!(rows[1].external, None);
}

#[test]
fn a_launch_that_is_not_timed_has_no_times() {
    let mut told = Told::new();
    told.whole("a");
    assert_eq!(told.state.finish().rows[0].external, None);
}

#[test]
fn benchmarks_beyond_those_announced_are_left_out_and_counted() {
    let mut told = Told::new();
    told.state.hello = None;
    told.say(
        "hello",
        r#"{"protocol":1,"arch":"x86_64","unit":"insns","cpus":1,"selected":2}"#,
    );
    for bench in ["a", "b", "c", "b", "d"] {
        told.whole(bench);
    }
    assert!(told.say("bye", r#"{"status":"ok"}"#));
    let report = told.state.finish();
    let names: Vec<_> = report.rows.iter().map(|row| &*row.bench).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(report.rows.iter().all(|row| row.status == Status::Ok));
    assert_eq!(
        report.left_out.as_deref(),
        Some("6 records of benchmarks beyond the 2 that its hello announced were left out")
    );
}

#[test]
fn a_launch_without_a_word_of_how_many_has_no_more_benchmarks_than_an_image_can() {
    let mut told = Told::new();
    for index in 0..=ROWS_MAX {
        told.begin(&format!("b{index}"));
    }
    told.begin("more");
    let report = told.state.finish();
    assert_eq!(report.rows.len() as u64, ROWS_MAX);
    let left_out = report.left_out.unwrap();
    assert!(left_out.starts_with("2 records"), "{left_out}");
}
