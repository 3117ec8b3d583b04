//! The patcher: judges every word of code, then rewrites those that change.

use crate::a64;
use crate::image::{Image, ImageError, Kind, Outline, VENEERS};
use crate::registers::{Registers, TableError};
use crate::rules::{Access, Becomes, Rules, Target, Verdict};
use crate::veneers::{self, Veneers};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// The schema of a report as JSON.
pub const SCHEMA: &str = "worldswitch-patch/1";

/// The most instructions that a refusal lists.
const NAMED: usize = 10;

/// Options of a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub target: Target,
    /// Whether the image is a VHE hypervisor.
    pub vhe: bool,
    /// The ranges of a file that is not an ELF file.
    pub outline: Outline,
}

/// An instruction's address at which it is linked; in a raw image its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(pub u64);

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:#x}", self.0))
    }
}

/// Report on the changed instructions, and on those that were left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The schema: [`SCHEMA`].
    pub schema: &'static str,
    pub target: Target,
    pub vhe: bool,
    /// Bytes of code.
    pub code_bytes: u64,
    /// Rewritten instructions, by register, in the order of their names.
    pub changed: Vec<Changed>,
    /// Hypervisor instructions that are right as they are.
    pub left: Vec<Left>,
    /// Words of data that would be a hypervisor instruction if they were code.
    pub in_data: u64,
    /// Bytes of veneers.
    pub veneer_bytes: u64,
    /// Assumptions about the image that the patcher can't check.
    pub needs: Vec<&'static str>,
}

/// A register's accesses of one kind that were rewritten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    pub register: String,
    pub access: Access,
    /// Replacement of the accesses, such as `hvc`.
    pub becomes: &'static str,
    pub places: Vec<Place>,
}

/// A register's accesses of one kind that stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Left {
    pub register: String,
    pub access: Access,
    pub why: &'static str,
    pub places: Vec<Place>,
}

/// Reason why an image was not patched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Table(#[from] TableError),
    /// All instructions that can't be rewritten: address, name, and reason.
    #[error("{}", list(.0))]
    Instructions(Vec<(Place, String, &'static str)>),
    #[error(
        "--to neve needs room that the image does not have: {what}; give an ELF file the sections .veneers and .deferred; for another file, use --veneers and --pages"
    )]
    NoRoom { what: String },
    #[error("its room for veneers is not empty: was it patched before?")]
    RoomInUse,
    #[error(
        "its code, its veneers and its deferred pages are too far apart for a branch or an ADRP"
    )]
    TooFar,
    #[error("there is no hypervisor instruction in its {0} bytes of code")]
    NothingToDo(u64),
}

