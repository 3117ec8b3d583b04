//! Xen with its own tool stack, in a Linux that is dom0. This module makes the tool stack's files in dom0's initramfs,
//! and the configuration of the domain that it starts.

use super::described::Described;
use super::payload::{GUEST, Linux};
use crate::initramfs::{Content, Entry};
use crate::machine::MachineError;
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use ws_lab::manifest;
use ws_lab::store::Unpacked;

/// Paths in the initramfs.
const START: &str = "start";
const DOMAIN: &str = "domain.cfg";
const HOTPLUG: [&str; 2] = ["etc/xen/scripts/block", "etc/xen/scripts/vif-bridge"];
const START_SCRIPT: &str = include_str!("start.sh");
const HOTPLUG_SCRIPT: &str = include_str!("hotplug.sh");
/// Links to the folders in /usr, at the paths that packages expect.
const FOLDERS: [&str; 4] = ["bin", "lib", "lib64", "sbin"];

/// Xen, which the emulator boots with a kernel as its dom0.
#[derive(Clone, Debug)]
pub struct Xen {
    pub hypervisor: PathBuf,
    /// Xen's command line.
    pub parameters: String,
}

/// The files of the tool stack, under the paths that they have in their packages, and the scripts
/// that run it.
pub fn tools(set: &Unpacked, described: &mut Described) -> Result<Vec<Entry>, MachineError> {
    described.set(set);
    described.part("monitor", json!(set.set));
    described.sum("start", START_SCRIPT);
    described.sum("hotplug", HOTPLUG_SCRIPT);
    // This program alone determines the domain's configuration, besides the recipe and the launch.
    described.sum("domain", env!("CARGO_PKG_VERSION"));
    let mut entries: Vec<Entry> = FOLDERS
        .map(|folder| Entry {
            path: folder.into(),
            content: Content::Link(format!("usr/{folder}")),
        })
        .into();
    for (path, entry) in &set.manifest().files {
        let file = set.root.join(path);
        let content = match entry {
            manifest::Entry::File { .. } => {
                Content::Bytes(fs::read(&file).map_err(|e| MachineError::io("read", &file, e))?)
            }
            manifest::Entry::Link { to } => Content::Link(to.clone()),
        };
        entries.push(Entry {
            path: path.clone(),
            content,
        });
    }
    let hotplug = HOTPLUG.map(|path| Entry::file(path, HOTPLUG_SCRIPT));
    entries.extend(hotplug);
    entries.push(Entry::file(START, START_SCRIPT));
    Ok(entries)
}

/// The words that start the domain, in a machine whose root file system has the initramfs as /lab.
pub const STARTS: [&str; 2] = ["/bin/sh", "/lab/start"];
/// The words that start the domain, where the initramfs is the root.
const STARTS_HERE: [&str; 3] = ["/usr/bin/busybox", "sh", "/start"];

/// A machine whose dom0 does nothing but run the tool stack, which runs the guest.
#[derive(Clone, Debug)]
pub struct Dom0 {
    pub xen: Xen,
    /// dom0.
    pub linux: Linux,
    /// Lines of the domain's configuration.
    pub settings: Vec<String>,
}

impl Dom0 {
    /// The initramfs of a machine; with `parameters` for the guest that of a launch.
    pub fn initramfs(
        &self,
        vcpus: u32,
        memory_mib: u64,
        parameters: Option<&str>,
    ) -> Result<Vec<u8>, MachineError> {
        let domain = Domain {
            vcpus,
            memory_mib,
            kernel: GUEST,
            parameters: None,
            linux: None,
            settings: &self.settings,
        };
        let mut linux = self.linux.clone();
        linux.files.push(domain.configuration());
        linux.initramfs(&parameters.map(asked).unwrap_or_default())
    }
}

/// The words that start the domain, as lines for the first process.
pub fn asked(parameters: &str) -> Vec<String> {
    let cmdline = cmdline(parameters);
    STARTS_HERE
        .into_iter()
        .chain([&*cmdline])
        .map(|word| format!("word={word}"))
        .collect()
}

/// The line of the configuration with the kernel's command line.
fn cmdline(parameters: &str) -> String {
    format!("cmdline=\"{parameters}\"")
}

/// A domain. Paths are those in the initramfs.
#[derive(Clone, Copy, Debug)]
pub struct Domain<'a> {
    pub vcpus: u32,
    pub memory_mib: u64,
    pub kernel: &'a str,
    /// The kernel's command line, unless it comes with the launch.
    pub parameters: Option<&'a str>,
    /// The files of a domain with a Linux; none for the guest.
    pub linux: Option<Of<'a>>,
    /// Further lines.
    pub settings: &'a [String],
}

/// The files of a domain with a Linux, besides its kernel. Such a domain has a network card too.
#[derive(Clone, Copy, Debug)]
pub struct Of<'a> {
    pub initrd: &'a str,
    /// A block device of dom0's, which nobody writes.
    pub root: &'a str,
}

impl Domain<'_> {
    /// The domain's configuration (xl.cfg(5)).
    pub fn configuration(&self) -> Entry {
        let mut lines = vec![
            "name=\"vm\"".to_owned(),
            format!("vcpus={}", self.vcpus),
            format!("memory={}", self.memory_mib),
            format!("kernel=\"/{}\"", self.kernel),
            "on_crash=\"destroy\"".to_owned(),
            "on_reboot=\"destroy\"".to_owned(),
        ];
        lines.extend(self.parameters.map(cmdline));
        if let Some(Of { initrd, root }) = self.linux {
            lines.push(format!("ramdisk=\"/{initrd}\""));
            lines.push(format!(
                "disk=[\"format=raw,vdev=xvda,access=r,target={root}\"]"
            ));
            lines.push("vif=[\"mac=52:54:00:00:00:01,bridge=br0\"]".to_owned());
        }
        lines.extend_from_slice(self.settings);
        Entry::file(DOMAIN, lines.join("\n") + "\n")
    }
}

#[cfg(test)]
mod tests;
