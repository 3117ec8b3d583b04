//! `worldswitch run`: measures platforms, writes result files and prints a table. Other commands call
//! the first half, [`measure`], and judge the results themselves.

mod choose;
mod open;

use crate::cli::{RunArgs, VERSION};
use crate::commands::suite::Layout;
use crate::commands::tables::Shown;
use crate::commands::{self, Done, doctor, export, on_stdout, parts, report, tables};
use crate::outcome::folder::{Folder, must_have_room};
use crate::outcome::remarks;
use crate::rounds;
use crate::rounds::job::{Common, Job};
use anyhow::bail;
use std::path::Path;
use std::rc::Rc;
use std::time::SystemTime;
use ws_machines::machine::Control;
use ws_results::{ResultFile, Row, SCHEMA, Status};
use ws_terminal::{Colours, Progress, Stop, Why, output, time};

/// The results of a measurement, before any is shown.
pub struct Measured {
    /// One for each platform that measured anything, as in the folder.
    pub results: Vec<ResultFile>,
    /// Where they are.
    pub folder: Rc<Folder>,
    /// The platform that the others are compared with, if the user named it.
    base: Option<String>,
    /// Why platforms did not measure everything.
    pub problems: Vec<Problem>,
    /// What the user should know of the results.
    pub remarks: Vec<String>,
    /// The user stopped it, or its time was used up.
    pub interrupted: bool,
}

/// Why a platform did not measure everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// With the platform's name.
    pub text: String,
    /// The same machine had other counts before: none of its figures can be trusted.
    pub broken: bool,
}

impl Measured {
    /// Prints problems, remarks and where the results are, for commands with a table of their own.
    pub fn told(self, colours: Colours) -> (Vec<ResultFile>, Done) {
        self.tell_problems(colours);
        let done = self.done(colours);
        for remark in &self.remarks {
            output::remark(remark, colours);
        }
        let folder = self.folder.path().display();
        output::remark(&format!("results are in {folder}"), colours);
        (self.results, done)
    }

    /// Whether all was measured.
    pub fn is_whole(&self) -> bool {
        self.problems.is_empty() && !self.interrupted
    }

    /// How the command ends. A run that has measured nothing says so: it is no success, whatever the reasons.
    fn done(&self, colours: Colours) -> Done {
        let nothing = nothing(&self.results);
        if let Some(why) = &nothing {
            output::error(&anyhow::anyhow!("{why}"), colours);
        }
        match self.is_whole() && nothing.is_none() {
            true => Done::Whole,
            false => Done::InPart,
        }
    }

    /// Prints the problems as errors.
    pub fn tell_problems(&self, colours: Colours) {
        for problem in &self.problems {
            output::error(&anyhow::anyhow!("{}", problem.text), colours);
        }
    }
}

/// That results have no figures at all, in words; none if some have, or if there are no results.
fn nothing(results: &[ResultFile]) -> Option<String> {
    let has_figures = |row: &Row| row.status == Status::Ok && !row.metrics.is_empty();
    let rows: Vec<&Row> = results.iter().flat_map(|result| &result.rows).collect();
    if results.is_empty() || rows.iter().any(|row| has_figures(row)) {
        return None;
    }
    let all = rows.len();
    Some(match rows.first().filter(|_| all == 1) {
        Some(row) => format!(
            "nothing was measured: {}: {}: {}",
            row.benchmark,
            ws_report::status_word(row.status),
            row.reason.as_deref().unwrap_or("no reason is given")
        ),
        None => format!(
            "nothing was measured: none of {all} benchmarks has figures; the table has the reasons"
        ),
    })
}

/// When a run began, and the state of the host at that time.
struct Start {
    created: SystemTime,
    /// Absent if no platform of the run measures time on this host.
    doctor: Option<ws_doctor::Report>,
}

/// Measures, shows the table and keeps the results.
///
/// # Errors
/// Wrong usage, nothing to run on, or results that can't be written.
pub fn run(args: &RunArgs, colours: Colours) -> anyhow::Result<Done> {
    on_stdout(files(args))?;
    let layout = args.suite.map(Layout::of).transpose()?;
    let measured = measure(args, None, &Stop::listen()?, colours)?;
    measured.tell_problems(colours);
    show(args, layout.as_ref(), measured, colours)
}

/// Where forms of the table go.
fn files(args: &RunArgs) -> [Option<&Path>; 3] {
    let [json, markdown] = args.exports.files();
    [json, markdown, args.export_csv.as_deref()]
}

