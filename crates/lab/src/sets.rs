//! Sets of packages (`packages.toml`) and the versions that they are pinned to (`lock.toml`).

use crate::files;
use crate::lab::LabError;
use crate::recipe::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;

/// The architecture of a lab machine or of a set's packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    #[serde(rename = "x86_64")]
    X86_64,
    Aarch64,
}

impl Architecture {
    /// Debian's name for it.
    pub fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }
}

/// What a set is for, which decides what is checked once it is unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SetKind {
    /// Programs that run on this host, with all libraries that they need.
    Program,
    /// A Linux kernel with its modules.
    Kernel,
    /// Xen's hypervisor.
    Xen,
    /// A root file system that a machine boots: programs, other files, and all libraries that any
    /// of them needs.
    Root,
    /// Debug information of a kernel and its modules, or of Xen.
    Debug,
}

/// The modules of a machine that boots a whole Linux: its root file system in an NVDIMM or
/// persistent memory, and a
/// network between it and its VMs.
const MODULES: [&str; 18] = [
    "usr/lib/modules/*/kernel/drivers/acpi/nfit/*",
    "usr/lib/modules/*/kernel/drivers/block/virtio_blk.ko*",
    "usr/lib/modules/*/kernel/drivers/dax/*",
    "usr/lib/modules/*/kernel/drivers/net/net_failover.ko*",
    "usr/lib/modules/*/kernel/drivers/net/tap.ko*",
    "usr/lib/modules/*/kernel/drivers/net/tun.ko*",
    "usr/lib/modules/*/kernel/drivers/net/veth.ko*",
    "usr/lib/modules/*/kernel/drivers/net/virtio_net.ko*",
    "usr/lib/modules/*/kernel/drivers/nvdimm/*",
    "usr/lib/modules/*/kernel/drivers/vhost/vhost.ko*",
    "usr/lib/modules/*/kernel/drivers/vhost/vhost_iotlb.ko*",
    "usr/lib/modules/*/kernel/drivers/vhost/vhost_net.ko*",
    "usr/lib/modules/*/kernel/fs/erofs/*",
    "usr/lib/modules/*/kernel/lib/libcrc32c.ko*",
    "usr/lib/modules/*/kernel/net/802/stp.ko*",
    "usr/lib/modules/*/kernel/net/bridge/bridge.ko*",
    "usr/lib/modules/*/kernel/net/core/failover.ko*",
    "usr/lib/modules/*/kernel/net/llc/llc.ko*",
];

impl SetKind {
    /// The files that every set of the kind keeps, as patterns of [`Set::keep`]. Of a kernel's
    /// modules only KVM's and [`Self::modules`] are kept: a lab machine loads no others.
    fn keep(self, architecture: Architecture) -> &'static [&'static str] {
        match (self, architecture) {
            (Self::Program | Self::Root, _) => &[],
            (Self::Kernel, _) => &[
                "boot/vmlinuz-*",
                "boot/config-*",
                "usr/lib/modules/*/vmlinuz",
                "usr/lib/modules/*/config",
                "usr/lib/modules/*/kernel/arch/*/kvm/*",
                "usr/lib/modules/*/kernel/virt/*",
            ],
            (Self::Debug, _) => &[
                "usr/lib/debug/boot/vmlinux-*",
                "usr/lib/debug/boot/xen-syms-*",
                "usr/lib/debug/*lib/modules/*/vmlinux",
                "usr/lib/debug/*lib/modules/*/kernel/arch/*/kvm/*",
                "usr/lib/debug/*lib/modules/*/kernel/virt/*",
            ],
            (Self::Xen, Architecture::X86_64) => &["boot/xen-*.gz"],
            (Self::Xen, Architecture::Aarch64) => &["boot/xen-*-arm64"],
        }
    }

    /// More of them, which versions of this program before there was a set of kind `root` did not
    /// keep.
    fn modules(self) -> &'static [&'static str] {
        match self {
            Self::Kernel => &MODULES,
            _ => &[],
        }
    }

    /// Whether its sets name programs.
    fn has_programs(self) -> bool {
        matches!(self, Self::Program | Self::Root)
    }
}

