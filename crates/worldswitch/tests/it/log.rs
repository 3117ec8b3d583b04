//! Tests of `log:` and `serial:`: consoles of machines that somebody else booted, in every state.

use crate::common::{
    Console, Lab, expect_code, finish, of_new_user, row, stderr, text, worldswitch,
};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Output, Stdio};
use ws_results::{LaunchEnd, ResultFile, Status};

/// The outcome of reading a console.
struct Read {
    output: Output,
    folder: tempfile::TempDir,
}

fn read(bytes: &[u8], more: &[&str]) -> Read {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("console"), bytes).unwrap();
    let output = worldswitch()
        .current_dir(&folder)
        .env("WORLDSWITCH_DATA", "/nonexistent")
        .args(["run", "--on", "log:console", "-o", "out"])
        .args(more)
        .output()
        .unwrap();
    Read { output, folder }
}

impl Read {
    fn result(&self) -> ResultFile {
        expect_code(&self.output, 0);
        let path = self
            .folder
            .path()
            .join("out")
            .join(ws_results::file_name("log:console"));
        ws_results::read_file(&path).unwrap()
    }
}

#[test]
fn a_whole_log_with_two_boots() {
    let mut console = Console::new(1, "");
    console.whole("sgdt", 5);
    console.whole("in", 50);
    console.bye();
    console.boot(2, "");
    console.whole("sgdt", 6);
    console.whole("in", 60);
    console.bye();
    let result = read(&console.bytes, &[]).result();
    assert_eq!(result.platform, "log:console");
    assert_eq!(result.boots.len(), 2);
    assert!(!result.interrupted);
    let sgdt = row(&result, "sgdt");
    assert_eq!(sgdt.metrics[0].unit, "tsc_ticks");
    assert_eq!(sgdt.metrics[0].boots[1].run, [160; 6]);
    assert_eq!(sgdt.conditions["vcpus"], 1);
    assert_eq!(
        sgdt.conditions.get("digest"),
        None,
        "nobody knows which image it was"
    );
    assert_eq!(
        read(&console.bytes, &["--boots", "1"]).result().boots.len(),
        1
    );
    let some = read(&console.bytes, &["--bench", "^in$"]).result();
    assert_eq!(some.rows.len(), 1);
}

#[test]
fn garbage_escapes_and_markup_cost_nothing() {
    let mut console = Console::new(1, "");
    let mut bytes = b"\x1b[2JGRUB loading\r\n\xff\xfe\0".to_vec();
    bytes.append(&mut console.bytes);
    console.begin("sgdt");
    console.bytes.extend(b"@ws1 @ws1 half a record");
    let line = console.result(
        "sgdt",
        5,
        "\u{1b}]0;title\u{7}<script>alert(1)</script>\u{202e}",
    );
    console.bytes.extend(line);
    console.bytes.extend(vec![b'y'; 100_000]);
    console.bytes.push(b'\n');
    console.end("sgdt");
    console.begin("x");
    console.say(
        "skip",
        r#"{"bench":"x","reason":"\u001b[31m<img src=x onerror=y> | a"}"#,
    );
    console.end("x");
    console.bye();
    bytes.append(&mut console.bytes);
    let read = read(&bytes, &["--export-markdown", "t.md"]);
    let result = read.result();
    assert_eq!(row(&result, "sgdt").status, Status::Ok);
    assert_eq!(row(&result, "x").status, Status::Skip);
    let launch = &result.boots[0].launches[0];
    assert!(launch.bad_lines >= 1);
    assert!(!launch.console_tail.contains('\x1b') && launch.console_tail.len() <= 4096);
    let shown = text(&read.output.stdout) + &stderr(&read.output);
    assert!(
        !shown.chars().any(|c| c.is_control() && c != '\n'),
        "{shown:?}"
    );
    let markdown = std::fs::read_to_string(read.folder.path().join("t.md")).unwrap();
    assert!(!markdown.contains("<img"), "{markdown}");
}

