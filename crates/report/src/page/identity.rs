//! The view of identities: each run's command line, and its results' identities side by side.

use super::words::{folded, plain, plural, value_text};
use maud::{Markup, html};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use ws_results::{LaunchEnd, ResultFile};

/// Most runs that are shown unfolded.
const RUNS: usize = 3;

/// The view. Results of one run (one command, begun at one time) are shown together.
pub(crate) fn identity(results: &[ResultFile]) -> Markup {
    let mut runs: Vec<Vec<&ResultFile>> = Vec::new();
    for result in results {
        let same = |run: &&mut Vec<&ResultFile>| {
            run.first().is_some_and(|first| {
                (&first.created, &first.command) == (&result.created, &result.command)
            })
        };
        match runs.iter_mut().find(same) {
            Some(run) => run.push(result),
            None => runs.push(vec![result]),
        }
    }
    if runs.is_empty() {
        return html! {};
    }
    let body = html! { @for run in &runs { (one(run, runs.len() <= RUNS)) } };
    let remark = format!(
        "{}, their command lines and all that the figures depend on",
        plural(runs.len(), "run")
    );
    folded("identity", "What was measured, and on what", &remark, &body)
}

fn one(run: &[&ResultFile], few: bool) -> Markup {
    let Some(first) = run.first() else {
        return html! {};
    };
    let command = first
        .command
        .iter()
        .map(|word| quoted(word))
        .collect::<Vec<_>>()
        .join(" ");
    html! {
        details.run open[few] {
            summary { (plain(&first.created)) ", " (plain(&first.tool)) ", " (plural(run.len(), "platform")) }
            p.command {
                code { (plain(&command)) }
                button.copy type="button" hidden { "Copy the command line" }
            }
            div.scroll tabindex="0" role="region" aria-label="Identity" {
                table {
                    caption { "Subject may differ between compared results, conditions must agree." }
                    thead { tr {
                        th scope="col" { "field" }
                        @for result in run { th scope="col" { (plain(&result.platform)) } }
                    } }
                    (fields("boots", run, &["boots".into(), "launches".into(), "stopped early".into()], |result, field| {
                        boots(result, field)
                    }))
                    (maps("subject", run, |result| &result.identity.subject))
                    (maps("conditions", run, |result| &result.identity.conditions))
                }
            }
        }
    }
}

fn maps(
    name: &str,
    run: &[&ResultFile],
    map: impl Fn(&ResultFile) -> &BTreeMap<String, Value>,
) -> Markup {
    let keys: BTreeSet<String> = run
        .iter()
        .flat_map(|result| map(result).keys().cloned())
        .collect();
    let keys: Vec<String> = keys.into_iter().collect();
    fields(name, run, &keys, |result, key| {
        map(result).get(key).map_or_else(String::new, value_text)
    })
}

fn fields(
    name: &str,
    run: &[&ResultFile],
    keys: &[String],
    text: impl Fn(&ResultFile, &str) -> String,
) -> Markup {
    html! {
        tbody {
            tr.part { th scope="rowgroup" colspan=(run.len() + 1) { (name) } }
            @for key in keys {
                @let texts: Vec<String> = run.iter().map(|result| text(result, key)).collect();
                tr {
                    th scope="row" { (plain(key)) }
                    @if texts.len() > 1 && texts.windows(2).all(|pair| pair[0] == pair[1]) {
                        td.all colspan=(texts.len()) { (texts[0]) }
                    } @else {
                        @for text in &texts { td { (text) } }
                    }
                }
            }
        }
    }
}

/// The number of boots and launches, and how they ended.
fn boots(result: &ResultFile, field: &str) -> String {
    let launches = || result.boots.iter().flat_map(|boot| &boot.launches);
    match field {
        "boots" => result.boots.len().to_string(),
        "launches" => {
            let ill = launches()
                .filter(|launch| launch.end != LaunchEnd::Bye)
                .count();
            match ill {
                0 => format!("{}, none failed", launches().count()),
                ill => format!("{}, of which {ill} failed", launches().count()),
            }
        }
        _ if result.interrupted => "yes".into(),
        _ => "no".into(),
    }
}

/// A word quoted for the shell.
fn quoted(word: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(safe) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_copied_command_line_is_one_command() {
        assert_eq!(
            ["run", "--on", "lab:native"].map(quoted).join(" "),
            "run --on lab:native"
        );
        assert_eq!(
            ["^(in|out)$", "it's", ""].map(quoted),
            ["'^(in|out)$'", r"'it'\''s'", "''"]
        );
        assert_eq!(quoted("a;rm -rf"), "'a;rm -rf'");
    }
}
