//! An axis of a plot: the range of its values, the place of a value, and its ticks.

use crate::number;

/// Reach of an axis. Values beyond it are left out, and a logarithmic axis starts no lower than its inverse, so that an
/// axis has at most 40 decades.
const REACH: f64 = 1e20;

/// Most ticks of a linear axis; the labels of more would touch each other.
const TICKS: f64 = 6.0;

/// A linear axis spans at least this share of its greatest value, so that a difference of 1 % does not fill it.
const LEAST_SPAN: f64 = 0.2;

/// Most whole decades of a logarithmic axis of bars.
const DECADES: f64 = 5.0;

/// An axis from its first value to its last, linear or logarithmic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    from: f64,
    to: f64,
    log: bool,
}

impl Axis {
    /// An axis that covers all finite values. It is logarithmic where they are far apart and none is zero or
    /// less, unless the axis must begin at zero, as that of bars must.
    pub(crate) fn over(values: &[f64], from_zero: bool) -> Self {
        let in_reach = |value: &f64| value.abs() <= REACH;
        let finite = || values.iter().copied().filter(in_reach);
        let least = finite().fold(f64::INFINITY, f64::min);
        let greatest = finite().fold(f64::NEG_INFINITY, f64::max);
        if least > greatest {
            return Self::linear(0.0, 1.0);
        }
        if !from_zero && least >= 1.0 / REACH && greatest / least > 20.0 {
            return Self {
                from: least / 1.3,
                to: greatest * 1.3,
                log: true,
            };
        }
        let least = if from_zero { least.min(0.0) } else { least };
        let span = greatest - least;
        let least_span = LEAST_SPAN * greatest.abs().max(least.abs());
        let margin = match (span * 0.05).max((least_span - span) / 2.0) {
            0.0 => LEAST_SPAN / 2.0,
            margin => margin,
        };
        let from = if from_zero && least == 0.0 {
            0.0
        } else {
            least - margin
        };
        Self::linear(from, greatest + margin)
    }

    /// Makes a logarithmic axis for bars of these values. It begins a decade below the least, so that bars that differ
    /// little have about the same length. It has at most [`DECADES`]; smaller values have no length.
    pub(crate) fn of_log_bars(values: &[f64]) -> Self {
        let in_reach = |value: &f64| (1.0 / REACH..=REACH).contains(value);
        let drawn = || values.iter().copied().filter(in_reach);
        let least = drawn().fold(f64::INFINITY, f64::min);
        let greatest = drawn().fold(0.0, f64::max);
        if least > greatest {
            return Self::linear(0.0, 1.0);
        }
        let decade = |value: f64| value.log10().floor();
        let first = (decade(least) - 1.0).max(decade(greatest) - DECADES);
        Self {
            // Beside a cost above 10, a cost below 1 has no length.
            from: 10f64.powf(if greatest > 10.0 {
                first.max(0.0)
            } else {
                first
            }),
            to: greatest,
            log: true,
        }
    }

    /// A linear axis; `from` is less than `to`.
    pub(crate) fn linear(from: f64, to: f64) -> Self {
        Self {
            from,
            to,
            log: false,
        }
    }

    /// Whether the axis is logarithmic.
    pub(crate) fn is_log(&self) -> bool {
        self.log
    }

    /// Returns the kind of the axis in words.
    pub(crate) fn kind(&self) -> &'static str {
        if self.log { "log axis" } else { "linear axis" }
    }

    /// Returns the place of a value between two pixels, those of the axis' first and last value. A value outside the
    /// axis is put at its nearer end, NaN at its first.
    pub(crate) fn place(&self, value: f64, first: u32, last: u32) -> i32 {
        let value = if value.is_nan() {
            self.from
        } else {
            value.clamp(self.from, self.to)
        };
        let share = if self.log {
            (value / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        let (first, last) = (f64::from(first), f64::from(last));
        (first + share * (last - first)).round() as i32
    }

    /// The values that get a tick, ascending.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        if self.log {
            self.log_ticks()
        } else {
            self.linear_ticks()
        }
    }

    /// Multiples of 1, 2 or 5 times a power of ten.
    fn linear_ticks(&self) -> Vec<f64> {
        let least_step = (self.to - self.from) / TICKS;
        let power = 10f64.powf(least_step.log10().floor());
        let factor = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .find(|factor| factor * power >= least_step);
        let step = factor.unwrap_or(10.0) * power;
        // Near the smallest numbers of f64 there is no such step.
        if !step.is_normal() {
            return Vec::new();
        }
        let first = (self.from / step).ceil();
        let mut ticks: Vec<f64> = (0..=TICKS as u32)
            .map(|index| (first + f64::from(index)) * step)
            .filter(|tick| *tick <= self.to)
            .collect();
        // A step may be less than f64's distance between two numbers of this size.
        ticks.dedup();
        ticks
    }

    /// Powers of ten: not all of them if there are many, and also 2 and 5 times them if there are few.
    fn log_ticks(&self) -> Vec<f64> {
        let first = self.from.log10().ceil() as i32;
        let last = self.to.log10().floor() as i32;
        if last - first < 2 {
            let decades = (first - 1)..=last;
            return decades
                .flat_map(|decade| [1.0, 2.0, 5.0].map(|factor| factor * 10f64.powi(decade)))
                .filter(|tick| (self.from..=self.to).contains(tick))
                .collect();
        }
        let stride = 1 + (last - first) as usize / TICKS as usize;
        (first..=last)
            .step_by(stride)
            .map(|decade| 10f64.powi(decade))
            .collect()
    }
}

