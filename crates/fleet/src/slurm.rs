//! Slurm's command lines and output, as text only.

use crate::campaign::Slurm;
use crate::submission::{Part, Work};

/// Format of `squeue`: the job's name, the index in its array, state, node, and reason.
pub const QUEUE_FORMAT: &str = "%j|%K|%t|%N|%r";

/// A task in Slurm's queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Name of the job.
    pub job: String,
    /// Index in the job's array; 0 if the job is not an array.
    pub index: usize,
    /// Progress of the task.
    pub at: At,
}

/// Progress of a queued task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// The task runs on this node, or ends just now.
    Running(String),
    /// The task waits, for Slurm's reason.
    Waiting(String),
    /// The task can never run, for Slurm's reason: the job that it depends on failed.
    Stuck(String),
}

/// Words of the `squeue` command that lists these jobs.
pub fn queue_words<'a>(jobs: impl Iterator<Item = &'a str>) -> Vec<String> {
    let names: Vec<&str> = jobs.collect();
    vec![
        "--noheader".to_owned(),
        "--array".to_owned(),
        format!("--name={}", names.join(",")),
        format!("--format={QUEUE_FORMAT}"),
    ]
}

/// Parses the tasks that `squeue` lists. The error is the first line that is not a task.
pub fn queue(text: &str) -> Result<Vec<Queued>, String> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| parse(line).ok_or_else(|| line.to_owned()))
        .collect()
}

fn parse(line: &str) -> Option<Queued> {
    let mut words = line.trim().splitn(5, '|');
    let (job, index, state) = (words.next()?, words.next()?, words.next()?);
    let (node, reason) = (words.next()?, words.next()?);
    let at = match state {
        "PD" if reason == "DependencyNeverSatisfied" => At::Stuck(reason.to_owned()),
        "PD" | "RQ" | "RD" | "RF" | "RH" | "RS" | "SE" => At::Waiting(reason.to_owned()),
        _ => At::Running(node.to_owned()),
    };
    let is_array = index != "N/A";
    Some(Queued {
        job: job.to_owned(),
        index: if is_array { index.parse().ok()? } else { 0 },
        at,
    })
}

/// Parses the number of the job that `sbatch --parsable` made.
pub fn job_number(text: &str) -> Option<u64> {
    let number = text.trim().split(';').next()?;
    number.parse().ok()
}

/// Settings that all jobs of a submission share.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The site's settings.
    pub site: &'a Slurm,
    /// The folder of logs.
    pub logs: &'a str,
    /// Nodes that must not be used.
    pub exclude: &'a [String],
}

/// Words of `sbatch` for a part. `after`: the number of the job that must succeed first. `command`: the words that the
/// job's shell executes.
pub fn batch_words(
    job: Job<'_>,
    part: &Part,
    after: Option<u64>,
    command: &[String],
) -> Vec<String> {
    let site = job.site;
    let mut words = vec![
        "--parsable".to_owned(),
        "--requeue".to_owned(),
        "--open-mode=append".to_owned(),
        "--ntasks=1".to_owned(),
        format!("--job-name={}", part.job),
    ];
    let mut option = |name: &str, value: Option<&String>| {
        words.extend(value.map(|value| format!("--{name}={value}")));
    };
    option("partition", site.partition.as_ref());
    option("account", site.account.as_ref());
    option("nodelist", part.host.as_ref());
    let (cpus, time, options) = match part.work {
        Work::Tasks { .. } => (site.cpus, &site.time, &site.options),
        Work::Build(_) => (site.build.cpus, &site.build.time, &site.build.options),
    };
    option("time", time.as_ref());
    // A part of one node names that node.
    let excludes = part.host.is_none() && !job.exclude.is_empty();
    let exclude = excludes.then(|| job.exclude.join(","));
    option("exclude", exclude.as_ref());
    option(
        "dependency",
        after.map(|number| format!("afterok:{number}")).as_ref(),
    );
    if after.is_some() {
        words.push("--kill-on-invalid-dep=yes".to_owned());
    }
    words.push(format!("--cpus-per-task={cpus}"));
    // A time is measured on a node that does nothing else.
    words.extend(part.host.is_some().then(|| "--exclusive".to_owned()));
    let log = match part.work {
        Work::Tasks { count, .. } => {
            words.push(format!("--array=0-{}", count.saturating_sub(1)));
            "-%a"
        }
        Work::Build(_) => "",
    };
    // sbatch would replace a percent sign in a file's name.
    let logs = job.logs.replace('%', "%%");
    words.push(format!("--output={logs}/{}{log}.log", part.job));
    words.extend(options.iter().cloned());
    let command: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    words.push(format!("--wrap=exec {}", command.join(" ")));
    words
}

/// Quotes a word for a POSIX shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_queue_is_read() {
        let text = "ws-1-0|0|R|n1|None\nws-1-0|1|PD||Resources\nws-1-0|2|CG|n2|None\n\
                    ws-1-1|N/A|PD||DependencyNeverSatisfied\nws-1-0|3|PD||(Reserved|x)\n";
        let queue = queue(text).unwrap();
        let at: Vec<&At> = queue.iter().map(|one| &one.at).collect();
        assert_eq!(
            at,
            [
                &At::Running("n1".into()),
                &At::Waiting("Resources".into()),
                &At::Running("n2".into()),
                &At::Stuck("DependencyNeverSatisfied".into()),
                &At::Waiting("(Reserved|x)".into()),
            ]
        );
        assert_eq!(
            (&*queue[1].job, queue[1].index, queue[3].index),
            ("ws-1-0", 1, 0)
        );
        assert_eq!(super::queue("slurm is down"), Err("slurm is down".into()));
    }

    #[test]
    fn a_job_s_number_is_read() {
        assert_eq!(job_number("17\n"), Some(17));
        assert_eq!(job_number("17;cluster\n"), Some(17));
        assert_eq!(job_number("no"), None);
    }

    #[test]
    fn a_site_s_options_reach_sbatch() {
        let site = Slurm {
            partition: Some("lab".into()),
            time: Some("0:10:00".into()),
            options: vec!["--qos=low".into()],
            ..Slurm::default()
        };
        let job = Job {
            site: &site,
            logs: "/f/100%",
            exclude: &["n3".to_owned()],
        };
        let mut part = Part {
            job: "ws-1-1".into(),
            work: Work::Tasks { first: 4, count: 3 },
            host: None,
            after: Some("ws-1-0".into()),
        };
        let words = batch_words(job, &part, Some(7), &["/bin/a b".into(), "it's".into()]);
        for word in [
            "--array=0-2",
            "--partition=lab",
            "--time=0:10:00",
            "--exclude=n3",
            "--dependency=afterok:7",
            "--qos=low",
            "--output=/f/100%%/ws-1-1-%a.log",
            "--wrap=exec '/bin/a b' 'it'\\''s'",
        ] {
            assert!(words.iter().any(|one| one == word), "{word}: {words:?}");
        }
        assert!(!words.iter().any(|word| word == "--exclusive"));
        part.work = Work::Build(0);
        let words = batch_words(job, &part, None, &[]);
        assert!(words.contains(&"--cpus-per-task=8".to_owned()));
        assert!(
            !words
                .iter()
                .any(|word| word.starts_with("--array") || word.starts_with("--dep"))
        );
    }

    proptest! {
        #[test]
        fn no_line_makes_it_stumble(text in "[a-z|0-9\n /A-Z]{0,60}") {
            let _ = queue(&text);
            let _ = job_number(&text);
        }
    }
}
