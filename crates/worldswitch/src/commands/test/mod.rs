//! `worldswitch test`: what a change costs, and the functions that are the cause.

mod budget;
mod explained;
mod measured;
mod sides;

use crate::cli::{STDOUT, TestArgs, session};
use crate::shared::suite::Layout;
use crate::shared::{Done, export, on_stdout, write};
use anyhow::{Context, bail};
use budget::{Budget, paste};
use sides::{Made, Sides};
use std::path::Path;
use std::rc::Rc;
use std::time::SystemTime;
use ws_lab::sets::Architecture;
use ws_machines::image::GuestImage;
use ws_machines::name::PlatformName;
use ws_results::ResultFile;
use ws_runner::parts;
use ws_terminal::{Colours, Usage, output};
use ws_trial::{Machine, Pair, Trial};

/// Name of the page in the results' folder.
const PAGE: &str = "test.html";
/// Name of the picture beside it, if something changed.
const PICTURE: &str = "test.svg";

/// Makes both sides, measures and compares them, and explains what changed.
///
/// # Errors
/// A side is nothing that can be measured, it can't be built, nothing was measured, or something can't be written.
pub fn test(args: &TestArgs, colours: Colours) -> anyhow::Result<Done> {
    on_stdout(files(args))?;
    let session = session(colours)?;
    let sides = Sides::of(args)?;
    let budget = Budget::of(args)?;
    let folder = Rc::new(args.output.to_output().make(SystemTime::now())?);
    folder.must_be_empty()?;
    let (base, head) = sides.make(args, folder.path(), &session)?;
    let (results, done) = measured::measured(args, &sides, [&base, &head], &folder, &session)?;
    let pairs = pairs(&sides.machines, [&base, &head], &results)?;
    let mut trial = Trial::of(base.side.clone(), head.side.clone(), &pairs, &args.allow)?;
    describe(&mut trial, args);
    if let Some(budget) = &budget {
        budget.check(&mut trial);
    }
    if !args.no_explain {
        explained::explain(&mut trial, args, [&base, &head], &session)?;
    }
    show(args, &trial)?;
    let page = folder.path().join(PAGE);
    write(&page, trial.to_html().as_bytes())?;
    let path = folder.path().join(PICTURE);
    match trial.to_svg() {
        Some(picture) => drop(write(&path, picture.as_bytes())?),
        None => forget(&path)?,
    }
    output::remark(&format!("the page is {}", page.display()), colours);
    if let Some(budget) = &budget {
        budget.keep_up(args, &trial, colours)?;
    }
    Ok(match done {
        Done::Whole => Done::Judged(trial.outcome),
        done => done,
    })
}

/// The results of both sides by machine.
fn pairs<'a>(
    machines: &[PlatformName],
    made: [&Made; 2],
    results: &'a [Vec<ResultFile>; 2],
) -> anyhow::Result<Vec<Pair<'a>>> {
    let pairs = machines.iter().map(|machine| {
        let sides = [0, 1].map(|side| of_machine(machine, made[side], &results[side]));
        (machine.to_string(), sides)
    });
    let pairs: Vec<Pair> = pairs.collect();
    if !pairs
        .iter()
        .any(|(_, sides)| sides.iter().all(Option::is_some))
    {
        let names: Vec<&str> = pairs.iter().map(|(name, _)| &**name).collect();
        bail!("no machine has results of both sides: {}", names.join(", "));
    }
    Ok(pairs)
}

/// The side's result of a machine. An earlier result of any kernel is a side of its machine.
fn of_machine<'a>(
    machine: &PlatformName,
    made: &Made,
    results: &'a [ResultFile],
) -> Option<&'a ResultFile> {
    let wanted = made.name(machine).to_string();
    let named = results.iter().find(|result| result.platform == wanted);
    if named.is_some() || made.results.is_none() {
        return named;
    }
    let is_its = |result: &&ResultFile| {
        let name = result.platform.parse::<PlatformName>();
        name.is_ok_and(|name| sides::machine(&name) == *machine)
    };
    let mut all = results.iter().filter(is_its);
    all.next().filter(|_| all.next().is_none())
}

/// Files of the trial's forms.
fn files(args: &TestArgs) -> [Option<&Path>; 3] {
    let [json, markdown] = args.exports.files();
    [json, markdown, args.comment.as_deref()]
}

/// Adds what the benchmarks measure, in the words of this host's guest images. Results may have other benchmarks.
fn describe(trial: &mut Trial, args: &TestArgs) {
    let resources = parts::resources(&args.parts.to_parts());
    for architecture in Architecture::ALL {
        let is_its =
            |machine: &&mut Machine| machine.architecture.as_deref() == Some(architecture.name());
        let machines = trial.machines.iter_mut().filter(is_its);
        let mut rows = machines.flat_map(|machine| &mut machine.rows).peekable();
        if rows.peek().is_none() {
            continue;
        }
        let image = resources.guest_for(architecture).ok();
        let Some(image) = image.and_then(|path| GuestImage::read(&path).ok()) else {
            continue;
        };
        for row in rows {
            let its = image.rows.iter().find(|known| known.name == row.benchmark);
            row.measures = its.map(|known| known.summary.clone());
        }
    }
}

fn show(args: &TestArgs, trial: &Trial) -> anyhow::Result<()> {
    if !on_stdout(files(args))? {
        output::data(&trial.to_text())?;
        if let Some(suite) = args.suite {
            output::data(&trial.cover_letter(&Layout::of(suite)?.names()))?;
        }
    }
    export(args.exports.json_to(), || Ok(trial.to_json()?))?;
    export(args.exports.markdown_to(), || {
        Ok(trial.to_markdown(&paste(trial)))
    })?;
    match &args.comment {
        Some(path) if trial.has_findings() => {
            export(Some(path), || Ok(trial.to_markdown(&paste(trial))))
        }
        Some(path) if path != Path::new(STDOUT) => forget(path),
        _ => Ok(()),
    }
}

/// Removes a file of an earlier test, which would be taken for this one's.
fn forget(path: &Path) -> anyhow::Result<()> {
    match path.exists() {
        true => {
            std::fs::remove_file(path).with_context(|| format!("can't remove {}", path.display()))
        }
        false => Ok(()),
    }
}

/// Wrong usage of a side.
fn usage(text: String) -> anyhow::Error {
    Usage(text).into()
}
