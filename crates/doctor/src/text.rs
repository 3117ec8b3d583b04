//! The report as text: the long form that `worldswitch doctor` prints, and the few lines that `run`
//! prints. All text from the host is escaped.

use crate::finding::{Cure, Finding, Group, Here, Report, Severity};
use ws_text::{Ink, Style, pad_right, terminal, width};

/// Column at which text is wrapped. Commands are not wrapped, so that they can be copied.
const COLUMNS: usize = 100;
const INDENT: &str = "           ";
/// Limit of findings in the short form.
const SHORT_MOST: usize = 3;

/// The whole report.
pub fn long(report: &Report, colour: bool) -> String {
    let host = &report.host;
    let style = Style::new(colour);
    let mut text = format!(
        "{}, {} {}{}, Linux {}{}\n",
        or_unknown(&host.cpu, "unknown CPU"),
        host.cpus,
        if host.cpus == 1 { "CPU" } else { "CPUs" },
        match host.usable == host.cpus {
            true => String::new(),
            false => format!(" of which this program can use {}", host.usable),
        },
        or_unknown(&host.kernel, "of unknown release"),
        if host.container {
            ", in a container"
        } else {
            ""
        },
    );
    let titles = report.findings.iter().map(|finding| width(finding.title));
    let title_columns = titles.max().unwrap_or_default();
    let mut group = None;
    for finding in &report.findings {
        if group != Some(finding.group) {
            group = Some(finding.group);
            text += &format!("\n{}\n", style.bold(group_name(finding.group)));
        }
        add(&mut text, finding, title_columns, &style);
    }
    text += &format!("\n{}\n", counts(report));
    text
}

fn or_unknown(text: &str, unknown: &str) -> String {
    match text {
        "" => unknown.to_owned(),
        text => terminal(text).into_owned(),
    }
}

fn add(text: &mut String, finding: &Finding, title_columns: usize, style: &Style) {
    let word = pad_right(finding.severity.name(), 7);
    let head = format!(
        "  {}  {}  ",
        style.ink(ink(finding.severity), &word),
        pad_right(finding.title, title_columns)
    );
    let first = 2 + 7 + 2 + title_columns + 2;
    *text += &head;
    *text += &wrapped(&terminal(&finding.found), first);
    if finding.severity == Severity::Ok {
        return;
    }
    *text += INDENT;
    *text += &wrapped(finding.why, INDENT.len());
    if let Some(cure) = &finding.cure {
        add_cure(text, cure);
    }
}

fn add_cure(text: &mut String, cure: &Cure) {
    let indent = INDENT.len() + "cure: ".len();
    *text += &format!("{INDENT}cure: ");
    *text += &wrapped(&terminal(&cure.advice), indent);
    if let Some(command) = &cure.command {
        *text += &format!("{INDENT}      {}\n", terminal(command));
    }
    let where_to = match (cure.here, &cure.obstacle) {
        (Here::Yes, _) => return,
        (Here::Root, _) => "needs root".to_owned(),
        (Here::No, None) => "not from here".to_owned(),
        (Here::No, Some(why)) => format!("not from here: {why}"),
    };
    *text += &format!("{INDENT}      ");
    *text += &wrapped(&terminal(&where_to), indent);
}

/// Wraps `text`, whose lines all start at column `indent`.
fn wrapped(text: &str, indent: usize) -> String {
    let lines = ws_text::wrapped(text, COLUMNS.saturating_sub(indent), "");
    lines.join(&format!("\n{}", " ".repeat(indent))) + "\n"
}

fn counts(report: &Report) -> String {
    let each = [
        (Severity::Problem, "problem", "problems"),
        (Severity::Warning, "warning", "warnings"),
        (Severity::Note, "note", "notes"),
        (Severity::Ok, "ok", "ok"),
    ];
    let each = each.map(|(severity, one, many)| {
        let found = report.findings.iter();
        let number = found.filter(|finding| finding.severity == severity).count();
        format!("{number} {}", if number == 1 { one } else { many })
    });
    each.join(", ")
}

/// Returns the short form, for a run that measures time on this host: warnings and problems, the worst first, one a
/// line. The last line says where to find the rest. With `kvm`, findings about this host's KVM are included. Empty if
/// there are none.
pub fn short(report: &Report, kvm: bool) -> Vec<String> {
    let mut grave: Vec<&Finding> = report
        .disturbing(kvm)
        .filter(|finding| finding.severity >= Severity::Warning)
        .collect();
    if grave.is_empty() {
        return Vec::new();
    }
    grave.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let more = grave.len().saturating_sub(SHORT_MOST);
    let mut lines: Vec<String> = grave
        .iter()
        .take(SHORT_MOST)
        .map(|finding| format!("{}: {}", finding.title, finding.found))
        .collect();
    lines.push(match more {
        0 => "for details: worldswitch doctor".to_owned(),
        more => format!("{more} more; for details: worldswitch doctor"),
    });
    lines
}

fn ink(severity: Severity) -> Ink {
    match severity {
        Severity::Ok => Ink::Green,
        Severity::Note => Ink::Cyan,
        Severity::Warning => Ink::Yellow,
        Severity::Problem => Ink::Red,
    }
}

fn group_name(group: Group) -> &'static str {
    match group {
        Group::Tools => "tools",
        Group::Kvm => "kvm",
        Group::Processor => "processor",
        Group::Host => "host",
        Group::Memory => "memory",
    }
}
