//! What each result is compared with: one rule for the table, the page and its models.

use ws_results::ResultFile;

/// The lab's machines without a hypervisor, one an architecture.
const NATIVES: [&str; 2] = ["lab:native", "lab:arm-native"];

/// Whether a platform is what others are compared with: the one that is `named`, else a machine of the
/// lab without a hypervisor.
pub fn is_baseline(platform: &str, named: Option<&str>) -> bool {
    match named {
        Some(named) => platform == named,
        None => NATIVES.contains(&platform),
    }
}

/// Of each result its baseline, as an index among them: that of its own run, else the first. A baseline
/// that is `named` is everybody's, and where its unit is another the comparison says so. By default
/// only what counts instructions has one, of its own architecture. A run's baseline has itself.
pub fn baselines(results: &[ResultFile], named: Option<&str>) -> Vec<Option<usize>> {
    let of = |here: &ResultFile| {
        let fits = |there: &ResultFile| {
            is_baseline(&there.platform, named)
                && (named.is_some() || counts(here) && counts(there) && arch(here) == arch(there))
        };
        let all = || results.iter().enumerate().filter(|(_, there)| fits(there));
        let of_its_run = all().find(|(_, there)| there.created == here.created);
        of_its_run.or_else(|| all().next()).map(|(index, _)| index)
    };
    results.iter().map(of).collect()
}

fn counts(result: &ResultFile) -> bool {
    let unit = result.identity.conditions.get("unit");
    unit.and_then(|unit| unit.as_str()) == Some("insns")
}

fn arch(result: &ResultFile) -> Option<&serde_json::Value> {
    result.identity.conditions.get("arch")
}
