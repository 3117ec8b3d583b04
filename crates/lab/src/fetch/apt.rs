//! apt with its own folder for its lists, its cache and the state of an empty system. So nothing on this system
//! changes, and no root is needed. Of this system's settings, apt uses only those on how to reach an archive
//! (`Acquire::`). The only one of these that runs a program is the detection of a proxy (`Proxy-Auto-Detect`).

use super::sources::{Archive, Keys};
use super::{FetchError, Tools};
use crate::sets::{Architecture, Package, is_word};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The least time between two progress messages of a download.
const WORD: Duration = Duration::from_secs(3);

/// apt for one suite and architecture.
#[derive(Debug)]
pub(crate) struct Apt<'a> {
    tools: &'a Tools,
    folder: PathBuf,
    suite: String,
    architecture: Architecture,
    /// The lines of the archives in apt's sources.
    sources: RefCell<Vec<String>>,
}

/// The characters that end a word in apt's sources.
const BLANK: &str = " #]";

/// Time limits of an archive of old versions: it is only asked for packages that the usual archive lacks.
const PATIENCE: [&str; 6] = [
    "-o",
    "Acquire::http::Timeout=10",
    "-o",
    "Acquire::https::Timeout=10",
    "-o",
    "Acquire::Retries=0",
];

/// A package's name and version, before its file is downloaded.
pub(crate) type Version = (String, String);

impl<'a> Apt<'a> {
    /// Sets up a folder that does not exist yet.
    pub(crate) fn new(
        tools: &'a Tools,
        folder: &Path,
        archive: &Archive,
        suite: &str,
        architecture: Architecture,
    ) -> Result<Self, FetchError> {
        let apt = Self {
            tools,
            folder: folder.to_owned(),
            suite: suite.to_owned(),
            architecture,
            sources: RefCell::default(),
        };
        for path in ["lists/partial", "cache/archives/partial"] {
            let path = folder.join(path);
            fs::create_dir_all(&path).map_err(|e| FetchError::io("make", &path, e))?;
        }
        plain(folder, "\"")?;
        let line = apt.line(archive, "")?;
        apt.write("sources.list", &line)?;
        apt.sources.borrow_mut().push(line);
        apt.write("status", "")?;
        let settings = apt.reach()? + &apt.settings(architecture.facts().debian);
        apt.write("apt.conf", &settings)?;
        Ok(apt)
    }

    /// An archive's lines in apt's sources.
    fn line(&self, archive: &Archive, options: &str) -> Result<String, FetchError> {
        let keys = match &archive.keys {
            None => String::new(),
            Some(Keys::File(path)) => format!(" signed-by={}", plain(path, BLANK)?),
            Some(Keys::Text(text)) => {
                let path = self.write(&key_file(text), text)?;
                format!(" signed-by={}", plain(&path, BLANK)?)
            }
            Some(Keys::Trusted) => " trusted=yes".to_owned(),
        };
        let uri = plain(Path::new(&archive.uri), BLANK)?;
        let arch = self.architecture.facts().debian;
        let suites = std::iter::once(&*self.suite).chain(base_of(&self.suite));
        let line = |suite| format!("deb [arch={arch}{options}{keys}] {uri} {suite} main\n");
        Ok(suites.map(line).collect())
    }

    /// Adds an archive of old versions, whose lists may have expired. If the archive can't be read, apt is as before.
    pub(crate) fn add_old(&self, archive: &Archive) -> Result<(), FetchError> {
        let line = self.line(archive, " check-valid-until=no")?;
        let before = self.sources.borrow().concat();
        if before.contains(&line) {
            return Ok(());
        }
        self.write("sources.list", &format!("{before}{line}"))?;
        let mut command = self.command(&self.tools.apt_get);
        let read = run(command.arg("-q").args(PATIENCE).arg("update"));
        match read {
            Ok(_) => self.sources.borrow_mut().push(line),
            Err(_) => drop(self.write("sources.list", &before)?),
        }
        read.map(drop)
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, FetchError> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(|e| FetchError::io("write", &path, e))?;
        Ok(path)
    }

