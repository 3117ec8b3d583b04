//! A worktree of the user's kernel repository, in which commits are built and git bisects. The user's own checkout,
//! branches and bisection are never touched, because git keeps HEAD and `refs/bisect` per worktree.
//!
//! ```text
//! CACHE/bisect/NAME.lock   held while this repository is bisected
//! CACHE/bisect/NAME/       removed at the end; after a kill, by the next bisection
//!     tree/                the worktree
//!     objects/             build files that are kept from commit to commit
//!     out/                 the kernel of one commit
//! CACHE/commits/NAME.lock  held while commits of this repository are built and kept
//! CACHE/commits/NAME/      the same, but kept: the next build compiles only what changed
//!     built/               kernels of commits ([`crate::built`])
//! ```

use crate::child::{self, Ended};
use crate::short_hash::short_hash;
use anyhow::{Context, bail};
use rustix::fs::{FlockOperation, flock};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use ws_terminal::{Stop, Stopped, Usage, taken};

/// Variables that a calling git hook or alias may have set, and that would lead git to another
/// repository.
const LOCAL: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

/// Name of the worktree's folder, beside that of the build files.
const TREE: &str = "tree";

/// Returns a file's path in the source: debug information of a build has the worktree's folder before it.
pub fn in_source(file: &str) -> &str {
    let below = file
        .strip_prefix(TREE)
        .and_then(|file| file.strip_prefix('/'));
    below.unwrap_or(file)
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The commit's full hash, in hexadecimal.
    pub id: String,
    /// The first line of the commit's message.
    pub subject: String,
}

impl Commit {
    /// The first 12 digits of the hash, for output and as the name of the folder of the commit's results.
    pub fn short(&self) -> &str {
        self.id.get(..12).unwrap_or(&self.id)
    }
}

/// Returns the patch of one file between two commits, without lines around a change. The file is named from the root of
/// the repository; without such a file the patch is empty.
///
/// # Errors
/// Git fails, or the user stopped it.
pub fn patch(
    repository: &Path,
    commits: [&Commit; 2],
    file: &str,
    stop: &Stop,
) -> anyhow::Result<String> {
    let [base, head] = commits.map(|commit| &*commit.id);
    let file = format!(":(top,literal){file}");
    let words = [
        "diff",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--unified=0",
        "--inter-hunk-context=0",
        base,
        head,
        "--",
        &file,
    ];
    let ended = git(repository, words, Some(stop))?;
    match ended.status.success() {
        true => Ok(ended.stdout),
        false => bail!(failure(&words, &ended)),
    }
}

/// Lists the commits of `repository` from `first` to `last`, both included, ancestors first.
///
/// # Errors
/// There is no such repository or commit, `first` does not lead to `last`, or git fails.
pub fn range(
    repository: &Path,
    first: &str,
    last: &str,
    stop: &Stop,
) -> anyhow::Result<Vec<Commit>> {
    let id = |name| id(repository, name, stop);
    let (first, last) = (id(first)?, id(last)?);
    let is_before = ["merge-base", "--is-ancestor", &first, &last];
    if !git(repository, is_before, Some(stop))?.status.success() {
        bail!(Usage(format!(
            "{}: the first commit is not an ancestor of the last one",
            repository.display()
        )));
    }
    let before = format!("{first}^@");
    let words = [
        "log",
        "--topo-order",
        "--reverse",
        "--format=%H %s",
        &last,
        "--not",
        &before,
    ];
    let ended = git(repository, words, Some(stop))?;
    if !ended.status.success() {
        bail!(failure(&words, &ended));
    }
    let lines = ended.stdout.lines().filter_map(|line| line.split_once(' '));
    let commits = lines.map(|(id, subject)| Commit {
        id: id.to_owned(),
        subject: subject.to_owned(),
    });
    Ok(commits.collect())
}

/// Finds the hash of the commit that the user names.
fn id(repository: &Path, name: &str, stop: &Stop) -> anyhow::Result<String> {
    if name.starts_with('-') {
        bail!(Usage(format!("{name} is not the name of a commit")));
    }
    let spec = format!("{name}^{{commit}}");
    let words = ["rev-parse", "--verify", "--quiet", &spec];
    let found = git(repository, words, Some(stop))?;
    if found.status.success() {
        return Ok(found.stdout.trim().to_owned());
    }
    let place = repository.display();
    bail!(Usage(match found.stderr.trim() {
        "" => format!("{place} has no commit {}", ws_text::terminal(name)),
        said => format!("{place}: {said}"),
    }));
}

