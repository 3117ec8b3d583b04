use super::*;
use proptest::prelude::*;

fn pattern(lines: &[&str]) -> Pattern {
    let mut pattern = Pattern::default();
    for line in lines {
        pattern.push(line).unwrap();
    }
    pattern
}

/// The whole of some bytes, at an address.
fn at(content: &[u8], address: u64) -> Part {
    Part {
        range: 0..content.len(),
        address,
    }
}

fn offsets(pattern: &Pattern, content: &[u8]) -> Vec<usize> {
    let found = pattern.find(content, &at(content, 0), &Addresses::new());
    found.iter().map(|found| found.at).collect()
}

#[test]
fn bytes_wildcards_and_addresses_are_read_and_all_else_is_refused() {
    let read = pattern(&["80 .. 3d", "<rr> 00"]);
    let wanted = [
        Some(0x80),
        None,
        Some(0x3d),
        None,
        None,
        None,
        None,
        Some(0),
    ];
    assert_eq!(read.bytes, wanted);
    assert_eq!((read.names[0].at.clone(), read.names[0].end), (3..7, 8));
    for wrong in [
        "", " ", "8", "800", "0G", "8A", "+1", "-1", ".", "...", "<>", "<a b>", "<a", "a>", "<é>",
        "é",
    ] {
        assert!(Pattern::default().push(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn an_address_is_that_of_its_instruction_s_end_and_must_be_the_same_everywhere() {
    // Two instructions that refer to 0x2000: at 0x1000 of 6 bytes, at 0x1006 of 7 with one behind the address.
    let code = |second: u8| {
        [
            0x8b, 0x05, 0xfa, 0x0f, 0, 0, 0x80, 0x3d, second, 0x0f, 0, 0, 0,
        ]
    };
    let pattern = pattern(&["8b 05 <x>", "80 3d <x> 00"]);
    let find =
        |second, known: Addresses| pattern.find(&code(second), &at(&code(second), 0x1000), &known);
    let known = |to| Addresses::from([("x".to_owned(), to)]);
    let found = find(0xf3, Addresses::new());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].addresses, known(0x2000));
    assert!(find(0xf4, Addresses::new()).is_empty());
    assert_eq!(find(0xf3, known(0x2000)).len(), 1);
    assert!(find(0xf3, known(0x2001)).is_empty());
}

#[test]
fn an_address_is_written_for_its_new_place_and_one_too_far_away_changes_nothing() {
    let after = pattern(&["83 3d <x> 00"]);
    let place = |address, x| Match {
        at: 1,
        address,
        addresses: Addresses::from([("x".to_owned(), x)]),
    };
    let mut content = [0x90; 9];
    let written = after.write(&mut content, &place(0x1000, 0xf07));
    assert_eq!(written, Some(()));
    assert_eq!(content, [0x90, 0x83, 0x3d, 0, 0xff, 0xff, 0xff, 0, 0x90]);
    let before = content;
    for place in [
        place(0, 1 << 32),
        place(1 << 32, 0),
        Match {
            addresses: Addresses::new(),
            ..place(0, 0)
        },
        Match {
            at: 3,
            ..place(0, 0)
        },
        Match {
            at: usize::MAX,
            ..place(0, 0)
        },
    ] {
        assert_eq!(after.write(&mut content, &place), None);
        assert_eq!(content, before);
    }
}

#[test]
fn what_a_change_says_replaces_what_was_said() {
    let before = pattern(&["01 02 <a>", "03 <b>", ".. .. 04"]);
    let mut change = pattern(&["05 .. <c>", "06 .. .. .. 07"]);
    change.leave(before.len());
    let after = before.changed(&change);
    let mut wanted = pattern(&["05 02 <c>", "06 .. .. .. 07", ".. .. 04"]);
    assert_eq!(after.bytes, wanted.bytes);
    // Of <b> a byte was replaced.
    assert_eq!(after.names, wanted.names);
    assert!(after.excludes(&before));
    wanted = pattern(&[".. 02 ..", "08 .. .. ..", ".. .. .. .. .. .. .."]);
    assert!(!wanted.excludes(&before));
}

/// A byte of a pattern; few values, so that patterns are often found.
fn cell() -> impl Strategy<Value = Option<u8>> {
    prop_oneof![3 => (0u8..2).prop_map(Some), 1 => Just(None)]
}

proptest! {
    /// Against a search that tries each place, also in a part of the content only.
    #[test]
    fn it_is_found_wherever_it_is(
        bytes in prop::collection::vec(cell(), 1..6),
        content in prop::collection::vec(0u8..2, 0..40),
        from in 0usize..20,
    ) {
        let pattern = Pattern { bytes, names: Vec::new() };
        let is_at = |at: usize| {
            content.get(at..at + pattern.len()).is_some_and(|code| {
                code.iter().zip(&pattern.bytes).all(|(byte, wanted)| wanted.is_none_or(|wanted| wanted == *byte))
            })
        };
        let part = Part { range: from.min(content.len())..content.len(), address: 7 };
        let found = pattern.find(&content, &part, &Addresses::new());
        let found: Vec<usize> = found.iter().map(|found| found.at).collect();
        let wanted: Vec<usize> = part.range.clone().filter(|at| is_at(*at)).collect();
        prop_assert_eq!(found, wanted);
    }

    #[test]
    fn no_text_makes_it_stumble(text in "([0-9a-f]{2}|\\.\\.|<[a-z]>|.| ){0,12}", content in prop::collection::vec(any::<u8>(), 0..40)) {
        let mut pattern = Pattern::default();
        if pattern.push(&text).is_ok() {
            prop_assert!(offsets(&pattern, &content).iter().all(|at| at + pattern.len() <= content.len()));
        }
    }
}
