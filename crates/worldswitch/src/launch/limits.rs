//! How long a launch may take.

use std::time::Duration;

/// How long each step may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the start to `hello`; none where somebody else boots.
    pub boot: Option<Duration>,
    /// From a benchmark's `begin` to its `end`.
    pub bench: Option<Duration>,
    /// Between benchmarks, and from the last to `bye`.
    pub between: Option<Duration>,
}

/// From a machine's start to its `hello`.
const BOOT_LIMIT: Duration = Duration::from_secs(15);

impl Limits {
    /// For a machine that we launch.
    pub fn launched(bench: Duration) -> Self {
        Self {
            boot: Some(BOOT_LIMIT),
            ..Self::listened(bench)
        }
    }

    /// For a machine that somebody else boots, whenever they like.
    pub fn listened(bench: Duration) -> Self {
        Self {
            boot: None,
            bench: Some(bench),
            between: Some(BOOT_LIMIT),
        }
    }

    /// For a log, in which time does not pass.
    pub const NONE: Limits = Limits {
        boot: None,
        bench: None,
        between: None,
    };
}
