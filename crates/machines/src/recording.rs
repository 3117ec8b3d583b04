//! Recording of the instructions of an emulated machine: by a plugin of QEMU (`plugin/` in the source tree), or by
//! Bochs' debugger (`debugger.rs`).

use crate::emulator::Emulator;
use crate::machine::MachineError;
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use ws_lab::recipe::{EmulatorKind, Recipe};

/// The versions of QEMU's plugin interface for which there is a plugin, the likeliest first.
const VERSIONS: [u32; 3] = [3, 7, 1];

/// The version of Bochs whose debugger's output is known and whose clock counts each instruction.
const DEBUGGER: &str = "2.7";

/// The folder of the plugins, the file of a machine's trace, and the kind of trace.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The folder with `api-N.so`.
    pub plugins: PathBuf,
    /// The file of the trace, which is written when the machine ends. A machine that is launched twice overwrites it.
    pub file: PathBuf,
    /// The kind of recording.
    pub what: What,
}

/// The kind of a machine's recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The instructions between the guest's marks, as paths.
    Paths,
    /// Only the number of times that each instruction is executed between the marks.
    Counts {
        /// The addresses of a program whose reads of the clock are the marks, instead of the guest's.
        marks: Option<RangeInclusive<u64>>,
        /// The VM of an ARM machine that is part of its own software: Xen's dom0.
        own_vmid: Option<u16>,
        /// Places in the code, each with its level, between which the clock is read.
        points: Vec<(u8, u64)>,
    },
    /// The whole boot, in step with another machine.
    Boot {
        /// The Unix socket of the process that keeps both machines in step (`ws_explain::boots`).
        peer: PathBuf,
        /// The only CPU that is recorded; none if all are.
        cpu: Option<u32>,
    },
}

/// The recorder of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorder {
    /// QEMU's plugin, by these arguments of the emulator.
    Plugin(Vec<String>),
    /// Bochs' debugger, whose output goes to this file.
    Debugger(PathBuf),
}

impl Recording {
    /// Chooses the recorder of a recipe's machine on its emulator. An error says what to do instead.
    pub fn recorder(&self, recipe: &Recipe, emulator: &Emulator) -> Result<Recorder, MachineError> {
        let version = &emulator.version;
        match emulator.name {
            "bochs" if matches!(self.what, What::Counts { .. }) => Err(MachineError::Other(
                "Bochs' debugger prints each instruction, which is too much for whole workloads: choose a lab machine of QEMU".into(),
            )),
            "bochs" if self.what != What::Paths => Err(MachineError::Other(format!(
                "Bochs' debugger prints each instruction as a line, which is too much for a whole boot: compare one operation with worldswitch explain --diff lab:{0} lab:{0}@VERSION --bench BENCH, or choose two lab machines of QEMU",
                recipe.name
            ))),
            "bochs" if recipe.emulator.cpus > 1 => Err(MachineError::Other(
                "Bochs' clock counts no instructions on several CPUs: choose a lab machine with one".into(),
            )),
            "bochs" if version != DEBUGGER => Err(MachineError::Other(format!(
                "Bochs {version} can't be recorded, because its clock is not exact: choose the machine without +bochs=, which uses Bochs {DEBUGGER}"
            ))),
            "bochs" if hides_its_guest(recipe) => Err(MachineError::Other(format!(
                "Bochs' debugger does not find the memory of a guest under SVM's nested page tables: choose shadow page tables (+npt=0 of lab:{}), or lab:kvm",
                recipe.name
            ))),
            "bochs" => Ok(Recorder::Debugger(self.file.clone())),
            _ => self.arguments(emulator).map(Recorder::Plugin),
        }
    }

