//! Unpacks packages, only the files that the set keeps. /bin, /lib and /sbin are moved below /usr. Modules and Xen are
//! decompressed, so that their use needs no tool.

use super::{needed, root};
use crate::files::{self, Files};
use crate::kernel::decompress::Packing;
use crate::manifest::Entry;
use crate::sets::{Set, SetKind};
use flate2::read::GzDecoder;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use tar::EntryType;

/// Packages being unpacked.
#[derive(Debug)]
pub(crate) struct Unpacking<'a> {
    set: &'a Set,
    root: PathBuf,
    files: Files,
    /// The index of each file's package.
    owners: BTreeMap<String, usize>,
    packages: usize,
}

impl<'a> Unpacking<'a> {
    /// Makes the value for files below `root`, a folder that does not exist yet.
    pub(crate) fn new(set: &'a Set, root: &Path) -> io::Result<Self> {
        fs::create_dir_all(root)?;
        Ok(Self {
            set,
            root: root.to_owned(),
            files: Files::new(),
            owners: BTreeMap::new(),
            packages: 0,
        })
    }

    /// Unpacks the next package from the tar archive of its files.
    pub(crate) fn package(&mut self, archive: impl Read) -> io::Result<()> {
        let mut archive = tar::Archive::new(archive);
        for entry in archive.entries()? {
            self.entry(&mut entry?)?;
        }
        self.packages += 1;
        Ok(())
    }

    fn entry(&mut self, entry: &mut tar::Entry<'_, impl Read>) -> io::Result<()> {
        let kind = entry.header().entry_type();
        if kind == EntryType::Directory {
            return Ok(());
        }
        let raw = entry.path_bytes().into_owned();
        let path = std::str::from_utf8(&raw).ok().and_then(files::clean);
        let path =
            path.ok_or_else(|| bad(&String::from_utf8_lossy(&raw), "is not a path in a package"))?;
        let path = below_usr(&path);
        let is_link = kind == EntryType::Symlink;
        if !self.keeps(&path, is_link) {
            return Ok(());
        }
        let (path, found) = match kind {
            EntryType::Regular | EntryType::Continuous => self.file(&path, entry)?,
            // A hard link is another name of a file of the package. Its path starts at the package's root.
            EntryType::Link if self.set.kind == SetKind::Root => {
                let to = entry.link_name_bytes().unwrap_or_default().into_owned();
                let to = std::str::from_utf8(&to).ok().and_then(files::clean);
                let to = to.ok_or_else(|| bad(&path, "is a link that leads out of the package"))?;
                let to = files::relative(&path, &below_usr(&to));
                (path, Entry::Link { to })
            }
            EntryType::Symlink => {
                let to = entry.link_name_bytes().unwrap_or_default().into_owned();
                let to = std::str::from_utf8(&to).ok();
                let to = to.and_then(|to| files::follow(&path, to));
                let to = to.ok_or_else(|| bad(&path, "is a link that leads out of the package"))?;
                let to = files::relative(&path, &below_usr(&to));
                (path, Entry::Link { to })
            }
            _ => return Err(bad(&path, "is neither a regular file nor a symbolic link")),
        };
        if self.files.insert(path.clone(), found).is_some() {
            return Err(bad(&path, "is in it twice"));
        }
        self.owners.insert(path, self.packages);
        Ok(())
    }

    fn file(
        &self,
        path: &str,
        content: &mut tar::Entry<'_, impl Read>,
    ) -> io::Result<(String, Entry)> {
        let executable = match self.set.kind {
            SetKind::Root => content.header().mode()? & 0o111 != 0,
            _ => is_program(path),
        };
        let write = |path: &str, content: &mut dyn Read, executable| {
            let entry = files::write(&self.root, path, content, executable)?;
            Ok((path.to_owned(), entry))
        };
        if let Some((module, packing)) = packed_module(path) {
            let mut bytes = Vec::new();
            content.read_to_end(&mut bytes)?;
            let bytes = packing
                .open(&bytes)
                .map_err(|e| bad(path, &format!("can't be decompressed: {e}")))?;
            return write(module, &mut &bytes[..], false);
        }
        if self.set.kind == SetKind::Xen && path.ends_with(".gz") {
            return write("boot/xen.elf", &mut GzDecoder::new(content), false);
        }
        if self.set.kind == SetKind::Xen && path.ends_with("-arm64") {
            return write("boot/xen.img", content, false);
        }
        write(path, content, executable)
    }

    /// Whether the set keeps a file, or may keep it: the needed libraries and links are known only when all packages
    /// are there.
    fn keeps(&self, path: &str, is_link: bool) -> bool {
        let asked = self.set.patterns().any(|pattern| matches(pattern, path));
        asked
            || match self.set.kind {
                SetKind::Program => needed::may_be(self.set, path),
                SetKind::Root => is_link || root::may_be(path),
                SetKind::Kernel | SetKind::Xen | SetKind::Debug => false,
            }
    }

