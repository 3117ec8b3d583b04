//! Formats values by their units.

use ws_analysis::UnitKind;
use ws_text::number::{significant, trimmed};

pub(crate) use ws_text::number::{added, difference, percent, slowdown};

/// A value of `unit`: counts exactly if they are integers, else to three decimals; anything else to
/// three significant digits, and without decimals from 100 on. Thousands are separated by commas.
pub fn value(value: f64, unit: &str) -> String {
    match (UnitKind::of(unit), unit) {
        // Cycles as the papers print them.
        (UnitKind::Count, _) | (_, "cycles") => trimmed(value, 3),
        _ => significant(value),
    }
}

/// Whether figures of `unit` are counts.
pub(crate) fn is_count(unit: &str) -> bool {
    UnitKind::of(unit) == UnitKind::Count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_shown_to_the_digit() {
        let insns = |v| value(v, "insns");
        assert_eq!(
            [insns(0.0), insns(14.0), insns(3022.0)],
            ["0", "14", "3,022"]
        );
        assert_eq!([insns(1234567.0), insns(13.5)], ["1,234,567", "13.5"]);
        assert_eq!(
            [insns(-3.0), insns(-0.0001), insns(2.0004)],
            ["-3", "0", "2"]
        );
    }

    #[test]
    fn times_are_shown_to_three_significant_digits() {
        let ticks = |v| value(v, "tsc_ticks");
        assert_eq!(
            [ticks(1.2345), ticks(12.345), ticks(123.45)],
            ["1.23", "12.3", "123"]
        );
        assert_eq!(
            [ticks(9.996), ticks(99.96), ticks(999.6)],
            ["10.0", "100", "1,000"]
        );
        assert_eq!(
            [ticks(49_529.4), ticks(0.012345), ticks(0.0)],
            ["49,529", "0.0123", "0"]
        );
        assert_eq!(
            [ticks(-0.5), ticks(1e-9), ticks(2.5e17)],
            ["-0.500", "1.00e-9", "2.50e17"]
        );
        assert_eq!(ticks(f64::NAN), "NaN");
    }
}
