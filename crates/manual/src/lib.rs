//! Manual pages and shell completions of a command, made from its definition.
//!
//! `make install` calls this by the hidden subcommand `manual` of each command. The shells' scripts call the hidden
//! subcommand `complete`, so they offer what the command finds at that time: benchmarks, recipes.

use clap::builder::{Resettable, StyledStr};
use clap::{Arg, Command, ValueHint};
use clap_complete::engine::{self, ArgValueCompleter, CompletionCandidate};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Script of each shell, and the path below `share` of an installation where the shell looks for it.
const SHELLS: [(&str, &str); 3] = [
    (
        "bash-completion/completions/NAME.bash",
        include_str!("shells/bash.sh"),
    ),
    ("zsh/site-functions/_NAME", include_str!("shells/zsh")),
    (
        "fish/vendor_completions.d/NAME.fish",
        include_str!("shells/fish"),
    ),
];

/// Writes a manual page for the command and each subcommand, and completions for bash, zsh and fish. Their places are
/// below the folder `share` of an installation.
pub fn write(command: Command, share: &Path) -> io::Result<()> {
    for (file, script) in SHELLS {
        let path = share.join(file.replace("NAME", command.get_name()));
        let script = script.replace("NAME", command.get_name());
        make(path.parent().unwrap_or(share), |_| fs::write(&path, script))?;
    }
    make(&share.join("man/man1"), |folder| {
        let mut command = command.disable_help_subcommand(true);
        command.build();
        pages(&command, folder)
    })
}

/// Values that an argument may have, each with a word of help; None if it may have any. `text` is typed so far.
pub type Values = fn(arg: &Arg) -> Option<fn(text: &str) -> Vec<(String, String)>>;

/// Prints the completions of a command line's last word, one a line: the word, a tab and its help. Prints nothing where
/// a file may be named, which the shell itself completes.
pub fn complete(
    command: &Command,
    values: Values,
    words: Vec<OsString>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let last = words.len().saturating_sub(1);
    let mut command = shown(command, values);
    // An error here means that there is no word to complete.
    let found = engine::complete(&mut command, words, last, None).unwrap_or_default();
    for candidate in found {
        let help = candidate
            .get_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        let help = help.lines().next().unwrap_or_default();
        writeln!(out, "{}\t{help}", candidate.get_value().to_string_lossy())?;
    }
    Ok(())
}

/// Copies the command without its hidden subcommands, which clap can't take out. Names are leaked: the program ends
/// after the completions.
fn shown(command: &Command, values: Values) -> Command {
    let leaked = |name: &str| -> &'static str { name.to_owned().leak() };
    let inner = command.get_subcommands();
    let mut copy = Command::new(leaked(command.get_name()))
        .args(
            command
                .get_arguments()
                .map(|arg| completed(arg.clone(), values)),
        )
        .disable_help_flag(command.is_disable_help_flag_set())
        .disable_version_flag(command.is_disable_version_flag_set())
        .visible_aliases(
            command
                .get_visible_aliases()
                .map(leaked)
                .collect::<Vec<_>>(),
        )
        .subcommands(
            inner
                .filter(|inner| !inner.is_hide_set())
                .map(|inner| shown(inner, values)),
        );
    if let Some(about) = command.get_about() {
        copy = copy.about(about.clone());
    }
    if let Some(version) = command.get_version() {
        copy = copy.version(leaked(version));
    }
    copy
}

/// Adds its values to an argument. Files are left to the shell.
fn completed(arg: Arg, values: Values) -> Arg {
    let Some(find) = values(&arg) else {
        return arg.value_hint(ValueHint::Other);
    };
    let candidate = |(value, help): (String, String)| {
        let help = (!help.is_empty()).then(|| StyledStr::from(help));
        CompletionCandidate::new(value).help(help)
    };
    arg.add(ArgValueCompleter::new(move |text: &std::ffi::OsStr| {
        let found = text.to_str().map(find).unwrap_or_default();
        found.into_iter().map(candidate).collect()
    }))
}

/// Writes a page for the command and each subcommand that is shown. The text below the options keeps its lines: its
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

/// Makes a folder and fills it; an error names the folder.
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

    fn outer() -> Command {
        let help = clap::Arg::new("help")
            .long("help")
            .action(clap::ArgAction::Help);
        let inner = Command::new("inner")
            .about("Says hello")
            .after_help("Examples:\n  inner x    a column")
            .arg(Arg::new("flag").long("flag").value_name("COLOUR"))
            .arg(Arg::new("path").value_parser(clap::value_parser!(std::path::PathBuf)))
            .subcommand(Command::new("innermost"));
        Command::new("outer")
            .disable_help_flag(true)
            .arg(help)
            .subcommand(inner)
            .subcommand(Command::new("secret").hide(true))
    }

    #[test]
    fn each_shown_subcommand_has_a_page() {
        let share = tempfile::tempdir().unwrap();
        write(outer(), share.path()).unwrap();
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
    }

    #[test]
    fn each_shell_has_a_script_that_asks_the_command() {
        let share = tempfile::tempdir().unwrap();
        write(outer(), share.path()).unwrap();
        for (file, registers) in [
            (
                "bash-completion/completions/outer.bash",
                "complete -o bashdefault -o default -F _outer outer\n",
            ),
            ("zsh/site-functions/_outer", "#compdef outer\n"),
            (
                "fish/vendor_completions.d/outer.fish",
                "complete --command outer --no-files --keep-order --arguments '(__complete_outer)'\n",
            ),
        ] {
            let script = fs::read_to_string(share.path().join(file)).unwrap();
            assert!(script.contains(registers), "{script}");
            assert!(
                script.contains(" complete -- ") && !script.contains("NAME"),
                "{script}"
            );
        }
    }

    /// Completes the last of these words.
    fn completed(words: &[&str]) -> String {
        let values: Values = |arg| {
            (arg.get_id() == "flag").then_some(|text| match text {
                "r" => vec![("red".to_owned(), "like fire\nand more".to_owned())],
                _ => vec![("green".to_owned(), String::new())],
            })
        };
        let words = words.iter().map(OsString::from).collect();
        let mut out = Vec::new();
        complete(&outer(), values, words, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_word_becomes_a_command_an_option_or_a_value() {
        assert_eq!(completed(&["outer", "in"]), "inner\tSays hello\n");
        assert_eq!(completed(&["outer", "inner", "--f"]), "--flag\t\n");
        let red = "red\tlike fire\n";
        assert_eq!(completed(&["outer", "inner", "--flag", "r"]), red);
        assert_eq!(completed(&["outer", "inner", "--flag", ""]), "green\t\n");
        assert_eq!(
            completed(&["outer", "inner", "--flag=r"]),
            format!("--flag={red}")
        );
    }

    #[test]
    fn hidden_commands_and_files_are_left_out() {
        assert_eq!(completed(&["outer", "sec"]), "");
        assert!(!completed(&["outer", ""]).contains("secret"));
        // Where a file may be named, the shell completes.
        assert_eq!(completed(&["outer", "inner", "/"]), "");
        for nothing in [&["outer"][..], &[]] {
            completed(nothing);
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = write(Command::new("x"), file.path()).unwrap_err();
        assert!(error.to_string().contains("bash-completion"), "{error}");
    }
}
