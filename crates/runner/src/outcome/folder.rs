//! The folder of a run's results: locked while the run measures; nothing in it is replaced without
//! `--force`.

use anyhow::{Context, bail};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use ws_machines::room::free_bytes;
use ws_results::{ResultFile, WriteError};
use ws_terminal::time;

/// Folder of a run's results. An empty one is removed on drop.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    force: bool,
    /// Lock of the folder, held until this is dropped.
    _lock: File,
}

impl Folder {
    /// Makes the folder. Called before anything is measured, so that a wrong path fails early.
    ///
    /// # Errors
    /// The folder can't be made, or another run writes into it.
    pub fn make(path: Option<&Path>, force: bool, created: SystemTime) -> anyhow::Result<Self> {
        let path = match path {
            Some(path) => path.to_owned(),
            None => made(created).context("can't make a folder for results in ws-runs")?,
        };
        let fail = || format!("can't make the folder for results, {}", path.display());
        fs::create_dir_all(&path).with_context(fail)?;
        let lock = File::open(&path).with_context(fail)?;
        // On a file system without locks, other runs are not kept out.
        if flock(&lock, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            bail!(
                "another worldswitch writes its results into {}: name another folder with -o, or wait",
                path.display()
            );
        }
        Ok(Self {
            path,
            force,
            _lock: lock,
        })
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that results of these platforms can be written: without `--force` none may be there already.
    pub fn must_take<'a>(
        &self,
        mut platforms: impl Iterator<Item = &'a str>,
    ) -> anyhow::Result<()> {
        let is_there = |platform: &&str| self.path.join(ws_results::file_name(platform)).exists();
        match platforms.find(is_there).filter(|_| !self.force) {
            None => Ok(()),
            Some(platform) => bail!(
                "{} has results of {platform} already: name another folder with -o, or replace them with --force",
                self.path.display()
            ),
        }
    }

    /// Checks that the folder is empty, for commands that write more than result files. With `--force` it need not be.
    pub fn must_be_empty(&self) -> anyhow::Result<()> {
        let mut entries = fs::read_dir(&self.path)?;
        match entries.next() {
            Some(_) if !self.force => bail!(
                "{} is not empty: name another folder with -o, or replace its contents with --force",
                self.path.display()
            ),
            _ => Ok(()),
        }
    }

    /// Writes all results, and returns the errors of those that could not be written. A platform may have several
    /// results (its benchmarks and its workloads): the first file has the platform's name, the next ones a number too.
    pub fn write(&self, results: &[ResultFile]) -> Vec<WriteError> {
        let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
        let written = results.iter().map(|result| {
            let nth = seen.entry(&result.platform).or_default();
            *nth += 1;
            ws_results::write_nth_into(&self.path, result, *nth)
        });
        written.filter_map(Result::err).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // This fails if the folder has results, as intended.
        let _ = fs::remove_dir(&self.path);
        if let Some(parent) = self
            .path
            .parent()
            .filter(|parent| parent.ends_with("ws-runs"))
        {
            let _ = fs::remove_dir(parent);
        }
    }
}

/// Checks that results of this many bytes fit into a folder. `cure`: advice beside making room.
pub fn must_have_room(path: &Path, bytes: u64, cure: &str) -> anyhow::Result<()> {
    if let Some(free) = free_bytes(path).filter(|free| *free < bytes) {
        bail!(
            "{} has {} KiB left, and the results may take {} KiB: make room, {cure}",
            path.display(),
            free >> 10,
            bytes >> 10
        );
    }
    Ok(())
}

/// Upper bound of the size of a result file: samples of both loops, as text, and the rest. `samples`: samples of each
/// benchmark in a boot, if they were chosen; a guest may take more than were asked for.
pub fn bytes_at_most(rows: usize, boots: u32, samples: Option<u64>) -> u64 {
    const BASE: u64 = 64 << 10;
    const SAMPLES: u64 = 64;
    const A_SAMPLE: u64 = 64;
    let samples = samples.unwrap_or(SAMPLES).max(SAMPLES);
    let all = (rows as u64).saturating_mul(boots.into());
    let all = all.saturating_mul(samples.saturating_mul(A_SAMPLE));
    BASE.saturating_add(all)
}

/// Makes a new folder in `ws-runs`, named for the time; with a number if that name exists.
fn made(created: SystemTime) -> io::Result<PathBuf> {
    let first = Path::new("ws-runs").join(time::for_folder(created));
    fs::create_dir_all("ws-runs")?;
    let mut path = first.clone();
    for number in 2.. {
        match fs::create_dir(&path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            done => return done.map(|()| path),
        }
        path = PathBuf::from(format!("{}-{number}", first.display()));
    }
    Err(io::Error::other("no name is left"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_gone_when_results_are_written_is_made_again() {
        let above = tempfile::tempdir().unwrap();
        let path = above.path().join("deep/out");
        let folder = Folder::make(Some(&path), false, SystemTime::now()).unwrap();
        fs::remove_dir_all(above.path().join("deep")).unwrap();
        let result: ResultFile = serde_json::from_value(serde_json::json!({
            "schema": ws_results::SCHEMA, "created": "", "tool": "", "command": [], "platform": "host",
            "identity": {"subject": {}, "conditions": {}}, "boots": [], "rows": [], "interrupted": false,
        }))
        .unwrap();
        assert!(folder.write(&[result.clone(), result]).is_empty());
        let names = fs::read_dir(&path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.collect();
        names.sort();
        assert_eq!(names, ["host.json", "host_n2.json"]);
    }
}
