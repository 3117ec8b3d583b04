//! A host and its VM at work on chosen CPUs, alone and together, beside Figure 4 of Rasmusson and Corcoran (2013).

mod published;
mod text;

pub(crate) use text::rate;

use crate::reference::Reference;
use crate::unit_of_work::base;
use published::Paper;
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use ws_analysis::Summary;
use ws_results::place::{PlaceKind, PlaceRow, Places, Side, Spot, Where};
use ws_results::{ResultFile, Row};

/// The format version of the JSON export.
pub const PLACEMENT_SCHEMA: &str = "worldswitch-place/1";

/// All data of this view. Strings are not escaped yet; the renderers do that.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Placement {
    /// Always `worldswitch-place/1`.
    #[schemars(extend("const" = PLACEMENT_SCHEMA))]
    pub schema: &'static str,
    /// Kinds of work, one entry for each platform and kind.
    pub kinds: Vec<Placed>,
}

/// A kind of work on a platform.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Placed {
    pub platform: String,
    /// Kind of work: `net-self`, `net-host`, `net-guest`, `disk-buffered`, `disk-cached`, `cpu`, `memory`, `trip-host`,
    /// `trip-guest`.
    pub kind: &'static str,
    /// Name of a unit of work.
    pub unit: String,
    /// Cells, one for each placement.
    pub cells: Vec<PlacedCell>,
    /// The placement at which both sides together keep most of their speeds alone. `worst` is that at which they keep
    /// least. Absent unless the intervals of both sums are known and apart.
    pub best: Option<Kept>,
    pub worst: Option<Kept>,
    /// The paper's speed of the VM relative to the host's, alone, where the paper has only that.
    pub published_guest_of_host: Option<f64>,
    /// Statements of the paper's text on this kind of work.
    pub stated: Vec<String>,
    /// The disks, if they are read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disks: Option<String>,
}

/// CPUs on which the parts of both sides may run, as lists.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct At {
    /// CPUs of the host's processes.
    pub host_cpus: String,
    /// CPUs of the receiver, or of the second VM. Absent if a receiver is with the other processes, or a second VM may
    /// run everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver_cpus: Option<String>,
    /// CPUs of the vCPU, or of all threads of the VM's program.
    pub vm_cpus: String,
    /// CPUs of all other threads of the VM's program, and of vhost's, if they are put apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_cpus: Option<String>,
}

/// A placement.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PlacedCell {
    #[serde(flatten)]
    pub at: At,
    /// Speed of each side on its CPUs while the other side does not work.
    pub alone: Rates,
    /// Speed of each side while both work.
    pub both: Rates,
    /// Speed of a side while both work, relative to its speed alone.
    pub host_kept: Option<f64>,
    pub guest_kept: Option<f64>,
    /// The least and the greatest of this share by the 95 % intervals of both speeds, from three boots on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_interval: Option<[f64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guest_interval: Option<[f64; 2]>,
    /// Cell of the paper's Figure 4, where there is one: in MB/s, the middle of a range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedCell>,
}

/// The speed of both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Rates {
    /// Units of work a second; absent if there are none.
    pub host_per_s: Option<f64>,
    pub guest_per_s: Option<f64>,
    /// Speed of the VM relative to the host's.
    pub guest_of_host: Option<f64>,
    /// Why a speed is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The paper's speeds at a placement.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PublishedCell {
    pub alone: Rates,
    pub both: Rates,
    pub host_kept: Option<f64>,
    pub guest_kept: Option<f64>,
}

/// Shares of their speeds that both sides keep at a placement.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Kept {
    #[serde(flatten)]
    pub at: At,
    pub host: f64,
    pub guest: f64,
    /// The least and the greatest share of each side.
    pub host_interval: [f64; 2],
    pub guest_interval: [f64; 2],
}

