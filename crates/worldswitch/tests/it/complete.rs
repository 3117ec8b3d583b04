//! Completion in a real bash, with the script that `make install` installs.

use crate::common::{Lab, of_new_user, worldswitch};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

/// A folder with the command's name for bash, its script, and a QEMU that must not be started.
fn installed() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let manual = worldswitch().arg("manual").arg(path("share")).output();
    assert!(manual.unwrap().status.success());
    fs::create_dir(path("bin")).unwrap();
    let program = env!("CARGO_BIN_EXE_worldswitch");
    std::os::unix::fs::symlink(program, path("bin/worldswitch")).unwrap();
    let qemu = format!("#!/bin/sh\n: >{}\n", path("started").display());
    fs::write(path("bin/qemu-system-x86_64"), qemu).unwrap();
    let runs = fs::Permissions::from_mode(0o755);
    fs::set_permissions(path("bin/qemu-system-x86_64"), runs).unwrap();
    folder
}

/// What each line becomes when Tab is typed after it in an interactive bash, which reads keys from a pipe too. `data`: where
/// the command's parts are, if not in the tree.
fn tab(folder: &Path, data: Option<&Path>, lines: &[&str]) -> Vec<String> {
    let mut keys = format!(
        "source {}/share/bash-completion/completions/worldswitch.bash\n",
        folder.display()
    );
    for line in lines {
        // Ctrl-A and Ctrl-E are the line's ends: bash prints the whole line, in quotes.
        keys += &format!("worldswitch {line}\t\x01printf '%s\\n' '\x05' >>lines\n");
    }
    let mut bash = of_new_user("bash");
    bash.args(["--norc", "--noprofile", "-i"])
        .env("PATH", format!("{}/bin:/usr/bin:/bin", folder.display()))
        .env("INPUTRC", "/dev/null")
        .env("TERM", "dumb")
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some(data) = data {
        bash.env("WORLDSWITCH_DATA", data);
    }
    let mut bash = bash.spawn().unwrap();
    bash.stdin
        .take()
        .unwrap()
        .write_all(keys.as_bytes())
        .unwrap();
    bash.wait().unwrap();
    let made = fs::read_to_string(folder.join("lines")).unwrap();
    let lines = made.lines().map(|line| line.strip_prefix("worldswitch "));
    lines.map(|line| line.unwrap().to_owned()).collect()
}

#[test]
fn tab_completes_commands_options_platforms_kernels_and_workloads() {
    let folder = installed();
    // A word that is whole is followed by a space; of several that fit comes what they have in common.
    let becomes = [
        ("sho", "show "),
        ("lab fet", "lab fetch "),
        ("run --quic", "run --quick "),
        ("run --on lab:nat", "run --on lab:native "),
        ("run --on=lab:nat", "run --on=lab:native "),
        ("run --on lab:native,qemu-t", "run --on lab:native,qemu-tcg"),
        (
            "run --on lab:kvm,lab:kvm-sh",
            "run --on lab:kvm,lab:kvm-shadow ",
        ),
        ("run --on lab:kvm@b", "run --on lab:kvm@backports "),
        ("run --on kvm,lab:kvm@6", "run --on kvm,lab:kvm@6.1"),
        ("run --on seri", "run --on serial:"),
        (
            "lab boot --append x neve-nest",
            "lab boot --append x neve-nested ",
        ),
        ("lab fetch lab:kvm-vhe@u", "lab fetch lab:kvm-vhe@unstable "),
        ("run apps --workload tcp-r", "run apps --workload tcp-rr "),
        // What is nothing's beginning, and hidden commands.
        ("run --on lab:zzz", "run --on lab:zzz"),
        ("manu", "manu"),
    ];
    let lines = becomes.map(|(line, _)| line);
    assert_eq!(
        tab(folder.path(), None, &lines),
        becomes.map(|(_, made)| made)
    );
    assert!(
        !folder.path().join("started").exists(),
        "an emulator was started"
    );
}

#[test]
fn tab_completes_the_benchmarks_of_the_guest_image() {
    let folder = installed();
    let lab = Lab::new(&["in", "hypercall", "hyper-in"]);
    let data = folder.path().join("data");
    fs::create_dir_all(data.join("guest/x86_64")).unwrap();
    fs::copy(lab.path("guest.elf"), data.join("guest/x86_64/guest.elf")).unwrap();
    let becomes = [
        ("run in hyperc", "run in hypercall "),
        ("run hyp", "run hyper"),
        (
            "compare a b --bench hyperc",
            "compare a b --bench hypercall ",
        ),
        ("explain hyper-", "explain hyper-in "),
    ];
    let lines = becomes.map(|(line, _)| line);
    assert_eq!(
        tab(folder.path(), Some(&data), &lines),
        becomes.map(|(_, made)| made)
    );
}
