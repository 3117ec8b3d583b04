//! Finds an image's code. In an ELF file's executable segments, mapping symbols `$x` mark code and `$d` data (AAELF64,
//! 5.5.4). The rest is unproven. For a raw image the caller names the ranges.

use object::elf::{PF_W, PF_X, SHF_EXECINSTR};
use object::read::elf::ElfFile64;
use object::{
    Architecture, LittleEndian, Object, ObjectKind, ObjectSection, ObjectSegment, ObjectSymbol,
    SectionFlags, SectionIndex, SegmentFlags,
};

/// The section with room for veneers: executable, filled with zeros.
pub const VENEERS: &str = ".veneers";
/// The section of the deferred pages, one per CPU: writable, aligned to 4 KiB.
pub const DEFERRED: &str = ".deferred";

const PAGE_BYTES: u64 = 4096;
const WORD_BYTES: u64 = 4;

/// Bytes from `start` up to `end`, as offsets in a file or as link addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub start: u64,
    pub end: u64,
}

impl Range {
    /// Makes a range; `None` unless `start` is below `end`.
    pub fn new(start: u64, end: u64) -> Option<Self> {
        (start < end).then_some(Self { start, end })
    }

    fn sized(start: u64, bytes: u64) -> Option<Self> {
        Self::new(start, start.checked_add(bytes)?)
    }

    pub fn bytes(self) -> u64 {
        self.end - self.start
    }

    fn holds(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    fn meets(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }
}

/// The ranges of a raw image, as offsets in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// Ranges that contain only code.
    pub code: Vec<Range>,
    /// Room for veneers: executable, filled with zeros.
    pub veneers: Option<Range>,
    /// The deferred pages, one per CPU. They may be past the end of the file, like a bss.
    pub pages: Option<Range>,
}

/// The kind of some words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Code,
    Data,
    Unproven,
}

/// Executable words of the file, all of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The link addresses of the words.
    pub address: Range,
    /// The file offset of the first word.
    pub offset: usize,
    pub kind: Kind,
}

/// An image as the patcher sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// Spans of words, ordered by address, without overlap.
    pub spans: Vec<Span>,
    /// Room for veneers.
    pub veneers: Option<Span>,
    /// Addresses of the deferred pages.
    pub pages: Option<Range>,
}

/// Reason why an image can't be patched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    #[error("it is not an ELF file for AArch64 (64 bits, little-endian): {0}")]
    NotElf(String),
    #[error("it is for {0}, not for AArch64")]
    Architecture(String),
    #[error("it is an ELF file, but not a linked program: link it first")]
    NotLinked,
    #[error("it is damaged: {0}")]
    Damaged(String),
    #[error(
        "its segment at {0:#x} can be written and executed: at virtual EL2 of ARMv8.0 writable memory is not executable"
    )]
    WriteAndExecute(u64),
    #[error("it has no executable part")]
    NoCode,
    #[error(
        "it has no mapping symbols ($x, $d), which mark code: it was stripped. Give the file that the linker wrote"
    )]
    Stripped,
    #[error(
        "it is not an ELF file, so its code is unknown: name the code with --code START-END, in bytes of the file"
    )]
    NoOutline,
    #[error("it is an ELF file, which marks its own code: leave out --code, --veneers and --pages")]
    NeedsNoOutline,
    #[error("{what} {start:#x}-{end:#x} {why}", start = .range.start, end = .range.end)]
    Range {
        what: &'static str,
        range: Range,
        why: &'static str,
    },
}

impl Image {
    /// Reads an ELF file, or a raw image with the ranges of `outline`.
    pub fn read(bytes: &[u8], outline: &Outline) -> Result<Self, ImageError> {
        let is_elf = bytes.starts_with(&object::elf::ELFMAG);
        if is_elf && *outline != Outline::default() {
            Err(ImageError::NeedsNoOutline)
        } else if is_elf {
            elf(bytes)
        } else if outline.code.is_empty() {
            Err(ImageError::NoOutline)
        } else {
            raw(bytes, outline)
        }
    }
}

fn whole_words(what: &'static str, range: Range, unit: u64) -> Result<(), ImageError> {
    if range.start % unit == 0 && range.end % unit == 0 {
        return Ok(());
    }
    let why = if unit == PAGE_BYTES {
        "does not consist of whole pages of 4096 bytes"
    } else {
        "does not consist of whole instructions of 4 bytes"
    };
    Err(ImageError::Range { what, range, why })
}