impl Placement {
    /// Whether the results have no row of the view.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Builds the view from results; rows that are no placements are left out.
    pub fn of(results: &[ResultFile], reference: &Reference) -> Self {
        let paper = Paper::of(reference);
        let kinds = results.iter().flat_map(|result| {
            let placements = result.rows.iter();
            let placements: Vec<(PlaceRow, &Row)> = placements
                .filter_map(|row| Some((row.facts().into_owned().placement?, row)))
                .collect();
            let rows: Vec<(&PlaceRow, &Row)> = placements
                .iter()
                .map(|(place, row)| (place, *row))
                .collect();
            let kinds = PlaceKind::ALL.into_iter();
            kinds
                .filter_map(|kind| placed(kind, &rows, result, &paper))
                .collect::<Vec<_>>()
        });
        Self {
            schema: PLACEMENT_SCHEMA,
            kinds: kinds.collect(),
        }
    }

    /// Whether a result has rows of placements.
    pub fn concerns(results: &[ResultFile]) -> bool {
        let mut rows = results.iter().flat_map(|result| &result.rows);
        rows.any(|row| row.facts().placement.is_some())
    }

    /// Renders the data as JSON, with a newline at the end.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Returns the kind of work whose placements matter most: that with the largest difference of kept shares between
    /// its best placement and its worst.
    pub(crate) fn widest(&self) -> Option<&Placed> {
        let width = |kind: &&Placed| Some(kind.best.as_ref()?.sum() - kind.worst.as_ref()?.sum());
        let wide = self.kinds.iter().filter(|kind| width(kind).is_some());
        wide.max_by(|a, b| width(a).partial_cmp(&width(b)).unwrap_or(Ordering::Equal))
    }
}

/// Whether the platform's VM is an emulator's.
fn is_emulator(platform: &str) -> bool {
    base(platform) == "qemu-tcg"
}

/// The rows of a kind of work.
#[derive(Clone, Copy)]
struct Rows<'a> {
    kind: PlaceKind,
    all: &'a [(&'a PlaceRow, &'a Row)],
    result: &'a ResultFile,
}

impl<'a> Rows<'a> {
    fn of_kind(self) -> impl Iterator<Item = &'a (&'a PlaceRow, &'a Row)> {
        self.all
            .iter()
            .filter(move |(row, _)| row.kind == self.kind)
    }

    /// Finds the rows of both sides, as far as they are there.
    fn of_sides(self, row: impl Fn(Side) -> PlaceRow) -> [Option<&'a Row>; 2] {
        [Side::Host, Side::Guest].map(|side| {
            let wanted = row(side);
            let (_, found) = self.of_kind().find(|(row, _)| **row == wanted)?;
            Some(*found)
        })
    }

    fn rates(self, of: [Option<&Row>; 2]) -> Rates {
        let [host_per_s, guest_per_s] = of.map(|row| per_s(row?, self.result));
        let mut missing = of.into_iter().flatten();
        Rates {
            why: missing.find_map(|row| row.reason.clone()),
            ..Rates::of(host_per_s, guest_per_s)
        }
    }

    fn cell(self, places: &Places, paper: &Paper<'_>) -> PlacedCell {
        let of_alone = self.of_sides(|side| PlaceRow::alone(self.kind, side, places));
        let of_both = self.of_sides(|side| PlaceRow::both(self.kind, side, places));
        let interval = |side: usize| {
            let span = |row: Option<&Row>| span(row?, self.result);
            kept_span(span(of_both[side]), span(of_alone[side]))
        };
        let (alone, both) = (self.rates(of_alone), self.rates(of_both));
        PlacedCell {
            at: At::of(places),
            host_kept: ratio(both.host_per_s, alone.host_per_s),
            guest_kept: ratio(both.guest_per_s, alone.guest_per_s),
            host_interval: interval(0),
            guest_interval: interval(1),
            published: paper.cell(self.kind, places),
            alone,
            both,
        }
    }
}

/// The cells at which both sides keep least and most, if their intervals are apart.
fn extremes(cells: &[PlacedCell]) -> Option<(Kept, Kept)> {
    let mut kept: Vec<Kept> = cells.iter().filter_map(Kept::of).collect();
    kept.sort_by(|a, b| a.sum().total_cmp(&b.sum()));
    let (worst, best) = (kept.first()?, kept.last()?);
    (worst.sum_span()[1] < best.sum_span()[0]).then(|| (worst.clone(), best.clone()))
}

