//! Fits the model: from results to the cost of each event.

use super::measured::{BootKey, Measurement, Measurements};
use super::operator::{Operator, operator};
use super::separate::{Added, Separation, separate};
use super::terms::{Component, TERMS, Term, guests_only, term_of};
use crate::conditions::{Unlike, unlike};
use crate::statistics::{Rng, median, quantile, sorted};
use crate::summary::SEED;
use crate::unit::UnitKind;
use crate::verdict::Thresholds;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use ws_results::{Paging, ResultFile};

/// The confidence of all intervals of a model.
pub const CONFIDENCE: f64 = 0.95;
/// Resamples of boots for the intervals.
const REPLICATES: usize = 2000;

/// Why there is no model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// There is no result.
    #[error("no result to model")]
    Nothing,
    /// The results are from more than one platform.
    #[error("cannot model {0} and {1} together: give results of one platform")]
    TwoPlatforms(String, String),
    /// The platform's paging is not known, and equation 5 depends on it.
    #[error(
        "{0} does not say whether its guests run with nested or shadow paging: use --paging nested or --paging shadow"
    )]
    UnknownPaging(String),
    /// Conditions differ.
    #[error("{guest} and {native} were not measured under the same conditions: {}. --allow FIELD models them anyway",
        fields.iter().map(Unlike::describe).collect::<Vec<_>>().join(", "))]
    Unlike {
        /// The guest's platform.
        guest: String,
        /// The native one.
        native: String,
        /// The conditions that differ.
        fields: Vec<Unlike>,
    },
    /// No benchmark was measured comparably on both platforms.
    #[error(
        "no benchmark was measured in the same unit and under the same conditions both on {guest} and on {native}"
    )]
    NothingInCommon {
        /// The guest's platform.
        guest: String,
        /// The native one.
        native: String,
    },
}

/// Options of the fit.
#[derive(Clone, Debug, Default)]
pub struct ModelOptions {
    /// Paging mode, if the results do not say it or say it wrongly.
    pub paging: Option<Paging>,
    /// Conditions that may differ between guest and native.
    pub allow: Vec<String>,
    /// Thresholds for the operator's linearity.
    pub thresholds: Thresholds,
}

/// The costs of a platform's events.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Model {
    /// The guest's platform.
    pub platform: String,
    /// The native machine that the guest is compared with.
    pub native: String,
    /// The unit of all costs.
    pub unit: String,
    /// Paging mode: how guest addresses are translated.
    pub paging: Paging,
    /// The confidence of all intervals, as a fraction.
    pub confidence: f64,
    /// Costs of the benchmarks that were measured on both platforms.
    pub rows: Vec<RowCost>,
    /// Costs of the terms of equations 4 to 6, in their order.
    pub terms: Vec<TermCost>,
    /// The separation of T_cons and T_two.
    pub separation: Separation,
    /// Notes for the reader, as text.
    pub notes: Vec<String>,
    /// The rows' added costs in each resample of the boots.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) replicates: Vec<Vec<f64>>,
}

/// Cost of one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RowCost {
    /// Name of the benchmark.
    pub benchmark: String,
    /// The term that the benchmark measures on this platform; null if it measures none.
    pub term: Option<Term>,
    /// Cost of one operation in the guest.
    pub guest: f64,
    /// Cost of one operation on the native machine; 0 if the operation does not occur there (a hypercall).
    pub native: f64,
    /// Whether `native` was measured.
    pub native_measured: bool,
    /// Guest - native: the cost that virtualization adds to one event.
    pub added: f64,
    /// The lower end of the interval of `added`; on counts, of its range over all boots, perturbed ones included.
    pub added_low: f64,
    /// The upper end of that interval.
    pub added_high: f64,
    /// Guest / native, equation 1. Null on counts, where a ratio means nothing (natively an operation is often one
    /// instruction), and if one of the costs cannot be told from zero.
    pub gnr: Option<f64>,
    /// The lower end of the interval of `gnr`.
    pub gnr_low: Option<f64>,
    /// The upper end of that interval.
    pub gnr_high: Option<f64>,
    /// The operator between count and cost in the guest.
    pub operator: Operator,
}

/// A term of equations 4 to 6.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TermCost {
    /// The term.
    pub term: Term,
    /// The component that the term belongs to.
    pub component: Component,
    /// Reason why the term is zero on this platform; null if it is not.
    pub zero: Option<String>,
    /// The benchmarks that measure the term here.
    pub benchmarks: Vec<String>,
    /// The least added cost of one event among the benchmarks; null if none was measured.
    pub least: Option<f64>,
    /// The greatest added cost; null if none was measured.
    pub greatest: Option<f64>,
}

