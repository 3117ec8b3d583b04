//! What may be done with a unit.

/// The kind of a unit decides which estimate and which comparison make sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitKind {
    /// Events counted without noise (`insns`, `count`): modes and differences.
    Count,
    /// Time (`tsc_ticks`, `cntvct_ticks`, `ns`): medians and ratios; more is worse.
    Time,
    /// Work in a time (`per_s`, `bytes_per_s`): medians and ratios; more is better.
    Rate,
    /// A unit that this version does not know: medians, and no comparison.
    Unknown,
}

impl UnitKind {
    /// The kind of the unit that a result file names.
    pub fn of(unit: &str) -> Self {
        match unit {
            "insns" | "count" => UnitKind::Count,
            "tsc_ticks" | "cntvct_ticks" | "ns" => UnitKind::Time,
            "per_s" | "bytes_per_s" => UnitKind::Rate,
            _ => UnitKind::Unknown,
        }
    }
}
