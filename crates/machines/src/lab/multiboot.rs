//! Boots a Multiboot hypervisor with two modules in QEMU.
//!
//! QEMU copies the names of these files into the machine's memory. The names must be the same in every launch and on
//! every host. So QEMU opens the files as `/dev/fd/N`, with fixed numbers N.

use super::described::Described;
use super::payload::Payload;
use std::os::fd::RawFd;
use std::path::Path;

/// The descriptors: of the hypervisor and of its modules.
pub const NUMBERS: [RawFd; 3] = [200, 201, 202];

/// Adds the names to a machine's digest: with other names it may give other digits.
pub fn describe(described: &mut Described) {
    described.sum("multiboot", NUMBERS.map(RawFd::to_le_bytes).as_flattened());
}

/// QEMU's words. `modules` are the words after each module's name. In `-initrd` commas separate modules, and one in a
/// word is doubled.
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

/// The files that have [`NUMBERS`] in QEMU, if it boots such a payload: `guest` is the guest's image, `made` what is
/// made for each launch.
pub fn files<'a>(payload: &'a Payload, guest: &'a Path, made: &'a Path) -> Option<[&'a Path; 3]> {
    match payload {
        Payload::Xen {
            hypervisor, dom0, ..
        } => Some([hypervisor, dom0, guest]),
        Payload::Dom0(dom0) => {
            let kernel: &Path = &dom0.linux.kernel;
            Some([&dom0.xen.hypervisor, kernel, made])
        }
        Payload::Whole(whole) => {
            let xen = whole.xen.as_ref()?;
            Some([&xen.hypervisor, &whole.kernel, made])
        }
        _ => None,
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
    }
}
