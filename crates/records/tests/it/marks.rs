//! Marks in the line: decoded if requested, else ordinary bytes.

use serde_json::json;
use ws_records::{Counts, Decoder, Encoder, Expect, Item, Mark, Nonce};

/// `hello` with a mark before it and one inside, and text with two.
fn line() -> Vec<u8> {
    let hello = json!({"protocol": 1, "arch": "x86_64", "unit": "tsc_ticks", "cpus": 1});
    let hello = Encoder::new("guest", Nonce(7))
        .unwrap()
        .line("hello", &hello)
        .unwrap();
    [
        b"\x01",
        &hello[..9],
        b"\x03",
        &hello[9..],
        b"\x02te\x03xt\n",
    ]
    .concat()
}

#[test]
fn marks_come_before_what_their_line_holds() {
    let mut decoder = Decoder::new(Expect::Exact(Nonce(7))).with_marks();
    let items = decoder.feed(&line());
    assert_eq!(items.len(), 6);
    assert_eq!(
        items[..2],
        [Item::Mark(Mark::Control), Item::Mark(Mark::End)]
    );
    assert!(matches!(&items[2], Item::Record(record) if record.seq == 0));
    assert_eq!(
        items[3..],
        [
            Item::Mark(Mark::Run),
            Item::Mark(Mark::End),
            Item::Console(b"text\n".to_vec())
        ]
    );
    assert_eq!(decoder.counts(), Counts::default());
}

#[test]
fn where_none_were_asked_for_they_are_bytes_like_any_other() {
    let mut decoder = Decoder::new(Expect::Exact(Nonce(7)));
    let items = decoder.feed(&line());
    let text: Vec<u8> = items
        .iter()
        .flat_map(|item| match item {
            Item::Console(text) => text.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(text, line());
    assert_eq!(decoder.counts().bad_lines, 1);
}

#[test]
fn no_byte_of_a_record_is_a_mark() {
    for mark in [Mark::Control, Mark::Run, Mark::End] {
        assert_eq!(Mark::of(mark.byte()), Some(mark));
        assert!(!matches!(mark.byte(), b' '..=b'~' | b'\r' | b'\n'));
    }
    let marks = (0..=255u8).filter(|byte| Mark::of(*byte).is_some());
    assert_eq!(marks.count(), 3);
}
