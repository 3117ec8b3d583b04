//! Fits a few prices to many totals: least absolute deviations, with prices of at least 0. Unlike least squares, one wild
//! total does not move the fit, unless its counts are wild too.
//!
//! The fit is exact. Among the best fits one meets as many equations as there are prices, where "this price is 0" is an
//! equation too (Bloomfield and Steiger, "Least Absolute Deviations", 1983, section 1.3). All such fits are tried,
//! which is quick for few prices.

/// The prices with the least sum of `|counts * prices - total|`. A count that is 0 everywhere has the price 0.
pub fn least_deviations<const N: usize>(totals: &[([f64; N], f64)]) -> [f64; N] {
    let zero = |price: usize| {
        let mut counts = [0.0; N];
        counts[price] = 1.0;
        (counts, 0.0)
    };
    let equations: Vec<([f64; N], f64)> = totals
        .iter()
        .copied()
        .chain((0..N).map(zero))
        .filter(|(counts, total)| {
            counts
                .iter()
                .chain([total])
                .all(|number| number.is_finite())
        })
        .collect();
    let mut best = ([0.0; N], f64::INFINITY);
    let mut chosen: [usize; N] = std::array::from_fn(|place| place);
    loop {
        let prices = solve(chosen.map(|equation| equations[equation]));
        if let Some(prices) = prices.filter(|prices| prices.iter().all(|price| *price >= 0.0)) {
            let deviations = totals
                .iter()
                .map(|(counts, total)| (product(counts, &prices) - total).abs());
            let sum = deviations.filter(|one| one.is_finite()).sum();
            if sum < best.1 {
                best = (prices, sum);
            }
        }
        if !next(&mut chosen, equations.len()) {
            return best.0;
        }
    }
}

fn product<const N: usize>(counts: &[f64; N], prices: &[f64; N]) -> f64 {
    counts
        .iter()
        .zip(prices)
        .map(|(count, price)| count * price)
        .sum()
}

/// Advances to the next choice of N out of `of`, in ascending order; false after the last.
fn next<const N: usize>(chosen: &mut [usize; N], of: usize) -> bool {
    let Some(moved) = (0..N).rev().find(|place| chosen[*place] < of - N + place) else {
        return false;
    };
    let first = chosen[moved] + 1;
    for (after, place) in (moved..N).enumerate() {
        chosen[place] = first + after;
    }
    true
}

/// Solves the equations by Gaussian elimination; `None` without a unique solution.
fn solve<const N: usize>(mut equations: [([f64; N], f64); N]) -> Option<[f64; N]> {
    // Scaled, as counts differ in size: a kick is a few, its bytes are thousands.
    for (counts, total) in &mut equations {
        let greatest = counts
            .iter()
            .fold(0.0, |most: f64, count| most.max(count.abs()));
        if greatest == 0.0 {
            return None;
        }
        counts.iter_mut().for_each(|count| *count /= greatest);
        *total /= greatest;
    }
    for column in 0..N {
        let size = |row: &usize| equations[*row].0[column].abs();
        let pivot = (column..N).max_by(|a, b| size(a).total_cmp(&size(b)))?;
        equations.swap(column, pivot);
        let (counts, total) = equations[column];
        if counts[column].abs() < 1e-9 {
            return None;
        }
        for (row, equation) in equations.iter_mut().enumerate() {
            if row != column {
                let times = equation.0[column] / counts[column];
                for (left, right) in equation.0.iter_mut().zip(&counts) {
                    *left -= times * right;
                }
                equation.1 -= times * total;
            }
        }
    }
    // Rounding may leave a price of 0 a little below 0.
    let price = |row: usize| equations[row].1 / equations[row].0[row];
    Some(std::array::from_fn(|row| match price(row) {
        price if price.abs() < 1e-9 => 0.0,
        price => price,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near<const N: usize>(prices: [f64; N], wanted: [f64; N]) {
        let near = |(price, wanted): (&f64, &f64)| (price - wanted).abs() <= 1e-6 * wanted.max(1.0);
        assert!(
            prices.iter().zip(&wanted).all(near),
            "{prices:?}, not {wanted:?}"
        );
    }

    #[test]
    fn one_price_is_the_median_of_what_each_total_has() {
        let totals = [[1.0], [1.0], [1.0]];
        let totals: Vec<_> = totals.into_iter().zip([3.0, 1.0, 700.0]).collect();
        near(least_deviations(&totals), [3.0]);
        near(least_deviations::<1>(&[]), [0.0]);
    }

    #[test]
    fn exact_totals_give_their_prices_whatever_one_of_them_is() {
        let total = |kicks: f64, kib: f64| ([kicks, kib], 30.0 * kicks + 2.0 * kib);
        let mut totals = vec![
            total(1.0, 0.0),
            total(2.0, 40.0),
            total(13.0, 1024.0),
            total(5.0, 9.0),
        ];
        near(least_deviations(&totals), [30.0, 2.0]);
        totals.push(([2.0, 9.0], 9_000.0));
        near(least_deviations(&totals), [30.0, 2.0]);
    }

    #[test]
    fn no_price_is_below_0() {
        // Without the bound the second would be -5.
        near(
            least_deviations(&[([1.0, 0.0], 10.0), ([1.0, 1.0], 5.0), ([1.0, 0.0], 10.0)]),
            [10.0, 0.0],
        );
        near(least_deviations(&[([1.0], -4.0)]), [0.0]);
    }

    #[test]
    fn a_price_without_counts_is_0() {
        near(
            least_deviations(&[([2.0, 0.0], 8.0), ([1.0, 0.0], 4.0)]),
            [4.0, 0.0],
        );
        near(
            least_deviations(&[([f64::NAN, 1.0], 8.0), ([1.0, 0.0], 4.0)]),
            [4.0, 0.0],
        );
    }

    #[test]
    fn all_choices_are_tried_once() {
        let (mut chosen, mut count) = ([0, 1, 2], 1);
        while next(&mut chosen, 6) {
            assert!(chosen[0] < chosen[1] && chosen[1] < chosen[2] && chosen[2] < 6);
            count += 1;
        }
        assert_eq!((count, chosen), (20, [3, 4, 5]));
    }

    proptest! {
        #[test]
        fn no_other_prices_deviate_less(
            totals in prop::collection::vec(([0.0..9.0, 0.0..900.0], 0.0..1e4), 0..7),
            others in [0.0..1e4, 0.0..1e3],
        ) {
            let sum = |prices: &[f64; 2]| -> f64 {
                totals.iter().map(|(counts, total)| (product(counts, prices) - total).abs()).sum()
            };
            let best = least_deviations(&totals);
            prop_assert!(best.iter().all(|price| *price >= 0.0));
            prop_assert!(sum(&best) <= sum(&others) * (1.0 + 1e-9) + 1e-6);
        }
    }
}
