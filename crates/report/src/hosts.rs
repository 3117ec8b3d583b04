//! Hosts among others of their kind, for a terminal, as JSON and for the page.

use crate::number;
use crate::text::{Set, Sheet, Style, terminal};
use schemars::JsonSchema;
use serde::Serialize;
use ws_analysis::{Host, HostKind, HostUnlike, Standing};

/// The schema of the JSON.
pub const HOSTS_SCHEMA: &str = "worldswitch-hosts/1";

/// The hosts that measured, by kind.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Hosts {
    /// Always `worldswitch-hosts/1`.
    #[schemars(extend("const" = HOSTS_SCHEMA))]
    schema: &'static str,
    /// Hosts of one kind each.
    kinds: Vec<HostKind>,
}

/// The most names that are written out; the rest are counted.
const MOST_NAMES: usize = 3;

impl Hosts {
    /// Makes the output of these kinds.
    pub fn of(kinds: Vec<HostKind>) -> Self {
        Self {
            schema: HOSTS_SCHEMA,
            kinds,
        }
    }

    /// Renders the data as JSON, with a newline at the end.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Renders each kind for a terminal: its heading, and the hosts that differ from the others, or `all`.
    pub fn to_terminal(&self, colour: bool, all: bool) -> String {
        let style = Style::new(colour);
        let kinds = self.kinds.iter();
        kinds.map(|kind| on_terminal(kind, all, &style)).collect()
    }
}

/// Renders a kind for a terminal.
pub(crate) fn on_terminal(kind: &HostKind, all: bool, style: &Style) -> String {
    let hosts = kind.hosts.iter();
    let shown: Vec<&Host> = hosts.filter(|host| all || is_odd(host)).collect();
    let mut out = style.bold(&terminal(&heading(kind))) + "\n";
    if !shown.is_empty() {
        out += &sheet(&shown).to_terminal("  ");
    }
    out
}

/// Whether a host is worth a line.
pub(crate) fn is_odd(host: &Host) -> bool {
    host.standing < Standing::Alike
}

/// `kvm, tsc_ticks: 5 hosts, 1 differs from n2`.
pub(crate) fn heading(kind: &HostKind) -> String {
    let count = kind.hosts.len();
    let hosts = if count == 1 {
        "1 host".into()
    } else {
        format!("{count} hosts")
    };
    let of = |standing| {
        kind.hosts
            .iter()
            .filter(|host| host.standing == standing)
            .count()
    };
    let from = match &kind.middle {
        Some(middle) => format!("from {middle}, the one in the middle"),
        None => "from most".into(),
    };
    let (differ, unsettled) = (of(Standing::Differs), of(Standing::Unsettled));
    let found = match (differ, unsettled, of(Standing::Inconclusive)) {
        _ if of(Standing::Alone) == count => "too few to tell one from the others".into(),
        (0, 0, 0) => "none differs".into(),
        (0, 0, noisy) => format!("none differs, {noisy} too noisy to tell"),
        (0, more, _) => {
            format!("{more} unsettled: boots of one, or the hosts, disagree without a majority")
        }
        (1, ..) => format!("1 differs {from}"),
        (more, ..) => format!("{more} differ {from}"),
    };
    format!("{}, {}: {hosts}, {found}", kind.platform, kind.unit)
}

/// A line for each of these hosts.
pub(crate) fn sheet(hosts: &[&Host]) -> Sheet {
    let mut sheet = Sheet::new([
        ("host", Set::Text),
        ("", Set::Text),
        ("median row", Set::Number),
        ("benchmarks", Set::Text),
        ("otherwise than on most", Set::Text),
    ]);
    sheet.extend(hosts.iter().map(|host| {
        let shift = host
            .shift
            .map(|shift| number::difference(shift.ratio - 1.0));
        let unlike: Vec<String> = host.unlike.iter().map(described).collect();
        vec![
            host.host.clone(),
            word(host.standing).to_owned(),
            shift.unwrap_or_else(|| "-".into()),
            names(&host.differing),
            unlike.join(", "),
        ]
    }));
    sheet
}

fn word(standing: Standing) -> &'static str {
    match standing {
        Standing::Differs => "differs",
        Standing::Unsettled => "unsettled",
        Standing::Inconclusive => "too noisy",
        Standing::Alike => "as most",
        Standing::Alone => "alone",
    }
}

pub(crate) fn names(all: &[String]) -> String {
    let shown = all.len().min(MOST_NAMES);
    match all.len() - shown {
        0 => all.join(", "),
        more => format!("{} and {more} more", all[..shown].join(", ")),
    }
}

/// `processor.governor: powersave (most: -)`.
fn described(unlike: &HostUnlike) -> String {
    let side = |value: &Option<serde_json::Value>| match value {
        None => "-".to_owned(),
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    format!(
        "{}: {} (most: {})",
        unlike.field,
        side(&unlike.here),
        side(&unlike.most)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heading_of(standings: &[Standing]) -> String {
        let host = |standing: &Standing| Host {
            host: "n".into(),
            created: String::new(),
            standing: *standing,
            differing: Vec::new(),
            shift: None,
            unlike: Vec::new(),
        };
        heading(&HostKind {
            platform: "kvm".into(),
            unit: "tsc_ticks".into(),
            middle: None,
            hosts: standings.iter().map(host).collect(),
        })
    }

    #[test]
    fn what_could_not_be_told_is_not_called_alike() {
        use Standing::{Alike, Alone, Differs, Inconclusive, Unsettled};
        let ends = |standings: &[Standing], end: &str| {
            let heading = heading_of(standings);
            assert!(heading.ends_with(end), "{heading}");
        };
        ends(
            &[Alone, Alone],
            "2 hosts, too few to tell one from the others",
        );
        ends(&[Alike, Alike, Alike], "3 hosts, none differs");
        ends(
            &[Inconclusive, Inconclusive, Alike],
            "none differs, 2 too noisy to tell",
        );
        ends(
            &[Unsettled, Unsettled],
            "2 unsettled: boots of one, or the hosts, disagree without a majority",
        );
        ends(&[Differs, Unsettled, Alike], "1 differs from most");
    }
}
