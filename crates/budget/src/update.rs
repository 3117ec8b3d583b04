//! Keeps a budget file up: changes its figures, and leaves everything else as its author wrote it.

use crate::budget::{HEAD, head_of, line_of, parse};
use std::fmt::Write;
use ws_machines::name::PlatformName;

/// Figures by platform and benchmark, in instructions.
pub type Figures = [(String, Vec<(String, f64)>)];

/// Returns the text of a budget file with these figures. Other figures, comments and the order stay. New benchmarks are
/// added below those of their platform, new platforms at the end. An empty text is a new file.
///
/// # Errors
/// The text is not a budget, or it has several figures on one line.
pub fn updated(text: &str, figures: &Figures) -> Result<String, String> {
    let is_new = text.trim().is_empty();
    let known = match is_new {
        true => Vec::new(),
        false => parse(text)?.platforms,
    };
    let text = if is_new { HEAD } else { text };
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut end = Vec::new();
    for (name, rows) in figures.iter().filter(|(_, rows)| !rows.is_empty()) {
        let platform: PlatformName = name.parse().map_err(|e| format!("{name}: {e}"))?;
        let own = known.iter().find(|one| one.platform == platform);
        let Some(own) = own else {
            end.push(head_of(name));
            end.extend(rows.iter().map(|(row, insns)| line_of(row, *insns)));
            continue;
        };
        let last = own.rows.iter().map(|row| row.line).max();
        for (benchmark, insns) in rows {
            match own.rows.iter().find(|row| row.benchmark == *benchmark) {
                Some(row) => replace(&mut lines[row.line - 1], *insns),
                // Line numbers of the file stay right: the new line is a part of the last one.
                None => {
                    let last = &mut lines[last.unwrap_or(own.line) - 1];
                    let _ = write!(last, "\n{}", line_of(benchmark, *insns));
                }
            }
        }
    }
    lines.extend(end);
    let new = lines.join("\n") + "\n";
    match holds(&new, figures) {
        true => Ok(new),
        false => Err("its figures can't be changed: write each benchmark on a line of its own, below [budget.\"PLATFORM\"]".into()),
    }
}

/// Replaces the figure of a line `BENCHMARK = FIGURE`, before its comment and lines that were added.
fn replace(line: &mut String, insns: f64) {
    let (own, added) = line.split_once('\n').unwrap_or((line, ""));
    let Some((key, rest)) = own.split_once('=') else {
        return;
    };
    let comment = rest.find('#').map_or("", |at| &rest[at..]);
    let gap = if comment.is_empty() { "" } else { " " };
    let own = format!("{}= {insns}{gap}{comment}", key);
    *line = match added {
        "" => own,
        added => format!("{own}\n{added}"),
    };
}

/// Whether the text is a budget with these figures.
fn holds(text: &str, figures: &Figures) -> bool {
    let Ok(budget) = parse(text) else {
        return figures.iter().all(|(_, rows)| rows.is_empty());
    };
    let has = |name: &String, benchmark: &String, insns: f64| {
        let platforms = budget.platforms.iter();
        let mut rows = platforms
            .filter(|one| one.platform.to_string() == *name)
            .flat_map(|one| &one.rows);
        rows.any(|row| row.benchmark == *benchmark && row.insns == insns)
    };
    figures
        .iter()
        .all(|(name, rows)| rows.iter().all(|(row, insns)| has(name, row, *insns)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Vec<(String, Vec<(String, f64)>)> {
        let rows = |rows: &[(&str, f64)]| rows.iter().map(|(n, f)| ((*n).to_owned(), *f)).collect();
        vec![
            ("lab:kvm".into(), rows(&[("in", 7.0), ("cpuid", 2.5)])),
            ("lab:xen".into(), rows(&[("in", 9.0)])),
            ("lab:native".into(), Vec::new()),
        ]
    }

    #[test]
    fn a_new_budget_has_all_figures() {
        let text = updated("", &figures()).unwrap();
        assert_eq!(
            text,
            format!(
                "{HEAD}\n[budget.\"lab:kvm\"]\nin = 7\ncpuid = 2.5\n\n[budget.\"lab:xen\"]\nin = 9\n"
            )
        );
        assert_eq!(updated(&text, &figures()).unwrap(), text);
    }

    #[test]
    fn what_its_author_wrote_stays() {
        let text = "# Ours.\n[budget.\"lab:kvm\"]\nhypercall = 3100 # agreed\nin = 3500 # the port\n\n# Later.\n[budget.\"lab:native\"]\nout = 1\n";
        assert_eq!(
            updated(text, &figures()).unwrap(),
            "# Ours.\n[budget.\"lab:kvm\"]\nhypercall = 3100 # agreed\nin = 7 # the port\ncpuid = 2.5\n\n# Later.\n[budget.\"lab:native\"]\nout = 1\n\n[budget.\"lab:xen\"]\nin = 9\n"
        );
    }

    #[test]
    fn a_file_that_can_not_be_kept_up_is_refused() {
        let inline = "[budget]\n\"lab:kvm\" = { in = 1, out = 2 }\n";
        assert!(
            updated(inline, &figures())
                .unwrap_err()
                .contains("line of its own")
        );
        assert!(updated("in = 1", &figures()).is_err());
    }
}
