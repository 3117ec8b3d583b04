//! The search: both ends first, then the commits that git chooses.

use crate::look::Look;
use crate::{Asked, End, Found, Measured, Point};
use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;
use ws_analysis::{CompareOptions, RowComparison, Verdict, compare_results};
use ws_explain::diff::Difference;
use ws_explain::explained::Explained;
use ws_kernels::booted;
use ws_kernels::build::Builder;
use ws_kernels::tree::{Commit, Step, Tree, Word};
use ws_machines::image::GuestImage;
use ws_machines::name::PlatformName;
use ws_recorder::Explainer;
use ws_runner::{Folder, Session, benchmarks, parts};
use ws_terminal::output;

/// Boots of the good and of the bad kernel, not counting perturbed boots. Kernels between are booted once: the boots
/// of these two prove that counts repeat exactly.
const BOOTS_OF_A_SIDE: u32 = 2;

/// A search for the commit that changed a figure.
pub struct Search<'a> {
    pub(crate) asked: &'a Asked,
    pub(crate) session: &'a Session,
    pub(crate) tree: Tree,
    pub(crate) builder: Builder,
    /// Folder of results and logs.
    folder: Folder,
    /// The user's machine, with the kernel in the tree's `out`.
    pub(crate) platform: PlatformName,
    /// Earlier measurements by the machine's digest: the same machine gives the same figures.
    pub(crate) known: BTreeMap<String, Measured>,
}

impl<'a> Search<'a> {
    /// Checks the platform and the benchmark before anything is built, and makes the worktree and the folder.
    pub fn new(asked: &'a Asked, session: &'a Session) -> anyhow::Result<Self> {
        let resources = parts::resources(&asked.parts);
        let recipe = booted(&asked.on, &resources)?;
        let image = GuestImage::read(&resources.guest_for(recipe.architecture)?)?;
        let names: Vec<&str> = image.rows.iter().map(|row| row.name.as_str()).collect();
        benchmarks::check(&asked.bench, &names)?;
        let builder = Builder {
            command: asked.build.clone(),
            config: parts::kernel_config(&asked.parts.lab)?,
            debug: None,
        };
        let tree = Tree::make(&asked.kernel_tree, resources.store()?.root(), &session.stop)?;
        let out = tree.out();
        let path = out
            .to_str()
            .with_context(|| format!("{} is not UTF-8: use another --cache", out.display()))?;
        let platform = PlatformName {
            variant: Some(path.to_owned()),
            ..asked.on.clone()
        };
        let folder = asked.output.make(SystemTime::now())?;
        folder.must_be_empty()?;
        Ok(Self {
            asked,
            session,
            tree,
            builder,
            folder,
            platform,
            known: BTreeMap::new(),
        })
    }

    /// Folder of results and logs.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Searches.
    ///
    /// # Errors
    /// The good or the bad commit can't be built or measured, or they do not differ; git fails; the user stopped the
    /// search.
    pub fn run(&mut self) -> anyhow::Result<Found> {
        let good = self.tree.commit(&self.asked.good)?;
        let bad = self.tree.commit(&self.asked.bad)?;
        let distance = self.tree.distance(&good, &bad)?;
        say(&format!(
            "{distance} commits from {} to {}, about {} to build and boot between them",
            good.short(),
            bad.short(),
            distance.ilog2()
        ));
        // Both ends first: a search between commits that do not differ would be hours of builds for nothing.
        let base = self.end(&good, "--good")?;
        let other = self.end(&bad, "--bad")?;
        let (way, finding) = self.way((&good, &base), (&bad, &other))?;
        say(&format!("{}: bad: {finding}", bad.short()));
        let end_point = |commit: &Commit, word, why, measured| Point {
            commit: commit.clone(),
            word,
            why,
            measured: Some(measured),
        };
        let mut points = vec![
            end_point(&good, Word::Good, String::new(), base.clone()),
            end_point(&bad, Word::Bad, finding, other),
        ];
        let mut step = self.tree.start(&good, &bad)?;
        let end = loop {
            let commit = match step {
                Step::Found(commit) => break End::Found(commit),
                Step::OneOf(commits) => break End::OneOf(commits),
                Step::Look(commit) => commit,
            };
            let look = self.look(&commit, 1)?;
            let point = self.judge(&base, way, commit, look);
            say(&format!(
                "{}: {}: {}",
                point.commit.short(),
                point.word.text(),
                point.why
            ));
            step = self.tree.tell(&point.commit, point.word)?;
            points.push(point);
        };
        let order = self.tree.in_order(&good, &bad)?;
        points.sort_by_key(|point| order.iter().position(|id| *id == point.commit.id));
        Ok(Found {
            platform: self.asked.on.clone(),
            benchmark: self.asked.bench.clone(),
            folder: self.folder().to_owned(),
            end,
            points,
        })
    }

