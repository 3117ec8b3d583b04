//! Tests of the image reader, on a small ELF file made byte by byte.

use super::*;
use crate::fake_image::{FakeImage, FakeRow, fake_image};
use proptest::prelude::*;

/// An image of two benchmarks, "idle" and "cpuid".
fn fake() -> FakeImage {
    fake_image(&[
        FakeRow {
            texts: ["idle", "idle", "Nothing", ""],
            numbers: [1, 0, 0, 1, 1, 0],
        },
        FakeRow {
            texts: ["cpuid", "exits", "Executes CPUID", "a vCPU"],
            numbers: [2, 10, 1000, 100, 32, 0b10_0001],
        },
    ])
}

fn image() -> Vec<u8> {
    fake().bytes
}

#[test]
fn rows_are_read_as_they_stand() {
    let rows = parse(&image()).unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0].name, "idle");
    let mut digest = Sha256::new();
    digest.update(b"\x90\x91\x92\x93\xc3\x0f\x01\xc1");
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
            work: None,
            facts: RowFacts::default(),
            cpus: 2,
            host_cpus: 1,
            vm: String::new(),
            missing: None,
            min_iterations: 10,
            max_iterations: 1000,
            insns_iterations: 100,
            insns_samples: 32,
            parameters: vec!["page", "hypercall"],
            has_hypercall: true,
            digest: hex(&digest.finalize()),
        }
    );
}

#[test]
fn a_loop_too_long_for_the_guest_to_warm_up_is_refused() {
    let long = "x".repeat(600);
    let fake = fake_image(&[FakeRow {
        texts: ["idle", "idle", &long, ""],
        numbers: [1, 0, 0, 1, 1, 0],
    }]);
    // The last two symbols are the row's run and control; in each, the size is its third word.
    for (symbol, what) in [(2, "run"), (1, "control")] {
        let size = fake.names - symbol * 24 + 16;
        let with = |bytes: u64| {
            let mut file = fake.bytes.clone();
            file[size..size + 8].copy_from_slice(&bytes.to_le_bytes());
            parse(&file)
        };
        assert!(with(512).is_ok(), "{what}");
        let error = with(513).unwrap_err();
        assert!(error.contains("513 bytes of code"), "{what}: {error}");
    }
}

#[test]
fn a_hypercall_instruction_in_the_timed_code_is_found() {
    assert!(!parse(&image()).unwrap()[0].has_hypercall);
    for code in [b"\x90\x0f\x01\xc1", b"\x0f\x01\xd9\x90"] {
        assert!(holds_hypercall(code));
    }
    assert!(
        !holds_hypercall(b"\x0f\x01\xc2\x0f\x01"),
        "monitor, and a beginning"
    );
    assert!(!holds_hypercall(b""));
}

#[test]
fn the_calls_of_a64_are_found_whatever_their_immediate() {
    // hvc #0, hvc #0xea1, smc #0; each after a nop.
    for call in [0xd400_0002u32, 0xd41d_4422, 0xd400_0003] {
        let mut code = 0xd503_201fu32.to_le_bytes().to_vec();
        code.extend(call.to_le_bytes());
        assert!(holds_a64_hypercall(&code));
        assert!(!holds_a64_hypercall(&code[1..]), "not between instructions");
    }
    assert!(!holds_a64_hypercall(&0xd400_0001u32.to_le_bytes()), "svc");
}

#[test]
fn the_call_of_riscv_is_found_between_instructions_of_two_and_four_bytes() {
    let ecall = [0x73, 0, 0, 0];
    let (nop, short_nop) = ([0x13, 0, 0, 0], [1, 0]);
    let code = [&nop[..], &short_nop, &ecall, &nop].concat();
    assert!(holds_riscv_hypercall(&code));
    // The second half of an instruction, an ebreak, and a beginning.
    let half = [&[0x37, 0x05, 0x73, 0], &[0u8, 0][..], &nop].concat();
    assert!(!holds_riscv_hypercall(&half));
    assert!(!holds_riscv_hypercall(&[0x73, 0, 0x10, 0]));
    assert!(!holds_riscv_hypercall(&ecall[..3]));
    assert!(!holds_riscv_hypercall(b""));
}

#[test]
fn a_file_s_architecture_is_known_by_its_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let of = |parts: &[(usize, &[u8])]| {
        let mut bytes = vec![0u8; 64];
        for (at, part) in parts {
            bytes[*at..at + part.len()].copy_from_slice(part);
        }
        std::fs::write(&path, bytes).unwrap();
        architecture(&path)
    };
    let elf: (usize, &[u8]) = (0, b"\x7fELF");
    assert_eq!(of(&[elf, (18, &[62, 0])]), Architecture::X86_64);
    assert_eq!(of(&[elf, (18, &[183, 0])]), Architecture::Aarch64);
    assert_eq!(of(&[elf, (18, &[243, 0])]), Architecture::Riscv64);
    assert_eq!(of(&[(56, b"ARM\x64")]), Architecture::Aarch64);
    assert_eq!(of(&[(0, b"MZ"), (56, b"RSC\x05")]), Architecture::Riscv64);
    assert_eq!(of(&[elf, (56, b"RSC\x05")]), Architecture::X86_64);
    assert_eq!(architecture(folder.path()), Architecture::X86_64);
}

#[test]
fn a_changed_instruction_moves_only_its_own_rows_digest() {
    let before = parse(&image()).unwrap();
    let mut changed = image();
    changed[fake().text + 32] ^= 1;
    let after = parse(&changed).unwrap();
    assert_eq!(before[0].digest, after[0].digest);
    assert_ne!(before[1].digest, after[1].digest);
    let mut harness = image();
    harness[fake().text] ^= 1;
    assert_ne!(before[0].digest, parse(&harness).unwrap()[0].digest);
}

#[test]
fn a_text_that_a_row_leaves_out_is_empty() {
    let (mut file, rows) = (image(), fake().rows);
    file[rows + 24..rows + 32].fill(0);
    assert_eq!(parse(&file).unwrap()[0].requires, "");
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
    let FakeImage {
        texts, rows, names, ..
    } = fake();
    assert!(with(names + 1, b"x").contains("no symbol __benchmarks_start"));
    assert!(with(rows + 80, &0u64.to_le_bytes()).contains("0 vCPUs"));
    assert!(with(rows + 80, &u64::MAX.to_le_bytes()).contains("vCPUs"));
    assert!(with(rows + 48, &1u64.to_le_bytes()).contains("not a function"));
    assert!(with(rows, &u64::MAX.to_le_bytes()).contains("nothing is loaded"));
    assert!(with(texts, b"a|b").contains("is not a name"));
    let name_of_first: [u8; 8] = image()[rows..rows + 8].try_into().unwrap();
    assert!(with(rows + 128, &name_of_first).contains("two of its benchmarks"));
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
        changes in prop::collection::vec((0usize..1100, any::<u8>()), 1..12),
        cut in 0usize..1100,
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
        words in prop::collection::vec((0usize..140, any::<u64>()), 1..6),
    ) {
        let mut file = image();
        for (index, value) in words {
            if let Some(word) = file.get_mut(index * 8..index * 8 + 8) {
                word.copy_from_slice(&value.to_le_bytes());
            }
        }
        let _ = parse(&file);
    }
}
