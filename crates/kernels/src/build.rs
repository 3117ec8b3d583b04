//! Builds the kernel of the commit that is checked out.

use crate::child;
use crate::tree::{Commit, Tree};
use anyhow::Context;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};
use ws_lab::kernel::Kernel;
use ws_machines::process::describe;
use ws_terminal::{Progress, Stop, time};

/// The default build command. Options that the configuration file does not name are off.
const DEFAULT: &str = r#"set -e
set --
[ -n "$LLVM" ] || ! command -v ccache >/dev/null || set -- CC="ccache ${CROSS_COMPILE}gcc"
make -s "$@" O="$WORLDSWITCH_OBJECTS" KCONFIG_ALLCONFIG="$WORLDSWITCH_CONFIG" allnoconfig
make -s "$@" O="$WORLDSWITCH_OBJECTS" -j"$WORLDSWITCH_JOBS" bzImage modules
make -s "$@" O="$WORLDSWITCH_OBJECTS" INSTALL_MOD_PATH="$WORLDSWITCH_OUT" INSTALL_MOD_STRIP=1 DEPMOD=true modules_install
cp "$WORLDSWITCH_OBJECTS/arch/x86/boot/bzImage" "$WORLDSWITCH_OUT"
"#;

/// The files with debug information, by which functions have lines: the default build command's only.
const DEBUG: &str = r#"mkdir -p "$WORLDSWITCH_DEBUG"
cp "$WORLDSWITCH_OBJECTS/vmlinux" "$WORLDSWITCH_DEBUG"
find "$WORLDSWITCH_OBJECTS/arch" "$WORLDSWITCH_OBJECTS/virt" -name 'kvm*.ko' -exec cp {} "$WORLDSWITCH_DEBUG" \;
"#;

/// Configuration that adds debug information. No instruction changes. CONFIG_DEBUG_INFO is an option of its own before
/// Linux 5.18.
pub(crate) const DEBUG_CONFIG: &str = "\
CONFIG_DEBUG_KERNEL=y
# CONFIG_DEBUG_MISC is not set
CONFIG_DEBUG_INFO=y
CONFIG_DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT=y
";

/// Environment of a reproducible build (Linux, Documentation/kbuild/reproducible-builds.rst): the same sources give the
/// same bytes. So a commit that does not change the kernel needs no boot, and build dates do not change counts.
const REPRODUCIBLE: [(&str, &str); 5] = [
    ("KBUILD_BUILD_TIMESTAMP", "1970-01-01"),
    ("KBUILD_BUILD_USER", "lab"),
    ("KBUILD_BUILD_HOST", "lab"),
    ("KBUILD_BUILD_VERSION", "1"),
    // Set but empty: no plus sign after versions without a tag.
    ("LOCALVERSION", ""),
];

/// Variables that a calling make passes to its children, and that would change the build.
const MAKE: [&str; 4] = ["MAKEFLAGS", "MFLAGS", "MAKELEVEL", "KBUILD_OUTPUT"];

/// The command and the configuration of builds.
pub struct Builder {
    /// The user's shell command.
    pub command: Option<String>,
    /// The lab's small configuration.
    pub config: PathBuf,
    /// Folder for files with debug information, which the default command makes; None: none are made.
    pub debug: Option<PathBuf>,
}

impl Builder {
    /// Returns the shell script that builds a kernel.
    pub(crate) fn script(&self) -> String {
        match (&self.command, &self.debug) {
            (Some(command), _) => command.clone(),
            (None, None) => DEFAULT.to_owned(),
            (None, Some(_)) => format!("{DEFAULT}{DEBUG}"),
        }
    }

    /// Builds the kernel of `commit` into the tree's `out`, and writes the build's output to `log`. Returns the time
    /// that the build took, or (`Ok(Err)`) the reason why it failed.
    ///
    /// # Errors
    /// The build can't be started, or the user stopped it.
    pub fn build(
        &self,
        tree: &Tree,
        commit: &Commit,
        log: &Path,
        stop: &Stop,
        progress: &Progress,
    ) -> anyhow::Result<Result<Duration, String>> {
        let out = tree.out();
        // The kernel of another commit must not be taken for this commit's.
        fs::remove_dir_all(&out)
            .and_then(|()| fs::create_dir(&out))
            .with_context(|| format!("can't empty {}", out.display()))?;
        let file = File::create(log).with_context(|| format!("can't write {}", log.display()))?;
        let mut command = Command::new("sh");
        if let Some(folder) = &self.debug {
            command.env("WORLDSWITCH_DEBUG", folder);
        }
        let text = self.script();
        command
            .args(["-c", &format!("exec 2>&1\ntrap 'exit 143' TERM\n{text}")])
            .current_dir(tree.path())
            .env("WORLDSWITCH_OUT", &out)
            .env("WORLDSWITCH_OBJECTS", tree.objects())
            .env("WORLDSWITCH_CONFIG", &self.config)
            .env("WORLDSWITCH_COMMIT", &commit.id);
        let jobs = thread::available_parallelism().map_or(1, usize::from);
        command.env("WORLDSWITCH_JOBS", jobs.to_string());
        command.envs(REPRODUCIBLE);
        for name in MAKE {
            command.env_remove(name);
        }
        let started = Instant::now();
        let mut watch = || {
            let spent = || {
                format!(
                    " {}: building, {}",
                    commit.short(),
                    time::short(started.elapsed())
                )
            };
            progress.show("build", spent, None);
        };
        let ended = child::run_into(command, file, Some(stop), &mut watch)?;
        progress.clear();
        if !ended.status.success() {
            let how = describe(ended.status);
            return Ok(Err(format!("its build failed ({how}): {}", last_line(log))));
        }
        Ok(Kernel::at(&out)
            .map(|_| started.elapsed())
            .map_err(|why| format!("its build made no kernel: {why}")))
    }
}

/// The last line of a log, which usually contains the error.
fn last_line(log: &Path) -> String {
    const END: u64 = 4096;
    let mut bytes = Vec::new();
    let read = File::open(log).and_then(|mut file| {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(END)))?;
        file.read_to_end(&mut bytes)
    });
    let text = String::from_utf8_lossy(&bytes);
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    match (read, last) {
        (Ok(_), Some(line)) => line.trim().chars().take(160).collect(),
        _ => "it printed nothing".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_that_is_not_blank_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let of = |text: &[u8]| {
            fs::write(&log, text).unwrap();
            last_line(&log)
        };
        assert_eq!(of(b"a\n  error: b\n\n"), "error: b");
        assert_eq!(of(b""), "it printed nothing");
        assert_eq!(of(&[b'x'; 9000]).len(), 160);
        assert_eq!(of(b"a\n\xff").chars().count(), 1);
        fs::remove_file(&log).unwrap();
        assert_eq!(last_line(&log), "it printed nothing");
    }
}