/// Fits the model. `guests` are results of one platform, possibly with several iteration counts or page sizes,
/// `natives` of one native machine.
pub fn fit(
    guests: &[ResultFile],
    natives: &[ResultFile],
    options: &ModelOptions,
) -> Result<Model, ModelError> {
    let guest = one_platform(guests)?;
    let native = one_platform(natives)?;
    let paging = options.paging.or_else(|| Paging::of(guest));
    let paging = paging.ok_or_else(|| ModelError::UnknownPaging(guest.platform.clone()))?;
    check_alike(guests, natives, options)?;
    let (ours, theirs) = (Measurements::of(guests), Measurements::of(natives));
    let pairs: Vec<Pair> = ours
        .rows
        .iter()
        .filter_map(|row| Pair::of(row, &theirs, paging, &options.allow))
        .collect();
    let unit = pairs.first().map(|pair| pair.guest.unit.clone());
    let unit = unit.ok_or_else(|| ModelError::NothingInCommon {
        guest: guest.platform.clone(),
        native: native.platform.clone(),
    })?;
    let kind = UnitKind::of(&unit);
    let mut pairs: Vec<Pair> = pairs
        .into_iter()
        .filter(|pair| pair.guest.unit == unit)
        .collect();
    pairs.sort_by_key(|pair| (pair.place(&ours), pair.guest.page_bytes()));
    let mut replicates = replicates(&pairs, &ours, &theirs);

    // All page sizes to separate T_cons from T_two; the smallest of each benchmark for the model.
    let separation = separate(kind, paging, &all_added(&pairs, &replicates));
    keep_first_of_each(&mut pairs, &mut replicates);
    let mut rows: Vec<RowCost> = pairs
        .iter()
        .enumerate()
        .map(|(index, pair)| pair.cost(kind, index, &replicates, options))
        .collect();
    let mut added_replicates: Vec<Vec<f64>> = replicates
        .iter()
        .map(|draw| draw.iter().map(|(guest, native)| guest - native).collect())
        .collect();
    apart(&separation, &mut rows, &mut added_replicates);
    Ok(Model {
        platform: guest.platform.clone(),
        native: native.platform.clone(),
        notes: notes(guest, kind, paging, &rows),
        terms: terms(paging, &rows),
        unit,
        paging,
        confidence: CONFIDENCE,
        rows,
        separation,
        replicates: added_replicates,
    })
}

/// Checks that every guest's result can be compared with every native one.
fn check_alike(
    guests: &[ResultFile],
    natives: &[ResultFile],
    options: &ModelOptions,
) -> Result<(), ModelError> {
    let pairs = guests
        .iter()
        .flat_map(|g| natives.iter().map(move |n| (g, n)));
    for (guest, native) in pairs {
        let (ours, theirs) = (&guest.identity.conditions, &native.identity.conditions);
        let fields = unlike(ours, theirs, &options.allow);
        if !fields.is_empty() {
            return Err(ModelError::Unlike {
                guest: guest.platform.clone(),
                native: native.platform.clone(),
                fields,
            });
        }
    }
    Ok(())
}

/// Lists the cost that virtualization adds in each pair, with its replicates.
fn all_added<'a>(pairs: &'a [Pair<'a>], replicates: &[Vec<(f64, f64)>]) -> Vec<Added<'a>> {
    let drawn = |index: usize| {
        let differences = replicates.iter().map(|draw| draw[index].0 - draw[index].1);
        differences.collect()
    };
    pairs
        .iter()
        .enumerate()
        .map(|(index, pair)| Added {
            benchmark: pair.guest.benchmark.as_str(),
            page_bytes: pair.guest.page_bytes(),
            added: pair.added(),
            drawn: drawn(index),
        })
        .collect()
}

/// Keeps only the first pair of each benchmark.
fn keep_first_of_each(pairs: &mut Vec<Pair>, replicates: &mut [Vec<(f64, f64)>]) {
    let mut seen = BTreeSet::new();
    let kept: Vec<bool> = pairs
        .iter()
        .map(|pair| seen.insert(pair.guest.benchmark.clone()))
        .collect();
    let mut keep = kept.iter();
    pairs.retain(|_| keep.next().is_some_and(|&kept| kept));
    for draw in replicates {
        let mut keep = kept.iter();
        draw.retain(|_| keep.next().is_some_and(|&kept| kept));
    }
}

fn one_platform(results: &[ResultFile]) -> Result<&ResultFile, ModelError> {
    let first = results.first().ok_or(ModelError::Nothing)?;
    match results
        .iter()
        .find(|other| other.platform != first.platform)
    {
        None => Ok(first),
        Some(other) => Err(ModelError::TwoPlatforms(
            first.platform.clone(),
            other.platform.clone(),
        )),
    }
}

/// A benchmark in the guest, and natively if it was measured there.
struct Pair<'a> {
    guest: &'a Measurement,
    native: Option<&'a Measurement>,
    term: Option<Term>,
}

