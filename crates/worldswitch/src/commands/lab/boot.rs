//! `worldswitch lab boot`: boots the user's kernel in a lab machine, its console on standard output.

use crate::cli::lab::BootArgs;
use crate::shared::Done;
use std::io;
use ws_runner::OwnKernel;
use ws_runner::parts::lab_machine;
use ws_terminal::Stop;

/// Boots, and shows the console until the machine ends or the user stops it.
pub fn boot(args: &BootArgs) -> anyhow::Result<Done> {
    let kernel = OwnKernel {
        machine: lab_machine(&args.name)?,
        kernel: args.kernel.clone(),
        initrd: args.initrd.clone(),
        append: args.append.clone(),
        vcpus: args.cpus,
        timeout: args.timeout,
        parts: args.parts(),
    };
    let end = kernel.boot(&mut io::stdout().lock(), super::say, &Stop::listen()?)?;
    super::say(end.as_deref().unwrap_or("stopped"));
    Ok(Done::whole_if(end.is_some()))
}
