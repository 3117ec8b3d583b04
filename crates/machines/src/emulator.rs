//! The emulator of a machine. Finds QEMU, and asks it for its version, its machines and CPUs, and whether it was built with
//! KVM.

use crate::machine::MachineError;
use crate::process::describe;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::{Mutex, PoisonError};
use ws_lab::recipe::Recipe;

/// The program's name in the search path.
pub const PROGRAM: &str = "qemu-system-x86_64";

/// The first major version that loads PVH images.
const MAJOR_MIN: u32 = 4;

/// An installed emulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emulator {
    /// `qemu` or `bochs`.
    pub name: &'static str,
    /// The program that is started.
    pub program: PathBuf,
    /// Arguments before all others: those of a loader, which name the emulator and its libraries.
    pub leading: Vec<String>,
    /// Version, as `7.2.22`.
    pub version: String,
    /// The first line of the output of `--version`, as `QEMU emulator version 7.2.22 (Debian ...)`.
    pub build: String,
}

impl Emulator {
    /// The emulator at `program`, or the one in the search path.
    pub fn find(program: Option<&Path>) -> Result<Self, MachineError> {
        let program = match program {
            Some(path) => path.to_owned(),
            None => in_search_path().ok_or_else(|| {
                MachineError::Other(format!(
                    "{PROGRAM} is not installed: run tools/setup, or apt-get install qemu-system-x86"
                ))
            })?,
        };
        Self::asked(program, Vec::new())
    }

    /// The emulator that `words` start: the program, then arguments before all others.
    pub fn started_by(words: &[OsString]) -> Result<Self, MachineError> {
        let (program, leading) = split(words)?;
        Self::asked(program, leading)
    }

    /// An emulator of a known version, which `words` start.
    pub fn packaged(
        name: &'static str,
        words: &[OsString],
        version: &str,
        build: &str,
    ) -> Result<Self, MachineError> {
        let (program, leading) = split(words)?;
        Ok(Self {
            name,
            program,
            leading,
            version: version.to_owned(),
            build: build.to_owned(),
        })
    }

    /// Makes an emulator of a program, which is asked for its version.
    fn asked(program: PathBuf, leading: Vec<String>) -> Result<Self, MachineError> {
        let answer = answer(&program, &leading, &["--version"])?;
        let text = answer.text.lines().next().unwrap_or_default();
        let build = text.trim().to_owned();
        let version = parse_version(&build).filter(|_| answer.is_success);
        let Some((version, major)) = version else {
            return Err(MachineError::Other(format!(
                "{} --version does not print a version of QEMU: name another program with --qemu PATH",
                program.display()
            )));
        };
        if major < MAJOR_MIN {
            return Err(MachineError::Other(format!(
                "{} is QEMU {version}, but {MAJOR_MIN}.0 or newer is needed: install a newer one, or name one with --qemu PATH",
                program.display()
            )));
        }
        Ok(Self {
            name: "qemu",
            program,
            leading,
            version,
            build,
        })
    }

    /// All arguments of a launch: the leading ones and `arguments`.
    pub fn with_leading(&self, arguments: Vec<String>) -> Vec<String> {
        self.leading.iter().cloned().chain(arguments).collect()
    }

    /// The words of the emulator's answer to an option such as `-accel help`.
    fn words(&self, question: [&str; 2]) -> Result<Vec<String>, MachineError> {
        let answer = answer(&self.program, &self.leading, &question)?;
        let words = answer.text.split_whitespace();
        Ok(words.map(str::to_owned).collect())
    }