    /// Measures the good or the bad commit, which must succeed.
    fn end(&mut self, commit: &Commit, option: &str) -> anyhow::Result<Measured> {
        self.tree.check_out(commit)?;
        match self.look(commit, BOOTS_OF_A_SIDE)? {
            Ok(measured) => Ok(measured),
            Err(why) => bail!("{option} {}: {why}", commit.short()),
        }
    }

    /// Returns the side of the good figure on which the bad one is, and the difference in words.
    ///
    /// # Errors
    /// Good and bad do not differ, so there is nothing to search.
    fn way(
        &self,
        good: (&Commit, &Measured),
        bad: (&Commit, &Measured),
    ) -> anyhow::Result<(Verdict, String)> {
        let compared = self.compare(good.1, bad.1)?;
        let why = compared.why.unwrap_or_default();
        match compared.verdict {
            Some(way @ (Verdict::Worse | Verdict::Better)) => Ok((way, why)),
            _ => bail!(
                "--bad is not outside the band of --good, so there is nothing to search: {} counts {} in {} and {} in {}: {why}",
                self.asked.bench,
                good.1.text(),
                good.0.short(),
                bad.1.text(),
                bad.0.short(),
            ),
        }
    }

    /// Compares a kernel with the good one.
    fn compare(&self, base: &Measured, other: &Measured) -> anyhow::Result<RowComparison> {
        let options = CompareOptions {
            allow: self.asked.allow.clone(),
            ..CompareOptions::default()
        };
        let compared = compare_results(&base.result, &other.result, &options)?;
        let mut rows = compared.rows.into_iter();
        rows.find(|row| row.benchmark == self.asked.bench)
            .context("the benchmark is in neither result")
    }

    /// Returns git's verdict on a commit. A commit is bad if its figure is outside the good one's band, on the bad
    /// one's side (`way`). A commit without a figure or a verdict is skipped.
    fn judge(&self, base: &Measured, way: Verdict, commit: Commit, look: Look) -> Point {
        let (measured, word, why) = match look {
            Err(why) => (None, Word::Skip, why),
            Ok(measured) => {
                let (word, why) = match self.compare(base, &measured) {
                    Err(error) => (Word::Skip, format!("{error:#}")),
                    Ok(row) => {
                        let word = match row.verdict {
                            None => Word::Skip,
                            Some(verdict) if verdict == way => Word::Bad,
                            Some(_) => Word::Good,
                        };
                        (word, row.why.unwrap_or_default())
                    }
                };
                (Some(measured), word, why)
            }
        };
        Point {
            commit,
            word,
            measured,
            why,
        }
    }

    /// Compares the functions that a commit and its first parent execute. Builds and records both kernels again,
    /// because the search keeps only one kernel.
    ///
    /// # Errors
    /// The commit has no parent, a kernel can't be built or recorded, or the user stopped the command. The search's
    /// result stands in each case.
    pub fn explain(&self, found: &Commit) -> anyhow::Result<Difference> {
        let parent = self.tree.commit(&format!("{}^", found.id))?;
        say(&format!(
            "{} and {} are built again, to see which functions changed",
            parent.short(),
            found.short()
        ));
        let (before, after) = (self.explained(&parent)?, self.explained(found)?);
        Ok(Difference::of(&before, &after)?)
    }

    fn explained(&self, commit: &Commit) -> anyhow::Result<Explained> {
        self.tree.check_out(commit)?;
        if let Err(why) = self.build(commit, "build-again.log")? {
            bail!("{}: {why}", commit.short());
        }
        let explainer = Explainer {
            benchmark: &self.asked.bench,
            parts: &self.asked.parts,
            without: &[],
            debug: &[],
            session: self.session,
        };
        let explained = explainer
            .explain(&self.platform)
            .with_context(|| commit.short().to_owned())?;
        let mut explained = explained.context("stopped")?;
        // Both are built in one folder, so its path would not tell them apart.
        explained.platform = format!("{} of {}", self.asked.on, commit.short());
        Ok(explained)
    }
}

/// Prints progress.
pub(crate) fn say(line: &str) {
    output::progress("bisect", line);
}
