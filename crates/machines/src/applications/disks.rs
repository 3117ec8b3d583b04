//! Disks of workloads that read them: a file for the host and a file for its VM, in the folder of temporary files. The
//! files have no name, so nothing is left of them, however this program ends.

use crate::initramfs::{Content, Entry};
use crate::lab::Disk;
use crate::machine::MachineError;
use crate::process::Handed;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::fd::AsRawFd;

/// The host's disk in its root file system.
pub const HOST_DISK: &str = "/lab/host.disk";
/// Size of the host's disk.
pub const HOST_DISK_MIB: u64 = 256;

/// The size of a VM's disk.
pub fn vm_disk_mib(is_emulator: bool) -> u64 {
    match is_emulator {
        true => 64,
        false => HOST_DISK_MIB,
    }
}

/// Both disks of a launch.
#[derive(Debug)]
pub struct Disks {
    host: File,
    vm: File,
    /// The VM's disk. Its path leads over the first process of the namespaces, which inherits the file.
    of_vm: Disk,
    mib: [u64; 2],
    file_system: String,
}

/// The file's path in the namespaces.
fn path(file: &File) -> String {
    format!("/proc/1/fd/{}", file.as_raw_fd())
}

impl Disks {
    /// Makes both disks and writes them to their medium. Their content is pseudo-random numbers, which no file system
    /// can compress.
    pub fn make(host_mib: u64, vm_mib: u64) -> Result<Self, MachineError> {
        let folder = std::env::temp_dir();
        let made = |mib: u64| {
            let file = tempfile::tempfile_in(&folder).and_then(|file| filled(file, mib));
            file.map_err(|e| {
                let (folder, all) = (folder.display(), host_mib + vm_mib);
                MachineError::Other(format!(
                    "can't make the disks that are read, {all} MiB, in {folder}: {e}: make room there, or name another folder: TMPDIR=FOLDER"
                ))
            })
        };
        let (host, vm) = (made(host_mib)?, made(vm_mib)?);
        // Some file systems can't read past the page cache.
        let opened = format!("/proc/self/fd/{}", vm.as_raw_fd());
        let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC;
        let direct = rustix::fs::open(opened, flags, Mode::empty()).is_ok();
        Ok(Self {
            of_vm: Disk {
                path: path(&vm),
                direct,
            },
            file_system: file_system(&host),
            host,
            vm,
            mib: [host_mib, vm_mib],
        })
    }

    pub fn of_vm(&self) -> &Disk {
        &self.of_vm
    }

    /// The host's disk, as an entry of its root file system.
    pub fn entry(&self) -> Entry {
        Entry {
            path: HOST_DISK.trim_start_matches('/').to_owned(),
            content: Content::Link(path(&self.host)),
        }
    }

    /// Describes the disks, for a result.
    pub fn words(&self) -> String {
        let cached = match self.of_vm.direct {
            true => "past the host's page cache",
            false => "through the host's page cache",
        };
        let (file_system, [host, vm]) = (&self.file_system, self.mib);
        format!(
            "files on {file_system}: the host's of {host} MiB, the VM's of {vm} MiB, which QEMU reads {cached}"
        )
    }

    /// The files, for the namespaces to inherit.
    pub fn into_handed(self) -> [Handed; 2] {
        [self.host.into(), self.vm.into()]
    }
}

fn filled(file: File, mib: u64) -> std::io::Result<File> {
    let mut writer = BufWriter::with_capacity(1 << 20, file);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..(mib << 20) / 8 {
        // Marsaglia (2003), "Xorshift RNGs".
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        writer.write_all(&state.to_le_bytes())?;
    }
    let file = writer
        .into_inner()
        .map_err(std::io::IntoInnerError::into_error)?;
    file.sync_all()?;
    Ok(file)
}

/// The file system's name, by its number in linux/magic.h and its neighbours.
fn file_system(file: &File) -> String {
    let kind = rustix::fs::fstatfs(file).map_or(0, |status| status.f_type);
    match kind {
        0x0102_1994 => "tmpfs, which is memory".into(),
        0xef53 => "ext4".into(),
        0x5846_5342 => "XFS".into(),
        0x9123_683e => "Btrfs".into(),
        0x794c_7630 => "overlayfs".into(),
        0x2fc1_2fc1 => "ZFS".into(),
        0xf2f5_2010 => "F2FS".into(),
        0x6969 => "NFS".into(),
        other => format!("a file system of type {other:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn disks_have_their_sizes_and_no_names() {
        let disks = Disks::make(2, 1).unwrap();
        let words = disks.words();
        assert!(
            words.contains("the host's of 2 MiB, the VM's of 1 MiB"),
            "{words}"
        );
        for (file, mib) in [(&disks.host, 2), (&disks.vm, 1)] {
            let status = file.metadata().unwrap();
            assert_eq!((status.len(), status.nlink()), (mib << 20, 0));
        }
        assert_eq!(disks.entry().path, "lab/host.disk");
        let file = disks.vm.as_raw_fd();
        assert_eq!(disks.of_vm().path, format!("/proc/1/fd/{file}"));
    }
}
