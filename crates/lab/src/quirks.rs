//! Faults of programs in sets, and their cures (`quirks.toml`). A cure replaces some bytes of a program. The code
//! around them identifies their place, not the program's version. A build without that code, or with it twice, is left
//! as it is.

mod image;
mod pattern;

use crate::files::{self, Files};
use crate::lab::LabError;
use crate::manifest::{Entry, Manifest};
use image::Part;
use pattern::{Addresses, Match, Pattern};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

/// A fault of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Quirk {
    /// The fault, in one line.
    pub summary: String,
    /// Description of the fault, and the proof that the cures are correct.
    pub reason: String,
    /// The file's path in its set, as `usr/bin/x`.
    pub file: String,
    /// Cures, one for each form of the faulty code that compilers made.
    #[serde(rename = "cure")]
    pub cures: Vec<Cure>,
}

/// A fault as `quirks.toml` has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    summary: String,
    #[serde(default)]
    reason: String,
    file: String,
    #[serde(default, rename = "cure")]
    cures: Vec<Cure>,
    /// The fault of another file that has the same reason and cure.
    extends: Option<String>,
    /// Builds of this file in which the cure was found, of a fault that extends another.
    #[serde(default)]
    builds: Vec<String>,
}

impl Written {
    fn quirk(&self, all: &BTreeMap<String, Self>) -> Result<Quirk, String> {
        let (reason, cures) = match &self.extends {
            None if !self.builds.is_empty() => {
                return Err("builds are part of a cure, unless it extends another fault".into());
            }
            None => (&self.reason, self.cures.clone()),
            Some(_) if !self.reason.is_empty() || !self.cures.is_empty() => {
                return Err(
                    "it extends another fault, and so has that one's reason and cure".into(),
                );
            }
            Some(name) => {
                let other = all.get(name).filter(|other| other.extends.is_none());
                let Some((other, [cure])) = other.map(|other| (other, &*other.cures)) else {
                    return Err(format!(
                        "it extends \"{}\", which is no fault of this file with one cure",
                        name.escape_debug()
                    ));
                };
                let builds = self.builds.clone();
                (
                    &other.reason,
                    vec![Cure {
                        builds,
                        ..cure.clone()
                    }],
                )
            }
        };
        Ok(Quirk {
            summary: self.summary.clone(),
            reason: reason.clone(),
            file: self.file.clone(),
            cures,
        })
    }
}

/// The cure of one form of the faulty code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cure {
    /// The builds in which this form was found, for people.
    pub builds: Vec<String>,
    /// The function that has the code. Only the function is searched if the file has a symbol for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The faulty code, an instruction a line.
    pub code: Vec<Instruction>,
    /// Further pieces of faulty code, of a fault that is in several places: all are cured, or none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Vec<Instruction>>,
    /// Pieces of code elsewhere in the file that have the addresses which the cure writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<Vec<String>>,
}

/// An instruction as bytes (see [`pattern`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Instruction {
    Stays(String),
    /// The instruction, and its replacement.
    Becomes([String; 2]),
}

/// All faults by name.
pub type Quirks = BTreeMap<String, Quirk>;

/// Parses `quirks.toml`.
pub(crate) fn parse(text: &str, path: &Path) -> Result<Quirks, LabError> {
    let entries: BTreeMap<String, Written> =
        toml::from_str(text).map_err(|e| LabError::toml(path, &e))?;
    let quirk = |(name, entry): (&String, &Written)| {
        let quirk = entry.quirk(&entries);
        let quirk = quirk.and_then(|quirk| check(&quirk).map(|()| quirk));
        let wrong = |what| LabError::Toml {
            path: path.to_owned(),
            text: format!("quirk \"{}\": {what}", name.escape_debug()),
        };
        Ok((name.clone(), quirk.map_err(wrong)?))
    };
    entries.iter().map(quirk).collect()
}

fn check(quirk: &Quirk) -> Result<(), String> {
    if files::clean(&quirk.file).as_ref() != Some(&quirk.file) {
        return Err("file is not a path in a set".into());
    }
    if quirk.reason.trim().is_empty() {
        return Err("it gives no reason".into());
    }
    quirk.cures.iter().try_for_each(|cure| {
        if cure.builds.is_empty() {
            return Err("a cure names no builds in which it was found".into());
        }
        cure.forms().map(drop)
    })
}

/// A cure's patterns.
struct Forms {
    pieces: Vec<Piece>,
    elsewhere: Vec<Pattern>,
}

