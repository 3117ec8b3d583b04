//! The kinds of units, and the computations that each allows.

use ws_results::CLOCK_UNITS;

/// Kind of a unit; it determines the estimate and the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitKind {
    /// Events counted without noise (`insns`, `count`): modes and differences.
    Count,
    /// Time (`tsc_ticks`, `cntvct_ticks`, `time_ticks`, `ns`): medians and ratios; more is worse.
    Time,
    /// Work per time (`per_s`, `bytes_per_s`): medians and ratios; more is better.
    Rate,
    /// A unit unknown to this version: medians, and no comparison.
    Unknown,
}

impl UnitKind {
    /// The kind of a result file's unit.
    pub fn of(unit: &str) -> Self {
        match unit {
            "insns" | "count" => UnitKind::Count,
            "ns" => UnitKind::Time,
            "per_s" | "bytes_per_s" => UnitKind::Rate,
            unit if CLOCK_UNITS.contains(&unit) => UnitKind::Time,
            _ => UnitKind::Unknown,
        }
    }
}
