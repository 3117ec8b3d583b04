//! States of machines in the cache: files, each named by the digest of everything that the state depends on.

use crate::room::free_bytes;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use tempfile::NamedTempFile;

/// The begin of a file's first line. The CPU that stopped, the CRC-32 of the state and its bytes follow.
const MAGIC: &str = "worldswitch-state/1";
/// The size of the first line, which is filled up with blanks.
const HEADER_BYTES: usize = 128;
/// The most bytes of all states together: those that were not used for longest are removed.
const BYTES_MAX: u64 = 4 << 30;
/// The free space that a state leaves on its disk.
const ROOM_BYTES: u64 = 1 << 30;
const COPY_BYTES: usize = 1 << 20;
/// The begin of the names of files that are being written, and the age at which their writer must have ended.
const NEW: &str = ".new-";
const NEW_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);

/// The folder of states.
#[derive(Clone, Debug)]
pub struct States {
    folder: PathBuf,
    bytes_max: u64,
    /// Whether later launches find the states.
    keeps: bool,
}

/// A state that was found.
#[derive(Debug)]
pub struct Saved {
    /// The state's path; none if the state ends with its launch.
    pub path: Option<PathBuf>,
    file: File,
    head: Head,
}

/// The values of a file's first line.
#[derive(Debug)]
struct Head {
    thread: String,
    crc: u32,
    bytes: u64,
}

impl States {
    /// The states of a folder, which need not exist. `keeps`: later launches find them.
    pub fn at(folder: PathBuf, keeps: bool) -> Self {
        Self {
            folder,
            bytes_max: BYTES_MAX,
            keeps,
        }
    }

