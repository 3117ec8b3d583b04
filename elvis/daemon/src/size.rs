//! Sizes in bytes, with units.

/// Reads a number of bytes: `4096`, `64K`, `512M`, `10G`, `1T`, in powers of 1024.
pub fn parse(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a size; write 512M or 10G");
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match &text[digits.len()..] {
        "" => 0,
        "K" | "k" => 10,
        "M" | "m" => 20,
        "G" | "g" => 30,
        "T" | "t" => 40,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number
        .checked_mul(1 << shift)
        .filter(|&bytes| bytes > 0)
        .ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn sizes() {
        assert_eq!(parse("512"), Ok(512));
        assert_eq!(parse("64K"), Ok(65_536));
        assert_eq!(parse("2g"), Ok(2 << 30));
        for wrong in ["", "K", "-1", "1.5G", "10GB", "0", "99999999999999T", "é"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
