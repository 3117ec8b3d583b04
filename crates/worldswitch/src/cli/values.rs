//! Parsers of option values: lists, sizes, times.

use super::STDOUT;
use clap::ValueEnum;
use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use std::path::{Path, PathBuf};
use std::time::Duration;
use ws_history::Right;
use ws_machines::name::{PlatformName, parse_list};
use ws_results::Paging;
use ws_runner::plan::{Apic, Page};

/// Values of `--color`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    Always,
    Never,
}

impl When {
    /// Returns whether to use colour; `None` if the terminal decides.
    pub fn asked(self) -> Option<bool> {
        match self {
            Self::Auto => None,
            Self::Always => Some(true),
            Self::Never => Some(false),
        }
    }
}

/// The platforms of one `--on`.
pub type PlatformList = Vec<PlatformName>;

/// Parses a list of platforms for `--on`.
pub fn platforms(text: &str) -> Result<PlatformList, String> {
    parse_list(text).map_err(|e| e.to_string())
}

/// Parses a word that stands for a value. Each value has its word, then hidden ones; and its help, which may be empty.
pub(super) fn one_of<T: Copy + Send + Sync + 'static>(
    all: &'static [(T, &'static [&'static str], &'static str)],
) -> impl TypedValueParser<Value = T> {
    let shown = all.iter().filter_map(|(_, words, help)| {
        let (word, hidden) = words.split_first()?;
        let value = PossibleValue::new(word).aliases(hidden);
        Some(match help.is_empty() {
            true => value,
            false => value.help(help),
        })
    });
    PossibleValuesParser::new(shown).try_map(|text| {
        let one = all.iter().find(|(_, words, _)| words.contains(&&*text));
        one.map(|(value, ..)| *value).ok_or("unknown value")
    })
}

/// Parses the size of a page.
pub fn page() -> impl TypedValueParser<Value = Page> {
    one_of(&[
        (Page::Size4K, &["4k"], ""),
        (Page::Size2M, &["2m"], ""),
        (Page::Size1G, &["1g"], ""),
    ])
}

/// Parses how a local APIC is accessed.
pub fn apic() -> impl TypedValueParser<Value = Apic> {
    one_of(&[
        (Apic::Xapic, &["xapic"], "Memory-mapped registers"),
        (Apic::X2apic, &["x2apic"], "Model-specific registers"),
    ])
}

/// Parses how guest addresses are translated.
pub fn paging() -> impl TypedValueParser<Value = Paging> {
    one_of(&[
        (
            Paging::Nested,
            &["nested"],
            "Second-stage tables that the CPU walks (EPT, NPT)",
        ),
        (
            Paging::Shadow,
            &["shadow"],
            "Shadow page tables that the hypervisor keeps",
        ),
        (
            Paging::Software,
            &["software"],
            "In software, by an emulator",
        ),
    ])
}

/// Parses what roles of a database may do.
pub fn right() -> impl TypedValueParser<Value = Right> {
    one_of(&[
        (Right::Read, &["read"], ""),
        (Right::Add, &["add"], ""),
        (Right::Nothing, &["nothing"], ""),
    ])
}

/// Parses yes or no.
pub fn yes_or_no() -> impl TypedValueParser<Value = bool> {
    one_of(&[(true, &["yes"], ""), (false, &["no"], "")])
}

/// Parses the name of a folder, which can't be standard output.
pub fn folder() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path == Path::new(STDOUT) {
        true => Err(
            "- is standard output, and results need a folder: write ./- for a folder of this name",
        ),
        false => Ok(path),
    })
}

/// The CPUs of `--pin`.
pub type Cpus = Vec<u32>;

pub fn cpus(text: &str) -> Result<Cpus, String> {
    ws_machines::pin::parse(text)
}

/// A number of bytes, with a suffix K, M or G (powers of 1024).
pub fn bytes(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.strip_suffix(['k', 'K', 'm', 'M', 'g', 'G']) {
        None => (text, 0),
        Some(digits) => match text.to_ascii_uppercase().chars().last() {
            Some('K') => (digits, 10),
            Some('M') => (digits, 20),
            _ => (digits, 30),
        },
    };
    digits
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(1 << shift))
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "expected a number of bytes, such as 4096, 64K, 2M or 1G".to_owned())
}

/// A time limit.
pub fn seconds(text: &str) -> Result<Duration, String> {
    text.parse::<f64>()
        .ok()
        .filter(|seconds| *seconds >= 0.1 && *seconds <= 86_400.0)
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "expected a number of seconds from 0.1 to 86400".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_read() {
        assert_eq!(bytes("4096"), Ok(4096));
        assert_eq!(bytes("64K"), Ok(65_536));
        assert_eq!(bytes("2m"), Ok(2 << 20));
        assert_eq!(bytes("1G"), Ok(1 << 30));
        for wrong in ["", "K", "-1", "1T", "0", "99999999999G", "1.5M"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        for wrong in ["0", "-1", "nan", "inf", "x", "1e9"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
