//! `worldswitch lab boot`: boots the user's kernel in a lab machine, its console on standard output.

use super::ending::{self, Ending};
use crate::cli::lab::BootArgs;
use crate::shared::Done;
use anyhow::{Context, bail};
use std::io::{self, Write};
use std::time::{Duration, Instant};
use ws_machines::machine::{Console, LaunchRequest, Machine};
use ws_machines::name::PlatformName;
use ws_machines::{emulator, kernel_file, platforms};
use ws_runner::parts;
use ws_terminal::{Stop, Usage};

/// Boots, and shows the console until the machine ends or the user stops it.
///
/// # Errors
/// The machine can't be made or started, or the kernel did not power it off.
pub fn boot(args: &BootArgs) -> anyhow::Result<Done> {
    let name = parts::lab_machine(&args.name)?;
    for file in std::iter::once(&args.kernel).chain(&args.initrd) {
        std::fs::File::open(file).with_context(|| format!("can't read {}", file.display()))?;
    }
    if let Some(unused) = kernel_file::unused_of(&args.kernel)? {
        super::say(&unused);
    }
    let parts = args.parts();
    let mut resources = parts::resources(&parts);
    resources.kernel = Some(args.kernel.clone());
    resources.initrd.clone_from(&args.initrd);
    platforms::check(&name, &resources).map_err(|e| Usage(e.to_string()))?;
    let mut machine = platforms::open(&name, &resources)?;
    parts::check_named(&parts, &[machine.description().architecture])?;
    let stop = Stop::listen()?;
    machine.prepare()?;
    machine.launch(&LaunchRequest {
        vcpus: args.cpus,
        host_cpus: 1,
        vm: String::new(),
        command_line: args.append.clone(),
        memory_mib: None,
        timed: false,
    })?;
    let witness = machine.description().witness;
    let mut ending = Ending::new(witness, &args.append);
    let limit = args.timeout;
    let Some(end) = follow(machine.as_mut(), &mut ending, &stop, limit, &name)? else {
        super::say("stopped");
        return Ok(Done::InPart);
    };
    let complaints = machine.complaints();
    let amiss = ending.amiss(&complaints);
    let mut said = ending::without_witness(witness, &complaints);
    if !said.is_empty() {
        said.insert_str(0, "; it said: ");
    }
    let is_good = amiss.is_none();
    let mut told = amiss.unwrap_or_else(|| "the kernel powered the machine off".into());
    if end != emulator::RESET_OR_OFF {
        told = format!("{told} ({end})");
    }
    if !is_good {
        bail!("{name}: {told}{said}");
    }
    super::say(&format!("{name}: {told}{said}"));
    Ok(Done::Whole)
}

/// Copies the machine's console to standard output until the machine ends. Returns how it ended, or
/// `None` if the user stopped it.
fn follow(
    machine: &mut dyn Machine,
    ending: &mut Ending,
    stop: &Stop,
    limit: Option<Duration>,
    name: &PlatformName,
) -> anyhow::Result<Option<String>> {
    let started = Instant::now();
    let mut stdout = io::stdout().lock();
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        match machine.console(&mut buffer)? {
            Console::Data => {
                ending.feed(&buffer);
                stdout.write_all(&buffer)?;
                stdout.flush()?;
            }
            Console::Ended(how) => return Ok(Some(how)),
            Console::Quiet => machine.wait(),
        }
        if stop.requested() {
            machine.kill();
            return Ok(None);
        }
        if limit.is_some_and(|limit| started.elapsed() > limit) {
            machine.kill();
            bail!("{name} did not end within --timeout");
        }
    }
}
