//! The Debian archive of this system's apt: reads apt's sources, in both formats (sources.list(5)),
//! and changes nothing.

use std::fs;
use std::path::{Path, PathBuf};

/// An archive of packages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    /// Address of the archive, as in apt's sources.
    pub uri: String,
    /// The keys that sign it; by default the keys that apt trusts for every source.
    pub keys: Option<Keys>,
}

/// The keys of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    File(PathBuf),
    /// An ASCII-armoured key in the sources themselves.
    Text(String),
    /// No keys: the archive is a folder of this machine (`file:`), which the user named and trusts.
    Trusted,
}

/// Entry of apt's sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Entry {
    uris: Vec<String>,
    suites: Vec<String>,
    components: Vec<String>,
    signed_by: String,
}

/// Debian's suites, by the names used in sources.
const SUITES: [&str; 11] = [
    "bullseye",
    "bookworm",
    "trixie",
    "forky",
    "duke",
    "sid",
    "oldoldstable",
    "oldstable",
    "stable",
    "testing",
    "unstable",
];

/// The paths of Debian's own keys, from the package debian-archive-keyring.
const KEYRINGS: [&str; 2] = [
    "usr/share/keyrings/debian-archive-keyring.gpg",
    "usr/share/keyrings/debian-archive-keyring.pgp",
];

/// Finds the Debian archive in the sources of the system below `root` (normally "/").
pub fn debian_archive(root: &Path) -> Option<Archive> {
    let mut entries = Vec::new();
    let mut read = |path: &Path| {
        let text = fs::read(path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("list") => entries.extend(text.lines().filter_map(one_line)),
            Some("sources") => entries.extend(stanzas(&text)),
            _ => {}
        }
    };
    let apt = root.join("etc/apt");
    read(&apt.join("sources.list"));
    let parts = fs::read_dir(apt.join("sources.list.d"));
    let mut parts: Vec<_> = parts.into_iter().flatten().flatten().collect();
    parts.sort_by_key(fs::DirEntry::file_name);
    for part in parts {
        read(&part.path());
    }
    let mut archive = choose(&entries)?;
    if archive.keys.is_none() {
        let keyring = KEYRINGS.iter().map(|path| root.join(path));
        archive.keys = keyring
            .into_iter()
            .find(|path| path.is_file())
            .map(Keys::File);
    }
    Some(archive)
}

/// Chooses the first entry that is Debian's own archive. Other archives use the names of its suites too, so the keys or
/// the path must be Debian's as well.
fn choose(entries: &[Entry]) -> Option<Archive> {
    entries.iter().find_map(|entry| {
        let has =
            |list: &[String], known: &[&str]| list.iter().any(|item| known.contains(&&**item));
        if !has(&entry.suites, &SUITES) || !has(&entry.components, &["main"]) {
            return None;
        }
        let by_keys = entry.signed_by.contains("debian-archive");
        let uri = entry.uris.iter().find(|uri| {
            let path = uri.trim_end_matches('/');
            let by_path = path.ends_with("/debian") || path.ends_with("/debian.list");
            !uri.starts_with("cdrom:") && (by_keys || by_path)
        })?;
        Some(Archive {
            uri: uri.clone(),
            keys: keys(&entry.signed_by),
        })
    })
}

fn keys(signed_by: &str) -> Option<Keys> {
    if signed_by.contains("-----BEGIN PGP") {
        Some(Keys::Text(signed_by.to_owned()))
    } else {
        // A value without a path is the fingerprint of a key that apt trusts anyway.
        let mut words = signed_by.split([' ', '\t', '\n', ',']);
        let file = words.find(|word| word.starts_with('/'));
        file.map(|file| Keys::File(file.into()))
    }
}

/// Parses a line of sources.list: `deb [signed-by=FILE arch=amd64] URI SUITE COMPONENT...`
fn one_line(line: &str) -> Option<Entry> {
    let line = line.split('#').next()?.trim();
    let rest = line.strip_prefix("deb")?;
    if !rest.starts_with([' ', '\t']) {
        return None;
    }
    let mut rest = rest.trim_start();
    let mut signed_by = String::new();
    if let Some(behind) = rest.strip_prefix('[') {
        let (options, behind) = behind.split_once(']')?;
        let mut options = options.split_whitespace();
        signed_by = options
            .find_map(|option| option.strip_prefix("signed-by="))
            .unwrap_or_default()
            .to_owned();
        rest = behind;
    }
    let mut words = rest.split_whitespace().map(str::to_owned);
    Some(Entry {
        uris: vec![words.next()?],
        suites: vec![words.next()?],
        components: words.collect(),
        signed_by,
    })
}

