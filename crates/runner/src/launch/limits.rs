//! Time limits of a launch.

use std::time::Duration;

/// The time limit of each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the start to `hello`; none if somebody else boots.
    pub boot: Option<Duration>,
    /// From a benchmark's `begin` to its `end`.
    pub bench: Option<Duration>,
    /// Between benchmarks, and from the last to `bye`.
    pub between: Option<Duration>,
}

/// From a machine's start to its `hello`.
const BOOT_LIMIT: Duration = Duration::from_secs(15);

impl Limits {
    /// For a machine that this program launches.
    pub fn launched(bench: Duration) -> Self {
        Self {
            boot: Some(BOOT_LIMIT),
            ..Self::listened(bench)
        }
    }

    /// For a machine that somebody else boots, at any time.
    pub fn listened(bench: Duration) -> Self {
        Self {
            boot: None,
            bench: Some(bench),
            between: Some(BOOT_LIMIT),
        }
    }

    /// For a log, which has no times.
    pub const NONE: Limits = Limits {
        boot: None,
        bench: None,
        between: None,
    };
}
