//! Options of `compare` and `history check`: how results are judged.

use super::help::OUTPUT;
use super::{Exports, Form, PartsArgs, file};
use clap::Args;
use std::path::PathBuf;

const COMPARE_EXAMPLES: &str = "\
Examples:
  worldswitch compare before after            two runs, platform by platform
  worldswitch compare run:lab:kvm run:lab:kvm-shadow
                                              two platforms of one run
  worldswitch compare --explain run:lab:kvm run:lab:kvm@6.12
                                              with the functions that changed
  worldswitch compare week-1 week-2           folders of many hosts from fleet collect: each host
                                              with itself, and the hosts that differ
  worldswitch compare --min-effect 2% --allow digest base.json new.json

Where time is measured, each boot has one value, and samples are never pooled. So a verdict in time
needs many boots.

Exit codes, the first that applies:
  2  wrong usage
  3  a regression
  1  an error, or conditions that differ
  4  something is inconclusive, missing or in another unit, or nothing was compared
  0  everything was judged, and nothing is worse";

#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub struct CompareArgs {
    /// The base: a folder, FOLDER:PLATFORM or a file. Folders of several platforms are compared platform by platform,
    /// folders of several hosts also host by host.
    #[arg(value_name = "BASE")]
    pub base: String,
    /// Results to compare with the base, named in the same way.
    #[arg(required = true, value_name = "OTHER")]
    pub others: Vec<String>,
    /// Print which functions changed in each changed benchmark. Both lab machines boot again and are recorded, as for
    /// worldswitch explain --diff.
    #[arg(long)]
    pub explain: bool,
    #[command(flatten)]
    pub how: JudgeArgs,
    #[command(
        flatten,
        next_help_heading = "Only for --explain: files that machines are made from"
    )]
    pub parts: PartsArgs,
}

/// How results are judged, and where the comparison is written.
#[derive(Debug, Args)]
pub struct JudgeArgs {
    /// Show all benchmarks, not only those that changed.
    #[arg(long)]
    pub all: bool,
    /// Compare only benchmarks whose name matches this regular expression (any part of the name).
    #[arg(long, value_name = "REGEX", value_parser = regex::Regex::new)]
    pub bench: Option<regex::Regex>,
    /// Probability of a false alarm in a whole suite without any change, where time is measured.
    #[arg(long, value_name = "LEVEL", default_value = "0.01", value_parser = significance)]
    pub significance: f64,
    /// The smallest change that counts: a percentage of time (5%), or a number of instructions (1insn). May be given
    /// twice, once for each.
    #[arg(long, value_name = "EFFECT", value_parser = effect, default_values = ["5%", "1insn"])]
    pub min_effect: Vec<Effect>,
    /// Compare results even if this condition differs; may be repeated.
    #[arg(long, value_name = "FIELD")]
    pub allow: Vec<String>,
    #[command(flatten, next_help_heading = OUTPUT)]
    pub exports: Exports,
    /// Write the table as CSV to FILE. With -, print CSV instead of the table.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT, value_parser = file(Form::Csv))]
    pub export_csv: Option<PathBuf>,
}

/// The smallest change that counts, on one kind of unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// A fraction, on time.
    Ratio(f64),
    /// Instructions for one operation.
    Insns(f64),
}

fn significance(text: &str) -> Result<f64, String> {
    text.parse::<f64>()
        .ok()
        .filter(|level| *level >= 1e-6 && *level <= 0.5)
        .ok_or_else(|| "expected a level from 0.000001 to 0.5".to_owned())
}

fn effect(text: &str) -> Result<Effect, String> {
    let number = |digits: &str| {
        let number = digits.trim().parse::<f64>().ok();
        number.filter(|number| number.is_finite() && *number >= 0.0)
    };
    let insns = || text.strip_suffix("insns").or(text.strip_suffix("insn"));
    let percent = text.strip_suffix('%').and_then(number);
    match percent.filter(|percent| *percent <= 1000.0) {
        Some(percent) => Ok(Effect::Ratio(percent / 100.0)),
        None => insns()
            .and_then(number)
            .map(Effect::Insns)
            .ok_or_else(|| "expected a percentage (5%) or instructions (1insn)".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_are_of_time_or_of_instructions() {
        assert_eq!(effect("5%"), Ok(Effect::Ratio(0.05)));
        assert_eq!(effect("0.5 %"), Ok(Effect::Ratio(0.005)));
        assert_eq!(effect("1insn"), Ok(Effect::Insns(1.0)));
        assert_eq!(effect("20insns"), Ok(Effect::Insns(20.0)));
        for wrong in [
            "5",
            "",
            "%",
            "-1%",
            "nan%",
            "inf%",
            "1e9%",
            "insn",
            "5 percent",
        ] {
            assert!(effect(wrong).is_err(), "{wrong}");
        }
        assert!(significance("0.01").is_ok() && significance("0").is_err());
        assert!(significance("nan").is_err() && significance("1").is_err());
    }
}
