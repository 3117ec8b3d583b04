//! Collects each benchmark's cost by iterations and boot from all results of one platform.

use crate::boot::BootEstimate;
use crate::statistics::median;
use crate::summary::Summary;
use crate::unit::UnitKind;
use std::collections::BTreeMap;
use ws_results::{ResultFile, Row};

/// A boot of one of several results: the result's index and the boot's number.
pub(super) type BootKey = (usize, u32);

/// A row over all results of one platform: the same benchmark under the same conditions.
pub(super) struct Measurement {
    pub benchmark: String,
    pub category: String,
    pub conditions: BTreeMap<String, serde_json::Value>,
    pub unit: String,
    /// Each boot's cost of one operation, by iterations.
    pub counts: BTreeMap<u64, Vec<(BootKey, f64)>>,
    /// Costs of perturbed boots.
    pub perturbed: Vec<f64>,
}

impl Measurement {
    pub fn page_bytes(&self) -> Option<u64> {
        self.conditions
            .get("page_bytes")
            .and_then(|bytes| bytes.as_u64())
    }

    /// Returns the boots with the greatest iteration count, where the overhead of a batch matters least. If the guest
    /// chose its own counts, boots can differ by a factor of two; then a count needs half as many boots as the most
    /// frequent count has.
    pub fn reference(&self) -> &[(BootKey, f64)] {
        let most = self.counts.values().map(Vec::len).max().unwrap_or(0);
        let enough = |boots: &&Vec<(BootKey, f64)>| 2 * boots.len() >= most;
        let boots = self.counts.values().rev().find(enough);
        boots.map_or(&[], |boots| boots)
    }

    pub fn value(&self) -> Option<f64> {
        median(
            &self
                .reference()
                .iter()
                .map(|boot| boot.1)
                .collect::<Vec<_>>(),
        )
    }
}

pub(super) struct Measurements {
    pub rows: Vec<Measurement>,
    /// All boots that are not perturbed, by result.
    pub boots: Vec<Vec<BootKey>>,
}

impl Measurements {
    pub fn of(results: &[ResultFile]) -> Self {
        let mut rows: Vec<Measurement> = Vec::new();
        let mut boots = Vec::new();
        for (index, result) in results.iter().enumerate() {
            let perturbed = result.perturbed();
            let own = result.boots.iter().filter(|b| !perturbed.contains(b.boot));
            boots.push(own.map(|boot| (index, boot.boot)).collect());
            for row in &result.rows {
                let Some(summary) = Summary::cost(row, &perturbed) else {
                    continue;
                };
                let into = Self::place(&mut rows, row, &summary.unit);
                let cost = |boot| cost(boot, UnitKind::of(&summary.unit));
                into.perturbed
                    .extend(summary.perturbed.iter().filter_map(cost));
                for boot in &summary.boots {
                    let of_count = into.counts.entry(boot.iterations).or_default();
                    of_count.extend(cost(boot).map(|cost| ((index, boot.boot), cost)));
                }
            }
        }
        rows.retain(|row| row.counts.values().any(|boots| !boots.is_empty()));
        Measurements { rows, boots }
    }

    fn place<'a>(rows: &'a mut Vec<Measurement>, row: &Row, unit: &str) -> &'a mut Measurement {
        let same = |m: &Measurement| {
            m.benchmark == row.benchmark && m.conditions == row.conditions && m.unit == unit
        };
        let at = rows.iter().position(same).unwrap_or(rows.len());
        if at == rows.len() {
            rows.push(Measurement {
                benchmark: row.benchmark.clone(),
                category: row.category.clone(),
                conditions: row.conditions.clone(),
                unit: unit.to_owned(),
                counts: BTreeMap::new(),
                perturbed: Vec::new(),
            });
        }
        &mut rows[at]
    }
}

/// Returns a boot's cost of one operation, for sums of many. On counts the cost is the mean, because a sum is made of
/// all operations and not of the most frequent one. On time the cost is the median of the batches, each of which is a
/// mean of its operations: a busy host does not move the median.
fn cost(boot: &BootEstimate, kind: UnitKind) -> Option<f64> {
    match kind {
        UnitKind::Count => Some(boot.mean),
        UnitKind::Time => Some(boot.value),
        UnitKind::Rate | UnitKind::Unknown => None,
    }
}