/// Makes an image of the ranges that the user names, whose addresses are offsets in the file. Ranges may not
/// overlap: veneers would overwrite code.
fn raw(bytes: &[u8], outline: &Outline) -> Result<Image, ImageError> {
    let file = Range {
        start: 0,
        end: bytes.len() as u64,
    };
    let span = |what, range: Range| {
        whole_words(what, range, WORD_BYTES)?;
        if !file.holds(range) {
            let why = "is beyond the end of the file";
            return Err(ImageError::Range { what, range, why });
        }
        Ok(Span {
            address: range,
            offset: range.start as usize,
            kind: Kind::Code,
        })
    };
    let mut spans = Vec::new();
    for &range in &outline.code {
        spans.push(span("--code", range)?);
    }
    let veneers = outline
        .veneers
        .map(|range| span("--veneers", range))
        .transpose()?;
    if let Some(range) = outline.pages {
        whole_words("--pages", range, PAGE_BYTES)?;
    }
    spans.sort_by_key(|span| span.address.start);
    let mut all: Vec<Range> = spans.iter().map(|span| span.address).collect();
    all.extend(
        veneers
            .map(|span| span.address)
            .into_iter()
            .chain(outline.pages),
    );
    all.sort_by_key(|range| range.start);
    for pair in all.windows(2) {
        if pair[0].meets(pair[1]) {
            let why = "overlaps another of the ranges";
            return Err(ImageError::Range {
                what: "the range",
                range: pair[1],
                why,
            });
        }
    }
    Ok(Image {
        spans,
        veneers,
        pages: outline.pages,
    })
}

fn damaged(error: impl ToString) -> ImageError {
    ImageError::Damaged(error.to_string())
}

type Elf<'a> = ElfFile64<'a, LittleEndian>;

/// Finds the code of an ELF file by its mapping symbols: data between code must stay as it is.
fn elf(bytes: &[u8]) -> Result<Image, ImageError> {
    let elf = Elf::parse(bytes).map_err(|e| ImageError::NotElf(e.to_string()))?;
    if elf.architecture() != Architecture::Aarch64 {
        let other = format!("{:?}", elf.architecture());
        return Err(ImageError::Architecture(other));
    }
    if !matches!(elf.kind(), ObjectKind::Executable | ObjectKind::Dynamic) {
        return Err(ImageError::NotLinked);
    }
    let mut image = Image::default();
    let proven = sections(&elf, &mut image)?;
    let segments = executable_segments(&elf, bytes.len() as u64)?;
    let room = image.veneers.map(|span| span.address);
    for &(range, offset) in &segments {
        divide(range, offset, &proven, room, &mut image.spans);
    }
    if let Some(room) = image.veneers {
        let is_here = |&(range, offset): &(Range, u64)| {
            range.holds(room.address)
                && offset + (room.address.start - range.start) == room.offset as u64
        };
        if !segments.iter().any(is_here) {
            return Err(damaged("its .veneers are not in an executable segment"));
        }
    }
    if image.spans.is_empty() {
        return Err(ImageError::NoCode);
    }
    if proven.is_empty() {
        return Err(ImageError::Stripped);
    }
    Ok(image)
}

/// Finds the ranges that mapping symbols mark in the executable sections, ordered by address. Adds the room for veneers
/// and the deferred pages to `image`.
fn sections(elf: &Elf, image: &mut Image) -> Result<Vec<(Range, Kind)>, ImageError> {
    let mut proven = Vec::new();
    for section in elf.sections() {
        let SectionFlags::Elf { sh_flags } = section.flags() else {
            continue;
        };
        let name = section.name().map_err(damaged)?;
        if name == DEFERRED {
            let pages = Range::sized(section.address(), section.size());
            let pages = pages.ok_or_else(|| damaged("its .deferred is empty"))?;
            whole_words(DEFERRED, pages, PAGE_BYTES)?;
            image.pages = Some(pages);
            continue;
        }
        let (true, Some((offset, bytes))) = (
            sh_flags & u64::from(SHF_EXECINSTR) != 0,
            section.file_range(),
        ) else {
            continue;
        };
        let Some(range) = Range::sized(section.address(), bytes) else {
            continue;
        };
        if name == VENEERS {
            whole_words(VENEERS, range, WORD_BYTES)?;
            image.veneers = Some(Span {
                address: range,
                offset: usize::try_from(offset).map_err(damaged)?,
                kind: Kind::Code,
            });
        } else {
            proven.extend(mapped(elf, section.index(), range)?);
        }
    }
    proven.sort_by_key(|(range, _)| range.start);
    if proven.windows(2).any(|pair| pair[0].0.meets(pair[1].0)) {
        return Err(damaged("two of its sections are at the same addresses"));
    }
    Ok(proven)
}

