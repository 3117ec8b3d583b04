//! The decoder's guarantees, one per test. `docs/records.md` is the specification.

use serde_json::json;
use ws_records::{
    Counts, Decoder, Encoder, Expect, Hello, Item, Kind, MAX_LINE_BYTES, Nonce, Record,
};

const OURS: Nonce = Nonce(0xc0ffee);

fn encoder(nonce: Nonce) -> Encoder {
    Encoder::new("guest", nonce).unwrap()
}

fn hello(encoder: &mut Encoder) -> Vec<u8> {
    let hello = Hello {
        protocol: 1,
        arch: "x86_64".into(),
        unit: "insns".into(),
        ..Hello::default()
    };
    encoder.line("hello", &hello).unwrap()
}

#[test]
fn a_hello_keeps_all_that_arrived() {
    let said =
        json!({"protocol": 1, "arch": "x86_64", "unit": "insns", "cpus": 1, "colour": "blue"});
    let line = encoder(OURS).line("hello", &said).unwrap();
    let (items, _) = decode(Expect::Exact(OURS), &line);
    let records = records(&items);
    let Kind::Hello(hello) = &records[0].kind else {
        panic!("{:?}", records[0].kind)
    };
    assert_eq!((&*hello.arch, hello.cpus, hello.pad), ("x86_64", 1, None));
    assert_eq!(hello.received, records[0].object);
    assert_eq!(hello.received["colour"], "blue");
    // The copy is not sent.
    let sent = serde_json::to_value(hello).unwrap();
    assert!(sent.get("received").is_none() && sent.get("colour").is_none());
}

fn end(encoder: &mut Encoder, bench: &str) -> Vec<u8> {
    encoder.line("end", &json!({"bench": bench})).unwrap()
}

/// All items in `bytes`.
fn decode(expect: Expect, bytes: &[u8]) -> (Vec<Item>, Counts) {
    let mut decoder = Decoder::new(expect);
    let mut items = decoder.feed(bytes);
    items.extend(decoder.finish());
    (items, decoder.counts())
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

fn bad(bad_lines: u64) -> Counts {
    Counts {
        bad_lines,
        ..Counts::default()
    }
}

/// A line with any fields and the right CRC. `@` is replaced by the right length.
fn framed(covered: &str) -> Vec<u8> {
    let json = covered.splitn(5, ' ').nth(4).unwrap_or("");
    let covered = covered.replace('@', &json.len().to_string());
    let mut line = format!("@ws1 {:08x} {covered}", crc32(covered.as_bytes())).into_bytes();
    line.push(b'\n');
    line
}

/// Bit by bit, independent of the crate's table.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                crc >> 1 ^ 0xedb8_8320
            } else {
                crc >> 1
            };
        }
    }
    !crc
}

#[test]
fn a_line_of_the_documents_form_is_a_record() {
    // CRC computed by zlib over `guest c0ffee 0 14 {"kind":"x"}  `.
    let line = b"@ws1 23c6b24e guest c0ffee 0 14 {\"kind\":\"x\"}  \n";
    let (items, counts) = decode(Expect::Exact(OURS), line);
    let [record] = records(&items)[..] else {
        panic!("{items:?} {counts:?}")
    };
    assert_eq!(
        (record.source.as_str(), record.nonce, record.seq),
        ("guest", OURS, 0)
    );
    assert_eq!(record.kind, Kind::Unknown("x".into()));
    assert_eq!(counts, Counts::default());
}

#[test]
fn records_and_console_text_come_out_in_order() {
    let mut guest = encoder(OURS);
    let line = [
        b"boot\n".to_vec(),
        hello(&mut guest),
        b"text\r\n".to_vec(),
        end(&mut guest, "a"),
    ];
    let (items, counts) = decode(Expect::Exact(OURS), &line.concat());
    assert_eq!(counts, Counts::default());
    assert_eq!(items.len(), 4);
    assert_eq!(items[0], Item::Console(b"boot\n".to_vec()));
    assert!(matches!(&items[1], Item::Record(r) if matches!(r.kind, Kind::Hello(_))));
    assert_eq!(items[2], Item::Console(b"text\r\n".to_vec()));
    assert!(matches!(&items[3], Item::Record(r) if r.seq == 1));
}

