//! `worldswitch test`: what a change costs, and the functions that are the cause.

mod explained;
mod measured;
mod sides;

use crate::cli::{STDOUT, TestArgs, session};
use crate::shared::suite::Layout;
use crate::shared::{Done, export, on_stdout, write};
use anyhow::{Context, bail};
use sides::{Made, Sides};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use ws_machines::name::PlatformName;
use ws_results::ResultFile;
use ws_runner::Output;
use ws_terminal::{Colours, Usage, output};
use ws_trial::Trial;

/// Makes both sides, measures and compares them, and explains what changed.
///
/// # Errors
/// A side is nothing that can be measured, it can't be built, nothing was measured, or something can't be written.
pub fn test(args: &TestArgs, colours: Colours) -> anyhow::Result<Done> {
    on_stdout(args.exports.files())?;
    let session = session(colours)?;
    let sides = Sides::of(args)?;
    let folder = Output {
        folder: Some(
            args.output
                .to_output()
                .make(SystemTime::now())?
                .path()
                .to_owned(),
        ),
        // The folder was checked just now; sides of a monitor are measured one after the other.
        force: true,
    };
    let (base, head) = sides.make(args, &folder, &session)?;
    let (results, done) = measured::measured(args, &sides, [&base, &head], &folder, &session)?;
    let pairs = pairs(&sides.machines, [&base, &head], &results)?;
    let pairs: Vec<(String, &ResultFile, &ResultFile)> = pairs
        .into_iter()
        .map(|(machine, [without, with])| (machine, without, with))
        .collect();
    let mut trial = Trial::of(
        base.side.clone(),
        head.side.clone(),
        &pairs,
        &args.allow,
        None,
    )?;
    if !args.no_explain {
        explained::explain(&mut trial, args, [&base, &head], &session)?;
    }
    show(args, &sides, &trial)?;
    let page = page(&folder)?;
    write(&page, trial.to_html().as_bytes())?;
    output::remark(&format!("the page is {}", page.display()), colours);
    Ok(match done {
        Done::Whole => Done::Judged(trial.outcome),
        done => done,
    })
}

/// The results of both sides by machine.
type Pairs<'a> = Vec<(String, [&'a ResultFile; 2])>;

fn pairs<'a>(
    machines: &[PlatformName],
    made: [&Made; 2],
    results: &'a [Vec<ResultFile>; 2],
) -> anyhow::Result<Pairs<'a>> {
    let mut pairs = Pairs::new();
    for machine in machines {
        let of = |side: usize| {
            let (made, results) = (made[side], &results[side]);
            let wanted = made.name(machine).to_string();
            let named = results.iter().find(|result| result.platform == wanted);
            // A result of any kernel is a side of its machine.
            let is_its = |result: &&ResultFile| {
                let name = result.platform.parse::<PlatformName>();
                name.is_ok_and(|name| sides::machine(&name) == *machine)
            };
            named.or_else(|| {
                let mut of_machine = results.iter().filter(is_its);
                of_machine
                    .next()
                    .filter(|_| of_machine.next().is_none() && made.results.is_some())
            })
        };
        if let (Some(without), Some(with)) = (of(0), of(1)) {
            pairs.push((machine.to_string(), [without, with]));
        }
    }
    if pairs.is_empty() {
        let names: Vec<String> = machines.iter().map(ToString::to_string).collect();
        bail!("no machine has results of both sides: {}", names.join(", "));
    }
    Ok(pairs)
}

fn show(args: &TestArgs, sides: &Sides, trial: &Trial) -> anyhow::Result<()> {
    if !on_stdout(args.exports.files())? {
        output::data(&trial.to_text())?;
        if let Some(suite) = args.suite {
            let names = Layout::of(suite)?.names();
            let name = |machine: &str, benchmark: &str| {
                let names = names.get(benchmark).map_or(benchmark, String::as_str);
                let mut names = names.split(", ").collect::<Vec<&str>>().into_iter();
                let name = match sides.is_arm(machine) {
                    true => names.next_back(),
                    false => names.next(),
                };
                name.unwrap_or(benchmark).to_owned()
            };
            output::data(&trial.cover_letter(name))?;
        }
    }
    export(args.exports.json_to(), || Ok(trial.to_json()?))?;
    export(args.exports.markdown_to(), || Ok(trial.to_markdown()))?;
    match &args.comment {
        Some(path) if trial.has_changes() => export(Some(path), || Ok(trial.to_markdown())),
        // A comment of an earlier test would be taken for this one's.
        Some(path) if path != Path::new(STDOUT) && path.exists() => {
            std::fs::remove_file(path).with_context(|| format!("can't remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// The page's file in the results' folder, which is there from now on.
fn page(folder: &Output) -> anyhow::Result<PathBuf> {
    let folder = folder.folder.as_deref().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).with_context(|| format!("can't make {}", folder.display()))?;
    Ok(folder.join("test.html"))
}

/// Wrong usage of a side.
fn usage(text: String) -> anyhow::Error {
    Usage(text).into()
}
