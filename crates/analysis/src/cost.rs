//! The exact cost of one operation.
//!
//! HyperBench (SIGMETRICS 2019), section 5.2: the control loop's time is subtracted from the
//! batch's, and the difference is divided by the operations in the batch. The quotient is kept as a
//! fraction: instruction counts are exact, so their histogram must be exact too.

use std::cmp::Ordering;
use std::fmt;
use ws_results::Samples;

/// Ticks for one operation, a fraction in lowest terms. Negative if, by noise, the control loop took
/// longer than the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cost {
    negative: bool,
    ticks: u64,
    operations: u64,
}

impl Cost {
    /// Computes `(run - control) / iterations`; `None` for 0 iterations.
    pub fn new(run: u64, control: u64, iterations: u64) -> Option<Self> {
        if iterations == 0 {
            return None;
        }
        let ticks = run.abs_diff(control);
        let divisor = gcd(ticks, iterations);
        Some(Cost {
            negative: run < control,
            ticks: ticks / divisor,
            operations: iterations / divisor,
        })
    }

    /// Returns the nearest floating-point number.
    pub fn value(self) -> f64 {
        let magnitude = self.ticks as f64 / self.operations as f64;
        if self.negative { -magnitude } else { magnitude }
    }

    /// Whether the cost is a whole number of ticks.
    pub fn is_whole(self) -> bool {
        self.operations == 1
    }
}

impl Ord for Cost {
    fn cmp(&self, other: &Self) -> Ordering {
        // Cross products of 64-bit numbers fit in 128 bits, so nothing is rounded.
        let left = u128::from(self.ticks) * u128::from(other.operations);
        let right = u128::from(other.ticks) * u128::from(self.operations);
        match (self.negative, other.negative) {
            (false, false) => left.cmp(&right),
            (true, true) => right.cmp(&left),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Cost {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// `14`, `-3`, or `27/2`.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.negative { "-" } else { "" };
        write!(f, "{sign}{}", self.ticks)?;
        if self.operations != 1 {
            write!(f, "/{}", self.operations)?;
        }
        Ok(())
    }
}

/// The costs of a boot's samples, in their order. Samples without a control sample and batches without
/// operations are skipped; reading a result file refuses both.
pub fn costs(samples: &Samples) -> Vec<Cost> {
    let pairs = samples.run.iter().zip(&samples.control);
    pairs
        .filter_map(|(&run, &control)| Cost::new(run, control, samples.iterations))
        .collect()
}

/// The costs of a boot's batches, in ticks, in their order.
pub(crate) fn batches(samples: &Samples) -> Vec<f64> {
    let pairs = samples.run.iter().zip(&samples.control);
    pairs
        .filter_map(|(&run, &control)| Some(Cost::new(run, control, 1)?.value()))
        .collect()
}

/// Greatest common divisor by Euclid's algorithm; `a` for `b == 0`.
fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cost(run: u64, control: u64, iterations: u64) -> Cost {
        Cost::new(run, control, iterations).unwrap()
    }

    #[test]
    fn known_costs() {
        assert_eq!(cost(17_010, 3_010, 1000).to_string(), "14");
        assert_eq!(cost(30, 3, 2).to_string(), "27/2");
        assert_eq!(cost(1, 7, 2).to_string(), "-3");
        assert_eq!(cost(5, 5, 9).to_string(), "0");
        assert_eq!(cost(u64::MAX, 0, 1).to_string(), "18446744073709551615");
        assert_eq!(Cost::new(1, 0, 0), None);
        assert!(cost(4, 2, 2).is_whole() && !cost(4, 1, 2).is_whole());
    }

    #[test]
    fn order_is_exact_where_floating_point_is_not() {
        let (a, b) = (cost(u64::MAX, 0, 1), cost(u64::MAX - 1, 0, 1));
        assert_eq!(a.value(), b.value());
        assert!(a > b);
    }

    proptest! {
        #[test]
        fn order_is_that_of_the_values(
            a in (0..50u64, 0..50u64, 1..20u64), b in (0..50u64, 0..50u64, 1..20u64),
        ) {
            let (a, b) = (cost(a.0, a.1, a.2), cost(b.0, b.1, b.2));
            prop_assert_eq!(Some(a.cmp(&b)), a.value().partial_cmp(&b.value()));
            prop_assert_eq!(a == b, a.cmp(&b) == Ordering::Equal);
        }
    }
}
