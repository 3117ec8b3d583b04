//! The figures of one unit of work in a row of a whole Linux: instructions, their band, and the host's counts. Tables
//! of applications and of I/O share them.

use crate::number;
use std::collections::BTreeMap;
use ws_analysis::{Band, Summary};
use ws_results::{EXITS_UNIT, HostView, ResultFile, Row, Status};

/// A row's cost, its reason if it has none, and the host's counts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Unit {
    /// Exits for one unit, the least and the greatest of the boots, of a machine that counts exits only.
    pub exits: Option<[f64; 2]>,
    /// Instructions for one unit.
    pub insns: Option<f64>,
    /// The least and the greatest figure over all boots, perturbed ones too.
    pub band: Option<[f64; 2]>,
    /// Whether all boots but the perturbed ones gave the same samples.
    pub exact: Option<bool>,
    /// KVM's counters for one unit, by the kernel's names.
    pub counts: BTreeMap<String, f64>,
    /// Exits for one unit by reason.
    pub reasons: BTreeMap<String, f64>,
    /// Counters of the hypervisor below the VM's own for one unit. `below_causes` has its traps by cause.
    pub below: BTreeMap<String, f64>,
    pub below_causes: BTreeMap<String, f64>,
    /// Instructions for one unit by thread.
    pub threads: BTreeMap<String, f64>,
    /// Ticks of one unit by part, traced.
    pub steps: BTreeMap<String, f64>,
    /// Ticks of the traced runs for one unit.
    pub traced: Option<f64>,
    /// Why there are no instructions.
    pub why: Option<String>,
}

impl Unit {
    /// Collects the figures of a row; `None` stands for a row that the result does not have.
    pub(crate) fn of(row: Option<&Row>, result: &ResultFile) -> Self {
        let summary = row.and_then(|row| Summary::cost(row, &result.perturbed()));
        // A machine that counts exits only has no instructions: its cost is a number of exits.
        let exits_only = summary
            .as_ref()
            .filter(|summary| summary.unit == EXITS_UNIT);
        let executed = summary
            .as_ref()
            .filter(|summary| summary.unit != EXITS_UNIT);
        let ends = |band: Band| [band.low, band.high];
        let of = |counts: fn(&HostView) -> Option<&BTreeMap<String, u64>>| match row {
            Some(row) => a_unit(row, counts),
            None => BTreeMap::new(),
        };
        let reason = || {
            let failed = row.filter(|row| row.status != Status::Ok);
            let text = failed.and_then(|row| row.reason.as_deref());
            text.unwrap_or("not measured there").to_owned()
        };
        Self {
            exits: exits_only.map(|summary| ends(summary.range())),
            insns: executed.map(|summary| summary.value),
            band: executed.and_then(Summary::band).map(ends),
            exact: executed.and_then(|summary| summary.exact),
            counts: of(|view| view.kvm.as_ref()),
            reasons: of(|view| Some(&view.reasons)),
            below: of(|view| view.below.as_ref()),
            below_causes: of(|view| Some(&view.below_causes)),
            threads: of(|view| Some(&view.threads)),
            steps: of(|view| Some(&view.steps)),
            traced: row.and_then(traced),
            why: summary.is_none().then(reason),
        }
    }
}

/// Returns the host's counts for one unit, of the first boot in which it counted any.
fn a_unit(
    row: &Row,
    counts: impl Fn(&HostView) -> Option<&BTreeMap<String, u64>>,
) -> BTreeMap<String, f64> {
    let counted = |view: &HostView| {
        let counts = counts(view).filter(|counts| !counts.is_empty())?;
        let operations = view.operations.filter(|operations| *operations > 0)?;
        Some((operations, counts.clone()))
    };
    let Some((operations, counts)) = row.host.iter().find_map(counted) else {
        return BTreeMap::new();
    };
    let of_one = |(name, count)| (name, count as f64 / operations as f64);
    counts.into_iter().map(of_one).collect()
}

/// Ticks of a traced run for one unit, in the first boot with one.
fn traced(row: &Row) -> Option<f64> {
    let of_one = |view: &HostView| Some((view.traced?, view.operations.filter(|n| *n > 0)?));
    let (ticks, operations) = row.host.iter().find_map(of_one)?;
    Some(ticks as f64 / operations as f64)
}

/// A platform's name without variant and options.
pub(crate) fn base(platform: &str) -> &str {
    platform.split(['@', '+']).next().unwrap_or_default()
}

/// The options of a platform's name: `cpus=4+net=vhost`.
pub(crate) fn options(platform: &str) -> &str {
    platform.split_once('+').map_or("", |(_, options)| options)
}

/// The value of an option of the platform's name: `vhost` of `lab:kvm-linux+net=vhost`.
pub(crate) fn option<'a>(platform: &'a str, key: &str) -> Option<&'a str> {
    let options = platform.split('+').skip(1);
    let mut options = options.filter_map(|option| option.split_once('='));
    options.find_map(|(name, value)| (name == key).then_some(value))
}

/// How many CPUs the measured system has, if the platform's name says so: `4` of `lab:linux+cpus=4`.
pub(crate) fn cpus(platform: &str) -> Option<&str> {
    option(platform, "cpus")
}

/// A text, or a dash.
pub(crate) fn dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

/// A number to two decimals.
pub(crate) fn two(value: f64) -> String {
    format!("{value:.2}")
}

/// Whole instructions.
pub(crate) fn insns(value: f64) -> String {
    number::value(value.round(), "insns")
}

/// Instructions, marked if boots gave different ones.
pub(crate) fn insns_of(value: Option<f64>, exact: Option<bool>) -> String {
    let inexact = if exact == Some(false) { " inexact" } else { "" };
    dash(value.map(|value| insns(value) + inexact))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_first_boot_that_has_any() {
        let view = |operations, reasons: &[(&str, u64)]| HostView {
            operations,
            reasons: reasons.iter().map(|(k, n)| ((*k).to_owned(), *n)).collect(),
            ..HostView::default()
        };
        let mut row = Row::new("x", "application");
        let of = |row: &Row| a_unit(row, |view| Some(&view.reasons));
        assert!(of(&row).is_empty());
        row.host = vec![
            view(Some(0), &[("hlt", 1)]),
            view(Some(10), &[]),
            view(Some(10), &[("hlt", 5)]),
            view(Some(10), &[("hlt", 7)]),
        ];
        assert_eq!(of(&row), [("hlt".to_owned(), 0.5)].into());
        assert_eq!(base("lab:kvm-linux@6.1+memory=512"), "lab:kvm-linux");
        assert_eq!(base(""), "");
        assert_eq!(cpus("lab:kvm-linux+memory=512+cpus=4"), Some("4"));
        assert_eq!(cpus("lab:kvm-linux+net=vhost"), None);
        assert_eq!(option("lab:kvm-linux@6.1+net=vhost", "net"), Some("vhost"));
    }
}
