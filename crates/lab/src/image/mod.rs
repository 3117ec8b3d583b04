//! The root file system of a machine: an EROFS image of a set of kind `root`, without compression. The image has the
//! same bytes on every host. mkfs.erofs comes from a set too, and gets a tar archive without dates and owners, in the
//! order of paths.
//!
//! Images are kept in the store (`images/`) under a digest of all that they are made of. A file next to each has the
//! SHA-256 of its bytes.

mod tree;

use crate::files;
use crate::manifest::Entry;
use crate::recipe::hex;
use crate::sets::SetKind;
use crate::store::{Guard, Store, StoreError, Unpacked};
use sha2::{Digest, Sha256};
use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
pub use tree::Content;
use tree::Tree;

/// The set with the program that makes images.
pub const MKFS_SET: &str = "erofs";

/// The program that makes images.
const MKFS: &str = "mkfs.erofs";

/// The version of the images' format: increases when [`tree`] or [`OPTIONS`] change.
const VERSION: u32 = 2;

/// Options for all that mkfs.erofs would otherwise take from the host or choose by chance.
const OPTIONS: [&str; 7] = [
    "-b4096",
    "-T0",
    "-U00000000-0000-0000-0000-000000000001",
    "--sort=path",
    "--workers=1",
    "--quiet",
    "--tar=f",
];

/// Alignment of an image's size: that of an NVDIMM.
const ALIGNMENT: u64 = 2 << 20;

/// Files of a root file system outside /usr, by path without '/' at its beginning, each folder before its content. With
/// /usr of the set's folder they are the whole root file system, without an image.
pub fn beside_usr(set: &Unpacked) -> Result<Vec<(String, Content)>, StoreError> {
    set.is(SetKind::Root, "root file system")?;
    let tree = Tree::of(&set.manifest().files);
    tree.beside_usr(&set.root)
        .map_err(|e| StoreError::io("read the files of", &set.root, e))
}

/// The image of a root file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootImage {
    pub path: PathBuf,
    /// SHA-256 of the image's bytes, in hexadecimal.
    pub sha256: String,
}

impl Store {
    /// Finds the image of a root file system, or makes it with `mkfs` ([`MKFS_SET`]). `say` gets a message before that.
    pub fn root_image(
        &self,
        set: &Unpacked,
        mkfs: &Unpacked,
        say: &mut dyn FnMut(&str),
    ) -> Result<RootImage, StoreError> {
        if let Some(there) = self.image_there(set, mkfs)? {
            return Ok(there);
        }
        let guard = self.lock(say)?;
        guard.root_image(set, mkfs, say)
    }

    /// Finds the image, if it was made already.
    pub fn image_there(
        &self,
        set: &Unpacked,
        mkfs: &Unpacked,
    ) -> Result<Option<RootImage>, StoreError> {
        set.is(SetKind::Root, "root file system")?;
        let path = self.image_path(&digest(set, mkfs));
        let sha256 = fs::read_to_string(path.with_extension("sha256"));
        let sha256 = sha256.ok().map(|text| text.trim_end().to_owned());
        Ok(sha256
            .filter(|_| path.is_file())
            .map(|sha256| RootImage { path, sha256 }))
    }

    fn image_path(&self, digest: &str) -> PathBuf {
        self.images().join(format!("{digest}.img"))
    }

    fn images(&self) -> PathBuf {
        self.root().join("images")
    }
}

