//! `worldswitch lab bisect`: finds the kernel commit that changed a benchmark's instruction count.

mod explained;
mod look;
mod show;

#[cfg(test)]
pub use show::Bisected;

use crate::cli::lab::BisectArgs;
use crate::cli::session;
use crate::shared::Done;
use crate::shared::kernels::booted;
use anyhow::{Context, bail};
use explained::Explainers;
use look::{Look, Looker, Measured};
use std::time::SystemTime;
use ws_analysis::{CompareOptions, Outcome, RowComparison, Verdict, compare_results};
use ws_kernels::build::Builder;
use ws_kernels::tree::{Commit, Step, Tree, Word};
use ws_machines::image::GuestImage;
use ws_machines::resources::Resources;
use ws_recorder::LEAST;
use ws_runner::{benchmarks, parts};
use ws_terminal::{Colours, output};

/// Boots of the good and of the bad kernel, not counting perturbed boots. Kernels between are booted once: the boots
/// of these two prove that counts repeat exactly.
const BOOTS_OF_A_SIDE: u32 = 2;

/// The outcome of one commit.
struct Point {
    commit: Commit,
    word: Word,
    /// Figure of the commit, if it was measured.
    measured: Option<Measured>,
    /// Difference from the good commit, or the reason why this one was skipped.
    why: String,
}

/// How a search ended.
enum End {
    Found(Commit),
    OneOf(Vec<Commit>),
}

/// Searches for the commit that changed the figure.
///
/// # Errors
/// Wrong usage; the good or the bad commit can't be built or measured, or they do not differ; git
/// fails; the user stopped the search.
pub fn bisect(args: &BisectArgs, colours: Colours) -> anyhow::Result<Done> {
    let session = session(colours)?;
    let resources = parts::resources(&args.parts.to_parts());
    sound(args, &resources)?;
    let builder = Builder {
        command: args.build.clone(),
        config: parts::kernel_config(&args.parts.lab.to_places())?,
        debug: None,
    };
    let tree = Tree::make(&args.kernel_tree, resources.store()?.root(), &session.stop)?;
    let (good, bad) = (tree.commit(&args.good)?, tree.commit(&args.bad)?);
    let distance = tree.distance(&good, &bad)?;
    let folder = args.output.to_output().make(SystemTime::now())?;
    folder.must_be_empty()?;
    let mut looker = Looker::new(args, &tree, &builder, folder.path(), &session)?;

    say(&format!(
        "{distance} commits from {} to {}, about {} to build and boot between them",
        good.short(),
        bad.short(),
        distance.ilog2()
    ));
    // Both ends first: a search between commits that do not differ would be hours of builds for nothing.
    let base = end(&mut looker, &tree, &good, "--good")?;
    let other = end(&mut looker, &tree, &bad, "--bad")?;
    let (way, finding) = way(args, (&good, &base), (&bad, &other))?;
    say(&format!("{}: bad: {finding}", bad.short()));
    let mut points = vec![
        point(&good, Word::Good, String::new(), base.clone()),
        point(&bad, Word::Bad, finding, other),
    ];
    let first = tree.start(&good, &bad)?;
    let end = search(&tree, first, &mut points, |commit| {
        let look = looker.look(commit, 1)?;
        Ok(judge(args, &base, way, commit.clone(), look))
    })?;
    let order = tree.in_order(&good, &bad)?;
    points.sort_by_key(|point| order.iter().position(|id| *id == point.commit.id));
    let explainers = Explainers {
        args,
        tree: &tree,
        builder: &builder,
        folder: folder.path(),
        session: &session,
    };
    print(&explainers, &end, &points)?;
    output::remark(
        &format!("results and build logs are in {}", folder.path().display()),
        colours,
    );
    Ok(match end {
        End::Found(_) => Done::Whole,
        End::OneOf(_) => Done::Judged(Outcome::Inconclusive),
    })
}

/// Prints the outcome, and the functions that the found commit changed.
fn print(explainers: &Explainers<'_>, end: &End, points: &[Point]) -> anyhow::Result<()> {
    let args = explainers.args;
    if !args.json {
        // The outcome first: explaining may take long.
        output::data(&show::text(args, end, points))?;
    }
    let difference = match end {
        End::Found(commit) if !args.no_explain => Some(explainers.difference(commit)),
        End::Found(_) | End::OneOf(_) => None,
    };
    output::data(&match (args.json, &difference) {
        (true, _) => show::json(args, end, points, explainers.folder, difference.as_ref())?,
        (false, Some(Ok(difference))) => format!("\n{}", difference.to_text(LEAST)),
        (false, _) => String::new(),
    })?;
    if let Some(Err(why)) = &difference {
        let text = format!("can't explain which functions changed: {why:#}");
        output::remark(&text, explainers.session.colours);
    }
    Ok(())
}

