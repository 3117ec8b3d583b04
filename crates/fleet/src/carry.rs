//! The lab's packages on nodes: an archive in the shared folder, and a node's own store.

use crate::campaign::Slurm;
use crate::folder::Folder;
use crate::say;
use crate::submission::Carried;
use anyhow::{Context, bail};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use ws_kernels::short_hash;
use ws_lab::carry;
use ws_lab::store::Store;
use ws_runner::parts::{self, Places};

/// Packs these sets into an archive in the shared folder, unless that is there already.
///
/// # Errors
/// A set is not fetched here, or the archive can't be written.
pub fn export(folder: &Folder, store: &Store, sets: &[String]) -> anyhow::Result<Carried> {
    let mut named = Vec::new();
    for name in sets {
        named.push((name.clone(), store.find(name)?.digest()));
    }
    let lines = named
        .iter()
        .map(|(name, digest)| format!("{name} {digest}\n"));
    let all = short_hash(lines, 16);
    let archive = folder.path().join(format!("lab-{all}.tar.gz"));
    if !archive.is_file() {
        say(&format!(
            "packing the lab's packages into {}",
            archive.display()
        ));
        carry::export(store, sets, &archive, &mut |_| {})?;
    }
    Ok(Carried {
        archive,
        sets: named,
    })
}

/// Unpacks the archive into this node's store, unless its sets are there.
pub fn import(carried: &Carried, places: &Places) -> anyhow::Result<()> {
    let store = parts::store(places)?;
    let lacks = || {
        carried.sets.iter().find(|(name, digest)| {
            let found = store.find(name);
            !found.is_ok_and(|set| set.digest() == *digest)
        })
    };
    if lacks().is_none() {
        return Ok(());
    }
    // Several tasks of one node begin at once: one unpacks, the others wait.
    let path = store.root().join("carry.lock");
    fs::create_dir_all(store.root())
        .with_context(|| format!("can't make {}", store.root().display()))?;
    let lock = File::create(&path).with_context(|| format!("can't make {}", path.display()))?;
    let wait = || flock(&lock, FlockOperation::LockExclusive);
    rustix::io::retry_on_intr(wait).with_context(|| format!("can't lock {}", path.display()))?;
    if lacks().is_some() {
        carry::import(&store, &carried.archive, &mut |line| say(line))?;
    }
    match lacks() {
        None => Ok(()),
        Some((name, _)) => bail!(
            "{} has another {name} than the submission says: submit again",
            carried.archive.display()
        ),
    }
}

/// Folder of a node's packages and counts: the campaign's, or one that is only this user's in the node's folder for
/// temporary files.
///
/// # Errors
/// The folder can't be made, or another user owns it or can write to it.
pub fn cache(site: &Slurm, node: &str) -> anyhow::Result<PathBuf> {
    if let Some(path) = &site.cache {
        return Ok(path.replace("%N", node).into());
    }
    let user = rustix::process::getuid().as_raw();
    let path = std::env::temp_dir().join(format!("worldswitch-{user}-{node}"));
    private(&path, user)?;
    Ok(path)
}

/// Makes a folder that only this user can write. Others may write to its parent, so a folder that exists is checked.
fn private(path: &Path, user: u32) -> anyhow::Result<()> {
    let _ = DirBuilder::new().mode(0o700).create(path);
    let found =
        fs::symlink_metadata(path).with_context(|| format!("can't make {}", path.display()))?;
    if !found.is_dir() || found.uid() != user || found.mode() & 0o022 != 0 {
        bail!(
            "{} is not a folder of yours alone: remove it, or name another one as cache of [slurm]",
            path.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_others_may_write_is_refused() {
        let above = tempfile::tempdir().unwrap();
        let user = rustix::process::getuid().as_raw();
        let path = above.path().join("cache");
        private(&path, user).unwrap();
        private(&path, user).unwrap();
        assert!(private(&path, user + 1).is_err(), "somebody else's");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(&path, mode).unwrap();
        assert!(private(&path, user).is_err(), "anybody may write");
        let link = above.path().join("link");
        std::os::unix::fs::symlink(above.path(), &link).unwrap();
        assert!(private(&link, user).is_err(), "a link");
    }

    #[test]
    fn a_site_s_cache_is_by_node() {
        let site = Slurm {
            cache: Some("/var/tmp/ws-%N".into()),
            ..Slurm::default()
        };
        assert_eq!(cache(&site, "n1").unwrap(), Path::new("/var/tmp/ws-n1"));
    }
}
