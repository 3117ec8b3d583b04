//! The folder that all nodes share.
//!
//! ```text
//! lock                      held while somebody submits
//! submissions/N.json        what was submitted (submission.rs); never changed
//! lab-DIGEST.tar.gz         the lab's packages for nodes
//! kernels/NAME/             a kernel that was built
//! kernels/NAME.failed       why one could not be
//! cells/KEY/lock            held by the task that measures the cell; lock-NODE: by a node's proof
//! cells/KEY/runs/NODE-JOB/  a run that counts: run.json, and the result file
//! cells/KEY/apart/NODE-JOB/ a run of a node that is not trusted
//! failed/TASK/NODE-JOB      why a task failed
//! logs/                     what jobs print
//! ```
//!
//! Everything appears whole, by a rename, or not at all. Locks (flock) end with the process that holds them. On a
//! file system without locks a cell may be measured twice; the second run is then one more witness.

mod kernels;

pub use kernels::Built;

use crate::cell::Key;
use crate::run::{self, Run};
use crate::submission::{self, Submission};
use crate::verdict::Vote;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use ws_results::WriteError;

/// Fault of the shared folder.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// An operation of the system failed.
    #[error("can't {what} {}: {cause}", path.display())]
    Io {
        /// Verb of the failed operation.
        what: &'static str,
        /// Path of the failed operation.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// A file can't be written whole.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A file is not what this program writes.
    #[error("{} is damaged: {cause}", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Error of the parser.
        cause: serde_json::Error,
    },
    /// A newer version of this program wrote a file.
    #[error("{} has the schema {found}, and this program knows {known}", path.display())]
    Schema {
        /// Path of the file.
        path: PathBuf,
        /// Schema that the file names.
        found: String,
        /// Schema that this program knows.
        known: &'static str,
    },
}

fn failed<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> FolderError + 'a {
    move |cause| FolderError::Io {
        what,
        path: path.to_owned(),
        cause,
    }
}

/// The shared folder.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

/// A run in the folder.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Cell of the run.
    pub cell: Key,
    /// Whether the run is set apart.
    pub apart: bool,
    /// Folder of the run.
    pub path: PathBuf,
    /// Record of the run, kept beside its result.
    pub run: Run,
}

impl Stored {
    /// Makes the run's vote on its node, if the cell is exact.
    pub fn vote(&self) -> Option<Vote> {
        Some(Vote {
            cell: self.cell.clone(),
            node: self.run.node.clone(),
            digits: self.run.digits.clone()?,
        })
    }

    /// Path of the result file.
    pub fn result(&self) -> PathBuf {
        self.path.join(&self.run.result)
    }
}

/// Lock that is held as long as this lives.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code, reason = "the lock ends when it is closed")] File);

impl Folder {
    /// The folder at `path`, which need not exist.
    pub fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Folder of the jobs' output.
    pub fn logs(&self) -> PathBuf {
        self.0.join("logs")
    }

    /// Makes the folder, and its folder of logs, which Slurm does not make.
    pub fn make(&self) -> Result<(), FolderError> {
        make(&self.logs())
    }

    /// Takes the lock of submitters; None while another process holds it.
    pub fn lock(&self) -> Result<Option<Lock>, FolderError> {
        lock(&self.0.join("lock"))
    }

    /// Takes the lock of a cell, or of a cell on one node; None while another task holds it.
    pub fn lock_cell(&self, cell: &Key, node: Option<&str>) -> Result<Option<Lock>, FolderError> {
        let folder = self.cell(cell);
        make(&folder)?;
        let name = match node {
            Some(node) => file_name(&["lock", node]),
            None => "lock".to_owned(),
        };
        lock(&folder.join(name))
    }

    fn cell(&self, cell: &Key) -> PathBuf {
        self.0.join("cells").join(cell.to_string())
    }

    /// Reads all submissions, the oldest first.
    pub fn submissions(&self) -> Result<Vec<Submission>, FolderError> {
        let folder = self.0.join("submissions");
        let numbers = names(&folder)?.into_iter();
        let mut numbers: Vec<u32> = numbers
            .filter_map(|name| name.strip_suffix(".json")?.parse().ok())
            .collect();
        numbers.sort_unstable();
        numbers
            .into_iter()
            .map(|number| self.submission(number))
            .collect()
    }