    /// Settings of this system on how to reach an archive: proxies, certificates, retries.
    fn reach(&self) -> Result<String, FetchError> {
        let mut command = Command::new(&self.tools.apt_config);
        let output = run(command.arg("dump"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let lines = text.lines().filter(|line| is_reach(line));
        Ok(lines.flat_map(|line| [line, "\n"]).collect())
    }

    fn settings(&self, architecture: &str) -> String {
        let at = |name: &str| self.folder.join(name).display().to_string();
        let pairs = [
            ("APT::Architecture", architecture.to_owned()),
            ("APT::Architectures::", architecture.to_owned()),
            ("APT::Get::AllowUnauthenticated", "false".to_owned()),
            ("APT::Install-Recommends", "false".to_owned()),
            // No other user is needed: everything is written to the user's own folder.
            ("APT::Sandbox::User", "root".to_owned()),
            ("APT::Update::Error-Mode", "any".to_owned()),
            (
                "Acquire::AllowDowngradeToInsecureRepositories",
                "false".to_owned(),
            ),
            ("Acquire::AllowInsecureRepositories", "false".to_owned()),
            ("Acquire::AllowWeakRepositories", "false".to_owned()),
            ("Acquire::Languages", "none".to_owned()),
            ("Dir::Cache", at("cache")),
            ("Dir::Cache::archives", at("cache/archives")),
            ("Dir::Etc::main", "/dev/null".to_owned()),
            ("Dir::Etc::parts", "/dev/null".to_owned()),
            ("Dir::Etc::preferences", "/dev/null".to_owned()),
            ("Dir::Etc::preferencesparts", "/dev/null".to_owned()),
            ("Dir::Etc::sourcelist", at("sources.list")),
            ("Dir::Etc::sourceparts", "/dev/null".to_owned()),
            ("Dir::State", at("")),
            ("Dir::State::lists", at("lists")),
            ("Dir::State::status", at("status")),
        ];
        let line = |(name, value): &(&str, String)| format!("{name} \"{value}\";\n");
        pairs.iter().map(line).collect()
    }

    fn command(&self, program: &OsStr) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.folder.join("cache/archives"))
            .env("APT_CONFIG", self.folder.join("apt.conf"))
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        command
    }

    /// Reads the archive's list of packages.
    pub(crate) fn update(&self) -> Result<(), FetchError> {
        run(self.command(&self.tools.apt_get).args(["-q", "update"])).map(drop)
    }

    /// The newest versions of `packages` and of all their dependencies.
    pub(crate) fn newest(&self, packages: &[String]) -> Result<Vec<Version>, FetchError> {
        let mut command = self.command(&self.tools.apt_get);
        command.args(["-q", "--simulate"]);
        // If the suite builds on another one, its own versions are the newest.
        if base_of(&self.suite).is_some() {
            command.args(["-t", &self.suite]);
        }
        command.args(["install", "--"]);
        let output = run(command.args(packages))?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(installation).collect())
    }

    /// The packages that the archive does not have in these versions.
    pub(crate) fn gone<'p>(&self, packages: &'p [Package]) -> Result<Vec<&'p Package>, FetchError> {
        let mut command = self.command(&self.tools.apt_cache);
        command.args(["madison", "--"]);
        let output = run(command.args(packages.iter().map(|package| &package.name)))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let there: BTreeSet<Version> = text.lines().filter_map(madison).collect();
        let is_gone = |package: &&Package| {
            let version = (package.name.clone(), package.version.clone());
            !there.contains(&version)
        };
        Ok(packages.iter().filter(is_gone).collect())
    }

    /// Downloads packages, with progress messages. Returns their files.
    pub(crate) fn download(
        &self,
        packages: &[Version],
        say: &mut dyn FnMut(&str),
    ) -> Result<Vec<PathBuf>, FetchError> {
        let mut command = self.command(&self.tools.apt_get);
        command.args([
            "-q",
            "-o",
            "APT::Get::AllowUnauthenticated=false",
            "download",
            "--",
        ]);
        let words = packages
            .iter()
            .map(|(name, version)| format!("{name}={version}"));
        let total = packages.len();
        let (mut count, mut last) = (0, Instant::now());
        run_heard(command.args(words), &mut |line| {
            if line.starts_with("Get:") {
                count += 1;
                if last.elapsed() >= WORD {
                    last = Instant::now();
                    say(&format!("package {count} of {total}"));
                }
            }
        })?;
        let folder = self.folder.join("cache/archives");
        let entries = fs::read_dir(&folder).map_err(|e| FetchError::io("read", &folder, e))?;
        let mut files: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension() == Some(OsStr::new("deb")))
            .collect();
        files.sort();
        Ok(files)
    }
}

/// The name of a key's file, by its text: archives have several keys.
fn key_file(text: &str) -> String {
    format!("archive-{:x}.asc", Sha256::digest(text))
}

/// Whether a line of `apt-config dump` is a setting on how to reach an archive. apt reads names in any case.
fn is_reach(line: &str) -> bool {
    // These would add lists, or accept archives without a good signature (`AllowWeakRepositories`).
    const OTHERS: [&str; 3] = ["indextargets", "languages", "allow"];
    let line = line.to_ascii_lowercase();
    let name = line.strip_prefix("acquire::");
    name.is_some_and(|name| !OTHERS.iter().any(|other| name.starts_with(other)))
}

/// The suite with the dependencies of this one's packages, if this one has only some packages.
fn base_of(suite: &str) -> Option<&str> {
    match suite {
        "experimental" | "rc-buggy" => Some("sid"),
        _ => suite
            .strip_suffix("-backports-sloppy")
            .or_else(|| suite.strip_suffix("-backports")),
    }
}

