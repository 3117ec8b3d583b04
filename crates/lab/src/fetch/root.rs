//! Finds the files that a root file system keeps of its packages. These are its programs, the files that its patterns
//! name, all libraries that any of these needs, and the links to them.

use super::needed::{Dynamic, dynamic, other};
use super::unpack::{below_usr, matches};
use crate::files::{self, Files};
use crate::manifest::Entry;
use crate::sets::Set;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

/// Folders with programs and libraries. Their files are kept until all packages are unpacked, as only then the needed
/// ones are known.
const FOLDERS: [&str; 5] = [
    "usr/bin/",
    "usr/lib/",
    "usr/lib64/",
    "usr/libexec/",
    "usr/sbin/",
];

/// The most links on the way to a file, as in Linux.
const LINKS: usize = 40;

/// Whether a file may be a program or a library.
pub(crate) fn may_be(path: &str) -> bool {
    FOLDERS.iter().any(|folder| path.starts_with(folder))
}

/// Finds the paths of all files and links that the set keeps.
pub(crate) fn closure(set: &Set, root: &Path, files: &Files) -> io::Result<BTreeSet<String>> {
    let mut closure = Closure {
        files,
        root,
        libraries: set.architecture.facts().libraries,
        kept: BTreeSet::new(),
        ahead: Vec::new(),
        elsewhere: Vec::new(),
    };
    let is_asked = |path: &str| set.patterns().any(|pattern| matches(pattern, path));
    for path in set.program_paths() {
        closure.want(&path, "the set")?;
    }
    let loader = set.architecture.facts().loader;
    closure.want(loader, "every program")?;
    for path in files.keys().filter(|path| is_asked(path)) {
        closure.reach(path);
    }
    closure.libraries()?;
    closure.links(is_asked);
    Ok(closure.kept)
}

struct Closure<'a> {
    files: &'a Files,
    root: &'a Path,
    /// The folder of libraries.
    libraries: &'static str,
    /// Paths of files and links, with the links that lead there.
    kept: BTreeSet<String>,
    /// Kept files whose libraries were not looked up yet.
    ahead: Vec<String>,
    /// Libraries in none of the loader's folders, each with the file that needs it.
    elsewhere: Vec<(String, String)>,
}

impl Closure<'_> {
    /// Keeps a file with the links on the way to it; false if there is no such file.
    fn reach(&mut self, path: &str) -> bool {
        let (links, end) = walk(self.files, path);
        let Some(end) = end.filter(|end| self.files.contains_key(end)) else {
            return false;
        };
        self.kept.extend(links);
        if self.kept.insert(end.clone()) {
            self.ahead.push(end);
        }
        true
    }

    fn want(&mut self, path: &str, by: &str) -> io::Result<()> {
        match self.reach(path) {
            true => Ok(()),
            false => Err(other(&format!("{by} needs {path}, which no package has"))),
        }
    }

    /// Keeps the libraries of all files, and the libraries that those need.
    fn libraries(&mut self) -> io::Result<()> {
        while let Some(path) = self.ahead.pop() {
            let dynamic =
                read(&self.root.join(&path)).map_err(|e| other(&format!("{path}: {e}")))?;
            let folders = folders(&path, &dynamic.folders);
            for name in dynamic.names {
                let mut places = folders.iter().map(|folder| &**folder);
                if !places.any(|folder| self.reach(&format!("{folder}/{name}")))
                    && !self.reach(&format!("{}/{name}", self.libraries))
                {
                    self.elsewhere.push((name, path.clone()));
                }
            }
        }
        // A program may load a library by its path. Other files then find it by its name.
        let names: BTreeSet<&str> = self.kept.iter().map(|path| name(path)).collect();
        let mut elsewhere = self.elsewhere.iter();
        match elsewhere.find(|(name, _)| !names.contains(&**name)) {
            None => Ok(()),
            Some((name, by)) => Err(other(&format!("{by} needs {name}, which no package has"))),
        }
    }

    /// Keeps all links that lead to kept files, and links that the set asks for and that lead to folders of kept files.
    fn links(&mut self, is_asked: impl Fn(&str) -> bool) {
        for (path, entry) in self.files {
            if let (Entry::Link { .. }, (links, Some(end))) = (entry, walk(self.files, path)) {
                let is_kept = self.kept.contains(&end);
                if is_kept || (is_asked(path) && self.is_folder(&end)) {
                    self.kept.extend(links);
                }
            }
        }
    }

    fn is_folder(&self, path: &str) -> bool {
        let below = format!("{path}/");
        let next = self.kept.range(below.clone()..).next();
        next.is_some_and(|path| path.starts_with(&below))
    }
}

