//! Finds result files by command-line argument: `DIR`, `DIR:PLATFORM` or a file.

use crate::{MAX_FILE_BYTES, ReadError, ResultFile, file_name, read_file};
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

/// Why no result was loaded.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The argument names nothing that exists.
    #[error("{0:?} is not a file, a folder or FOLDER:PLATFORM")]
    Nothing(String),
    /// The folder contains no `*.json`.
    #[error("no result files in {}", .0.display())]
    Empty(PathBuf),
    /// The folder exists but has no result of the platform.
    #[error("no result of {platform:?} in {}, which has {}", dir.display(), there.join(", "))]
    NoSuchPlatform {
        /// The folder.
        dir: PathBuf,
        /// The requested platform.
        platform: String,
        /// The result files in the folder.
        there: Vec<String>,
    },
    /// The folder cannot be listed.
    #[error("cannot list {}: {cause}", dir.display())]
    List {
        /// The folder.
        dir: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// A file was found but cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Returns the paths that `spec` names. A file is one path. A folder is every `*.json` in it, sorted by name, then the
/// results in its subfolders (one a host, as `fleet collect` writes). `DIR:PLATFORM` is the folder's result of the
/// platform, else that of each subfolder. An existing path takes precedence over `DIR:PLATFORM`.
pub fn find(spec: &str) -> Result<Vec<PathBuf>, FindError> {
    let path = Path::new(spec);
    if path.is_dir() {
        let files = all(path)?;
        return if files.is_empty() {
            Err(FindError::Empty(path.into()))
        } else {
            Ok(files)
        };
    }
    if path.exists() {
        return Ok(vec![path.into()]);
    }
    // Both halves may contain colons: take the first split whose left half is a folder with a result
    // of that platform.
    let mut missing = None;
    for (colon, _) in spec.match_indices(':') {
        let (dir, platform) = (Path::new(&spec[..colon]), &spec[colon + 1..]);
        if !dir.is_dir() {
            continue;
        }
        let file = dir.join(file_name(platform));
        if file.is_file() {
            return Ok(vec![file]);
        }
        let mut of_hosts = below(dir)?;
        of_hosts.retain(|file| file.file_name() == Some(file_name(platform).as_ref()));
        if !of_hosts.is_empty() {
            return Ok(of_hosts);
        }
        missing.get_or_insert((dir, platform));
    }
    let Some((dir, platform)) = missing else {
        return Err(FindError::Nothing(spec.to_owned()));
    };
    let there: Vec<String> = all(dir)?
        .iter()
        .filter_map(|file| Some(file.strip_prefix(dir).ok()?.to_string_lossy().into_owned()))
        .collect();
    if there.is_empty() {
        return Err(FindError::Empty(dir.into()));
    }
    Err(FindError::NoSuchPlatform {
        dir: dir.into(),
        platform: platform.to_owned(),
        there,
    })
}

/// Finds and reads results, ordered by start of the run, then as the run ordered its platforms. Results of a run that
/// kept no order are sorted by name.
pub fn load(spec: &str) -> Result<Vec<ResultFile>, FindError> {
    let mut results = find(spec)?
        .iter()
        .map(|path| read_file(path))
        .collect::<Result<Vec<_>, _>>()?;
    results.sort_by(|a, b| a.place().cmp(&b.place()));
    Ok(results)
}

/// The results of several arguments, in their order.
pub fn load_all(specs: &[String]) -> Result<Vec<ResultFile>, FindError> {
    let loaded: Result<Vec<_>, _> = specs.iter().map(|spec| load(spec)).collect();
    Ok(loaded?.into_iter().flatten().collect())
}

/// Prefix of the names of explanations, which `worldswitch explain -o` writes beside results.
const EXPLANATION: &str = "explain-";

/// Returns the file name of an explanation of a benchmark on a platform.
pub fn explanation_name(platform: &str, benchmark: &str) -> String {
    let platform = file_name(platform);
    let platform = platform.strip_suffix(".json").unwrap_or(&platform);
    format!("{EXPLANATION}{platform}-{benchmark}.json")
}

/// The paths of the explanations that `spec` names: a file, or all of a folder, sorted by name.
pub fn find_explanations(spec: &str) -> Result<Vec<PathBuf>, FindError> {
    let path = Path::new(spec);
    if path.is_dir() {
        let mut files = json(path)?;
        files.retain(|file| is_explanation(file));
        return Ok(files);
    }
    let is_one = path.is_file() && is_explanation(path);
    Ok(is_one.then(|| path.to_owned()).into_iter().collect())
}

fn is_explanation(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.as_encoded_bytes());
    name.is_some_and(|name| name.starts_with(EXPLANATION.as_bytes()))
}

/// The result files of a folder, then those of its subfolders.
fn all(dir: &Path) -> Result<Vec<PathBuf>, FindError> {
    let mut files = list(dir)?;
    files.extend(below(dir)?);
    Ok(files)
}

