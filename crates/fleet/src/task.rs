//! A task: one cell as the campaign states it. Its machine's digest may still be unknown, because its kernel is
//! not built.

use crate::sha256;
use serde::{Deserialize, Serialize};

/// Measurement of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The platform's canonical name, with its kernel.
    pub platform: String,
    /// Name of the kernel's folder, if the campaign builds the kernel.
    pub kernel: Option<String>,
    /// Host on which the task must be measured, for platforms that measure time.
    pub host: Option<String>,
    /// Whether the rows are workloads of a whole Linux.
    pub apps: bool,
    /// The benchmarks, sorted.
    pub rows: Vec<String>,
    /// Boots that are alike.
    pub boots: u32,
    /// Perturbed boots.
    pub perturb: u32,
    /// Samples of each benchmark in a boot, if they were chosen.
    pub samples: Option<u64>,
}

impl Task {
    /// Hashes the task to 32 hexadecimal digits, which are the same in each submission of any campaign.
    pub fn id(&self) -> String {
        let numbers = [
            self.apps.to_string(),
            self.boots.to_string(),
            self.perturb.to_string(),
            self.samples
                .map_or(String::new(), |samples| samples.to_string()),
            self.host.clone().unwrap_or_default(),
        ];
        let parts = [&self.platform]
            .into_iter()
            .chain(&numbers)
            .chain(&self.rows);
        let mut id = sha256(parts);
        id.truncate(32);
        id
    }

    /// Number of all boots.
    pub fn boots_of_all_kinds(&self) -> u32 {
        self.boots.saturating_add(self.perturb)
    }

    /// Describes the rows for people: the only benchmark's name, or the number of benchmarks.
    pub fn what(&self) -> String {
        match (&*self.rows, self.apps) {
            ([row], _) => row.clone(),
            (rows, true) => format!("{} workloads", rows.len()),
            (rows, false) => format!("{} benchmarks", rows.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_depends_on_all_that_is_asked() {
        let task = Task {
            platform: "lab:kvm".into(),
            kernel: None,
            host: None,
            apps: false,
            rows: vec!["in".into(), "out".into()],
            boots: 2,
            perturb: 1,
            samples: None,
        };
        let others = [
            Task {
                platform: "lab:kvm@6.12".into(),
                ..task.clone()
            },
            Task {
                host: Some("n1".into()),
                ..task.clone()
            },
            Task {
                rows: vec!["in".into()],
                ..task.clone()
            },
            Task {
                boots: 1,
                perturb: 2,
                ..task.clone()
            },
            Task {
                samples: Some(1),
                ..task.clone()
            },
            Task {
                apps: true,
                ..task.clone()
            },
        ];
        for other in &others {
            assert_ne!(task.id(), other.id(), "{other:?}");
        }
        assert_eq!(task.what(), "2 benchmarks");
        assert_eq!(others[2].what(), "in");
    }
}
