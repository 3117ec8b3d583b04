//! QEMU as the front-end: SeaBIOS boots from a disk served by elvis.

use crate::client::{serve, socket};
use elvis_policy::simulation::Mode;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Time limit of a boot under TCG, which takes one or two seconds of CPU time.
const BOOT_LIMIT: Duration = Duration::from_secs(180);

/// A boot sector for 16-bit mode: writes its text to the first serial port, then ends QEMU through
/// the isa-debug-exit device.
fn boot_sector(text: &str) -> Vec<u8> {
    let code = [
        0x31, 0xc0, // xor ax, ax
        0x8e, 0xd8, // mov ds, ax
        0xbe, 0x19, 0x7c, // mov si, 0x7c19: the text
        0xba, 0xf8, 0x03, // mov dx, 0x3f8
        0xac, // lodsb
        0x84, 0xc0, // test al, al
        0x74, 0x03, // jz end
        0xee, // out dx, al
        0xeb, 0xf8, // jmp lodsb
        0xba, 0xf4, 0x00, // end: mov dx, 0xf4
        0xee, // out dx, al
        0xf4, // hlt
        0xeb, 0xfd, // jmp hlt
    ];
    let mut sector = code.to_vec();
    sector.extend_from_slice(text.as_bytes());
    sector.resize(510, 0);
    sector.extend_from_slice(&[0x55, 0xaa]);
    sector
}

#[test]
fn a_machine_boots_from_an_elvis_disk() {
    for mode in [Mode::Elvis, Mode::PerDevice] {
        // Each mode has its own disk: a child of another test may hold the last one's descriptor and lock
        // longer.
        let dir = tempfile::tempdir().unwrap();
        let image = dir.path().join("image");
        let mut disk = boot_sector("booted from elvis\n");
        disk.resize(1 << 20, 0);
        std::fs::write(&image, disk).unwrap();
        let server = serve(dir.path(), mode, &[&format!("a={}", image.display())]);
        let serial = dir.path().join("serial");
        let mut qemu = Command::new("qemu-system-x86_64")
            .args([
                "-accel",
                "tcg",
                "-m",
                "64",
                "-nodefaults",
                "-display",
                "none",
            ])
            .args([
                "-object",
                "memory-backend-memfd,id=memory,size=64M,share=on",
            ])
            .args(["-machine", "pc,memory-backend=memory"])
            .args(["-device", "isa-debug-exit,iobase=0xf4,iosize=4"])
            .args(["-device", "vhost-user-blk-pci,chardev=disk,bootindex=1"])
            .arg("-chardev")
            .arg(format!(
                "socket,id=disk,path={}",
                socket(dir.path(), "a").display()
            ))
            .arg("-serial")
            .arg(format!("file:{}", serial.display()))
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let end = Instant::now() + BOOT_LIMIT;
        let status = loop {
            if let Some(status) = qemu.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > end {
                qemu.kill().unwrap();
                qemu.wait().unwrap();
                panic!(
                    "waited {BOOT_LIMIT:?} for QEMU to exit: {:?}",
                    std::fs::read_to_string(&serial)
                );
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        assert_eq!(status.code(), Some(1), "isa-debug-exit with 0");
        let said = std::fs::read_to_string(&serial).unwrap();
        assert!(said.contains("booted from elvis"), "{said:?}");
        drop(server);
    }
}