    /// QEMU's arguments for the first plugin that it takes.
    fn arguments(&self, emulator: &Emulator) -> Result<Vec<String>, MachineError> {
        let mut said = String::new();
        for version in VERSIONS {
            let plugin = self.plugins.join(format!("api-{version}.so"));
            match refusal(emulator, &plugin)? {
                None => return Ok(words(&plugin, &self.file, &self.what)),
                Some(why) => said = why,
            }
        }
        Err(MachineError::Other(format!(
            "QEMU {} rejects all plugins in {} (versions {VERSIONS:?}), so nothing can be recorded: leave out --qemu to use the lab's own. It said: {said}",
            emulator.version,
            self.plugins.display(),
        )))
    }
}

/// Whether no machine of the recipe can be recorded, because Bochs' debugger does not find the guest's memory.
pub fn hides_its_guest(recipe: &Recipe) -> bool {
    recipe.emulator.kind == EmulatorKind::Bochs && is_nested_paging(recipe)
}

/// Whether KVM uses SVM's nested paging, as it does unless it is told not to.
fn is_nested_paging(recipe: &Recipe) -> bool {
    let mut modules = recipe.kernel.iter().flat_map(|kernel| &kernel.modules);
    modules.any(|module| {
        let is_off = module.options.split(' ').any(|option| option == "npt=0");
        module.is("kvm-amd") && !is_off
    })
}

fn words(plugin: &Path, file: &Path, what: &What) -> Vec<String> {
    // QEMU reads a doubled comma as one.
    let path = |path: &Path| path.to_string_lossy().replace(',', ",,");
    let what = match what {
        What::Paths => String::new(),
        What::Counts {
            marks,
            own_vmid,
            points,
        } => {
            let marks = marks.as_ref().map_or(String::new(), |marks| {
                format!(",marks={:#x}-{:#x}", marks.start(), marks.end())
            });
            let own = own_vmid.map_or(String::new(), |vmid| format!(",own-vmid={vmid}"));
            let points = points
                .iter()
                .map(|(level, address)| format!(",point={level}-{address:#x}"));
            let points: String = points.collect();
            format!(",counts=on{marks}{own}{points}")
        }
        What::Boot { peer, cpu } => {
            let cpu = cpu.map_or(String::new(), |cpu| format!(",cpu={cpu}"));
            format!(",stream=on,peer={}{cpu}", path(peer))
        }
    };
    vec![
        "-plugin".into(),
        format!("file={},out={}{what}", path(plugin), path(file)),
    ]
}

