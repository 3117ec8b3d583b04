//! The report as text: the long form that `worldswitch doctor` prints, and the few lines that `run`
//! prints. All text from the host is escaped.

use crate::finding::{Cure, Finding, Group, Here, Report, Severity};
use ws_text::{Column, Ink, Sheet, Style, terminal, wrapped};

/// Column at which text is wrapped.
const COLUMNS: usize = 100;
/// Columns before a finding's title: its severity, and gaps.
const INDENT: usize = 11;
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
    let mut sheet = Sheet::new([
        // Names of groups begin here, before the findings' severities.
        Column::text(""),
        Column::text("").wide(7),
        Column::text(""),
        Column::text(""),
    ])
    .wrapped(COLUMNS);
    let mut group = None;
    for finding in &report.findings {
        if group != Some(finding.group) {
            group = Some(finding.group);
            sheet.span([String::new()]);
            sheet.ink(sheet.len(), 0, Ink::Bold);
            sheet.span([group_name(finding.group).to_owned()]);
        }
        add(&mut sheet, finding);
    }
    text += &sheet.to_coloured("", &style);
    text += &format!("\n{}\n", counts(report));
    text
}

fn or_unknown(text: &str, unknown: &str) -> String {
    match text {
        "" => unknown.to_owned(),
        text => terminal(text).into_owned(),
    }
}

fn add(sheet: &mut Sheet, finding: &Finding) {
    sheet.ink(sheet.len(), 1, ink(finding.severity));
    sheet.extend([[
        String::new(),
        finding.severity.name().to_owned(),
        finding.title.to_owned(),
        finding.found.clone(),
    ]]);
    if finding.severity == Severity::Ok {
        return;
    }
    below(sheet, wrapped(finding.why, COLUMNS - INDENT, ""));
    if let Some(cure) = &finding.cure {
        add_cure(sheet, cure);
    }
}

fn add_cure(sheet: &mut Sheet, cure: &Cure) {
    let hanging = " ".repeat("cure: ".len());
    let advice = format!("cure: {}", terminal(&cure.advice));
    below(sheet, wrapped(&advice, COLUMNS - INDENT, &hanging));
    // A command is not wrapped, so that it can be copied.
    let command = cure.command.iter();
    below(sheet, command.map(|command| format!("{hanging}{command}")));
    let place = match (cure.here, &cure.obstacle) {
        (Here::Yes, _) => return,
        (Here::Root, _) => "needs root".to_owned(),
        (Here::No, None) => "not from here".to_owned(),
        (Here::No, Some(why)) => format!("not from here: {why}"),
    };
    let place = format!("{hanging}{}", terminal(&place));
    below(sheet, wrapped(&place, COLUMNS - INDENT, &hanging));
}

/// Adds lines below a finding, from the column of its title on.
fn below(sheet: &mut Sheet, lines: impl IntoIterator<Item = String>) {
    for line in lines {
        sheet.span([String::new(), String::new(), line]);
    }
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
