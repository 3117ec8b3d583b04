//! Messages of the daemon: one line each on standard error, with the time and a level. The daemon waits for nothing but
//! standard error, and a message that can't be written is lost.
//!
//! - error: the host or this daemon failed.
//! - warn: a guest or a front-end broke a rule, or a device has less than its configuration asks for.
//! - info: the daemon's own start and end, and how it serves.
//! - debug: each device that comes, moves or goes, and each connection of a front-end.

use clap::ValueEnum;
use env_logger::{Builder, Target};
use log::LevelFilter;
use serde::Deserialize;
use std::fmt::Display;
use std::io::{self, Write};
use std::time::SystemTime;

/// The least important messages that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The host or this daemon failed.
    Error,
    /// Errors, guests and front-ends that break rules, and limited service.
    Warn,
    /// Warnings, start and end, and how devices are served.
    #[default]
    Info,
    /// Info, and devices and front-ends that come and go.
    Debug,
}

impl From<Level> for LevelFilter {
    fn from(level: Level) -> Self {
        match level {
            Level::Error => Self::Error,
            Level::Warn => Self::Warn,
            Level::Info => Self::Info,
            Level::Debug => Self::Debug,
        }
    }
}

/// Whether systemd's journal reads standard error (systemd.exec(5), JOURNAL_STREAM): it adds time and name itself.
fn journal_reads() -> bool {
    let Ok(named) = std::env::var("JOURNAL_STREAM") else {
        return false;
    };
    // A daemon that was started by hand inherits the variable, and writes elsewhere.
    let stat = rustix::fs::fstat(io::stderr());
    stat.is_ok_and(|stat| named == format!("{}:{}", stat.st_dev, stat.st_ino))
}

/// Returns the priority of sd-daemon(3), which is syslog(3)'s.
fn priority(level: log::Level) -> u8 {
    match level {
        log::Level::Error => 3,
        log::Level::Warn => 4,
        log::Level::Info => 6,
        log::Level::Debug | log::Level::Trace => 7,
    }
}

/// Writes one message as one line. `at`: the time, None for the journal.
fn line(
    out: &mut impl Write,
    level: log::Level,
    at: Option<SystemTime>,
    text: &dyn Display,
) -> io::Result<()> {
    // A second line would have no time and no level.
    let text = text.to_string().replace('\n', " ");
    match at {
        Some(at) => {
            let at = humantime::format_rfc3339_millis(at);
            writeln!(out, "{at} {level:<5} elvis: {text}")
        }
        None => writeln!(out, "<{}>{text}", priority(level)),
    }
}

/// Writes messages from now on. A second call only changes the level.
pub fn start(level: Level) {
    let journal = journal_reads();
    let mut builder = Builder::new();
    builder
        // Messages of other crates pass too, if they ever have any. The level is set below, as it can change.
        .filter_level(LevelFilter::Debug)
        .target(Target::Stderr)
        .format(move |out, record| {
            let at = (!journal).then(SystemTime::now);
            line(out, record.level(), at, record.args())
        });
    // The call fails if there is a logger already, which then stays.
    let _ = builder.try_init();
    log::set_max_level(level.into());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    fn written(level: log::Level, at: Option<SystemTime>, text: &str) -> String {
        let mut out = Vec::new();
        line(&mut out, level, at, &text).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_message_is_one_line_with_time_and_level() {
        let at = Some(UNIX_EPOCH + Duration::from_millis(1_700_000_000_042));
        assert_eq!(
            written(log::Level::Warn, at, "a: one\ntwo"),
            "2023-11-14T22:13:20.042Z WARN  elvis: a: one two\n"
        );
        assert_eq!(
            written(log::Level::Error, None, "a: one\ntwo"),
            "<3>a: one two\n"
        );
        assert_eq!(written(log::Level::Debug, None, "a"), "<7>a\n");
    }
}