/// The result files of a folder, sorted by name.
fn list(dir: &Path) -> Result<Vec<PathBuf>, FindError> {
    let mut files = json(dir)?;
    files.retain(|file| !is_explanation(file));
    Ok(files)
}

/// The result files in the subfolders of a folder, sorted. Other JSON files are skipped: a subfolder may hold anything.
fn below(dir: &Path) -> Result<Vec<PathBuf>, FindError> {
    let failed = |cause| FindError::List {
        dir: dir.to_owned(),
        cause,
    };
    let mut folders = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let is_folder = entry.file_type().map_err(failed)?.is_dir();
        if is_folder && !entry.file_name().as_encoded_bytes().starts_with(b".") {
            folders.push(entry.path());
        }
    }
    folders.sort();
    let mut files = Vec::new();
    for folder in folders {
        for file in list(&folder)? {
            if is_result(&file)? {
                files.push(file);
            }
        }
    }
    Ok(files)
}

/// Whether a file's `schema` is that of a result, of whatever version. The file is read only up to this field, which
/// our results have first. So a result that was cut off counts too, and its reader reports the damage.
fn is_result(path: &Path) -> Result<bool, ReadError> {
    let failed = |cause| ReadError::Io {
        path: path.to_owned(),
        cause,
    };
    let file = File::open(path).map_err(failed)?.take(MAX_FILE_BYTES);
    let mut schema = None;
    let mut json = serde_json::Deserializer::from_reader(BufReader::new(file));
    match json.deserialize_map(Schema(&mut schema)) {
        Err(cause) if cause.is_io() => return Err(failed(cause.into())),
        // The visitor leaves the map in the middle, which is always an error.
        Ok(()) | Err(_) => {}
    }
    Ok(schema.is_some_and(|schema| schema.starts_with("worldswitch-result/")))
}

/// Takes the field `schema` of a map, and leaves the rest unread.
struct Schema<'a>(&'a mut Option<String>);