/// Reason why the emulator does not take a plugin; none if it does. Starts it with an empty machine.
fn refusal(emulator: &Emulator, plugin: &Path) -> Result<Option<String>, MachineError> {
    let empty = [
        "-machine",
        "none",
        "-nodefaults",
        "-display",
        "none",
        "-accel",
        "tcg",
    ];
    let arguments = empty.map(str::to_owned).into_iter();
    let arguments = arguments
        .chain(["-monitor".to_owned(), "stdio".to_owned()])
        .chain(words(plugin, Path::new("/dev/null"), &What::Paths))
        .collect();
    let failed = |e| MachineError::io("start", &emulator.program, e);
    let mut child = Command::new(&emulator.program)
        .args(emulator.with_leading(arguments))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        // If it has ended already, its status says so.
        let _ = input.write_all(b"quit\n");
    }
    let output = child.wait_with_output().map_err(failed)?;
    let said = String::from_utf8_lossy(&output.stderr);
    Ok((!output.status.success()).then(|| said.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_paths_are_doubled() {
        assert_eq!(
            words(Path::new("/a,b/api-3.so"), Path::new("/c,d"), &What::Paths),
            ["-plugin", "file=/a,,b/api-3.so,out=/c,,d"]
        );
        let words = |what| words(Path::new("/a"), Path::new("/b"), &what)[1].clone();
        let mut counts = What::Counts {
            marks: None,
            own_vmid: None,
            points: Vec::new(),
        };
        assert_eq!(words(counts), "file=/a,out=/b,counts=on");
        counts = What::Counts {
            marks: Some(0x1000..=0x10ff),
            own_vmid: Some(1),
            points: vec![(0, 0x20), (1, 0x30)],
        };
        let said = "marks=0x1000-0x10ff,own-vmid=1,point=0-0x20,point=1-0x30";
        assert_eq!(words(counts), format!("file=/a,out=/b,counts=on,{said}"));
        let boot = |cpu| What::Boot {
            peer: "/p,q".into(),
            cpu,
        };
        let said = "file=/a,out=/b,stream=on,peer=/p,,q";
        assert_eq!(words(boot(None)), said);
        assert_eq!(words(boot(Some(1))), format!("{said},cpu=1"));
    }

    #[test]
    fn bochs_is_recorded_by_its_debugger_if_its_clock_is_exact() {
        let bochs = |version: &str| Emulator {
            name: "bochs",
            program: "bochs-bin".into(),
            leading: Vec::new(),
            version: version.into(),
            build: String::new(),
        };
        let recording = |what| Recording {
            plugins: "/plugins".into(),
            file: "/out".into(),
            what,
        };
        let lab = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab");
        let lab = ws_lab::lab::Lab::open(&[lab.into()]).unwrap();
        let recipe = lab.recipe("kvm-intel", None).unwrap();
        let recorder = |version, what| recording(what).recorder(&recipe, &bochs(version));
        let debugger = Recorder::Debugger("/out".into());
        assert_eq!(recorder("2.7", What::Paths).unwrap(), debugger);
        let newer = recorder("3.0", What::Paths).unwrap_err().to_string();
        assert!(newer.contains("Bochs 3.0 can't be recorded"), "{newer}");
        let several = lab.recipe("kvm-intel-smp", None).unwrap();
        let several = recording(What::Paths).recorder(&several, &bochs("3.0"));
        let several = several.unwrap_err().to_string();
        assert!(several.contains("several CPUs"), "{several}");
        let counts = What::Counts {
            marks: None,
            own_vmid: None,
            points: Vec::new(),
        };
        let counts = recorder("2.7", counts).unwrap_err().to_string();
        assert!(counts.contains("of QEMU"), "{counts}");
        let boot = What::Boot {
            peer: "/peer".into(),
            cpu: None,
        };
        let boot = recorder("2.7", boot).unwrap_err().to_string();
        assert!(boot.contains("explain --diff lab:kvm-intel "), "{boot}");
    }

    #[test]
    fn a_guest_behind_svm_s_nested_paging_is_not_recorded_on_bochs() {
        let lab = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab");
        let lab = ws_lab::lab::Lab::open(&[lab.into()]).unwrap();
        let hidden = |name| is_nested_paging(&lab.recipe(name, None).unwrap());
        assert!(hidden("kvm-amd") && !hidden("kvm-intel"));
        let shadow = lab.recipe("kvm-amd", None).unwrap();
        assert!(!is_nested_paging(&shadow.with_option("npt", "0").unwrap()));
    }

    /// A stand-in for an emulator that takes the plugin whose name has `taken` in it.
    fn emulator(folder: &Path, taken: &str) -> Emulator {
        use std::os::unix::fs::PermissionsExt;
        let program = folder.join("qemu");
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in *{taken}*) read quit; exit 0;; esac\necho 'wrong version' >&2\nexit 1\n"
        );
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        Emulator {
            name: "qemu",
            program,
            leading: Vec::new(),
            version: "9.9".into(),
            build: String::new(),
        }
    }

    #[test]
    fn the_emulator_is_asked_which_plugin_it_takes() {
        let folder = tempfile::tempdir().unwrap();
        let recording = Recording {
            plugins: "/plugins".into(),
            file: "/out".into(),
            what: What::Paths,
        };
        let taken = recording.arguments(&emulator(folder.path(), "api-1.so"));
        assert_eq!(taken.unwrap()[1], "file=/plugins/api-1.so,out=/out");
        let refused = recording.arguments(&emulator(folder.path(), "api-2.so"));
        let said = refused.unwrap_err().to_string();
        assert!(
            said.contains("QEMU 9.9") && said.contains("wrong version"),
            "{said}"
        );
    }
}
