//! The order of kernels on a line.

use crate::by_version;
use std::collections::{BTreeMap, BTreeSet};

/// Kernels, each with the date of its first measurement.
#[derive(Default)]
pub struct Kernels {
    /// Date of the first measurement, by version and name on the line.
    first: BTreeMap<(String, String), String>,
}

impl Kernels {
    /// Adds a measurement of the kernel of this version and name at this date.
    pub fn add(&mut self, version: &str, name: &str, created: &str) {
        let at = self
            .first
            .entry((version.to_owned(), name.to_owned()))
            .or_insert_with(|| created.to_owned());
        if created < at.as_str() {
            created.clone_into(at);
        }
    }

    /// Returns the names in the order of their versions. Commits of one version are in the order of their first
    /// measurements.
    pub fn in_order(&self) -> Vec<String> {
        let mut order: Vec<_> = self.first.iter().collect();
        order.sort_by(|((a, name_a), at_a), ((b, name_b), at_b)| {
            let by_date = || at_a.cmp(at_b).then_with(|| name_a.cmp(name_b));
            by_version(a, b).then_with(by_date)
        });
        let mut seen = BTreeSet::new();
        let names = order.into_iter().map(|((_, name), _)| name);
        names.filter(|name| seen.insert(*name)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_order_and_commits_of_one_by_date() {
        let mut kernels = Kernels::default();
        for (version, name, created) in [
            ("linux 6.12.1", "linux 6.12.1", "2026-01-01"),
            ("linux 6.9.0", "linux 6.9.0 aaa-1", "2026-03-02"),
            ("linux 6.9.0", "linux 6.9.0 bbb-1", "2026-03-01"),
            ("linux 6.9.0", "linux 6.9.0 aaa-1", "2026-02-28"),
            ("linux 6.1.0", "linux 6.1.0", "2026-05-01"),
        ] {
            kernels.add(version, name, created);
        }
        assert_eq!(
            kernels.in_order(),
            [
                "linux 6.1.0",
                "linux 6.9.0 aaa-1",
                "linux 6.9.0 bbb-1",
                "linux 6.12.1"
            ]
        );
    }
}
