//! Starts programs of unpacked packages without installing them.

use crate::sets::Architecture;
use std::ffi::OsString;
use std::path::Path;

/// The paths of Debian's loader and libraries, below the root of the packages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub loader: &'static str,
    pub libraries: &'static str,
}

pub(crate) fn place(architecture: Architecture) -> Place {
    match architecture {
        Architecture::X86_64 => Place {
            loader: "usr/lib64/ld-linux-x86-64.so.2",
            libraries: "usr/lib/x86_64-linux-gnu",
        },
        Architecture::Aarch64 => Place {
            loader: "usr/lib/ld-linux-aarch64.so.1",
            libraries: "usr/lib/aarch64-linux-gnu",
        },
        Architecture::Riscv64 => Place {
            loader: "usr/lib/ld-linux-riscv64-lp64d.so.1",
            libraries: "usr/lib/riscv64-linux-gnu",
        },
    }
}

/// The folders of QEMU's firmware.
const QEMU_DATA: [&str; 2] = ["usr/share/qemu", "usr/share/seabios"];

/// The command line of a program: the loader with the libraries' folder, the program, and for QEMU the folders of its
/// data. None if the program is not there.
pub(crate) fn words(root: &Path, architecture: Architecture, name: &str) -> Option<Vec<OsString>> {
    let place = place(architecture);
    let (loader, program) = (root.join(place.loader), root.join("usr/bin").join(name));
    // A name must not be a path, which could lead out of the packages.
    if name.contains('/') || !program.is_file() || !loader.is_file() {
        return None;
    }
    let mut words = vec![
        loader.into_os_string(),
        "--library-path".into(),
        root.join(place.libraries).into_os_string(),
        program.into_os_string(),
    ];
    if name.starts_with("qemu-system-") {
        for folder in QEMU_DATA.map(|path| root.join(path)) {
            words.extend(["-L".into(), folder.into_os_string()]);
        }
    }
    Some(words)
}
