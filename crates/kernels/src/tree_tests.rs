//! Tests: bisections of small repositories that are made here.

use super::*;
use std::time::{Duration, Instant};
use tempfile::TempDir;

struct Repository {
    folder: TempDir,
    cache: TempDir,
}

impl Repository {
    fn new() -> Self {
        let made = Self {
            folder: tempfile::tempdir().unwrap(),
            cache: tempfile::tempdir().unwrap(),
        };
        made.git("init -q -b main");
        made
    }

    fn git(&self, words: &str) {
        let mut command = Command::new("git");
        command.arg("-C").arg(self.folder.path());
        command.args(["-c", "user.name=x", "-c", "user.email=x@example.org"]);
        for name in LOCAL {
            command.env_remove(name);
        }
        no_settings(&mut command);
        assert!(command.args(words.split(' ')).status().unwrap().success());
    }

    /// A commit whose tag is its subject.
    fn commit(&self, subject: &str) {
        self.git(&format!("commit -q --allow-empty -m {subject}"));
        self.git(&format!("tag {subject}"));
    }

    fn tree(&self) -> Tree {
        Tree::make(self.folder.path(), self.cache.path(), &Stop::default()).unwrap()
    }

    /// Bisects; `word` gives the verdict on each subject. Returns the subjects that git chose, and the
    /// final state.
    fn bisect(
        &self,
        good: &str,
        bad: &str,
        word: impl Fn(&str) -> Word,
    ) -> anyhow::Result<(Vec<String>, Step)> {
        let tree = self.tree();
        let (good, bad) = (tree.commit(good)?, tree.commit(bad)?);
        tree.distance(&good, &bad)?;
        tree.check_out(&good)?;
        tree.check_out(&bad)?;
        let mut step = tree.start(&good, &bad)?;
        let mut looked = Vec::new();
        while let Step::Look(commit) = &step {
            let commit = commit.clone();
            looked.push(commit.subject.clone());
            step = tree.tell(&commit, word(&commit.subject))?;
        }
        Ok((looked, step))
    }
}

fn line(count: usize) -> Repository {
    let repository = Repository::new();
    for number in 0..count {
        repository.commit(&format!("c{number}"));
    }
    repository
}

/// Bad from this commit on.
fn from(first: usize) -> impl Fn(&str) -> Word {
    move |subject| match subject[1..].parse::<usize>().unwrap() >= first {
        true => Word::Bad,
        false => Word::Good,
    }
}

#[test]
fn every_first_bad_commit_is_found() {
    let repository = line(6);
    for first in 1..6 {
        let (looked, end) = repository.bisect("c0", "c5", from(first)).unwrap();
        let Step::Found(commit) = end else {
            panic!("{end:?}");
        };
        assert_eq!(commit.subject, format!("c{first}"));
        assert!(looked.len() <= 3, "{looked:?}");
    }
}

#[test]
fn skipped_commits_that_hide_the_first_bad_one_are_all_named() {
    let repository = line(6);
    let hidden = |subject: &str| match subject {
        "c2" | "c3" => Word::Skip,
        other => from(3)(other),
    };
    let (_, end) = repository.bisect("c0", "c5", hidden).unwrap();
    let Step::OneOf(commits) = end else {
        panic!("{end:?}");
    };
    let mut subjects: Vec<_> = commits.iter().map(|one| one.subject.as_str()).collect();
    subjects.sort_unstable();
    assert_eq!(subjects, ["c2", "c3", "c4"]);
    // All commits between the two are skipped.
    let (_, end) = repository.bisect("c0", "c5", |_| Word::Skip).unwrap();
    assert!(
        matches!(&end, Step::OneOf(commits) if commits.len() == 5),
        "{end:?}"
    );
}

#[test]
fn of_two_branches_the_merge_base_is_measured_too() {
    let repository = line(2);
    repository.git("checkout -q -b side c1");
    repository.commit("c3");
    repository.git("checkout -q main");
    repository.commit("c7");
    let (looked, end) = repository.bisect("c3", "c7", from(5)).unwrap();
    assert_eq!(looked, ["c1"]);
    assert!(
        matches!(&end, Step::Found(one) if one.subject == "c7"),
        "{end:?}"
    );
    let error = repository.bisect("c3", "c7", |_| Word::Bad).unwrap_err();
    assert!(error.to_string().contains("merge base"), "{error}");
}

#[test]
fn impossible_good_and_bad_commits_are_refused() {
    let repository = line(3);
    let error = |good: &str, bad: &str| {
        let error = repository.bisect(good, bad, |_| Word::Good).unwrap_err();
        assert!(error.is::<Usage>(), "{error}");
        error.to_string()
    };
    assert!(error("c2", "c0").contains("swap them"));
    assert!(error("c1", "c1").contains("swap them"));
    assert!(error("c0", "nothing").contains("no commit nothing"));
    assert!(error("--all", "c1").contains("--all is not the name of a commit"));
    repository.git("checkout -q --orphan other");
    repository.commit("c9");
    assert!(error("c0", "c9").contains("no history in common"));
}

