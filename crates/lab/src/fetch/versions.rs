//! Chooses the versions of a set's packages, and checks that the files that came are those.

use super::apt::{self, Apt, Version};
use super::{FetchError, Fetching, first, takes};
use crate::sets::{Package, Set};
use std::path::PathBuf;

impl Fetching<'_> {
    /// Chooses the versions to fetch: the pinned ones, or the newest.
    pub(super) fn choose(
        &mut self,
        apt: &Apt,
        name: &str,
        set: &Set,
        say: &mut dyn FnMut(&str),
    ) -> Result<Vec<Version>, FetchError> {
        let pins = self.lab.pins(name);
        let newest = || -> Result<Vec<Version>, FetchError> {
            let mut versions = apt.newest(&set.packages)?;
            versions.retain(|(package, _)| takes(set, package));
            versions.sort();
            Ok(versions)
        };
        if pins.is_empty() || self.request.update_lock {
            return newest();
        }
        let pinned = || {
            let pin = |pin: &Package| (pin.name.clone(), pin.version.clone());
            Ok(pins.iter().map(pin).collect())
        };
        let mut gone = apt.gone(pins)?;
        if gone.is_empty() {
            return pinned();
        }
        // The reason why the old archive can't be read is shown only once.
        let is_known = self.unreachable.is_some();
        let tried = match self.add_old(apt, name, say) {
            Ok(from) => {
                gone = apt.gone(pins)?;
                format!("The archive of old versions, {from}, does not have all of them either")
            }
            Err(why) => why,
        };
        if gone.is_empty() {
            return pinned();
        }
        let newest = newest()?;
        if self.request.newest {
            let tried = if is_known { "" } else { &tried };
            say(format!("{name}: taking the newest versions. {tried}").trim_end());
            return Ok(newest);
        }
        let known = |name: &str| pins.iter().any(|pin| pin.name == name);
        let is_news = |(name, version): &&Version| {
            gone.iter()
                .any(|pin| pin.name == *name && pin.version != *version)
                || !known(name)
        };
        Err(FetchError::Vanished {
            set: name.to_owned(),
            gone: listed(gone.iter().map(|pin| (&*pin.name, &*pin.version)).collect()),
            tried,
            newest: match listed(
                newest
                    .iter()
                    .filter(is_news)
                    .map(|(name, version)| (&**name, &**version))
                    .collect(),
            ) {
                text if text.is_empty() => "set has only the other packages".to_owned(),
                text => format!("is {text}"),
            },
        })
    }

    /// Checks that the files are the wanted packages, and if pinned, exactly the pinned files.
    pub(super) fn identify(
        &self,
        name: &str,
        wanted: &[Version],
        files: &[PathBuf],
        pins: &[Package],
    ) -> Result<Vec<(Package, PathBuf)>, FetchError> {
        let mut packages = Vec::new();
        for file in files {
            packages.push((apt::identify(self.tools, file)?, file.clone()));
        }
        packages.sort();
        let brought = packages.iter().map(|(p, _)| (&p.name, &p.version));
        if !brought.eq(wanted.iter().map(|(name, version)| (name, version))) {
            let list = |words: Vec<String>| words.join(" ");
            return Err(FetchError::Other {
                set: name.to_owned(),
                asked: list(wanted.iter().map(|(n, v)| format!("{n}={v}")).collect()),
                brought: list(
                    packages
                        .iter()
                        .map(|(p, _)| format!("{}={}", p.name, p.version))
                        .collect(),
                ),
            });
        }
        if self.request.update_lock {
            return Ok(packages);
        }
        for (package, _) in &packages {
            let same = |pin: &&Package| pin.name == package.name && pin.version == package.version;
            let pin = pins.iter().find(same);
            if let Some(pin) = pin.filter(|pin| pin.sha256 != package.sha256) {
                return Err(FetchError::Hash {
                    name: package.name.clone(),
                    version: package.version.clone(),
                    found: package.sha256.clone(),
                    pinned: pin.sha256.clone(),
                });
            }
        }
        Ok(packages)
    }
}

/// The first three packages with their versions, as text.
fn listed(list: Vec<(&str, &str)>) -> String {
    let list = list.into_iter();
    let words: Vec<String> = list
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    first(&words)
}
