//! Small guest images made byte by byte, for the tests of this crate and of the command.

const BASE: u64 = 0x10_0000;
const TEXT: usize = 0x100;

/// An image, and the offsets of its parts in the file.
pub struct FakeImage {
    pub bytes: Vec<u8>,
    /// Code: `timed_call` (5 bytes), then 16 bytes for each row: its run (2 bytes), and at offset 8
    /// its control (1 byte).
    pub text: usize,
    /// The first row's texts: name, category, summary, requires, each with its NUL.
    pub texts: usize,
    /// The table of benchmarks.
    pub rows: usize,
    /// The names of symbols; the first, `__benchmarks_start`, is at offset 1.
    pub names: usize,
}

/// A benchmark of a fake image.
pub struct FakeRow<'a> {
    /// Name, category, summary, requires.
    pub texts: [&'a str; 4],
    /// vCPUs, iterations (fewest, most, on insns), samples on insns, parameters.
    pub numbers: [u64; 6],
}

/// An ELF64 executable with the benchmarks `rows`.
pub fn fake_image(rows: &[FakeRow<'_>]) -> FakeImage {
    let mut loaded = vec![0u8; TEXT];
    loaded.extend(b"\x90\x91\x92\x93\xc3");
    loaded.resize(TEXT + 16, 0);
    for index in 0..rows.len() {
        let mut code = [0u8; 16];
        code[..2].copy_from_slice(&[0x0f, index as u8]);
        code[8] = 0xc0 | index as u8;
        loaded.extend(code);
    }
    let texts = loaded.len();
    let mut places = Vec::new();
    for row in rows {
        places.push(row.texts.map(|text| {
            let address = BASE + loaded.len() as u64;
            loaded.extend(text.bytes().chain([0]));
            address
        }));
    }
    loaded.resize(loaded.len().next_multiple_of(8), 0);
    let table = loaded.len();
    for (index, (row, texts)) in rows.iter().zip(&places).enumerate() {
        let code = BASE + (TEXT + 16 + index * 16) as u64;
        let functions = [0, 0, code, code + 8, 0, 0];
        for word in texts.iter().chain(&functions).chain(&row.numbers) {
            loaded.extend(word.to_le_bytes());
        }
    }
    let end = loaded.len();
    let mut symbols = vec![
        ("__benchmarks_start".to_owned(), table, 0u64, 0x10u8),
        ("__benchmarks_end".to_owned(), end, 0, 0x10),
        ("timed_call".to_owned(), TEXT, 5, 0x12),
    ];
    for index in 0..rows.len() {
        let code = TEXT + 16 + index * 16;
        symbols.push((format!("run{index}"), code, 2, 0x02));
        symbols.push((format!("control{index}"), code + 8, 1, 0x02));
    }
    let mut file = loaded;
    let symbol_table = file.len();
    file.extend([0; 24]);
    let mut names = vec![0u8];
    for (name, offset, size, info) in &symbols {
        file.extend((names.len() as u32).to_le_bytes());
        file.extend([*info, 0, 1, 0]);
        file.extend((BASE + *offset as u64).to_le_bytes());
        file.extend(size.to_le_bytes());
        names.extend(name.bytes().chain([0]));
    }
    let names_at = file.len();
    file.extend(&names);
    let sections = file.len().next_multiple_of(8);
    file.resize(sections + 64, 0);
    section(&mut file, [2, symbol_table, names_at - symbol_table, 2, 24]);
    section(&mut file, [3, names_at, names.len(), 0, 0]);
    head(&mut file, end, sections);
    FakeImage {
        bytes: file,
        text: TEXT,
        texts,
        rows: table,
        names: names_at,
    }
}

/// A section header: kind, offset, bytes, link, bytes of an entry.
fn section(file: &mut Vec<u8>, [kind, offset, bytes, link, entry]: [usize; 5]) {
    let mut header = [0u8; 64];
    header[4..8].copy_from_slice(&(kind as u32).to_le_bytes());
    header[24..32].copy_from_slice(&(offset as u64).to_le_bytes());
    header[32..40].copy_from_slice(&(bytes as u64).to_le_bytes());
    header[40..44].copy_from_slice(&(link as u32).to_le_bytes());
    header[56..64].copy_from_slice(&(entry as u64).to_le_bytes());
    file.extend(header);
}

/// The ELF header (64 bit, little-endian, executable, x86-64) and one segment of `loaded` bytes.
fn head(file: &mut [u8], loaded: usize, sections: usize) {
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"\x7fELF\x02\x01\x01");
    for (at, value) in [
        (16, 2u16),
        (18, 62),
        (52, 64),
        (54, 56),
        (56, 1),
        (58, 64),
        (60, 3),
        (62, 2),
    ] {
        put(at, &value.to_le_bytes());
    }
    put(20, &1u32.to_le_bytes());
    put(32, &64u64.to_le_bytes());
    put(40, &(sections as u64).to_le_bytes());
    put(64, &1u32.to_le_bytes());
    put(64 + 16, &BASE.to_le_bytes());
    put(64 + 24, &BASE.to_le_bytes());
    put(64 + 32, &(loaded as u64).to_le_bytes());
    put(64 + 40, &(loaded as u64).to_le_bytes());
}
