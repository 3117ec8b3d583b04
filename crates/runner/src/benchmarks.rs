//! Names of benchmarks that users type: whether there are such, and which names may be meant.

use regex::Regex;
use ws_terminal::Usage;
use ws_text::terminal;

/// Least similarity of a proposed name: as many letters are right as must be changed, added or swapped.
const SIMILAR: f64 = 0.5;

/// Makes a regular expression that matches these names and no others.
///
/// # Errors
/// There are so many names that no regular expression can hold them.
pub fn only<T: AsRef<str>>(names: &[T]) -> Result<Regex, regex::Error> {
    let names: Vec<String> = names
        .iter()
        .map(|name| regex::escape(name.as_ref()))
        .collect();
    Regex::new(&format!("^({})$", names.join("|")))
}

/// Checks that there is a benchmark of this name. An error proposes the name that may be meant, or lists all.
pub fn check<T: AsRef<str>>(name: &str, known: &[T]) -> Result<(), Usage> {
    match known.iter().any(|other| other.as_ref() == name) {
        true => Ok(()),
        false => Err(Usage(format!(
            "there is no benchmark {}; {}",
            terminal(name),
            instead(name, known)
        ))),
    }
}

/// Makes the error of a regular expression that chose no benchmark.
pub fn none_matches<T: AsRef<str>>(pattern: &Regex, known: &[T]) -> Usage {
    let pattern = pattern.as_str();
    let name: String = pattern.chars().filter(|c| !"^$()".contains(*c)).collect();
    Usage(format!(
        "--bench {} matches no benchmark; {}",
        terminal(pattern),
        instead(&name, known)
    ))
}

/// Proposes the known name that is nearest to `name`, as a question; otherwise lists all known names.
pub fn instead<T: AsRef<str>>(name: &str, known: &[T]) -> String {
    let known = known.iter().map(AsRef::as_ref);
    let similarity = |other| strsim::normalized_damerau_levenshtein(name, other);
    let like = known.clone().map(|other| (similarity(other), other));
    let nearest = like.max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest.filter(|(similarity, _)| *similarity >= SIMILAR) {
        Some((_, meant)) => format!("did you mean {}?", terminal(meant)),
        None => {
            let known: Vec<_> = known.map(terminal).collect();
            format!("there are {}", known.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KNOWN: [&str; 3] = ["in", "hypercall", "set-cr3"];

    #[test]
    fn a_misspelt_name_is_answered_with_the_one_that_is_meant() {
        assert!(check("in", &KNOWN).is_ok());
        let error = |name| check(name, &KNOWN).unwrap_err().to_string();
        assert_eq!(
            error("hypercal"),
            "there is no benchmark hypercal; did you mean hypercall?"
        );
        assert_eq!(error("im"), "there is no benchmark im; did you mean in?");
        assert_eq!(
            error("xyz"),
            "there is no benchmark xyz; there are in, hypercall, set-cr3"
        );
        let none = none_matches(&Regex::new("^(set-cr4)$").unwrap(), &KNOWN).to_string();
        assert_eq!(
            none,
            "--bench ^(set-cr4)$ matches no benchmark; did you mean set-cr3?"
        );
        assert!(error("\u{1b}[31m").contains("there are"));
        assert!(!error("\u{1b}[31m").contains('\u{1b}'));
    }

    proptest! {
        #[test]
        fn names_are_taken_literally(name in "\\PC{1,12}", other in "\\PC{1,12}") {
            let only = only(&[&name]).unwrap();
            prop_assert!(only.is_match(&name));
            prop_assert_eq!(only.is_match(&other), name == other);
            prop_assert_eq!(check(&other, &[&name]).is_ok(), name == other);
        }
    }
}
