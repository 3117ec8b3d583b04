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

/// A command's old form and its new one, and the other words.
type Form = (String, Vec<&'static str>, Vec<OsString>);

/// Translates a command line: the program and its arguments.
pub fn translated(words: Vec<OsString>) -> Translated {
    let at = skip(&words, 1, &["--color"]);
    let form = at.and_then(|at| form(&words[at..]));
    let (Some(at), Some((old, new, rest))) = (at, form) else {
        return Translated { words, note: None };
    };
    let note = format!(
        "`worldswitch {old}` is now `worldswitch {}`. The next release removes the old form",
        new.join(" ")
    );
    let new = new.into_iter().map(OsString::from);
    let before = words[..at].iter().cloned();
    Translated {
        words: before.chain(new).chain(rest).collect(),
        note: Some(note),
    }
}

/// Finds the first word, from this index on, that is neither an option nor its value. `valued`: options with a value.
fn skip(words: &[OsString], mut at: usize, valued: &[&str]) -> Option<usize> {
    loop {
        let word = words.get(at)?.to_str()?;
        match word {
            _ if valued.contains(&word) => at += 2,
            _ if word.starts_with('-') => at += 1,
            _ => return Some(at),
        }
    }
}

/// Returns the old and the new form of a command; None if its form is today's.
fn form(words: &[OsString]) -> Option<Form> {
    let text = words.iter().map(|word| word.to_str().unwrap_or_default());
    let text: Vec<&str> = text.collect();
    let has = |option: &str| text.iter().any(|word| is(word, option));
    let from = |count: usize, old: &str, new: &[&'static str]| {
        Some((old.to_owned(), new.to_vec(), words[count..].to_vec()))
    };
    match *text {
        ["list", "platforms", ..] => from(2, "list platforms", &["machines"]),
        ["list", "benchmarks", ..] => from(2, "list benchmarks", &["benchmarks"]),
        ["model", ..] => from(1, "model", &["show"]),
        ["lab" | "history", ..] => below(words, has),
        ["run", "apps" | "io", ..] if has("--list") => Some(listed(&words[1..])),
        ["apps" | "io", ..] if has("--list") => Some(listed(words)),
        ["io", ..] if has("--of") => shown("io --of", "io", words),
        ["place", ..] if has("--of") => shown("place --of", "place", words),
        ["apps", ..] if has("--of") => shown("apps --of", "apps", words),
        ["nested", ..] if has("--of") && has("--long") => {
            shown("nested --long --of", "nested-apps", words)
        }
        ["nested", ..] if has("--of") => shown("nested --of", "nested", words),
        [command, ..] => {
            let (old, new) = MOVED.iter().find(|(old, _)| command == *old)?;
            from(1, old, new)
        }
        [] => None,
    }
}

/// Whether a word is this option, with or without its value.
fn is(word: &str, option: &str) -> bool {
    let rest = word.strip_prefix(option);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

/// Translates `COMMAND --of RUN` to `show --view VIEW RUN`.
fn shown(old: &str, view: &'static str, words: &[OsString]) -> Option<Form> {
    let words = words[1..]
        .iter()
        .filter(|word| *word != "--long" && *word != "--of");
    let words = words.map(
        |word| match word.to_str().and_then(|word| word.strip_prefix("--of=")) {
            Some(run) => run.into(),
            None => word.clone(),
        },
    );
    Some((
        old.to_owned(),
        vec!["show", "--view", view],
        words.collect(),
    ))
}

/// Translates `run apps --list` and `run io --list` to `benchmarks`, which has no choice of rows.
fn listed(words: &[OsString]) -> Form {
    let command = words[0].to_string_lossy();
    let (mut rest, mut has_on, mut is_value) = (Vec::new(), false, false);
    for word in &words[1..] {
        let text = word.to_string_lossy();
        let is_choice = ["--device", "--workload"].iter().any(|one| is(&text, one));
        if !is_value && !is_choice && text != "--list" {
            rest.push(word.clone());
        }
        has_on |= is(&text, "--on");
        is_value = is_choice && !text.contains('=');
    }
    let new = match has_on {
        true => vec!["benchmarks"],
        false => vec!["benchmarks", "--on", "lab:kvm-linux"],
    };
    (format!("run {command} --list"), new, rest)
}

/// Translates `lab check` to `test`, and `history report` to `report --history`. Options may stand before the second
/// word.
fn below(words: &[OsString], has: impl Fn(&str) -> bool) -> Option<Form> {
    let at = skip(words, 1, &["--color", "--store", "--db"])?;
    let mut rest = [&words[1..at], &words[at + 1..]].concat();
    match (words[0].to_str()?, words[at].to_str()?) {
        ("lab", "check") => {
            // A test measures the main benchmarks unless it is asked for all.
            if has("--write") && !has("--bench") {
                rest.push("--all".into());
            }
            Some(("lab check".to_owned(), vec!["test"], rest))
        }
        ("history", "report") => {
            if !has("--output") && !rest.iter().any(is_output) {
                rest.extend(["-o".into(), "history.html".into()]);
            }
            let new = vec!["report", "--history"];
            Some(("history report".to_owned(), new, rest))
        }
        _ => None,
    }
}

/// Whether a word is `-o`, with or without its value.
fn is_output(word: &OsString) -> bool {
    word.to_str().is_some_and(|word| word.starts_with("-o"))
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
            (
                "ws lab check --budget b --json",
                "ws test --budget b --json",
            ),
            (
                "ws lab check --budget b --write --on lab:kvm --perturb 0",
                "ws test --budget b --write --on lab:kvm --perturb 0 --all",
            ),
            ("ws lab -q check --budget b", "ws test -q --budget b"),
            (
                "ws history report --host h",
                "ws report --history --host h -o history.html",
            ),
            (
                "ws history --store a report -o b",
                "ws report --history --store a -o b",
            ),
            (
                "ws apps --list --json",
                "ws benchmarks --on lab:kvm-linux --json",
            ),
            (
                "ws run io --list --device ^qemu$ --on lab:xen-linux",
                "ws benchmarks --on lab:xen-linux",
            ),
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
            "ws lab show check",
            "ws history check",
            "ws --color",
        ] {
            assert_eq!(of(line), (line.to_owned(), None));
        }
    }
}