/// Collects the rows of a kind of work into cells, one a pair of places; none if the result has no pair.
fn placed(
    kind: PlaceKind,
    rows: &[(&PlaceRow, &Row)],
    result: &ResultFile,
    paper: &Paper<'_>,
) -> Option<Placed> {
    let rows = Rows {
        kind,
        all: rows,
        result,
    };
    let all: BTreeSet<&Places> = rows
        .of_kind()
        .filter_map(|(row, _)| match &row.where_ {
            Where::Both(places) => Some(places),
            Where::Alone { .. } => None,
        })
        .collect();
    let cells: Vec<PlacedCell> = all
        .into_iter()
        .map(|places| rows.cell(places, paper))
        .collect();
    let (worst, best) = extremes(&cells).unzip();
    let disks = result.identity.subject.get("disks");
    let disks = disks.and_then(|disks| Some(disks.as_str()?.to_owned()));
    let unit = rows.of_kind().find_map(|(_, row)| row.work.clone());
    (!cells.is_empty()).then(|| Placed {
        platform: result.platform.clone(),
        kind: kind.word(),
        unit: unit.unwrap_or_default(),
        best,
        worst,
        published_guest_of_host: paper.guest_of_host(kind),
        stated: paper.stated(kind),
        disks: disks.filter(|_| kind.has_disk()),
        cells,
    })
}

impl At {
    fn of(places: &Places) -> Self {
        Self {
            host_cpus: places.host.work.clone(),
            receiver_cpus: places.host.serve.clone(),
            vm_cpus: places.vm.work.clone(),
            io_cpus: places.vm.serve.clone(),
        }
    }

    /// The host's side.
    pub(crate) fn host(&self) -> Spot {
        Spot {
            work: self.host_cpus.clone(),
            serve: self.receiver_cpus.clone(),
        }
    }

    /// The VM's side.
    pub(crate) fn vm(&self) -> Spot {
        Spot {
            work: self.vm_cpus.clone(),
            serve: self.io_cpus.clone(),
        }
    }
}

impl Rates {
    fn of(host_per_s: Option<f64>, guest_per_s: Option<f64>) -> Self {
        Self {
            host_per_s,
            guest_per_s,
            guest_of_host: ratio(guest_per_s, host_per_s),
            why: None,
        }
    }
}

impl Kept {
    fn of(cell: &PlacedCell) -> Option<Self> {
        Some(Self {
            at: cell.at.clone(),
            host: cell.host_kept?,
            guest: cell.guest_kept?,
            host_interval: cell.host_interval?,
            guest_interval: cell.guest_interval?,
        })
    }

    /// Returns the sum of both shares.
    pub(crate) fn sum(&self) -> f64 {
        self.host + self.guest
    }

    /// Returns the least and the greatest of this sum.
    fn sum_span(&self) -> [f64; 2] {
        [0, 1].map(|end| self.host_interval[end] + self.guest_interval[end])
    }
}

/// Returns the units of work a second.
fn per_s(row: &Row, result: &ResultFile) -> Option<f64> {
    let ns = Summary::cost(row, &result.perturbed())?.value;
    (ns > 0.0).then(|| 1e9 / ns)
}

/// The 95 % interval of the time of a unit.
fn span(row: &Row, result: &ResultFile) -> Option<[f64; 2]> {
    let interval = Summary::cost(row, &result.perturbed())?.interval()?;
    (interval.low > 0.0).then_some([interval.low, interval.high])
}

/// Returns the interval of the share that is kept: the least and the greatest ratio of times alone and together.
fn kept_span(both: Option<[f64; 2]>, alone: Option<[f64; 2]>) -> Option<[f64; 2]> {
    let ([low, high], [alone_low, alone_high]) = (both?, alone?);
    Some([alone_low / high, alone_high / low])
}

fn ratio(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    let b = b.filter(|b| *b > 0.0)?;
    Some(a? / b)
}
