//! Chooses the baseline of each result: one rule for the table, the page and its models.

use ws_results::{Facts, ResultFile, System};

/// Whether a result is a baseline: of the `named` platform, or by default of a machine without a hypervisor.
pub fn is_baseline(result: &ResultFile, named: Option<&str>) -> bool {
    match named {
        Some(named) => result.platform == named,
        None => is_usual(&result.platform, &result.facts()),
    }
}

/// Whether a platform is one of which results are baselines.
pub fn has_baseline(results: &[ResultFile], platform: &str, named: Option<&str>) -> bool {
    let mut results = results.iter();
    results.any(|result| result.platform == platform && is_baseline(result, named))
}

/// Whether a platform is a baseline by default. An option or variant makes it another machine than that of the VMs, so
/// such a baseline must be named.
pub(crate) fn is_usual(platform: &str, facts: &Facts) -> bool {
    facts.is_native(System::Guest) && !platform.contains(['@', '+'])
}

/// Returns the baseline of each result, as an index into `results`: that of its own run, else the first one. A `named`
/// baseline applies to all results; if units differ, the comparison reports it. By default only results in instructions
/// have a baseline, of the same architecture and, on Bochs, of the same processor. A baseline is its own baseline.
pub fn baselines(results: &[ResultFile], named: Option<&str>) -> Vec<Option<usize>> {
    let of = |here: &ResultFile| {
        let fits = |there: &ResultFile| {
            is_baseline(there, named)
                && (named.is_some()
                    || counts(here) && counts(there) && machine(here) == machine(there))
        };
        let fitting = results.iter().enumerate().filter(|(_, there)| fits(there));
        of_its_run(here, fitting, |(_, there)| there).map(|(index, _)| index)
    };
    results.iter().map(of).collect()
}

/// Chooses the item whose result is of the same run as `here`, else the first.
pub(crate) fn of_its_run<T>(
    here: &ResultFile,
    mut all: impl Iterator<Item = T> + Clone,
    result: impl Fn(&T) -> &ResultFile,
) -> Option<T> {
    let mut own = all.clone();
    own.find(|one| result(one).created == here.created)
        .or_else(|| all.next())
}

/// Whether a result's figures are instructions.
pub(crate) fn counts(result: &ResultFile) -> bool {
    result.unit() == Some("insns")
}

/// Returns the properties that a result shares with its baseline, and with the machine that prices its exits: the
/// architecture, and on Bochs the processor.
pub(crate) fn machine(result: &ResultFile) -> [Option<&str>; 2] {
    let emulator = condition(result, "emulator");
    let is_bochs = emulator.is_some_and(|name| name.starts_with("bochs"));
    let processor = condition(result, "emulator_cpu").filter(|_| is_bochs);
    [architecture(result), processor]
}

/// Returns the architecture of the machine, as its guest said.
pub fn architecture(result: &ResultFile) -> Option<&str> {
    condition(result, "arch")
}

fn condition<'a>(result: &'a ResultFile, key: &str) -> Option<&'a str> {
    result.identity.conditions.get(key)?.as_str()
}
