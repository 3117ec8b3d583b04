//! Chooses the baseline of each result: one rule for the table, the page and its models.

use ws_results::ResultFile;

/// The lab's machines without a hypervisor: one per architecture, and on Bochs one per processor.
const NATIVES: [&str; 4] = [
    "lab:native",
    "lab:arm-native",
    "lab:intel-native",
    "lab:amd-native",
];

/// Whether a platform is a baseline: the `named` one, or by default a lab machine without a hypervisor.
pub fn is_baseline(platform: &str, named: Option<&str>) -> bool {
    match named {
        Some(named) => platform == named,
        None => NATIVES.contains(&platform),
    }
}

/// The baseline of each result, as an index into `results`: that of its own run, else the first one. A
/// `named` baseline applies to all results; if units differ, the comparison reports it. By default only
/// results in instructions have one, of their own architecture and, on Bochs, of their own processor. A baseline is its own baseline.
pub fn baselines(results: &[ResultFile], named: Option<&str>) -> Vec<Option<usize>> {
    let of = |here: &ResultFile| {
        let fits = |there: &ResultFile| {
            is_baseline(&there.platform, named)
                && (named.is_some()
                    || counts(here) && counts(there) && machine(here) == machine(there))
        };
        let fitting = results.iter().enumerate().filter(|(_, there)| fits(there));
        of_its_run(here, fitting, |(_, there)| there).map(|(index, _)| index)
    };
    results.iter().map(of).collect()
}

/// Of these, the one whose result is of the same run as `here`, else the first.
pub(crate) fn of_its_run<T>(
    here: &ResultFile,
    mut all: impl Iterator<Item = T> + Clone,
    result: impl Fn(&T) -> &ResultFile,
) -> Option<T> {
    let mut own = all.clone();
    own.find(|one| result(one).created == here.created)
        .or_else(|| all.next())
}

fn counts(result: &ResultFile) -> bool {
    result.unit() == Some("insns")
}

/// What a result and its baseline have in common: the architecture, and on Bochs the processor.
fn machine(result: &ResultFile) -> [Option<&str>; 2] {
    let condition = |key| result.identity.conditions.get(key)?.as_str();
    let is_bochs = condition("emulator").is_some_and(|name| name.starts_with("bochs"));
    let processor = condition("emulator_cpu").filter(|_| is_bochs);
    [condition("arch"), processor]
}
