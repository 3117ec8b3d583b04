//! Compares one row on two platforms.

use crate::summary::Summary;
use crate::unit::UnitKind;

/// The cost of a platform relative to the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Comparison {
    /// Counts: guest - baseline. A ratio means nothing here: natively, `in` is one instruction.
    Added(f64),
    /// Times: guest / baseline, HyperBench's GNR (SIGMETRICS 2019, equation 1). Of rates,
    /// baseline / guest, which is the same ratio of times.
    Slowdown(f64),
}

/// Why two summaries cannot be compared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CompareError {
    /// Units are never converted.
    #[error("{guest} cannot be compared with {baseline}")]
    UnlikeUnits {
        /// The guest's unit.
        guest: String,
        /// The baseline's.
        baseline: String,
    },
    /// An unknown unit: neither ratios nor differences are defined.
    #[error("unknown unit {0}")]
    UnknownUnit(String),
    /// A cost is zero, negative, or cannot be told from zero.
    #[error("no ratio: a cost cannot be told from zero")]
    NotPositive,
}

/// Compares two summaries as the kind of their unit requires.
pub fn compare(guest: &Summary, baseline: &Summary) -> Result<Comparison, CompareError> {
    if guest.unit != baseline.unit {
        let (guest, baseline) = (guest.unit.clone(), baseline.unit.clone());
        return Err(CompareError::UnlikeUnits { guest, baseline });
    }
    let ratio = |over: f64, under: f64| {
        let ratio = over / under;
        let near_zero = guest.is_near_zero() || baseline.is_near_zero();
        let sound = over > 0.0 && under > 0.0 && ratio.is_finite() && !near_zero;
        if sound {
            Ok(Comparison::Slowdown(ratio))
        } else {
            Err(CompareError::NotPositive)
        }
    };
    match UnitKind::of(&guest.unit) {
        UnitKind::Count => Ok(Comparison::Added(guest.value - baseline.value)),
        UnitKind::Time => ratio(guest.value, baseline.value),
        UnitKind::Rate => ratio(baseline.value, guest.value),
        UnitKind::Unknown => Err(CompareError::UnknownUnit(guest.unit.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(unit: &str, value: f64) -> Summary {
        Summary {
            perturbed: vec![],
            unit: unit.into(),
            boots: vec![],
            value,
            spread: None,
            exact: None,
        }
    }

    #[test]
    fn counts_differ_and_times_have_a_ratio() {
        let of = |unit, guest, baseline| compare(&summary(unit, guest), &summary(unit, baseline));
        assert_eq!(of("insns", 3022.0, 1.0), Ok(Comparison::Added(3021.0)));
        assert_eq!(of("insns", 1.0, 3.0), Ok(Comparison::Added(-2.0)));
        assert_eq!(
            of("tsc_ticks", 1500.0, 1000.0),
            Ok(Comparison::Slowdown(1.5))
        );
        assert_eq!(of("per_s", 1000.0, 1500.0), Ok(Comparison::Slowdown(1.5)));
        assert_eq!(of("ns", 1.0, 0.0), Err(CompareError::NotPositive));
        assert_eq!(of("ns", 1.0, -2.0), Err(CompareError::NotPositive));
        assert_eq!(of("ns", -1.0, -2.0), Err(CompareError::NotPositive));
        assert_eq!(
            of("furlongs", 1.0, 1.0),
            Err(CompareError::UnknownUnit("furlongs".into()))
        );
    }

    #[test]
    fn unlike_units_are_refused_whatever_they_are() {
        let error = compare(&summary("tsc_ticks", 1.0), &summary("insns", 1.0)).unwrap_err();
        assert_eq!(error.to_string(), "tsc_ticks cannot be compared with insns");
        assert!(compare(&summary("ns", 1.0), &summary("tsc_ticks", 1.0)).is_err());
    }
}
