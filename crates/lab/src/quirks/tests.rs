use super::*;
use crate::quirks::image::tests::elf;
use proptest::prelude::*;

/// A quirk of usr/bin/x whose cure has these lines.
fn quirks(cure: &str) -> Result<Quirks, String> {
    let text = format!(
        "[q]\nsummary = \"s\"\nreason = \"r\"\nfile = \"usr/bin/x\"\n[[q.cure]]\nbuilds = [\"x 1\"]\n{cure}"
    );
    parse(&text, Path::new("quirks.toml")).map_err(|e| e.to_string())
}

/// Finds its code in `0102030405060708` and makes `01020a0405060708` of it; the first byte may be another.
const CURE: &str = "code = [\".. 02\", [\"03 04\", \"0a ..\"], \"05 06 07 08 09\"]";

fn known() -> Quirks {
    let more = CURE.replace("09", "09 0b");
    quirks(&more).unwrap()
}

/// The code of [`known`], before the cure and after it.
const FAULTY: [u8; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11];
const CURED: [u8; 10] = [1, 2, 10, 4, 5, 6, 7, 8, 9, 11];

/// A set of one file.
fn set(root: &Path, content: &[u8]) -> Files {
    let entry = files::write(root, "usr/bin/x", &mut &*content, true).unwrap();
    Files::from([("usr/bin/x".into(), entry)])
}

/// Cures a set of one file; returns its bytes and what it is cured of.
fn cured(quirks: &Quirks, content: &[u8]) -> io::Result<(Vec<u8>, Vec<String>)> {
    let root = tempfile::tempdir().unwrap();
    let mut files = set(root.path(), content);
    let cured = apply(quirks, root.path(), &mut files)?;
    assert_eq!(files::verify(root.path(), &files), Ok(()));
    assert!(cured.values().all(|path| path == "usr/bin/x"));
    let new = fs::read(root.path().join("usr/bin/x"))?;
    Ok((new, cured.into_keys().collect()))
}

/// A manifest of one file that says of which faults it was cured.
fn manifest(files: Files, cured: &[&str]) -> Manifest {
    let cured = cured.iter().map(|name| (*name, "usr/bin/x"));
    let text = serde_json::json!({
        "version": 1, "set": "s", "kind": "program", "architecture": "x86_64", "suite": "sid",
        "pinned": false, "packages": [], "files": files, "cured": cured.collect::<BTreeMap<_, _>>(),
    });
    serde_json::from_value(text).unwrap()
}

proptest! {
    /// The code among other bytes, at their beginning, at their end, between them: once it is cured, and
    /// otherwise nothing is changed. A file that is cured is left as it is.
    #[test]
    fn code_that_is_there_once_is_cured(
        others in prop::collection::vec(prop::collection::vec(20u8..30, 0..5), 1..4),
        first in 0u8..20,
        is_cured: bool,
    ) {
        let mut code = if is_cured { CURED } else { FAULTY };
        code[0] = first;
        let content = others.join(&code[..]);
        let (new, names) = cured(&known(), &content).unwrap();
        if others.len() == 2 {
            let mut code = CURED;
            code[0] = first;
            prop_assert_eq!(&new, &others.join(&code[..]));
            prop_assert_eq!(names, ["q"]);
            prop_assert_eq!(cured(&known(), &new).unwrap().0, new);
        } else {
            prop_assert_eq!(new, content);
            prop_assert!(names.is_empty());
        }
    }

    /// A file with any other byte in the code is not changed.
    #[test]
    fn code_with_another_byte_is_left(at in 1usize..10, byte: u8) {
        let mut content = FAULTY;
        content[at] = byte;
        prop_assume!(content != FAULTY && content != CURED);
        let (new, names) = cured(&known(), &content).unwrap();
        prop_assert_eq!(&new[..], content);
        prop_assert!(names.is_empty());
    }
}

#[test]
fn faulty_code_beside_cured_code_is_left() {
    let content = [FAULTY, CURED].concat();
    assert_eq!(cured(&known(), &content).unwrap(), (content, vec![]));
}

