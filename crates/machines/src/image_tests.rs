//! Tests of the image reader, on a small ELF made here byte by byte.

use super::*;
use proptest::prelude::*;

const BASE: u64 = 0x10_0000;
const PHDR: usize = 64;
const TEXT: usize = 0x100;
const ROWS: usize = 0x400;
const SYMS: usize = 0x800;
const NAMES: usize = 0xa00;
const SHDR: usize = 0xb00;

/// An image of two benchmarks, "idle" (no operation) and "cpuid".
fn image() -> Vec<u8> {
    let mut file = vec![0u8; SHDR + 3 * 64];
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    // ELF header: 64 bit, little-endian, EXEC, x86-64, one program header, three sections.
    put(0, b"\x7fELF\x02\x01\x01");
    put(16, &2u16.to_le_bytes());
    put(18, &62u16.to_le_bytes());
    put(20, &1u32.to_le_bytes());
    put(32, &(PHDR as u64).to_le_bytes());
    put(40, &(SHDR as u64).to_le_bytes());
    put(52, &64u16.to_le_bytes());
    put(54, &56u16.to_le_bytes());
    put(56, &1u16.to_le_bytes());
    put(58, &64u16.to_le_bytes());
    put(60, &3u16.to_le_bytes());
    put(62, &2u16.to_le_bytes());
    // One PT_LOAD: file bytes 0..SYMS at BASE.
    put(PHDR, &1u32.to_le_bytes());
    put(PHDR + 16, &BASE.to_le_bytes());
    put(PHDR + 24, &BASE.to_le_bytes());
    put(PHDR + 32, &(SYMS as u64).to_le_bytes());
    put(PHDR + 40, &(SYMS as u64).to_le_bytes());
    // Code: timed_call (5 bytes), run (2), control (1), idle's run (1), idle's control (1).
    put(TEXT, b"\x90\x91\x92\x93\xc3");
    put(TEXT + 16, b"\x0f\xa2");
    put(TEXT + 32, b"\xc3");
    put(TEXT + 48, b"\xf4");
    put(TEXT + 64, b"\xf5");
    let mut at = TEXT + 0x80;
    let mut text = |text: &str| {
        let address = BASE + at as u64;
        file[at..at + text.len()].copy_from_slice(text.as_bytes());
        at += text.len() + 1;
        address
    };
    let idle = [text("idle"), text("idle"), text("Nothing"), text("")];
    let cpuid = [
        text("cpuid"),
        text("exits"),
        text("Executes CPUID"),
        text("a vCPU"),
    ];
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    let mut row = |index: usize, texts: [u64; 4], run: u64, control: u64, rest: [u64; 6]| {
        let functions = [0, 0, BASE + run, BASE + control, 0, 0];
        let words = texts.iter().chain(&functions).chain(&rest);
        for (word, value) in words.enumerate() {
            put(ROWS + index * 128 + word * 8, &value.to_le_bytes());
        }
    };
    row(
        0,
        idle,
        TEXT as u64 + 48,
        TEXT as u64 + 64,
        [1, 0, 0, 1, 1, 0],
    );
    row(
        1,
        cpuid,
        TEXT as u64 + 16,
        TEXT as u64 + 32,
        [2, 10, 1000, 100, 32, 0b10_0001],
    );
    let symbols: [(&str, u64, u64, u8); 7] = [
        ("__benchmarks_start", ROWS as u64, 0, 0x10),
        ("__benchmarks_end", ROWS as u64 + 256, 0, 0x10),
        ("timed_call", TEXT as u64, 5, 0x12),
        ("cpuid_run", TEXT as u64 + 16, 2, 0x02),
        ("cpuid_control", TEXT as u64 + 32, 1, 0x02),
        ("idle_run", TEXT as u64 + 48, 1, 0x02),
        ("idle_control", TEXT as u64 + 64, 1, 0x02),
    ];
    let mut name_at = 1;
    for (index, (name, offset, size, info)) in symbols.iter().enumerate() {
        let at = SYMS + (index + 1) * 24;
        put(at, &(name_at as u32).to_le_bytes());
        put(at + 4, &[*info]);
        put(at + 6, &1u16.to_le_bytes());
        put(at + 8, &(BASE + offset).to_le_bytes());
        put(at + 16, &size.to_le_bytes());
        put(NAMES + name_at, name.as_bytes());
        name_at += name.len() + 1;
    }
    let mut section = |index: usize, kind: u32, at: usize, size: usize, link: u32, entry: u64| {
        let header = SHDR + index * 64;
        put(header + 4, &kind.to_le_bytes());
        put(header + 24, &(at as u64).to_le_bytes());
        put(header + 32, &(size as u64).to_le_bytes());
        put(header + 40, &link.to_le_bytes());
        put(header + 56, &entry.to_le_bytes());
    };
    section(1, 2, SYMS, 8 * 24, 2, 24);
    section(2, 3, NAMES, 0x100, 0, 0);
    file
}

