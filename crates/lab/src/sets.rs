//! Sets of packages (`packages.toml`) and the versions that they are pinned to (`lock.toml`).

use crate::files;
use crate::lab::LabError;
use crate::recipe::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;
use toml::value::Datetime;

pub use crate::architecture::Architecture;

/// Kind of a set, which decides the checks after unpacking.
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

/// The modules of a machine that boots a whole Linux. They are for its root file system in an NVDIMM or persistent
/// memory, and for the network between it and its VMs.
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

/// The modules of KVM.
const KVM: [&str; 2] = [
    "usr/lib/modules/*/kernel/arch/*/kvm/*",
    "usr/lib/modules/*/kernel/virt/*",
];

/// The files of debug information.
const DEBUG: [&str; 5] = [
    "usr/lib/debug/boot/vmlinux-*",
    "usr/lib/debug/boot/xen-syms-*",
    "usr/lib/debug/*lib/modules/*/vmlinux",
    "usr/lib/debug/*lib/modules/*/kernel/arch/*/kvm/*",
    "usr/lib/debug/*lib/modules/*/kernel/virt/*",
];

impl SetKind {
    /// The files that every set of the kind keeps, as patterns of [`Set::keep`]. Only KVM's modules and
    /// [`Self::modules`] are kept of a kernel: a lab machine loads no others.
    fn keep(self, architecture: Architecture) -> [&'static [&'static str]; 2] {
        let facts = architecture.facts();
        match self {
            Self::Program | Self::Root => [&[], &[]],
            Self::Kernel => [facts.kernel_files, &KVM],
            Self::Debug => [&DEBUG, &[]],
            Self::Xen => [std::slice::from_ref(&facts.xen_file), &[]],
        }
    }

    /// Further patterns of files that the kind keeps. Versions of this program before sets of kind `root` did not keep
    /// them.
    fn modules(self) -> &'static [&'static str] {
        match self {
            Self::Kernel => &MODULES,
            _ => &[],
        }
    }

    /// Whether sets of the kind can name programs.
    fn has_programs(self) -> bool {
        matches!(self, Self::Program | Self::Root)
    }
}

/// Debian packages that are fetched, stored and named together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// Description of the set, in one line.
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
    /// they need. In a `root`, a program elsewhere is a path, as `usr/sbin/x`. A `program` without any has files that
    /// programs of another set read (`keep`).
    #[serde(default)]
    pub programs: Vec<String>,
    /// The files to keep besides those of the kind, as patterns of paths in the packages ('*' is
    /// any text, including '/'; /lib of a package becomes usr/lib).
    #[serde(default)]
    pub keep: Vec<String>,
    /// Whether `lab fetch --all` leaves the set out.
    #[serde(default)]
    pub on_request: bool,
}

impl Set {
    /// The patterns of all files that the set keeps, besides programs and libraries.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = &str> {
        let own = self.keep.iter().map(|pattern| &**pattern);
        let of_kind = self.kind.keep(self.architecture).into_iter().flatten();
        own.chain(of_kind.chain(self.kind.modules()).copied())
    }

    /// The paths of the set's programs.
    pub(crate) fn program_paths(&self) -> impl Iterator<Item = String> {
        self.programs
            .iter()
            .map(|program| match program.contains('/') {
                true => program.clone(),
                false => format!("usr/bin/{program}"),
            })
    }

    /// SHA-256, in hexadecimal, over all that decides which files of the set's packages are kept.
    pub(crate) fn kept_by(&self) -> String {
        let mut hash = Sha256::new();
        let programs = self.programs.iter().map(|program| &**program);
        for word in self.patterns().chain(["\n"]).chain(programs) {
            hash.update(word);
            hash.update([0]);
        }
        hex(&hash.finalize())
    }

    /// Whether a set whose manifest has no [`Self::kept_by`] has the files that this version keeps. Its own patterns
    /// and programs are taken to be the same.
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

/// The packages to which a set is pinned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pins {
    /// Time at which the archive had the packages, in UTC.
    pub date: Option<Datetime>,
    /// Packages, sorted by name.
    pub packages: Vec<Package>,
}

/// The pins of each set.
pub type Lock = BTreeMap<String, Pins>;

/// Parses `packages.toml`.
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

