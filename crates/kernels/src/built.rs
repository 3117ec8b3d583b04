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
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use ws_terminal::{Progress, Stop};

/// Number of kernels that are kept, the newest of a repository.
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
pub struct Kernels<'a> {
    tree: &'a Tree,
    builder: Builder,
    /// Identity of configuration, build command and compiler.
    how: String,
}

impl<'a> Kernels<'a> {
    /// Kernels of this configuration (a file) and of the user's build command, or the default one.
    ///
    /// # Errors
    /// The configuration can't be read, or not be written into the cache.
    pub fn new(tree: &'a Tree, config: &Path, command: Option<String>) -> anyhow::Result<Self> {
        let text = fs::read_to_string(config)
            .with_context(|| format!("can't read {}", config.display()))?;
        let text = text + DEBUG_CONFIG;
        let path = tree.built().join("config");
        fs::write(&path, &text).with_context(|| format!("can't write {}", path.display()))?;
        let parts = [&text, command.as_deref().unwrap_or_default(), &compiler()];
        Ok(Self {
            tree,
            how: short_hash(parts.map(|part| format!("{part}\0")), 12),
            builder: Builder {
                command,
                config: path,
                debug: Some(tree.built().join("debug")),
            },
        })
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
            return Ok(Ok(built(None)));
        }
        // Another commit's may be there, of a build that was stopped.
        let debug = self.tree.built().join("debug");
        let _ = fs::remove_dir_all(&debug);
        self.tree.check_out(commit)?;
        let took = match self.builder.build(self.tree, commit, log, stop, progress)? {
            Ok(took) => took,
            Err(why) => return Ok(Err(why)),
        };
        self.keep(&folder, &debug)
            .with_context(|| format!("can't keep the kernel in {}", folder.display()))?;
        Ok(Ok(built(Some(took))))
    }

    /// Moves what was built to its place, which is there only if it is whole, and removes the oldest kernels.
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
        let mut kept = Vec::new();
        for entry in fs::read_dir(self.tree.built())? {
            let entry = entry?;
            if entry.path().join("kernel").is_dir() {
                kept.push((entry.metadata()?.modified()?, entry.path()));
            }
        }
        kept.sort();
        let oldest = kept.len().saturating_sub(KEPT);
        for (_, path) in kept.into_iter().take(oldest) {
            fs::remove_dir_all(path)?;
        }
        Ok(())
    }
}

/// Version of the compiler: kernels of another one have other code.
fn compiler() -> String {
    let said = Command::new("gcc").arg("--version").output();
    said.map_or(String::new(), |said| {
        String::from_utf8_lossy(&said.stdout)
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()
    })
}