/// Debian packages that are fetched, stored and named together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// What it is, in one line.
    pub summary: String,
    pub kind: SetKind,
    pub architecture: Architecture,
    /// The Debian suite, as `bookworm`.
    pub suite: String,
    /// The packages to fetch; their dependencies are fetched too.
    pub packages: Vec<String>,
    /// If not empty, only packages that match one of these patterns are used ('*' is any text).
    #[serde(default)]
    pub take: Vec<String>,
    /// For kinds `program` and `root`: the programs of /usr/bin to keep, with all libraries that
    /// they need. In a `root`, a program elsewhere is a path, as `usr/sbin/x`.
    #[serde(default)]
    pub programs: Vec<String>,
    /// The files to keep besides those of the kind, as patterns of paths in the packages ('*' is
    /// any text, including '/'; /lib of a package becomes usr/lib).
    #[serde(default)]
    pub keep: Vec<String>,
    /// Whether `lab fetch --all` leaves it out.
    #[serde(default)]
    pub on_request: bool,
}

impl Set {
    /// The patterns of all files that it keeps, besides programs and libraries.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = &str> {
        let own = self.keep.iter().map(|pattern| &**pattern);
        let of_kind = self.kind.keep(self.architecture).iter();
        own.chain(of_kind.chain(self.kind.modules()).copied())
    }

    /// The paths of its programs.
    pub(crate) fn program_paths(&self) -> impl Iterator<Item = String> {
        self.programs
            .iter()
            .map(|program| match program.contains('/') {
                true => program.clone(),
                false => format!("usr/bin/{program}"),
            })
    }

    /// SHA-256, in hexadecimal, over all that decides which files of its packages are kept.
    pub(crate) fn kept_by(&self) -> String {
        let mut hash = Sha256::new();
        let programs = self.programs.iter().map(|program| &**program);
        for word in self.patterns().chain(["\n"]).chain(programs) {
            hash.update(word);
            hash.update([0]);
        }
        hex(&hash.finalize())
    }

    /// Whether a set whose manifest states no [`Self::kept_by`] has the files that are kept now. Its
    /// own patterns and programs are taken to be the same.
    pub(crate) fn keeps_as_before(&self) -> bool {
        self.kind.modules().is_empty()
    }
}

/// A package of an exact version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    pub name: String,
    /// Debian's version, as `1:10.0.13+ds-0+deb13u1`.
    pub version: String,
    /// Debian's name of the architecture: `amd64`, `arm64`, `all`.
    pub architecture: String,
    /// SHA-256 of the package file, in hexadecimal.
    pub sha256: String,
}

/// All sets by name.
pub type Sets = BTreeMap<String, Set>;

/// The pinned packages of each set, sorted by name.
pub type Lock = BTreeMap<String, Vec<Package>>;

/// Parses `packages.toml`.
///
/// # Errors
/// What is wrong, with its line.
pub(crate) fn parse_sets(text: &str, path: &Path) -> Result<Sets, LabError> {
    let sets: Sets = toml::from_str(text).map_err(|e| LabError::toml(path, &e))?;
    for (name, set) in &sets {
        check(name, set).map_err(|what| LabError::Toml {
            path: path.to_owned(),
            text: format!("set \"{}\": {what}", name.escape_debug()),
        })?;
    }
    Ok(sets)
}

/// Whether a set's name can be a folder's name: lower case, as Debian's package names.
pub(crate) fn is_set_name(name: &str) -> bool {
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.+_".contains(c);
    name.len() <= 64 && name.chars().all(good) && name.starts_with(|c: char| c.is_ascii_lowercase())
}