#[test]
fn a_cure_may_have_forms_and_a_file_several_faults() {
    let mut quirks = known();
    let other = "code = [\"21 22 23 24 25 26 27\", [\"28\", \"29\"]]";
    let other = self::quirks(other).unwrap().remove("q").unwrap();
    quirks
        .get_mut("q")
        .unwrap()
        .cures
        .extend(other.cures.clone());
    let form = [0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28];
    assert_eq!(cured(&quirks, &form).unwrap().0[7], 0x29);
    let both = [&FAULTY[..], &form].concat();
    assert_eq!(cured(&quirks, &both).unwrap(), (both.clone(), vec![]));
    // The same code, of two faults.
    quirks = known();
    quirks.insert("r".into(), other);
    let (new, names) = cured(&quirks, &both).unwrap();
    assert_eq!((new[2], new[17]), (10, 0x29));
    assert_eq!(names, ["q", "r"]);
}

#[test]
fn cures_that_change_the_same_code_are_an_error_and_change_nothing() {
    let mut quirks = known();
    let other = "code = [\"02 03\", [\"04\", \"0c\"], \"05 06 07 08 09\"]";
    let other = self::quirks(other).unwrap().remove("q").unwrap();
    quirks.insert("r".into(), other);
    let error = cured(&quirks, &FAULTY).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("change the same code of usr/bin/x"),
        "{error}"
    );
}

#[test]
fn only_code_is_searched_and_of_a_named_function_only_that() {
    let mut file = elf(&[("f", 0x1210, 16)]);
    file[0x300..0x30a].copy_from_slice(&FAULTY);
    let quirks = |function: &str| {
        self::quirks(&format!("{}\n{function}", CURE.replace("09", "09 0b"))).unwrap()
    };
    let names = |file: &[u8], function| cured(&quirks(function), file).unwrap().1;
    assert!(names(&file, "").is_empty());
    file[0x230..0x23a].copy_from_slice(&FAULTY);
    assert_eq!(names(&file, ""), ["q"]);
    assert_eq!(names(&file, "function = \"g\""), ["q"]);
    assert!(names(&file, "function = \"f\"").is_empty());
    file[0x216..0x220].copy_from_slice(&FAULTY);
    assert!(names(&file, "").is_empty());
    assert_eq!(names(&file, "function = \"f\""), ["q"]);
}

/// As QEMU's `cmpb $0, one` must become `cmpl $0, other`, where only other code says where `other` is.
#[test]
fn an_address_comes_from_code_elsewhere() {
    let mut file = elf(&[("f", 0x1210, 16)]);
    file[0x210..0x21d].copy_from_slice(&[0x80, 0x3d, 1, 2, 3, 4, 0, 0x0f, 0x84, 5, 6, 7, 8]);
    // At 0x1240: lock orq $0,(%rsp); mov 0x2000,%rax.
    let place = [
        0xf0, 0x48, 0x83, 0x0c, 0x24, 0, 0x48, 0x8b, 0x05, 0xb3, 0x0d, 0, 0,
    ];
    file[0x240..0x24d].copy_from_slice(&place);
    let quirks = quirks(
        "function = \"f\"\ncode = [[\"80 3d .. .. .. .. 00\", \"83 3d <other> 00\"], \"0f 84 05 06 07 08\"]\n\
         elsewhere = [[\"f0 48 83 0c 24 00\", \"48 8b 05 <other>\"]]",
    )
    .unwrap();
    let (new, names) = cured(&quirks, &file).unwrap();
    assert_eq!(names, ["q"]);
    // 0x2000 - 0x1217.
    assert_eq!(new[0x210..0x217], [0x83, 0x3d, 0xe9, 0x0d, 0, 0, 0]);
    assert_eq!(cured(&quirks, &new).unwrap(), (new.clone(), names));
    // A cure that leads elsewhere is not this one.
    let mut other = new;
    other[0x212] = 0;
    assert!(cured(&quirks, &other).unwrap().1.is_empty());
    // Without that code, or with two, nothing is known.
    for second in [[0x90; 13], place] {
        let mut file = file.clone();
        file[0x240..0x24d].copy_from_slice(&second);
        file[0x260..0x26d].copy_from_slice(&second);
        assert_eq!(cured(&quirks, &file).unwrap(), (file, vec![]));
    }
}

