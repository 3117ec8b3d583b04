//! The result of a search: as text and as JSON.

use super::look::Measured;
use super::{End, Point};
use crate::cli::bisect::BisectArgs;
use crate::commands::figure::{self, number};
use crate::terminal::columns::{columns, pretty};
use serde_json::{Value, json};
use std::path::Path;
use ws_explain::diff::Difference;

/// The format version of [`json`].
const SCHEMA: &str = "worldswitch-bisect/1";

/// The figures by commit, ancestors first, and the first bad commit.
pub fn text(args: &BisectArgs, end: &End, points: &[Point]) -> String {
    let measured = |point: &Point, of: fn(&Measured) -> String| {
        point.measured.as_ref().map_or_else(String::new, of)
    };
    let lines = points.iter().map(|point| {
        [
            point.commit.short().to_owned(),
            point.word.text().to_owned(),
            measured(point, |one| number(one.figure.insns)),
            measured(point, |one| one.figure.band_text()),
            point.why.lines().next().unwrap_or_default().to_owned(),
            point.commit.subject.clone(),
        ]
    });
    let heads = [
        "commit",
        "",
        &args.bench,
        "band",
        "against the good one",
        "subject",
    ];
    let table = columns(heads, lines);
    let results = points.iter().filter_map(|point| point.measured.as_ref());
    let legend = figure::legend(results.map(|measured| &measured.result));
    let found = match end {
        End::Found(commit) => format!(
            "the first bad commit is {}\n  {}\n",
            commit.id,
            ws_report::text::terminal(&commit.subject)
        ),
        End::OneOf(commits) => {
            let lines = commits.iter().map(|commit| {
                let subject = ws_report::text::terminal(&commit.subject);
                format!("  {} {subject}\n", commit.id)
            });
            "the first bad commit is one of these; too many of them were skipped\n".to_owned()
                + &lines.collect::<String>()
        }
    };
    format!("{table}\n{legend}\n{found}")
}

/// The same as JSON, with what the found commit changed.
///
/// # Errors
/// None that is known.
pub fn json(
    args: &BisectArgs,
    end: &End,
    points: &[Point],
    folder: &Path,
    difference: Option<&anyhow::Result<Difference>>,
) -> anyhow::Result<String> {
    let commit = |commit: &super::Commit| json!({ "commit": commit.id, "subject": commit.subject });
    let points: Vec<Value> = points
        .iter()
        .map(|point| {
            let measured = point.measured.as_ref();
            let band = measured.map(|one| [one.figure.band.0, one.figure.band.1]);
            json!({
                "commit": point.commit.id,
                "subject": point.commit.subject,
                "verdict": point.word.text(),
                "why": point.why,
                "measured": measured.map(|one| one.figure.insns),
                "band": band,
                "booted": measured.map(|one| &one.booted.id),
            })
        })
        .collect();
    let (first, one_of) = match end {
        End::Found(found) => (Some(commit(found)), Vec::new()),
        End::OneOf(commits) => (None, commits.iter().map(commit).collect()),
    };
    let (difference, not_explained) = match difference {
        Some(Ok(difference)) => (Some(serde_json::to_value(difference)?), None),
        Some(Err(why)) => (None, Some(format!("{why:#}"))),
        None => (None, None),
    };
    Ok(pretty(&json!({
        "schema": SCHEMA,
        "platform": args.on.to_string(),
        "benchmark": args.bench,
        "unit": "insns",
        "first_bad": first,
        "first_bad_is_one_of": one_of,
        "commits": points,
        "difference": difference,
        "not_explained": not_explained,
        "results": folder.display().to_string(),
    })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::bisect::tree::{Commit, Word};
    use clap::Parser;

    #[test]
    fn skipped_commits_are_rows_and_what_is_left_is_named() {
        let words = "ws bisect --kernel-tree t --good a --bad b --bench in";
        let cli = crate::cli::Cli::try_parse_from(words.split(' ')).unwrap();
        let crate::cli::Command::Bisect(args) = cli.command else {
            panic!("not bisect");
        };
        let commit = Commit {
            id: "0123456789abcdef".into(),
            subject: "a \u{1b}[31msubject".into(),
        };
        let points = [Point {
            commit: commit.clone(),
            word: Word::Skip,
            measured: None,
            why: "its build failed: x\nmore".into(),
        }];
        let end = End::OneOf(vec![commit.clone()]);
        let shown = text(&args, &end, &points);
        assert!(
            shown.contains("0123456789ab  skip            its build failed: x"),
            "{shown}"
        );
        assert!(shown.contains("is one of these"), "{shown}");
        assert!(!shown.contains('\u{1b}'), "{shown}");
        let json = |difference| {
            let text = self::json(&args, &end, &points, Path::new("d"), difference).unwrap();
            serde_json::from_str::<Value>(&text).unwrap()
        };
        let why = Err(anyhow::anyhow!("no symbols"));
        let failed = json(Some(&why));
        assert_eq!(failed["not_explained"], "no symbols");
        let json = json(None);
        assert_eq!(json["difference"], Value::Null);
        assert_eq!(json["first_bad"], Value::Null);
        assert_eq!(json["first_bad_is_one_of"][0]["commit"], commit.id);
        assert_eq!(json["commits"][0]["measured"], Value::Null);
    }
}