#[test]
fn a_wrong_crc_a_cut_record_and_a_stale_one_cost_their_own_rows() {
    let mut console = Console::new(0xa, "");
    console.whole("good", 5);
    console.begin("crc");
    let mut line = console.result("crc", 5, "seen");
    line[60] ^= 1;
    console.bytes.extend(line);
    console.end("crc");
    console.begin("cut");
    let line = console.result("cut", 5, "seen");
    console.bytes.extend(&line[..line.len() / 2]);
    console.bytes.push(b'\n');
    console.end("cut");
    console.begin("stale");
    let mut old = Console::new(0xb, "");
    let line = old.result("stale", 5, "seen");
    console.bytes.extend(line);
    console.end("stale");
    console.bye();
    let result = read(&console.bytes, &[]).result();
    assert_eq!(row(&result, "good").status, Status::Ok);
    for name in ["crc", "cut", "stale"] {
        assert_eq!(row(&result, name).status, Status::Lost, "{name}");
        assert!(row(&result, name).metrics.is_empty());
    }
    let launch = &result.boots[0].launches[0];
    assert_eq!(
        (launch.bad_lines, launch.stale_records, launch.lost_records),
        (2, 1, 2)
    );
}

#[test]
fn a_log_that_is_cut_short_says_what_was_never_reached() {
    let lab = Lab::new(&["a", "b", "c"]);
    let mut console = Console::new(1, r#","selected":3"#);
    console.whole("a", 5);
    console.begin("b");
    let log = lab.path("console");
    std::fs::write(&log, &console.bytes).unwrap();
    let platform = format!("log:{}", log.display());
    let output = lab.run(&platform, &[]).output().unwrap();
    expect_code(&output, 0);
    let result = lab.result(&platform);
    assert_eq!(row(&result, "a").status, Status::Ok);
    assert_eq!(
        row(&result, "a").category,
        "kind",
        "the image's table knows it"
    );
    assert_eq!(row(&result, "b").status, Status::Unreached);
    assert_eq!(row(&result, "c").status, Status::Unreached);
    assert_eq!(result.boots[0].launches[0].end, LaunchEnd::Eof);
    assert!(stderr(&output).contains("announced 3 benchmarks, but records of 2 arrived"));
}

#[test]
fn boots_under_other_conditions_are_not_put_together() {
    let mut console = Console::new(1, "");
    console.whole("sgdt", 5);
    console.whole("in", 50);
    console.bye();
    console.boot(2, r#","cpus":2"#);
    console.whole("sgdt", 6);
    console.bye();
    let result = read(&console.bytes, &[]).result();
    let sgdt = row(&result, "sgdt");
    assert_eq!(sgdt.metrics[0].boots.len(), 1);
    assert_eq!(sgdt.outcomes[1].status, Status::Failed);
    assert_eq!(
        sgdt.outcomes[1].reason.as_deref(),
        Some("measured with vcpus 2, earlier boots with 1")
    );
}

#[test]
fn a_log_without_a_boot_is_an_error() {
    for bytes in [&b""[..], b"Linux version 6.1\n", &vec![0xff; 100_000]] {
        let read = read(bytes, &[]);
        expect_code(&read.output, 1);
        assert!(
            stderr(&read.output).contains("no boot of a guest"),
            "{}",
            stderr(&read.output)
        );
        assert!(!read.folder.path().join("out").exists());
        assert!(read.output.stdout.is_empty());
    }
}

#[test]
fn a_unit_that_nobody_knows_is_refused() {
    let mut console = Console::new(1, r#","unit":"parsecs""#);
    console.whole("sgdt", 5);
    console.bye();
    let read = read(&console.bytes, &[]);
    expect_code(&read.output, 1);
    assert!(stderr(&read.output).contains("\"parsecs\""));
}

#[test]
fn exports_go_to_their_files_and_the_table_to_stdout() {
    let mut console = Console::new(1, "");
    console.whole("sgdt", 5);
    console.bye();
    let exports = [
        "--export-json",
        "t.json",
        "--export-csv",
        "t.csv",
        "--export-markdown",
        "t.md",
    ];
    let read = read(&console.bytes, &exports);
    expect_code(&read.output, 0);
    let file = |name: &str| std::fs::read_to_string(read.folder.path().join(name)).unwrap();
    serde_json::from_str::<serde_json::Value>(&file("t.json")).unwrap();
    assert!(file("t.csv").contains("sgdt"));
    assert!(file("t.md").contains("sgdt"));
    assert!(text(&read.output.stdout).contains("sgdt"));
    let show = |more: &[&str]| {
        let output = worldswitch()
            .current_dir(&read.folder)
            .args(["show", "out"])
            .args(more)
            .output()
            .unwrap();
        expect_code(&output, 0);
        text(&output.stdout)
    };
    assert_eq!(show(&["--json"]), file("t.json"));
    assert_eq!(show(&["--csv"]), file("t.csv"));
    assert_eq!(show(&["--markdown"]), file("t.md"));
    assert!(show(&[]).contains("log:console"));
}

#[test]
fn a_full_disk_is_an_error_and_leaves_no_half_file() {
    let mut console = Console::new(1, "");
    for index in 0..20 {
        console.whole(&format!("bench-{index}"), 5);
    }
    console.bye();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("console"), &console.bytes).unwrap();
    // No file may grow beyond one block: this has the effect of a full disk.
    let output = of_new_user("/bin/sh")
        .current_dir(&folder)
        .args([
            "-c",
            "trap '' XFSZ; ulimit -f 1; exec \"$0\" run --on log:console -o out",
        ])
        .arg(env!("CARGO_BIN_EXE_worldswitch"))
        .output()
        .unwrap();
    expect_code(&output, 1);
    assert!(stderr(&output).contains("error: "), "{}", stderr(&output));
    assert!(
        !folder.path().join("out").exists(),
        "neither a file nor a part of one"
    );
}

#[test]
fn a_serial_line_is_heard_over_a_pseudo_terminal() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let path = PathBuf::from(ptsname(&ours, Vec::new()).unwrap().into_string().unwrap());
    let platform = format!("serial:{}", path.display());
    let folder = tempfile::tempdir().unwrap();
    let mut child = worldswitch()
        .current_dir(&folder)
        .args(["run", "-o", "out", "--boots", "2", "--on", &platform])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Wait until the line is in raw mode: what is written before would be altered.
    let mut told = String::new();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    errors.read_line(&mut told).unwrap();
    let mut console = Console::new(1, "");
    console.bytes.splice(0..0, b"SeaBIOS\r\n".iter().copied());
    console.whole("sgdt", 5);
    console.bye();
    console.boot(1, "");
    console.whole("sgdt", 6);
    console.bye();
    let mut rest = &console.bytes[..];
    while !rest.is_empty() {
        let count = rustix::io::write(&ours, &rest[..rest.len().min(512)]).unwrap();
        rest = &rest[count..];
    }
    let output = finish(child);
    expect_code(&output, 0);
    assert!(told.contains("waiting for a guest"), "{told}");
    let result_path = folder
        .path()
        .join("out")
        .join(ws_results::file_name(&platform));
    let result = ws_results::read_file(&result_path).unwrap();
    assert_eq!(result.boots.len(), 2);
    assert_eq!(row(&result, "sgdt").metrics[0].boots.len(), 2);
}

#[test]
fn a_log_of_more_benchmarks_than_it_announced_costs_no_more_than_its_length() {
    let mut console = Console::new(1, r#","selected":2"#);
    // A linear search for each row would take 190 s.
    for index in 0..40_000 {
        console.whole(&format!("bench-{index}"), 1);
    }
    console.bye();
    let read = read(&console.bytes, &[]);
    let result = read.result();
    assert_eq!(result.rows.len(), 2);
    assert!(
        stderr(&read.output).contains("119994 records of benchmarks beyond the 2"),
        "{}",
        stderr(&read.output)
    );
}
