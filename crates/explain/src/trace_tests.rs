use super::*;
use crate::fake::{encode, write};
use proptest::prelude::*;

fn sample() -> Trace {
    Trace {
        architecture: Architecture::X86_64,
        recorder: crate::trace::Recorder::Plugin,
        has_accesses: true,
        insns: vec![
            Insn::new(0x10_0000, 0x7000_0000, &[0x66, 0x87, 0xdb]),
            Insn::new(u64::MAX - 1, 1, &[0x90]),
            Insn::new(0x10_0003, 0x7000_0003, &[0x0f; 16]),
        ],
        paths: [
            (vec![0, 2, 1, 1, 0], vec![FIRST, SECOND, LAST]),
            (vec![], vec![]),
            (vec![2], vec![]),
        ]
        .map(|(insns, accesses)| Path {
            insns,
            cuts: vec![],
            accesses,
        })
        .to_vec(),
        windows: vec![0, 1, 0, 2],
    }
}

const FIRST: Accessed = Accessed {
    at: 1,
    what: What::Number(0xc000_0080),
};
const SECOND: Accessed = Accessed {
    at: 1,
    what: What::Vmcb {
        offset: 4095,
        is_write: false,
    },
};
const LAST: Accessed = Accessed {
    at: 4,
    what: What::Vmcb {
        offset: 0,
        is_write: true,
    },
};

const BEYOND: What = What::Vmcb {
    offset: 4096,
    is_write: true,
};

#[test]
fn accesses_are_found_by_their_instruction() {
    let trace = sample();
    let of = |at| trace.paths[0].accessed(at).to_vec();
    assert_eq!(
        [0, 1, 2, 4, 9].map(of),
        [vec![], vec![FIRST, SECOND], vec![], vec![LAST], vec![]]
    );
}

#[test]
fn a_trace_is_read_as_it_was_written() {
    let trace = sample();
    assert_eq!(Trace::read(&encode(&trace)).unwrap(), trace);
    let addresses: Vec<u64> = trace.path(2).map(|insn| insn.next()).collect();
    assert_eq!(addresses, [0x10_0013]);
    assert_eq!(trace.path(9).len(), 0);
}

#[test]
fn what_is_no_whole_trace_is_refused_with_the_cure() {
    let says = |bytes: &[u8]| Trace::read(bytes).unwrap_err().to_string();
    let head = |version: &str, target: &str, failed: &str, dropped: u64| {
        says(&write(&sample(), version, target, failed, dropped))
    };
    assert!(says(b"").contains("first line differs"));
    assert!(says(b"\x7fELF").contains("first line differs"));
    let found = head("2", "x86_64", "", 0);
    assert!(
        found.contains("\"2\"") && found.contains("make build"),
        "{found}"
    );
    assert!(head("3", "s390x", "", 0).contains("\"s390x\""));
    let found = head("3", "aarch64", "there were more windows than it keeps", 0);
    assert!(
        found.contains("more windows") && found.contains("fewer benchmarks"),
        "{found}"
    );
    assert!(head("3", "x86_64", "", 3).contains("3 timed calls"));
}

#[test]
fn impossible_numbers_are_damage() {
    let of = |change: fn(&mut Trace)| {
        let mut trace = sample();
        change(&mut trace);
        Trace::read(&encode(&trace)).unwrap_err().to_string()
    };
    assert!(of(|trace| trace.paths[0].insns[1] = 3).contains("instruction 4 of 3"));
    assert!(of(|trace| trace.paths[0].cuts.push(Cut { at: 5, rest: 1 })).contains("a cut at 5"));
    assert!(of(|trace| trace.paths[0].accesses[2].at = 5).contains("an access at 5"));

    assert!(of(|trace| trace.paths[0].accesses[2].what = BEYOND).contains("kind 2 is to 4096"));
    assert!(of(|trace| trace.windows[0] = 3).contains("path 3 of 3"));
    let mut bytes = encode(&sample());
    bytes.push(b'\n');
    assert!(
        Trace::read(&bytes)
            .unwrap_err()
            .to_string()
            .contains("not \"end\"")
    );
}

proptest! {
    #[test]
    fn a_cut_trace_is_refused(cut in 0usize..200) {
        let bytes = encode(&sample());
        let kept = bytes.len().saturating_sub(1 + cut);
        prop_assert!(Trace::read(&bytes[..kept]).is_err());
    }

    #[test]
    fn a_damaged_trace_never_panics(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = encode(&sample());
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(trace) = Trace::read(&bytes) {
            prop_assert!(trace.paths.iter().flat_map(|path| &path.insns).all(|insn| (*insn as usize) < trace.insns.len()));
            prop_assert!(trace.windows.iter().all(|path| (*path as usize) < trace.paths.len()));
        }
    }

    #[test]
    fn any_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut file = b"worldswitch-trace 3\nx86_64\n\n".to_vec();
        file.extend(bytes);
        let _ = Trace::read(&file);
    }
}
