//! Property tests of the decoder on generated streams: valid records, damaged ones, garbage, in any
//! chunking.
//!
//! This is also the crate's fuzz target, on stable Rust. `cargo test` runs some hundreds of cases
//! of each property; a long run is
//! `PROPTEST_CASES=1000000 cargo test -p ws-records --test it properties::`.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use ws_records::{
    BenchResult, CheckVerdict, Decoder, Encoder, Expect, Item, Kind, MAX_LINE_BYTES, Mark, Nonce,
    Record, ResultAssembler,
};

const OURS: Nonce = Nonce(0xc0ffee);

fn decode_in_chunks(expect: Expect, bytes: &[u8], chunks: &[usize]) -> (Vec<Item>, Decoder) {
    drain(Decoder::new(expect), bytes, chunks)
}

fn drain(mut decoder: Decoder, bytes: &[u8], chunks: &[usize]) -> (Vec<Item>, Decoder) {
    let mut items = Vec::new();
    let mut rest = bytes;
    for &chunk in chunks.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (head, tail) = rest.split_at(chunk.clamp(1, rest.len()));
        items.extend(decoder.feed(head));
        rest = tail;
    }
    items.extend(decoder.finish());
    (items, decoder)
}

fn decode(expect: Expect, bytes: &[u8]) -> (Vec<Item>, Decoder) {
    decode_in_chunks(expect, bytes, &[usize::MAX])
}

fn records(items: &[Item]) -> Vec<&Record> {
    let records = items.iter().filter_map(|item| match item {
        Item::Record(record) => Some(record.as_ref()),
        Item::Console(_) | Item::Mark(_) => None,
    });
    records.collect()
}

fn console(items: &[Item]) -> Vec<u8> {
    let texts = items.iter().filter_map(|item| match item {
        Item::Record(_) | Item::Mark(_) => None,
        Item::Console(text) => Some(text.as_slice()),
    });
    texts.collect::<Vec<_>>().concat()
}

fn chunks() -> impl Strategy<Value = Vec<usize>> {
    vec(prop_oneof![1..4usize, 1..5000usize], 1..8)
}

/// Any content of a record of an unknown kind.
fn content() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<u64>().prop_map(|n| json!(n)),
        any::<i64>().prop_map(|n| json!(n)),
        any::<bool>().prop_map(|b| json!(b)),
        Just(Value::Null),
        any::<String>().prop_map(Value::String),
        Just(json!("@ws1 00000000 guest c0ffee 0 2 {}")),
    ];
    vec(("[a-z]{1,6}", leaf), 0..5).prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

/// Text without a newline in which markers, whole and partial, are likely.
fn garbage() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        vec(any::<u8>(), 0..40),
        Just(b"@ws1 ".to_vec()),
        Just(b"@ws1 0badc0de guest c0ffee 0 2 {}".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"@ws".to_vec()),
        (any::<u8>(), 0..6000usize).prop_map(|(byte, count)| vec![byte; count]),
    ];
    vec(piece, 0..6).prop_map(|pieces| {
        let mut text = pieces.concat();
        text.retain(|&byte| byte != b'\n');
        text
    })
}

/// A piece of the fuzz stream.
#[derive(Clone, Debug)]
enum Piece {
    Record(Value),
    Hello(u64),
    Cut(Value, prop::sample::Index),
    Flipped(Value, prop::sample::Index, u8),
    Garbage(Vec<u8>),
    Newline,
}

fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    vec(
        prop_oneof![
            content().prop_map(Piece::Record),
            (0..3u64).prop_map(Piece::Hello),
            (content(), any::<prop::sample::Index>()).prop_map(|(c, i)| Piece::Cut(c, i)),
            (content(), any::<prop::sample::Index>(), 0..8u8)
                .prop_map(|(c, i, bit)| Piece::Flipped(c, i, bit)),
            garbage().prop_map(Piece::Garbage),
            Just(Piece::Newline),
        ],
        0..20,
    )
}

fn stream(pieces: &[Piece]) -> Vec<u8> {
    let mut guest = Encoder::new("guest", OURS).unwrap();
    let mut bytes = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Record(content) => bytes.extend(guest.line("x", content).unwrap()),
            Piece::Hello(nonce) => {
                guest = Encoder::new("guest", Nonce(*nonce)).unwrap();
                let hello = json!({"protocol": 1, "arch": "a", "unit": "ns", "cpus": 1});
                bytes.extend(guest.line("hello", &hello).unwrap());
            }
            Piece::Cut(content, at) => {
                let line = guest.line("x", content).unwrap();
                bytes.extend(&line[..at.index(line.len())]);
            }
            Piece::Flipped(content, at, bit) => {
                let mut line = guest.line("x", content).unwrap();
                let at = at.index(line.len());
                line[at] ^= 1 << bit;
                bytes.extend(line);
            }
            Piece::Garbage(text) => bytes.extend(text),
            Piece::Newline => bytes.push(b'\n'),
        }
    }
    bytes
}