impl<'a> Pair<'a> {
    /// Pairs a measurement with its native one. `None` if there is none although the benchmark could be measured
    /// natively.
    fn of(
        guest: &'a Measurement,
        natives: &'a Measurements,
        paging: Paging,
        allow: &[String],
    ) -> Option<Self> {
        let like = |native: &&Measurement| {
            native.benchmark == guest.benchmark
                && native.unit == guest.unit
                && unlike(&guest.conditions, &native.conditions, allow).is_empty()
        };
        let native = natives.rows.iter().find(like);
        let term = term_of(&guest.benchmark, &guest.category, paging);
        let in_guests_only = term.is_some() && guests_only(&guest.benchmark);
        (native.is_some() || in_guests_only).then_some(Pair {
            guest,
            native,
            term,
        })
    }

    fn place(&self, guests: &Measurements) -> usize {
        let name = &self.guest.benchmark;
        let at = guests.rows.iter().position(|row| row.benchmark == *name);
        at.unwrap_or(usize::MAX)
    }

    fn values(&self) -> (f64, f64) {
        let native = self.native.and_then(Measurement::value);
        (
            self.guest.value().unwrap_or_default(),
            native.unwrap_or_default(),
        )
    }

    fn added(&self) -> f64 {
        let (guest, native) = self.values();
        guest - native
    }

    /// Returns the costs of a row: on counts with the range over boots, on times with an interval over resampled boots.
    /// Boots agree on counts, so resampling would show nothing.
    fn cost(
        &self,
        kind: UnitKind,
        index: usize,
        replicates: &[Vec<(f64, f64)>],
        options: &ModelOptions,
    ) -> RowCost {
        let (guest, native) = self.values();
        let drawn = |of: &dyn Fn(&(f64, f64)) -> f64| -> Vec<f64> {
            let values = replicates.iter().filter_map(|draw| draw.get(index).map(of));
            values.filter(|value| value.is_finite()).collect()
        };
        let added = guest - native;
        let (added_low, added_high) = match kind {
            UnitKind::Count => self.range(),
            _ => interval(&drawn(&|(guest, native)| guest - native)).unwrap_or((added, added)),
        };
        let ratio = (kind == UnitKind::Time && self.native.is_some() && self.is_above_zero())
            .then(|| guest / native);
        let ratios = ratio.and_then(|_| interval(&drawn(&|(guest, native)| guest / native)));
        let groups: Vec<(u64, Vec<f64>)> = self
            .guest
            .counts
            .iter()
            .map(|(count, boots)| (*count, boots.iter().map(|boot| boot.1).collect()))
            .collect();
        RowCost {
            benchmark: self.guest.benchmark.clone(),
            term: self.term,
            guest,
            native,
            native_measured: self.native.is_some(),
            added,
            added_low,
            added_high,
            gnr: ratio,
            gnr_low: ratios.map(|ratios| ratios.0),
            gnr_high: ratios.map(|ratios| ratios.1),
            operator: operator(kind, &groups, &options.thresholds),
        }
    }

    fn is_above_zero(&self) -> bool {
        let boots = self.native.iter().flat_map(|native| native.reference());
        let mut all = self.guest.reference().iter().chain(boots);
        all.all(|boot| boot.1 > 0.0)
    }

    /// Range of the added cost on counts: from min(guest) - max(native) to max(guest) - min(native), over all boots.
    fn range(&self) -> (f64, f64) {
        let ends = |measurement: Option<&Measurement>| {
            let boots = measurement.map(|m| m.reference()).unwrap_or_default();
            let perturbed = measurement.map(|m| &*m.perturbed).unwrap_or_default();
            let all = boots.iter().map(|boot| &boot.1).chain(perturbed).copied();
            let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
            all.for_each(|cost| (low, high) = (low.min(cost), high.max(cost)));
            if low <= high { (low, high) } else { (0.0, 0.0) }
        };
        let ((low, high), (native_low, native_high)) = (ends(Some(self.guest)), ends(self.native));
        (low - native_high, high - native_low)
    }
}