#[test]
fn blanks_and_control_sequences_before_the_newline_are_allowed() {
    for end in [
        &b"\r\n"[..],
        b"\r\r\r\n",
        b" \n",
        b"\x1b[0m\r\n",
        b"\x1b[K \x1b[1;31m\n",
    ] {
        let mut line = hello(&mut encoder(OURS));
        line.pop();
        line.extend(end);
        assert_eq!(records(&decode(Expect::Exact(OURS), &line).0).len(), 1);
    }
}

#[test]
fn records_of_no_launch_are_left_out_and_nothing_is_wrong() {
    let mut other = Encoder::new("vmm", Nonce(0)).unwrap();
    let line = [hello(&mut encoder(OURS)), hello(&mut other)].concat();
    let (items, counts) = decode(Expect::Exact(OURS), &line);
    assert_eq!(records(&items).len(), 1);
    assert_eq!(counts, Counts::default());
}

#[test]
fn a_record_stands_behind_text_without_newline() {
    let line = [b"loading... ".to_vec(), hello(&mut encoder(OURS))].concat();
    let (items, counts) = decode(Expect::Exact(OURS), &line);
    assert_eq!(items[0], Item::Console(b"loading... ".to_vec()));
    assert_eq!(records(&items).len(), 1);
    assert_eq!(counts, Counts::default());
}

#[test]
fn a_marker_inside_a_record_does_not_hide_it() {
    let line = end(&mut encoder(OURS), "@ws1 is a marker");
    let (items, counts) = decode(Expect::Exact(OURS), &line);
    assert_eq!(records(&items).len(), 1);
    assert_eq!(counts, Counts::default());
}

#[test]
fn a_record_behind_megabytes_without_newline_is_found() {
    for filler in [&b"."[..], b"@ws1 ", b"@ws", b"@ws1 00000000 guest "] {
        let flood = filler.repeat(1_000_000 / filler.len());
        let line = [flood.clone(), hello(&mut encoder(OURS))].concat();
        let (items, counts) = decode(Expect::Exact(OURS), &line);
        assert_eq!(records(&items).len(), 1);
        assert_eq!(console(&items), flood);
        assert_eq!(counts, bad(u64::from(filler.contains(&b' '))));
    }
}

#[test]
fn a_marker_across_the_end_of_the_buffer_is_found() {
    for filler in MAX_LINE_BYTES - 10..MAX_LINE_BYTES + 10 {
        let line = [vec![b'.'; filler], hello(&mut encoder(OURS))].concat();
        let (items, counts) = decode(Expect::Exact(OURS), &line);
        assert_eq!(records(&items).len(), 1, "behind {filler} bytes");
        assert_eq!((console(&items).len(), counts), (filler, Counts::default()));
    }
}

#[test]
fn a_record_cut_short_is_counted_and_costs_only_itself() {
    let mut guest = encoder(OURS);
    let whole = [
        hello(&mut guest),
        end(&mut guest, "a"),
        end(&mut guest, "b"),
    ];
    for cut in 5..whole[1].len() - 1 {
        // Cut with its newline lost, as by a machine that restarts, and with a newline.
        for newline in [&b""[..], b"\n"] {
            let line = [&whole[0], &whole[1][..cut], newline, &whole[2]].concat();
            let (items, counts) = decode(Expect::Exact(OURS), &line);
            let kept: Vec<_> = records(&items).iter().map(|record| record.seq).collect();
            assert_eq!(kept, [0, 2]);
            assert_eq!(console(&items), [&whole[1][..cut], newline].concat());
            assert_eq!(
                counts,
                Counts {
                    bad_lines: 1,
                    lost_records: 1,
                    stale_records: 0
                }
            );
        }
    }
}