    /// The path of the cache, which contains the folder of states.
    pub fn cache(&self) -> Cow<'_, str> {
        self.folder
            .parent()
            .unwrap_or(&self.folder)
            .to_string_lossy()
    }

    /// The name of a state that depends on these parts and on nothing else.
    pub fn key<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
        let mut hash = Sha256::new_with_prefix(MAGIC);
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.state"))
    }

    /// Finds the state of this name. A file without a valid header is removed.
    pub fn find(&self, key: &str) -> Option<Saved> {
        if !self.keeps {
            return None;
        }
        let path = self.path(key);
        let mut file = File::options().read(true).write(true).open(&path);
        // Another user's cache may be read-only.
        if file.is_err() {
            file = File::open(&path);
        }
        let mut file = file.ok()?;
        let Some(head) = header(&mut file) else {
            let _ = fs::remove_file(&path);
            return None;
        };
        // The file's time says when it was last used.
        let _ = file.set_modified(SystemTime::now());
        Some(Saved {
            path: Some(path),
            file,
            head,
        })
    }

    /// Reads a state from `from` until its end, and keeps it under this name if it can. A state is kept whole or not at
    /// all.
    ///
    /// # Errors
    /// No disk has room for it. `from` was read to its end all the same.
    pub fn take(&self, key: &str, thread: &str, from: &mut impl Read) -> io::Result<Saved> {
        let taken = self
            .write(thread, from)
            .and_then(|taken| self.keep(key, taken));
        if taken.is_err() {
            io::copy(from, &mut io::sink())?;
        }
        taken
    }

    /// Makes a file for a new state: in the folder, or, if that can't be written, in the one of temporary files.
    fn file(&self) -> io::Result<NamedTempFile> {
        let there = fs::create_dir_all(&self.folder).and_then(|()| {
            tempfile::Builder::new()
                .prefix(NEW)
                .tempfile_in(&self.folder)
        });
        there.or_else(|_| NamedTempFile::new())
    }

    fn write(&self, thread: &str, from: &mut impl Read) -> io::Result<(NamedTempFile, Head)> {
        let mut file = self.file()?;
        let room = free_bytes(file.path()).unwrap_or(u64::MAX);
        let most = self.bytes_max.min(room.saturating_sub(ROOM_BYTES));
        // The header has the sum and the size, which are known last: it is written at the end.
        file.write_all(&[b' '; HEADER_BYTES])?;
        let (mut crc, mut bytes) = (crc32fast::Hasher::new(), 0);
        let mut buffer = vec![0; COPY_BYTES];
        loop {
            let count = from.read(&mut buffer)?;
            let Some(chunk) = buffer.get(..count).filter(|chunk| !chunk.is_empty()) else {
                break;
            };
            bytes += chunk.len() as u64;
            if bytes > most {
                let why = format!(
                    "{} may have at most {} MiB: free some space on that disk",
                    file.path().display(),
                    most >> 20
                );
                return Err(io::Error::new(ErrorKind::StorageFull, why));
            }
            crc.update(chunk);
            file.write_all(chunk)?;
        }
        let head = Head {
            thread: thread.to_owned(),
            crc: crc.finalize(),
            bytes,
        };
        let line = format!("{MAGIC} {thread} {:08x} {bytes}", head.crc);
        file.seek(SeekFrom::Start(0))?;
        file.write_all(line.as_bytes())?;
        file.seek(SeekFrom::Start(HEADER_BYTES as u64))?;
        Ok((file, head))
    }

    /// Gives a new state its name, if later launches are to find it.
    fn keep(&self, key: &str, (file, head): (NamedTempFile, Head)) -> io::Result<Saved> {
        if !self.keeps {
            let file = file.into_file();
            return Ok(Saved {
                path: None,
                file,
                head,
            });
        }
        self.make_room(head.bytes);
        let path = self.path(key);
        let (file, path) = match file.persist(&path) {
            Ok(file) => (file, Some(path)),
            // The file is in the folder of temporary files, as the folder of states can't be written.
            Err(e) => (e.file.into_file(), None),
        };
        Ok(Saved { path, file, head })
    }

    /// Removes the states that were not used for longest until `bytes` more fit, and files that an ended process left.
    fn make_room(&self, bytes: u64) {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return;
        };
        let mut files = Vec::new();
        for entry in entries.flatten() {
            let Ok(data) = entry.metadata() else { continue };
            let (path, used) = (
                entry.path(),
                data.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            );
            let is_new = entry.file_name().to_string_lossy().starts_with(NEW);
            if is_new && used.elapsed().is_ok_and(|age| age > NEW_LIMIT) {
                let _ = fs::remove_file(path);
            } else if path.extension().is_some_and(|end| end == "state") {
                files.push((used, data.len(), path));
            }
        }
        files.sort();
        let mut all = files.iter().map(|(_, bytes, _)| bytes).sum::<u64>() + bytes;
        for (_, bytes, path) in files {
            if all <= self.bytes_max {
                break;
            }
            if fs::remove_file(path).is_ok() {
                all -= bytes;
            }
        }
    }
}

impl Saved {
    /// The CPU that stopped, in gdb's digits.
    pub fn thread(&self) -> &str {
        &self.head.thread
    }

    /// Writes the state to `to`. Returns false if the state is damaged.
    pub fn copy(&mut self, to: &mut impl Write) -> io::Result<bool> {
        let mut crc = crc32fast::Hasher::new();
        let mut buffer = vec![0; COPY_BYTES];
        loop {
            let count = self.file.read(&mut buffer)?;
            let Some(chunk) = buffer.get(..count).filter(|chunk| !chunk.is_empty()) else {
                break;
            };
            crc.update(chunk);
            to.write_all(chunk)?;
        }
        let position = self.file.stream_position()?;
        let whole = HEADER_BYTES as u64 + self.head.bytes;
        Ok(crc.finalize() == self.head.crc && position == whole)
    }
}

