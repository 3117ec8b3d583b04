//! The two sides of a test: results, kernels, versions, commits or monitors.

use crate::{Asked, Side};
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use ws_kernels::booted;
use ws_kernels::built::Kernels;
use ws_kernels::tree::{Commit, Tree};
use ws_lab::kernel::Kernel;
use ws_machines::name::{PlatformName, parse_list};
use ws_machines::resources::Resources;
use ws_results::ResultFile;
use ws_runner::Session;
use ws_runner::parts::{self, Parts};
use ws_terminal::{Progress, Usage, output, time};

/// The machines of a test that names none.
const MACHINES: &str = "lab:kvm-amd,lab:kvm-intel";

/// Returns the named machines, else the usual ones.
pub fn machines(on: &[PlatformName]) -> anyhow::Result<Vec<PlatformName>> {
    Ok(match on.is_empty() {
        true => parse_list(MACHINES)?,
        false => on.to_vec(),
    })
}

/// Kind of a side.
enum Word {
    Results(Vec<ResultFile>),
    /// A folder or file with a kernel.
    Kernel(PathBuf),
    /// A kernel of the lab.
    Version,
    Commit,
    Monitor(PathBuf),
}

/// The sides before they are made, and the machines.
pub struct Sides {
    /// Machines without a variant: a side is one.
    pub machines: Vec<PlatformName>,
    words: [Word; 2],
}

/// A side that can be measured, or is.
#[derive(Default)]
pub struct Made {
    pub side: Side,
    /// Variant of the machine; None for results and monitors.
    variant: Option<String>,
    pub results: Option<Vec<ResultFile>>,
    pub monitor: Option<PathBuf>,
    /// Folder with debug information.
    pub debug: Option<PathBuf>,
    /// The commit of the kernel.
    pub commit: Option<Commit>,
}

impl Made {
    /// Parts of this side's machines.
    pub fn parts(&self, asked: &Asked) -> Parts {
        let mut parts = asked.parts.clone();
        if let Some(monitor) = &self.monitor {
            parts.vmm = Some(monitor.clone());
        }
        parts
    }

    /// Name of this side of a machine.
    pub fn name(&self, machine: &PlatformName) -> PlatformName {
        PlatformName {
            variant: self.variant.clone(),
            ..machine.clone()
        }
    }
}

/// The machine of a side: its name without the variant.
pub fn without_variant(name: &PlatformName) -> PlatformName {
    PlatformName {
        variant: None,
        ..name.clone()
    }
}

impl Sides {
    /// Finds the kind of each side.
    ///
    /// # Errors
    /// Wrong usage: they are nothing that can be compared, or a machine has no kernel to change.
    pub fn of(asked: &Asked) -> anyhow::Result<Self> {
        let resources = parts::resources(&asked.parts);
        let mut machines = machines(&asked.on)?;
        let [base, head] = &asked.sides;
        let of = |name| word(name, asked.monitor, &machines, &resources);
        let words = [of(base)?, of(head)?];
        // Results say themselves on which machines they were measured.
        let measured = words.iter().find_map(|word| match word {
            Word::Results(results) => Some(results),
            _ => None,
        });
        if let (Some(results), true) = (measured, asked.on.is_empty()) {
            machines.clear();
            for result in results {
                let name: PlatformName = result
                    .platform
                    .parse()
                    .with_context(|| result.platform.clone())?;
                let name = without_variant(&name);
                if !machines.contains(&name) {
                    machines.push(name);
                }
            }
        }
        if words.iter().any(|word| !matches!(word, Word::Results(_))) {
            for name in &machines {
                booted(name, &resources)?;
            }
        }
        Ok(Self { machines, words })
    }

    /// Builds what is to be built. The folder gets the logs of builds.
    ///
    /// # Errors
    /// A commit can't be built, or the user stopped it.
    pub fn make(
        &self,
        asked: &Asked,
        folder: &Path,
        session: &Session,
    ) -> anyhow::Result<[Made; 2]> {
        // One worktree builds both sides. The first commit opens it.
        let mut kernels = None;
        let mut make = |word: &Word, name: &str| -> anyhow::Result<Made> {
            let mut made = Made::default();
            name.clone_into(&mut made.side.name);
            match word {
                Word::Results(results) => made.results = Some(results.clone()),
                Word::Monitor(path) => made.monitor = Some(path.clone()),
                Word::Version => made.variant = Some(name.to_owned()),
                Word::Kernel(path) => {
                    made.debug = Some(path.clone()).filter(|path| has_debug(path));
                    made.variant = Some(utf8(path)?);
                }
                Word::Commit => {
                    let kernels = match &mut kernels {
                        Some(kernels) => kernels,
                        kernels => kernels.insert(open(asked, session)?),
                    };
                    build(kernels, name, &mut made, folder, session)?;
                }
            }
            Ok(made)
        };
        let ([base, head], [a, b]) = (&self.words, &asked.sides);
        let (base, head) = (make(base, a)?, make(head, b)?);
        if base.variant.is_some() && base.variant == head.variant {
            return Err(usage(format!("{a} and {b} are the same kernel")));
        }
        Ok([base, head])
    }
}

