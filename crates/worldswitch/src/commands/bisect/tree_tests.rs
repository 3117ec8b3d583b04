//! Bisections of small repositories, made here.

use super::*;
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

    /// A commit that is tagged as its subject.
    fn commit(&self, subject: &str) {
        self.git(&format!("commit -q --allow-empty -m {subject}"));
        self.git(&format!("tag {subject}"));
    }

    fn tree(&self) -> Tree {
        Tree::make(self.folder.path(), self.cache.path(), &Stop::default()).unwrap()
    }

    /// Bisects; `word` says of each subject what it is. Returns the subjects that git had it look at,
    /// and where it ended.
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

/// Bad from this one on.
fn from(first: usize) -> impl Fn(&str) -> Word {
    move |subject| match subject[1..].parse::<usize>().unwrap() >= first {
        true => Word::Bad,
        false => Word::Good,
    }
}

#[test]
fn every_first_bad_commit_is_found() {
    let repository = line(9);
    for first in 1..9 {
        let (looked, end) = repository.bisect("c0", "c8", from(first)).unwrap();
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
    // With nothing between the two that could be looked at.
    let (_, end) = repository.bisect("c0", "c5", |_| Word::Skip).unwrap();
    assert!(
        matches!(&end, Step::OneOf(commits) if commits.len() == 5),
        "{end:?}"
    );
}

#[test]
fn of_two_branches_their_common_start_is_looked_at_too() {
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
fn ends_that_can_not_be_are_refused_by_name() {
    let repository = line(3);
    let error = |good: &str, bad: &str| {
        let error = repository.bisect(good, bad, |_| Word::Good).unwrap_err();
        assert!(error.is::<Usage>(), "{error}");
        error.to_string()
    };
    assert!(error("c2", "c0").contains("exchange them"));
    assert!(error("c1", "c1").contains("exchange them"));
    assert!(error("c0", "nothing").contains("no commit nothing"));
    assert!(error("--all", "c1").contains("--all is no name of a commit"));
    repository.git("checkout -q --orphan other");
    repository.commit("c9");
    assert!(error("c0", "c9").contains("no history in common"));
}

#[test]
fn history_has_its_order_and_an_end_its_place() {
    let repository = line(4);
    let tree = repository.tree();
    let (good, bad) = (tree.commit("c1").unwrap(), tree.commit("c3").unwrap());
    let order = tree.in_order(&good, &bad).unwrap();
    let ids: Vec<_> = ["c1", "c2", "c3"]
        .iter()
        .map(|name| tree.commit(name).unwrap().id)
        .collect();
    assert_eq!(order, ids);
    // A root has nothing before it.
    let root = tree.commit("c0").unwrap();
    assert_eq!(tree.in_order(&root, &bad).unwrap().len(), 4);
}

#[test]
fn a_worktree_goes_away_and_one_that_was_left_is_no_hindrance() {
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

    // Killed: nobody took it away. Once whole, once without its files.
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
