//! `worldswitch compare`: finds pairs of results, judges them, and shows and exports the verdicts.

use crate::cli::CompareArgs;
use crate::shared::judged::judge;
use std::path::Path;
use ws_analysis::{Outcome, only_in_base, pairs};
use ws_terminal::output;

/// Compares results.
pub fn compare(args: &CompareArgs) -> anyhow::Result<Outcome> {
    let bases = ws_results::load(&args.base)?;
    let others = ws_results::load_all(&args.others)?;
    let parts = args.parts.to_parts();
    let explain = args.explain.then_some(&parts);
    // A user who names FOLDER:PLATFORM or a file does not ask for other platforms.
    let are_whole = args.others.iter().any(|other| Path::new(other).is_dir());
    let (pairs, alone) = pairs(&bases, &others)?;
    for why in alone {
        output::remark(&why.to_string());
    }
    let gaps = only_in_base(&bases, &pairs, are_whole);
    judge(&pairs, gaps, &args.how, explain)
}