#[test]
fn commits_are_in_topological_order_with_both_ends() {
    let repository = line(4);
    let tree = repository.tree();
    let (good, bad) = (tree.commit("c1").unwrap(), tree.commit("c3").unwrap());
    let order = tree.in_order(&good, &bad).unwrap();
    let ids: Vec<_> = ["c1", "c2", "c3"]
        .iter()
        .map(|name| tree.commit(name).unwrap().id)
        .collect();
    assert_eq!(order, ids);
    // A root commit has no parent.
    let root = tree.commit("c0").unwrap();
    assert_eq!(tree.in_order(&root, &bad).unwrap().len(), 4);
}

#[test]
fn the_patch_of_a_file_has_no_lines_around_a_change() {
    let repository = Repository::new();
    let write = |text: &str| {
        fs::create_dir_all(repository.folder.path().join("below")).unwrap();
        fs::write(repository.folder.path().join("below/x.c"), text).unwrap();
        repository.git("add -A");
    };
    write("a\nb\nc\n");
    repository.commit("one");
    write("a\nb\nnew\nc\n");
    repository.commit("other");
    let tree = repository.tree();
    let commits = ["one", "other"].map(|name| tree.commit(name).unwrap());
    // The user may be in a folder of the repository.
    let folder = repository.folder.path().join("below");
    let of = |file| patch(&folder, [&commits[0], &commits[1]], file, &Stop::default()).unwrap();
    assert!(
        of("below/x.c").contains("\n@@ -2,0 +3 @@"),
        "{}",
        of("below/x.c")
    );
    assert_eq!(of("none.c"), "");
}

#[test]
fn a_range_has_both_ends_and_one_line_of_history() {
    let repository = line(4);
    let tree = repository.tree();
    let range = |first, last| range(&tree.repository, first, last, &Stop::default());
    let subjects = |first, last| -> Vec<String> {
        let commits = range(first, last).unwrap().into_iter();
        commits.map(|commit| commit.subject).collect()
    };
    assert_eq!(subjects("c1", "c3"), ["c1", "c2", "c3"]);
    assert_eq!(subjects("c0", "c0"), ["c0"]);
    repository.git("checkout -q -b side c1");
    repository.commit("c9");
    for (first, last) in [("c2", "c9"), ("c3", "c1")] {
        let error = range(first, last).unwrap_err();
        assert!(error.is::<Usage>(), "{error}");
        assert!(error.to_string().contains("not an ancestor of"), "{error}");
    }
}

#[test]
fn a_worktree_is_removed_and_a_stale_one_is_replaced() {
    let repository = line(3);
    let worktrees = |tree: &Tree| tree.ask(&tree.repository, ["worktree", "list"]).unwrap();
    let tree = repository.tree();
    let path = tree.path();
    let before = worktrees(&tree);
    tree.check_out(&tree.commit("c1").unwrap()).unwrap();
    assert!(path.join(".git").exists());
    assert!(Tree::make(&tree.repository, repository.cache.path(), &Stop::default()).is_err());
    drop(tree);
    assert!(!path.exists());

    // As after a kill: the worktree stays, once whole, once without its files.
    for gone in [false, true] {
        let tree = repository.tree();
        tree.check_out(&tree.commit("c1").unwrap()).unwrap();
        let lock = tree._lock.try_clone().unwrap();
        std::mem::forget(tree);
        flock(&lock, FlockOperation::Unlock).unwrap();
        if gone {
            fs::remove_dir_all(path.parent().unwrap()).unwrap();
        }
        let tree = repository.tree();
        tree.check_out(&tree.commit("c2").unwrap()).unwrap();
        drop(tree);
        let tree = repository.tree();
        assert_eq!(worktrees(&tree), before);
    }
}

#[test]
fn a_kept_worktree_stays_and_is_mended_and_what_was_built_stays_too() {
    let repository = line(3);
    let keep_until =
        |stop: &Stop| Tree::keep(repository.folder.path(), repository.cache.path(), stop);
    let keep = || keep_until(&Stop::default());
    let tree = keep().unwrap();
    let (path, objects, built) = (tree.path(), tree.objects(), tree.built());
    tree.check_out(&tree.commit("c1").unwrap()).unwrap();
    fs::create_dir_all(built.join("a/kernel")).unwrap();
    fs::write(objects.join("x.o"), "").unwrap();
    let soon = Stop::default().until(Instant::now() + Duration::from_millis(1500));
    assert!(keep_until(&soon).is_err(), "one at a time");
    let checked_out = |name: &str| {
        let tree = keep().unwrap();
        tree.check_out(&tree.commit(name).unwrap()).unwrap();
        let head = tree
            .ask(&path, ["show", "--no-patch", "--format=%s"])
            .unwrap();
        assert_eq!(head.trim(), name);
        assert!(built.join("a/kernel").is_dir() && objects.join("x.o").is_file());
    };
    drop(tree);
    assert!(path.join(".git").is_file());
    checked_out("c2");

    // A git that was killed.
    let git = repository.folder.path().join(".git");
    let of_tree = fs::read_dir(git.join("worktrees")).unwrap().next().unwrap();
    fs::write(of_tree.unwrap().path().join("index.lock"), "").unwrap();
    checked_out("c1");
    // A new clone at the same place knows no worktree.
    fs::remove_dir_all(git.join("worktrees")).unwrap();
    checked_out("c0");
    // The folder is in another repository.
    fs::remove_file(path.join(".git")).unwrap();
    checked_out("c2");
}