/// Checks that a path or address can be written in apt's files: it must have no control characters and none of `not`.
fn plain<'a>(path: &'a Path, not: &str) -> Result<&'a str, FetchError> {
    let bad = |c: char| c.is_control() || not.contains(c);
    path.to_str()
        .filter(|text| !text.is_empty() && !text.contains(bad))
        .ok_or_else(|| FetchError::NotPlain(path.to_owned()))
}

/// The name, version and architecture that a package file contains, and its hash.
pub(crate) fn identify(tools: &Tools, file: &Path) -> Result<Package, FetchError> {
    let mut command = Command::new(&tools.dpkg_deb);
    let format = "--showformat=${Package}\t${Version}\t${Architecture}\n";
    let output = run(command.arg(format).arg("--show").arg(file))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut words = text.trim_end().split('\t').map(str::to_owned);
    let mut word = || words.next().filter(|word| is_word(word));
    let (name, version, architecture) = (word(), word(), word());
    let sha256 = crate::files::sha256(file).map_err(|e| FetchError::io("read", file, e))?;
    match (name, version, architecture) {
        (Some(name), Some(version), Some(architecture)) => Ok(Package {
            name,
            version,
            architecture,
            sha256,
        }),
        _ => Err(FetchError::Package {
            file: file.to_owned(),
            what: "it has no valid name, version or architecture".to_owned(),
        }),
    }
}

/// Passes the tar archive of a package's files to `take`.
pub(crate) fn open_package<T>(
    tools: &Tools,
    file: &Path,
    take: impl FnOnce(&mut dyn Read) -> std::io::Result<T>,
) -> Result<T, FetchError> {
    let fail = |what: String| FetchError::Package {
        file: file.to_owned(),
        what,
    };
    let mut command = Command::new(&tools.dpkg_deb);
    command.arg("--fsys-tarfile").arg(file);
    let mut child = start(command.stdout(Stdio::piped()).stderr(Stdio::null()))?;
    let taken = match child.stdout.take() {
        Some(mut stdout) => take(&mut stdout),
        None => Err(std::io::Error::other("it has no output")),
    };
    // If `take` failed, the pipe is closed by now, which ends dpkg-deb.
    let status = child.wait().map_err(|e| fail(e.to_string()))?;
    let taken = taken.map_err(|e| fail(e.to_string()))?;
    if !status.success() {
        return Err(fail("it is not a complete package".to_owned()));
    }
    Ok(taken)
}

/// Parses a line of `apt-get --simulate`: `Inst libc6 (2.41-12 Debian:13.7/stable [amd64]) []`
fn installation(line: &str) -> Option<Version> {
    let rest = line.strip_prefix("Inst ")?;
    let (name, rest) = rest.split_once(' ')?;
    let version = rest.split_once('(')?.1.split([' ', ')']).next()?;
    (is_word(name) && is_word(version)).then(|| (name.to_owned(), version.to_owned()))
}

/// Parses a line of `apt-cache madison`: ` libc6 | 2.41-12 | http://archive/debian trixie/main amd64 Packages`
fn madison(line: &str) -> Option<Version> {
    let mut columns = line.split('|').map(str::trim);
    let (name, version, source) = (columns.next()?, columns.next()?, columns.next()?);
    let is_package = source.ends_with(" Packages");
    (is_package && is_word(name) && is_word(version)).then(|| (name.to_owned(), version.to_owned()))
}

fn start(command: &mut Command) -> Result<std::process::Child, FetchError> {
    command.spawn().map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => FetchError::NoTool(name(command)),
        _ => FetchError::Tool {
            program: name(command),
            said: e.to_string(),
        },
    })
}

fn name(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

fn run(command: &mut Command) -> Result<Output, FetchError> {
    let child = start(command.stdout(Stdio::piped()).stderr(Stdio::piped()))?;
    let output = child.wait_with_output().map_err(|e| FetchError::Tool {
        program: name(command),
        said: e.to_string(),
    })?;
    judge(command, output.status.success(), &output.stderr)?;
    Ok(output)
}

/// Runs a program and passes each line of its output to `hear`.
fn run_heard(command: &mut Command, hear: &mut dyn FnMut(&str)) -> Result<(), FetchError> {
    let mut child = start(command.stdout(Stdio::piped()).stderr(Stdio::piped()))?;
    // Standard error is read by another thread, or a full pipe would block the program.
    let mut stderr = child.stderr.take();
    let complaints = std::thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(stderr) = &mut stderr {
            // A read error only shortens an error message.
            let _ = stderr.read_to_end(&mut text);
        }
        text
    });
    if let Some(stdout) = child.stdout.take() {
        let lines = BufReader::new(stdout).split(b'\n');
        for line in lines.map_while(Result::ok) {
            hear(&String::from_utf8_lossy(&line));
        }
    }
    let status = child.wait();
    let complaints = complaints.join().unwrap_or_default();
    let success = status.is_ok_and(|status| status.success());
    judge(command, success, &complaints)
}

