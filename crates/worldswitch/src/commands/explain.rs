//! `worldswitch explain`: the functions that execute an operation's instructions, and how another machine differs.

use crate::cli::{ExplainArgs, STDOUT, session};
use crate::shared::{Done, on_stdout, write as write_file};
use anyhow::Context;
use std::path::Path;
use ws_explain::diff::Difference;
use ws_explain::explained::Explained;
use ws_explain::render::Shown;
use ws_machines::name::PlatformName;
use ws_recorder::{Explainer, Keeper, debug, prices};
use ws_terminal::output;

/// Records one machine or two, and explains the recorded operation.
///
/// # Errors
/// Wrong usage; a benchmark that can't run there; no trace or no symbols; functions whose sum is not the measured
/// count.
pub fn explain(args: &ExplainArgs) -> anyhow::Result<Done> {
    let flamegraph = args.flamegraph.as_deref();
    let form = (args.json || args.folded).then_some(Path::new(STDOUT));
    on_stdout([flamegraph, form])?;
    // Before the machine boots: a mistake in a file is told at once.
    let prices = prices::prices(&args.prices)?;
    debug::check(&args.debug)?;
    let session = session()?;
    let explainer = Explainer {
        benchmark: args.benchmark(),
        parts: &args.parts.to_parts(),
        without: &args.without,
        debug: &args.debug,
        session: &session,
    };
    let machines = args.on.iter().chain(&args.diff);
    let keeper = args.output.as_deref().map(|folder| {
        Keeper::make(
            folder,
            args.force,
            machines.map(|name| (name, args.benchmark())),
        )
    });
    let keeper = keeper.transpose()?;
    let one = |name: &PlatformName| -> anyhow::Result<Option<Explained>> {
        let mut explained = explainer.explain(name)?;
        if let (Some(prices), Some(explained)) = (&prices, &mut explained) {
            explained.reckoning = Some(prices::reckon(explained, prices)?);
        }
        if let (Some(keeper), Some(explained)) = (&keeper, &explained) {
            keeper.keep(explained)?;
        }
        Ok(explained)
    };
    let [first, second] = &*args.diff else {
        let Some(explained) = one(args.on.as_ref().context("no machine was named")?)? else {
            return Ok(Done::InPart);
        };
        show(args, &explained)?;
        return Ok(Done::Whole);
    };
    let (Some(before), Some(after)) = (one(first)?, one(second)?) else {
        return Ok(Done::InPart);
    };
    let difference = Difference::of(&before, &after)?;
    output::data(&match args.json {
        true => difference.to_json()?,
        false => difference.to_text(args.least),
    })?;
    Ok(Done::Whole)
}

fn show(args: &ExplainArgs, explained: &Explained) -> anyhow::Result<()> {
    if let Some(path) = &args.flamegraph {
        let to_file = write_file(path, explained.to_flame_graph()?.as_bytes())?;
        if !to_file {
            return Ok(());
        }
    }
    let text = match (args.json, args.folded) {
        (true, _) => explained.to_json()?,
        (_, true) => {
            if explained.left_out.is_some() {
                output::remark(explained.left_out_line().trim_end());
            }
            explained.to_folded()
        }
        _ => explained.to_text(Shown {
            least: args.least,
            registers: args.registers,
            lines: args.lines,
        }),
    };
    output::data(&text)?;
    Ok(())
}
