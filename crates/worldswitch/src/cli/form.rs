//! Formats of files that commands write. A file's ending must match its format.

use clap::builder::{PathBufValueParser, TypedValueParser};
use std::path::{Path, PathBuf};

/// A format that a command writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Html,
    Svg,
    Json,
    Markdown,
    Csv,
    Toml,
}

/// Formats, each with its name and the endings of its files. Messages name the first ending.
const FORMS: [(Form, &str, &[&str]); 6] = [
    (Form::Html, "an HTML page", &["html", "htm"]),
    (Form::Svg, "an SVG picture", &["svg"]),
    (Form::Json, "JSON", &["json"]),
    (Form::Markdown, "Markdown", &["md", "markdown"]),
    (Form::Csv, "CSV", &["csv"]),
    (Form::Toml, "TOML", &["toml"]),
];

/// Endings of formats that no command writes.
const FOREIGN: [&str; 12] = [
    "png", "jpg", "jpeg", "gif", "webp", "pdf", "ps", "eps", "xls", "xlsx", "ods", "tsv",
];

impl Form {
    /// Returns the format of a file's ending. `None` without an ending, and for an unknown one.
    pub fn of(path: &Path) -> Option<Self> {
        let ending = ending(path)?;
        let mut forms = FORMS.iter();
        let (form, ..) = forms.find(|(_, _, endings)| endings.contains(&&*ending))?;
        Some(*form)
    }

    /// `an SVG picture (.svg)`.
    fn described(self) -> String {
        let mut forms = FORMS.iter();
        let found = forms.find(|(form, ..)| *form == self);
        found.map_or(String::new(), |(_, name, endings)| {
            format!("{name} (.{})", endings[0])
        })
    }
}

/// A file's ending in lower case.
fn ending(path: &Path) -> Option<String> {
    Some(path.extension()?.to_string_lossy().to_ascii_lowercase())
}

/// Parses the name of a file in this format. Unknown endings are accepted: mktemp makes such names.
pub fn file(form: Form) -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(move |path| {
        let is_foreign = ending(&path).is_some_and(|ending| FOREIGN.contains(&&*ending));
        match Form::of(&path) {
            Some(other) if other != form => Err(refusal(&path, &[form])),
            None if is_foreign => Err(refusal(&path, &[form])),
            _ => Ok(path),
        }
    })
}

/// Parses the name of a file whose ending chooses one of these formats. Without an ending, the first format applies.
pub fn file_of(forms: &'static [Form]) -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match Form::of(&path) {
        Some(form) if forms.contains(&form) => Ok(path),
        None if path.extension().is_none() => Ok(path),
        _ => Err(refusal(&path, forms)),
    })
}

fn refusal(path: &Path, forms: &[Form]) -> String {
    let described: Vec<String> = forms.iter().map(|form| form.described()).collect();
    format!(
        "this option writes {}, not .{}",
        described.join(" or "),
        ending(path).unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::help;
    use clap::error::ErrorKind;
    use std::ffi::OsStr;

    #[test]
    fn an_ending_is_of_one_form_and_case_does_not_matter() {
        let all = FORMS.iter().flat_map(|(_, _, endings)| *endings);
        let mut all: Vec<&str> = all.chain(&FOREIGN).copied().collect();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
        assert_eq!(Form::of(Path::new("a.b/x.SVG")), Some(Form::Svg));
        assert_eq!(Form::of(Path::new("a.svg/x")), None);
    }

    /// Calls `visit` with the words before each option that names a file to write, the option and its name.
    fn written(
        command: &clap::Command,
        words: &[String],
        visit: &mut dyn FnMut(&[String], &clap::Arg, &str),
    ) {
        for arg in command.get_arguments() {
            let long = arg.get_long().unwrap_or_default();
            let named = arg.get_value_names().is_some_and(|names| names == ["FILE"]);
            let is_written = ["output", "svg", "flamegraph", "comment"].contains(&long)
                || long.starts_with("export-");
            if named && is_written {
                visit(words, arg, long);
            }
        }
        for below in command.get_subcommands() {
            let words = [words, &[below.get_name().to_owned()]].concat();
            written(below, &words, visit);
        }
    }

    #[test]
    fn no_command_writes_another_form_than_the_files_ending_promises() {
        let command = help::command();
        let mut options = 0;
        written(
            &command,
            &["worldswitch".to_owned()],
            &mut |words, arg, long| {
                options += 1;
                let parse = |file: &str| {
                    let option = [format!("--{long}"), file.to_owned()];
                    let words = [words, &option].concat();
                    let error = command.clone().try_get_matches_from(words).err();
                    error.is_some_and(|error| error.kind() == ErrorKind::ValueValidation)
                };
                let taken: Vec<&str> = FORMS
                    .iter()
                    .flat_map(|(_, _, endings)| *endings)
                    .copied()
                    .filter(|ending| !parse(&format!("x.{ending}")))
                    .collect();
                let forms: Vec<Form> = taken
                    .iter()
                    .filter_map(|ending| Form::of(Path::new(&format!("x.{ending}"))))
                    .collect();
                let whole = FORMS.iter().filter(|(form, ..)| forms.contains(form));
                let whole: usize = whole.map(|(_, _, endings)| endings.len()).sum();
                assert_eq!(taken.len(), whole, "{words:?} --{long}: {taken:?}");
                let is_report = words.len() == 2 && words[1] == "report";
                assert_eq!(
                    whole_forms(&forms),
                    if is_report { 2 } else { 1 },
                    "{words:?} --{long}"
                );
                for foreign in FOREIGN {
                    assert!(
                        parse(&format!("x.{foreign}")),
                        "{words:?} --{long} {foreign}"
                    );
                    assert!(parse(&format!("x.{}", foreign.to_uppercase())));
                }
                for fine in ["-", "x", "/dev/stdout"] {
                    assert!(!parse(fine), "{words:?} --{long} {fine}");
                }
                // Defaults are of the form too.
                for value in arg.get_default_values() {
                    assert!(!parse(OsStr::new(value).to_str().unwrap()));
                }
            },
        );
        assert!(options > 20, "{options}");
    }

    fn whole_forms(forms: &[Form]) -> usize {
        FORMS
            .iter()
            .filter(|(form, ..)| forms.contains(form))
            .count()
    }

    #[test]
    fn a_refusal_says_which_forms_there_are() {
        let command = help::command();
        let words = ["worldswitch", "report", "x", "-o", "a.png"];
        let error = command.try_get_matches_from(words).unwrap_err().to_string();
        assert!(
            error.contains("writes an HTML page (.html) or an SVG picture (.svg), not .png"),
            "{error}"
        );
    }
}