/// Checks what the types alone do not. Words end up on apt's command line and in its settings.
fn check(name: &str, set: &Set) -> Result<(), String> {
    if !is_set_name(name) {
        return Err("a set's name has only a-z, 0-9, '-', '.', '+' and '_'".into());
    }
    if set.packages.is_empty() {
        return Err("packages is empty".into());
    }
    if set.kind.has_programs() == set.programs.is_empty() {
        return Err("programs is for kind = \"program\" and kind = \"root\", which need it".into());
    }
    let is_path = |program: &String| {
        let is_clean = files::clean(program).as_ref() == Some(program);
        set.kind == SetKind::Root && program.contains('/') && is_clean
    };
    let mut programs = set.programs.iter();
    if let Some(wrong) = programs.find(|program| !is_word(program) && !is_path(program)) {
        return Err(format!(
            "\"{}\" is not the name of a program",
            wrong.escape_debug()
        ));
    }
    let mut words = [&set.suite].into_iter().chain(&set.packages);
    match words.find(|word| !is_word(word)) {
        Some(word) => Err(format!(
            "\"{}\" is not a valid Debian name",
            word.escape_debug()
        )),
        None => Ok(()),
    }
}

/// Whether `word` is well formed as Debian's name of a package, version, suite or architecture.
pub(crate) fn is_word(word: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || ".+-~:_".contains(c);
    !word.is_empty() && !word.starts_with('-') && word.chars().all(good)
}

/// Parses `lock.toml`.
///
/// # Errors
/// What is wrong, with its line.
pub(crate) fn parse_lock(text: &str, path: &Path) -> Result<Lock, LabError> {
    let lock: Lock = toml::from_str(text).map_err(|e| LabError::toml(path, &e))?;
    for (set, packages) in &lock {
        let sorted = packages.is_sorted_by(|a, b| a.name < b.name);
        let wrong = packages.iter().find(|package| !is_whole(package));
        if wrong.is_some() || !sorted {
            let name = wrong.map_or("the order of its packages", |package| &package.name);
            return Err(LabError::Toml {
                path: path.to_owned(),
                text: format!(
                    "set \"{}\": {} is wrong; worldswitch lab fetch --update-lock writes this file",
                    set.escape_debug(),
                    name.escape_debug()
                ),
            });
        }
    }
    Ok(lock)
}

/// Whether a package's fields are well formed.
pub(crate) fn is_whole(package: &Package) -> bool {
    let hash = &package.sha256;
    let lower_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    [&package.name, &package.version, &package.architecture]
        .iter()
        .all(|word| is_word(word))
        && hash.len() == 64
        && hash.chars().all(lower_hex)
}