/// Finds the ranges that the mapping symbols of a section mark.
fn mapped(
    elf: &Elf,
    section: SectionIndex,
    range: Range,
) -> Result<Vec<(Range, Kind)>, ImageError> {
    let mut marks = Vec::new();
    for symbol in elf.symbols() {
        if symbol.section_index() != Some(section) {
            continue;
        }
        let name = symbol.name_bytes().map_err(damaged)?;
        let kind = match name {
            b"$x" => Kind::Code,
            b"$d" => Kind::Data,
            _ if name.starts_with(b"$x.") => Kind::Code,
            _ if name.starts_with(b"$d.") => Kind::Data,
            _ => continue,
        };
        let address = symbol.address();
        if address == range.end {
            continue;
        }
        if !(range.start..range.end).contains(&address) {
            return Err(damaged("a mapping symbol is outside of its section"));
        }
        if kind == Kind::Code && address % WORD_BYTES != 0 {
            return Err(damaged(
                "a mapping symbol $x is not aligned to instructions of 4 bytes",
            ));
        }
        marks.push((address, kind));
    }
    marks.sort_by_key(|&(address, _)| address);
    let ends = marks.iter().skip(1).map(|mark| mark.0).chain([range.end]);
    let ranges = marks.iter().zip(ends);
    Ok(ranges
        .filter_map(|(&(start, kind), end)| Some((Range::new(start, end)?, kind)))
        .collect())
}

/// Finds the executable segments: the addresses and the file offset of each. Overlaps are an error, as a word could
/// then have two kinds.
fn executable_segments(elf: &Elf, file_bytes: u64) -> Result<Vec<(Range, u64)>, ImageError> {
    let mut segments: Vec<(Range, u64)> = Vec::new();
    for segment in elf.segments() {
        let SegmentFlags::Elf { p_flags } = segment.flags() else {
            continue;
        };
        if p_flags & PF_X == 0 {
            continue;
        }
        if p_flags & PF_W != 0 {
            return Err(ImageError::WriteAndExecute(segment.address()));
        }
        let (offset, length) = segment.file_range();
        let Some(range) = Range::sized(segment.address(), length) else {
            continue;
        };
        let end = offset.saturating_add(length);
        if end > file_bytes || range.start % WORD_BYTES != 0 {
            return Err(damaged(
                "an executable segment is not within the file, or not aligned to 4 bytes",
            ));
        }
        segments.push((range, offset));
    }
    segments.sort_by_key(|(range, _)| range.start);
    let in_file = |&(range, offset): &(Range, u64)| Range {
        start: offset,
        end: offset + range.bytes(),
    };
    let addresses = segments.windows(2).any(|pair| pair[0].0.meets(pair[1].0));
    let mut places: Vec<Range> = segments.iter().map(in_file).collect();
    places.sort_by_key(|range| range.start);
    if addresses || places.windows(2).any(|pair| pair[0].meets(pair[1])) {
        return Err(damaged("two of its executable segments overlap"));
    }
    Ok(segments)
}

/// Divides an executable segment into spans, without the room for veneers. A word that is not wholly in
/// one range of `proven` is unproven.
fn divide(
    segment: Range,
    offset: u64,
    proven: &[(Range, Kind)],
    room: Option<Range>,
    spans: &mut Vec<Span>,
) {
    let mut known = proven.iter().peekable();
    let words = (segment.start..segment.end).step_by(WORD_BYTES as usize);
    for start in words {
        let Some(end) = start
            .checked_add(WORD_BYTES)
            .filter(|&end| end <= segment.end)
        else {
            break;
        };
        let word = Range { start, end };
        while known.next_if(|(range, _)| range.end < word.end).is_some() {}
        let kind = match known.peek() {
            Some((range, kind)) if range.holds(word) => *kind,
            _ => Kind::Unproven,
        };
        if room.is_some_and(|room| room.meets(word)) {
            continue;
        }
        match spans.last_mut() {
            // A span does not extend into the next segment, whose bytes are elsewhere in the file.
            Some(last)
                if last.kind == kind && last.address.end == start && start != segment.start =>
            {
                last.address.end = end;
            }
            _ => spans.push(Span {
                address: word,
                offset: (offset + (start - segment.start)) as usize,
                kind,
            }),
        }
    }
}