    /// Drops files that no file of the set needs, and makes the links.
    ///
    /// Returns the files, and for each package, in the order of unpacking, whether any of its files is left.
    pub(crate) fn finish(mut self) -> io::Result<(Files, Vec<bool>)> {
        match self.set.kind {
            SetKind::Program => {
                let needed = needed::closure(self.set, &self.root, &self.files)?;
                let set = self.set;
                self.keep_only(|path| !needed::may_be(set, path) || needed.contains(path))?;
            }
            SetKind::Root => {
                let needed = root::closure(self.set, &self.root, &self.files)?;
                self.keep_only(|path| needed.contains(path))?;
            }
            SetKind::Kernel | SetKind::Xen | SetKind::Debug => {}
        }
        files::check(&self.files).map_err(io::Error::other)?;
        files::link(&self.root, &self.files)?;
        let mut used = vec![false; self.packages];
        for owner in self.owners.values() {
            if let Some(used) = used.get_mut(*owner) {
                *used = true;
            }
        }
        Ok((self.files, used))
    }

    /// Drops the files whose path `keeps` refuses.
    fn keep_only(&mut self, keeps: impl Fn(&str) -> bool) -> io::Result<()> {
        let paths = self.files.keys().filter(|path| !keeps(path));
        let drop: Vec<String> = paths.cloned().collect();
        for path in drop {
            if let Some(Entry::File { .. }) = self.files.remove(&path) {
                fs::remove_file(self.root.join(&path))?;
                self.remove_folders(&path);
            }
            self.owners.remove(&path);
        }
        Ok(())
    }

    /// Removes the folders of a removed file, up to one that is not empty.
    fn remove_folders(&self, path: &str) {
        let mut above = path;
        while let Some((folder, _)) = above.rsplit_once('/') {
            if fs::remove_dir(self.root.join(folder)).is_err() {
                return;
            }
            above = folder;
        }
    }
}

fn bad(path: &str, what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("{} {what}", path.escape_debug()),
    )
}

/// The path on a system with a merged /usr.
pub(super) fn below_usr(path: &str) -> String {
    let first = path.split('/').next().unwrap_or_default();
    match first {
        "bin" | "sbin" | "lib" | "lib64" => format!("usr/{path}"),
        _ => path.to_owned(),
    }
}

/// The path of a compressed kernel module without the ending that names its packing, and the packing.
fn packed_module(path: &str) -> Option<(&str, Packing)> {
    let (module, end) = path.rsplit_once('.')?;
    let packing = Packing::of_suffix(end)?;
    module.ends_with(".ko").then_some((module, packing))
}

/// Whether a file is executable: only programs and the dynamic loader are.
fn is_program(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    path.starts_with("usr/bin/") || name.starts_with("ld-linux")
}