#[test]
fn a_last_record_that_lacks_only_its_newline_counts() {
    let mut line = hello(&mut encoder(OURS));
    line.pop();
    assert_eq!(records(&decode(Expect::Exact(OURS), &line).0).len(), 1);
    line.pop();
    assert_eq!(decode(Expect::Exact(OURS), &line).1, bad(1));
}

#[test]
fn fields_out_of_form_make_a_bad_line() {
    let good = framed("guest c0ffee 0 @ {\"kind\":\"x\"}");
    assert_eq!(
        records(&decode(Expect::Exact(OURS), &good).0).len(),
        1,
        "the unchanged line is valid"
    );
    for covered in [
        "Guest c0ffee 0 @ {\"kind\":\"x\"}",
        "guest9999 c0ffee 0 @ {\"kind\":\"x\"}",
        " c0ffee 0 @ {\"kind\":\"x\"}",
        "guest C0FFEE 0 @ {\"kind\":\"x\"}",
        "guest 00000000000c0ffee 0 @ {\"kind\":\"x\"}",
        "guest  0 @ {\"kind\":\"x\"}",
        "guest c0ffee 00 @ {\"kind\":\"x\"}",
        "guest c0ffee +0 @ {\"kind\":\"x\"}",
        "guest c0ffee -1 @ {\"kind\":\"x\"}",
        "guest c0ffee 18446744073709551616 @ {\"kind\":\"x\"}",
        "guest c0ffee  0 @ {\"kind\":\"x\"}",
        "guest c0ffee 0 11 {\"kind\":\"x\"}",
        "guest c0ffee 0 0@ {\"kind\":\"x\"}",
        "guest c0ffee 0 @ {\"kind\":7}",
        "guest c0ffee 0 @ {}",
        "guest c0ffee 0 @ [\"kind\"]",
        "guest c0ffee 0 @ {\"kind\":\"x\"",
        "guest c0ffee 0 @ {\"kind\":\"x\"}}",
        "guest c0ffee 0 @ {\"kind\":\"\u{e9}\"}",
        "guest c0ffee 0 @ {\"kind\":\t\"x\"}",
        "guest c0ffee 0 @ {\"kind\":\"end\"}",
        "guest c0ffee 0 @ {\"kind\":\"begin\",\"bench\":\"a\",\"index\":-1}",
        "guest c0ffee 0 @ ",
        "guest c0ffee 0 0",
        "guest",
        "",
    ] {
        let line = framed(covered);
        let (items, counts) = decode(Expect::Exact(OURS), &line);
        assert_eq!(counts, bad(1), "{covered}");
        assert_eq!(items, [Item::Console(line)], "{covered}");
    }
}

#[test]
fn deeply_nested_json_is_refused_and_exhausts_nothing() {
    let json = format!(
        "{{\"kind\":\"x\",\"a\":{}}}",
        "[".repeat(2000) + &"]".repeat(2000)
    );
    let line = framed(&format!("guest c0ffee 0 @ {json}"));
    assert!(line.len() <= MAX_LINE_BYTES);
    assert_eq!(decode(Expect::Exact(OURS), &line).1, bad(1));
}

#[test]
fn the_longest_line_is_a_record_and_a_longer_one_is_text() {
    let line_of = |bytes: usize| {
        let base = framed("guest c0ffee 0 @ {\"kind\":\"x\"}").len() + 2; // LEN grows by 2 digits
        let blanks = " ".repeat(bytes - base);
        framed(&format!("guest c0ffee 0 @ {{\"kind\":\"x\"{blanks}}}"))
    };
    let longest = line_of(MAX_LINE_BYTES);
    assert_eq!(longest.len(), MAX_LINE_BYTES);
    assert_eq!(records(&decode(Expect::Exact(OURS), &longest).0).len(), 1);
    let longer = line_of(MAX_LINE_BYTES + 1);
    let (items, counts) = decode(Expect::Exact(OURS), &longer);
    assert_eq!(
        (records(&items).len(), console(&items), counts),
        (0, longer, bad(1))
    );
}

