//! Translates command lines of earlier versions, which work for one more release. A note names the new form.

use std::ffi::OsString;

/// Commands that became subcommands, and their new names.
const MOVED: [(&str, &[&str]); 7] = [
    ("io", &["run", "io"]),
    ("place", &["run", "place"]),
    ("apps", &["run", "apps"]),
    ("nested", &["run", "nested"]),
    ("fleet", &["run", "fleet"]),
    ("bisect", &["lab", "bisect"]),
    ("patch-hyp", &["lab", "patch"]),
];

/// A command line in today's form.
pub struct Translated {
    /// The program and its arguments.
    pub words: Vec<OsString>,
    /// The old form and the new one, if they differ.
    pub note: Option<String>,
}

/// Translates a command line: the program and its arguments.
pub fn translated(words: Vec<OsString>) -> Translated {
    let Some(at) = command_at(&words) else {
        return Translated { words, note: None };
    };
    let (before, rest) = words.split_at(at);
    let (old, new, rest) = match rest {
        [list, what, rest @ ..] if list == "list" && what == "platforms" => {
            ("list platforms", vec!["machines"], rest.to_vec())
        }
        [list, what, rest @ ..] if list == "list" && what == "benchmarks" => {
            ("list benchmarks", vec!["benchmarks"], rest.to_vec())
        }
        [model, rest @ ..] if model == "model" => ("model", vec!["show"], rest.to_vec()),
        [command, rest @ ..] => match MOVED.iter().find(|(old, _)| command == old) {
            Some((old, _)) if rest.iter().any(is_of) => shown(old, rest),
            Some((old, new)) => (*old, new.to_vec(), rest.to_vec()),
            None => return Translated { words, note: None },
        },
        [] => return Translated { words, note: None },
    };
    let note = format!(
        "`worldswitch {old}` is now `worldswitch {}`. The next release removes the old form",
        new.join(" ")
    );
    let new = new.into_iter().map(OsString::from);
    Translated {
        words: before.iter().cloned().chain(new).chain(rest).collect(),
        note: Some(note),
    }
}

/// Finds the command: the first word that is neither a general option nor its value.
fn command_at(words: &[OsString]) -> Option<usize> {
    let mut at = 1;
    loop {
        let word = words.get(at)?.to_str()?;
        match word {
            "--color" => at += 2,
            _ if word.starts_with('-') => at += 1,
            _ => return Some(at),
        }
    }
}

fn is_of(word: &OsString) -> bool {
    word.to_str()
        .is_some_and(|word| word == "--of" || word.starts_with("--of="))
}

/// Translates `COMMAND --of RUN` to `show --view VIEW RUN`.
fn shown(
    command: &'static str,
    rest: &[OsString],
) -> (&'static str, Vec<&'static str>, Vec<OsString>) {
    let is_long = rest.iter().any(|word| word == "--long");
    let (old, view) = match command {
        "io" => ("io --of", "io"),
        "place" => ("place --of", "place"),
        "apps" => ("apps --of", "apps"),
        _ if is_long => ("nested --long --of", "nested-apps"),
        _ => ("nested --of", "nested"),
    };
    let words = rest
        .iter()
        .filter(|word| *word != "--long" && *word != "--of");
    let words = words.map(
        |word| match word.to_str().and_then(|word| word.strip_prefix("--of=")) {
            Some(run) => run.into(),
            None => word.clone(),
        },
    );
    (old, vec!["show", "--view", view], words.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::help;

    fn of(line: &str) -> (String, Option<String>) {
        let translated = translated(line.split(' ').map(OsString::from).collect());
        let words: Vec<&str> = translated
            .words
            .iter()
            .map(|word| word.to_str().unwrap())
            .collect();
        (words.join(" "), translated.note)
    }

    #[test]
    fn every_old_form_is_a_new_one_that_parses() {
        for (old, new) in [
            ("ws apps --workload x", "ws run apps --workload x"),
            ("ws -q io scaling --quick", "ws -q run io scaling --quick"),
            ("ws --color never place", "ws --color never run place"),
            (
                "ws --color=never nested --long",
                "ws --color=never run nested --long",
            ),
            ("ws fleet plan c.toml", "ws run fleet plan c.toml"),
            (
                "ws bisect --kernel-tree l --good a --bad b --bench in",
                "ws lab bisect --kernel-tree l --good a --bad b --bench in",
            ),
            ("ws patch-hyp a -o b --to pv", "ws lab patch a -o b --to pv"),
            ("ws list platforms --json", "ws machines --json"),
            ("ws list benchmarks --on kvm", "ws benchmarks --on kvm"),
            ("ws model run --native n", "ws show run --native n"),
            (
                "ws apps --of a --of=b --prices c",
                "ws show --view apps a b --prices c",
            ),
            ("ws io --of a --json", "ws show --view io a --json"),
            (
                "ws nested --of a --export-markdown -",
                "ws show --view nested a --export-markdown -",
            ),
            ("ws nested --long --of a", "ws show --view nested-apps a"),
            ("ws place --of a", "ws show --view place a"),
        ] {
            let (words, note) = of(old);
            assert_eq!(words, new);
            assert!(note.is_some(), "{old}");
            let parsed = help::command().try_get_matches_from(new.split(' '));
            assert!(parsed.is_ok(), "{new}: {:?}", parsed.err());
        }
    }

    #[test]
    fn a_new_form_is_left_alone() {
        for line in [
            "ws",
            "ws --help",
            "ws run apps",
            "ws run list",
            "ws show model",
            "ws lab list",
            "ws --color",
        ] {
            assert_eq!(of(line), (line.to_owned(), None));
        }
    }
}
