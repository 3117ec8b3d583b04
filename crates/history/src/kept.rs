//! A result as the history stores it: its text, its keys and its figures. Pure.

use crate::{Error, kernel};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use ws_analysis::{Summary, UnitKind};
use ws_results::ResultFile;

/// A result as the history stores it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kept {
    /// The whole result as JSON.
    pub text: String,
    /// SHA-256 of the text: a history has each result once.
    pub digest: String,
    /// The host that measured, or empty.
    pub host: String,
    /// The host whose runs are compared with this run, on time. Empty on instructions: runs of all hosts are compared.
    pub judged_on: String,
    pub kernel: Option<String>,
    /// Name of the run's cell; see [`cell`].
    pub cell: Option<String>,
    /// The command line.
    pub command: String,
    pub figures: Vec<Figure>,
}

/// A benchmark's figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    pub benchmark: String,
    pub unit: String,
    /// `ws_analysis::Summary::value`.
    pub value: f64,
    pub boots: i64,
    pub exact: Option<bool>,
}

impl Kept {
    pub fn of(result: &ResultFile) -> Result<Self, Error> {
        let text = serde_json::to_string(result)?;
        let subject = |field: &str| result.identity.subject.get(field)?.as_str();
        let host = result.host().unwrap_or_default().to_owned();
        let counts = result.unit().is_some_and(is_count);
        let names = result.rows.iter().map(|row| row.benchmark.as_str());
        let kept = Self {
            digest: hex(&Sha256::digest(&text)),
            text,
            judged_on: if counts { String::new() } else { host.clone() },
            host,
            kernel: kernel(result),
            cell: subject("machine_digest")
                .filter(|_| counts)
                .map(|machine| cell(machine, subject("guest_image_sha256"), names)),
            command: result.command.join(" "),
            figures: figures(result),
        };
        kept.check(result)?;
        Ok(kept)
    }

    /// Replaces the text by the text that an older version stored.
    pub fn with_text(self, text: String) -> Self {
        Self {
            digest: hex(&Sha256::digest(&text)),
            text,
            ..self
        }
    }

    /// Refuses NUL, which PostgreSQL stores in no text. The result's own text has none: JSON writes it as an escape.
    fn check(&self, result: &ResultFile) -> Result<(), Error> {
        let mut fields = vec![
            ("platform", result.platform.as_str()),
            ("date", &result.created),
            ("tool", &result.tool),
            ("command line", &self.command),
            ("host", &self.host),
            ("kernel", self.kernel.as_deref().unwrap_or_default()),
        ];
        for figure in &self.figures {
            fields.extend([("benchmark", &*figure.benchmark), ("unit", &*figure.unit)]);
        }
        let wrong = fields.into_iter().find(|(_, text)| text.contains('\0'));
        wrong.map_or(Ok(()), |(name, _)| Err(Error::Nul(name)))
    }
}

/// Returns the name of the cell: a digest of all that an exact result depends on. That is the machine by its digest,
/// the guest image, and the benchmarks that ran, in their order. Runs of one cell must give the same digits on every
/// host.
pub fn cell<'a>(
    machine_digest: &str,
    guest_image_sha256: Option<&str>,
    benchmarks: impl IntoIterator<Item = &'a str>,
) -> String {
    let mut text = format!(
        "{machine_digest}\n{}\n",
        guest_image_sha256.unwrap_or_default()
    );
    for name in benchmarks {
        let _ = writeln!(text, "{name}");
    }
    hex(&Sha256::digest(text))
}

fn is_count(unit: &str) -> bool {
    UnitKind::of(unit) == UnitKind::Count
}

fn figures(result: &ResultFile) -> Vec<Figure> {
    let perturbed = result.perturbed();
    let rows = result.rows.iter();
    rows.filter_map(|row| {
        let summary = Summary::cost(row, &perturbed)?;
        summary.value.is_finite().then(|| Figure {
            benchmark: row.benchmark.clone(),
            boots: i64::try_from(summary.boots.len()).unwrap_or(i64::MAX),
            exact: summary.exact,
            value: summary.value,
            unit: summary.unit,
        })
    })
    .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
