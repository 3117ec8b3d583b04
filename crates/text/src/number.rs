//! Numbers as text.

/// Writes a number with commas: `3,031`, `-12`.
pub fn grouped(number: i64) -> String {
    with_commas(&number.to_string())
}

/// Writes a number with commas and a sign: `+12`, `-12`, `0`.
pub fn signed(number: i64) -> String {
    let plus = if number > 0 { "+" } else { "" };
    format!("{plus}{}", grouped(number))
}

/// Writes a share in percent, rounded.
pub fn share(part: i64, whole: i64) -> String {
    let whole = whole.max(1) as f64;
    format!("{:.0} %", part as f64 / whole * 100.0)
}

/// A difference of counts, with its sign.
pub fn added(value: f64) -> String {
    let text = trimmed(value, 3);
    if value > 0.0 && text != "0" {
        format!("+{text}")
    } else {
        text
    }
}

/// A ratio of times, such as `1.07x`.
pub fn slowdown(ratio: f64) -> String {
    format!("{}x", significant(ratio))
}

/// A fraction as a percentage.
pub fn percent(fraction: f64) -> String {
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
pub fn difference(fraction: f64) -> String {
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
pub fn significant(value: f64) -> String {
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
    with_commas(&format!("{value:.places$}"))
}

/// At most `decimals` decimals, without trailing zeros.
pub fn trimmed(value: f64, decimals: usize) -> String {
    if value.abs() >= 1e18 || !value.is_finite() {
        return format!("{value:e}");
    }
    let text = format!("{value:.decimals$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    with_commas(if text == "-0" { "0" } else { text })
}

/// Adds commas between thousands of the integer part.
fn with_commas(text: &str) -> String {
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
    fn numbers_are_grouped_by_thousands() {
        let shown = [0, 7, 999, 1000, -1000, 1_234_567].map(grouped);
        assert_eq!(shown, ["0", "7", "999", "1,000", "-1,000", "1,234,567"]);
        assert_eq!(grouped(i64::MIN), "-9,223,372,036,854,775,808");
        assert_eq!([signed(5), signed(0), signed(-5)], ["+5", "0", "-5"]);
        assert_eq!([share(1, 2), share(1, 0)], ["50 %", "100 %"]);
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
        /// A number of three digits parses back to within 0.5 %, its precision.
        #[test]
        fn any_number_is_shown_and_means_what_it_was(bits in any::<u64>()) {
            let number = f64::from_bits(bits);
            let text = significant(number);
            if number.is_finite() {
                let read: Result<f64, _> = text.replace(',', "").parse();
                let is_near = |read: f64| (read - number).abs() <= 0.005 * number.abs();
                prop_assert!(read.is_ok_and(is_near), "{} {}", number, text);
            }
            for text in [added(number), slowdown(number), percent(number)] {
                prop_assert!(!text.is_empty());
            }
        }
    }
}