#[test]
fn a_fault_in_several_places_is_cured_in_all_of_them() {
    let also = "also = [[\"21 22 23 24 25 26 27\", [\"28\", \"29\"]]]";
    let quirks = quirks(&format!("{}\n{also}", CURE.replace("09", "09 0b"))).unwrap();
    let second = [0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28];
    let mut cured_second = second;
    cured_second[7] = 0x29;
    let both = [&second[..], &[30], &FAULTY].concat();
    let wanted = [&cured_second[..], &[30], &CURED].concat();
    for content in [both, wanted.clone()] {
        let names = vec!["q".to_owned()];
        assert_eq!(cured(&quirks, &content).unwrap(), (wanted.clone(), names));
    }
    // One place is missing, there twice, or cured already.
    for content in [
        FAULTY.to_vec(),
        [&second[..], &FAULTY, &second].concat(),
        [&cured_second[..], &FAULTY].concat(),
        [&second[..], &CURED].concat(),
    ] {
        assert_eq!(cured(&quirks, &content).unwrap(), (content, vec![]));
    }
    assert_eq!(quirks["q"].cures[0].changes().count(), 2);
}

#[test]
fn a_set_in_the_store_is_judged_by_its_bytes() {
    let health = |content: &[u8], recorded: &[&str], trust| {
        let root = tempfile::tempdir().unwrap();
        let manifest = manifest(set(root.path(), content), recorded);
        let quirks = known();
        let health = health(&quirks, root.path(), &manifest, trust).unwrap();
        let words = |names: &[&str]| names.join(" ");
        let unknown: Vec<&str> = health.unknown.iter().map(|(name, _)| *name).collect();
        [
            words(&health.curable),
            words(&health.outdated),
            words(&unknown),
        ]
    };
    for (content, recorded, wanted) in [
        (&CURED[..], &["q"][..], ["", "", ""]),
        // A cure that became known after others were applied: nothing is said of the file's first hash.
        (&FAULTY, &[], ["q", "", ""]),
        (&FAULTY, &["other"], ["q", "", ""]),
        (&FAULTY, &["q"], ["q", "", ""]),
        // It came free of the fault, which the manifest does not say yet.
        (&CURED, &[], ["q", "", ""]),
        (b"other", &[], ["", "", "q"]),
        // The cure is another now.
        (b"other", &["q"], ["", "q", ""]),
    ] {
        assert_eq!(
            health(content, recorded, false),
            wanted,
            "{content:?} {recorded:?}"
        );
    }
    assert_eq!(health(b"other", &["q"], true), ["", "", ""]);
    assert_eq!(health(&FAULTY, &[], true), ["q", "", ""]);
}

#[test]
fn what_is_wrong_is_named() {
    for (cure, said) in [
        ("code = []", "0 known bytes"),
        (
            "code = [\"01 02 03 04 05 06\", [\"07\", \"08\"]]",
            "7 known bytes",
        ),
        (&CURE.replace("03 04", "03 0"), "\"0\" is not a byte"),
        (
            &CURE.replace("03 04", "03"),
            "\"03\" and its replacement differ in length",
        ),
        (
            &CURE.replace("\".. 02\"", "\"\""),
            "an instruction has no bytes",
        ),
        (&CURE.replace("0a ..", ".. .."), "changes no known byte"),
        (&CURE.replace("0a ..", "03 .."), "changes no known byte"),
        (
            &CURE.replace("03 04\", \"0a ..", "03 04 .. .. .. ..\", \"0a .. <x>"),
            "no code says where <x> is",
        ),
        (
            &format!("{CURE}\nelsewhere = [[\"01 <x>\"]]"),
            "1 known bytes",
        ),
        (
            &CURE.replace("[\"03 04\", \"0a ..\"]", "[\"03 04\"]"),
            "line 7",
        ),
        (&format!("{CURE}\nsha256 = \"x\""), "unknown field `sha256`"),
        ("", "missing field `code`"),
    ] {
        let error = quirks(cure).unwrap_err();
        assert!(error.contains(said), "{error}, not {said}");
    }
    let error = parse(
        "[q]\nsummary = \"s\"\nreason = \"r\"\nfile = \"x\"\n[[q.cure]]\nbuilds = []\ncode = []",
        Path::new("x"),
    );
    assert!(error.unwrap_err().to_string().contains("names no builds"));
    assert!(quirks(CURE).is_ok());
}

