//! The command and configuration of Bochs: the only file that knows them.

use super::disc::DiscMaker;
use crate::debugger;
use crate::emulator::Emulator;
use crate::inherited::Inherited;
use crate::machine::MachineError;
use crate::process::Handed;
use std::ffi::OsString;
use std::fmt::Write;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use ws_lab::recipe::Recipe;
use ws_lab::store::Unpacked;

/// Paths in Bochs' packages, relative to the packages' folder: version 2.7 overflows a buffer if paths are long.
const BIOS: &str = "usr/share/bochs/BIOS-bochs-latest";
const VGA_BIOS: &str = "usr/share/vgabios/vgabios.bin";
const SHARED: &str = "usr/share/bochs";
const PLUGINS: &str = "usr/lib/x86_64-linux-gnu/bochs/plugins";
const TERMINFO: &str = "usr/lib/terminfo";

/// The text in Bochs' log when the guest powers the machine off. Bochs always exits with status 1.
pub const POWERED_OFF: &str = "ACPI control: soft power off";
/// The text in Bochs' log before the reason why Bochs ended.
const ENDED: &str = ">>PANIC<< ";

/// Bochs' packages, and the maker of the CD that it boots.
#[derive(Clone, Debug)]
pub struct Bochs {
    /// The folder of the packages' files.
    root: PathBuf,
    pub discs: DiscMaker,
}

/// Parts of the configuration that differ from launch to launch.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    pub memory_mib: u64,
    /// The image of the CD.
    pub disc: &'a [u8],
    /// The file of another CD, with a root file system.
    pub root: Option<&'a Path>,
    /// The path of the file to which the first serial port is written.
    pub console: &'a str,
    /// Whether Bochs' debugger records the executed instructions.
    pub is_recorded: bool,
}

impl Bochs {
    /// Finds Bochs and the maker of CDs in their sets.
    pub fn of(set: &Unpacked, discs: &Unpacked) -> Result<Self, MachineError> {
        Ok(Self {
            root: set.root.clone(),
            discs: DiscMaker::of(discs)?,
        })
    }

    /// The command that starts a machine, and the files that it inherits.
    pub fn command(
        &self,
        emulator: &Emulator,
        recipe: &Recipe,
        launch: &Launch<'_>,
    ) -> Result<(Command, Vec<Handed>), MachineError> {
        let disc = Inherited::of("a CD", launch.disc)?;
        let root = launch.root.map(File::open).transpose().map_err(|e| {
            MachineError::io(
                "read",
                launch.root.map(Path::to_owned).unwrap_or_default(),
                e,
            )
        })?;
        let mut settings = settings(recipe, launch, &disc.path());
        if let Some(root) = &root {
            settings += &second_disc(&format!("/dev/fd/{}", root.as_raw_fd()));
        }
        let settings = Inherited::of("Bochs' settings", settings.as_bytes())?;
        // Bochs' debugger, which Debian builds in, waits for a command: continue.
        let commands = match launch.is_recorded {
            true => debugger::commands(),
            false => b"c\n".to_vec(),
        };
        let debugger = Inherited::of("the debugger's commands", &commands)?;
        let arguments = ["-q", "-f", &settings.path(), "-rc", &debugger.path()];
        let arguments = emulator.with_leading(arguments.map(str::to_owned).to_vec());
        let mut command = Command::new(&emulator.program);
        command
            .args(arguments)
            .current_dir(&self.root)
            .env("BXSHARE", SHARED)
            .env("LTDL_LIBRARY_PATH", PLUGINS)
            .env("TERM", "dumb")
            .env("TERMINFO", TERMINFO);
        let mut files: Vec<Handed> = [disc, settings, debugger]
            .map(Inherited::into_handed)
            .into();
        files.extend(root.map(Handed::from));
        Ok((command, files))
    }
}

/// Bochs as an emulator: the version is that of the package, as Bochs prints it only with a whole machine.
pub fn emulator(set: &Unpacked, program: &str) -> Result<Emulator, MachineError> {
    let words: Vec<OsString> = set
        .program(program)
        .map_err(|e| MachineError::Other(e.to_string()))?;
    let package = set.packages().iter().find(|p| p.name == "bochs");
    let build = package.map(|package| package.version.clone());
    let build = build.unwrap_or_else(|| "unknown".into());
    // 2.7 of 2.7+dfsg-4.
    let end = build.find(|c: char| !c.is_ascii_digit() && c != '.');
    let version = build.get(..end.unwrap_or(build.len())).unwrap_or_default();
    Emulator::packaged("bochs", &words, version, &format!("Bochs {build}"))
}

