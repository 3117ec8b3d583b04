//! The kernels in the shared folder.

use super::{Folder, FolderError, failed, is_taken, make, mode};
use std::fs::{self, File};
use std::path::PathBuf;

/// The state of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Built {
    Yes,
    No,
    /// The kernel can't be built, for this reason.
    Failed(String),
}

impl Folder {
    /// The folder of a kernel that is built, or will be.
    pub fn kernel(&self, name: &str) -> PathBuf {
        self.0.join("kernels").join(name)
    }

    /// Returns whether a kernel is built, or why it can't be.
    pub fn built(&self, name: &str) -> Built {
        if self.kernel(name).is_dir() {
            return Built::Yes;
        }
        match fs::read(self.kernel(&format!("{name}.failed"))) {
            Ok(why) => Built::Failed(String::from_utf8_lossy(&why).trim().to_owned()),
            Err(_) => Built::No,
        }
    }

    /// Stores a built kernel: copies these files.
    pub fn keep_kernel(&self, name: &str, files: &[PathBuf]) -> Result<(), FolderError> {
        let folder = self.0.join("kernels");
        make(&folder)?;
        let made = tempfile::Builder::new()
            .prefix(".new-")
            .permissions(mode(0o777))
            .tempdir_in(&folder);
        let made = made.map_err(failed("make a folder in", &folder))?;
        for file in files {
            let to = made.path().join(file.file_name().unwrap_or_default());
            fs::copy(file, &to).map_err(failed("write", &to))?;
            let synced = File::open(&to).and_then(|file| file.sync_all());
            synced.map_err(failed("write", &to))?;
        }
        let place = self.kernel(name);
        match fs::rename(made.path(), &place) {
            Err(e) if is_taken(&e) => Ok(()),
            done => done.map_err(failed("write", &place)),
        }
    }

    /// Stores the reason why a kernel can't be built.
    pub fn kernel_failed(&self, name: &str, why: &str) -> Result<(), FolderError> {
        make(&self.0.join("kernels"))?;
        let path = self.kernel(&format!("{name}.failed"));
        Ok(ws_results::write_bytes(&path, why.as_bytes())?)
    }
}