#[test]
fn nonces_are_compared_by_value() {
    let line = framed("guest 0000000000c0ffee 0 @ {\"kind\":\"x\"}");
    assert_eq!(records(&decode(Expect::Exact(OURS), &line).0).len(), 1);
    assert_eq!("00c0ffee".parse(), Ok(OURS));
    assert_eq!(OURS.to_string(), "c0ffee");
    for wrong in ["", "C0", "0x1", "+1", "00000000000000001"] {
        assert!(wrong.parse::<Nonce>().is_err(), "{wrong}");
    }
}

#[test]
fn a_record_of_another_launch_is_counted_and_never_used() {
    let (mut old, mut guest) = (encoder(Nonce(1)), encoder(OURS));
    let line = [
        hello(&mut old),
        hello(&mut guest),
        end(&mut old, "a"),
        end(&mut guest, "a"),
    ];
    let (items, counts) = decode(Expect::Exact(OURS), &line.concat());
    assert!(
        records(&items)
            .iter()
            .all(|record| record.nonce == OURS && record.launch == 1)
    );
    assert_eq!(records(&items).len(), 2);
    assert_eq!(console(&items), b"");
    assert_eq!(
        counts,
        Counts {
            stale_records: 2,
            ..Counts::default()
        }
    );
}

#[test]
fn gaps_are_counted_for_each_source_by_itself() {
    let mut guest = encoder(OURS);
    let mut vmm = Encoder::new("vmm", OURS).unwrap();
    let lines: Vec<_> = (0..5).map(|_| end(&mut guest, "a")).collect();
    let line = [&lines[1][..], &end(&mut vmm, "a"), &lines[4]].concat();
    let (items, counts) = decode(Expect::Exact(OURS), &line);
    assert_eq!(records(&items).len(), 3);
    assert_eq!(
        counts,
        Counts {
            lost_records: 3,
            ..Counts::default()
        }
    );
}

#[test]
fn a_record_seen_twice_is_used_once() {
    let line = end(&mut encoder(OURS), "a");
    let (items, counts) = decode(Expect::Exact(OURS), &[&line[..], &line].concat());
    assert_eq!(records(&items).len(), 1);
    assert_eq!(
        counts,
        Counts {
            stale_records: 1,
            ..Counts::default()
        }
    );
}

#[test]
fn a_machine_that_restarts_by_itself_begins_launch_2() {
    let (mut first, mut second) = (encoder(OURS), encoder(OURS));
    let line = [
        hello(&mut first),
        end(&mut first, "a"),
        hello(&mut second),
        end(&mut second, "a"),
    ];
    let (items, counts) = decode(Expect::Exact(OURS), &line.concat());
    let seen: Vec<_> = records(&items).iter().map(|r| (r.launch, r.seq)).collect();
    assert_eq!(seen, [(1, 0), (1, 1), (2, 0), (2, 1)]);
    assert_eq!(counts, Counts::default());
}

#[test]
fn the_first_hello_says_which_launch_a_log_holds() {
    let (mut cut, mut guest) = (encoder(Nonce(1)), encoder(OURS));
    let line = [
        end(&mut cut, "a"),
        hello(&mut guest),
        end(&mut guest, "a"),
        end(&mut cut, "b"),
    ];
    let mut decoder = Decoder::new(Expect::Learn);
    assert_eq!(decoder.nonce(), None);
    let items = decoder.feed(&line.concat());
    assert_eq!(decoder.nonce(), Some(OURS));
    assert_eq!(records(&items).len(), 2);
    assert_eq!(
        decoder.counts(),
        Counts {
            stale_records: 2,
            ..Counts::default()
        }
    );
}