/// Whether a text matches a pattern in which '*' stands for any text.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.split_once(part) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets::Architecture;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;
    use std::io::Write;

    fn set(kind: SetKind, keep: &[&str]) -> Set {
        Set {
            summary: String::new(),
            kind,
            architecture: Architecture::X86_64,
            suite: "sid".into(),
            packages: vec!["x".into()],
            take: Vec::new(),
            programs: Vec::new(),
            keep: keep.iter().map(|pattern| (*pattern).to_owned()).collect(),
            on_request: false,
        }
    }

    /// A package's files: path, kind, content or where a link leads.
    fn archive(entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (path, kind, content) in entries {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(*kind);
            // Written by hand: the library refuses to write the paths that are tested here.
            header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
            let is_link = [EntryType::Symlink, EntryType::Link].contains(kind);
            if is_link {
                header.as_old_mut().linkname[..content.len()].copy_from_slice(content);
            }
            let content: &[u8] = if is_link { b"" } else { content };
            header.set_size(content.len() as u64);
            header.set_cksum();
            builder.append(&header, content).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn unpack(set: &Set, packages: &[Vec<u8>]) -> Result<(Vec<String>, Vec<bool>), String> {
        let folder = tempfile::tempdir().unwrap();
        let unpack = || -> io::Result<_> {
            let mut unpacking = Unpacking::new(set, &folder.path().join("a/root"))?;
            for package in packages {
                unpacking.package(&**package)?;
            }
            let (files, used) = unpacking.finish()?;
            files::verify(&folder.path().join("a/root"), &files).unwrap();
            Ok((files.into_keys().collect(), used))
        };
        let done = unpack().map_err(|e| e.to_string());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        done
    }

    const FILE: EntryType = EntryType::Regular;
    const LINK: EntryType = EntryType::Symlink;

    #[test]
    fn only_what_is_kept_comes_and_all_of_it_below_usr() {
        let mut xen = GzEncoder::new(Vec::new(), Compression::fast());
        xen.write_all(b"xen").unwrap();
        let packages = [
            archive(&[("./boot/xen-4.gz", FILE, &xen.finish().unwrap())]),
            archive(&[
                ("./usr/share/doc/x", FILE, b"x"),
                ("./bin/", EntryType::Directory, b""),
            ]),
            archive(&[("./lib/x", LINK, b"/lib64/y"), ("./lib64/y", FILE, b"y")]),
        ];
        let set = set(SetKind::Xen, &["usr/lib*"]);
        let (files, used) = unpack(&set, &packages).unwrap();
        assert_eq!(files, ["boot/xen.elf", "usr/lib/x", "usr/lib64/y"]);
        assert_eq!(used, [true, false, true]);
    }

    #[test]
    fn files_for_programs_of_another_set_need_no_loader() {
        let mut set = set(SetKind::Program, &["usr/lib/*.a"]);
        let packages = [archive(&[
            ("./usr/lib/libc.a", FILE, b"!<arch>"),
            ("./usr/lib/x86_64-linux-gnu/libc.so.6", FILE, b"x"),
            ("./usr/bin/x", FILE, b"x"),
        ])];
        let (files, _) = unpack(&set, &packages).unwrap();
        assert_eq!(files, ["usr/lib/libc.a"]);
        set.programs = vec!["x".into()];
        assert!(unpack(&set, &packages).is_err());
    }

    #[test]
    fn modules_are_decompressed() {
        let set = set(SetKind::Kernel, &["*"]);
        let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
        gz.write_all(b"module").unwrap();
        let mut xz = Vec::new();
        lzma_rs::xz_compress(&mut &b"module"[..], &mut xz).unwrap();
        // A frame of one block that is not compressed (RFC 8878, 3.1.1).
        let zst = b"\x28\xb5\x2f\xfd\x20\x06\x31\0\0module";
        let package = archive(&[
            ("a.ko.gz", FILE, &gz.finish().unwrap()),
            ("b.ko.xz", FILE, &xz),
            ("c.ko.zst", FILE, zst),
            ("d.gz", FILE, b"no module"),
        ]);
        let folder = tempfile::tempdir().unwrap();
        let mut unpacking = Unpacking::new(&set, folder.path()).unwrap();
        unpacking.package(&*package).unwrap();
        let (files, _) = unpacking.finish().unwrap();
        let files: Vec<&String> = files.keys().collect();
        assert_eq!(files, ["a.ko", "b.ko", "c.ko", "d.gz"]);
        for module in &files[..3] {
            assert_eq!(fs::read(folder.path().join(module)).unwrap(), b"module");
        }
    }

    #[test]
    fn a_backslash_is_part_of_a_name() {
        let set = set(SetKind::Kernel, &["*"]);
        let unit = r"usr/lib/systemd/a\x2db.slice";
        let package = archive(&[(unit, FILE, b"x"), ("c", LINK, unit.as_bytes())]);
        assert_eq!(unpack(&set, &[package]).unwrap().0, ["c", unit]);
    }

    #[test]
    fn what_is_no_harmless_file_is_refused() {
        let set = set(SetKind::Kernel, &["*"]);
        for (entries, said) in [
            (vec![("../x", FILE, &b"x"[..])], "is not a path"),
            (vec![("/../x", FILE, b"x")], "is not a path"),
            (vec![("a/../../x", FILE, b"x")], "is not a path"),
            (vec![("x", LINK, b"../x")], "leads out"),
            (vec![("x", EntryType::Link, b"y")], "neither"),
            (vec![("x", EntryType::Char, b"")], "neither"),
            (vec![("x", FILE, b"x"), ("./x", FILE, b"y")], "exists"),
            (vec![("x", LINK, b"y"), ("./x", LINK, b"z")], "twice"),
            (
                vec![("x", LINK, b"y"), ("x/z", FILE, b"z")],
                "a folder and a file",
            ),
            (vec![("kvm.ko.xz", FILE, b"no xz")], "can't be decompressed"),
            (vec![("kvm.ko.zst", FILE, b"")], "can't be decompressed"),
            (vec![("kvm.ko.gz", FILE, b"x")], "can't be decompressed"),
        ] {
            let error = unpack(&set, &[archive(&entries)]).unwrap_err();
            assert!(error.contains(said), "{error}, not {said}");
        }
    }

    #[test]
    fn a_star_is_any_text() {
        for (pattern, text, is) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "a", true),
            ("*", "", true),
            ("a*b*c", "a/b/x/b/c", true),
            ("a*b*c", "a/c", false),
            ("linux-*-cloud", "linux-image-1-cloud", true),
            ("linux-*-cloud", "linux-cloud", false),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(matches(pattern, text), is, "{pattern} {text}");
        }
    }

    thread_local! {
        /// The folder of all cases: making one for each takes longer than the case.
        static FOLDER: tempfile::TempDir = tempfile::tempdir().unwrap();
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_stumble(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            let set = set(SetKind::Kernel, &["*"]);
            FOLDER.with(|folder| {
                let mut unpacking = Unpacking::new(&set, folder.path()).unwrap();
                let _ = unpacking.package(&*bytes);
                assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
            });
        }

        #[test]
        fn a_text_matches_what_it_was_made_from(parts in prop::collection::vec("[ab]{0,3}", 1..5), fill in "[ab]{0,3}") {
            prop_assert!(matches(&parts.join("*"), &parts.join(&fill)));
        }
    }
}
