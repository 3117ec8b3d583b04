//! The user's budget file: read for a check, or kept up.

use crate::{Budget, Figures, parse, sound, updated};
use anyhow::anyhow;
use std::path::Path;
use ws_machines::resources::Resources;
use ws_terminal::{Usage, input};

/// Limits by platform and benchmark, in instructions.
pub type Limits = Vec<(String, Vec<(String, f64)>)>;

impl Budget {
    /// Reads a budget, whose platforms and benchmarks must exist.
    ///
    /// # Errors
    /// The file can't be read; wrong usage: it is not a budget, or names what does not exist.
    pub fn read(path: &Path, resources: &Resources) -> anyhow::Result<Self> {
        let budget = parse(&input::read(path)?).map_err(|why| not_a_budget(path, &why))?;
        sound(&budget, resources).map_err(|why| Usage(format!("{}: {why}", path.display())))?;
        Ok(budget)
    }

    /// The budget's limits.
    pub fn limits(self) -> Limits {
        let platforms = self.platforms.into_iter();
        let limits = platforms.map(|one| {
            let rows = one.rows.into_iter().map(|row| (row.benchmark, row.insns));
            (one.platform.to_string(), rows.collect())
        });
        limits.collect()
    }
}

/// A budget file whose figures are kept up.
pub struct KeptUp<'a> {
    path: &'a Path,
    /// Text of the file; empty if there is none yet.
    text: String,
}

impl<'a> KeptUp<'a> {
    /// Reads the file, if there is one, before anything is measured.
    pub fn read(path: &'a Path) -> anyhow::Result<Self> {
        let mut text = String::new();
        if path.exists() {
            text = input::read(path)?;
            updated(&text, &[]).map_err(|why| not_a_budget(path, &why))?;
        }
        Ok(Self { path, text })
    }

    /// The file's text with these figures.
    pub fn with(&self, figures: &Figures) -> anyhow::Result<String> {
        updated(&self.text, figures).map_err(|why| anyhow!("{}: {why}", self.path.display()))
    }
}

/// The text of a budget that these figures just meet; empty without figures.
pub fn fresh(figures: &Figures) -> String {
    match figures.iter().all(|(_, rows)| rows.is_empty()) {
        true => String::new(),
        false => updated("", figures).unwrap_or_default(),
    }
}

fn not_a_budget(path: &Path, why: &str) -> Usage {
    Usage(format!("{} is not a budget: {why}", path.display()))
}