/// Resamples the boots; returns the rows' values (guest, native) of each draw. Whole boots are drawn, to keep what all
/// rows of a boot have in common.
fn replicates(
    pairs: &[Pair],
    guests: &Measurements,
    natives: &Measurements,
) -> Vec<Vec<(f64, f64)>> {
    let mut rng = Rng::with_seed(SEED);
    let mut draw = |boots: &[Vec<BootKey>]| -> BTreeMap<BootKey, usize> {
        let mut times = BTreeMap::new();
        for of_result in boots {
            for _ in of_result {
                *times
                    .entry(of_result[rng.usize(0..of_result.len())])
                    .or_insert(0) += 1;
            }
        }
        times
    };
    let value = |measurement: &Measurement, times: &BTreeMap<BootKey, usize>| {
        let boots = measurement.reference().iter();
        let drawn: Vec<f64> = boots
            .flat_map(|(key, cost)| {
                std::iter::repeat_n(*cost, times.get(key).copied().unwrap_or(0))
            })
            .collect();
        // A resample can miss all boots of a row that few boots have.
        median(&drawn)
            .or_else(|| measurement.value())
            .unwrap_or_default()
    };
    (0..REPLICATES)
        .map(|_| {
            let (ours, theirs) = (draw(&guests.boots), draw(&natives.boots));
            let row = |pair: &Pair| {
                let native = pair.native.map_or(0.0, |native| value(native, &theirs));
                (value(pair.guest, &ours), native)
            };
            pairs.iter().map(row).collect()
        })
        .collect()
}

/// Returns the interval of resampled values at [`CONFIDENCE`].
pub(super) fn interval(drawn: &[f64]) -> Option<(f64, f64)> {
    let drawn = sorted(drawn);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    Some((quantile(&drawn, tail)?, quantile(&drawn, 1.0 - tail)?))
}

/// Subtracts a hot access from a cold one, if T_cons and T_two could be separated: the rest is an event of T_cons.
fn apart(separation: &Separation, rows: &mut [RowCost], replicates: &mut [Vec<f64>]) {
    if separation.pages.is_empty() {
        return;
    }
    let place = |name: &str| rows.iter().position(|row| row.benchmark == name);
    let (Some(cold), Some(hot)) = (place("cold-memory-access"), place("hot-memory-access")) else {
        return;
    };
    for draw in &mut *replicates {
        draw[cold] -= draw[hot];
    }
    let added: Vec<f64> = replicates.iter().map(|draw| draw[cold]).collect();
    rows[cold].added -= rows[hot].added;
    if let Some((low, high)) = interval(&added) {
        (rows[cold].added_low, rows[cold].added_high) = (low, high);
    }
}

fn terms(paging: Paging, rows: &[RowCost]) -> Vec<TermCost> {
    let of = |term: Term| {
        let zero = term.absent(paging).map(str::to_owned);
        let rows = rows.iter().filter(|row| row.term == Some(term));
        let rows: Vec<&RowCost> = rows.filter(|_| zero.is_none()).collect();
        TermCost {
            term,
            component: term.component(),
            benchmarks: rows.iter().map(|row| row.benchmark.clone()).collect(),
            least: rows.iter().map(|row| row.added).reduce(f64::min),
            greatest: rows.iter().map(|row| row.added).reduce(f64::max),
            zero,
        }
    };
    TERMS.into_iter().map(of).collect()
}

fn notes(guest: &ResultFile, kind: UnitKind, paging: Paging, rows: &[RowCost]) -> Vec<String> {
    let mut notes = Vec::new();
    if kind == UnitKind::Count {
        notes.push(
            "counted in instructions: a trap itself costs nothing here, only its handler does. Costs are means, because a workload has the rare expensive operations too"
                .into(),
        );
        if paging == Paging::Nested {
            notes.push(
                "in the lab nested page walks cost nothing: T_two is 0 because a walk executes no instruction; on hardware a walk takes time"
                    .into(),
            );
        }
    }
    notes.extend(guest.caveat().map(str::to_owned));
    if rows.iter().any(|row| !row.native_measured) {
        notes.push(
            "a hypercall and a virtual device's notification do not occur natively: their whole cost counts as added"
                .into(),
        );
    }
    notes
}
