//! The budget of a test: checked, or kept up.

use crate::cli::TestArgs;
use crate::shared::budget::{self, not_a_budget};
use crate::shared::write;
use anyhow::{anyhow, bail};
use std::path::Path;
use ws_runner::parts;
use ws_terminal::{Colours, Usage, input, output};
use ws_trial::{Limits, Trial};

/// The user's budget.
pub struct Budget<'a> {
    path: &'a Path,
    /// Text of the file that is written; empty if it does not exist.
    text: String,
    /// Limits to check; none if the file is written.
    limits: Limits,
}

impl<'a> Budget<'a> {
    /// Reads the budget, if the user named one.
    ///
    /// # Errors
    /// The file can't be read, or it is not a budget.
    pub fn of(args: &'a TestArgs) -> anyhow::Result<Option<Self>> {
        let Some(path) = args.budget.as_deref() else {
            return Ok(None);
        };
        let mut budget = Self {
            path,
            text: String::new(),
            limits: Limits::new(),
        };
        match (args.write, path.exists()) {
            (true, false) => {}
            (true, true) => {
                budget.text = input::read(path)?;
                ws_budget::updated(&budget.text, &[]).map_err(|why| not_a_budget(path, &why))?;
            }
            (false, false) => bail!(Usage(format!(
                "there is no budget {}: --write makes it",
                path.display()
            ))),
            (false, true) => {
                let resources = parts::resources(&args.parts.to_parts());
                let platforms = budget::read(path, &resources)?.platforms.into_iter();
                budget.limits.extend(platforms.map(|one| {
                    let rows = one.rows.into_iter().map(|row| (row.benchmark, row.insns));
                    (one.platform.to_string(), rows.collect())
                }));
            }
        }
        Ok(Some(budget))
    }

    /// Checks the figures with the change.
    pub fn check(&self, trial: &mut Trial) {
        trial.check_budget(&self.limits);
    }

    /// Writes the figures with the change into the file, if the user asked for it.
    ///
    /// # Errors
    /// The file can't be changed or written.
    pub fn keep_up(&self, args: &TestArgs, trial: &Trial, colours: Colours) -> anyhow::Result<()> {
        if !args.write {
            return Ok(());
        }
        let new = ws_budget::updated(&self.text, &trial.budget())
            .map_err(|why| anyhow!("{}: {why}", self.path.display()))?;
        if write(self.path, new.as_bytes())? {
            output::remark(
                &format!("the budget is in {}", self.path.display()),
                colours,
            );
        }
        Ok(())
    }
}

/// The text of a budget that the trial just meets.
pub fn paste(trial: &Trial) -> String {
    let budget = trial.budget();
    match budget.iter().all(|(_, rows)| rows.is_empty()) {
        true => String::new(),
        false => ws_budget::updated("", &budget).unwrap_or_default(),
    }
}