#[test]
fn rows_are_read_as_they_stand() {
    let rows = parse(&image()).unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0].name, "idle");
    let mut digest = Sha256::new();
    digest.update(b"\x90\x91\x92\x93\xc3\x0f\xa2\xc3");
    for word in [2u64, 10, 1000, 100, 32, 0b10_0001] {
        digest.update(word.to_le_bytes());
    }
    assert_eq!(
        rows[1],
        BenchmarkRow {
            name: "cpuid".into(),
            category: "exits".into(),
            summary: "Executes CPUID".into(),
            requires: "a vCPU".into(),
            cpus: 2,
            min_iterations: 10,
            max_iterations: 1000,
            insns_iterations: 100,
            insns_samples: 32,
            parameters: vec!["page", "hypercall"],
            digest: hex(&digest.finalize()),
        }
    );
}

#[test]
fn a_changed_instruction_moves_only_its_own_rows_digest() {
    let before = parse(&image()).unwrap();
    let mut changed = image();
    changed[TEXT + 16] ^= 1;
    let after = parse(&changed).unwrap();
    assert_eq!(before[0].digest, after[0].digest);
    assert_ne!(before[1].digest, after[1].digest);
    let mut harness = image();
    harness[TEXT] ^= 1;
    assert_ne!(before[0].digest, parse(&harness).unwrap()[0].digest);
}

#[test]
fn what_is_wrong_is_said() {
    let with = |at: usize, bytes: &[u8]| {
        let mut file = image();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        parse(&file).unwrap_err()
    };
    assert!(parse(b"").unwrap_err().contains("ELF64"));
    assert!(parse(b"#!/bin/sh\n").unwrap_err().contains("ELF64"));
    assert!(with(NAMES + 1, b"x").contains("no symbol __benchmarks_start"));
    assert!(with(ROWS + 80, &0u64.to_le_bytes()).contains("0 vCPUs"));
    assert!(with(ROWS + 80, &u64::MAX.to_le_bytes()).contains("vCPUs"));
    assert!(with(ROWS + 48, &1u64.to_le_bytes()).contains("no function"));
    assert!(with(ROWS, &u64::MAX.to_le_bytes()).contains("nothing is loaded"));
    assert!(with(TEXT + 0x80, b"a|b").contains("is no name"));
    let cpuid = parse(&image()).unwrap();
    assert_eq!(cpuid[1].name, "cpuid");
    let mut twice = image();
    let (first, second) = twice.split_at_mut(ROWS + 128);
    second[..8].copy_from_slice(&first[ROWS..ROWS + 8]);
    assert!(parse(&twice).unwrap_err().contains("two of its benchmarks"));
}

#[test]
fn a_file_of_an_image_carries_its_digest() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), image()).unwrap();
    let read = GuestImage::read(file.path()).unwrap();
    assert_eq!(read.rows, parse(&image()).unwrap());
    assert_eq!(read.sha256.len(), 64);
    let error = GuestImage::read(Path::new("/nonexistent")).unwrap_err();
    assert!(error.to_string().contains("/nonexistent"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_damage_makes_the_reader_panic(
        changes in prop::collection::vec((0usize..0xbc0, any::<u8>()), 1..12),
        cut in 0usize..0xbc1,
    ) {
        let mut file = image();
        for (at, value) in changes {
            if let Some(byte) = file.get_mut(at) {
                *byte = value;
            }
        }
        let _ = parse(&file);
        let _ = parse(&file[..cut.min(file.len())]);
    }

    #[test]
    fn no_hostile_word_makes_the_reader_panic(
        words in prop::collection::vec((0usize..0x178, any::<u64>()), 1..6),
    ) {
        let mut file = image();
        for (index, value) in words {
            file[index * 8..index * 8 + 8].copy_from_slice(&value.to_le_bytes());
        }
        let _ = parse(&file);
    }
}
