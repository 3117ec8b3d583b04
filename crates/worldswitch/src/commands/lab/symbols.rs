//! `worldswitch lab symbols`: prints the functions of a lab machine's Linux.

use crate::shared::Done;
use anyhow::Context;
use std::fmt::Write;
use std::path::PathBuf;
use ws_machines::lab::SymbolsError;
use ws_machines::platforms;
use ws_runner::parts::{self, Parts, Places};
use ws_terminal::{Stop, Usage, output};

/// Prints the functions in the format of `/proc/kallsyms`.
pub fn symbols(name: &str, qemu: Option<&PathBuf>, places: &Places) -> anyhow::Result<Done> {
    let name = parts::lab_machine(name)?;
    let resources = parts::resources(&Parts {
        guest: None,
        qemu: qemu.cloned(),
        vmm: None,
        no_resume: true,
        lab: places.clone(),
    });
    platforms::check(&name, &resources).map_err(|e| Usage(e.to_string()))?;
    let stop = Stop::listen()?;
    let symbols = match platforms::symbols(&name, &resources, &|| stop.requested()) {
        Err(SymbolsError::Stopped) => {
            super::say("stopped");
            return Ok(Done::InPart);
        }
        symbols => symbols.with_context(|| name.to_string())?,
    };
    if let Some(why) = &symbols.not_kept {
        super::say(&format!("{why}; the next call boots the machine again"));
    }
    for text in symbols.xen.iter().chain(&symbols.linux) {
        output::data(&absolute(text))?;
    }
    Ok(Done::Whole)
}

/// Replaces distances between addresses by addresses.
fn absolute(text: &str) -> String {
    let mut address = 0u64;
    let mut all = String::new();
    for line in text.lines().filter(|line| !line.starts_with('@')) {
        let Some((delta, rest)) = line.split_once(' ') else {
            continue;
        };
        address = address.wrapping_add(u64::from_str_radix(delta, 16).unwrap_or(0));
        let _ = writeln!(all, "{address:016x} {}", rest.replacen(" [", "\t[", 1));
    }
    all
}
