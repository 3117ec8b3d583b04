//! Tests of export and import.

use super::*;
use crate::files::Files;
use crate::manifest::VERSION;
use crate::sets::{Architecture, SetKind};
use proptest::prelude::*;
use std::fs;

/// A store with a set of two files and a link.
fn store() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path().join("store"));
    let guard = store.lock(&mut |_| {}).unwrap();
    let workshop = guard.workshop().unwrap();
    let made = workshop.path().join("q");
    let root = made.join("root");
    let mut files = Files::new();
    for (path, text, executable) in [
        ("usr/bin/x", "program", true),
        ("boot/vmlinuz-1", "kernel", false),
    ] {
        let entry = files::write(&root, path, &mut text.as_bytes(), executable).unwrap();
        files.insert(path.into(), entry);
    }
    let to = "bin/x".to_owned();
    files.insert("usr/y".into(), Entry::Link { to });
    files::link(&root, &files).unwrap();
    guard.put(&manifest("q", files), &made).unwrap();
    drop(workshop);
    drop(guard);
    (folder, store)
}

fn manifest(set: &str, files: Files) -> Manifest {
    Manifest {
        version: VERSION,
        set: set.into(),
        kind: SetKind::Kernel,
        architecture: Architecture::X86_64,
        suite: "sid".into(),
        pinned: true,
        instead_of: None,
        cured: Default::default(),
        kept_by: None,
        packages: Vec::new(),
        files,
    }
}

fn silent() -> impl FnMut(&str) {
    |_: &str| {}
}

/// The result of an import of these bytes into an empty store; a refused one leaves nothing there.
fn import_bytes(bytes: &[u8]) -> Result<Vec<String>, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x");
    fs::write(&file, bytes).unwrap();
    let store = Store::at(folder.path().join("a/store"));
    let done = import(&store, &file, &mut silent()).map_err(|e| e.to_string());
    let names = store.names().unwrap();
    assert_eq!(names, done.clone().unwrap_or_default());
    let entries = fs::read_dir(store.root()).unwrap().flatten();
    for entry in entries {
        let name = entry.file_name().into_string().unwrap();
        assert!(name == "lock" || name == "sets", "{name} stayed");
    }
    let outside = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(outside, 2, "something was written outside of the store");
    done
}

