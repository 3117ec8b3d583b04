//! `worldswitch run fleet cancel`.

use super::campaign;
use crate::cli::fleet::CampaignArgs;
use crate::shared::Done;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use ws_fleet::queue;
use ws_terminal::{columns, output};

/// The format version of `--json`.
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

/// Ends all jobs of the campaign's folder that are queued or running.
pub fn cancel(args: &CampaignArgs) -> anyhow::Result<Done> {
    let (campaign, folder) = campaign(args)?;
    let mut submissions = folder.submissions()?;
    submissions.retain(|submission| submission.campaign.name == campaign.name);
    let queued = queue::queued(&submissions)?;
    let jobs: BTreeSet<&str> = queued.iter().map(|queued| &*queued.job).collect();
    let jobs: Vec<&str> = jobs.into_iter().collect();
    queue::cancel(&jobs)?;
    let cancelled = Cancelled {
        schema: SCHEMA,
        jobs: jobs.iter().map(|job| (*job).to_owned()).collect(),
        tasks: queued.len(),
    };
    output::data(&match args.json {
        true => columns::json(&cancelled)?,
        false if jobs.is_empty() => "nothing is queued or running\n".to_owned(),
        false => format!(
            "cancelled {} tasks of {}; results stay, and submit continues\n",
            cancelled.tasks,
            jobs.join(", ")
        ),
    })?;
    Ok(Done::Whole)
}