/// A tick's label: thousands, millions and billions by a letter.
pub(crate) fn label(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude > 0.0 && magnitude < 1e-3 {
        return scientific(value);
    }
    let (scaled, suffix) = match magnitude {
        m if m >= 1e15 => return scientific(value),
        m if m >= 1e9 => (value / 1e9, "G"),
        m if m >= 1e6 => (value / 1e6, "M"),
        m if m >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    // Ticks are multiples of a step; six digits drop what floating point added to them.
    let text = format!("{:.6}", (scaled * 1e6).round() / 1e6);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let text = if text == "-0" { "0" } else { text };
    match text.contains('.') || !suffix.is_empty() {
        true => format!("{text}{suffix}"),
        false => number::value(scaled, "count"),
    }
}

fn scientific(value: f64) -> String {
    format!("{value:.1e}").replace(".0e", "e")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_far_apart_get_a_logarithmic_axis_unless_one_is_zero() {
        assert!(Axis::over(&[1.0, 3022.0], false).is_log());
        assert!(!Axis::over(&[0.0, 3022.0], false).is_log());
        assert!(!Axis::over(&[100.0, 110.0], false).is_log());
        assert!(!Axis::over(&[1.0, 3022.0], true).is_log());
    }

    #[test]
    fn a_difference_of_one_percent_does_not_fill_an_axis() {
        let axis = Axis::over(&[3032.0, 3062.0], false);
        let apart = axis.place(3062.0, 0, 1000) - axis.place(3032.0, 0, 1000);
        assert!((40..=60).contains(&apart), "{apart}");
        let axis = Axis::of_log_bars(&[3032.0, 3062.0, 0.0]);
        let lengths = [0.0, 300.0, 3032.0, 3062.0].map(|value| axis.place(value, 0, 1000));
        assert_eq!((lengths[0], lengths[3]), (0, 1000));
        assert!(lengths[1] > 250 && lengths[2] > 990, "{lengths:?}");
    }

    #[test]
    fn ticks_are_round_numbers() {
        let ticks = |from, to| Axis::linear(from, to).ticks();
        assert_eq!(ticks(0.0, 10.0), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks(-3.1, 24.0), [0.0, 5.0, 10.0, 15.0, 20.0]);
        assert_eq!(ticks(99.0, 101.5), [99.0, 99.5, 100.0, 100.5, 101.0, 101.5]);
        let log = |least, greatest| Axis::over(&[least, greatest], false).ticks();
        assert_eq!(log(2.0, 60.0), [2.0, 5.0, 10.0, 20.0, 50.0]);
        assert_eq!(log(1.0, 3022.0), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(log(1.0, 1e12), [1.0, 1e3, 1e6, 1e9, 1e12]);
    }

    #[test]
    fn places_lie_between_the_ends() {
        let axis = Axis::over(&[1.0, 100.0], false);
        let place = |value| axis.place(value, 200, 700);
        assert!(200 < place(1.0) && place(1.0) < place(10.0) && place(100.0) < 700);
        assert_eq!((place(10.0), place(f64::NAN)), (450, 200));
        assert_eq!((place(0.0), place(f64::INFINITY)), (200, 700));
    }

    #[test]
    fn labels_are_short() {
        let labels = [
            0.0,
            0.1 + 0.2,
            1500.0,
            20_000.0,
            3e6,
            1.5e9,
            -2e4,
            1e-7,
            1e18,
        ]
        .map(label);
        assert_eq!(
            labels,
            [
                "0", "0.3", "1,500", "20k", "3M", "1.5G", "-20k", "1e-7", "1e18"
            ]
        );
    }

    fn has_an_axis(values: &[f64], from_zero: bool) {
        for axis in [Axis::over(values, from_zero), Axis::of_log_bars(values)] {
            is_an_axis(&axis, values);
        }
    }

    fn is_an_axis(axis: &Axis, values: &[f64]) {
        let ticks = axis.ticks();
        assert!(
            ticks.len() <= 10 && ticks.is_sorted(),
            "{values:?}: {ticks:?}"
        );
        for value in values.iter().chain(&ticks) {
            let place = axis.place(*value, 20, 120);
            assert!(
                (20..=120).contains(&place),
                "{values:?}: {value} at {place}"
            );
        }
    }

    #[test]
    fn any_values_have_an_axis() {
        for values in [
            &[][..],
            &[0.0],
            &[5.0, 5.0],
            &[-3.0, 2.0],
            &[f64::NAN, 1.0],
            &[1e-12, 1e18],
            &[f64::INFINITY],
            &[f64::MAX, 1.0],
            &[5e-324, 1.0],
            &[1e-310, 1e-305],
            &[1e-300, 1e20],
            &[1e-310, 1.5e-310],
            &[1e20, 1e20 - 16384.0],
        ] {
            has_an_axis(values, false);
            has_an_axis(values, true);
        }
    }

    proptest! {
        #[test]
        fn any_numbers_have_an_axis(values in proptest::collection::vec(any::<f64>(), 0..6), from_zero: bool) {
            has_an_axis(&values, from_zero);
        }

        /// Costs as a result file can hold them, and values that differ in their last digit.
        #[test]
        fn any_costs_have_an_axis(
            ticks in proptest::collection::vec(any::<(u64, u64, u64)>(), 1..4), near in any::<u64>(),
        ) {
            let cost = |(run, control, n): &(u64, u64, u64)| (*run as f64 - *control as f64) / (*n as f64 + 1.0);
            let far: Vec<f64> = ticks.iter().map(cost).collect();
            let close = [near as f64, near as f64 * (1.0 + f64::EPSILON), near as f64 + 1.0];
            for values in [far.as_slice(), &close, &close.map(|v| v / 1e38)] {
                has_an_axis(values, false);
            }
        }
    }
}