/// Measures, and writes the result files, into the caller's `folder` if there is one. Prints progress
/// on standard error. A result that can't be written becomes a problem; the results are returned.
///
/// # Errors
/// Wrong usage, nothing to run on, or a folder that can't take the results.
pub fn measure(
    args: &RunArgs,
    folder: Option<Rc<Folder>>,
    stop: &Stop,
    colours: Colours,
) -> anyhow::Result<Measured> {
    let mut start = Start {
        created: SystemTime::now(),
        doctor: None,
    };
    let pins = choose::pins(args)?;
    let mut resources = parts::resources(&args.parts, pins.cpus.clone());
    if let Some((file, what)) = &args.recording {
        resources.recording = Some(parts::recording(file, what.clone())?);
    }
    let names = choose::platforms(args, &resources, colours)?;
    let base = choose::base(args, &names)?;
    let progress = Progress::new(args.verbose);
    let (mut common, mut jobs) = open::open(args, &names, &resources, stop.clone())?;
    let folder = match folder {
        Some(folder) => folder,
        None => Rc::new(commands::folder(&args.output, start.created)?),
    };
    folder.must_take(jobs.iter().map(|job| &*job.name))?;
    let bytes = jobs.iter().map(|job| job.bytes_at_most(&common)).sum();
    must_have_room(folder.path(), bytes, "or name another folder with -o")?;
    for text in jobs.iter().filter_map(Job::label) {
        progress.say(&text);
    }
    if jobs.iter().any(Job::is_pinned) {
        progress.say(&pins.told);
    }
    if jobs.iter().any(is_timed) {
        start.doctor = Some(doctor::warn(&resources, &names, colours));
    }

    let left_out = rounds::all(args.quick, &mut common, &mut jobs, &progress);
    progress.clear();
    let mut measured = gather(&common, &jobs, folder, &start, base);
    measured.remarks.extend(left_out);
    for error in measured.folder.write(&measured.results) {
        measured.problems.push(Problem {
            text: format!("results were not kept: {error}"),
            broken: false,
        });
    }
    Ok(measured)
}

/// Collects the results, problems and remarks of all platforms.
fn gather(
    common: &Common,
    jobs: &[Job],
    folder: Rc<Folder>,
    start: &Start,
    base: Option<String>,
) -> Measured {
    let mut problems = Vec::new();
    for job in jobs {
        let mut problem = |broken, text| problems.push(Problem { text, broken });
        if let Some(why) = &job.failed {
            problem(false, format!("{}: {why}", job.name));
        }
        if !job.broken.is_empty() {
            problem(
                true,
                format!(
                    "{}: THE LAB IS BROKEN: the same machine gave other counts before: {}. Something outside of the \
                     machine changed them: please report this with the result file",
                    job.name,
                    job.broken.join("; ")
                ),
            );
        }
    }
    let gave = jobs.iter().filter(|job| !job.gathered.is_empty());
    let numbered = gave.zip(1..);
    let results: Vec<ResultFile> = numbered
        .map(|(job, position)| result(job, position, start))
        .collect();
    let of_jobs = jobs.iter().flat_map(Job::remarks).cloned();
    let of_results = results
        .iter()
        .flat_map(|result| remarks::on(result, folder.path()));
    Measured {
        remarks: of_jobs.chain(of_results).collect(),
        interrupted: common.stop.why() == Some(Why::Asked) || jobs.iter().any(|job| job.cut),
        results,
        folder,
        base,
        problems,
    }
}

/// Shows the table and the remarks.
fn show(
    args: &RunArgs,
    layout: Option<&Layout>,
    measured: Measured,
    colours: Colours,
) -> anyhow::Result<Done> {
    let done = measured.done(colours);
    let (results, folder) = (measured.results, measured.folder.path());
    if results.is_empty() {
        let why = if measured.interrupted {
            "stopped before anything was measured"
        } else {
            "nothing was measured"
        };
        bail!("{why}");
    }
    let base = measured.base;
    let options = ws_report::Options {
        baseline: base.filter(|name| results.iter().any(|result| result.platform == *name)),
        allow: args.allow.clone(),
    };
    let table = ws_report::table(&results, &options)?;
    let table = match layout {
        Some(layout) => layout.lay_out(table),
        None => table,
    };
    // First, because it needs no disk space.
    let on_stdout = on_stdout(files(args))?;
    if !on_stdout {
        let shown = Shown::asked(args.all, layout.is_some());
        output::data(&tables::text(&table, shown, colours))?;
    }
    export(args.exports.json_to(), || Ok(table.to_json()?))?;
    export(args.export_csv.as_deref(), || Ok(table.to_csv()?))?;
    export(args.exports.markdown_to(), || Ok(table.to_markdown()))?;
    for remark in &measured.remarks {
        output::remark(remark, colours);
    }
    if measured.interrupted {
        // It has no bound.
        let why = Why::Asked.words();
        output::remark(&format!("{why}; the results until then are kept"), colours);
    }
    output::remark(&format!("results are in {}", folder.display()), colours);
    if args.report {
        let path = folder.join(report::FILE);
        let asked = report::Asked {
            baseline: options.baseline,
            allow: args.allow.clone(),
            ..report::Asked::default()
        };
        report::write(&path, &results, asked)?;
        output::remark(&report::told(&path), colours);
    }
    if !on_stdout && table.main_rows().is_some() {
        tables::next(&table, folder, colours);
    }
    Ok(done)
}

/// Whether it measures time on this host, in machines that this program starts.
fn is_timed(job: &Job) -> bool {
    job.control() == Control::Launched && !job.is_exact()
}

/// `position`: among the platforms of the run, from 1.
fn result(job: &Job, position: u32, start: &Start) -> ResultFile {
    let doctor = start.doctor.as_ref().filter(|_| is_timed(job));
    ResultFile {
        schema: SCHEMA.into(),
        created: time::rfc3339(start.created),
        tool: format!("worldswitch {VERSION}"),
        command: std::env::args_os()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        platform: job.name.clone(),
        position: Some(position),
        identity: job.identity(),
        disturbances: doctor.map(|report| doctor::disturbances(report, &job.name)),
        interrupted: job.cut || job.failed.is_some(),
        boots: job.gathered.boots.clone(),
        rows: job.rows(),
    }
}
