//! Dates and durations as text.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Year, month, day, hour, minute, second, UTC.
fn civil(time: SystemTime) -> (i64, u64, u64, u64, u64, u64) {
    let seconds = time
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days are counted from 1 March of the year 0, so that a leap day is the last of its year;
    // 719,468 of them lie before 1970, 146,097 in 400 years.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (
        year as i64,
        month,
        day,
        rest / 3600,
        rest / 60 % 60,
        rest % 60,
    )
}

/// RFC 3339, UTC, to the second.
pub fn rfc3339(time: SystemTime) -> String {
    let (year, month, day, hour, minute, second) = civil(time);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// As a folder name.
pub fn for_folder(time: SystemTime) -> String {
    let (year, month, day, hour, minute, second) = civil(time);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// `8 s`, `2 min 5 s`.
pub fn short(length: Duration) -> String {
    let seconds = length.as_secs_f64().round() as u64;
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

/// Milliseconds, saturating.
pub fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_dates() {
        let text = |seconds| rfc3339(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(text(0), "1970-01-01T00:00:00Z");
        assert_eq!(text(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(text(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(text(1_709_164_800), "2024-02-29T00:00:00Z");
        assert_eq!(text(1_735_689_599), "2024-12-31T23:59:59Z");
        assert_eq!(text(4_102_444_800), "2100-01-01T00:00:00Z");
        assert_eq!(for_folder(UNIX_EPOCH), "19700101T000000Z");
    }

    #[test]
    fn short_lengths() {
        assert_eq!(short(Duration::from_millis(7600)), "8 s");
        assert_eq!(short(Duration::from_secs(60)), "1 min");
        assert_eq!(short(Duration::from_secs(125)), "2 min 5 s");
    }
}
