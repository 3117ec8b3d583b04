//! Dates and durations as text.

use std::time::{Duration, SystemTime};

/// Formats a time by RFC 3339, in UTC, to the second.
pub fn rfc3339(time: SystemTime) -> String {
    // The format cannot have years before 1970; an earlier clock is taken for 1970.
    humantime::format_rfc3339_seconds(time.max(SystemTime::UNIX_EPOCH)).to_string()
}

/// Formats a time as a folder's name: RFC 3339's basic form, without dashes and colons.
pub fn for_folder(time: SystemTime) -> String {
    rfc3339(time).replace(['-', ':'], "")
}

/// Formats a duration: `8 s`, `2 min 5 s`.
pub fn short(length: Duration) -> String {
    let seconds = length.as_secs_f64().round() as u64;
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

/// Converts a duration into milliseconds, saturating.
pub fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_dates() {
        let text = |seconds| rfc3339(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(text(0), "1970-01-01T00:00:00Z");
        assert_eq!(text(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(text(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(text(1_709_164_800), "2024-02-29T00:00:00Z");
        assert_eq!(text(1_735_689_599), "2024-12-31T23:59:59Z");
        assert_eq!(text(4_102_444_800), "2100-01-01T00:00:00Z");
        assert_eq!(for_folder(SystemTime::UNIX_EPOCH), "19700101T000000Z");
    }

    #[test]
    fn short_lengths() {
        assert_eq!(short(Duration::from_millis(7600)), "8 s");
        assert_eq!(short(Duration::from_secs(60)), "1 min");
        assert_eq!(short(Duration::from_secs(125)), "2 min 5 s");
    }
}
