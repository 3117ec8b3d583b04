//! All kinds of build compile each package once: `make run` the command, `make build` elvis too, `make test` the tests.

use std::collections::BTreeSet;
use std::process::Command;

/// The packages of this machine that a build compiles, each with its features; `what` selects packages and edges.
fn compiled(what: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "--prefix", "none"])
        .args(["--format", "{p} [{f}]"])
        .args(what)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let lines = String::from_utf8(output.stdout).unwrap();
    // `(*)` marks a package that was listed before.
    lines
        .lines()
        .map(|line| line.trim_end_matches(" (*)").to_owned())
        .collect()
}

/// Else cargo compiles what depends on such a package again: 70 s of processor time were lost in this way.
#[test]
fn the_command_has_the_features_of_the_whole_workspace_and_of_its_tests() {
    let command = compiled(&["--package", "worldswitch", "--edges", "normal,build"]);
    assert!(command.len() > 100, "{command:?}");
    for edges in ["normal,build", "normal,build,dev"] {
        let all = compiled(&["--workspace", "--edges", edges]);
        let other: Vec<&String> = command.difference(&all).collect();
        assert!(
            other.is_empty(),
            "{edges}: the command alone has {other:?}. List such a package with the features of the workspace \
             in crates/worldswitch/Cargo.toml"
        );
    }
}
