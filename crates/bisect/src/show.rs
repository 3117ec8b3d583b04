//! The result of a search: as text and as JSON.

use crate::{End, Found, Measured, Point};
use schemars::JsonSchema;
use serde::Serialize;
use ws_explain::diff::Difference;
use ws_kernels::tree::Commit;
use ws_terminal::columns::{self, columns};
use ws_text::terminal;

pub(crate) use ws_report::figure::{band, legend, number};

/// The format version of the JSON.
const SCHEMA: &str = "worldswitch-bisect/1";

impl Found {
    /// Formats the figures by commit, ancestors first, and the first bad commit.
    pub fn to_text(&self) -> String {
        let measured = |point: &Point, of: fn(&Measured) -> String| {
            point.measured.as_ref().map_or_else(String::new, of)
        };
        let lines = self.points.iter().map(|point| {
            [
                point.commit.short().to_owned(),
                point.word.text().to_owned(),
                measured(point, |one| number(one.figure.insns)),
                measured(point, |one| band(&one.figure)),
                point.why.lines().next().unwrap_or_default().to_owned(),
                point.commit.subject.clone(),
            ]
        });
        let heads = [
            "commit",
            "",
            &self.benchmark,
            "band",
            "difference from good",
            "subject",
        ];
        let table = columns(heads, lines);
        let results = self
            .points
            .iter()
            .filter_map(|point| point.measured.as_ref());
        let legend = legend(results.map(|measured| &measured.result));
        let found = match &self.end {
            End::Found(commit) => format!(
                "the first bad commit is {}\n  {}\n",
                commit.id,
                terminal(&commit.subject)
            ),
            End::OneOf(commits) => {
                let lines = commits
                    .iter()
                    .map(|commit| format!("  {} {}\n", commit.id, terminal(&commit.subject)));
                "the first bad commit is one of these; too many of them were skipped\n".to_owned()
                    + &lines.collect::<String>()
            }
        };
        format!("{table}\n{legend}\n{found}")
    }

    /// Formats the outcome as JSON, with the functions that the found commit changed.
    pub fn to_json(
        &self,
        difference: Option<&anyhow::Result<Difference>>,
    ) -> serde_json::Result<String> {
        fn named(commit: &Commit) -> Named<'_> {
            Named {
                commit: &commit.id,
                subject: &commit.subject,
            }
        }
        let one_of = match &self.end {
            End::Found(_) => &[][..],
            End::OneOf(commits) => commits,
        };
        columns::json(&Bisected {
            schema: SCHEMA,
            platform: self.platform.to_string(),
            benchmark: &self.benchmark,
            unit: "insns",
            first_bad: self.commit().map(named),
            first_bad_is_one_of: one_of.iter().map(named).collect(),
            commits: self.points.iter().map(Looked::of).collect(),
            difference: difference.and_then(|difference| difference.as_ref().ok()),
            not_explained: difference
                .and_then(|difference| difference.as_ref().err())
                .map(|why| format!("{why:#}")),
            results: self.folder.display().to_string(),
        })
    }
}

/// The outcome as JSON.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Bisected<'a> {
    /// Always `worldswitch-bisect/1`.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    platform: String,
    benchmark: &'a str,
    /// Always `insns`.
    unit: &'static str,
    /// The commit that changed the figure; null if too many were skipped.
    first_bad: Option<Named<'a>>,
    /// The possible commits, if too many were skipped.
    first_bad_is_one_of: Vec<Named<'a>>,
    /// Commits that were measured or skipped, ancestors first.
    commits: Vec<Looked<'a>>,
    /// Functions that the found commit executes more and less of than its parent.
    difference: Option<&'a Difference>,
    /// Reason why `difference` is null.
    not_explained: Option<String>,
    /// The folder of results and logs.
    results: String,
}

/// A commit.
#[derive(Debug, Serialize, JsonSchema)]
struct Named<'a> {
    commit: &'a str,
    subject: &'a str,
}

/// A commit that was measured or skipped.
#[derive(Debug, Serialize, JsonSchema)]
struct Looked<'a> {
    commit: &'a str,
    subject: &'a str,
    /// `good`, `bad` or `skip`.
    verdict: &'static str,
    /// Difference from the good commit, or the reason why this one was skipped.
    why: &'a str,
    /// Mode, in instructions for one operation.
    measured: Option<f64>,
    /// Least and greatest figure over all boots.
    band: Option<[f64; 2]>,
    /// Commit that was booted: an earlier one if its kernel was the same.
    booted: Option<&'a str>,
}

impl<'a> Looked<'a> {
    fn of(point: &'a Point) -> Self {
        let measured = point.measured.as_ref();
        Self {
            commit: &point.commit.id,
            subject: &point.commit.subject,
            verdict: point.word.text(),
            why: &point.why,
            measured: measured.map(|one| one.figure.insns),
            band: measured.map(|one| [one.figure.band.0, one.figure.band.1]),
            booted: measured.map(|one| one.booted.id.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use ws_kernels::tree::Word;
    use ws_results::schema_check::valid;

    #[test]
    fn skipped_commits_are_rows_and_what_is_left_is_named() {
        let commit = Commit {
            id: "0123456789abcdef".into(),
            subject: "a \u{1b}[31msubject".into(),
        };
        let found = Found {
            platform: "lab:kvm".parse().unwrap(),
            benchmark: "in".into(),
            folder: "d".into(),
            end: End::OneOf(vec![commit.clone()]),
            points: vec![Point {
                commit: commit.clone(),
                word: Word::Skip,
                measured: None,
                why: "its build failed: x\nmore".into(),
            }],
        };
        let shown = found.to_text();
        assert!(
            shown.contains("0123456789ab  skip            its build failed: x"),
            "{shown}"
        );
        assert!(shown.contains("is one of these"), "{shown}");
        assert!(!shown.contains('\u{1b}'), "{shown}");
        let json = |difference| valid(&found.to_json(difference).unwrap(), "bisect");
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
