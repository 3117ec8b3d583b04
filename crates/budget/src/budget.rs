//! Budget files: how many instructions each benchmark may cost on each lab machine.
//!
//! Pure: parses and writes text.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use ws_machines::name::PlatformName;

/// A budget file, in the file's order.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    pub platforms: Vec<PlatformBudget>,
}

/// Table `[budget."PLATFORM"]`.
#[derive(Clone, Debug, PartialEq)]
pub struct PlatformBudget {
    pub platform: PlatformName,
    pub line: usize,
    /// Rows in the file's order.
    pub rows: Vec<RowBudget>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RowBudget {
    pub benchmark: String,
    pub line: usize,
    /// The most instructions that one operation may cost.
    pub insns: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    budget: BTreeMap<Spanned<String>, BTreeMap<Spanned<String>, Spanned<f64>>>,
}

/// Reads a budget; an error names the line.
pub fn parse(text: &str) -> Result<Budget, String> {
    let file: File = toml::from_str(text).map_err(|e| e.to_string().trim_end().to_owned())?;
    let at = |span: Range<usize>| line(text, span.start);
    let mut platforms: Vec<PlatformBudget> = Vec::new();
    for (name, rows) in file.budget {
        let here = at(name.span());
        let platform: PlatformName = name
            .get_ref()
            .parse()
            .map_err(|e| format!("line {here}: {e}"))?;
        if platforms.iter().any(|other| other.platform == platform) {
            return Err(format!("line {here}: {platform} is named twice"));
        }
        if rows.is_empty() {
            return Err(format!(
                "line {here}: {platform} has no benchmarks: add lines such as hypercall = 3100"
            ));
        }
        let rows = rows.into_iter().map(|(benchmark, insns)| {
            let line = at(benchmark.span());
            let benchmark = benchmark.into_inner();
            let insns = insns.into_inner();
            if !(0.0..1e15).contains(&insns) {
                return Err(format!(
                    "line {line}: {benchmark} = {insns}: expected a number of instructions"
                ));
            }
            Ok(RowBudget {
                benchmark,
                line,
                insns,
            })
        });
        let mut rows: Vec<RowBudget> = rows.collect::<Result<_, _>>()?;
        rows.sort_by_key(|row| row.line);
        platforms.push(PlatformBudget {
            line: here,
            rows,
            platform,
        });
    }
    platforms.sort_by_key(|one| one.line);
    if platforms.is_empty() {
        return Err("it has no platform: add one such as [budget.\"lab:kvm\"]".into());
    }
    Ok(Budget { platforms })
}

/// The line number of a byte offset in a text, from 1.
fn line(text: &str, place: usize) -> usize {
    let before = text.as_bytes().get(..place).unwrap_or_default();
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The first line of a new budget.
pub(crate) const HEAD: &str =
    "# Instructions that one operation may cost: worldswitch test --budget FILE\n";

/// The head of a platform's table, after an empty line.
pub(crate) fn head_of(platform: &str) -> String {
    format!("\n[budget.{}]", toml::Value::String(platform.to_owned()))
}

/// The line of a benchmark.
pub(crate) fn line_of(benchmark: &str, insns: f64) -> String {
    format!("{benchmark} = {insns}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::updated;
    use proptest::prelude::*;

    #[test]
    fn a_budget_is_read_with_its_lines() {
        let text = "# KVM\n[budget.\"lab:kvm\"]\nin = 3500\nhypercall = 3100.5\n\n[budget.\"lab:native\"]\nin = 1\n";
        let budget = parse(text).unwrap();
        let lines = |platform: &PlatformBudget| {
            let rows = platform.rows.iter();
            let rows: Vec<_> = rows
                .map(|row| (row.benchmark.clone(), row.line, row.insns))
                .collect();
            (platform.platform.to_string(), platform.line, rows)
        };
        assert_eq!(
            budget.platforms.iter().map(lines).collect::<Vec<_>>(),
            [
                (
                    "lab:kvm".into(),
                    2,
                    vec![("in".into(), 3, 3500.0), ("hypercall".into(), 4, 3100.5)]
                ),
                ("lab:native".into(), 6, vec![("in".into(), 7, 1.0)]),
            ]
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let error = |text: &str| parse(text).unwrap_err();
        assert!(error("").contains("missing field `budget`"));
        assert!(error("[budget]\n").contains("no platform"));
        assert!(error("[budget.\"lab:kvm\"]\n").contains("line 1: lab:kvm has no benchmarks"));
        assert!(error("[budget.\"LAB\"]\nin = 1\n").contains("line 1: platform \"LAB\""));
        for wrong in ["-1", "nan", "inf"] {
            let text = format!("[budget.\"lab:kvm\"]\nin = {wrong}\n");
            assert!(
                error(&text).starts_with("line 2: in = "),
                "{}",
                error(&text)
            );
        }
        let many = error("[budget.\"lab:kvm\"]\nin = \"many\"\n");
        assert!(many.contains("line 2"), "{many}");
        let other = error("[budget.\"lab:kvm\"]\nin = 1\n[limits]\n");
        assert!(
            other.contains("line 3") && other.contains("limits"),
            "{other}"
        );
        let twice = error(
            "[budget.\"lab:kvm+memory=256+cpu=max\"]\nin = 1\n[budget.\"lab:kvm+cpu=max+memory=256\"]\nin = 2\n",
        );
        assert!(twice.contains("is named twice"), "{twice}");
    }

    #[test]
    fn what_is_written_is_read_again() {
        let rows = vec![("hypercall".into(), 3024.0), ("set-cr3".into(), 4.5)];
        let text = updated("", &[("lab:kvm@/a \"b\"".into(), rows)]).unwrap();
        let budget = parse(&text).unwrap();
        let rows = &budget.platforms[0].rows;
        let rows: Vec<_> = rows.iter().map(|r| (&*r.benchmark, r.insns)).collect();
        assert_eq!(rows, [("hypercall", 3024.0), ("set-cr3", 4.5)]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,80}") {
            let _ = parse(&text);
            let _ = parse(&format!("[budget.\"lab:kvm\"]\n{text}"));
        }
    }
}