/// Opens the repository whose commits are built.
fn open(asked: &Asked, session: &Session) -> anyhow::Result<Kernels> {
    let resources = parts::resources(&asked.parts);
    let tree = Tree::keep(&asked.kernel_tree, resources.store()?.root(), &session.stop)?;
    let config = parts::kernel_config(&asked.parts.lab)?;
    Kernels::new(tree, &config, asked.build.clone())
}

/// Builds a commit. The folder gets the log.
fn build(
    kernels: &Kernels,
    name: &str,
    made: &mut Made,
    folder: &Path,
    session: &Session,
) -> anyhow::Result<()> {
    let commit = kernels.commit(name)?;
    let short = commit.short();
    let log = folder.join(format!("build-{short}.log"));
    say(&format!("{name}: building {short}: {}", commit.subject));
    let built = kernels.build(&commit, &log, &session.stop, &Progress::new(false))?;
    let built = match built {
        Ok(built) => built,
        Err(why) => bail!("{name}: {why} (the whole output is in {})", log.display()),
    };
    say(&match built.took {
        Some(took) => format!("{name}: built in {}", time::short(took)),
        None => format!("{name}: was built before"),
    });
    made.side.about = Some(match commit.id.starts_with(name) {
        true => commit.subject.clone(),
        false => format!("{short}: {}", commit.subject),
    });
    if commit.id == name {
        short.clone_into(&mut made.side.name);
    }
    made.variant = Some(utf8(&built.kernel)?);
    made.debug = built.debug.filter(|folder| has_debug(folder));
    made.commit = Some(commit);
    Ok(())
}

/// Prints progress.
fn say(line: &str) {
    output::progress("test", line);
}

fn utf8(path: &Path) -> anyhow::Result<String> {
    let path = std::path::absolute(path)?;
    let text = path.to_str();
    Ok(text
        .with_context(|| format!("{} is not UTF-8", path.display()))?
        .to_owned())
}

/// Finds the kind of a side. A file or folder goes before a version, and a version before a commit.
fn word(
    name: &str,
    is_monitor: bool,
    machines: &[PlatformName],
    resources: &Resources,
) -> anyhow::Result<Word> {
    let path = Path::new(name);
    if is_monitor {
        return match path.is_file() {
            true => Ok(Word::Monitor(path.to_owned())),
            false => Err(usage(format!("--monitor: there is no program {name}"))),
        };
    }
    let before_platform = name.split_once(':').map(|(path, _)| Path::new(path));
    if path.exists() || before_platform.is_some_and(Path::exists) {
        let results = ws_results::load(name);
        if let Ok(results) = results {
            return Ok(Word::Results(results));
        }
        return match Kernel::at(path) {
            Ok(_) => Ok(Word::Kernel(path.to_owned())),
            Err(why) => Err(usage(format!(
                "{name} has neither results of an earlier run nor a kernel ({why}); for a commit of this name write refs/heads/{name}"
            ))),
        };
    }
    let lab = resources.lab()?;
    let has = |machine: &PlatformName| lab.recipe(&machine.name, Some(name)).is_ok();
    Ok(match machines.iter().all(has) {
        true => Word::Version,
        false => Word::Commit,
    })
}

/// Bytes at the end of an ELF file in which the names of its sections stand, of a vmlinux.
const NAMES_BYTES: u64 = 1 << 20;

/// Whether a folder, such as a build tree, has a vmlinux with debug information.
fn has_debug(folder: &Path) -> bool {
    use std::io::{Read, Seek, SeekFrom};
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(folder.join("vmlinux"))?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(NAMES_BYTES)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    const NAME: &[u8] = b".debug_info\0";
    read().is_ok_and(|bytes| bytes.windows(NAME.len()).any(|at| at == NAME))
}

/// Wrong usage of a side.
fn usage(text: String) -> anyhow::Error {
    Usage(text).into()
}