/// Whether the stream contains no record line, so that all of it is console text.
fn marks_in_text(pieces: &[Piece]) -> bool {
    let text = |piece: &Piece| matches!(piece, Piece::Garbage(_) | Piece::Newline);
    pieces.iter().all(text)
}

/// The number of cases is `PROPTEST_CASES`. A failing input is printed whole, so no file is kept.
fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    /// The fuzz target: any bytes in any chunking are accepted without a panic, and the chunking
    /// changes nothing.
    #[test]
    fn any_bytes_in_any_chunking_are_the_same_items(
        bytes in prop_oneof![pieces().prop_map(|p| stream(&p)), vec(any::<u8>(), 0..9000)],
        chunks in chunks(),
        expect in prop_oneof![Just(Expect::Learn), Just(Expect::Exact(OURS))],
    ) {
        let (whole, one) = decode(expect, &bytes);
        let (cut, other) = decode_in_chunks(expect, &bytes, &chunks);
        prop_assert_eq!(&whole, &cut);
        prop_assert_eq!(one.counts(), other.counts());
        for item in &whole {
            if let Item::Console(text) = item {
                prop_assert!(!text.is_empty() && text.len() <= MAX_LINE_BYTES);
            }
        }
        // Console text is the input without whole record lines, so it is a subsequence.
        let mut left = bytes.iter();
        prop_assert!(console(&whole).iter().all(|byte| left.any(|b| b == byte)));
    }

    #[test]
    fn what_is_encoded_is_decoded(
        contents in vec(content(), 0..10),
        nonce in any::<u64>(),
        source in "[a-z0-9]{1,8}",
        chunks in chunks(),
    ) {
        let mut encoder = Encoder::new(&source, Nonce(nonce)).unwrap();
        let lines: Vec<u8> =
            contents.iter().flat_map(|c| encoder.line("x", c).unwrap()).collect();
        let (items, decoder) = decode_in_chunks(Expect::Exact(Nonce(nonce)), &lines, &chunks);
        prop_assert_eq!(decoder.counts(), Default::default());
        prop_assert_eq!(items.len(), contents.len());
        for (seq, (record, content)) in (0..).zip(records(&items).iter().zip(&contents)) {
            let mut wanted = content.as_object().unwrap().clone();
            wanted.insert("kind".into(), json!("x"));
            prop_assert_eq!(&record.object, &wanted);
            prop_assert_eq!((record.seq, &record.source), (seq, &source));
        }
    }

    /// Garbage lines between records, and garbage without a newline before them, hide no record and
    /// are kept byte for byte.
    #[test]
    fn garbage_never_hides_a_record(
        lines in vec((content(), garbage(), any::<bool>()), 0..6),
        chunks in chunks(),
    ) {
        let mut guest = Encoder::new("guest", OURS).unwrap();
        let (mut bytes, mut text) = (Vec::new(), Vec::new());
        for (content, garbage, newline) in &lines {
            for into in [&mut bytes, &mut text] {
                into.extend(garbage);
                into.extend(newline.then_some(b'\n'));
            }
            bytes.extend(guest.line("x", content).unwrap());
        }
        let (items, decoder) = decode_in_chunks(Expect::Exact(OURS), &bytes, &chunks);
        prop_assert_eq!(records(&items).len(), lines.len());
        prop_assert_eq!(console(&items), text);
        prop_assert_eq!(decoder.counts().lost_records, 0);
    }

    /// Blanks, `\r`s and control sequences after records hide none of them, and are no console text. Other bytes there
    /// lose that record only.
    #[test]
    fn what_terminals_add_after_a_record_loses_nothing(
        ends in vec(vec("( |\\t|\\r|\x1b\\[[0-9;?]{0,5}[@-~]){0,3}", 0..3), 1..6),
        wrong in prop::option::of((any::<prop::sample::Index>(), "[!-~]|\x1b|\x1b\\[1")),
    ) {
        let mut guest = Encoder::new("guest", OURS).unwrap();
        let wrong = wrong.map(|(at, end)| (at.index(ends.len()), end));
        let mut bytes = Vec::new();
        for (at, end) in ends.iter().enumerate() {
            bytes.extend(guest.line("x", &json!({"n": at})).unwrap());
            bytes.pop();
            let wrong = wrong.iter().filter(|(index, _)| *index == at);
            bytes.extend(wrong.flat_map(|(_, end)| end.bytes()));
            bytes.extend(end.concat().bytes());
            bytes.push(b'\n');
        }
        let (items, decoder) = decode(Expect::Exact(OURS), &bytes);
        let lost = usize::from(wrong.is_some());
        prop_assert_eq!(records(&items).len(), ends.len() - lost);
        prop_assert_eq!(decoder.counts().bad_lines, lost as u64);
        prop_assert_eq!(console(&items).is_empty(), lost == 0);
    }

    /// Marks anywhere, also inside and before record lines, are returned in order, and everything else
    /// is as without them. A decoder without `with_marks` returns none.
    #[test]
    fn marks_come_out_wherever_they_stand(
        pieces in pieces(),
        marks in vec((any::<prop::sample::Index>(), 1..=3u8), 0..40),
        chunks in chunks(),
    ) {
        let mut bytes = stream(&pieces);
        bytes.retain(|byte| Mark::of(*byte).is_none());
        let (wanted, plain) = decode(Expect::Exact(OURS), &bytes);
        let mut marked = bytes.clone();
        for (at, byte) in &marks {
            marked.insert(at.index(marked.len() + 1), *byte);
        }
        let sent: Vec<Mark> = marked.iter().filter_map(|byte| Mark::of(*byte)).collect();
        prop_assert_eq!(sent.len(), marks.len());

        let decoder = Decoder::new(Expect::Exact(OURS)).with_marks();
        let (items, decoder) = drain(decoder, &marked, &chunks);
        let (marks, rest): (Vec<Item>, Vec<Item>) =
            items.into_iter().partition(|item| matches!(item, Item::Mark(_)));
        prop_assert_eq!(marks, sent.iter().copied().map(Item::Mark).collect::<Vec<_>>());
        prop_assert_eq!(rest, wanted);
        prop_assert_eq!(decoder.counts(), plain.counts());

        let (items, _) = decode_in_chunks(Expect::Exact(OURS), &marked, &chunks);
        prop_assert!(!items.iter().any(|item| matches!(item, Item::Mark(_))));
        if marks_in_text(&pieces) {
            let kept = console(&items).iter().filter(|b| Mark::of(**b).is_some()).count();
            prop_assert_eq!(kept, sent.len());
        }
    }

    /// A flipped bit turns the line into text, or leaves the same record (the bit was in its newline).
    #[test]
    fn a_flipped_bit_never_makes_a_wrong_record(
        content in content(),
        at in any::<prop::sample::Index>(),
        bit in 0..8u8,
    ) {
        let mut guest = Encoder::new("guest", OURS).unwrap();
        let good = guest.line("x", &content).unwrap();
        let (wanted, _) = decode(Expect::Exact(OURS), &good);
        let mut line = good.clone();
        let at = at.index(line.len());
        line[at] ^= 1 << bit;
        let (items, decoder) = decode(Expect::Exact(OURS), &line);
        for record in records(&items) {
            prop_assert_eq!(record, records(&wanted)[0]);
        }
        let kept = records(&items).len();
        prop_assert!(kept == 0 || at == line.len() - 1, "bit {} of byte {}", bit, at);
        let marker_damaged = at < 5; // then it may be plain text
        prop_assert!(kept == 1 || marker_damaged || decoder.counts().bad_lines > 0);
    }

    /// Results of any size are split into parts and joined again; a missing part is an error.
    #[test]
    fn results_travel_in_parts(
        samples in vec((any::<u64>(), any::<u64>()), 1..500),
        iterations in 1..u64::MAX,
        note in "\\PC{0,40}",
        port in any::<Option<u64>>(),
        drop in any::<prop::sample::Index>(),
    ) {
        let (run, control) = samples.into_iter().unzip();
        let result = BenchResult {
            bench: "hot-memory-access".into(), iterations, cpus: 2, page_bytes: Some(4096),
            ws_bytes: None, port, check: CheckVerdict::Unproven, note, lead: port,
            unmarked: port.map(|port| port.to_string()), run, control,
        };
        let lines = Encoder::new("guest", OURS).unwrap().result(&result).unwrap();
        let mut assembler = ResultAssembler::new();
        let mut whole = None;
        let (items, _) = decode(Expect::Exact(OURS), &lines.concat());
        for record in records(&items) {
            let Kind::Result(part) = &record.kind else { panic!("{record:?}") };
            prop_assert!(whole.is_none());
            whole = assembler.push(part.clone()).unwrap();
        }
        prop_assert_eq!(whole.as_ref(), Some(&result));

        let mut lines = lines;
        lines.remove(drop.index(lines.len()));
        let mut assembler = ResultAssembler::new();
        let (items, _) = decode(Expect::Exact(OURS), &lines.concat());
        let mut failed = items.is_empty();
        for record in records(&items) {
            let Kind::Result(part) = &record.kind else { panic!("{record:?}") };
            match assembler.push(part.clone()) {
                Ok(whole) => prop_assert_eq!(whole, None),
                Err(_) => failed = true,
            }
        }
        prop_assert!(failed || assembler.close().is_err());
    }
}
