//! Where the guest image lies.

use std::env;
use std::path::{Path, PathBuf};

const IN_DATA: &str = "guest/x86_64/guest.elf";
const IN_TREE: &str = "build/guest/x86_64/guest.elf";

/// The guest image: the one that the user named, else the first of
/// `$WORLDSWITCH_DATA/guest/x86_64/guest.elf`, `guest/x86_64/guest.elf` beside this program or
/// in `../share/worldswitch`, `build/guest/x86_64/guest.elf` of the tree around this program and
/// around the current folder. With `$WORLDSWITCH_DATA` set, no other place is looked at.
///
/// # Errors
/// There is none: where it was looked for, and how to make one.
pub fn guest_image(named: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(path) = named {
        return if path.is_file() {
            Ok(path.to_owned())
        } else {
            Err(format!("there is no guest image {}", path.display()))
        };
    }
    let data = env::var_os("WORLDSWITCH_DATA").map(PathBuf::from);
    find(data, env::current_exe().ok(), env::current_dir().ok())
}

fn find(
    data: Option<PathBuf>,
    program: Option<PathBuf>,
    current: Option<PathBuf>,
) -> Result<PathBuf, String> {
    if let Some(data) = data {
        let path = data.join(IN_DATA);
        return if path.is_file() {
            Ok(path)
        } else {
            Err(format!(
                "there is no guest image {}, where WORLDSWITCH_DATA says: set it right, or leave it out",
                path.display()
            ))
        };
    }
    let program_folder = program.as_deref().and_then(Path::parent);
    let installed = program_folder.into_iter().flat_map(|folder| {
        [
            folder.join(IN_DATA),
            folder.join("../share/worldswitch").join(IN_DATA),
        ]
    });
    let upward = |start: Option<&Path>| -> Vec<PathBuf> {
        start.map_or(Vec::new(), |start| {
            start
                .ancestors()
                .map(|folder| folder.join(IN_TREE))
                .collect()
        })
    };
    installed
        .chain(upward(program_folder))
        .chain(upward(current.as_deref()))
        .find(|path| path.is_file())
        .ok_or_else(|| {
            format!("there is no guest image ({IN_TREE}): make build makes it (or make -C guest), and --guest FILE names another place")
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn put(path: &Path) -> PathBuf {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
        path.to_owned()
    }

    #[test]
    fn places_are_looked_at_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let program = put(&root.join("tree/target/release/worldswitch"));
        let here = root.join("elsewhere/deep");
        fs::create_dir_all(&here).unwrap();
        let found = |data: Option<&str>| {
            find(
                data.map(|d| root.join(d)),
                Some(program.clone()),
                Some(here.clone()),
            )
        };
        assert!(found(None).unwrap_err().contains("make build"));
        let around_here = put(&root.join("elsewhere").join(IN_TREE));
        assert_eq!(found(None), Ok(around_here));
        let in_tree = put(&root.join("tree").join(IN_TREE));
        assert_eq!(found(None), Ok(in_tree));
        let shared = root.join("tree/target/share/worldswitch").join(IN_DATA);
        put(&shared);
        assert_eq!(
            found(None).unwrap().canonicalize().unwrap(),
            shared.canonicalize().unwrap()
        );
        let beside = put(&root.join("tree/target/release").join(IN_DATA));
        assert_eq!(found(None), Ok(beside));
        let named = put(&root.join("data").join(IN_DATA));
        assert_eq!(found(Some("data")), Ok(named));
        assert!(
            found(Some("wrong"))
                .unwrap_err()
                .contains("WORLDSWITCH_DATA")
        );
    }
}
