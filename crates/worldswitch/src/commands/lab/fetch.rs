//! `worldswitch lab fetch`: fetches the sets of the recipes that the user named.

use super::say;
use crate::cli::lab::FetchArgs;
use anyhow::bail;
use std::path::Path;
use ws_lab::fetch::sources::{Archive, Keys, debian_archive};
use ws_lab::fetch::{self, Request, Tools};
use ws_lab::lab::Lab;
use ws_lab::store::Store;
use ws_machines::platforms;
use ws_runner::parts;
use ws_terminal::Usage;

/// The recipes whose packages are fetched by default: those of `make run`.
const DEFAULT: [&str; 3] = ["native", "kvm", "kvm-shadow"];

/// Fetches packages.
pub fn fetch(args: &FetchArgs, lab: &Lab, store: &Store) -> anyhow::Result<()> {
    let (archive, old) = archives(args)?;
    let request = Request {
        sets: sets(args, lab)?,
        archive,
        old,
        newest: args.newest,
        update_lock: args.update_lock,
    };
    Ok(fetch::fetch(
        lab,
        store,
        &request,
        &Tools::default(),
        &mut say,
    )?)
}

fn sets(args: &FetchArgs, lab: &Lab) -> anyhow::Result<Vec<String>> {
    if args.all {
        let sets = lab.sets().iter().filter(|(_, set)| !set.on_request);
        return Ok(sets.map(|(name, _)| name.clone()).collect());
    }
    let default = DEFAULT.map(str::to_owned);
    let names = match &*args.names {
        [] => &default[..],
        names => names,
    };
    let mut sets = Vec::new();
    for name in names {
        let mut own = match name.contains('+') {
            true => {
                let recipe = platforms::recipe(lab, &parts::lab_machine(name)?)?;
                recipe.sets().into_iter().map(str::to_owned).collect()
            }
            false => lab.sets_of(name)?,
        };
        if args.debug {
            let debug: Vec<String> = own.iter().filter_map(|set| lab.debug_set(set)).collect();
            if debug.is_empty() {
                bail!(Usage(format!(
                    "{name} has no kernel and no Xen with a set of debug information: worldswitch lab list shows the sets"
                )));
            }
            own.extend(debug);
        }
        for set in own {
            if !sets.contains(&set) {
                sets.push(set);
            }
        }
    }
    Ok(sets)
}

/// Returns the archive that the user named, and the archive of old versions.
fn archives(args: &FetchArgs) -> anyhow::Result<(Option<Archive>, Option<Archive>)> {
    let keyring = args.keyring.as_ref();
    let keyring = keyring.map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()));
    let keyring = keyring.map(Keys::File);
    let is_local = |uri: &str| uri.starts_with("file:");
    let mirror = match &args.mirror {
        Some(uri) if keyring.is_none() && !is_local(uri) => bail!(Usage(format!(
            "--mirror {uri} needs the keys that sign it: --keyring FILE"
        ))),
        mirror => mirror.clone(),
    };
    // Debian's keys sign old versions too.
    let usual = || debian_archive(Path::new("/")).and_then(|archive| archive.keys);
    let archive = |uri: String, otherwise: &dyn Fn() -> Option<Keys>| Archive {
        keys: match keyring.clone() {
            None if is_local(&uri) => Some(Keys::Trusted),
            None => otherwise(),
            keyring => keyring,
        },
        uri,
    };
    let old = Some(args.old_archive.clone()).filter(|uri| uri != "none");
    Ok((
        mirror.map(|uri| archive(uri, &|| None)),
        old.map(|uri| archive(uri, &usual)),
    ))
}
