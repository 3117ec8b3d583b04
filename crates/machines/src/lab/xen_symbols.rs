//! The functions of Xen, from the table that Xen keeps in its own image for backtraces. Debian's packages have no other
//! symbols.
//!
//! Xen's `xen/tools/symbols.c` (`write_src`) writes the table, in this order, each part aligned to
//! 4, 8 or (on ARM) 256 bytes, with zeros between them:
//!
//! | part | what it is |
//! |---|---|
//! | addresses | sorted: 64 bits each, or 32 bits each less the address where Xen is linked |
//! | `num_syms` | 32 bits |
//! | names | for each symbol a byte with its length and so many bytes, each of which is a token |
//! | markers | where each 256th name is, 32 bits each |
//! | token table | 256 texts, each with a NUL: what the bytes of names stand for |
//! | token index | where each of these begins, 16 bits each |
//!
//! No header names the table's address. The token index is found by its form, and then the parts before it, from the
//! last to the first. Each part has to agree with the others.

use std::collections::BTreeMap;

/// A function of Xen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XenSymbol {
    pub address: u64,
    /// `t`, `T`, `w` or `W`, as in nm.
    pub kind: char,
    /// The name, or `FILE.c#NAME` of a function that is not global.
    pub name: String,
}

/// Reason why an image has no symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum XenSymbolsError {
    #[error(
        "this image of Xen has no table of its symbols, which Xen keeps for backtraces (is it compressed?)"
    )]
    NoTable,
    #[error(
        "the table of symbols in this image of Xen is laid out in an unknown way: {0} is missing at its place"
    )]
    Unknown(&'static str),
}

/// The greatest alignment of a part: `.align 8` is 256 bytes on ARM.
const MOST_PADDING: usize = 256;
/// Number of names between two markers.
const STEP: usize = 256;
/// The divisor of the address at which Xen is linked, where its addresses have 32 bits (`XEN_VIRT_START` in
/// xen/arch/x86/include/asm/config.h).
const LINKED_AT: u64 = 1 << 30;
/// The fewest pointers to functions that an image has.
const LEAST_POINTERS: usize = 16;

/// Reads the functions in an image of Xen, sorted by address.
pub fn read(image: &[u8]) -> Result<Vec<XenSymbol>, XenSymbolsError> {
    let tokens = tokens(image).ok_or(XenSymbolsError::NoTable)?;
    let markers = markers(image, tokens.start).ok_or(XenSymbolsError::Unknown("markers"))?;
    let names = names(image, &markers).ok_or(XenSymbolsError::Unknown("names"))?;
    let addresses = addresses(image, &names);
    let addresses = addresses.ok_or(XenSymbolsError::Unknown("addresses"))?;
    let addresses = match addresses {
        Addresses::Whole(addresses) => addresses,
        Addresses::Offsets(offsets) => {
            // The table has no base for offsets, so the base is taken from the image's pointers to these functions.
            let base = linked_at(image, &offsets);
            let base = base.ok_or(XenSymbolsError::Unknown("pointer to its functions"))?;
            let whole = offsets.iter().map(|offset| base.checked_add(*offset));
            let whole: Option<_> = whole.collect();
            whole.ok_or(XenSymbolsError::Unknown("addresses"))?
        }
    };
    let all = addresses.into_iter().zip(names.all);
    Ok(all
        .filter_map(|(address, name)| symbol(address, name, &tokens.texts))
        .collect())
}

fn u32_at(image: &[u8], at: usize) -> Option<u32> {
    let bytes = image.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

fn u64_at(image: &[u8], at: usize) -> Option<u64> {
    let bytes = image.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// The token table: where it begins, and its texts.
struct Tokens<'a> {
    start: usize,
    texts: Vec<&'a [u8]>,
}

fn tokens(image: &[u8]) -> Option<Tokens<'_>> {
    (0..image.len()).step_by(2).find_map(|at| {
        let index = index(image, at)?;
        (0..=MOST_PADDING).find_map(|padding| table(image, at.checked_sub(padding)?, &index))
    })
}

/// The token index at `at`: 256 ascending numbers, the first of which is 0.
fn index(image: &[u8], at: usize) -> Option<Vec<usize>> {
    let bytes = image.get(at..at.checked_add(512)?)?;
    if bytes.first_chunk() != Some(&[0, 0]) {
        return None;
    }
    let index: Vec<usize> = bytes
        .chunks_exact(2)
        .map(|pair| usize::from(u16::from_le_bytes([pair[0], pair[1]])))
        .collect();
    index.is_sorted_by(|a, b| a < b).then_some(index)
}

/// The token table that ends at `end`, if its texts begin where the index says.
fn table<'a>(image: &'a [u8], end: usize, index: &[usize]) -> Option<Tokens<'a>> {
    let before = image.get(..end)?.strip_suffix(&[0])?;
    let last = before.iter().rposition(|byte| *byte == 0)? + 1;
    let start = last.checked_sub(*index.last()?)?;
    let texts: Vec<&[u8]> = image
        .get(start..end - 1)?
        .split(|byte| *byte == 0)
        .collect();
    let mut at = 0;
    for (text, wanted) in texts.iter().zip(index) {
        if at != *wanted {
            return None;
        }
        at += text.len() + 1;
    }
    (texts.len() == index.len()).then_some(Tokens { start, texts })
}

/// The markers, and where they begin.
struct Markers {
    start: usize,
    all: Vec<usize>,
}

