//! Tests: marks that arrive as they should, and every way in which they may not.

use super::*;
use proptest::prelude::*;

/// `C`, `R` and `E` are marks that arrived alone, 10 ticks after the one before; lower-case letters are
/// marks without a time; `-` lets 1,000 ticks pass.
fn heard(text: &str) -> Marks {
    let (mut marks, mut now) = (Marks::default(), 0);
    for letter in text.chars() {
        now += if letter == '-' { 1000 } else { 10 };
        let mark = match letter.to_ascii_uppercase() {
            'C' => Mark::Control,
            'R' => Mark::Run,
            'E' => Mark::End,
            _ => continue,
        };
        let ticks = letter.is_ascii_uppercase().then_some(now);
        marks.hear(Heard { mark, ticks });
    }
    marks
}

fn samples(text: &str, count: usize) -> External {
    heard(text).samples(count)
}

#[track_caller]
fn expect(text: &str, count: usize, run: &[u64], control: &[u64], missing: &[u32], why: &str) {
    let external = samples(text, count);
    assert_eq!((&*external.run, &*external.control), (run, control));
    assert_eq!(external.missing, missing);
    assert_eq!(external.why.unwrap_or_default(), why);
}

#[test]
fn marks_that_all_come_are_samples() {
    expect("CER-E", 1, &[1010], &[10], &[], "");
    expect("C-ER--EC-ER-E", 2, &[2010, 1010], &[1010, 1010], &[], "");
}

#[test]
fn a_mark_without_a_time_costs_its_sample_only() {
    for one in ["cER-E", "CeR-E", "CEr-E", "CER-e", "cer-e"] {
        let text = format!("CER-E{one}CER--E");
        let why =
            "1 of 3 samples have no time: in 1 a mark was read together with others or after text";
        expect(&text, 3, &[1010, 2010], &[10, 10], &[1], why);
    }
}

#[test]
fn a_lost_mark_costs_its_sample_only() {
    for one in ["ER-E", "CR-E", "CE-E", "CER-", "E-E"] {
        let text = format!("CER-E{one}CER--E");
        let why = "1 of 3 samples have no time: in 1 a mark never came";
        expect(&text, 3, &[1010, 2010], &[10, 10], &[1], why);
    }
    // The first mark of all and the last.
    expect(
        "ER-ECER-E",
        2,
        &[1010],
        &[10],
        &[0],
        "1 of 2 samples have no time: in 1 a mark never came",
    );
    expect(
        "CER-ECER-",
        2,
        &[1010],
        &[10],
        &[1],
        "1 of 2 samples have no time: in 1 a mark never came",
    );
}

#[test]
fn several_flaws_are_counted_by_their_kind() {
    let why = "2 of 3 samples have no time: in 1 a mark was read together with others or after text, in 1 a mark never came";
    expect("cER-ECER-ECER-", 3, &[1010], &[10], &[0, 2], why);
}

#[test]
fn marks_that_can_not_be_assigned_make_no_sample() {
    let none = |marked: usize| {
        format!(
            "received marks of {marked} samples, but the guest has 2, so marks and samples can't be paired"
        )
    };
    // A whole sample too few or too many, a duplicate mark, marks after a truncated launch.
    for (text, marked) in [
        ("CER-E", 1),
        ("CER-ECER-ECER-E", 3),
        ("CCER-ECER-E", 3),
        ("CERR-ECER-E", 3),
        ("CER-EECER-E", 3),
        ("CER-ECER-EE", 3),
    ] {
        expect(text, 2, &[], &[], &[0, 1], &none(marked));
    }
    expect("", 2, &[], &[], &[0, 1], "no mark came");
}

#[test]
fn a_counter_that_goes_back_is_no_time() {
    let mut marks = Marks::default();
    for (mark, ticks) in [
        (Mark::Control, 100),
        (Mark::End, 90),
        (Mark::Run, 200),
        (Mark::End, 300),
    ] {
        let ticks = Some(ticks);
        marks.hear(Heard { mark, ticks });
    }
    let external = marks.samples(1);
    assert!(external.run.is_empty());
    assert!(external.why.unwrap().ends_with("counter went back"));
}

#[test]
fn a_flood_of_marks_takes_no_memory() {
    let mut marks = Marks::default();
    for _ in 0..3 * SLOTS_MAX {
        marks.hear(Heard {
            mark: Mark::Control,
            ticks: Some(1),
        });
    }
    assert_eq!(marks.slots.len(), SLOTS_MAX);
    assert!(marks.samples(SLOTS_MAX).run.is_empty());
}

fn chunk(bytes: usize, ticks: u64) -> Chunk {
    Chunk { bytes, ticks }
}

#[test]
fn a_mark_alone_at_the_head_of_its_chunk_has_the_chunks_time() {
    let times = |bytes: &[u8], chunks: &[Chunk]| super::times(bytes, chunks);
    assert_eq!(
        times(b"\x01\x03", &[chunk(1, 5), chunk(1, 7)]),
        [Some(5), Some(7)]
    );
    assert_eq!(times(b"\x01\x03", &[chunk(2, 5)]), [None, None]);
    assert_eq!(
        times(b"\x03@ws1", &[chunk(5, 5)]),
        [Some(5)],
        "text behind it"
    );
    assert_eq!(times(b"}\n\x01", &[chunk(3, 5)]), [None], "text before it");
    assert_eq!(times(b"}\n\x01", &[chunk(2, 5), chunk(1, 6)]), [Some(6)]);
    assert_eq!(times(b"\x01x\x03", &[chunk(3, 5)]), [None, None]);
    assert_eq!(times(b"text", &[chunk(4, 5)]), []);
    // A machine that reports no chunks.
    assert_eq!(times(b"\x01x\x03", &[]), [None, None]);
    assert_eq!(times(b"\x01\x03", &[chunk(1, 5)]), [Some(5), None]);
    assert_eq!(times(b"\x01", &[chunk(9, 5)]), [Some(5)]);
}

proptest! {
    /// For any marks: no panic, every sample is either measured or missing, and a time is the difference
    /// of two received times.
    #[test]
    fn every_sample_is_measured_or_missing(
        marks in proptest::collection::vec((1..=3u8, proptest::option::of(0..1000u64)), 0..60),
        count in 1..20usize,
    ) {
        let mut heard = Marks::default();
        for (byte, ticks) in &marks {
            if let Some(mark) = Mark::of(*byte) {
                heard.hear(Heard { mark, ticks: *ticks });
            }
        }
        let external = heard.samples(count);
        prop_assert_eq!(external.run.len(), external.control.len());
        prop_assert_eq!(external.run.len() + external.missing.len(), count);
        prop_assert_eq!(external.why.is_some(), !external.missing.is_empty());
        let times: Vec<u64> = marks.iter().filter_map(|(_, ticks)| *ticks).collect();
        for ticks in external.run.iter().chain(&external.control) {
            let heard = times.iter().any(|a| times.iter().any(|b| a.checked_sub(*b) == Some(*ticks)));
            prop_assert!(heard);
        }
    }

    /// There are as many times as marks, for any division into chunks.
    #[test]
    fn every_mark_has_its_turn(
        bytes in proptest::collection::vec(0..6u8, 0..40),
        chunks in proptest::collection::vec((0..6usize, any::<u64>()), 0..20),
    ) {
        let chunks: Vec<Chunk> = chunks.into_iter().map(|(bytes, ticks)| chunk(bytes, ticks)).collect();
        let marks = bytes.iter().filter(|byte| Mark::of(**byte).is_some()).count();
        prop_assert_eq!(times(&bytes, &chunks).len(), marks);
    }
}