/// Follows `path`. Returns the links on the way, and the end, which need not exist. There is no end if the path leads
/// out of the set or in a circle.
fn walk(files: &Files, path: &str) -> (Vec<String>, Option<String>) {
    let mut links = Vec::new();
    let mut path = path.to_owned();
    while links.len() <= LINKS {
        let ends = path.match_indices('/').map(|(at, _)| at);
        let parts = ends.chain([path.len()]).map(|end| path.split_at(end));
        let link = |(part, rest)| match files.get(part) {
            Some(Entry::Link { to }) => Some((part, to, rest)),
            _ => None,
        };
        let Some((part, to, rest)) = parts.into_iter().find_map(link) else {
            return (links, Some(path));
        };
        links.push(part.to_owned());
        let to = files::follow(part, to).map(|to| to + rest);
        match to {
            Some(to) => path = to,
            None => return (links, None),
        }
    }
    (links, None)
}

/// Reads a file's values for the dynamic loader: empty unless it is a program or library for 64 bits.
fn read(path: &Path) -> Result<Dynamic, String> {
    let bytes = fs::read(path).map_err(|e| e.to_string())?;
    match bytes.starts_with(b"\x7fELF\x02") {
        true => dynamic(&bytes).map_err(|e| format!("it is a damaged ELF file: {e}")),
        false => Ok(Dynamic::default()),
    }
}

/// The folders of libraries that the file at `path` names, as paths in the set.
fn folders(path: &str, named: &[String]) -> Vec<String> {
    let own = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let folders = named.iter().filter_map(|folder| {
        let folder = folder.replace("${ORIGIN}", "$ORIGIN");
        let folder = folder.replacen("$ORIGIN", &format!("/{own}"), 1);
        let absolute = folder.starts_with('/');
        let folder = absolute.then(|| files::follow("x", &folder));
        Some(below_usr(&folder.flatten()?))
    });
    folders.collect()
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn files(entries: &[(&str, &str)]) -> Files {
        let entry = |to: &str| match to {
            "" => Entry::File {
                bytes: 0,
                sha256: String::new(),
                executable: false,
            },
            to => Entry::Link { to: to.to_owned() },
        };
        let entries = entries.iter();
        entries
            .map(|(path, to)| ((*path).to_owned(), entry(to)))
            .collect()
    }

    #[test]
    fn links_are_followed_in_all_parts_of_a_path() {
        let files = files(&[
            ("usr/lib/v", "v-1"),
            ("usr/lib/v-1/a", ""),
            ("usr/lib/v-1/b", "a"),
            ("usr/lib/out", "../../../x"),
            ("usr/lib/me", "me"),
            ("usr/lib/gone", "nowhere/x"),
        ]);
        let walk = |path| {
            let (links, end) = walk(&files, path);
            (links.join(" "), end.unwrap_or_default())
        };
        let pair = |links: &str, end: &str| (links.to_owned(), end.to_owned());
        let a = "usr/lib/v-1/a";
        assert_eq!(walk(a), pair("", a));
        assert_eq!(walk("usr/lib/v/b"), pair("usr/lib/v usr/lib/v-1/b", a));
        assert_eq!(walk("usr/lib/out").1, "");
        assert_eq!(walk("usr/lib/me").1, "");
        assert_eq!(
            walk("usr/lib/gone"),
            pair("usr/lib/gone", "usr/lib/nowhere/x")
        );
        assert_eq!(walk("usr/lib/none"), pair("", "usr/lib/none"));
    }

    #[test]
    fn the_folders_of_libraries_are_below_the_root() {
        let named = [
            "/usr/lib/x",
            "/lib/y/",
            "$ORIGIN/../lib",
            "${ORIGIN}",
            "relative",
            "",
            "/../out",
        ];
        let named = named.map(str::to_owned);
        assert_eq!(
            folders("usr/bin/p", &named),
            ["usr/lib/x", "usr/lib/y", "usr/lib", "usr/bin"]
        );
    }

    proptest! {
        #[test]
        fn a_walk_ends_at_no_link(
            entries in prop::collection::btree_map("[ab](/[ab]){0,2}", "(\\.\\./|[ab]/){0,2}[ab]", 0..8),
            path in "[ab](/[ab]){0,3}",
        ) {
            let entries: Vec<(&str, &str)> =
                entries.iter().map(|(path, to)| (&**path, &**to)).collect();
            let files = files(&entries);
            let (links, end) = walk(&files, &path);
            prop_assert!(links.iter().all(|link| files.contains_key(link)));
            if let Some(end) = end {
                prop_assert!(!files.contains_key(&end));
            }
        }
    }
}
