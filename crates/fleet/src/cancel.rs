//! Ends a campaign's jobs.

use crate::campaign;
use crate::queue;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

/// The format version of [`Cancelled`] as JSON.
const SCHEMA: &str = "worldswitch-fleet-cancel/1";

/// Jobs that were cancelled.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Cancelled {
    /// Always `worldswitch-fleet-cancel/1`.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// Names of the jobs.
    jobs: Vec<String>,
    /// Number of their tasks that were queued or running.
    tasks: usize,
}

/// Ends all jobs of the campaign of a file that are queued or running.
pub fn cancel(file: &Path) -> anyhow::Result<Cancelled> {
    let (campaign, folder) = campaign::open(file)?;
    let mut submissions = folder.submissions()?;
    submissions.retain(|submission| submission.campaign.name == campaign.name);
    let queued = queue::queued(&submissions)?;
    let jobs: BTreeSet<&str> = queued.iter().map(|queued| &*queued.job).collect();
    let jobs: Vec<&str> = jobs.into_iter().collect();
    queue::cancel(&jobs)?;
    Ok(Cancelled {
        schema: SCHEMA,
        jobs: jobs.into_iter().map(str::to_owned).collect(),
        tasks: queued.len(),
    })
}

impl Cancelled {
    /// Formats the jobs as text.
    pub fn to_text(&self) -> String {
        if self.jobs.is_empty() {
            return "nothing is queued or running\n".to_owned();
        }
        format!(
            "cancelled {} tasks of {}; results stay, and submit continues\n",
            self.tasks,
            self.jobs.join(", ")
        )
    }
}
