//! Benchmarks, and the platforms that can measure each.

use anyhow::Context;
use schemars::JsonSchema;
use serde::Serialize;
use ws_machines::image::{BenchmarkRow, GuestImage};
use ws_machines::machine::Machine;
use ws_machines::name::PlatformName;
use ws_machines::platforms::{self, Usable};
use ws_machines::resources::Resources;
use ws_runner::answer::Answer;
use ws_terminal::Usage;
use ws_terminal::columns::{self, columns};

/// A platform, ready to be asked.
struct Asked {
    name: String,
    machine: Box<dyn Machine>,
    rows: Vec<BenchmarkRow>,
}

/// A benchmark, with the answer of each platform that has it.
struct Line<'a> {
    row: &'a BenchmarkRow,
    answers: Vec<(&'a str, Answer)>,
}

/// The format version of `--json`.
const SCHEMA: &str = "worldswitch-benchmarks/1";

/// The list as JSON.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Benchmarks<'a> {
    /// Always `worldswitch-benchmarks/1`.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// Benchmarks, in the order of the guest images.
    benchmarks: Vec<Benchmark<'a>>,
}

/// A benchmark.
#[derive(Debug, Serialize, JsonSchema)]
struct Benchmark<'a> {
    name: &'a str,
    category: &'a str,
    summary: &'a str,
    /// Requirements on the machine, in words.
    requires: &'a str,
    /// The requested platforms that have this benchmark, and whether each can measure it.
    platforms: Vec<OnPlatform<'a>>,
    vcpus: u32,
    /// Options of the guest that the benchmark reads.
    parameters: &'a [&'static str],
    /// The fewest operations in a sample, on units of time.
    min_iterations: u64,
    /// The most operations in a sample, on units of time.
    max_iterations: u64,
    /// Operations in a sample, on instruction counts.
    insns_iterations: u64,
    /// Samples, on instruction counts.
    insns_samples: u64,
    /// Digest of the benchmark's machine code and of the harness.
    digest: &'a str,
}

/// Whether a platform can measure a benchmark.
#[derive(Debug, Serialize, JsonSchema)]
struct OnPlatform<'a> {
    platform: &'a str,
    /// Whether the platform can measure it; null if only the guest can tell.
    usable: Option<bool>,
    /// Reason why not, or the condition.
    why: Option<String>,
}

/// Lists the benchmarks of these platforms, as text or as JSON; by default, of the platforms that `run` uses.
pub fn benchmarks(
    on: &[PlatformName],
    resources: &Resources,
    as_json: bool,
) -> anyhow::Result<String> {
    let asked = asked(on, resources)?;
    // Without any platform there is still the image.
    let image = match asked.is_empty() {
        true => GuestImage::read(&resources.guest()?)?.rows,
        false => Vec::new(),
    };
    let lines = lines(&asked, &image);
    if as_json {
        return Ok(columns::json(&Benchmarks {
            schema: SCHEMA,
            benchmarks: lines.iter().map(Benchmark::of).collect(),
        })?);
    }
    let rows = lines.iter().map(|line| {
        let row = line.row;
        [
            row.name.clone(),
            row.summary.clone(),
            line.to_text(asked.len()),
        ]
    });
    let names: Vec<&str> = asked.iter().map(|asked| &*asked.name).collect();
    let on = match names.as_slice() {
        [] => "needs".to_owned(),
        names => format!("on {}", names.join(", ")),
    };
    Ok(columns(["benchmark", "measures", &on], rows))
}

/// The named platforms, or the usable ones of the default set.
fn asked(on: &[PlatformName], resources: &Resources) -> anyhow::Result<Vec<Asked>> {
    let mut names = on.to_vec();
    for name in &names {
        platforms::check(name, resources).map_err(|e| Usage(e.to_string()))?;
    }
    if names.is_empty() {
        let all = platforms::all(resources)?;
        let is_usable = |platform: &&platforms::Platform| {
            platform.default && platforms::usable(platform, resources) == Usable::Yes
        };
        let usable = all.iter().filter(is_usable);
        names = usable
            .map(|platform| platform.name.parse())
            .collect::<Result<_, _>>()?;
    }
    let open = |name: &PlatformName| {
        let machine = platforms::open(name, resources).with_context(|| name.to_string())?;
        let facts = machine.description();
        let rows = match &facts.workloads {
            Some(rows) => rows.clone(),
            None => GuestImage::read(&resources.guest_for(facts.architecture)?)?.rows,
        };
        let name = name.to_string();
        anyhow::Ok(Asked {
            name,
            machine,
            rows,
        })
    };
    names.iter().map(open).collect()
}

/// Makes a line for each benchmark of these platforms; without platforms, for each of the image.
fn lines<'a>(asked: &'a [Asked], image: &'a [BenchmarkRow]) -> Vec<Line<'a>> {
    let row = |row| Line {
        row,
        answers: Vec::new(),
    };
    let mut lines: Vec<Line> = image.iter().map(row).collect();
    for platform in asked {
        for row in &platform.rows {
            let answer = (&*platform.name, Answer::of(row, platform.machine.as_ref()));
            let known = lines.iter_mut().find(|line| line.row.name == row.name);
            match known {
                Some(line) => line.answers.push(answer),
                None => lines.push(Line {
                    row,
                    answers: vec![answer],
                }),
            }
        }
    }
    lines
}

impl Line<'_> {
    /// Says which of `asked` platforms can measure the benchmark.
    fn to_text(&self, asked: usize) -> String {
        let no = |answer: &Answer| match answer {
            Answer::No(why) => Some(why.clone()),
            Answer::Yes | Answer::If(_) => None,
        };
        let able: Vec<&(&str, Answer)> = self
            .answers
            .iter()
            .filter(|(_, answer)| no(answer).is_none())
            .collect();
        let condition = able.iter().find_map(|(_, answer)| match answer {
            Answer::If(needs) => Some(format!("if there is {needs}")),
            Answer::Yes | Answer::No(_) => None,
        });
        match (able.as_slice(), self.answers.first()) {
            ([], None) if self.row.requires.is_empty() => "nothing".to_owned(),
            ([], None) => self.row.requires.clone(),
            ([], Some((_, answer))) => format!("no: {}", no(answer).unwrap_or_default()),
            (able, _) if able.len() == asked => condition.unwrap_or_else(|| "yes".to_owned()),
            (able, _) => {
                let names: Vec<&str> = able.iter().map(|(name, _)| *name).collect();
                let condition = condition.map_or(String::new(), |text| format!(", {text}"));
                format!("only {}{condition}", names.join(", "))
            }
        }
    }
}

impl<'a> Benchmark<'a> {
    fn of(line: &'a Line<'a>) -> Self {
        let row = line.row;
        let platforms = line.answers.iter().map(|(platform, answer)| {
            let (usable, why) = match answer {
                Answer::Yes => (Some(true), None),
                Answer::If(needs) => (None, Some(format!("if it has {needs}"))),
                Answer::No(why) => (Some(false), Some(why.clone())),
            };
            OnPlatform {
                platform,
                usable,
                why,
            }
        });
        Self {
            name: &row.name,
            category: &row.category,
            summary: &row.summary,
            requires: &row.requires,
            platforms: platforms.collect(),
            vcpus: row.cpus,
            parameters: &row.parameters,
            min_iterations: row.min_iterations,
            max_iterations: row.max_iterations,
            insns_iterations: row.insns_iterations,
            insns_samples: row.insns_samples,
            digest: &row.digest,
        }
    }
}