impl Guard<'_> {
    /// Makes the image of [`Store::root_image`], with the store locked.
    pub(crate) fn root_image(
        &self,
        set: &Unpacked,
        mkfs: &Unpacked,
        say: &mut dyn FnMut(&str),
    ) -> Result<RootImage, StoreError> {
        // Another process may have made the image before this one got the lock.
        if let Some(there) = self.store().image_there(set, mkfs)? {
            return Ok(there);
        }
        say(&format!("{}: making its file system", set.set));
        set.verify()?;
        let workshop = self.workshop()?;
        let made = workshop.path().join("image");
        make(set, mkfs, workshop.path(), &made).map_err(|e| StoreError::Image {
            set: set.set.clone(),
            what: e.to_string(),
        })?;
        let image = self.put_image(&made, &digest(set, mkfs))?;
        self.clear_images();
        let bytes = fs::metadata(&image.path).map_or(0, |data| data.len());
        say(&format!(
            "{}: {}, {} MiB",
            set.set,
            image.path.display(),
            bytes >> 20
        ));
        Ok(image)
    }

    /// Moves an image into place. The file with its hash comes first: an image counts as made once both are there.
    fn put_image(&self, made: &Path, digest: &str) -> Result<RootImage, StoreError> {
        let path = self.store().image_path(digest);
        let put = || -> io::Result<String> {
            fs::create_dir_all(self.store().images())?;
            let sha256 = files::sha256(made)?;
            let beside = made.with_extension("sha256");
            fs::write(&beside, format!("{sha256}\n"))?;
            fs::rename(beside, path.with_extension("sha256"))?;
            fs::rename(made, &path)?;
            Ok(sha256)
        };
        match put() {
            Ok(sha256) => Ok(RootImage { path, sha256 }),
            Err(e) => Err(StoreError::io("put an image into", &path, e)),
        }
    }

    /// Removes the images of sets that are no longer in the store. An image that can't be removed is left for the next
    /// time.
    fn clear_images(&self) {
        let names = self.store().names().unwrap_or_default();
        let sets: Vec<Unpacked> = names
            .iter()
            .filter_map(|name| self.store().find(name).ok())
            .collect();
        let kind = |kind| sets.iter().filter(move |set| set.manifest().kind == kind);
        let wanted: Vec<String> = kind(SetKind::Root)
            .flat_map(|set| kind(SetKind::Program).map(|mkfs| digest(set, mkfs)))
            .collect();
        let entries = fs::read_dir(self.store().images());
        for entry in entries.into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let of = name.split('.').next().unwrap_or_default();
            if !wanted.iter().any(|digest| digest == of) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// SHA-256, in hexadecimal, over all that an image is made of.
fn digest(set: &Unpacked, mkfs: &Unpacked) -> String {
    let mut hash = Sha256::new();
    hash.update(format!("{VERSION}\0{}\0{}", mkfs.digest(), set.digest()));
    for (path, entry) in &set.manifest().files {
        let entry = match entry {
            Entry::File {
                sha256, executable, ..
            } => format!("{executable} {sha256}"),
            Entry::Link { to } => to.clone(),
        };
        hash.update(format!("\0{path}\0{entry}"));
    }
    hex(&hash.finalize())
}

/// Makes the image `to`, a new file; `workshop` is for temporary files.
fn make(set: &Unpacked, mkfs: &Unpacked, workshop: &Path, to: &Path) -> io::Result<()> {
    let tree = Tree::of(&set.manifest().files);
    let words = mkfs.program(MKFS).map_err(io::Error::other)?;
    let complaints = workshop.join("complaints");
    let mut words = words.iter();
    let program = words.next().map_or(MKFS.as_ref(), |word| word.as_os_str());
    let mut child = Command::new(program)
        .args(words)
        .args(OPTIONS)
        .arg(to)
        // The image must not depend on the host's environment.
        .env_clear()
        .env("TMPDIR", workshop)
        .current_dir(workshop)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(File::create(&complaints)?)
        .spawn()?;
    let written = match child.stdin.take() {
        Some(stdin) => {
            let mut stdin = BufWriter::with_capacity(1 << 16, stdin);
            tree.write(&set.root, &mut stdin)
                .and_then(|()| stdin.flush())
        }
        None => Ok(()),
    };
    let status = child.wait()?;
    match written {
        // The program's own message is the reason, unless reading the files failed.
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => return Err(e),
        written if status.success() => written?,
        _ => {
            let text = fs::read_to_string(&complaints).unwrap_or_default();
            let last = text.trim_end().lines().next_back().unwrap_or_default();
            return Err(io::Error::other(format!(
                "{MKFS} failed ({status}): {last}"
            )));
        }
    }
    pad(to)
}

/// Makes the file's size a multiple of [`ALIGNMENT`], and its mode that of any other new file.
fn pad(path: &Path) -> io::Result<()> {
    let file = File::options().write(true).open(path)?;
    let size = file.metadata()?.len();
    file.set_len(size.next_multiple_of(ALIGNMENT))?;
    file.set_permissions(Permissions::from_mode(0o644))
}
