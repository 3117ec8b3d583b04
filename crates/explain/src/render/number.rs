//! Numbers for people.

/// Writes a number with commas: `3,031`, `-12`.
pub fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::from(if number < 0 { "-" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Writes a number with commas and a sign: `+12`, `-12`, `0`.
pub fn signed(number: i64) -> String {
    let plus = if number > 0 { "+" } else { "" };
    format!("{plus}{}", grouped(number))
}

/// Writes a share in percent, rounded.
pub fn percent(part: i64, whole: i64) -> String {
    let whole = whole.max(1) as f64;
    format!("{:.0} %", part as f64 / whole * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let shown = [0, 7, 999, 1000, -1000, 1_234_567].map(grouped);
        assert_eq!(shown, ["0", "7", "999", "1,000", "-1,000", "1,234,567"]);
        assert_eq!(grouped(i64::MIN), "-9,223,372,036,854,775,808");
        assert_eq!([signed(5), signed(0), signed(-5)], ["+5", "0", "-5"]);
        assert_eq!([percent(1, 2), percent(1, 0)], ["50 %", "100 %"]);
    }
}