/// A piece of code that a cure changes.
struct Piece {
    faulty: Pattern,
    /// The code as the cure leaves it.
    cured: Pattern,
}

impl Cure {
    /// The instructions that the cure replaces, each with its replacement.
    pub fn changes(&self) -> impl Iterator<Item = (&str, &str)> {
        let lines = self.code.iter().chain(self.also.iter().flatten());
        lines.filter_map(|line| match line {
            Instruction::Stays(_) => None,
            Instruction::Becomes([before, after]) => Some((&**before, &**after)),
        })
    }

    fn forms(&self) -> Result<Forms, String> {
        let piece = |lines: &Vec<String>| {
            let mut pattern = Pattern::default();
            lines.iter().try_for_each(|line| pattern.push(line))?;
            pattern.check()?;
            Ok(pattern)
        };
        let elsewhere = self.elsewhere.iter().map(piece);
        let elsewhere = elsewhere.collect::<Result<Vec<Pattern>, String>>()?;
        let pieces = std::iter::once(&self.code).chain(&self.also);
        let pieces = pieces.map(|code| Piece::of(code, &elsewhere));
        Ok(Forms {
            pieces: pieces.collect::<Result<_, _>>()?,
            elsewhere,
        })
    }
}

impl Piece {
    /// Makes the patterns of a piece of code. Addresses that it does not have itself are those of the pieces
    /// `elsewhere`.
    fn of(code: &[Instruction], elsewhere: &[Pattern]) -> Result<Self, String> {
        let (mut faulty, mut change) = (Pattern::default(), Pattern::default());
        for line in code {
            let (before, after) = match line {
                Instruction::Stays(text) => (text, None),
                Instruction::Becomes([before, after]) => (before, Some(after)),
            };
            faulty.push(before)?;
            match after {
                Some(after) => change.push(after)?,
                None => change.leave(faulty.len()),
            }
            if change.len() != faulty.len() {
                return Err(format!(
                    "\"{}\" and its replacement differ in length",
                    before.escape_debug()
                ));
            }
        }
        faulty.check()?;
        let cured = faulty.changed(&change);
        if !cured.excludes(&faulty) {
            return Err("a cure changes no known byte of its code".into());
        }
        let known: BTreeSet<&str> = faulty
            .names()
            .chain(elsewhere.iter().flat_map(Pattern::names))
            .collect();
        match change.names().find(|name| !known.contains(name)) {
            Some(name) => Err(format!("no code says where <{name}> is")),
            None => Ok(Self { faulty, cured }),
        }
    }
}

/// Result of the search for a fault in a file.
enum Finding {
    /// The file has the faulty code, at the places where the patterns are to be written.
    Faulty(Vec<(Pattern, Match)>),
    /// The file has the code as a cure leaves it.
    Cured,
    /// The file's state is not known, for this reason.
    Unknown(String),
}

/// Looks for a fault's code in a file. All cures together must find one place, or one for each piece of a cure:
/// otherwise another place may be matched by chance.
fn examine(quirk: &Quirk, content: &[u8]) -> Finding {
    let (mut faulty, mut count, mut pieces) = (Vec::new(), 0, 0);
    for cure in &quirk.cures {
        // The forms were checked when the file was parsed.
        let Ok(forms) = cure.forms() else { continue };
        let Some(known) = addresses(content, &forms.elsewhere) else {
            continue;
        };
        let code = image::code(content, cure.function.as_deref());
        let mut found: Vec<(Pattern, Match)> = Vec::new();
        let mut counts = Vec::new();
        for piece in &forms.pieces {
            let places = |pattern| places(content, &code, pattern, &known);
            let (old, new) = (places(&piece.faulty), places(&piece.cured));
            counts.push(old.len() + new.len());
            found.extend(old.into_iter().map(|place| (piece.cured.clone(), place)));
        }
        // Without one of its pieces, code that looks like the others is other code.
        if !counts.contains(&0) {
            count += counts.iter().max().unwrap_or(&0);
            pieces += counts.len();
            faulty.extend(found);
        }
    }
    let file = &quirk.file;
    match (count, faulty.len()) {
        (0, _) => Finding::Unknown(format!("its code is not in {file}")),
        (1, 0) => Finding::Cured,
        (1, many) if many == pieces => Finding::Faulty(faulty),
        (1, _) => Finding::Unknown(format!("only a part of its code in {file} is cured")),
        _ => Finding::Unknown(format!("its code is in {file} {count} times")),
    }
}

