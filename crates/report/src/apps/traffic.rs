//! Prices of a workload's network traffic in a VM. Its packets pass vhost, a bridge and a second network stack, which
//! is no work of an exit. The prices are fitted to the instructions that exits leave unexplained in some workloads, and
//! used for others.

use super::predicted::Predicted;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use ws_statistics::{least_deviations, median};

/// The traffic of workloads, by the digest of their work: bytes of data that a unit sends, without headers, as the
/// workload's file states them.
pub type Traffics = BTreeMap<String, u64>;

/// Prices in instructions. A price is absent if no workload of the fit has such traffic.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TrafficPrices {
    /// Price of a kick beside its exit.
    pub kick: Option<f64>,
    /// Price of 1024 bytes of data.
    pub kib: Option<f64>,
}

impl TrafficPrices {
    /// Fits prices to predictions whose T_virt is known. Each counts by its relative error.
    fn of<'a>(known: impl Iterator<Item = &'a Predicted>) -> Self {
        let relative = |one: &Predicted| {
            let virt = one.virt.filter(|_| one.virt_error.is_some())?;
            let unexplained = virt - one.exits_cost?;
            let counts = counts(one).map(|count| count / virt);
            Some((counts, unexplained / virt))
        };
        let totals: Vec<_> = known.filter_map(relative).collect();
        let prices = least_deviations(&totals);
        let [kick, kib] = std::array::from_fn(|at| {
            let is_known = totals.iter().any(|(counts, _)| counts[at] > 0.0);
            is_known.then_some(prices[at])
        });
        Self { kick, kib }
    }

    /// Returns the cost of a unit's traffic; `None` if some of the traffic has no price.
    fn cost(&self, one: &Predicted) -> Option<f64> {
        let prices = [self.kick, self.kib];
        let costs = counts(one).into_iter().zip(prices);
        costs
            .map(|(count, price)| match count > 0.0 {
                true => Some(count * price?),
                false => Some(0.0),
            })
            .sum()
    }

    /// Returns T_virt as predicted with these prices, and its error if T_virt is known.
    fn predict(&self, one: &Predicted) -> (Option<f64>, Option<f64>) {
        let predicted = one
            .exits_cost
            .and_then(|exits| Some(exits + self.cost(one)?));
        let virt = one.virt.filter(|_| one.virt_error.is_some());
        let error = predicted
            .zip(virt)
            .map(|(predicted, virt)| predicted / virt - 1.0);
        (predicted, error)
    }
}

/// Returns the traffic of a unit that has a price: kicks and KiB.
fn counts(one: &Predicted) -> [f64; 2] {
    [one.kicks, one.kib]
}

/// Adds predictions with prices that are fitted to the other half of the workloads on the same architecture. The halves
/// are every second workload in their order. So no workload is judged by prices that were fitted to it.
pub(super) fn add(all: &mut [Predicted], order: &[&str]) {
    let half = |one: &Predicted| {
        let place = order.iter().position(|name| *name == one.workload);
        place.unwrap_or(0) % 2
    };
    let mut prices = BTreeMap::new();
    for architecture in architectures(all) {
        for judged in 0..2 {
            let others = all
                .iter()
                .filter(|one| one.architecture == architecture && half(one) != judged);
            prices.insert((architecture.clone(), judged), TrafficPrices::of(others));
        }
    }
    for one in all {
        let of_others = prices.get(&(one.architecture.clone(), half(one))).copied();
        let (predicted, error) = of_others.map_or((None, None), |prices| prices.predict(one));
        one.prices = of_others;
        one.with_traffic = predicted;
        one.with_traffic_error = error;
    }
}

/// Returns the median error without signs if prices for each workload come from all others on its architecture.
pub(super) fn error_by_all_others(all: &[Predicted]) -> Option<f64> {
    let mut prices = BTreeMap::new();
    let mut errors = Vec::new();
    for one in all {
        let key = (&one.architecture, &one.workload);
        let prices = prices.entry(key).or_insert_with(|| {
            let others = all.iter().filter(|other| {
                other.architecture == one.architecture && other.workload != one.workload
            });
            TrafficPrices::of(others)
        });
        errors.extend(prices.predict(one).1.map(f64::abs));
    }
    median(&errors)
}

/// The architectures of these platforms.
pub(super) fn architectures(all: &[Predicted]) -> BTreeSet<Option<String>> {
    all.iter().map(|one| one.architecture.clone()).collect()
}
