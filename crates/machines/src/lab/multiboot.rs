//! Boots a Multiboot hypervisor with two modules in QEMU, or a guest that may be a Multiboot kernel.
//!
//! QEMU copies the names of these files into the machine's memory. The names must be the same in every launch and on
//! every host. So QEMU opens the files as `/dev/fd/N`, with fixed numbers N.

use super::described::Described;
use super::payload::Payload;
use std::os::fd::RawFd;
use std::path::Path;
use ws_lab::architecture::Board;

/// Descriptors of the hypervisor and of its two modules.
pub const NUMBERS: [RawFd; 3] = [200, 201, 202];

/// Adds the names to a machine's digest: a machine with other names may give other counts.
pub fn describe(described: &mut Described) {
    described.sum("multiboot", NUMBERS.map(RawFd::to_le_bytes).as_flattened());
}

/// QEMU's arguments. `modules` are the words after each module's name. In `-initrd` commas separate modules, so a comma
/// in a word is doubled.
pub fn words(parameters: &str, modules: [&str; 2]) -> [String; 6] {
    let [hypervisor, first, second] = NUMBERS.map(|number| format!("/dev/fd/{number}"));
    let module = |name: &str, words: &str| {
        let words = words.replace(',', ",,");
        let blank = if words.is_empty() { "" } else { " " };
        [name, blank, &words].concat()
    };
    let modules = [module(&first, modules[0]), module(&second, modules[1])].join(",");
    [
        "-kernel".to_owned(),
        hypervisor,
        "-append".to_owned(),
        parameters.to_owned(),
        "-initrd".to_owned(),
        modules,
    ]
}

/// QEMU's arguments for a guest without a hypervisor, and for its initramfs if it has one.
pub fn guest_words(command_line: &str, has_initrd: bool) -> Vec<String> {
    let [guest, initrd, _] = NUMBERS.map(|number| format!("/dev/fd/{number}"));
    let mut words = vec![
        "-kernel".to_owned(),
        guest,
        "-append".to_owned(),
        command_line.to_owned(),
    ];
    if has_initrd {
        words.extend(["-initrd".to_owned(), initrd]);
    }
    words
}

/// The files of a guest: its image, its initramfs, and the file that is made for each launch.
#[derive(Clone, Copy)]
pub struct Files<'a> {
    pub guest: &'a Path,
    pub initrd: Option<&'a Path>,
    pub made: &'a Path,
}

/// The files that have [`NUMBERS`] in QEMU; none if QEMU opens the payload's files by their own names.
pub fn files<'a>(payload: &'a Payload, files: Files<'a>) -> Vec<&'a Path> {
    match payload {
        Payload::Guest => [files.guest].into_iter().chain(files.initrd).collect(),
        Payload::Xen {
            hypervisor, dom0, ..
        } => vec![hypervisor, dom0, files.guest],
        Payload::Dom0(dom0) => vec![&dom0.xen.hypervisor, &dom0.linux.kernel, files.made],
        Payload::Whole(whole) => match (&whole.xen, whole.architecture.facts().board) {
            (Some(xen), Board::Pc) => {
                vec![&xen.hypervisor, &whole.kernel, files.made]
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_fixed_and_commas_are_doubled() {
        assert_eq!(
            words("com2=115200,8n1", ["a=1,2", ""]),
            [
                "-kernel",
                "/dev/fd/200",
                "-append",
                "com2=115200,8n1",
                "-initrd",
                "/dev/fd/201 a=1,,2,/dev/fd/202"
            ]
        );
        assert_eq!(
            guest_words("a b", false).join("|"),
            "-kernel|/dev/fd/200|-append|a b"
        );
        assert!(guest_words("", true).ends_with(&["-initrd".to_owned(), "/dev/fd/201".to_owned()]));
    }
}
