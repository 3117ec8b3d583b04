//! Command lines that start servers, and the disks that servers need.

use crate::server::{DISK_BYTES, Disk, Kind, Place, Served, Testpmd};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::Command;

/// Error of a server that lacks a feature. Callers skip the server by the error's kind, NotFound.
pub(crate) fn cannot(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, why)
}

/// Creates a disk's image and returns its path; None if the disk needs no file.
pub(crate) fn image(place: &Place, number: usize) -> io::Result<Option<PathBuf>> {
    let folder = match place.disk {
        Disk::Null | Disk::Work(_) => return Ok(None),
        Disk::Tmpfs => place.folder,
        Disk::File => place.files,
    };
    let path = folder.join(format!("{number}.disk"));
    if !path.exists() {
        // Written, not sparse: a read of a hole does not touch pages of the file.
        let mut file = File::create(&path)?;
        let block = vec![0xa5; 1 << 20];
        for _ in 0..DISK_BYTES >> 20 {
            io::Write::write_all(&mut file, &block)?;
        }
        // Otherwise the host would write the file to the block device while something is measured.
        file.sync_all()?;
    }
    Ok(Some(path))
}

/// The command of elvis: a device at each socket. Parameters of the policy have no options, so they are in a file.
pub(crate) fn elvis(
    place: &Place,
    mode: &str,
    policy: &BTreeMap<String, String>,
    sockets: &[PathBuf],
    images: &[Option<PathBuf>],
) -> io::Result<Command> {
    let mut command = Command::new(place.elvis);
    let cpus: Vec<String> = place.cpus.iter().map(u32::to_string).collect();
    command.args(["serve", "--mode", mode, "--io-cores", &cpus.join(",")]);
    if !policy.is_empty() {
        let lines = policy
            .iter()
            .map(|(key, value)| format!("{key} = {value}\n"));
        let file = place.folder.join("elvis.toml");
        std::fs::write(&file, format!("[policy]\n{}", lines.collect::<String>()))?;
        command.arg("--config").arg(file);
    }
    for ((socket, image), Served { kind, weight }) in sockets.iter().zip(images).zip(place.devices)
    {
        let (option, what) = match (kind, image, place.disk) {
            (Kind::Port(network), ..) => ("--net", format!("switch:{network}")),
            (_, Some(path), Disk::File) => ("--blk", format!("{},direct", path.display())),
            (_, Some(path), _) => ("--blk", path.display().to_string()),
            (_, None, Disk::Work(ns)) => ("--blk", format!("null:{DISK_BYTES},service_ns={ns}")),
            (_, None, _) => ("--blk", format!("null:{DISK_BYTES}")),
        };
        let device = format!("{}={what},weight={weight}", socket.display());
        command.args([option, &device]);
    }
    Ok(command)
}

/// testpmd's command, without huge pages and without what needs root. Its two threads share the CPU: the first one
/// sleeps. Ports are forwarded in pairs, in the order of their numbers.
pub(crate) fn testpmd(place: &Place, sockets: &[PathBuf]) -> io::Result<Command> {
    let Some(Testpmd { words, drivers }) = place.testpmd else {
        return Err(cannot(
            "dpdk-testpmd is not installed: run worldswitch lab fetch dpdk, or install Debian's dpdk-dev and librte-net-vhost",
        ));
    };
    let (Some((program, before)), Some(cpu)) = (words.split_first(), place.cpus.first()) else {
        return Err(io::Error::other("testpmd has no program or no CPU"));
    };
    let mut command = Command::new(program);
    command.args(before);
    command.args(["--lcores", &format!("0@{cpu},1@{cpu}")]);
    command.args(["--no-huge", "-m", "512", "--no-shconf"]);
    command.args(["--no-pci", "--no-telemetry"]);
    // Otherwise testpmd makes a folder in /run, even without shared configuration.
    command.env("RUNTIME_DIRECTORY", place.folder);
    if let Some(drivers) = drivers {
        command.arg("-d").arg(drivers);
    }
    for (number, socket) in sockets.iter().enumerate() {
        let device = format!("net_vhost{number},iface={}", socket.display());
        command.args(["--vdev", &device]);
    }
    command.args(["--", "--forward-mode=io", "--auto-start", "--no-numa"]);
    command.args(["--total-num-mbufs=16384", "--no-mlockall"]);
    Ok(command)
}

/// Longest polling of qemu-storage-daemon's I/O thread before it sleeps, in ns: longer than any pause of a busy client.
const POLL_MAX_NS: u64 = 1_000_000;

/// The command of qemu-storage-daemon: an export at each socket. With `polls`, one polling I/O thread serves all.
pub(crate) fn storage_daemon(
    place: &Place,
    polls: bool,
    sockets: &[PathBuf],
    images: &[Option<PathBuf>],
) -> io::Result<Command> {
    let Some((program, before)) = place.storage_daemon.split_first() else {
        return Err(io::Error::other("qemu-storage-daemon has no program"));
    };
    let mut command = Command::new(program);
    command.args(before);
    if polls {
        let thread = format!("iothread,id=io,poll-max-ns={POLL_MAX_NS}");
        command.args(["--object", &thread]);
    }
    let cache = if place.disk == Disk::File {
        ",cache.direct=on"
    } else {
        ""
    };
    let thread = if polls { "iothread=io," } else { "" };
    for (number, (socket, image)) in sockets.iter().zip(images).enumerate() {
        let node = match image {
            Some(path) => format!(
                "driver=file,node-name=disk{number},filename={},aio=io_uring{cache}",
                path.display()
            ),
            None => format!("driver=null-co,node-name=disk{number},size={DISK_BYTES}"),
        };
        let export = format!(
            "type=vhost-user-blk,id=export{number},node-name=disk{number},writable=on,{thread}\
             addr.type=unix,addr.path={}",
            socket.display()
        );
        command.args(["--blockdev", &node, "--export", &export]);
    }
    Ok(command)
}
