//! Explains benchmarks whose cost `compare` found changed.

use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use ws_explain::diff::Difference;
use ws_explain::explained::Explained;
use ws_machines::name::PlatformName;
use ws_machines::platforms;
use ws_recorder::{Explainer, LEAST};
use ws_report::{ChangeExplained, Changed};
use ws_results::ResultFile;
use ws_runner::Session;
use ws_runner::parts::{self, Parts};
use ws_terminal::output;
use ws_text::number::signed;

/// Explanations by platform and benchmark; `None` if the user stopped the command.
type Known = BTreeMap<(String, String), Option<Explained>>;

/// Compares the functions of each changed benchmark on both machines, or says why it can't. `print`: also prints each
/// comparison when it is known.
pub fn changed(
    rows: &[Changed<'_>],
    parts: &Parts,
    print: bool,
    session: &Session,
) -> anyhow::Result<Vec<ChangeExplained>> {
    if rows.is_empty() {
        output::remark("nothing changed, so nothing is explained");
    }
    let mut known = Known::new();
    let mut explained = Vec::new();
    for row in rows {
        let difference = match difference(row, parts, session, &mut known) {
            Ok(Some(difference)) => Ok(difference),
            // The user stopped: the output has what is known so far.
            Ok(None) => break,
            Err(why) => Err(format!("{why:#}")),
        };
        if print {
            let text = match &difference {
                Ok(difference) => text(row, difference),
                Err(why) => {
                    let why = format!("{}: not explained: {why}", row.benchmark);
                    ws_text::terminal(&why).into_owned() + "\n"
                }
            };
            output::data(&format!("\n{text}"))?;
        }
        explained.push(ChangeExplained {
            base: row.pair.0.platform.clone(),
            other: row.pair.1.platform.clone(),
            benchmark: row.benchmark.clone(),
            why: difference.as_ref().err().cloned(),
            difference: difference.ok(),
        });
    }
    Ok(explained)
}

fn text(row: &Changed<'_>, difference: &Difference) -> String {
    let mut text = difference.to_text(LEAST);
    let compared = row.added.map(|added| added.round() as i64);
    if let Some(compared) = compared.filter(|added| *added != difference.measured) {
        text += &format!(
            "Both were recorded alone and without perturbation. The compared results differ by {}.\n",
            signed(compared)
        );
    }
    text
}

fn difference(
    row: &Changed<'_>,
    parts: &Parts,
    session: &Session,
    known: &mut Known,
) -> anyhow::Result<Option<Difference>> {
    if row.added.is_none() {
        bail!("compared in time, but only instructions can be explained");
    }
    // Both machines are checked before either is booted, which takes minutes.
    let names = [as_now(row.pair.0, parts)?, as_now(row.pair.1, parts)?];
    let explainer = Explainer {
        benchmark: &row.benchmark,
        parts,
        without: &[],
        debug: &[],
        session,
    };
    let key = |name: &PlatformName| (name.to_string(), row.benchmark.clone());
    for name in &names {
        if let Entry::Vacant(unknown) = known.entry(key(name)) {
            unknown.insert(explainer.explain(name)?);
        }
    }
    let [before, after] = names.map(|name| known.get(&key(&name)).and_then(Option::as_ref));
    match (before, after) {
        (Some(before), Some(after)) => Ok(Some(Difference::of(before, after)?)),
        _ => Ok(None),
    }
}

/// Returns the machine of a result, if the same machine can still be made.
fn as_now(result: &ResultFile, parts: &Parts) -> anyhow::Result<PlatformName> {
    let platform = &result.platform;
    let measured = result.identity.subject.get("machine_digest");
    let Some(measured) = measured.and_then(|digest| digest.as_str()) else {
        bail!("{platform} is not a lab machine");
    };
    let name: PlatformName = platform.parse().with_context(|| platform.clone())?;
    let resources = parts::resources(parts);
    let machine = platforms::open(&name, &resources)
        .with_context(|| format!("{platform} can't be made now"))?;
    if machine.description().digest.as_deref() != Some(measured) {
        bail!(
            "{platform} of {} can't be made again: its parts have changed since then",
            result.created
        );
    }
    Ok(name)
}