fn list(all: &[(Place, String, &'static str)]) -> String {
    let mut text = format!("{} of its instructions can't be rewritten:", all.len());
    for (place, name, why) in all.iter().take(NAMED) {
        text += &format!("\n{:#x}: {name}: {why}", place.0);
    }
    if all.len() > NAMED {
        text += "\n...";
    }
    text
}

const UNPROVEN: &str = "may be a hypervisor instruction, but no mapping symbol marks it as code";

/// A word that is to be rewritten.
struct Site {
    place: u64,
    offset: usize,
    rt: u8,
    write: bool,
    to: Becomes,
}

/// Patches an image. Returns the patched bytes, and the report. An image is patched whole or not at all.
///
/// # Errors
/// The image can't be patched, or not all hypervisor instructions in it can be found and rewritten.
pub fn patch(bytes: &[u8], options: &Options) -> Result<(Vec<u8>, Report), Refused> {
    let table = Registers::load()?;
    let image = Image::read(bytes, &options.outline)?;
    let rules = Rules {
        table: &table,
        target: options.target,
        vhe: options.vhe,
    };
    let mut found = Found::default();
    for span in &image.spans {
        let words = bytes.get(span.offset..).unwrap_or_default();
        let addresses = (span.address.start..span.address.end).step_by(4);
        let offsets = (span.offset..).step_by(4);
        for ((word, place), offset) in words.chunks_exact(4).zip(addresses).zip(offsets) {
            found.see(&rules, span.kind, word_at(word), place, offset);
        }
    }
    if !found.refused.is_empty() {
        return Err(Refused::Instructions(found.refused));
    }
    if found.sites.is_empty() {
        return Err(Refused::NothingToDo(found.code_bytes));
    }
    let mut patched = bytes.to_vec();
    let veneer_bytes = rewrite(&mut patched, &image, &found.sites, &table)?;
    let report = Report {
        schema: SCHEMA,
        target: options.target,
        vhe: options.vhe,
        code_bytes: found.code_bytes,
        changed: found.changed(),
        left: found.left(),
        in_data: found.in_data,
        veneer_bytes,
        needs: needs(options, veneer_bytes > 0),
    };
    Ok((patched, report))
}

/// Reads a little-endian word.
fn word_at(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .rev()
        .fold(0, |word, &byte| word << 8 | u32::from(byte))
}

type ByRegister = BTreeMap<(String, Access, &'static str), Vec<Place>>;

/// Hypervisor instructions that were found in the image.
#[derive(Default)]
struct Found {
    sites: Vec<Site>,
    refused: Vec<(Place, String, &'static str)>,
    changed: ByRegister,
    left: ByRegister,
    in_data: u64,
    code_bytes: u64,
}

impl Found {
    fn see(&mut self, rules: &Rules, kind: Kind, word: u32, place: u64, offset: usize) {
        match (kind, rules.judge(a64::decode(word))) {
            (Kind::Code, verdict) => {
                self.code_bytes += 4;
                self.judged(verdict, place, offset);
            }
            (_, Verdict::Common) => {}
            (Kind::Data, _) => self.in_data += 1,
            (Kind::Unproven, Verdict::Changes { name, .. } | Verdict::Refused { name, .. }) => {
                self.refused.push((Place(place), name, UNPROVEN));
            }
            (Kind::Unproven, Verdict::Stays { .. }) => {}
        }
    }

    fn judged(&mut self, verdict: Verdict, place: u64, offset: usize) {
        match verdict {
            Verdict::Common => {}
            Verdict::Stays { name, access, why } => {
                let places = self.left.entry((name, access, why)).or_default();
                places.push(Place(place));
            }
            Verdict::Refused { name, why } => self.refused.push((Place(place), name, why)),
            Verdict::Changes {
                name,
                access,
                rt,
                to,
            } => {
                let key = (name, access, words_of(to, access));
                self.changed.entry(key).or_default().push(Place(place));
                self.sites.push(Site {
                    place,
                    offset,
                    rt,
                    write: access == Access::Write,
                    to,
                });
            }
        }
    }

    fn changed(&self) -> Vec<Changed> {
        let all = self.changed.iter();
        all.map(|((register, access, becomes), places)| Changed {
            register: register.clone(),
            access: *access,
            becomes,
            places: places.clone(),
        })
        .collect()
    }

    fn left(&self) -> Vec<Left> {
        let all = self.left.iter();
        all.map(|((register, access, why), places)| Left {
            register: register.clone(),
            access: *access,
            why,
            places: places.clone(),
        })
        .collect()
    }
}

fn words_of(to: Becomes, access: Access) -> &'static str {
    match (to, access) {
        (Becomes::Call(_), _) => "hvc",
        (Becomes::Page(_), Access::Write) => "store to the page",
        (Becomes::Page(_), _) => "load from the page",
        (Becomes::Redirect(_), _) => "register of EL1",
        (Becomes::Constant(_), _) => "constant",
        (Becomes::Nothing, _) => "nothing",
        (Becomes::Undefined, _) => "undefined: TTBR1_EL1 has the page's address",
    }
}

/// Rewrites all sites, and writes the veneers. Returns the bytes of veneers.
fn rewrite(
    bytes: &mut [u8],
    image: &Image,
    sites: &[Site],
    table: &Registers,
) -> Result<u64, Refused> {
    let paged = sites
        .iter()
        .filter(|site| matches!(site.to, Becomes::Page(_)));
    let stores = paged.clone().filter(|site| site.write).count() as u64;
    let needed = veneers::bytes(paged.count() as u64 - stores, stores);
    let mut room = match needed {
        0 => None,
        _ => Some(open_room(bytes, image, needed, table)?),
    };
    for site in sites {
        let word = match (site.to, &mut room) {
            (Becomes::Call(immediate), _) => Some(a64::hvc(immediate)),
            (Becomes::Constant(value), _) => Some(a64::movz(site.rt, value)),
            (Becomes::Nothing, _) => Some(a64::NOP),
            (Becomes::Undefined, _) => Some(a64::UDF),
            (Becomes::Redirect(encoding), _) if site.write => Some(a64::msr(encoding, site.rt)),
            (Becomes::Redirect(encoding), _) => Some(a64::mrs(site.rt, encoding)),
            (Becomes::Page(offset), Some((veneers, _))) if site.write => {
                veneers.store(site.place, site.rt, offset).ok()
            }
            (Becomes::Page(offset), Some((veneers, _))) => {
                veneers.load(site.place, site.rt, offset).ok()
            }
            (Becomes::Page(_), None) => None,
        };
        put(bytes, site.offset, word.ok_or(Refused::TooFar)?);
    }
    if let Some((veneers, offset)) = room {
        for (number, word) in veneers.finish().into_iter().enumerate() {
            put(bytes, offset + 4 * number, word);
        }
    }
    Ok(needed)
}

fn put(bytes: &mut [u8], offset: usize, word: u32) {
    if let Some(to) = bytes.get_mut(offset..offset + 4) {
        to.copy_from_slice(&word.to_le_bytes());
    }
}

/// Finds the room for veneers and its file offset. The room must exist, be large enough, and be empty: bytes in it may
/// be veneers of an earlier patch.
fn open_room(
    bytes: &[u8],
    image: &Image,
    needed: u64,
    table: &Registers,
) -> Result<(Veneers, usize), Refused> {
    let no_room = |what: String| Refused::NoRoom { what };
    let veneers = image
        .veneers
        .ok_or_else(|| no_room(format!("{needed} bytes of veneers")))?;
    let pages = image
        .pages
        .ok_or_else(|| no_room("a deferred page for each CPU".into()))?;
    let has = veneers.address.bytes();
    if has < needed {
        return Err(no_room(format!(
            "{needed} bytes of veneers, and {VENEERS} has {has}"
        )));
    }
    let taken = bytes.get(veneers.offset..).unwrap_or_default();
    let taken = taken.get(..needed as usize).unwrap_or(taken);
    if taken.iter().any(|&byte| byte != 0) {
        return Err(Refused::RoomInUse);
    }
    let made = Veneers::new(veneers.address, pages, table).map_err(|_| Refused::TooFar)?;
    Ok((made, veneers.offset))
}

fn needs(options: &Options, veneers: bool) -> Vec<&'static str> {
    let mut needs = vec![
        "it does not modify its own code, and takes no exception from itself before it has set VBAR_EL2",
    ];
    if !options.vhe {
        needs.extend([
            "it maps nothing both writable and executable: in its tables writable pages are EL0's, which EL1 does not execute",
            "PAN stays clear",
        ]);
    }
    if veneers {
        needs.extend([
            "it maps the deferred pages 1:1",
            "it has a stack wherever it writes a register of the page, and nothing below the stack pointer",
            "it does not use the upper half of the address space: TTBR1_EL1 holds the page's address",
            "its CPUs are numbered from 0 by Aff0 to Aff2 of MPIDR_EL1, one CPU for each page",
        ]);
    }
    needs
}

#[cfg(test)]
#[path = "patch_tests.rs"]
mod tests;
