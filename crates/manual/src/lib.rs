//! Manual pages and shell completions of a command, made from its definition.
//!
//! `make install` uses it by the hidden subcommand `manual` of each command.

use clap::Command;
use clap::builder::Resettable;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use std::fs;
use std::io;
use std::path::Path;

/// Where each shell looks for completions, below `share` of an installation.
const SHELLS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions"),
    (Shell::Zsh, "zsh/site-functions"),
    (Shell::Fish, "fish/vendor_completions.d"),
];

/// Writes a manual page for the command and each subcommand, and completions for bash, zsh and
/// fish, where they are looked for below the folder `share` of an installation.
///
/// # Errors
/// A folder or file can't be written; the message names the folder.
pub fn write(command: Command, share: &Path) -> io::Result<()> {
    let name = command.get_name().to_owned();
    for (shell, folder) in SHELLS {
        make(&share.join(folder), |folder| {
            clap_complete::generate_to(shell, &mut shown(&command), &name, folder).map(|_| ())
        })?;
    }
    make(&share.join("man/man1"), |folder| {
        let mut command = command.disable_help_subcommand(true);
        command.build();
        pages(&command, folder)
    })
}

/// The command for completions, which clap_complete would make of hidden subcommands too; clap can't take one out.
/// Names are leaked: the program ends after this.
fn shown(command: &Command) -> Command {
    let leaked = |name: &str| -> &'static str { name.to_owned().leak() };
    let inner = command.get_subcommands();
    let mut copy = Command::new(leaked(command.get_name()))
        .args(command.get_arguments().cloned())
        .disable_help_flag(command.is_disable_help_flag_set())
        .disable_version_flag(command.is_disable_version_flag_set())
        .visible_aliases(
            command
                .get_visible_aliases()
                .map(leaked)
                .collect::<Vec<_>>(),
        )
        .subcommands(inner.filter(|inner| !inner.is_hide_set()).map(shown));
    if let Some(about) = command.get_about() {
        copy = copy.about(about.clone());
    }
    if let Some(version) = command.get_version() {
        copy = copy.version(leaked(version));
    }
    copy
}

/// Writes a page for the command and each subcommand that is shown. The text below the options stands as it is: its
/// examples are in columns, which `man` would fill into paragraphs.
fn pages(command: &Command, folder: &Path) -> io::Result<()> {
    for inner in command.get_subcommands() {
        if !inner.is_hide_set() {
            pages(inner, folder)?;
        }
    }
    let after = command.get_after_help().map(ToString::to_string);
    let page = Man::new(command.clone().after_help(Resettable::Reset));
    let mut bytes = Vec::new();
    page.render(&mut bytes)?;
    if let Some(after) = after {
        let mut roff = Roff::new();
        roff.control("SH", ["EXAMPLES AND NOTES"]);
        roff.control("nf", []);
        roff.text([roman(after)]);
        roff.control("fi", []);
        roff.to_writer(&mut bytes)?;
    }
    fs::write(folder.join(page.get_filename()), bytes)
}

/// Makes a folder and what is in it.
fn make(folder: &Path, fill: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    fs::create_dir_all(folder)
        .and_then(|()| fill(folder))
        .map_err(|e| {
            io::Error::new(
                e.kind(),
                format!("can't write to {}: {e}", folder.display()),
            )
        })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn each_shown_subcommand_has_a_page_and_completions() {
        let share = tempfile::tempdir().unwrap();
        let help = clap::Arg::new("help")
            .long("help")
            .action(clap::ArgAction::Help);
        let command = Command::new("outer")
            .disable_help_flag(true)
            .arg(help)
            .subcommand(
                Command::new("inner")
                    .about("Says hello")
                    .after_help("Examples:\n  inner x    a column")
                    .arg(clap::Arg::new("flag").long("flag"))
                    .subcommand(Command::new("innermost")),
            )
            .subcommand(Command::new("secret").hide(true));
        write(command, share.path()).unwrap();
        let read = |file: &str| fs::read_to_string(share.path().join(file)).unwrap();
        assert!(read("man/man1/outer.1").contains("outer\\-inner(1)"));
        let inner = read("man/man1/outer-inner.1");
        assert!(inner.contains("Says hello"));
        let (_, after) = inner.split_once("\n.nf\n").unwrap();
        assert!(
            after.starts_with("Examples:\n  inner x    a column\n.fi"),
            "{after}"
        );
        assert_eq!(inner.matches("a column").count(), 1);
        let mut pages: Vec<_> = fs::read_dir(share.path().join("man/man1"))
            .unwrap()
            .map(|page| page.unwrap().file_name().into_string().unwrap())
            .collect();
        pages.sort();
        let wanted = ["outer-inner-innermost.1", "outer-inner.1", "outer.1"];
        assert_eq!(pages, wanted);
        for file in [
            "bash-completion/completions/outer.bash",
            "zsh/site-functions/_outer",
            "fish/vendor_completions.d/outer.fish",
        ] {
            assert!(
                read(file).contains("inner") && read(file).contains("flag"),
                "{file}"
            );
            assert!(!read(file).contains("secret"), "{file}");
            assert!(!read(file).contains("--help --help"), "{file}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = write(Command::new("x"), file.path()).unwrap_err();
        assert!(error.to_string().contains("bash-completion"), "{error}");
    }
}
