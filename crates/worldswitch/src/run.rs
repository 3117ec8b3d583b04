//! `worldswitch run`: platforms in, result files and a table out.

use crate::cli::RunArgs;
use crate::job::{Common, Job};
use crate::output::{self, Colours};
use crate::plan::Parameters;
use crate::progress::Progress;
use crate::stop::Stop;
use crate::{Usage, choose, data, doctor, quick, remarks, report, time};
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use ws_machines::image::GuestImage;
use ws_machines::machine::Control;
use ws_machines::name::PlatformName;
use ws_machines::platforms;
use ws_machines::resources::Resources;
use ws_results::{ResultFile, SCHEMA};

/// The second boot proves the digits of the first.
const EXACT_BOOTS: u32 = 2;
/// Fewer can't tell a difference from chance.
const TIMED_BOOTS: u32 = 5;

/// How a command ended that did not fail as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// All that was asked for.
    Whole,
    /// Some of it; standard error has the rest.
    InPart,
}

/// Runs.
///
/// # Errors
/// Wrong usage, nothing to run on, or results that can't be written.
pub fn run(args: &RunArgs, colours: Colours) -> anyhow::Result<Done> {
    let created = SystemTime::now();
    let pins = choose::pins(args)?;
    let resources = data::resources(&args.parts, pins.cpus.clone());
    let names = choose::platforms(args, &resources, colours)?;
    let baseline = choose::baseline(args, &names)?;
    let stop = Stop::listen()?;
    let mut progress = Progress::new(args.verbose);
    let (mut common, mut jobs) = open(args, &names, &resources, stop)?;
    let folder = Folder::make(args.output.as_deref(), created)?;
    for text in jobs.iter().filter_map(Job::label) {
        progress.say(&text);
    }
    if jobs.iter().any(Job::is_pinned) {
        progress.say(&pins.told);
    }
    let timed = |job: &Job| job.control() == Control::Launched && !job.is_exact();
    if jobs.iter().any(timed) {
        doctor::warn(&resources, &names, colours);
    }

    measure(args, &mut common, &mut jobs, &mut progress);
    progress.clear();
    finish(args, &common, &jobs, &folder, created, baseline, colours)
}

/// Reads the image, selects its benchmarks, and makes ready all machines.
fn open(
    args: &RunArgs,
    names: &[PlatformName],
    resources: &Resources,
    stop: Stop,
) -> anyhow::Result<(Common, Vec<Job>)> {
    let mut machines = Vec::new();
    for name in names {
        let machine = platforms::open(name, resources).with_context(|| name.to_string())?;
        machines.push((name.to_string(), machine));
    }
    let booted = machines
        .iter()
        .any(|(_, machine)| machine.control() == Control::Launched);
    // A log can be read without an image; to boot, and where the user names one, it must be good.
    let image = match &resources.guest {
        Some(Ok(path)) if booted || args.parts.guest.is_some() => Some(GuestImage::read(path)?),
        Some(Ok(path)) => GuestImage::read(path).ok(),
        Some(Err(why)) if args.parts.guest.is_some() => bail!("{why}"),
        _ => None,
    };
    let all = image.as_ref().map_or(&[][..], |image| &image.rows);
    let selected: Vec<_> = all
        .iter()
        .filter(|row| {
            args.bench
                .as_ref()
                .is_none_or(|regex| regex.is_match(&row.name))
        })
        .cloned()
        .collect();
    if booted && selected.is_empty() {
        let names: Vec<&str> = all.iter().map(|row| row.name.as_str()).collect();
        bail!(Usage(format!(
            "--bench finds no benchmark among {}",
            names.join(", ")
        )));
    }
    choose::check_pins(args, &resources.pins, &selected)?;
    let common = Common {
        image_rows: all.len(),
        rows: selected,
        bench: args.bench.clone(),
        image_sha256: image.as_ref().map(|image| image.sha256.clone()),
        parameters: Parameters {
            samples: args.samples,
            iters: args.iters,
            page: args.page,
            ws_bytes: args.ws,
            pad: args.pad,
            external: args.external,
        },
        smp: args.smp,
        bench_limit: args.timeout,
        stop,
    };
    let mut jobs = Vec::new();
    for (name, machine) in machines {
        let default = match (machine.control(), machine.unit(), machine.sizes()) {
            (Control::Replayed, _, _) => None,
            (Control::Listened, _, _) => Some(1),
            (Control::Launched, _, Some(sizes)) => Some(sizes.boots),
            (Control::Launched, Some("insns"), _) => Some(EXACT_BOOTS),
            (Control::Launched, _, _) => Some(TIMED_BOOTS),
        };
        let mut job = Job::new(name, machine, args.boots.or(default), &common);
        job.prepare().with_context(|| job.name.clone())?;
        if job.control() != Control::Launched && common.parameters != Parameters::default() {
            job.remarks.push(format!(
                "{}: somebody else boots it, so what it measures is on its own command line, not on this one",
                job.name
            ));
        }
        jobs.push(job);
    }
    Ok((common, jobs))
}