/// The good or the bad commit.
fn point(commit: &Commit, word: Word, why: String, measured: Measured) -> Point {
    Point {
        commit: commit.clone(),
        word,
        why,
        measured: Some(measured),
    }
}

/// Returns the side of the good figure on which the bad one is, and the difference in words.
///
/// # Errors
/// Good and bad do not differ, so there is nothing to search.
fn way(
    args: &BisectArgs,
    good: (&Commit, &Measured),
    bad: (&Commit, &Measured),
) -> anyhow::Result<(Verdict, String)> {
    let compared = compare(args, good.1, bad.1)?;
    let why = compared.why.unwrap_or_default();
    match compared.verdict {
        Some(way @ (Verdict::Worse | Verdict::Better)) => Ok((way, why)),
        _ => bail!(
            "--bad is not outside the band of --good, so there is nothing to search: {} counts {} in {} and {} in {}: {why}",
            args.bench,
            good.1.text(),
            good.0.short(),
            bad.1.text(),
            bad.0.short(),
        ),
    }
}

/// Measures the commits that git chooses, until git has found the first bad one.
fn search(
    tree: &Tree,
    mut step: Step,
    points: &mut Vec<Point>,
    mut look: impl FnMut(&Commit) -> anyhow::Result<Point>,
) -> anyhow::Result<End> {
    loop {
        let commit = match step {
            Step::Found(commit) => return Ok(End::Found(commit)),
            Step::OneOf(commits) => return Ok(End::OneOf(commits)),
            Step::Look(commit) => commit,
        };
        let point = look(&commit)?;
        say(&format!(
            "{}: {}: {}",
            commit.short(),
            point.word.text(),
            point.why
        ));
        step = tree.tell(&commit, point.word)?;
        points.push(point);
    }
}

/// Checks the platform and the benchmark before anything is built.
fn sound(args: &BisectArgs, resources: &Resources) -> anyhow::Result<()> {
    let recipe = booted(&args.on, resources)?;
    let image = GuestImage::read(&resources.guest_for(recipe.architecture)?)?;
    let names: Vec<&str> = image.rows.iter().map(|row| row.name.as_str()).collect();
    Ok(benchmarks::check(&args.bench, &names)?)
}

/// Measures the good or the bad commit, which must succeed.
fn end(
    looker: &mut Looker<'_>,
    tree: &Tree,
    commit: &Commit,
    option: &str,
) -> anyhow::Result<Measured> {
    tree.check_out(commit)?;
    match looker.look(commit, BOOTS_OF_A_SIDE)? {
        Ok(measured) => Ok(measured),
        Err(why) => bail!("{option} {}: {why}", commit.short()),
    }
}

/// Compares a kernel with the good one.
fn compare(args: &BisectArgs, base: &Measured, other: &Measured) -> anyhow::Result<RowComparison> {
    let options = CompareOptions {
        allow: args.allow.clone(),
        ..CompareOptions::default()
    };
    let compared = compare_results(&base.result, &other.result, &options)?;
    let mut rows = compared.rows.into_iter();
    rows.find(|row| row.benchmark == args.bench)
        .context("the benchmark is in neither result")
}

/// Returns git's verdict on a commit. A commit is bad if its figure is outside the good one's band, on the bad one's
/// side (`way`).
fn judge(args: &BisectArgs, base: &Measured, way: Verdict, commit: Commit, look: Look) -> Point {
    let skip = |commit, measured, why| Point {
        commit,
        word: Word::Skip,
        measured,
        why,
    };
    let measured = match look {
        Ok(measured) => measured,
        Err(why) => return skip(commit, None, why),
    };
    match compare(args, base, &measured) {
        Err(error) => skip(commit, Some(measured), format!("{error:#}")),
        Ok(row) => {
            let why = row.why.unwrap_or_default();
            match row.verdict {
                None => skip(commit, Some(measured), why),
                Some(verdict) => Point {
                    commit,
                    word: if verdict == way {
                        Word::Bad
                    } else {
                        Word::Good
                    },
                    measured: Some(measured),
                    why,
                },
            }
        }
    }
}

/// Prints progress.
fn say(line: &str) {
    output::progress("bisect", line);
}
