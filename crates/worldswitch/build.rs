//! Sets WORLDSWITCH_VERSION: the version, and the commit that is built if it is known.
//!
//! It comes from WORLDSWITCH_BUILD_COMMIT; else from git, in a checkout; else from `commit`, into which `git archive`
//! writes it. Only another commit runs this again. Changes that are not committed are not told.

use std::path::Path;
use std::process::Command;

/// Enough to be unique in any repository.
const DIGITS: usize = 12;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=commit");
    println!("cargo:rerun-if-env-changed=WORLDSWITCH_BUILD_COMMIT");
    let version = env!("CARGO_PKG_VERSION");
    let commit = named().or_else(of_checkout).or_else(of_archive);
    let commit =
        commit.filter(|id| id.len() >= DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
    match commit {
        Some(id) => println!(
            "cargo:rustc-env=WORLDSWITCH_VERSION={version} ({})",
            &id[..DIGITS]
        ),
        None => println!("cargo:rustc-env=WORLDSWITCH_VERSION={version}"),
    }
}

fn named() -> Option<String> {
    std::env::var("WORLDSWITCH_BUILD_COMMIT").ok()
}

/// The commit of a checkout of this repository, not of one that the tree was unpacked into.
fn of_checkout() -> Option<String> {
    let top = git(&["rev-parse", "--show-toplevel"])?;
    if Path::new("../..").canonicalize().ok()? != Path::new(&top).canonicalize().ok()? {
        return None;
    }
    // Each commit, checkout and rebase adds a line to the first; it is there unless the user has turned it off.
    for file in ["logs/HEAD", "HEAD"] {
        let path = git(&["rev-parse", "--git-path", file])?;
        if Path::new(&path).is_file() {
            println!("cargo:rerun-if-changed={path}");
            break;
        }
    }
    git(&["rev-parse", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim_end().to_owned())
}

fn of_archive() -> Option<String> {
    let text = std::fs::read_to_string("commit").ok()?;
    Some(text.trim_end().to_owned())
}