    /// Checks that the emulator can run a recipe's machine: that it has the machine model and the CPU, and is new
    /// enough.
    pub fn suits(&self, recipe: &Recipe) -> Result<(), MachineError> {
        let lacks = |what: String| {
            // The program of the lab's own emulator is a loader, so its path would not help.
            let program = match self.leading.is_empty() {
                true => self.program.display().to_string(),
                false => format!("the lab's {}", recipe.emulator.program),
            };
            Err(MachineError::Other(format!(
                "{program} is QEMU {} and {what}: lab:{} needs another {}: name one with --qemu PATH, or leave out --qemu to use the lab's own",
                self.version, recipe.name, recipe.emulator.program
            )))
        };
        let emulator = &recipe.emulator;
        for (option, name) in [
            ("-machine", emulator.model()),
            ("-cpu", &emulator.cpu.model),
        ] {
            if !self
                .words([option, "help"])?
                .iter()
                .any(|word| word == name)
            {
                return lacks(format!("has no {option} {name}"));
            }
        }
        match &recipe.emulator.since {
            Some(since) if !since.is_met_by(&self.version) => lacks(format!(
                "is older than {}, the first version with {}",
                since.version, since.why
            )),
            _ => Ok(()),
        }
    }

    /// Checks that the emulator was built with KVM.
    pub fn needs_kvm(&self) -> Result<(), MachineError> {
        if self
            .words(["-accel", "help"])?
            .iter()
            .any(|word| word == "kvm")
        {
            return Ok(());
        }
        Err(MachineError::Other(format!(
            "{} was built without KVM: name another with --qemu PATH",
            self.program.display()
        )))
    }
}

/// Answer of a program: its standard output, and whether it succeeded.
#[derive(Clone)]
struct Answer {
    is_success: bool,
    text: String,
}

/// Words that start the program, and the identity of its file: device, inode, size, time of its last change.
type Question = (Vec<OsString>, Option<(u64, u64, u64, i64, i64)>);

/// Starts a program with a question, and returns its answer. Each question is asked once: many machines share an
/// emulator, and each start costs 20 ms.
fn answer(program: &Path, leading: &[String], question: &[&str]) -> Result<Answer, MachineError> {
    static ANSWERS: Mutex<BTreeMap<Question, Answer>> = Mutex::new(BTreeMap::new());
    let mut words = vec![program.as_os_str().to_owned()];
    words.extend(leading.iter().map(OsString::from));
    words.extend(question.iter().map(OsString::from));
    let file = fs::metadata(program).ok();
    let file = file.map(|f| (f.dev(), f.ino(), f.size(), f.mtime(), f.mtime_nsec()));
    let key = (words, file);
    let known = ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(answer) = known.get(&key) {
        return Ok(answer.clone());
    }
    drop(known);
    let (_, words) = key.0.split_at(1);
    let output = Command::new(program).args(words).output();
    let output = output.map_err(|e| MachineError::io("start", program, e))?;
    let answer = Answer {
        is_success: output.status.success(),
        text: String::from_utf8_lossy(&output.stdout).into_owned(),
    };
    let mut known = ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
    known.insert(key, answer.clone());
    Ok(answer)
}

/// Splits the words that start a program into the program and the arguments before all others.
fn split(words: &[OsString]) -> Result<(PathBuf, Vec<String>), MachineError> {
    let text = |word: &OsString| {
        word.to_str().map(str::to_owned).ok_or_else(|| {
            MachineError::Other(format!(
                "the path of the lab's emulator is not UTF-8: {}: choose another cache with --cache DIR",
                word.to_string_lossy()
            ))
        })
    };
    let (program, leading) = words
        .split_first()
        .ok_or_else(|| MachineError::Other("the lab's emulator has no program to start".into()))?;
    let leading = leading.iter().map(text).collect::<Result<_, _>>()?;
    Ok((PathBuf::from(program), leading))
}

fn in_search_path() -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths)
        .map(|folder| folder.join(PROGRAM))
        .find(|path| path.is_file())
}

/// The version and its first number, from QEMU's first line.
fn parse_version(line: &str) -> Option<(String, u32)> {
    let rest = line.strip_prefix("QEMU emulator version ")?;
    let version = rest.split([' ', '(']).next()?.to_owned();
    let major = version.split('.').next()?.parse().ok()?;
    Some((version, major))
}