/// Boots all platforms, in rounds, every second one in the opposite order: what drifts on the
/// host meets all of them alike.
fn measure(args: &RunArgs, common: &mut Common, jobs: &mut [Job], progress: &mut Progress) {
    for round in 0u32.. {
        if round == 1 && args.quick {
            choose_quick(common, jobs, progress);
        }
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        let mut any = false;
        for index in order {
            let rows = common.rows.len();
            let left: Duration = jobs
                .iter()
                .filter(|job| job.control() == Control::Launched)
                .map(|job| job.estimate(rows) * job.boots_left())
                .sum();
            let Some(job) = jobs.get_mut(index) else {
                continue;
            };
            if common.stop.requested() {
                job.cut |= job.boots_left() > 0;
                continue;
            }
            match job.control() {
                Control::Launched if job.boots_left() > 0 => {
                    let left_after = left.saturating_sub(job.estimate(rows));
                    if round > 0
                        && args.quick
                        && progress.elapsed() + job.estimate(rows) > quick::BUDGET
                    {
                        job.wanted = Some(round);
                        continue;
                    }
                    job.boot(common, progress, left_after);
                    any = true;
                }
                Control::Listened | Control::Replayed if round == 0 => job.hear(common, progress),
                _ => {}
            }
        }
        if !any {
            break;
        }
    }
}

/// After the first round: what fits into the rest of the budget. Says what it chose.
fn choose_quick(common: &mut Common, jobs: &mut [Job], progress: &mut Progress) {
    let rows = common.rows.len();
    let spent = progress.elapsed();
    let booted = |job: &&Job| job.control() == Control::Launched && job.failed.is_none();
    let round: Duration = jobs
        .iter()
        .filter(booted)
        .map(|job| job.estimate(rows))
        .sum();
    let most = jobs.iter().map(Job::boots_left).max().unwrap_or(0);
    if most == 0 {
        return;
    }
    let timed = jobs.iter().filter(booted).any(|job| !job.is_exact());
    if timed && quick::cut_samples(spent, round, most) {
        common.parameters.samples = Some(quick::FEW_SAMPLES);
    }
    let fit = quick::boots_that_fit(spent, round, most);
    let mut chosen = Vec::new();
    for job in jobs.iter_mut().filter(|job| job.boots_left() > 0) {
        let boots = 1 + job.boots_left().min(fit);
        job.wanted = Some(boots);
        chosen.push(format!(
            "{boots} x {} ({} each)",
            job.name,
            time::short(job.estimate(rows))
        ));
    }
    let samples = match common.parameters.samples {
        Some(samples) => format!("{samples} samples a benchmark from the second boot on"),
        None => "samples as the guest chooses".to_owned(),
    };
    progress.say(&format!(
        "quick: boots {}, {samples}, to fit {}",
        chosen.join(", "),
        time::short(quick::BUDGET)
    ));
}