/// The text of Bochs' configuration file. The output of the second serial port, the guest's Print, is dropped. The
/// display is the terminal library without a terminal: it opens no port.
fn settings(recipe: &Recipe, launch: &Launch<'_>, disc: &str) -> String {
    let emulator = &recipe.emulator;
    let (memory, console) = (launch.memory_mib, launch.console);
    let mut text = format!(
        "display_library: term\n\
         config_interface: textconfig\n\
         memory: guest={memory}, host={memory}\n\
         romimage: file={BIOS}\n\
         vgaromimage: file={VGA_BIOS}\n\
         sound: waveoutdrv=dummy, waveindrv=dummy, midioutdrv=dummy\n\
         plugin_ctrl: gameport=0, iodebug=0, parallel=0, speaker=0\n\
         pci: enabled=1, chipset={}\n\
         cpu: model={}, count={}\n\
         ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14\n\
         ata0-master: type=cdrom, path={disc}, status=inserted\n\
         boot: cdrom\n\
         com1: enabled=1, mode=file, dev={console}\n\
         com2: enabled=1, mode=null\n\
         log: /dev/fd/2\n\
         panic: action=fatal\n\
         error: action=ignore\n\
         info: action=ignore\n\
         debug: action=ignore\n",
        emulator.model(),
        emulator.cpu.model,
        emulator.cpus,
    );
    for property in emulator.cpu.all_properties() {
        let _ = writeln!(text, "cpu: {}", property.word);
    }
    for flag in &emulator.flags {
        let _ = writeln!(text, "{}", flag.words.join(" "));
    }
    if launch.is_recorded {
        text.push_str(debugger::SETTING);
    }
    text
}

/// The settings of a second CD.
fn second_disc(path: &str) -> String {
    format!(
        "ata1: enabled=1, ioaddr1=0x170, ioaddr2=0x370, irq=15\n\
         ata1-master: type=cdrom, path={path}, status=inserted\n"
    )
}

/// How Bochs ended, from its log.
pub fn how(log: &str) -> String {
    let reason = log.lines().rev().find_map(|line| line.split_once(ENDED));
    match reason {
        Some((_, why)) if why.contains(POWERED_OFF) => "the machine powered itself off".into(),
        Some((_, why)) => format!("Bochs stopped: {}", why.trim()),
        None => "Bochs ended without a reason in its log".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_s_settings_are_the_recipe_s() {
        let lab = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab");
        let lab = ws_lab::lab::Lab::open(&[lab.into()]).unwrap();
        let recipe = lab.recipe("kvm-intel", None).unwrap();
        let launch = Launch {
            memory_mib: 768,
            disc: b"",
            root: None,
            console: "/dev/fd/7",
            is_recorded: true,
        };
        let text = settings(&recipe, &launch, "/dev/fd/8");
        for line in [
            "memory: guest=768, host=768",
            "pci: enabled=1, chipset=i440fx",
            "cpu: model=corei7_skylake_x, count=1",
            "cpu: ips=1000000000",
            "ata0-master: type=cdrom, path=/dev/fd/8, status=inserted",
            "com1: enabled=1, mode=file, dev=/dev/fd/7",
            "clock: sync=none,rtc_sync=0,time0=1704067200",
            "magic_break: enabled=1",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} in {text}");
        }
        let plain = Launch {
            is_recorded: false,
            ..launch
        };
        assert!(!settings(&recipe, &plain, "/dev/fd/8").contains("magic_break"));
    }

    #[test]
    fn a_machine_of_two_cpus_has_them() {
        let lab = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab");
        let lab = ws_lab::lab::Lab::open(&[lab.into()]).unwrap();
        let recipe = lab.recipe("kvm-intel-smp", None).unwrap();
        let launch = Launch {
            memory_mib: 768,
            disc: b"",
            root: None,
            console: "/dev/fd/7",
            is_recorded: false,
        };
        let text = settings(&recipe, &launch, "/dev/fd/8");
        assert!(
            text.contains("cpu: model=corei7_skylake_x, count=2\n"),
            "{text}"
        );
    }

    #[test]
    fn a_root_file_system_is_a_second_cd() {
        assert_eq!(
            second_disc("/dev/fd/9"),
            "ata1: enabled=1, ioaddr1=0x170, ioaddr2=0x370, irq=15\n\
             ata1-master: type=cdrom, path=/dev/fd/9, status=inserted\n"
        );
    }

    #[test]
    fn the_end_is_told_from_the_log() {
        let off = "05553242897p[ACPI  ] >>PANIC<< ACPI control: soft power off\n=====\n";
        assert_eq!(how(off), "the machine powered itself off");
        let fault =
            "3295617054p[CPU0  ] >>PANIC<< exception(): 3rd (13) exception with no resolution";
        assert_eq!(
            how(fault),
            "Bochs stopped: exception(): 3rd (13) exception with no resolution"
        );
        assert!(how("").contains("without a reason"));
    }
}
