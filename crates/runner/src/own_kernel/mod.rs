//! Boots the user's kernel in a lab machine. Only a power-off by the kernel is a success.

mod ending;

use crate::parts::{self, Parts};
use anyhow::{Context, bail};
use ending::Ending;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use ws_machines::machine::{Console, LaunchRequest, Machine};
use ws_machines::name::PlatformName;
use ws_machines::{emulator, kernel_file, platforms};
use ws_terminal::{Stop, Usage};

/// A kernel to boot.
#[derive(Clone, Debug)]
pub struct OwnKernel {
    pub machine: PlatformName,
    pub kernel: PathBuf,
    pub initrd: Option<PathBuf>,
    /// Command line of the kernel.
    pub append: String,
    /// Number of vCPUs.
    pub vcpus: u32,
    /// Time after which the machine is stopped.
    pub timeout: Option<Duration>,
    pub parts: Parts,
}

impl OwnKernel {
    /// Boots the kernel, with its console on `out`, until the machine ends. Returns how it ended, in words; `None` if
    /// the user stopped it.
    ///
    /// # Errors
    /// The machine can't be made or started, or the kernel did not power it off.
    pub fn boot(
        &self,
        out: &mut dyn Write,
        say: fn(&str),
        stop: &Stop,
    ) -> anyhow::Result<Option<String>> {
        let name = &self.machine;
        for file in std::iter::once(&self.kernel).chain(&self.initrd) {
            std::fs::File::open(file).with_context(|| format!("can't read {}", file.display()))?;
        }
        if let Some(unused) = kernel_file::unused_of(&self.kernel)? {
            say(&unused);
        }
        let mut resources = parts::resources(&self.parts);
        resources.kernel = Some(self.kernel.clone());
        resources.initrd.clone_from(&self.initrd);
        platforms::check(name, &resources).map_err(|e| Usage(e.to_string()))?;
        let mut machine = platforms::open(name, &resources)?;
        parts::check_named(&self.parts, &[machine.description().architecture])?;
        machine.prepare()?;
        machine.launch(&LaunchRequest {
            vcpus: self.vcpus,
            host_cpus: 1,
            vm: String::new(),
            command_line: self.append.clone(),
            memory_mib: None,
            timed: false,
        })?;
        let witness = machine.description().witness;
        let mut ending = Ending::new(witness, &self.append);
        let machine = machine.as_mut();
        let Some(end) = follow(machine, &mut ending, stop, self.timeout, name, out)? else {
            return Ok(None);
        };
        let complaints = machine.complaints();
        let amiss = ending.amiss(&complaints);
        let is_good = amiss.is_none();
        let mut text = amiss.unwrap_or_else(|| "the kernel powered the machine off".into());
        if end != emulator::RESET_OR_OFF {
            text = format!("{text} ({end})");
        }
        let said = ending::without_witness(witness, &complaints);
        if !said.is_empty() {
            text = format!("{text}; it said: {said}");
        }
        match is_good {
            true => Ok(Some(format!("{name}: {text}"))),
            false => bail!("{name}: {text}"),
        }
    }
}

/// Copies the machine's console until the machine ends. Returns how it ended, or `None` if the user stopped it.
fn follow(
    machine: &mut dyn Machine,
    ending: &mut Ending,
    stop: &Stop,
    limit: Option<Duration>,
    name: &PlatformName,
    out: &mut dyn Write,
) -> anyhow::Result<Option<String>> {
    let started = Instant::now();
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        match machine.console(&mut buffer)? {
            Console::Data => {
                ending.feed(&buffer);
                out.write_all(&buffer)?;
                out.flush()?;
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