#[test]
fn a_later_hello_begins_a_new_launch_of_a_log() {
    let mut line = Vec::new();
    for nonce in [OURS, Nonce(2), Nonce(2), Nonce(0), Nonce(0)] {
        let mut guest = encoder(nonce);
        line.extend([hello(&mut guest), end(&mut guest, "a")].concat());
    }
    let (items, counts) = decode(Expect::Learn, &line);
    let seen: Vec<_> = records(&items).iter().map(|r| (r.launch, r.seq)).collect();
    let launches = (1..=5).flat_map(|launch| [(launch, 0), (launch, 1)]);
    assert_eq!(seen, launches.collect::<Vec<_>>());
    assert_eq!(counts, Counts::default());
}

#[test]
fn a_second_source_joins_the_launch_with_its_own_hello() {
    let mut vmm = Encoder::new("vmm", OURS).unwrap();
    let line = [hello(&mut vmm), hello(&mut encoder(OURS))].concat();
    let (items, _) = decode(Expect::Learn, &line);
    assert!(records(&items).iter().all(|record| record.launch == 1));
    assert_eq!(records(&items).len(), 2);
}

#[test]
fn invented_sources_do_not_fill_memory() {
    let line: Vec<u8> = (0..1000)
        .flat_map(|n| end(&mut Encoder::new(&format!("s{n}"), OURS).unwrap(), "a"))
        .collect();
    let (items, counts) = decode(Expect::Exact(OURS), &line);
    assert_eq!(records(&items).len() as u64 + counts.stale_records, 1000);
    assert_eq!(records(&items).len(), 64);
}

#[test]
fn sequence_numbers_at_their_end_do_not_overflow() {
    let line = [
        framed("guest c0ffee 18446744073709551615 @ {\"kind\":\"x\"}"),
        framed("vmm c0ffee 18446744073709551615 @ {\"kind\":\"x\"}"),
    ];
    let (items, counts) = decode(Expect::Exact(OURS), &line.concat());
    assert_eq!(records(&items).len(), 2);
    assert_eq!(counts.lost_records, u64::MAX);
}

#[test]
fn the_examples_of_the_document_are_understood() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/records.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut kinds = Vec::new();
    let mut rest = page.as_str();
    while let Some(start) = rest.find("{\"kind\"") {
        let text = &rest[start..];
        let end = text.find(['`']).unwrap();
        let object: serde_json::Value = serde_json::from_str(text[..end].trim()).unwrap();
        let kind = object["kind"].as_str().unwrap().to_owned();
        let line = encoder(OURS).line(&kind, &object).unwrap();
        let (items, counts) = decode(Expect::Exact(OURS), &line);
        assert_eq!(
            (records(&items).len(), counts),
            (1, Counts::default()),
            "{kind}"
        );
        assert!(
            !matches!(records(&items)[0].kind, Kind::Unknown(_)),
            "{kind}"
        );
        kinds.push(kind);
        rest = &text[end..];
    }
    assert_eq!(
        kinds,
        [
            // From the guest, its monitor, Xen's dom0, neve, and the agent.
            "hello", "begin", "result", "skip", "fault", "end", "bye", "hello", "exits", "bye",
            "hello", "bye", "hello", "exits", "bye", "exits"
        ]
    );
}

#[test]
fn non_ascii_text_travels_as_escapes() {
    let name = "caf\u{e9} \u{1f980} \u{7f}\n";
    let line = end(&mut encoder(OURS), name);
    assert!(
        line[..line.len() - 1]
            .iter()
            .all(|b| (b' '..=b'~').contains(b))
    );
    let (items, _) = decode(Expect::Exact(OURS), &line);
    assert!(matches!(&records(&items)[0].kind, Kind::End(end) if end.bench == name));
}