fn judge(command: &Command, success: bool, stderr: &[u8]) -> Result<(), FetchError> {
    if success {
        return Ok(());
    }
    let text = String::from_utf8_lossy(stderr);
    let errors = text
        .lines()
        .filter(|line| line.starts_with("E:") || line.starts_with("Err"));
    let mut lines: Vec<&str> = errors.take(4).collect();
    if lines.is_empty() {
        lines = text.lines().rev().take(3).collect();
        lines.reverse();
    }
    Err(FetchError::Tool {
        program: name(command),
        said: lines.join("\n"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pair(name: &str, version: &str) -> Option<Version> {
        Some((name.to_owned(), version.to_owned()))
    }

    #[test]
    fn each_archive_has_a_key_file_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let apt = Apt {
            tools: &Tools::default(),
            folder: folder.path().to_owned(),
            suite: "trixie".to_owned(),
            architecture: Architecture::X86_64,
            sources: RefCell::default(),
        };
        let archive = |keys: &str| Archive {
            uri: "http://a/debian".to_owned(),
            keys: Some(Keys::Text(keys.to_owned())),
        };
        let lines = ["one", "other", "one"].map(|keys| apt.line(&archive(keys), "").unwrap());
        assert_ne!(lines[0], lines[1]);
        assert_eq!(lines[0], lines[2]);
        let read = |keys| fs::read_to_string(folder.path().join(key_file(keys))).unwrap();
        assert_eq!([read("one"), read("other")], ["one", "other"]);
    }

    #[test]
    fn of_this_systems_settings_only_those_on_reach_are_taken() {
        for taken in [
            "Acquire::http::Proxy \"http://proxy:1\";",
            "acquire::https::CAInfo \"/a\";",
            "Acquire::Retries \"3\";",
        ] {
            assert!(is_reach(taken), "{taken}");
        }
        for left in [
            "APT::Architecture \"amd64\";",
            "Acquire::Languages \"de\";",
            "Acquire::IndexTargets \"\";",
            "Acquire::AllowWeakRepositories \"1\";",
            "acquire::allowinsecurerepositories \"1\";",
            "ACQUIRE::allowDowngradeToInsecureRepositories \"1\";",
        ] {
            assert!(!is_reach(left), "{left}");
        }
    }

    #[test]
    fn what_apt_says_is_read() {
        let line = "Inst libc6 (2.36-9+deb12u14 Debian:12.15/oldstable [amd64]) []";
        assert_eq!(installation(line), pair("libc6", "2.36-9+deb12u14"));
        let line = "Inst libc6 [2.35] (1:2.36~x Debian:12 [amd64])";
        assert_eq!(installation(line), pair("libc6", "1:2.36~x"));
        for line in [
            "Conf libc6 (2.36-9 Debian [amd64])",
            "Inst",
            "Inst a",
            "Inst a (;rm",
            "Inst -x (1)",
        ] {
            assert_eq!(installation(line), None, "{line}");
        }
        let line = "     libc6 | 2.41-12 | http://a/debian trixie/main amd64 Packages";
        assert_eq!(madison(line), pair("libc6", "2.41-12"));
        assert_eq!(
            madison("libc6 | 2.41-12 | http://a/debian trixie/main Sources"),
            None
        );
    }

    #[test]
    fn a_suite_that_builds_on_another_has_both_in_its_sources() {
        let tools = Tools {
            apt_config: "true".into(),
            ..Tools::default()
        };
        let archive = Archive {
            uri: "file:/a".into(),
            keys: None,
        };
        for (suite, suites) in [
            ("trixie", "trixie"),
            ("sid", "sid"),
            ("trixie-backports", "trixie-backports trixie"),
            (
                "bookworm-backports-sloppy",
                "bookworm-backports-sloppy bookworm",
            ),
            ("experimental", "experimental sid"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let apt = Apt::new(
                &tools,
                folder.path(),
                &archive,
                suite,
                Architecture::Aarch64,
            );
            let text = fs::read_to_string(folder.path().join("sources.list")).unwrap();
            let line = |suite| format!("deb [arch=arm64] file:/a {suite} main\n");
            assert_eq!(text, suites.split(' ').map(line).collect::<String>());
            assert!(apt.is_ok());
        }
    }

    proptest! {
        #[test]
        fn no_line_makes_it_stumble(line in "(Inst )?.{0,80}") {
            if let Some((name, version)) = installation(&line).or_else(|| madison(&line)) {
                prop_assert!(is_word(&name) && is_word(&version));
            }
        }
    }
}