/// The markers that end before `end`: ascending numbers, the first of which is 0.
fn markers(image: &[u8], end: usize) -> Option<Markers> {
    let before = |at: usize| Some((at.checked_sub(4)?, u32_at(image, at.checked_sub(4)?)?));
    let mut start = end;
    while let (at, 0) = before(start)? {
        start = at;
        if end - start > MOST_PADDING {
            return None;
        }
    }
    let mut all = Vec::new();
    loop {
        let (at, marker) = before(start)?;
        let marker = usize::try_from(marker).ok()?;
        if all.last().is_some_and(|after| *after <= marker) {
            return None;
        }
        all.push(marker);
        start = at;
        if marker == 0 {
            all.reverse();
            return Some(Markers { start, all });
        }
    }
}

/// The names, as tokens, where their number is, and how parts are aligned.
struct Names<'a> {
    count_at: usize,
    aligned: usize,
    all: Vec<&'a [u8]>,
}

/// The names before the markers.
fn names<'a>(image: &'a [u8], markers: &Markers) -> Option<Names<'a>> {
    // The last marker is that of the last names, 256 at most of 256 bytes at most.
    let end = markers.start.checked_sub(*markers.all.last()?)?;
    let start = end.saturating_sub(STEP * 256 + MOST_PADDING);
    (start..end).filter(|at| at % 4 == 0).find_map(|at| {
        [4, 8, MOST_PADDING].into_iter().find_map(|aligned| {
            let count_at = at.checked_sub(aligned)?;
            let count = usize::try_from(u32_at(image, count_at)?).ok()?;
            if count.div_ceil(STEP) != markers.all.len() {
                return None;
            }
            let all = names_at(image, at, count, markers, aligned)?;
            Some(Names {
                count_at,
                aligned,
                all,
            })
        })
    })
}

/// The names at an address, if there are `count`, each 256th is at its marker, and the last one ends at the markers.
fn names_at<'a>(
    image: &'a [u8],
    start: usize,
    count: usize,
    markers: &Markers,
    aligned: usize,
) -> Option<Vec<&'a [u8]>> {
    let mut at = start;
    let mut all = Vec::new();
    for number in 0..count {
        if number % STEP == 0 && markers.all.get(number / STEP) != Some(&(at - start)) {
            return None;
        }
        let length = usize::from(*image.get(at)?);
        all.push(image.get(at + 1..at + 1 + length)?);
        at += 1 + length;
    }
    is_padding(image.get(at..markers.start)?, aligned).then_some(all)
}

/// Whether these bytes can be between two parts.
fn is_padding(bytes: &[u8], aligned: usize) -> bool {
    bytes.len() < aligned && bytes.iter().all(|byte| *byte == 0)
}

/// The addresses of symbols.
#[derive(Debug)]
enum Addresses {
    Whole(Vec<u64>),
    /// Addresses less that where Xen is linked.
    Offsets(Vec<u64>),
}

/// The addresses before the number of names, one for each, in ascending order.
fn addresses(image: &[u8], names: &Names<'_>) -> Option<Addresses> {
    let count = names.all.len();
    (0..names.aligned).step_by(4).find_map(|padding| {
        let end = names.count_at.checked_sub(padding)?;
        if !is_padding(image.get(end..names.count_at)?, names.aligned) {
            return None;
        }
        let all = |bytes: usize, read: &dyn Fn(usize) -> Option<u64>| {
            let start = end.checked_sub(count.checked_mul(bytes)?)?;
            let all: Option<Vec<u64>> = (start..end).step_by(bytes).map(read).collect();
            all.filter(|all| all.is_sorted() && all.first() < all.last())
        };
        let offsets = all(4, &|at| u32_at(image, at).map(u64::from));
        let whole = || all(8, &|at| u64_at(image, at)).map(Addresses::Whole);
        offsets.map(Addresses::Offsets).or_else(whole)
    })
}

/// The address where Xen is linked: that with which most words of the image are addresses of its functions.
fn linked_at(image: &[u8], offsets: &[u64]) -> Option<u64> {
    let mut pointers: BTreeMap<u64, usize> = BTreeMap::new();
    for at in (0..image.len()).step_by(8) {
        let Some(word) = u64_at(image, at) else { break };
        let (base, offset) = (word & !(LINKED_AT - 1), word & (LINKED_AT - 1));
        // The upper half of virtual addresses, in which Xen is.
        if word >> 47 == 0x1_ffff && offsets.binary_search(&offset).is_ok() {
            *pointers.entry(base).or_default() += 1;
        }
    }
    let most = pointers.into_iter().max_by_key(|(_, count)| *count);
    most.and_then(|(base, count)| (count >= LEAST_POINTERS).then_some(base))
}

/// A symbol, if it is a function. The first character of its name is its kind.
fn symbol(address: u64, tokens: &[u8], texts: &[&[u8]]) -> Option<XenSymbol> {
    let bytes: Vec<u8> = tokens
        .iter()
        .flat_map(|token| texts.get(usize::from(*token)).copied().unwrap_or_default())
        .copied()
        .collect();
    let mut text = String::from_utf8(bytes).ok()?;
    let is_name = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    let kind = text.chars().next().filter(|kind| "tTwW".contains(*kind))?;
    text.remove(0);
    (is_name && !text.is_empty()).then_some(XenSymbol {
        address,
        kind,
        name: text,
    })
}

#[cfg(test)]
#[path = "xen_symbols_tests.rs"]
mod tests;