    fn submission_path(&self, number: u32) -> PathBuf {
        self.0.join("submissions").join(format!("{number}.json"))
    }

    /// Reads a submission.
    pub fn submission(&self, number: u32) -> Result<Submission, FolderError> {
        let path = self.submission_path(number);
        let read: Submission = read(&path)?;
        check_schema(&path, &read.schema, submission::SCHEMA)?;
        Ok(read)
    }

    /// Stores a submission under the next free number, which `make_one` receives.
    pub fn submit(&self, make_one: impl Fn(u32) -> Submission) -> Result<Submission, FolderError> {
        let folder = self.0.join("submissions");
        make(&folder)?;
        loop {
            let last = self.submissions()?.last().map_or(0, |last| last.number);
            let submission = make_one(last + 1);
            let path = self.submission_path(last + 1);
            let text =
                serde_json::to_vec_pretty(&submission).map_err(|cause| FolderError::Damaged {
                    path: path.clone(),
                    cause,
                })?;
            let mut file = tempfile::Builder::new()
                .prefix(".new-")
                .permissions(mode(0o666))
                .tempfile_in(&folder)
                .map_err(failed("write in", &folder))?;
            file.write_all(&text)
                .and_then(|()| file.as_file().sync_all())
                .map_err(failed("write", &path))?;
            // Unlike a rename, this never replaces another's submission.
            match file.persist_noclobber(&path) {
                Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(failed("write", &path)(e.error)),
                Ok(_) => return Ok(submission),
            }
        }
    }

    /// Reads all runs, by cell.
    pub fn runs(&self) -> Result<Vec<Stored>, FolderError> {
        let mut all = Vec::new();
        for name in names(&self.0.join("cells"))? {
            if let Some(cell) = Key::parse(&name) {
                all.extend(self.runs_of(&cell)?);
            }
        }
        Ok(all)
    }