/// A compressed archive of these entries.
fn archive(entries: &[(&str, EntryType, &str)]) -> Vec<u8> {
    let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, kind, content) in entries {
        let mut header = Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        // Written by hand: the library refuses to write the paths that are tested here.
        let name = &mut header.as_old_mut().name;
        name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_cksum();
        builder.append(&header, content.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

/// The manifest of a set `q` with these entries, as JSON.
fn with_files(entries: &[(&str, Entry)]) -> String {
    let entries = entries.iter();
    let files = entries
        .map(|(path, entry)| ((*path).to_owned(), entry.clone()))
        .collect();
    serde_json::to_string(&manifest("q", files)).unwrap()
}

fn file(content: &str) -> Entry {
    let (bytes, sha256) = files::copy(&mut content.as_bytes(), &mut io::sink()).unwrap();
    Entry::File {
        bytes,
        sha256,
        executable: false,
    }
}

const FILE: EntryType = EntryType::Regular;
const MANIFEST: &str = "sets/q/manifest.json";

#[test]
fn what_was_exported_is_imported() {
    let (folder, from) = store();
    let path = folder.path().join("lab.tar.gz");
    export(&from, &[], &path, &mut silent()).unwrap();
    let to = Store::at(folder.path().join("other"));
    assert_eq!(import(&to, &path, &mut silent()).unwrap(), ["q"]);
    let (a, b) = (from.find("q").unwrap(), to.find("q").unwrap());
    assert_eq!(a.manifest(), b.manifest());
    b.verify().unwrap();
    assert_eq!(fs::read(b.root.join("usr/y")).unwrap(), b"program");
    // Once more, over what is there; and the same store gives the same archive.
    import(&to, &path, &mut silent()).unwrap();
    let again = folder.path().join("again.tar.gz");
    export(&to, &["q".into()], &again, &mut silent()).unwrap();
    assert_eq!(fs::read(&path).unwrap(), fs::read(&again).unwrap());
    let mut stream = Vec::new();
    export_into(&to, &[], (&mut stream, "a stream"), &mut silent()).unwrap();
    assert_eq!(fs::read(&path).unwrap(), stream);
}

#[test]
fn what_is_damaged_or_not_there_is_not_exported() {
    let (folder, store) = store();
    let path = folder.path().join("lab.tar.gz");
    let error = export(&store, &["r".into()], &path, &mut silent()).unwrap_err();
    assert!(
        error.to_string().contains("worldswitch lab fetch r"),
        "{error}"
    );
    fs::write(store.find("q").unwrap().root.join("usr/bin/x"), "other").unwrap();
    let error = export(&store, &[], &path, &mut silent()).unwrap_err();
    assert!(error.to_string().contains("usr/bin/x"), "{error}");
    let empty = Store::at(folder.path().join("empty"));
    let error = export(&empty, &[], &path, &mut silent()).unwrap_err();
    assert!(error.to_string().contains("nothing"), "{error}");
    assert!(!path.exists());
}

#[test]
fn a_cut_or_changed_archive_is_refused_whole() {
    let (folder, store) = store();
    let path = folder.path().join("lab.tar.gz");
    export(&store, &[], &path, &mut silent()).unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_eq!(import_bytes(&bytes).unwrap(), ["q"]);
    for length in (0..bytes.len()).rev().step_by(3) {
        assert!(import_bytes(&bytes[..length]).is_err(), "{length}");
    }
}

#[test]
fn what_leads_out_of_the_store_is_refused() {
    let link = |to: &str| Entry::Link { to: to.into() };
    let long = "x/".repeat(600) + "y";
    for (path, entry) in [
        ("../../../evil", file("x")),
        ("/evil", file("x")),
        ("a/../../evil", file("x")),
        ("evil", link("/etc/passwd")),
        ("evil", link("../../../x")),
        ("", file("x")),
        (&*long, file("x")),
    ] {
        let manifest = with_files(&[(path, entry)]);
        let error = import_bytes(&archive(&[(MANIFEST, FILE, &manifest)])).unwrap_err();
        assert!(
            error.contains("is not a path in it") || error.contains("leads out"),
            "{error}"
        );
    }
    // A file through a link, even one that stays inside.
    let manifest = with_files(&[("a", link("b")), ("a/x", file("x"))]);
    let error = import_bytes(&archive(&[(MANIFEST, FILE, &manifest)])).unwrap_err();
    assert!(error.contains("a folder and a file"), "{error}");
}

#[test]
fn only_what_the_manifest_names_is_taken() {
    let one = with_files(&[("x", file("x"))]);
    let link = with_files(&[("x", Entry::Link { to: "y".into() })]);
    let begin = (MANIFEST, FILE, &*one);
    let x = ("sets/q/root/x", FILE, "x");
    assert_eq!(import_bytes(&archive(&[begin, x])).unwrap(), ["q"]);
    for (wrong, said) in [
        (vec![], "no set"),
        (vec![x], "manifest before"),
        (vec![begin], "is missing"),
        (vec![begin, x, x], "twice"),
        (vec![begin, begin, x], "is wrong"),
        (
            vec![begin, x, ("sets/q/root/y", FILE, "y")],
            "manifest before",
        ),
        (vec![begin, ("sets/q/x", FILE, "x")], "manifest before"),
        (vec![begin, ("sets/r/root/x", FILE, "x")], "manifest before"),
        (vec![begin, ("../evil", FILE, "x")], "not a file of a set"),
        (
            vec![begin, ("sets/../../evil", FILE, "x")],
            "manifest before",
        ),
        (
            vec![begin, ("sets/q/root/../../../../evil", FILE, "x")],
            "manifest before",
        ),
        (
            vec![begin, ("sets/q/root/x", EntryType::Symlink, "")],
            "not a regular file",
        ),
        (
            vec![begin, ("sets/q/root/x", EntryType::Link, "")],
            "not a regular file",
        ),
        (
            vec![begin, ("sets/q/root/x", EntryType::Directory, "")],
            "not a regular file",
        ),
        (
            vec![begin, ("sets/q/root/x", FILE, "y")],
            "does not match the manifest",
        ),
        (vec![begin, ("sets/q/root/x", FILE, "xx")], "2 bytes, not 1"),
        (vec![(MANIFEST, FILE, &link), x], "manifest before"),
        (vec![(MANIFEST, FILE, "{}"), x], "manifest.json"),
        (vec![("sets/r/manifest.json", FILE, &one), x], "that of"),
        (vec![("sets/../manifest.json", FILE, &one), x], "is wrong"),
    ] {
        let error = import_bytes(&archive(&wrong)).unwrap_err();
        assert!(error.contains(said), "{error}, not {said}");
    }
}

thread_local! {
    /// One folder for all cases of a test: making one for each takes longer than the case.
    static WORKSHOP: TempDir = tempfile::tempdir().unwrap();
}

/// Reads an archive into [`WORKSHOP`], where nothing may appear but the set `q`.
fn read_bytes(bytes: &[u8]) -> Result<(), String> {
    WORKSHOP.with(|workshop| {
        let mut import = Import {
            workshop,
            sets: Vec::new(),
        };
        let done = import.read(GzDecoder::new(bytes));
        for entry in fs::read_dir(workshop.path()).unwrap().flatten() {
            assert_eq!(entry.file_name(), "q");
            fs::remove_dir_all(entry.path()).unwrap();
        }
        done
    })
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

proptest! {
    #[test]
    fn no_bytes_make_it_stumble(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(read_bytes(&bytes).is_err());
        prop_assert!(read_bytes(&packed(&bytes)).is_err());
    }

    #[test]
    fn a_changed_archive_never_writes_elsewhere(
        at in any::<prop::sample::Index>(),
        bit in 0..8u32,
    ) {
        // Changed below the compression, whose checksum would find most changes.
        let one = with_files(&[("x", file("hello")), ("y", Entry::Link { to: "x".into() })]);
        let bytes = archive(&[(MANIFEST, FILE, &one), ("sets/q/root/x", FILE, "hello")]);
        let mut plain = Vec::new();
        GzDecoder::new(&bytes[..]).read_to_end(&mut plain).unwrap();
        let at = at.index(plain.len());
        plain[at] ^= 1 << bit;
        let _ = read_bytes(&packed(&plain));
    }
}