/// The text of a lock file: one line a package, so that a diff shows each changed package as one
/// line.
pub(crate) fn write_lock(lock: &Lock) -> String {
    let mut text = String::from(
        "# The packages that each set of packages.toml consists of: written by\n\
         # `worldswitch lab fetch --update-lock`, which takes the newest.\n",
    );
    for (set, packages) in lock {
        text += &format!("\n\"{set}\" = [\n");
        for package in packages {
            // All four are plain words, so none needs escaping.
            text += &format!(
                "    {{ name = \"{}\", version = \"{}\", architecture = \"{}\", sha256 = \"{}\" }},\n",
                package.name, package.version, package.architecture, package.sha256
            );
        }
        text += "]\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packages() -> impl Strategy<Value = Vec<Package>> {
        let fields = (
            "[0-9][0-9a-z.+~:-]{0,12}",
            "(amd64|arm64|all)",
            "[0-9a-f]{64}",
        );
        prop::collection::btree_map("[a-z][a-z0-9.+-]{1,12}", fields, 0..4).prop_map(|packages| {
            let packages = packages.into_iter();
            let package = |(name, (version, architecture, sha256))| Package {
                name,
                version,
                architecture,
                sha256,
            };
            packages.map(package).collect()
        })
    }

    proptest! {
        #[test]
        fn a_written_lock_is_read(
            lock in prop::collection::btree_map("[a-z][a-z0-9.+-]{0,12}", packages(), 0..4),
        ) {
            let text = write_lock(&lock);
            prop_assert_eq!(parse_lock(&text, Path::new("lock.toml")).unwrap(), lock);
        }

        #[test]
        fn no_text_makes_it_stumble(text in "[a-z\\[\\]={}\"\n., ]{0,60}") {
            let _ = parse_lock(&text, Path::new("lock.toml"));
            let _ = parse_sets(&text, Path::new("packages.toml"));
        }
    }

    #[test]
    fn what_is_wrong_in_a_lock_is_named() {
        let hash = "0".repeat(64);
        let lock = |name: &str, hash: &str| {
            format!(
                "q = [{{ name = \"{name}\", version = \"1\", architecture = \"all\", sha256 = \"{hash}\" }}]"
            )
        };
        let read = |text: &str| {
            let lock = parse_lock(text, Path::new("lock.toml"));
            lock.map_err(|e| e.to_string())
        };
        assert!(read(&lock("a", &hash)).is_ok());
        assert!(
            read(&lock("a b", &hash))
                .unwrap_err()
                .contains("a b is wrong")
        );
        assert!(read(&lock("-a", &hash)).is_err());
        assert!(read(&lock("a", "00")).is_err());
        let error = read("q = [\n{ nam = \"a\" }]").unwrap_err();
        assert!(error.contains("line 2") && error.contains("nam"), "{error}");
    }

    #[test]
    fn what_a_set_keeps_has_a_digest() {
        let set = |more: &str| {
            let text = format!(
                "[s]\nsummary = \"x\"\narchitecture = \"x86_64\"\nsuite = \"sid\"\npackages = [\"a\"]\n{more}\n"
            );
            let mut sets = parse_sets(&text, Path::new("packages.toml")).unwrap();
            sets.remove("s").unwrap()
        };
        let root = set("kind = \"root\"\nprograms = [\"a\"]\nkeep = [\"b\"]");
        let other = Set {
            summary: "y".into(),
            ..root.clone()
        };
        assert_eq!(root.kept_by(), other.kept_by());
        for other in [
            "kind = \"root\"\nprograms = [\"a\"]",
            "kind = \"root\"\nprograms = [\"a\", \"b\"]",
            "kind = \"root\"\nprograms = [\"b\"]\nkeep = [\"a\"]",
            "kind = \"kernel\"\nkeep = [\"a\", \"b\"]",
        ] {
            assert_ne!(root.kept_by(), set(other).kept_by(), "{other}");
        }
        // Which kinds keep more than the versions of this program that stated no digest.
        assert!(root.keeps_as_before());
        let kernel = set("kind = \"kernel\"");
        assert!(!kernel.keeps_as_before());
    }

    #[test]
    fn a_root_s_programs_may_be_anywhere() {
        let programs = |kind: &str, program: &str| {
            let text = format!(
                "[s]\nsummary = \"x\"\nkind = \"{kind}\"\narchitecture = \"x86_64\"\nsuite = \"sid\"\npackages = [\"a\"]\nprograms = [\"{program}\"]\n"
            );
            let sets = parse_sets(&text, Path::new("packages.toml"));
            let sets = sets.map_err(|e| e.to_string())?;
            Ok::<_, String>(sets["s"].program_paths().collect::<Vec<_>>())
        };
        assert_eq!(programs("root", "sh").unwrap(), ["usr/bin/sh"]);
        assert_eq!(programs("root", "usr/sbin/x").unwrap(), ["usr/sbin/x"]);
        for (kind, program) in [
            ("program", "usr/sbin/x"),
            ("root", "/usr/sbin/x"),
            ("root", "../x"),
            ("root", "-x"),
        ] {
            let error = programs(kind, program).unwrap_err();
            assert!(error.contains("not the name of a program"), "{error}");
        }
    }

    #[test]
    fn what_is_wrong_in_a_set_is_named() {
        let set = |more: &str| {
            let text = format!(
                "[s]\nsummary = \"x\"\nkind = \"kernel\"\narchitecture = \"x86_64\"\nsuite = \"sid\"\n{more}\n"
            );
            let sets = parse_sets(&text, Path::new("packages.toml"));
            sets.map_err(|e| e.to_string())
        };
        assert!(set("packages = [\"a\"]").is_ok());
        for (more, said) in [
            ("packages = []", "packages is empty"),
            ("packages = [\"-o\"]", "not a valid Debian name"),
            (
                "packages = [\"a\"]\nprograms = [\"x\"]",
                "kind = \"program\"",
            ),
            ("packages = [\"a\"]\ncolour = 1", "line 7"),
            ("packages = [\"a\"]\ncolour = 1", "colour"),
        ] {
            let error = set(more).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
