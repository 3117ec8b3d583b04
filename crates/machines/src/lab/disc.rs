//! The CD from which an emulator without a loader of its own boots: isolinux, and the kernel that isolinux loads.

use crate::machine::MachineError;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use ws_lab::store::Unpacked;

/// The program that writes the image.
const XORRISO: &str = "xorriso";
/// Parts of isolinux, in their packages: the loader, its core, and its loader of multiboot kernels.
const ISOLINUX: &str = "usr/lib/ISOLINUX/isolinux.bin";
const MODULES: [&str; 3] = ["ldlinux.c32", "libcom32.c32", "mboot.c32"];
const MODULES_FOLDER: &str = "usr/lib/syslinux/modules/bios";
/// The longest command line: isolinux cuts longer ones.
const COMMAND_LINE_BYTES_MAX: usize = 2047;

/// The system that a CD boots.
#[derive(Clone, Copy, Debug)]
pub enum Boot<'a> {
    Linux {
        kernel: &'a Path,
        initramfs: Option<&'a [u8]>,
        command_line: &'a str,
    },
    Multiboot {
        kernel: &'a Path,
        command_line: &'a str,
    },
}

/// The maker of CDs: xorriso and isolinux.
#[derive(Clone, Debug)]
pub struct DiscMaker {
    xorriso: Vec<OsString>,
    /// The folder of the packages' files.
    root: PathBuf,
}

impl DiscMaker {
    /// Finds xorriso and isolinux in their set of packages.
    pub fn of(set: &Unpacked) -> Result<Self, MachineError> {
        let xorriso = set.program(XORRISO);
        let maker = Self {
            xorriso: xorriso.map_err(|e| MachineError::Other(e.to_string()))?,
            root: set.root.clone(),
        };
        match maker.parts().iter().find(|(_, path)| !path.is_file()) {
            None => Ok(maker),
            Some((_, path)) => Err(MachineError::Other(format!(
                "{} is missing: run worldswitch lab fetch {}",
                path.display(),
                set.set
            ))),
        }
    }

    /// isolinux' files, by their names on the CD.
    fn parts(&self) -> Vec<(&'static str, PathBuf)> {
        let modules = MODULES.map(|name| (name, self.root.join(MODULES_FOLDER).join(name)));
        let mut parts = vec![("isolinux.bin", self.root.join(ISOLINUX))];
        parts.extend(modules);
        parts
    }

    /// Makes the image of a CD; the same bytes for the same content.
    ///
    /// # Errors
    /// The command line is longer than isolinux takes, or has a control character.
    pub fn image(&self, boot: Boot<'_>) -> Result<Vec<u8>, MachineError> {
        let folder = tempfile::tempdir()
            .map_err(|e| MachineError::io("make a folder in", std::env::temp_dir(), e))?;
        let put = |from: &Path, name: &str| {
            let copied = fs::copy(from, folder.path().join(name));
            copied.map_err(|e| MachineError::io("put on a CD", from, e))
        };
        for (name, path) in self.parts() {
            put(&path, name)?;
        }
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).map_err(|e| MachineError::io("write", path, e))
        };
        let kernel = match boot {
            Boot::Linux {
                kernel, initramfs, ..
            } => {
                if let Some(bytes) = initramfs {
                    write("initrd", bytes)?;
                }
                kernel
            }
            Boot::Multiboot { kernel, .. } => kernel,
        };
        put(kernel, "kernel")?;
        write("isolinux.cfg", configuration(boot)?.as_bytes())?;
        self.written(folder.path())
    }

    /// Makes an image of a folder with xorriso. Fixed dates keep the bytes the same.
    fn written(&self, folder: &Path) -> Result<Vec<u8>, MachineError> {
        let program = self.xorriso.first().cloned().unwrap_or_default();
        let output = Command::new(&program)
            .args(self.xorriso.get(1..).unwrap_or_default())
            .args(["-as", "mkisofs", "-quiet"])
            .args(["--set_all_file_dates", "2024010100000000"])
            .args(["-b", "isolinux.bin", "-c", "boot.cat", "-no-emul-boot"])
            .args(["-boot-load-size", "4", "-boot-info-table"])
            .arg(folder)
            // The dates of the image itself.
            .env("SOURCE_DATE_EPOCH", "1704067200")
            .output()
            .map_err(|e| MachineError::io("start", PathBuf::from(&program), e))?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(MachineError::Other(format!(
                "xorriso could not make the machine's CD: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            ))),
        }
    }
}

/// isolinux' configuration: boots at once, without a word.
fn configuration(boot: Boot<'_>) -> Result<String, MachineError> {
    let (loaded, words) = match boot {
        Boot::Linux {
            initramfs,
            command_line,
            ..
        } => {
            let initrd = initramfs.map_or("", |_| "initrd=/initrd ");
            ("/kernel", format!("{initrd}{command_line}"))
        }
        Boot::Multiboot { command_line, .. } => ("/mboot.c32", format!("/kernel {command_line}")),
    };
    let is_line = !words.chars().any(char::is_control);
    if !is_line || words.len() > COMMAND_LINE_BYTES_MAX {
        return Err(MachineError::Other(format!(
            "the command line has {} bytes; a machine that boots from a CD takes one line of at most {COMMAND_LINE_BYTES_MAX}",
            words.len()
        )));
    }
    Ok(format!(
        "default boot\nprompt 0\ntimeout 0\nlabel boot\nkernel {loaded}\nappend {words}\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_and_multiboot_kernels_are_booted_at_once() {
        let kernel = Path::new("/k");
        let text = configuration(Boot::Linux {
            kernel,
            initramfs: Some(b"x"),
            command_line: "quiet",
        });
        assert_eq!(
            text.unwrap(),
            "default boot\nprompt 0\ntimeout 0\nlabel boot\nkernel /kernel\nappend initrd=/initrd quiet\n"
        );
        let multiboot = |command_line| {
            configuration(Boot::Multiboot {
                kernel,
                command_line,
            })
        };
        assert!(
            multiboot("bench=^(in)$")
                .unwrap()
                .ends_with("kernel /mboot.c32\nappend /kernel bench=^(in)$\n")
        );
        assert!(multiboot("a\nkernel x").is_err());
        assert!(multiboot(&"x".repeat(2048)).is_err());
    }
}
