//! A run: opens its platforms, boots them, and writes their results.

use crate::outcome::folder::{Folder, must_have_room};
use crate::outcome::remarks;
use crate::rounds::job::{Common, Job};
use crate::spec::{RunSpec, Session};
use crate::{choose, doctor, open, parts, rounds};
use std::rc::Rc;
use std::time::SystemTime;
use ws_machines::machine::Control;
use ws_results::{ResultFile, Row, SCHEMA, Status};
use ws_terminal::{Progress, Why, output, time};

/// The results of a measurement, before any is shown.
pub struct Measured {
    /// Results of the platforms that measured anything, as in the folder.
    pub results: Vec<ResultFile>,
    /// Folder of the results.
    pub folder: Rc<Folder>,
    /// Platform that the others are compared with, if the user named it.
    pub base: Option<String>,
    /// Reasons why platforms did not measure everything.
    pub problems: Vec<Problem>,
    /// Remarks on the results for the user.
    pub remarks: Vec<String>,
    /// Whether the user stopped the run, or its time was used up.
    pub interrupted: bool,
}

/// Reason why a platform did not measure everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Message, with the platform's name.
    pub text: String,
    /// Whether the same machine had other counts before: none of its figures can be trusted.
    pub broken: bool,
}

impl Measured {
    /// Whether all was measured.
    pub fn is_whole(&self) -> bool {
        self.problems.is_empty() && !self.interrupted
    }

    /// Prints problems, remarks and the folder of the results, for commands with a table of their own. Returns the
    /// results, and whether all was measured.
    pub fn finish(self) -> (Vec<ResultFile>, bool) {
        self.tell_problems();
        let is_whole = self.tell_outcome();
        for remark in &self.remarks {
            output::remark(remark);
        }
        let folder = self.folder.path().display();
        output::remark(&format!("results are in {folder}"));
        (self.results, is_whole)
    }

    /// Returns whether all was measured. A run that measured nothing is not a success, whatever the reasons; an error
    /// says so.
    pub fn tell_outcome(&self) -> bool {
        let nothing = nothing(&self.results);
        if let Some(why) = &nothing {
            output::error(&anyhow::anyhow!("{why}"));
        }
        self.is_whole() && nothing.is_none()
    }

    /// Prints the problems as errors.
    pub fn tell_problems(&self) {
        for problem in &self.problems {
            output::error(&anyhow::anyhow!("{}", problem.text));
        }
    }
}

/// Returns an error text if no result has a figure; `None` if one has, or if there are no results.
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
            row.status.word(),
            row.reason.as_deref().unwrap_or("no reason is given")
        ),
        None => format!(
            "nothing was measured: {all} benchmarks have no figures; the table has the reasons"
        ),
    })
}

/// Start of a run, and the state of the host at that time.
struct Start {
    tool: String,
    created: SystemTime,
    /// Report of the doctor; None if no platform of the run measures time on this host.
    doctor: Option<ws_doctor::Report>,
}

/// Measures, and writes the result files, into the caller's `folder` if there is one. Prints progress on standard
/// error. A result that can't be written becomes a problem; it is returned all the same.
///
/// # Errors
/// Wrong usage, nothing to run on, or a folder that can't take the results.
pub fn measure(
    spec: &RunSpec,
    folder: Option<Rc<Folder>>,
    session: &Session,
) -> anyhow::Result<Measured> {
    let mut start = Start {
        tool: session.tool.clone(),
        created: SystemTime::now(),
        doctor: None,
    };
    let pins = choose::pins(spec)?;
    let mut resources = parts::resources(&spec.parts);
    resources.pins = pins.cpus.clone();
    if let Some((file, what)) = &spec.recording {
        resources.recording = Some(parts::recording(file, what.clone())?);
    }
    let names = choose::platforms(spec, &resources)?;
    let base = choose::base(spec, &names)?;
    let progress = Progress::new(spec.verbose);
    let (mut common, mut jobs) = open::open(spec, &names, &resources, session.stop.clone())?;
    let folder = match folder {
        Some(folder) => folder,
        None => Rc::new(spec.output.make(start.created)?),
    };
    // The folder is checked before the first boot: later a refusal would lose the measurement.
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
        start.doctor = Some(doctor::warn(&resources, &names));
    }

    let left_out = rounds::all(spec.quick, &mut common, &mut jobs, &progress);
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

/// Whether the platform measures time on this host, in machines that this program starts.
fn is_timed(job: &Job) -> bool {
    job.control() == Control::Launched && !job.is_exact()
}

/// Makes a platform's result. `position`: the platform's place in the run, from 1.
fn result(job: &Job, position: u32, start: &Start) -> ResultFile {
    let doctor = start.doctor.as_ref().filter(|_| is_timed(job));
    ResultFile {
        schema: SCHEMA.into(),
        created: time::rfc3339(start.created),
        tool: start.tool.clone(),
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
