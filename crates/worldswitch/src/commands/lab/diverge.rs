//! `worldswitch lab diverge`: the first executed instruction at which two boots differ, or the functions that only one of
//! two kernels executes.

use crate::cli::lab::DivergeArgs;
use crate::cli::session;
use crate::shared::Done;
use ws_analysis::Outcome;
use ws_diverge::Asked;
use ws_runner::parts::lab_machine;
use ws_terminal::output;

/// Boots both machines, and prints where they differ.
pub fn diverge(args: &DivergeArgs) -> anyhow::Result<Done> {
    let asked = Asked {
        machines: [lab_machine(&args.a)?, lab_machine(&args.b)?],
        bench: args.bench.clone(),
        kernel: args.kernel.clone(),
        initrd: args.initrd.clone(),
        append: args.append.clone(),
        by: args.by,
        cpu: args.cpu,
        next: args.next as usize,
        timeout: args.timeout,
        parts: args.parts.to_parts(),
        other_qemu: args.other_qemu.clone(),
    };
    let Some(diverged) = ws_diverge::diverge(&asked, &session()?)? else {
        super::say("stopped");
        return Ok(Done::InPart);
    };
    output::data(&match args.json {
        true => diverged.to_json()?,
        false => diverged.to_text(asked.next),
    })?;
    Ok(Done::Judged(match diverged.differ {
        true => Outcome::Regression,
        false => Outcome::NoRegression,
    }))
}
