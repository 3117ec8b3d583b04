//! Starts programs of unpacked packages without installing them.

use crate::sets::Architecture;
use std::ffi::OsString;
use std::path::Path;

/// The folders of QEMU's firmware.
const QEMU_DATA: [&str; 2] = ["usr/share/qemu", "usr/share/seabios"];

/// The command line of a program: the loader with the libraries' folder, the program, and for QEMU the folders of its
/// data. None if the program is not there.
pub(crate) fn words(root: &Path, architecture: Architecture, name: &str) -> Option<Vec<OsString>> {
    let facts = architecture.facts();
    let (loader, program) = (root.join(facts.loader), root.join("usr/bin").join(name));
    // A name must not be a path, which could lead out of the packages.
    if name.contains('/') || !program.is_file() || !loader.is_file() {
        return None;
    }
    let mut words = vec![
        loader.into_os_string(),
        "--library-path".into(),
        root.join(facts.libraries).into_os_string(),
        program.into_os_string(),
    ];
    if name.starts_with("qemu-system-") {
        for folder in QEMU_DATA.map(|path| root.join(path)) {
            words.extend(["-L".into(), folder.into_os_string()]);
        }
    }
    Some(words)
}