/// Reads a file's first line; none if the file does not have the size that it says.
fn header(file: &mut File) -> Option<Head> {
    let mut line = [0; HEADER_BYTES];
    file.read_exact(&mut line).ok()?;
    let text = std::str::from_utf8(&line).ok()?;
    let mut words = text.split_ascii_whitespace();
    if words.next()? != MAGIC {
        return None;
    }
    let thread = words.next()?.to_owned();
    let crc = u32::from_str_radix(words.next()?, 16).ok()?;
    let bytes: u64 = words.next()?.parse().ok()?;
    let whole = bytes.checked_add(HEADER_BYTES as u64)?;
    (file.metadata().ok()?.len() == whole).then_some(Head { thread, crc, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states() -> (tempfile::TempDir, States) {
        let folder = tempfile::tempdir().unwrap();
        let states = States::at(folder.path().join("states"), true);
        (folder, states)
    }

    fn keep(states: &States, key: &str, mut state: &[u8]) {
        states.take(key, "01", &mut state).unwrap();
    }

    fn copied(states: &States, key: &str) -> Option<(Vec<u8>, bool)> {
        let mut saved = states.find(key)?;
        let mut bytes = Vec::new();
        let whole = saved.copy(&mut bytes).unwrap();
        Some((bytes, whole))
    }

    #[test]
    fn a_state_is_found_again() {
        let (_folder, states) = states();
        assert!(states.find("a").is_none());
        let state = vec![7; COPY_BYTES + 5];
        keep(&states, "a", &state);
        assert_eq!(states.find("a").unwrap().thread(), "01");
        assert_eq!(copied(&states, "a").unwrap(), (state, true));
        assert!(states.find("b").is_none());
    }

    #[test]
    fn a_damaged_state_is_never_taken_for_whole() {
        let (_folder, states) = states();
        keep(&states, "a", &[9; 500]);
        let path = states.path("a");
        let whole = fs::read(&path).unwrap();
        for at in [HEADER_BYTES, whole.len() - 1] {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&path, bytes).unwrap();
            assert!(!copied(&states, "a").unwrap().1);
        }
        for bytes in [
            &whole[..whole.len() - 1],
            &whole[..HEADER_BYTES / 2],
            b"",
            &[0; 700],
        ] {
            fs::write(&path, bytes).unwrap();
            assert!(states.find("a").is_none());
            assert!(!path.exists(), "what is no state stays there");
        }
        let other = String::from_utf8_lossy(&whole).replace("state/1", "state/2");
        fs::write(&path, other).unwrap();
        assert!(states.find("a").is_none());
    }

    #[test]
    fn the_states_that_were_not_used_for_longest_go_first() {
        let (_folder, mut states) = states();
        states.bytes_max = 3 * (HEADER_BYTES as u64 + 1000);
        for (age, key) in [(30, "a"), (20, "b"), (10, "c")] {
            keep(&states, key, &[0; 1000]);
            let then = SystemTime::now() - Duration::from_secs(age);
            let file = File::options().write(true).open(states.path(key)).unwrap();
            file.set_modified(then).unwrap();
        }
        // Used, and so the youngest.
        assert!(states.find("a").is_some());
        keep(&states, "d", &[0; 900]);
        let there = ["a", "b", "c", "d"].map(|key| states.path(key).exists());
        assert_eq!(there, [true, false, true, true]);
    }

    #[test]
    fn a_state_without_room_is_read_and_not_kept() {
        let (_folder, mut states) = states();
        states.bytes_max = 10;
        let state = [0; 11];
        let mut from = &state[..];
        assert!(states.take("a", "1", &mut from).is_err());
        assert!(from.is_empty() && states.find("a").is_none());
        let left = fs::read_dir(&states.folder).unwrap().count();
        assert_eq!(left, 0, "a half is left");
    }

    #[test]
    fn a_state_that_is_not_kept_is_there_for_its_launch_only() {
        let (folder, _) = states();
        // A folder that can't be made.
        fs::write(folder.path().join("states"), "").unwrap();
        for keeps in [false, true] {
            let states = States::at(folder.path().join("states"), keeps);
            let mut saved = states.take("a", "1", &mut &[7; 9][..]).unwrap();
            assert!(saved.path.is_none() && states.find("a").is_none());
            let mut bytes = Vec::new();
            assert!(saved.copy(&mut bytes).unwrap());
            assert_eq!(bytes, [7; 9]);
        }
    }

    #[test]
    fn keys_tell_where_parts_end() {
        let key = |parts: &[&str]| States::key(parts.iter().map(|part| part.as_bytes()));
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
        assert_eq!(key(&["a"]).len(), 64);
    }
}
