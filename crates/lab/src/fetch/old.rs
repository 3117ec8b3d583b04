//! The archive of old versions, with packages that the usual archive dropped, as it was when a set was pinned.

use super::Fetching;
use super::apt::Apt;
use super::sources::Archive;
use std::time::SystemTime;
use toml::value::Datetime;

/// Debian's archive of old versions.
pub const DEBIAN: &str = "http://snapshot.debian.org/archive/debian/{date}";

/// Placeholder of the time in the archive's address, as `20261126T084355Z`.
pub const DATE: &str = "{date}";

impl Fetching<'_> {
    /// Adds the archive, as it was when the set was pinned, to apt's. An archive that could not be read is not asked
    /// again.
    ///
    /// Returns the archive's address, or the reason why it can't be used.
    pub(super) fn add_old(
        &mut self,
        apt: &Apt,
        name: &str,
        say: &mut dyn FnMut(&str),
    ) -> Result<String, String> {
        let Some(old) = &self.request.old else {
            return Err("No archive of old versions was asked".into());
        };
        if let Some(why) = &self.unreachable {
            return Err(why.clone());
        }
        let uri = match self.lab.pinned_at(name) {
            Some(date) => old.uri.replace(DATE, &date),
            None if old.uri.contains(DATE) => {
                return Err(
                    "lock.toml has no date for which to ask an archive of old versions".into(),
                );
            }
            None => old.uri.clone(),
        };
        say(&format!(
            "{name}: the archive no longer has the pinned versions; asking {uri}"
        ));
        let keys = old.keys.clone();
        let archive = Archive {
            uri: uri.clone(),
            keys,
        };
        match apt.add_old(&archive) {
            Ok(()) => Ok(uri),
            Err(error) => {
                let error = error.to_string();
                let line = error.lines().next().unwrap_or_default();
                // "E: Failed to fetch ADDRESS  REASON"
                let reason = line.rsplit_once("  ").map_or(line, |(_, reason)| reason);
                let why = format!("The archive of old versions, {uri}, can't be read: {reason}");
                self.unreachable = Some(why.clone());
                Err(why)
            }
        }
    }
}

/// The current time, to the second.
pub(super) fn now() -> Option<Datetime> {
    let now = humantime::format_rfc3339_seconds(SystemTime::now());
    now.to_string().parse().ok()
}
