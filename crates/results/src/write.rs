//! Writes a result file whole or not at all.
//!
//! The bytes go to a temporary file in the same folder, which is synced and renamed to the final
//! name. If anything fails (a full disk, no permission), the temporary file is removed, an older
//! file of that name stays unchanged, and the error says what failed and where. A device, a pipe or
//! a symbolic link such as `/dev/stdout` is opened and written instead: a rename would replace it by
//! a file.

use crate::ResultFile;
use crate::json::Layout;
use serde::Serialize;
use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A failed step, and its file or folder. No partial file remains.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {cause}", path.display())]
pub struct WriteError {
    /// The step that failed, such as `write` or `create the folder`.
    pub action: &'static str,
    /// The file or folder concerned.
    pub path: PathBuf,
    /// The system's error.
    pub cause: io::Error,
}

/// Writes `result` into the folder `dir` (created if missing) as [`crate::file_name`], replacing an
/// older file. Returns the file's path.
pub fn write_into(dir: &Path, result: &ResultFile) -> Result<PathBuf, WriteError> {
    write_nth_into(dir, result, 1)
}

/// Writes the `nth` result of one platform into that folder, from 1 ([`crate::nth_file_name`]), as [`write_into`] does.
pub fn write_nth_into(dir: &Path, result: &ResultFile, nth: u32) -> Result<PathBuf, WriteError> {
    fs::create_dir_all(dir).map_err(at("create the folder", dir))?;
    let path = dir.join(crate::nth_file_name(&result.platform, nth));
    write_file(&path, result)?;
    Ok(path)
}

/// Writes `result` to `path`, whose folder exists.
pub fn write_file(path: &Path, result: &ResultFile) -> Result<(), WriteError> {
    replace(path, |file| {
        let mut json = serde_json::Serializer::with_formatter(&mut *file, Layout::default());
        result.serialize(&mut json)?;
        file.write_all(b"\n")
    })
}

/// Writes any bytes, such as an export, to `path`, whose folder exists: whole or not at all.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    replace(path, |file| file.write_all(bytes))
}

/// Lets `fill` write a temporary file, and renames it to `path`.
fn replace(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<(), WriteError> {
    if fs::symlink_metadata(path).is_ok_and(|there| !there.is_file()) {
        return through(path, fill);
    }
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    // The temporary file is removed if it is dropped before the rename. Its name begins with a dot and does not end in
    // `.json`, so that [`crate::find`] ignores it.
    let temporary = tempfile::Builder::new()
        .prefix(".")
        .suffix(".part")
        .permissions(Permissions::from_mode(0o666)) // minus the umask, as for any new file
        .tempfile_in(dir)
        .map_err(at("write in", dir))?;
    let mut buffer = BufWriter::new(temporary.as_file());
    fill(&mut buffer)
        .and_then(|()| buffer.flush())
        .and_then(|()| temporary.as_file().sync_all())
        .map_err(at("write", path))?;
    drop(buffer);
    temporary
        .persist(path)
        .map_err(|e| at("write", path)(e.error))?;
    // The rename is durable only after the folder is synced.
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(at("sync", dir))
}

/// Lets `fill` write to the existing link, pipe or device at `path`. Files in `/dev` and `/proc` are appended to, not
/// truncated: `/dev/stdout` may be a file that already has the table.
fn through(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<(), WriteError> {
    let ours = path.starts_with("/dev") || path.starts_with("/proc");
    let file = File::options()
        .append(ours)
        .write(true)
        .truncate(!ours)
        .create(!ours)
        .open(path)
        .map_err(at("write", path))?;
    let mut buffer = BufWriter::new(&file);
    fill(&mut buffer)
        .and_then(|()| buffer.flush())
        .map_err(at("write", path))
}

fn at<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> WriteError + 'a {
    move |cause| WriteError {
        action,
        path: path.to_owned(),
        cause,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_link_is_written_through_and_stays_one() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "longer than what comes").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_bytes(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        // To a device as well: it must not be replaced by a file.
        let null = dir.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &null).unwrap();
        write_bytes(&null, b"new").unwrap();
        assert!(fs::symlink_metadata(&null).unwrap().is_symlink());
        assert_eq!(names(dir.path()), ["file", "link", "null"]);
    }

    #[test]
    fn what_is_written_can_be_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = write_into(&dir.path().join("new/deep"), &sample()).unwrap();
        assert!(path.ends_with("new/deep/lab-native.json"));
        assert_eq!(crate::read_file(&path).unwrap(), sample());
        write_nth_into(&dir.path().join("new/deep"), &sample(), 2).unwrap();
        let both = ["lab-native.json", "lab-native_n2.json"];
        assert_eq!(names(&dir.path().join("new/deep")), both);
    }

    #[test]
    fn nothing_but_the_file_is_in_the_folder_afterwards() {
        let dir = tempfile::tempdir().unwrap();
        write_into(dir.path(), &sample()).unwrap();
        write_into(dir.path(), &sample()).unwrap();
        assert_eq!(names(dir.path()), ["lab-native.json"]);
    }

    #[test]
    fn a_disk_that_fills_up_leaves_the_folder_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let old = dir.path().join("old.json");
        fs::write(&old, "old").unwrap();
        for path in [&old, &dir.path().join("new.json")] {
            let error = replace(path, |file| {
                file.write_all(&[b'x'; 100_000])?;
                // Until then its name is not that of a result.
                let [part, _] = &names(dir.path())[..] else {
                    panic!()
                };
                assert!(part.starts_with('.') && part.ends_with(".part"), "{part}");
                Err(io::ErrorKind::StorageFull.into())
            })
            .unwrap_err();
            assert_eq!(error.action, "write");
            assert_eq!(&error.path, path);
            assert_eq!(error.cause.kind(), io::ErrorKind::StorageFull);
        }
        assert_eq!(names(dir.path()), ["old.json"]);
        assert_eq!(fs::read_to_string(&old).unwrap(), "old");
    }

    #[test]
    fn a_failed_rename_leaves_no_temporary_file() {
        let dir = tempfile::tempdir().unwrap();
        let taken = dir.path().join("taken");
        fs::create_dir_all(taken.join("full")).unwrap();
        assert!(write_bytes(&taken, b"x").is_err());
        assert_eq!(names(dir.path()), ["taken"]);
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = write_bytes(Path::new("/nonexistent/a.json"), b"").unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("cannot write in /nonexistent: "),
            "{error}"
        );
    }

    #[test]
    fn the_file_gets_the_mode_of_any_new_file() {
        let dir = tempfile::tempdir().unwrap();
        let ours = write_into(dir.path(), &sample()).unwrap();
        let plain = dir.path().join("plain");
        fs::write(&plain, "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&plain));
    }
}
