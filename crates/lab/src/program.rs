//! How a program of unpacked packages is started without being installed.

use std::ffi::OsString;
use std::path::Path;

/// Where Debian's loader, libraries and QEMU's data lie, from the root of the packages. Debian 13
/// has its loader in /usr/lib64; older packages have it in /lib64.
const LOADERS: [&str; 2] = [
    "usr/lib64/ld-linux-x86-64.so.2",
    "lib64/ld-linux-x86-64.so.2",
];
const LIBRARIES: [&str; 2] = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"];
const QEMU_DATA: [&str; 2] = ["usr/share/qemu", "usr/share/seabios"];

/// The loader with the libraries' folders, the program, and for QEMU the folders of its data.
pub(crate) fn words(root: &Path, name: &str) -> Option<Vec<OsString>> {
    let there = |path: &&str| root.join(path).exists();
    // A name is no path.
    let program = root.join("usr/bin").join(name);
    if name.contains('/') || !program.is_file() {
        return None;
    }
    let loader = LOADERS.iter().find(|path| there(path))?;
    let mut libraries = OsString::new();
    for folder in LIBRARIES.iter().filter(|path| there(path)) {
        if !libraries.is_empty() {
            libraries.push(":");
        }
        libraries.push(root.join(folder));
    }
    let mut words = vec![
        root.join(loader).into_os_string(),
        "--library-path".into(),
        libraries,
        program.into(),
    ];
    if name.starts_with("qemu-system-") {
        for folder in QEMU_DATA.iter().filter(|path| there(path)) {
            words.extend(["-L".into(), root.join(folder).into_os_string()]);
        }
    }
    Some(words)
}
