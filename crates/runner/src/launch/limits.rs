//! Time limits of a launch.

use std::time::Duration;

/// Time limit of each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Limit from the start to `hello`; None if somebody else boots.
    pub boot: Option<Duration>,
    /// Limit from a benchmark's `begin` to its `end`.
    pub bench: Option<Duration>,
    /// Limit between benchmarks, and from the last to `bye`.
    pub between: Option<Duration>,
}

/// Longest time from a machine's start to its `hello`.
const BOOT_LIMIT: Duration = Duration::from_secs(15);

impl Limits {
    /// Limits of a machine that this program launches.
    pub fn launched(bench: Duration) -> Self {
        Self {
            boot: Some(BOOT_LIMIT),
            ..Self::listened(bench)
        }
    }

    /// Limits of a machine that somebody else boots, at any time.
    pub fn listened(bench: Duration) -> Self {
        Self {
            boot: None,
            bench: Some(bench),
            between: Some(BOOT_LIMIT),
        }
    }

    /// Limits of a log, which has no times.
    pub const NONE: Limits = Limits {
        boot: None,
        bench: None,
        between: None,
    };
}
