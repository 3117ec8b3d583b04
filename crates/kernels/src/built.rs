//! Kernels of commits that are built once and kept, with debug information.
//!
//! ```text
//! built/COMMIT-HOW/     how: the configuration, the build command and the compiler
//!     kernel/           the kernel and its modules, without debug information
//!     debug/            vmlinux and KVM's modules with it, of the default build command
//! ```

use crate::build::{Builder, DEBUG_CONFIG};
use crate::short_hash::short_hash;
use crate::tree::{Commit, Tree};
use anyhow::Context;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};
use ws_terminal::{Progress, Stop};

/// Number of a repository's kernels that are kept: those that were used last.
const KEPT: usize = 16;

/// A built kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// Folder of the kernel and its modules.
    pub kernel: PathBuf,
    /// Folder with debug information, if there is some.
    pub debug: Option<PathBuf>,
    /// Time that the build took; None: the kernel was there.
    pub took: Option<Duration>,
}

/// Builds kernels of commits in a kept worktree.
pub struct Kernels {
    tree: Tree,
    builder: Builder,
    /// Identity of configuration, build command and compiler.
    how: String,
}

impl Kernels {
    /// Kernels of this configuration (a file) and of the user's build command, or the default one.
    ///
    /// # Errors
    /// The configuration can't be read, or not be written into the cache.
    pub fn new(tree: Tree, config: &Path, command: Option<String>) -> anyhow::Result<Self> {
        let text = fs::read_to_string(config)
            .with_context(|| format!("can't read {}", config.display()))?;
        let text = text + DEBUG_CONFIG;
        fs::create_dir_all(tree.built())
            .with_context(|| format!("can't make {}", tree.built().display()))?;
        let path = tree.built().join("config");
        fs::write(&path, &text).with_context(|| format!("can't write {}", path.display()))?;
        let builder = Builder {
            command,
            config: path,
            debug: Some(tree.built().join("debug")),
        };
        let parts = [options(&text), builder.script(), compiler()];
        Ok(Self {
            how: short_hash(parts.map(|part| format!("{part}\0")), 12),
            builder,
            tree,
        })
    }

    /// Finds the commit that the user names.
    pub fn commit(&self, name: &str) -> anyhow::Result<Commit> {
        self.tree.commit(name)
    }

    /// Builds the kernel of a commit, unless it was built before. Returns (`Ok(Err)`) the reason if its build failed.
    ///
    /// # Errors
    /// Git fails, the build can't be started, the cache can't be written, or the user stopped it.
    pub fn build(
        &self,
        commit: &Commit,
        log: &Path,
        stop: &Stop,
        progress: &Progress,
    ) -> anyhow::Result<Result<Built, String>> {
        let folder = self
            .tree
            .built()
            .join(format!("{}-{}", commit.short(), self.how));
        let built = |took| Built {
            kernel: folder.join("kernel"),
            debug: Some(folder.join("debug")).filter(|path| path.is_dir()),
            took,
        };
        if folder.is_dir() {
            used(&folder).with_context(|| format!("can't use {}", folder.display()))?;
            return Ok(Ok(built(None)));
        }
        // Another commit's may be there, of a build that was stopped.
        let debug = self.tree.built().join("debug");
        let _ = fs::remove_dir_all(&debug);
        self.tree.check_out(commit)?;
        let took = match self
            .builder
            .build(&self.tree, commit, log, stop, progress)?
        {
            Ok(took) => took,
            Err(why) => return Ok(Err(why)),
        };
        self.keep(&folder, &debug)
            .with_context(|| format!("can't keep the kernel in {}", folder.display()))?;
        Ok(Ok(built(Some(took))))
    }

    /// Moves what was built to its place, which is there only if it is whole, and removes the kernels that were used least.
    fn keep(&self, folder: &Path, debug: &Path) -> std::io::Result<()> {
        let new = self.tree.built().join("new");
        let _ = fs::remove_dir_all(&new);
        fs::create_dir(&new)?;
        fs::rename(self.tree.out(), new.join("kernel"))?;
        fs::create_dir(self.tree.out())?;
        if debug.is_dir() {
            fs::rename(debug, new.join("debug"))?;
        }
        fs::rename(new, folder)?;
        used(folder)?;
        evict(&self.tree.built(), KEPT)
    }
}

/// Notes that a kernel is used now.
fn used(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.set_modified(SystemTime::now())
}

/// Removes kernels but the `most` that were used last.
fn evict(built: &Path, most: usize) -> std::io::Result<()> {
    let mut kept = Vec::new();
    for entry in fs::read_dir(built)? {
        let entry = entry?;
        if entry.path().join("kernel").is_dir() {
            kept.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    kept.sort();
    let least = kept.len().saturating_sub(most);
    for (_, path) in kept.into_iter().take(least) {
        fs::remove_dir_all(path)?;
    }
    Ok(())
}

/// The lines of a configuration that name an option, also `# CONFIG_X is not set`. Other comments change no kernel.
fn options(config: &str) -> String {
    let lines = config.lines();
    let lines = lines.filter(|line| line.trim_start_matches("# ").starts_with("CONFIG_"));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Version of the compiler: kernels of another one have other code. The environment may choose it.
fn compiler() -> String {
    let said = Command::new("sh").args(["-c", VERSION]).output();
    said.map_or(String::new(), |said| {
        String::from_utf8_lossy(&said.stdout).into_owned()
    })
}

/// Prints the compiler that the kernel's makefiles take.
const VERSION: &str = r#"echo "$LLVM $CROSS_COMPILE"; if [ -n "$LLVM" ]; then clang --version; else "${CROSS_COMPILE}gcc" --version; fi"#;

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn comments_of_a_configuration_are_no_part_of_its_identity() {
        let one = "# All.\n\nCONFIG_A=y\n# CONFIG_B is not set\n";
        let other = "CONFIG_A=y\n# Why.\n# CONFIG_B is not set\n";
        assert_eq!(options(one), options(other));
        assert_ne!(options(one), options(&one.replace("A=y", "A=m")));
        assert_ne!(options(one), options(&one.replace("_B is", "_C is")));
    }

    #[test]
    fn the_kernels_that_were_used_last_are_kept() {
        let built = tempfile::tempdir().unwrap();
        let at = |name: &str| built.path().join(name);
        for (age, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
            fs::create_dir_all(at(name).join("kernel")).unwrap();
            let before = SystemTime::now() - Duration::from_secs(100 * (age as u64 + 1));
            File::open(at(name)).unwrap().set_modified(before).unwrap();
        }
        // No kernels.
        fs::create_dir(at("debug")).unwrap();
        fs::write(at("config"), "").unwrap();
        used(&at("d")).unwrap();
        evict(built.path(), 2).unwrap();
        let left = ["a", "b", "c", "d", "debug", "config"].map(|name| at(name).exists());
        assert_eq!(left, [true, false, false, true, true, true]);
    }
}