impl<'de> Visitor<'de> for Schema<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "schema" {
                *self.0 = Some(map.next_value()?);
                break;
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// The `*.json` of a folder, sorted by name, without hidden ones (files being written).
fn json(dir: &Path) -> Result<Vec<PathBuf>, FindError> {
    let failed = |cause| FindError::List {
        dir: dir.to_owned(),
        cause,
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !hidden && path.extension().is_some_and(|ending| ending == "json") && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample;
    use crate::write_into;

    fn folder() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let mut result = sample();
        write_into(dir.path(), &result).unwrap();
        result.platform = "qemu-tcg".into();
        result.created = "2020-01-01T00:00:00Z".into();
        write_into(dir.path(), &result).unwrap();
        fs::write(dir.path().join(".x.json"), "being written").unwrap();
        fs::write(dir.path().join("notes.txt"), "no result").unwrap();
        dir
    }

    fn found(spec: &str) -> Vec<String> {
        let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        find(spec).unwrap().iter().map(name).collect()
    }

    #[test]
    fn a_folder_of_hosts_has_their_results() {
        let dir = tempfile::tempdir().unwrap();
        let spec = dir.path().to_str().unwrap();
        for (host, name) in [("n2", "x.json"), ("n1", "x.json"), (".n3", "x.json")] {
            let host = dir.path().join(host);
            fs::create_dir(&host).unwrap();
            write_into(&host, &sample()).unwrap();
            fs::write(host.join(name), "{\"schema\": \"somebody else's\"}").unwrap();
        }
        let paths = find(spec).unwrap();
        let hosts = ["n1", "n2"].map(|host| dir.path().join(host).join("lab-native.json"));
        assert_eq!(paths, hosts);
        assert_eq!(load(spec).unwrap().len(), 2);
        fs::remove_dir_all(dir.path().join("n1")).unwrap();
        fs::remove_dir_all(dir.path().join("n2")).unwrap();
        assert!(matches!(find(spec), Err(FindError::Empty(_))));
    }

    #[test]
    fn a_damaged_result_of_a_host_is_no_silent_gap() {
        let dir = tempfile::tempdir().unwrap();
        let spec = dir.path().to_str().unwrap();
        for host in ["n1", "n2"] {
            write_into(&dir.path().join(host), &sample()).unwrap();
        }
        let damaged = dir.path().join("n2/lab-native.json");
        let whole = fs::read(&damaged).unwrap();
        fs::write(&damaged, &whole[..whole.len() / 2]).unwrap();
        let error = load(spec).unwrap_err().to_string();
        assert!(
            error.contains("n2/lab-native.json is not a result file"),
            "{error}"
        );
        // Whoever writes JSON anew may sort its fields.
        let sorted: serde_json::Value = serde_json::from_slice(&whole).unwrap();
        let sorted: std::collections::BTreeMap<_, _> = sorted.as_object().unwrap().iter().collect();
        fs::write(&damaged, serde_json::to_vec(&sorted).unwrap()).unwrap();
        assert_eq!(load(spec).unwrap().len(), 2);
        // What only has a result in it is none.
        fs::write(
            &damaged,
            format!("{{\"of\": {{\"schema\": \"{}\"}}}}", crate::SCHEMA),
        )
        .unwrap();
        assert_eq!(load(spec).unwrap().len(), 1);
        fs::write(&damaged, "{").unwrap();
        assert_eq!(load(spec).unwrap().len(), 1);
    }

    #[test]
    fn a_platform_in_a_folder_of_hosts_is_one_of_each() {
        let dir = tempfile::tempdir().unwrap();
        for host in ["n1", "n2"] {
            write_into(&dir.path().join(host), &sample()).unwrap();
        }
        let paths = find(&format!("{}:lab:native", dir.path().display())).unwrap();
        let hosts = ["n1", "n2"].map(|host| dir.path().join(host).join("lab-native.json"));
        assert_eq!(paths, hosts);
        let error = find(&format!("{}:kvm", dir.path().display())).unwrap_err();
        let error = error.to_string();
        assert!(
            error.ends_with("which has n1/lab-native.json, n2/lab-native.json"),
            "{error}"
        );
    }

    #[test]
    fn explanations_are_no_results() {
        let dir = folder();
        let name = explanation_name("lab:kvm@6.1", "hypercall");
        assert_eq!(name, "explain-lab-kvm@6.1-hypercall.json");
        let file = dir.path().join(&name);
        fs::write(&file, "{}").unwrap();
        let spec = dir.path().to_str().unwrap();
        assert_eq!(found(spec), ["lab-native.json", "qemu-tcg.json"]);
        assert_eq!(
            find_explanations(spec).unwrap(),
            std::slice::from_ref(&file)
        );
        let spec = file.to_str().unwrap();
        assert_eq!(
            find_explanations(spec).unwrap(),
            std::slice::from_ref(&file)
        );
        assert!(find_explanations("nowhere").unwrap().is_empty());
    }

    #[test]
    fn a_folder_is_all_its_results() {
        let dir = folder();
        let spec = dir.path().to_str().unwrap();
        assert_eq!(found(spec), ["lab-native.json", "qemu-tcg.json"]);
        let platforms: Vec<_> = load(spec)
            .unwrap()
            .into_iter()
            .map(|r| r.platform)
            .collect();
        assert_eq!(
            platforms,
            ["qemu-tcg", "lab:native"],
            "the older run comes first"
        );
    }

    #[test]
    fn platforms_of_a_run_are_in_its_order_or_sorted_if_it_kept_none() {
        let order = |positions: [Option<u32>; 3]| -> Vec<String> {
            let dir = tempfile::tempdir().unwrap();
            for (platform, position) in ["kvm", "qemu-tcg", "lab:native"].iter().zip(positions) {
                let mut result = sample();
                result.platform = (*platform).to_owned();
                result.position = position;
                write_into(dir.path(), &result).unwrap();
            }
            let loaded = load(dir.path().to_str().unwrap()).unwrap();
            loaded.into_iter().map(|result| result.platform).collect()
        };
        let run = [Some(2), Some(1), Some(3)];
        assert_eq!(order(run), ["qemu-tcg", "kvm", "lab:native"]);
        assert_eq!(order([None; 3]), ["kvm", "lab:native", "qemu-tcg"]);
    }

    #[test]
    fn a_folder_and_platform_is_one_result() {
        let dir = folder();
        let spec = format!("{}:lab:native", dir.path().display());
        assert_eq!(found(&spec), ["lab-native.json"]);
    }

    #[test]
    fn a_file_is_itself() {
        let dir = folder();
        assert_eq!(
            found(dir.path().join("qemu-tcg.json").to_str().unwrap()),
            ["qemu-tcg.json"]
        );
    }

    #[test]
    fn a_folder_whose_name_holds_a_colon_is_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("at:12:30");
        write_into(&inner, &sample()).unwrap();
        assert_eq!(found(inner.to_str().unwrap()), ["lab-native.json"]);
        assert_eq!(
            found(&format!("{}:lab:native", inner.display())),
            ["lab-native.json"]
        );
    }

    #[test]
    fn what_is_not_there_is_named_and_so_is_what_is() {
        let dir = folder();
        let error = find(&format!("{}:kvm", dir.path().display()))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("no result of \"kvm\" in "), "{error}");
        assert!(
            error.ends_with("which has lab-native.json, qemu-tcg.json"),
            "{error}"
        );
        assert_eq!(
            find("/nonexistent:kvm").unwrap_err().to_string(),
            "\"/nonexistent:kvm\" is not a file, a folder or FOLDER:PLATFORM"
        );
        let empty = tempfile::tempdir().unwrap();
        let error = find(empty.path().to_str().unwrap()).unwrap_err();
        assert!(matches!(error, FindError::Empty(_)), "{error}");
    }

    #[test]
    fn a_damaged_file_in_a_folder_is_no_silent_gap() {
        let dir = folder();
        fs::write(dir.path().join("broken.json"), "{").unwrap();
        let error = load(dir.path().to_str().unwrap()).unwrap_err().to_string();
        assert!(
            error.contains("broken.json is not a result file"),
            "{error}"
        );
    }
}