/// The verdict on a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    Good,
    Bad,
    Skip,
}

impl Word {
    /// The verdict as git's word.
    pub fn text(self) -> &'static str {
        match self {
            Word::Good => "good",
            Word::Bad => "bad",
            Word::Skip => "skip",
        }
    }
}

/// The state of a bisection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The commit that is checked out and is to be measured next.
    Look(Commit),
    /// The first bad commit.
    Found(Commit),
    /// Commits of which one is the first bad commit, because too many were skipped.
    OneOf(Vec<Commit>),
}

/// The worktree. One of a bisection is removed on drop.
#[derive(Debug)]
pub struct Tree {
    repository: PathBuf,
    folder: PathBuf,
    stop: Stop,
    is_kept: bool,
    /// Lock on the repository, held as long as the tree lives.
    _lock: File,
}

/// Returns the folder of a repository's tree below `above`, which is made, and the file of its lock.
fn place(repository: &Path, above: &Path, stop: &Stop) -> anyhow::Result<(PathBuf, PathBuf)> {
    let asked = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
    let ended = git(repository, asked, Some(stop))?;
    if !ended.status.success() {
        bail!(Usage(format!(
            "--kernel-tree {}: {}",
            repository.display(),
            ended.stderr.trim()
        )));
    }
    // The common folder names the repository, so that its worktrees share one lock.
    let common = ended.stdout.trim_end_matches('\n');
    let name = short_hash([common], 16);
    fs::create_dir_all(above).with_context(|| format!("can't make {}", above.display()))?;
    Ok((above.join(&name), above.join(format!("{name}.lock"))))
}

/// Takes a lock; None if another process has it.
fn locked(path: &Path) -> anyhow::Result<Option<File>> {
    let lock = File::create(path).with_context(|| format!("can't make {}", path.display()))?;
    // Retry for a second: a child that another of our threads is just starting inherits the
    // previous lock's file until it calls exec.
    let is_held = (0..20).all(|_| {
        flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() && {
            std::thread::sleep(std::time::Duration::from_millis(50));
            true
        }
    });
    Ok((!is_held).then_some(lock))
}

/// Tells that another process has the lock.
fn others(repository: &Path) -> String {
    format!(
        "another worldswitch builds commits of {}",
        repository.display()
    )
}

impl Tree {
    /// Makes a worktree of the repository at `repository`, with nothing checked out yet.
    ///
    /// # Errors
    /// `repository` is not a repository, another process bisects it, or the cache can't be written.
    pub fn make(repository: &Path, cache: &Path, stop: &Stop) -> anyhow::Result<Self> {
        let (folder, path) = place(repository, &cache.join("bisect"), stop)?;
        let lock = locked(&path)?;
        let lock =
            lock.with_context(|| format!("{} (it holds {})", others(repository), path.display()))?;
        Self::open(repository, folder, lock, false, stop)
    }

    /// Opens the kept worktree of the repository at `repository`, and makes it the first time. While another process uses
    /// it, this waits: builds are short, and the other one's kernel may be this one's too.
    ///
    /// # Errors
    /// `repository` is not a repository, the cache can't be written, or the user stopped it.
    pub fn keep(repository: &Path, cache: &Path, stop: &Stop) -> anyhow::Result<Self> {
        let (folder, path) = place(repository, &cache.join("commits"), stop)?;
        let waiting = format!("{}: waiting for it", others(repository));
        let lock = taken(stop, "build", &waiting, || locked(&path))?;
        Self::open(repository, folder, lock, true, stop)
    }

    fn open(
        repository: &Path,
        folder: PathBuf,
        lock: File,
        is_kept: bool,
        stop: &Stop,
    ) -> anyhow::Result<Self> {
        let tree = Self {
            repository: repository.to_owned(),
            folder,
            stop: stop.clone(),
            is_kept,
            _lock: lock,
        };
        match is_kept {
            true => tree.mend(),
            // The folder may be that of a bisection that was killed.
            false => tree.remove(),
        }
        for folder in [tree.objects(), tree.out()] {
            fs::create_dir_all(&folder)
                .with_context(|| format!("can't make {}", folder.display()))?;
        }
        Ok(tree)
    }