/// Parses stanzas of `Key: value`, separated by empty lines. A line that begins with a blank continues the value above,
/// and a line with a single '.' is an empty line in the value.
fn stanzas(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut fields: Vec<(String, String)> = Vec::new();
    // An empty line ends the last stanza.
    for line in text.lines().chain([""]) {
        if line.starts_with('#') {
            continue;
        }
        if line.trim().is_empty() {
            entries.extend(entry(&std::mem::take(&mut fields)));
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = fields.last_mut() {
                value.push('\n');
                value.push_str(if line.trim() == "." { "" } else { line.trim() });
            }
        } else if let Some((key, value)) = line.split_once(':') {
            fields.push((key.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    entries
}

fn entry(fields: &[(String, String)]) -> Option<Entry> {
    let field = |name| {
        let field = fields.iter().find(|(key, _)| key == name);
        field.map_or("", |(_, value)| value)
    };
    let words =
        |name| -> Vec<String> { field(name).split_whitespace().map(str::to_owned).collect() };
    let is_off = ["no", "false", "0", "off", "without", "disable"].contains(&field("enabled"));
    (words("types").iter().any(|kind| kind == "deb") && !is_off).then(|| Entry {
        uris: words("uris"),
        suites: words("suites"),
        components: words("components"),
        signed_by: field("signed-by").trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// The archive of a system with these files of apt settings.
    fn archive(files: &[(&str, &str)]) -> Option<Archive> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut archive = debian_archive(root.path())?;
        if let Some(Keys::File(path)) = &mut archive.keys {
            if let Ok(inside) = path.strip_prefix(root.path()) {
                *path = Path::new("/root").join(inside);
            }
        }
        Some(archive)
    }

    const SOURCES: &str = "etc/apt/sources.list.d/debian.sources";

    #[test]
    fn one_line_entries_are_read() {
        let text = "# deb http://off/debian bookworm main\n\
                    deb-src http://a/debian bookworm main\n\
                    deb cdrom:[Debian]/ bookworm main\n\
                    deb\t[arch=amd64 signed-by=/k.gpg]  http://b/debian/ bookworm main contrib # x\n";
        let found = archive(&[("etc/apt/sources.list", text)]).unwrap();
        assert_eq!(found.uri, "http://b/debian/");
        assert_eq!(found.keys, Some(Keys::File("/k.gpg".into())));
    }

    #[test]
    fn stanzas_are_read() {
        let text = "# Debian\nTypes: deb deb-src\nURIs: http://sec/debian-security\n\
                    Suites: trixie-security\nComponents: main\n\n\
                    Types: deb\n# in between\nURIs: http://a/debian\nSuites: trixie\n trixie-updates\n\
                    Components: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n";
        let found = archive(&[(SOURCES, text)]).unwrap();
        assert_eq!(found.uri, "http://a/debian");
        let keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
        assert_eq!(found.keys, Some(Keys::File(keyring.into())));
    }

    #[test]
    fn a_key_may_stand_in_the_stanza() {
        let text = "Types: deb\nURIs: http://a/debian\nSuites: sid\nComponents: main\nSigned-By:\n \
                    -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQ==\n -----END PGP PUBLIC KEY BLOCK-----\n";
        let Some(Keys::Text(key)) = archive(&[(SOURCES, text)]).unwrap().keys else {
            panic!("no key");
        };
        assert_eq!(
            key,
            "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQ==\n-----END PGP PUBLIC KEY BLOCK-----"
        );
    }

    #[test]
    fn without_a_key_debians_keyring_is_taken_where_it_is() {
        let list = (
            "etc/apt/sources.list",
            "deb mirror+file:/etc/apt/mirrors/debian.list stable main",
        );
        assert_eq!(archive(&[list]).unwrap().keys, None);
        let keyring = ("usr/share/keyrings/debian-archive-keyring.pgp", "");
        let keys = archive(&[list, keyring]).unwrap().keys;
        let path = "/root/usr/share/keyrings/debian-archive-keyring.pgp";
        assert_eq!(keys, Some(Keys::File(path.into())));
    }

    #[test]
    fn other_archives_are_left_alone() {
        for line in [
            "deb [signed-by=/usr/share/keyrings/hashicorp.gpg] https://apt.example.org bookworm main",
            "deb http://archive.example.org/ubuntu noble main",
            "deb http://a/debian bookworm-security main",
            "deb http://a/debian bookworm contrib",
            "debx http://a/debian bookworm main",
            "deb [arch=amd64 http://a/debian bookworm main",
        ] {
            assert_eq!(archive(&[("etc/apt/sources.list", line)]), None, "{line}");
        }
        let off = "Types: deb\nURIs: http://a/debian\nSuites: sid\nComponents: main\nEnabled: no\n";
        assert_eq!(archive(&[(SOURCES, off)]), None);
        assert_eq!(archive(&[]), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_stumble(text in "(?s).{0,300}") {
            let _ = text.lines().filter_map(one_line).count();
            let _ = stanzas(&text);
        }

        #[test]
        fn what_is_written_is_read(
            order in Just(["Types", "URIs", "Suites", "Components", "Signed-By"]).prop_shuffle(),
            uri in "[a-z+]{1,8}://[a-z.]{1,20}(:[0-9]{1,4})?(/[a-z]{1,5}){0,3}/debian/?",
            keyring in "(/[a-z.-]{1,10}){1,4}",
            others in prop::collection::vec("[a-z-]{1,12}", 0..3),
        ) {
            let others = others.join(" ");
            let values = BTreeMap::from([
                ("Types", "deb-src deb".to_owned()),
                ("URIs", uri.clone()),
                ("Suites", format!("{others} bookworm")),
                ("Components", format!("main {others}")),
                ("Signed-By", keyring.clone()),
            ]);
            let text: String = order.iter().map(|key| format!("{key}: {}\n", values[key])).collect();
            let line = format!("deb [signed-by={keyring}] {uri} bookworm main {others}");
            let wanted = Some(Archive { uri, keys: Some(Keys::File(keyring.into())) });
            prop_assert_eq!(choose(&stanzas(&text)), wanted.clone());
            prop_assert_eq!(choose(&one_line(&line).into_iter().collect::<Vec<_>>()), wanted);
        }
    }
}
