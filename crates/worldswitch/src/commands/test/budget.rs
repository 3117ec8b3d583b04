//! The budget of a test: checked, or kept up.

use crate::cli::TestArgs;
use crate::shared::{input, write};
use anyhow::{anyhow, bail};
use std::path::Path;
use ws_runner::parts;
use ws_terminal::{Colours, Usage, output};
use ws_trial::{Limits, Trial};

/// The user's budget.
pub struct Budget<'a> {
    path: &'a Path,
    /// Text of the file; empty if it is to be written and does not exist.
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
        let wrong = |why: String| Usage(format!("{} is not a budget: {why}", path.display()));
        if !args.write && !path.exists() {
            bail!(Usage(format!(
                "there is no budget {}: --write makes it",
                path.display()
            )));
        }
        let text = match args.write && !path.exists() {
            true => String::new(),
            false => input::read(path)?,
        };
        let mut limits = Limits::new();
        if args.write {
            ws_budget::updated(&text, &[]).map_err(wrong)?;
        } else {
            let budget = ws_budget::parse(&text).map_err(wrong)?;
            let resources = parts::resources(&args.parts.to_parts());
            ws_budget::sound(&budget, &resources).map_err(wrong)?;
            limits.extend(budget.platforms.into_iter().map(|one| {
                let rows = one.rows.into_iter().map(|row| (row.benchmark, row.insns));
                (one.platform.to_string(), rows.collect())
            }));
        }
        Ok(Some(Self { path, text, limits }))
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
    let has_figures = trial.budget().iter().any(|(_, rows)| !rows.is_empty());
    let text = has_figures.then(|| ws_budget::updated("", &trial.budget()));
    text.and_then(Result::ok).unwrap_or_default()
}