    /// Mends a kept tree. Git may have forgotten the worktree, as in a new clone; then it is made again, and built
    /// kernels stay. A git that was killed leaves its lock.
    fn mend(&self) {
        let path = self.path();
        // Without a file of its own git would look for a repository above.
        let is_worktree = path.join(".git").is_file();
        let words = [
            "rev-parse",
            "--path-format=absolute",
            "--git-path",
            "index.lock",
        ];
        let lock = is_worktree.then(|| self.ask(&path, words));
        match lock {
            // No other program of ours uses the worktree: its lock is held.
            Some(Ok(lock)) => _ = fs::remove_file(lock.trim_end_matches('\n')),
            Some(Err(_)) | None => _ = fs::remove_dir_all(path),
        }
    }

    /// The worktree itself.
    pub fn path(&self) -> PathBuf {
        self.folder.join(TREE)
    }

    /// Build files that are kept from commit to commit.
    pub fn objects(&self) -> PathBuf {
        self.folder.join("objects")
    }

    /// Kernels that are kept, in folders of their own.
    pub(crate) fn built(&self) -> PathBuf {
        self.folder.join("built")
    }

    /// The kernel of a commit.
    pub fn out(&self) -> PathBuf {
        self.folder.join("out")
    }

    /// Finds the commit that the user names.
    pub fn commit(&self, name: &str) -> anyhow::Result<Commit> {
        self.describe(&id(&self.repository, name, &self.stop)?)
    }

    fn describe(&self, id: &str) -> anyhow::Result<Commit> {
        let subject = self.ask(&self.repository, ["show", "--no-patch", "--format=%s", id])?;
        Ok(Commit {
            id: id.to_owned(),
            subject: subject.trim_end().to_owned(),
        })
    }

    /// Counts the commits after `good` up to `bad`.
    ///
    /// # Errors
    /// `bad` is not after `good`, or they have no common history.
    pub fn distance(&self, good: &Commit, bad: &Commit) -> anyhow::Result<u64> {
        let (good, bad) = (&good.id, &bad.id);
        let backward = git(
            &self.repository,
            ["merge-base", "--is-ancestor", bad, good],
            Some(&self.stop),
        )?;
        if backward.status.success() {
            bail!(Usage(
                "--bad is not later than --good: swap them, or name another commit".into()
            ));
        }
        let joined = git(
            &self.repository,
            ["merge-base", good, bad],
            Some(&self.stop),
        )?;
        if !joined.status.success() {
            bail!(Usage("--good and --bad have no history in common".into()));
        }
        let between = format!("{good}..{bad}");
        let count = self.ask(&self.repository, ["rev-list", "--count", &between])?;
        Ok(count.trim().parse()?)
    }