/// Writes the cured code to its places. Returns none if one can't be written: then no place has changed.
fn write(content: &mut Vec<u8>, cured: &[(Pattern, Match)]) -> Option<()> {
    let mut new = content.clone();
    let mut pieces = cured.iter();
    pieces.try_for_each(|(pattern, place)| pattern.write(&mut new, place))?;
    *content = new;
    Some(())
}

/// Returns the addresses that these pieces of code have; None if the file does not have each exactly once.
fn addresses(content: &[u8], pieces: &[Pattern]) -> Option<Addresses> {
    let code = image::code(content, None);
    pieces.iter().try_fold(Addresses::new(), |known, piece| {
        match &*places(content, &code, piece, &known) {
            [one] => Some(one.addresses.clone()),
            _ => None,
        }
    })
}

fn places(content: &[u8], code: &[Part], pattern: &Pattern, known: &Addresses) -> Vec<Match> {
    let parts = code.iter();
    parts
        .flat_map(|part| pattern.find(content, part, known))
        .collect()
}

/// State of a set in the store, as to known faults.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Health<'a> {
    /// Faults that the set has, and whose cure is known.
    pub curable: Vec<&'a str>,
    /// Faults whose cure in the set is of another version of this program.
    pub outdated: Vec<&'a str>,
    /// Faults that the set may have, each with the reason why it can't be cured.
    pub unknown: Vec<(&'a str, String)>,
}

/// Examines the files of a set in the store, below `root`, for faults. With `trust`, it does not look for faults that
/// the manifest calls cured.
pub(crate) fn health<'a>(
    quirks: &'a Quirks,
    root: &Path,
    manifest: &Manifest,
    trust: bool,
) -> io::Result<Health<'a>> {
    let mut health = Health::default();
    let wanted = |name: &str| !trust || !manifest.cured.contains_key(name);
    for (path, quirks) in by_file(quirks, &manifest.files, wanted) {
        let content = fs::read(root.join(path))?;
        for (name, quirk) in quirks {
            match (examine(quirk, &content), manifest.cured.contains_key(name)) {
                (Finding::Cured, true) => {}
                (Finding::Faulty(..), _) | (Finding::Cured, false) => health.curable.push(name),
                (Finding::Unknown(_), true) => health.outdated.push(name),
                (Finding::Unknown(why), false) => health.unknown.push((name, why)),
            }
        }
    }
    Ok(health)
}

/// Finds the known faults of each file that a set has.
fn by_file<'a>(
    quirks: &'a Quirks,
    files: &Files,
    wanted: impl Fn(&str) -> bool,
) -> BTreeMap<&'a str, Vec<(&'a str, &'a Quirk)>> {
    let mut found: BTreeMap<&str, Vec<(&str, &Quirk)>> = BTreeMap::new();
    for (name, quirk) in quirks {
        if matches!(files.get(&quirk.file), Some(Entry::File { .. })) && wanted(name) {
            found.entry(&quirk.file).or_default().push((name, quirk));
        }
    }
    found
}

/// Cures the files, below `root`, of a set that is being made. Returns the names of the faults that the files are now
/// free of, and the file of each.
pub(crate) fn apply(
    quirks: &Quirks,
    root: &Path,
    files: &mut Files,
) -> io::Result<BTreeMap<String, String>> {
    let mut cured = BTreeMap::new();
    for (path, quirks) in by_file(quirks, files, |_| true) {
        let place = root.join(path);
        let old = fs::read(&place)?;
        let mut new = old.clone();
        let mut free = Vec::new();
        for (name, quirk) in quirks {
            // Each fault is looked for in the old file, so that the order of cures does not matter.
            let is_free = match examine(quirk, &old) {
                Finding::Faulty(cured) => write(&mut new, &cured).is_some(),
                Finding::Cured => true,
                Finding::Unknown(_) => false,
            };
            if is_free {
                free.push((name, quirk));
            }
        }
        for (name, quirk) in free {
            // If two cures change the same code, one of them is not in the new file.
            if !matches!(examine(quirk, &new), Finding::Cured) {
                return Err(io::Error::other(format!(
                    "the cure of {name} and that of another fault change the same code of {path}"
                )));
            }
            cured.insert(name.to_owned(), path.to_owned());
        }
        if new != old {
            fs::write(&place, &new)?;
            let hash = files::sha256(&place)?;
            if let Some(Entry::File { sha256, .. }) = files.get_mut(path) {
                *sha256 = hash;
            }
        }
    }
    Ok(cured)
}

#[cfg(test)]
#[path = "quirks/tests.rs"]
mod tests;