/// The folder of a run's results; it goes away again if nothing came into it.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    /// Made before anything is measured: a wrong path then costs no time.
    fn make(named: Option<&Path>, created: SystemTime) -> anyhow::Result<Self> {
        let path = match named {
            Some(path) => path.to_owned(),
            None => {
                let first = Path::new("ws-runs").join(time::for_folder(created));
                let name = first.display().to_string();
                let others = (2..).map(|number| PathBuf::from(format!("{name}-{number}")));
                std::iter::once(first)
                    .chain(others)
                    .find(|path| !path.exists())
                    .context("no name is left for a folder in ws-runs")?
            }
        };
        std::fs::create_dir_all(&path)
            .with_context(|| format!("can't make the folder for results, {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Fails where results lie in it, as it should.
        let _ = std::fs::remove_dir(&self.0);
        if let Some(parent) = self.0.parent().filter(|parent| parent.ends_with("ws-runs")) {
            let _ = std::fs::remove_dir(parent);
        }
    }
}

/// Writes the results, shows the table, and tells what the user should know.
fn finish(
    args: &RunArgs,
    common: &Common,
    jobs: &[Job],
    folder: &Folder,
    created: SystemTime,
    baseline: Option<String>,
    colours: Colours,
) -> anyhow::Result<Done> {
    let interrupted = common.stop.requested();
    let mut done = if interrupted {
        Done::InPart
    } else {
        Done::Whole
    };
    let mut results = Vec::new();
    for job in jobs {
        if let Some(why) = &job.failed {
            done = Done::InPart;
            output::error(&anyhow::anyhow!("{}: {why}", job.name), colours);
        }
        if job.gathered.is_empty() {
            continue;
        }
        let result = result(job, common, created);
        ws_results::write_into(&folder.0, &result)?;
        results.push(result);
    }
    if results.is_empty() {
        let why = if interrupted {
            "stopped before anything was measured"
        } else {
            "nothing was measured"
        };
        bail!("{why}");
    }
    let options = ws_report::Options {
        baseline: baseline.filter(|name| results.iter().any(|result| result.platform == *name)),
        allow: args.allow.clone(),
    };
    let table = ws_report::table(&results, &options)?;
    export(args.export_json.as_deref(), || Ok(table.to_json()?))?;
    export(args.export_csv.as_deref(), || Ok(table.to_csv()?))?;
    export(args.export_markdown.as_deref(), || Ok(table.to_markdown()))?;
    output::data(&table.to_terminal(colours.stdout))?;
    for remark in jobs.iter().flat_map(|job| &job.remarks) {
        output::remark(remark, colours);
    }
    for remark in results
        .iter()
        .flat_map(|result| remarks::on(result, &folder.0))
    {
        output::remark(&remark, colours);
    }
    if interrupted {
        output::remark(
            "the run was stopped; what was measured until then is kept",
            colours,
        );
    }
    output::remark(&format!("results are in {}", folder.0.display()), colours);
    if args.report {
        let path = folder.0.join(report::FILE);
        report::write(&path, &results, options.baseline, &args.allow)?;
        output::remark(&report::told(&path), colours);
    }
    Ok(done)
}

fn export(
    path: Option<&Path>,
    text: impl FnOnce() -> anyhow::Result<String>,
) -> anyhow::Result<()> {
    if let Some(path) = path {
        ws_results::write_bytes(path, text()?.as_bytes())?;
    }
    Ok(())
}

fn result(job: &Job, common: &Common, created: SystemTime) -> ResultFile {
    ResultFile {
        schema: SCHEMA.into(),
        created: time::rfc3339(created),
        tool: concat!("worldswitch ", env!("CARGO_PKG_VERSION")).into(),
        command: std::env::args_os()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        platform: job.name.clone(),
        identity: job.identity(common),
        interrupted: job.cut || job.failed.is_some(),
        boots: job.gathered.boots.clone(),
        rows: job.rows(common),
    }
}
