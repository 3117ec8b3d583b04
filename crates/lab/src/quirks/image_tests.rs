use super::*;

/// An ELF file: header, two segments, four sections. Its bytes 0x200..0x300 are code at 0x1200, and
/// 0x300..0x400 are data. It has a symbol for each name, with address and size.
pub(crate) fn elf(symbols: &[(&str, u64, u64)]) -> Vec<u8> {
    let mut strings = vec![0];
    let mut table = vec![0; 24];
    for (name, address, size) in symbols {
        table.extend((strings.len() as u32).to_le_bytes());
        // A global function of section 1.
        table.extend([0x12, 0, 1, 0]);
        table.extend(address.to_le_bytes());
        table.extend(size.to_le_bytes());
        strings.extend(name.bytes().chain([0]));
    }
    // The reader wants headers at multiples of 8.
    strings.resize(strings.len().next_multiple_of(8), 0);
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0];
    file.resize(16, 0);
    // A shared object for x86_64.
    file.extend([3, 0, 62, 0, 1, 0, 0, 0]);
    let sections_at = 0x400 + table.len() + strings.len();
    for word in [0, 64, sections_at as u64] {
        file.extend(word.to_le_bytes());
    }
    file.extend([0; 4]);
    for half in [64u16, 56, 2, 64, 3, 2] {
        file.extend(half.to_le_bytes());
    }
    for (flags, offset) in [(5u32, 0x200u64), (6, 0x300)] {
        file.extend(1u32.to_le_bytes());
        file.extend(flags.to_le_bytes());
        for word in [
            offset,
            offset + 0x1000,
            offset + 0x1000,
            0x100,
            0x100,
            0x100,
        ] {
            file.extend(word.to_le_bytes());
        }
    }
    file.resize(0x400, 0x90);
    file.extend(&table);
    file.extend(&strings);
    // None, .symtab with its strings, .strtab; kind, offset, size, link.
    let strings_at = 0x400 + table.len();
    for (kind, offset, size, link) in [
        (0u32, 0, 0, 0u32),
        (2, 0x400, table.len(), 2),
        (3, strings_at, strings.len(), 0),
    ] {
        file.extend([0; 4]);
        file.extend(kind.to_le_bytes());
        for word in [0, 0, offset as u64, size as u64] {
            file.extend(word.to_le_bytes());
        }
        file.extend(link.to_le_bytes());
        file.extend([0; 12]);
        file.extend(if kind == 2 { 24u64 } else { 0 }.to_le_bytes());
    }
    file
}

fn part(range: Range<usize>, address: u64) -> Part {
    Part { range, address }
}

#[test]
fn code_is_in_executable_segments_and_in_one_function_if_it_is_named() {
    let file = elf(&[("f", 0x1210, 16), ("g", 0x1220, 8), ("empty", 0x1230, 0)]);
    let all = vec![part(0x200..0x300, 0x1200)];
    assert_eq!(code(&file, None), all);
    assert_eq!(code(&file, Some("f")), [part(0x210..0x220, 0x1210)]);
    assert_eq!(code(&file, Some("absent")), all);
    assert_eq!(code(&file, Some("empty")), all);
    // Two functions of one name, and functions outside of the code.
    assert_eq!(
        code(&elf(&[("f", 0x1210, 16), ("f", 0x1220, 16)]), Some("f")),
        all
    );
    for (address, size) in [(0x12f8, 9), (0x11ff, 4), (0x1300, 4), (0x1210, u64::MAX)] {
        assert_eq!(code(&elf(&[("f", address, size)]), Some("f")), all);
    }
}

#[test]
fn a_file_that_is_not_elf_is_code_as_a_whole() {
    assert_eq!(code(b"text", Some("f")), [part(0..4, 0)]);
    assert_eq!(code(b"", None), [part(0..0, 0)]);
}

proptest::proptest! {
    #[test]
    fn no_change_of_a_byte_makes_it_stumble(at in 0usize..0x600, byte: u8) {
        let mut file = elf(&[("f", 0x1210, 16)]);
        if let Some(old) = file.get_mut(at) {
            *old = byte;
        }
        for part in code(&file, Some("f")) {
            proptest::prop_assert!(part.range.end <= file.len());
        }
    }
}
