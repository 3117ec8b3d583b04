//! `worldswitch lab bisect`: finds the kernel commit that changed a benchmark's instruction count.

use crate::cli::lab::BisectArgs;
use crate::cli::session;
use crate::shared::Done;
use ws_analysis::Outcome;
use ws_bisect::{Asked, Search};
use ws_recorder::LEAST;
use ws_terminal::output;

/// Searches for the commit, and prints the outcome before the functions: explaining may take long.
pub fn bisect(args: &BisectArgs) -> anyhow::Result<Done> {
    let session = session()?;
    let asked = Asked {
        kernel_tree: args.kernel_tree.clone(),
        good: args.good.clone(),
        bad: args.bad.clone(),
        bench: args.bench.clone(),
        on: args.on.clone(),
        build: args.build.clone(),
        perturb: args.perturb,
        allow: args.allow.clone(),
        parts: args.parts.to_parts(),
        output: args.output.to_output(),
    };
    let mut search = Search::new(&asked, &session)?;
    let found = search.run()?;
    if !args.json {
        output::data(&found.to_text())?;
    }
    let commit = found.commit().filter(|_| !args.no_explain);
    let difference = commit.map(|commit| search.explain(commit));
    output::data(&match (args.json, &difference) {
        (true, _) => found.to_json(difference.as_ref())?,
        (false, Some(Ok(difference))) => format!("\n{}", difference.to_text(LEAST)),
        (false, _) => String::new(),
    })?;
    if let Some(Err(why)) = &difference {
        let text = format!("can't explain which functions changed: {why:#}");
        output::remark(&text);
    }
    let folder = search.folder().display();
    output::remark(&format!("results and build logs are in {folder}"));
    Ok(match found.commit() {
        Some(_) => Done::Whole,
        None => Done::Judged(Outcome::Inconclusive),
    })
}