/// Checks the rules of a set that its types do not enforce. Its words get onto apt's command line and into apt's
/// settings.
fn check(name: &str, set: &Set) -> Result<(), String> {
    if !is_set_name(name) {
        return Err("a set's name has only a-z, 0-9, '-', '.', '+' and '_'".into());
    }
    if set.packages.is_empty() {
        return Err("packages is empty".into());
    }
    let has_only_files = set.kind == SetKind::Program && !set.keep.is_empty();
    if set.kind.has_programs() == set.programs.is_empty() && !has_only_files {
        return Err("programs is for kind = \"program\" and kind = \"root\", which need it (a \"program\" may have keep instead)".into());
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

/// Parses `lock.toml`. Older versions of this program wrote no date: there a set is only a list of packages.
pub(crate) fn parse_lock(text: &str, path: &Path) -> Result<Lock, LabError> {
    let lock: Lock = toml::from_str(text).or_else(|error| {
        let undated: BTreeMap<String, Vec<Package>> =
            toml::from_str(text).map_err(|_| LabError::toml(path, &error))?;
        let undated = undated.into_iter();
        let pins = |packages| Pins {
            date: None,
            packages,
        };
        Ok::<_, LabError>(
            undated
                .map(|(set, packages)| (set, pins(packages)))
                .collect(),
        )
    })?;
    for (set, pins) in &lock {
        check_pins(pins).map_err(|what| LabError::Toml {
            path: path.to_owned(),
            text: format!(
                "set \"{}\": {} is wrong; worldswitch lab fetch --update-lock writes this file",
                set.escape_debug(),
                what.escape_debug()
            ),
        })?;
    }
    Ok(lock)
}

/// Checks pins. The error names what is wrong.
fn check_pins(pins: &Pins) -> Result<(), String> {
    let date = pins.date.map(|date| date.to_string());
    // The time is in UTC and without fractions, as in the folder names of archives of old versions.
    let is_date = |date: &String| date.len() == "2026-01-01T00:00:00Z".len() && date.ends_with('Z');
    if let Some(wrong) = date.filter(|date| !is_date(date)) {
        return Err(wrong);
    }
    if let Some(wrong) = pins.packages.iter().find(|package| !is_whole(package)) {
        return Err(wrong.name.clone());
    }
    match pins.packages.is_sorted_by(|a, b| a.name < b.name) {
        true => Ok(()),
        false => Err("the order of its packages".into()),
    }
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

/// Makes the text of a lock file: one line a package, so that a diff shows each changed package as one line.
pub(crate) fn write_lock(lock: &Lock) -> String {
    let mut text = String::from(
        "# The packages that each set of packages.toml consists of, and when the archive had them: written by\n\
         # `worldswitch lab fetch --update-lock`, which takes the newest.\n",
    );
    for (set, pins) in lock {
        text += &format!("\n[\"{set}\"]\n");
        if let Some(date) = pins.date {
            text += &format!("date = {date}\n");
        }
        text += "packages = [\n";
        for package in &pins.packages {
            // All four are plain words, so no escapes are needed.
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

    fn pins() -> impl Strategy<Value = Pins> {
        let date = (2000u16..3000, 1u8..13, 1u8..29, 0u8..24, 0u8..60, 0u8..60);
        let date = date.prop_map(|(year, month, day, hour, minute, second)| {
            format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
                .parse()
                .unwrap()
        });
        let fields = (prop::option::of(date), packages());
        fields.prop_map(|(date, packages)| Pins { date, packages })
    }

    proptest! {
        #[test]
        fn a_written_lock_is_read(
            lock in prop::collection::btree_map("[a-z][a-z0-9.+-]{0,12}", pins(), 0..4),
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
        let package = |name: &str, hash: &str| {
            format!(
                "{{ name = \"{name}\", version = \"1\", architecture = \"all\", sha256 = \"{hash}\" }}"
            )
        };
        let read = |text: &str| {
            let lock = parse_lock(text, Path::new("lock.toml"));
            lock.map_err(|e| e.to_string())
        };
        let dated = |date: &str, packages: &str| {
            read(&format!("[q]\ndate = {date}\npackages = [{packages}]"))
        };
        let good = package("a", &hash);
        let lock = dated("2026-11-26T08:43:55Z", &good).unwrap();
        // The form of older versions.
        let old = read(&format!("q = [{good}]")).unwrap();
        assert_eq!(
            (old["q"].date, &old["q"].packages),
            (None, &lock["q"].packages)
        );
        let day = "2026-11-26T08:43:55Z";
        for (date, packages, said) in [
            (day, package("a b", &hash), "a b is wrong"),
            (day, package("-a", &hash), "-a is wrong"),
            (day, package("a", "00"), "a is wrong"),
            (day, format!("{}, {good}", package("b", &hash)), "the order"),
            (day, "\n{ nam = \"a\" }".into(), "line 4"),
            (day, "\n{ nam = \"a\" }".into(), "nam"),
            ("2026-11-26", good.clone(), "2026-11-26 is wrong"),
            (
                "2026-11-26T08:43:55",
                good.clone(),
                "2026-11-26T08:43:55 is wrong",
            ),
            ("2026-11-26T08:43:55.5Z", good.clone(), "is wrong"),
            ("2026-11-26T08:43:55+01:00", good.clone(), "is wrong"),
            ("2026-13-26T08:43:55Z", good.clone(), "line 2"),
            ("1", good.clone(), "line 2"),
        ] {
            let error = dated(date, &packages).unwrap_err();
            assert!(error.contains(said), "{error}, not {said}");
        }
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
        let program = |more: &str| {
            let text = format!(
                "[s]\nsummary = \"x\"\nkind = \"program\"\narchitecture = \"x86_64\"\nsuite = \"sid\"\npackages = [\"a\"]\n{more}\n"
            );
            parse_sets(&text, Path::new("packages.toml"))
        };
        assert!(program("programs = [\"x\"]").is_ok());
        assert!(program("keep = [\"usr/lib/libc.a\"]").is_ok());
        let error = program("").unwrap_err().to_string();
        assert!(error.contains("may have keep instead"), "{error}");
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
