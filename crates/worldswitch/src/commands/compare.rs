//! `worldswitch compare`: finds pairs of results, judges them, and shows and exports the verdicts.

use crate::cli::CompareArgs;
use crate::shared::judged::judge;
use crate::shared::pairs::{NoHost, counterpart};
use anyhow::bail;
use std::path::Path;
use ws_analysis::{Gap, GapKind, Outcome};
use ws_results::ResultFile;
use ws_terminal::{Colours, output};

/// Compares results.
pub fn compare(args: &CompareArgs, colours: Colours) -> anyhow::Result<Outcome> {
    let bases = ws_results::load(&args.base)?;
    let others = ws_results::load_all(&args.others)?;
    let parts = args.parts.to_parts();
    let explain = args.explain.then_some(&parts);
    // A user who names FOLDER:PLATFORM or a file does not ask for other platforms.
    let are_whole = args.others.iter().any(|other| Path::new(other).is_dir());
    let (pairs, alone) = pairs(&bases, &others)?;
    for why in alone {
        output::remark(&why, colours);
    }
    let gaps = only_in_base(&bases, &pairs, are_whole);
    judge(&pairs, gaps, &args.how, explain, colours)
}

/// Pairs of results to compare, the base first.
type Pairs<'a> = Vec<(&'a ResultFile, &'a ResultFile)>;

/// Returns the pairs to compare, and a reason for each result whose host the base lacks. A single base is compared
/// with all others. Of several bases, each other result is compared with its [`counterpart`]. A base that is also
/// among the others, in a folder, is not compared with itself.
fn pairs<'a>(
    bases: &'a [ResultFile],
    others: &'a [ResultFile],
) -> anyhow::Result<(Pairs<'a>, Vec<String>)> {
    if let [base] = bases {
        let rest: Vec<_> = others.iter().filter(|other| *other != base).collect();
        let others = if rest.is_empty() {
            others.iter().collect()
        } else {
            rest
        };
        let pairs = others.into_iter().map(|other| (base, other));
        return Ok((pairs.collect(), Vec::new()));
    }
    let (mut pairs, mut alone) = (Vec::new(), Vec::new());
    for other in others {
        match counterpart(bases, other) {
            Ok(base) => pairs.push((base, other)),
            Err(error) if error.is::<NoHost>() => alone.push(error.to_string()),
            Err(error) => return Err(error),
        }
    }
    if pairs.is_empty() {
        bail!(alone.join("; "));
    }
    Ok((pairs, alone))
}

/// Lists the results of the base that are in no pair. Unless `of_all`, only hosts of platforms that are in a pair.
fn only_in_base(bases: &[ResultFile], pairs: &Pairs<'_>, of_all: bool) -> Vec<Gap> {
    let is_paired = |base: &ResultFile| pairs.iter().any(|(one, _)| std::ptr::eq(*one, base));
    let is_meant = |base: &ResultFile| {
        let mut pairs = pairs.iter();
        of_all || pairs.any(|(_, other)| other.platform == base.platform)
    };
    let alone = bases
        .iter()
        .filter(|base| !is_paired(base) && is_meant(base));
    let of_hosts = |base: &ResultFile| {
        let mut like = bases.iter().filter(|one| one.platform == base.platform);
        like.any(|one| one.host() != base.host())
    };
    let gap = |base: &ResultFile| {
        let host = match of_hosts(base) {
            true => format!(" of {}", base.host().unwrap_or("an unknown host")),
            false => String::new(),
        };
        Gap {
            kind: GapKind::NoCounterpart,
            platform: base.platform.clone(),
            benchmarks: Vec::new(),
            why: format!("{}{host} is in the base only", base.platform),
        }
    };
    alone.map(gap).collect()
}