#[test]
fn a_fault_of_another_file_may_have_the_same_reason_and_cure() {
    let own = format!(
        "[q]\nsummary = \"s\"\nreason = \"r\"\nfile = \"x\"\n[[q.cure]]\nbuilds = [\"x 1\"]\n{CURE}\n"
    );
    let read = |other: &str| {
        let text = format!("{own}[o]\nsummary = \"t\"\nfile = \"y\"\n{other}");
        parse(&text, Path::new("x")).map_err(|e| e.to_string())
    };
    let quirks = read("extends = \"q\"\nbuilds = [\"y 2\"]").unwrap();
    let (q, o) = (&quirks["q"], &quirks["o"]);
    assert_eq!((&*o.summary, &*o.file, &o.reason), ("t", "y", &q.reason));
    assert_eq!(o.cures[0].builds, ["y 2"]);
    assert_eq!(o.cures[0].code, q.cures[0].code);
    for (wrong, said) in [
        ("", "it gives no reason"),
        (
            "reason = \"r\"\nbuilds = [\"y 2\"]",
            "builds are part of a cure",
        ),
        ("extends = \"q\"", "names no builds"),
        (
            "extends = \"q\"\nreason = \"r\"",
            "has that one's reason and cure",
        ),
        (
            "extends = \"p\"\nbuilds = [\"y 2\"]",
            "it extends \"p\", which is no fault",
        ),
        (
            "extends = \"o\"\nbuilds = [\"y 2\"]",
            "it extends \"o\", which is no fault",
        ),
    ] {
        let error = read(wrong).unwrap_err();
        assert!(error.contains(said), "{error}, not {said}");
    }
    let several = own.replace("[[q.cure]]", "[[q.cure]]\nbuilds = [\"x 0\"]\ncode = [\"01 02 03 04 05 06 07\", [\"08\", \"09\"]]\n[[q.cure]]");
    let text =
        format!("{several}[o]\nsummary = \"t\"\nfile = \"y\"\nextends = \"q\"\nbuilds = [\"y 2\"]");
    let error = parse(&text, Path::new("x")).unwrap_err();
    assert!(error.to_string().contains("with one cure"), "{error}");
}

/// Code of Debian's builds, with a few bytes before and after, and what the cures make of it: those of QEMU
/// 10.0.13 and Bochs 3.0 are the bytes that were tried in machines; code from elsewhere is moved behind the rest.
#[test]
fn the_cures_of_the_lab_know_the_code_of_these_builds() {
    let path = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../lab/quirks.toml"
    ));
    let quirks = parse(&fs::read_to_string(path).unwrap(), path).unwrap();
    let bytes = |text: &str| -> Vec<u8> {
        let digits: Vec<char> = text.chars().collect();
        let pairs = digits.chunks(2).map(|pair| pair.iter().collect::<String>());
        pairs
            .map(|pair| u8::from_str_radix(&pair, 16).unwrap())
            .collect()
    };
    let mut builds: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in include_str!("builds.txt").lines() {
        let [name, build, faulty, wanted] = line.split('|').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        builds.entry(name.into()).or_default().push(build.into());
        let quirk = &quirks[name];
        let mut code = bytes(faulty);
        let Finding::Faulty(cured) = examine(quirk, &code) else {
            panic!("{name} of {build} is not found");
        };
        write(&mut code, &cured).unwrap();
        assert_eq!(code, bytes(wanted), "{name} of {build}");
        assert!(matches!(examine(quirk, &code), Finding::Cured));
    }
    let named = quirks.iter().map(|(name, quirk)| {
        let builds = quirk.cures.iter().flat_map(|cure| cure.builds.clone());
        (name.clone(), builds.collect::<Vec<_>>())
    });
    assert_eq!(builds, named.collect());
}
