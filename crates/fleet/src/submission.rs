//! A submission: tasks and builds that were given to Slurm at one time. Its file is written before the first job and
//! never changes. So each task reads its work from the file, and nothing that was submitted is ever forgotten.

use crate::campaign::Campaign;
use crate::cell::Key;
use crate::task::Task;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The format version.
pub const SCHEMA: &str = "worldswitch-fleet-submission/1";

/// Contents of a submission's file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Number of the submission in this folder, from 1.
    pub number: u32,
    /// Time of the submission, RFC 3339, UTC.
    pub created: String,
    /// The campaign as it was then.
    pub campaign: Campaign,
    /// Tasks to be measured, in the order of [`Self::parts`].
    pub tasks: Vec<Planned>,
    /// The cell that every node measures first.
    pub proof: Option<Task>,
    /// The kernels to build.
    pub builds: Vec<Build>,
    /// The lab's packages for nodes; none if they are not carried.
    pub carried: Option<Carried>,
    /// The jobs.
    pub parts: Vec<Part>,
}

/// Task of a submission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    pub task: Task,
    /// Cell of the task, if its machine's digest was known: a node that finds another cell has other files.
    pub cell: Option<Key>,
}

/// Kernels of one repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// The repository.
    pub tree: PathBuf,
    /// The user's shell command.
    pub command: Option<String>,
    /// The kernels, oldest first.
    pub kernels: Vec<ToBuild>,
}

/// A kernel to build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToBuild {
    /// Name of the kernel's folder.
    pub name: String,
    /// The commit's full hash.
    pub commit: String,
    /// First line of the commit's message.
    pub subject: String,
}

/// Packages in an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carried {
    /// The archive, as written by `worldswitch lab export`.
    pub archive: PathBuf,
    /// Name and digest of each set in it.
    pub sets: Vec<(String, String)>,
}

/// A job of Slurm: an array of tasks, or a build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The job's name, which no other has.
    pub job: String,
    pub work: Work,
    /// Node on which alone the job runs; None: any.
    pub host: Option<String>,
    /// The name of the job without whose success it can't begin.
    pub after: Option<String>,
}

/// Work of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Tasks `first` to `first + count - 1`; the array's indices are 0 to `count - 1`.
    Tasks {
        /// Index of the first task.
        first: usize,
        /// Number of tasks.
        count: usize,
    },
    /// The build with this index.
    Build(usize),
}

impl Submission {
    /// The tasks of a job by its name, in the order of its array.
    pub fn tasks_of(&self, job: &str) -> &[Planned] {
        let part = self.parts.iter().find(|part| part.job == job);
        match part.map(|part| part.work) {
            Some(Work::Tasks { first, count }) => {
                let end = first.saturating_add(count);
                self.tasks.get(first..end).unwrap_or_default()
            }
            Some(Work::Build(_)) | None => &[],
        }
    }
}

/// Cuts tasks into jobs. Tasks of one job have the same host and wait for the same build; otherwise their order is
/// kept. Returns the tasks in the jobs' order.
pub fn parts(
    tasks: Vec<Planned>,
    builds: &[Build],
    most: u32,
    name: impl Fn(usize) -> String,
) -> (Vec<Planned>, Vec<Part>) {
    let mut parts = Vec::new();
    // Builds come first: a build's index is then also the index of its part.
    for (index, _) in builds.iter().enumerate() {
        parts.push(Part {
            job: name(parts.len()),
            work: Work::Build(index),
            host: None,
            after: None,
        });
    }
    let build_of = |task: &Task| {
        let kernel = task.kernel.as_ref()?;
        let has = |build: &Build| build.kernels.iter().any(|one| one.name == *kernel);
        builds.iter().position(has)
    };
    let mut groups: Vec<(Option<String>, Option<usize>, Vec<Planned>)> = Vec::new();
    for planned in tasks {
        let (host, build) = (planned.task.host.clone(), build_of(&planned.task));
        match groups
            .iter_mut()
            .find(|(h, b, _)| (h, *b) == (&host, build))
        {
            Some((_, _, group)) => group.push(planned),
            None => groups.push((host, build, vec![planned])),
        }
    }
    let mut ordered = Vec::new();
    for (host, build, group) in groups {
        for chunk in group.chunks(most.max(1) as usize) {
            let after = build
                .and_then(|build| parts.get(build))
                .map(|part: &Part| part.job.clone());
            parts.push(Part {
                job: name(parts.len()),
                work: Work::Tasks {
                    first: ordered.len(),
                    count: chunk.len(),
                },
                host: host.clone(),
                after,
            });
            ordered.extend_from_slice(chunk);
        }
    }
    (ordered, parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn planned(platform: &str, host: Option<&str>, kernel: Option<&str>) -> Planned {
        Planned {
            task: Task {
                platform: platform.into(),
                kernel: kernel.map(str::to_owned),
                host: host.map(str::to_owned),
                apps: false,
                rows: Vec::new(),
                boots: 1,
                perturb: 0,
                samples: None,
            },
            cell: None,
        }
    }

    fn build(names: &[&str]) -> Build {
        let kernels = names.iter().map(|name| ToBuild {
            name: (*name).into(),
            commit: (*name).into(),
            subject: String::new(),
        });
        Build {
            tree: "/linux".into(),
            command: None,
            kernels: kernels.collect(),
        }
    }

    #[test]
    fn tasks_wait_for_the_build_of_their_kernel_only() {
        let tasks = vec![
            planned("a", None, None),
            planned("b", None, Some("k1")),
            planned("c", Some("n1"), None),
            planned("d", None, None),
            planned("e", None, Some("k2")),
        ];
        let builds = [build(&["k1", "k2"])];
        let (ordered, parts) = parts(tasks, &builds, 10, |number| format!("j{number}"));
        let ordered: Vec<&str> = ordered.iter().map(|one| &*one.task.platform).collect();
        assert_eq!(ordered, ["a", "d", "b", "e", "c"]);
        let told = parts
            .iter()
            .map(|part| (&*part.job, part.host.as_deref(), part.after.as_deref()));
        let told: Vec<_> = told.collect();
        assert_eq!(
            told,
            [
                ("j0", None, None),
                ("j1", None, None),
                ("j2", None, Some("j0")),
                ("j3", Some("n1"), None),
            ]
        );
    }

    proptest! {
        #[test]
        fn every_task_is_in_one_job(
            tasks in prop::collection::vec((prop::option::of("[nm]"), prop::option::of("k[12]")), 0..20),
            most in 1u32..5,
        ) {
            let tasks: Vec<Planned> = tasks.iter().enumerate().map(|(index, (host, kernel))| {
                planned(&index.to_string(), host.as_deref(), kernel.as_deref())
            }).collect();
            let (ordered, parts) = parts(tasks.clone(), &[build(&["k1"])], most, |n| n.to_string());
            let mut next = 0;
            for part in &parts {
                if let Work::Tasks { first, count } = part.work {
                    prop_assert_eq!(first, next);
                    prop_assert!(count >= 1 && count <= most as usize);
                    next += count;
                    for one in &ordered[first..next] {
                        prop_assert_eq!(&one.task.host, &part.host);
                        prop_assert_eq!(one.task.kernel.as_deref() == Some("k1"), part.after.is_some());
                    }
                }
            }
            prop_assert_eq!(next, tasks.len());
            let sorted = |list: &[Planned]| {
                let mut names: Vec<String> = list.iter().map(|one| one.task.platform.clone()).collect();
                names.sort();
                names
            };
            prop_assert_eq!(sorted(&ordered), sorted(&tasks));
        }
    }
}