/// The meaning of exit status 0: with `-no-reboot` QEMU exits with it both after a reset and after
/// a power-off.
pub const RESET_OR_OFF: &str =
    "the machine reset itself, as after a triple fault, or powered itself off";

/// The meaning of an exit status.
pub fn how(status: ExitStatus) -> String {
    if status.success() {
        RESET_OR_OFF.into()
    } else {
        describe(status)
    }
}

/// Checks that the guest image can be read and named on the command line.
pub fn check_guest(guest: &Path) -> Result<(), MachineError> {
    if guest.to_str().is_none() {
        return Err(MachineError::Other(format!(
            "the path of the guest image is not UTF-8: {}",
            guest.display()
        )));
    }
    File::open(guest).map_err(|e| MachineError::io("read the guest image", guest, e))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        let read = |line| parse_version(line).map(|(version, _)| version);
        assert_eq!(
            read("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)").as_deref(),
            Some("7.2.22")
        );
        assert_eq!(
            read("QEMU emulator version 11.1.0").as_deref(),
            Some("11.1.0")
        );
        assert_eq!(read("bochs 3"), None);
        assert_eq!(read("QEMU emulator version x"), None);
    }

    /// Makes a fake QEMU of this version with one machine and one CPU; each start adds a line to `qemu.starts`.
    fn make(folder: &Path, version: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = folder.join("qemu");
        let script = format!(
            "#!/bin/sh\necho $1 >>$0.starts\ncase $1 in\n--version) echo QEMU emulator version {version} ;;\n-machine) echo 'virt  a machine' ;;\n-cpu) echo '  max' ;;\nesac\n"
        );
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn fake(folder: &Path, version: &str) -> Emulator {
        Emulator::find(Some(&make(folder, version))).unwrap()
    }

    #[test]
    fn what_a_recipe_needs_and_this_one_lacks_is_said_with_the_cure() {
        let lab = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab");
        let lab = ws_lab::lab::Lab::open(&[lab.into()]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let nested = lab.recipe("kvm-nested", None).unwrap();
        assert!(fake(folder.path(), "9.0.0").suits(&nested).is_ok());
        let old = fake(folder.path(), "7.2.22");
        let error = old.suits(&nested).unwrap_err().to_string();
        assert!(error.contains("older than 9.0"), "{error}");
        assert!(
            error.contains("FEAT_NV2") && error.contains("--qemu PATH"),
            "{error}"
        );
        let vhe = lab.recipe("kvm-vhe", None).unwrap();
        let error = old.suits(&vhe).unwrap_err().to_string();
        assert!(error.contains("has no -cpu neoverse-n1"), "{error}");
        let x86 = lab.recipe("kvm", None).unwrap();
        let error = old.suits(&x86).unwrap_err().to_string();
        assert!(error.contains("has no -machine pc"), "{error}");
        assert!(error.contains("qemu-system-x86_64"), "{error}");
    }

    #[test]
    fn a_question_is_asked_once_and_again_of_a_program_that_was_exchanged() {
        let lab = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab");
        let lab = ws_lab::lab::Lab::open(&[lab.into()]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let nested = lab.recipe("kvm-nested", None).unwrap();
        for (version, starts) in [("9.0.0", 3), ("10.0.13", 6)] {
            let program = make(folder.path(), version);
            for _ in 0..3 {
                let qemu = Emulator::find(Some(&program)).unwrap();
                assert_eq!(qemu.version, version);
                qemu.suits(&nested).unwrap();
            }
            let log = fs::read_to_string(folder.path().join("qemu.starts")).unwrap();
            assert_eq!(log.lines().count(), starts);
        }
    }

    #[test]
    fn a_program_that_is_not_qemu_is_refused_with_the_cure() {
        let error = Emulator::find(Some(Path::new("/bin/true"))).unwrap_err();
        assert!(error.to_string().contains("--qemu PATH"));
        let error = Emulator::find(Some(Path::new("/nonexistent"))).unwrap_err();
        assert!(error.to_string().contains("can't start /nonexistent"));
    }
}
