//! `--suite PAPER`: the paper's benchmarks, and the table in the paper's layout.

use crate::cli::Suite;
use regex::Regex;
use std::collections::BTreeMap;
use ws_report::Table;
use ws_report::reference::{Reference, SuiteRow};
use ws_runner::benchmarks;

/// A suite and all published figures.
#[derive(Debug)]
pub struct Layout {
    reference: Reference,
    name: String,
}

impl Layout {
    /// Loads the layout of a paper.
    pub fn of(suite: Suite) -> anyhow::Result<Self> {
        Ok(Self {
            reference: ws_report::reference::load()?,
            name: suite.name(),
        })
    }

    fn rows(&self) -> Vec<&SuiteRow> {
        self.reference.suite(&self.name)
    }

    /// Returns a regular expression that matches exactly the paper's benchmarks.
    pub fn benchmarks(&self) -> anyhow::Result<Regex> {
        let rows = self.rows();
        let names: Vec<&str> = rows.iter().map(|row| &*row.benchmark).collect();
        Ok(benchmarks::only(&names)?)
    }

    /// Returns the rows' names by benchmark. Where two programs have a row, the name of x86's goes first.
    pub fn names(&self) -> BTreeMap<String, String> {
        let rows = self.rows().into_iter();
        rows.map(|row| (row.benchmark.clone(), row.row.clone()))
            .collect()
    }

    /// Lays a table out as the paper does.
    pub fn lay_out(&self, table: Table) -> Table {
        table.as_suite(&self.rows(), &self.reference)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;
    use ws_machines::name::parse_list;
    use ws_machines::platforms::check;
    use ws_runner::parts::{self, Parts};

    #[test]
    fn every_suite_has_benchmarks_and_chooses_them_alone() {
        let resources = parts::resources(&Parts::default());
        for suite in Suite::value_variants() {
            let layout = Layout::of(*suite).unwrap();
            let benchmarks = layout.benchmarks().unwrap();
            assert!(benchmarks.is_match("hypercall"), "{suite:?}");
            assert!(!benchmarks.is_match("hypercall-x") && !benchmarks.is_match("sgdt-x"));
            if let Some(platforms) = suite.platforms() {
                for platform in parse_list(platforms).unwrap() {
                    assert!(check(&platform, &resources).is_ok(), "{platform}");
                }
            }
        }
    }
}