    /// Reads all runs of a cell.
    pub fn runs_of(&self, cell: &Key) -> Result<Vec<Stored>, FolderError> {
        let mut all = Vec::new();
        for (place, apart) in [("runs", false), ("apart", true)] {
            let folder = self.cell(cell).join(place);
            for name in names(&folder)? {
                let path = folder.join(name);
                let file = path.join("run.json");
                let run: Run = match read(&file) {
                    Ok(run) => run,
                    // Another process moved the run just now.
                    Err(FolderError::Io { cause, .. })
                        if cause.kind() == io::ErrorKind::NotFound =>
                    {
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                check_schema(&file, &run.schema, run::SCHEMA)?;
                all.push(Stored {
                    cell: cell.clone(),
                    apart,
                    path,
                    run,
                });
            }
        }
        Ok(all)
    }

    /// Makes a folder to prepare a run in, on the file system of the cell; dropping it removes it. Folders that killed
    /// tasks left are removed now. The caller holds [`Self::lock_cell`] for the same `node`.
    pub fn workshop(&self, cell: &Key, node: Option<&str>) -> Result<TempDir, FolderError> {
        let folder = self.cell(cell);
        make(&folder)?;
        // A node's name has no '-' here, so no prefix is the beginning of another node's.
        let prefix = match node {
            Some(node) => format!(".new-of-{}-", file_name(&[node])),
            None => ".new-".to_owned(),
        };
        let left = fs::read_dir(&folder).map_err(failed("read", &folder))?;
        for entry in left.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_own =
                name.starts_with(&prefix) && (node.is_some() || !name.starts_with(".new-of-"));
            if is_own {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let made = tempfile::Builder::new()
            .prefix(&prefix)
            .permissions(mode(0o777))
            .tempdir_in(&folder);
        made.map_err(failed("make a folder in", &folder))
    }

    /// Publishes a run, whose result is in `made` already. An earlier run of the same node in the same job stays.
    pub fn publish(&self, cell: &Key, made: &TempDir, run: &Run) -> Result<(), FolderError> {
        let path = made.path().join("run.json");
        let text = serde_json::to_vec_pretty(run).map_err(|cause| FolderError::Damaged {
            path: path.clone(),
            cause,
        })?;
        ws_results::write_bytes(&path, &text)?;
        let runs = self.cell(cell).join("runs");
        make(&runs)?;
        let place = runs.join(file_name(&[&run.node, &run.job]));
        match fs::rename(made.path(), &place) {
            Err(e) if is_taken(&e) => Ok(()),
            done => done.map_err(failed("write", &place)),
        }
    }

    /// Sets a run apart, or puts it back.
    pub fn set_apart(&self, stored: &Stored, apart: bool) -> Result<(), FolderError> {
        let name = stored.path.file_name().unwrap_or_default();
        let folder = self
            .cell(&stored.cell)
            .join(if apart { "apart" } else { "runs" });
        make(&folder)?;
        match fs::rename(&stored.path, folder.join(name)) {
            // Another process moved the run just now.
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(e) if is_taken(&e) => self.forget(stored),
            done => done.map_err(failed("move", &stored.path)),
        }
    }

    /// Removes a run.
    pub fn forget(&self, stored: &Stored) -> Result<(), FolderError> {
        match fs::remove_dir_all(&stored.path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done.map_err(failed("remove", &stored.path)),
        }
    }

    /// Stores the reason why a task failed on a node.
    pub fn fail(&self, task: &str, node: &str, job: &str, why: &str) -> Result<(), FolderError> {
        let folder = self.0.join("failed").join(task);
        make(&folder)?;
        let path = folder.join(file_name(&[node, job]));
        Ok(ws_results::write_bytes(&path, why.as_bytes())?)
    }

    /// Reads a task's last failure: its node and job, and the reason.
    pub fn failure(&self, task: &str) -> Option<(String, String)> {
        let entries = fs::read_dir(self.0.join("failed").join(task)).ok()?;
        let entries = entries
            .flatten()
            .filter(|one| !one.file_name().to_string_lossy().starts_with('.'));
        let last =
            entries.max_by_key(|entry| entry.metadata().and_then(|data| data.modified()).ok())?;
        let why = fs::read(last.path()).ok()?;
        let why = String::from_utf8_lossy(&why).trim().to_owned();
        Some((last.file_name().to_string_lossy().into_owned(), why))
    }
}

/// Whether a rename failed because the target is a folder with something in it.
fn is_taken(error: &io::Error) -> bool {
    [
        io::ErrorKind::AlreadyExists,
        io::ErrorKind::DirectoryNotEmpty,
    ]
    .contains(&error.kind())
}

fn mode(bits: u32) -> fs::Permissions {
    // The umask is taken off, as from any new folder's mode.
    std::os::unix::fs::PermissionsExt::from_mode(bits)
}

fn make(folder: &Path) -> Result<(), FolderError> {
    fs::create_dir_all(folder).map_err(failed("make", folder))
}

/// Lists the names in a folder, sorted, without hidden ones; none if the folder does not exist.
fn names(folder: &Path) -> Result<Vec<String>, FolderError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(failed("read", folder)(e)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(failed("read", folder))?.file_name();
        let name = name.to_string_lossy().into_owned();
        if !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, FolderError> {
    let bytes = fs::read(path).map_err(failed("read", path))?;
    serde_json::from_slice(&bytes).map_err(|cause| FolderError::Damaged {
        path: path.to_owned(),
        cause,
    })
}

fn check_schema(path: &Path, found: &str, known: &'static str) -> Result<(), FolderError> {
    match found == known {
        true => Ok(()),
        false => Err(FolderError::Schema {
            path: path.to_owned(),
            found: found.escape_debug().to_string(),
            known,
        }),
    }
}

fn lock(path: &Path) -> Result<Option<Lock>, FolderError> {
    let mut options = File::options();
    let options = options.write(true).create(true).truncate(false);
    let file = options.open(path).map_err(failed("make", path))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Ok(None),
        // On a file system without locks others are not kept out.
        _ => Ok(Some(Lock(file))),
    }
}

/// Makes a file's name of parts that may contain anything.
fn file_name(parts: &[&str]) -> String {
    let good = |c: char| c.is_ascii_alphanumeric() || "._".contains(c);
    let clean = |part: &&str| -> String {
        part.chars()
            .map(|c| if good(c) { c } else { '_' })
            .take(80)
            .collect()
    };
    let name: Vec<String> = parts.iter().map(clean).collect();
    // Readers skip hidden files.
    name.join("-").trim_start_matches('.').to_owned()
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