    /// Lists the commits from `good` to `bad`, both included, ancestors first.
    pub fn in_order(&self, good: &Commit, bad: &Commit) -> anyhow::Result<Vec<String>> {
        let between = [&*good.id, &*bad.id, "--not", &format!("{}^@", good.id)].map(str::to_owned);
        let mut words = vec![
            "rev-list".to_owned(),
            "--topo-order".into(),
            "--reverse".into(),
        ];
        words.extend(between);
        let text = self.ask(&self.repository, words)?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Checks a commit out.
    pub fn check_out(&self, commit: &Commit) -> anyhow::Result<()> {
        let path = self.path();
        if !path.exists() {
            let path = path.as_os_str();
            let words = ["worktree", "add", "--quiet", "--detach", "--force"].map(OsStr::new);
            let words = words.into_iter().chain([path, OsStr::new(&commit.id)]);
            return self.ask(&self.repository, words).map(|_| ());
        }
        let words = ["checkout", "--quiet", "--detach", "--force", &commit.id];
        self.ask(&path, words).map(|_| ())
    }

    /// Starts the bisection.
    pub fn start(&self, good: &Commit, bad: &Commit) -> anyhow::Result<Step> {
        self.reset()?;
        self.ask(&self.path(), ["bisect", "start", &bad.id, &good.id])?;
        self.step()
    }

    /// Tells git the verdict on a commit that it chose.
    ///
    /// # Errors
    /// Git can't continue, for example because a merge base is bad, or can't check out the next commit.
    pub fn tell(&self, commit: &Commit, word: Word) -> anyhow::Result<Step> {
        self.reset()?;
        let words = ["bisect", word.text(), &commit.id];
        let ended = git(&self.path(), words, Some(&self.stop))?;
        // Status 2 means that only skipped commits are left, which the log says too.
        if !ended.status.success() && ended.status.code() != Some(2) {
            bail!(failure(&words, &ended));
        }
        self.step()
    }

    /// Reverts a build's changes to tracked files, which would block the next checkout.
    fn reset(&self) -> anyhow::Result<()> {
        let words = ["reset", "--quiet", "--hard"];
        self.ask(&self.path(), words).map(|_| ())
    }

    /// Reads the state of the bisection from `git bisect log`. Unlike other output, the log has a stable format,
    /// because git reads it back (`git bisect replay`).
    fn step(&self) -> anyhow::Result<Step> {
        let log = self.ask(&self.path(), ["bisect", "log"])?;
        let named = |start: &str| -> anyhow::Result<Vec<Commit>> {
            let ids = log.lines().filter_map(|line| {
                let rest = line.strip_prefix(start)?.strip_prefix(": [")?;
                rest.split_once(']').map(|(id, _)| id)
            });
            ids.map(|id| self.describe(id)).collect()
        };
        if let Some(first) = named("# first bad commit")?.into_iter().next() {
            return Ok(Step::Found(first));
        }
        let possible = named("# possible first bad commit")?;
        if !possible.is_empty() {
            return Ok(Step::OneOf(possible));
        }
        let head = self.ask(&self.path(), ["rev-parse", "HEAD"])?;
        self.describe(head.trim()).map(Step::Look)
    }

    /// Runs git and returns its output.
    fn ask<I>(&self, folder: &Path, words: I) -> anyhow::Result<String>
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        let words: Vec<_> = words
            .into_iter()
            .map(|word| word.as_ref().to_owned())
            .collect();
        let ended = git(folder, &words, Some(&self.stop))?;
        if !ended.status.success() {
            bail!(failure(&words, &ended));
        }
        Ok(ended.stdout)
    }

    /// Removes the whole folder. Missing files are no error.
    fn remove(&self) {
        let path = self.path();
        if path.exists() {
            // --force twice removes a locked worktree too. The user's signals must not stop this.
            let words = ["worktree", "remove", "--force", "--force"].map(OsStr::new);
            let words = words.into_iter().chain([path.as_os_str()]);
            let _ = git(&self.repository, words, None);
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if !self.is_kept {
            self.remove();
        }
    }
}

fn failure(words: &[impl AsRef<OsStr>], ended: &Ended) -> String {
    let words: Vec<_> = words.iter().map(|w| w.as_ref().to_string_lossy()).collect();
    let (stdout, stderr) = (ended.stdout.trim(), ended.stderr.trim());
    format!("git {} failed: {stderr}\n{stdout}", words.join(" "))
}

/// Runs git, without the user's hooks and without maintenance.
fn git<I>(folder: &Path, words: I, stop: Option<&Stop>) -> anyhow::Result<Ended>
where
    I: IntoIterator,
    I::Item: AsRef<OsStr>,
{
    let mut command = Command::new("git");
    command.arg("-C").arg(folder);
    for setting in [
        "core.hooksPath=/dev/null",
        "core.fsmonitor=false",
        "gc.auto=0",
        "maintenance.auto=false",
        "advice.detachedHead=false",
    ] {
        command.args(["-c", setting]);
    }
    command
        .args(words)
        .env("LC_ALL", "C")
        .env("GIT_TERMINAL_PROMPT", "0");
    for name in LOCAL {
        command.env_remove(name);
    }
    // Tests must not depend on the user's git settings.
    #[cfg(test)]
    no_settings(&mut command);
    child::run(command, stop).map_err(|error| match error.is::<Stopped>() {
        true => error,
        false => error.context("git is needed for commits of a kernel tree"),
    })
}

#[cfg(test)]
fn no_settings(command: &mut Command) {
    command.env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.env("GIT_CONFIG_SYSTEM", "/dev/null");
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
