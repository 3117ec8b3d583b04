//! Formats numbers for output.

use ws_analysis::UnitKind;

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

/// A difference of counts, with its sign.
pub(crate) fn added(value: f64) -> String {
    let text = trimmed(value, 3);
    if value > 0.0 && text != "0" {
        format!("+{text}")
    } else {
        text
    }
}

/// A ratio of times, such as `1.07x`.
pub(crate) fn slowdown(ratio: f64) -> String {
    format!("{}x", significant(ratio))
}

/// A fraction as a percentage.
pub(crate) fn percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    if percent == 0.0 {
        "0 %".into()
    } else if percent < 0.1 {
        "<0.1 %".into()
    } else if percent < 10.0 {
        format!("{percent:.1} %")
    } else {
        format!("{} %", trimmed(percent.round(), 0))
    }
}

/// A relative difference as a percentage with its sign, to two digits.
pub(crate) fn difference(fraction: f64) -> String {
    let magnitude = fraction.abs();
    let text = match magnitude * 100.0 {
        small if small < 0.005 => return "0 %".into(),
        small if small < 0.1 => format!("{small:.2} %"),
        _ => percent(magnitude),
    };
    let sign = if fraction > 0.0 { '+' } else { '-' };
    format!("{sign}{text}")
}

/// Three significant digits, but always all digits of the integer part.
fn significant(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 || !magnitude.is_finite() {
        return trimmed(value, 0);
    }
    if !(1e-6..1e15).contains(&magnitude) {
        return format!("{value:.2e}");
    }
    // 9.996 has two decimals and would show as 10.00, so round before counting digits.
    let decimals = |magnitude: f64| 2 - (magnitude.log10().floor() as i32);
    let first = decimals(magnitude).max(0);
    let rounded = (magnitude * 10f64.powi(first)).round() / 10f64.powi(first);
    let places = usize::try_from(decimals(rounded).max(0)).unwrap_or(0);
    grouped(&format!("{value:.places$}"))
}

/// At most `decimals` decimals, without trailing zeros.
fn trimmed(value: f64, decimals: usize) -> String {
    if value.abs() >= 1e18 || !value.is_finite() {
        return format!("{value:e}");
    }
    let text = format!("{value:.decimals$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    grouped(if text == "-0" { "0" } else { text })
}

/// Adds commas between thousands of the integer part.
fn grouped(text: &str) -> String {
    let (sign, text) = text
        .strip_prefix('-')
        .map_or(("", text), |rest| ("-", rest));
    let (whole, rest) = text
        .find('.')
        .map_or((text, ""), |point| text.split_at(point));
    let mut out = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    #[test]
    fn comparisons_say_what_they_are() {
        assert_eq!(
            [added(3021.0), added(-2.0), added(0.0)],
            ["+3,021", "-2", "0"]
        );
        assert_eq!(
            [slowdown(1.0), slowdown(23.456), slowdown(1234.5)],
            ["1.00x", "23.5x", "1,234x"]
        );
    }

    #[test]
    fn spreads_are_percentages() {
        assert_eq!(
            [percent(0.0), percent(0.0004), percent(0.0123)],
            ["0 %", "<0.1 %", "1.2 %"]
        );
        assert_eq!(
            [percent(0.1), percent(0.456), percent(20.0)],
            ["10 %", "46 %", "2,000 %"]
        );
    }

    #[test]
    fn differences_are_percentages_with_a_sign() {
        assert_eq!(
            [difference(0.0), difference(0.031), difference(-0.25)],
            ["0 %", "+3.1 %", "-25 %"]
        );
        assert_eq!(
            [
                difference(0.0004),
                difference(-0.0004),
                difference(-0.00004)
            ],
            ["+0.04 %", "-0.04 %", "0 %"]
        );
    }

    proptest! {
        /// A formatted number parses back to within 0.5 %, the precision of three digits.
        #[test]
        fn any_number_is_shown_and_means_what_it_was(bits in any::<u64>()) {
            let number = f64::from_bits(bits);
            let text = value(number, "ns");
            if number.is_finite() {
                let read: f64 = text.replace(',', "").parse().unwrap();
                prop_assert!((read - number).abs() <= 0.005 * number.abs(), "{} {}", number, text);
            }
            for text in [added(number), slowdown(number), percent(number)] {
                prop_assert!(!text.is_empty());
            }
        }
    }
}
