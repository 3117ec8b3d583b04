//! The list of a history's runs, as text and as JSON.

use crate::Run;
use schemars::JsonSchema;
use serde::Serialize;
use ws_text::{Set, Sheet};

/// The format version of the JSON.
const HISTORY: &str = "worldswitch-history/1";

/// The runs as JSON.
#[derive(Debug, Serialize, JsonSchema)]
pub struct History<'a> {
    /// Always `worldswitch-history/1`.
    #[schemars(extend("const" = HISTORY))]
    schema: &'static str,
    /// Runs, the oldest first.
    runs: Vec<ListedRun<'a>>,
}

/// A run.
#[derive(Debug, Serialize, JsonSchema)]
struct ListedRun<'a> {
    /// Number of the run.
    run: i64,
    /// Time at which the run began, in UTC.
    created: &'a str,
    platform: &'a str,
    /// Host that measured; null if the result does not name one.
    host: Option<&'a str>,
    kernel: Option<&'a str>,
    /// Program that measured.
    tool: &'a str,
    /// Command line of the program.
    command: &'a str,
    /// Whether `history check` compares newer runs with this run.
    pinned: bool,
}

impl<'a> History<'a> {
    /// Lists runs as JSON.
    pub fn of(runs: &'a [Run]) -> Self {
        let runs = runs.iter().map(|run| ListedRun {
            run: run.id,
            created: &run.created,
            platform: &run.platform,
            host: Some(run.host.as_str()).filter(|host| !host.is_empty()),
            kernel: run.kernel.as_deref(),
            tool: &run.tool,
            command: &run.command,
            pinned: run.pinned,
        });
        Self {
            schema: HISTORY,
            runs: runs.collect(),
        }
    }
}

/// Lists runs as text.
pub fn list(runs: &[Run]) -> String {
    let heads = ["run", "began", "platform", "host", "kernel", ""];
    let mut sheet = Sheet::new(heads.map(|head| (head, Set::Text)));
    sheet.extend(runs.iter().map(|run| {
        let pinned = if run.pinned { "pinned" } else { "" };
        let kernel = run.kernel.as_deref().unwrap_or("-");
        let host = if run.host.is_empty() { "-" } else { &run.host };
        let id = run.id.to_string();
        [&id, &run.created, &run.platform, host, kernel, pinned].map(str::to_owned)
    }));
    sheet.to_terminal("")
}
