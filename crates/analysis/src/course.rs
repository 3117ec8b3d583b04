//! The course of a suite: the common movement of all its rows from boot to boot. A host is fast or slow for all rows at
//! once: on a cloud machine the median row moves by a few percent within seconds, and all rows with it. Subtracting the
//! course shows a row's own shift far more precisely.
//!
//! All values are logarithms, relative to the middle of their row.

use crate::statistics::{deviation, median};
use crate::times::TimeRow;
use std::collections::{BTreeMap, BTreeSet};

/// The least number of other rows for a course.
const OTHERS: usize = 5;

/// Values of one side by boot number.
pub(crate) type Boots = BTreeMap<u32, f64>;

/// Both sides of a row or of the course.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sides {
    pub base: Boots,
    pub other: Boots,
}

impl Sides {
    /// Takes the values of a row. `None` if a side has no boots.
    pub fn of(row: &TimeRow) -> Option<Self> {
        let logs = |side: &[(u32, f64)]| -> Boots {
            side.iter()
                .map(|&(boot, value)| (boot, value.ln()))
                .collect()
        };
        let sides = Sides {
            base: logs(&row.base),
            other: logs(&row.other),
        };
        if sides.base.is_empty() || sides.other.is_empty() {
            return None;
        }
        let (base, other) = sides.values();
        let middle = median(&[base, other].concat())?;
        sides.map(|_, _, value| Some(value - middle))
    }

    /// The values of both sides.
    pub fn values(&self) -> (Vec<f64>, Vec<f64>) {
        let of = |side: &Boots| side.values().copied().collect();
        (of(&self.base), of(&self.other))
    }

    /// The scatter of the boots, of the side that scatters more: deviation / median, as `show` reports.
    pub fn scatter(&self) -> f64 {
        let of = |side: &Boots| {
            let values: Vec<f64> = side.values().map(|log| log.exp()).collect();
            let deviation = deviation(&values).zip(median(&values));
            deviation.map_or(0.0, |(deviation, median)| deviation / median)
        };
        of(&self.base).max(of(&self.other))
    }

    /// Whether all values of one side are above all values of the other.
    pub fn are_disjoint(&self) -> bool {
        let (base, other) = self.values();
        let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        greatest(&base) < least(&other) || greatest(&other) < least(&base)
    }

    /// Maps each value; `None` if `change` returns `None` for any.
    fn map(&self, change: impl Fn(bool, u32, f64) -> Option<f64>) -> Option<Self> {
        let side = |is_other: bool, boots: &Boots| -> Option<Boots> {
            let boots = boots.iter();
            boots
                .map(|(&boot, &value)| Some((boot, change(is_other, boot, value)?)))
                .collect()
        };
        Some(Sides {
            base: side(false, &self.base)?,
            other: side(true, &self.other)?,
        })
    }
}

/// The values of all rows at each boot of each side, in ascending order.
pub(crate) struct Course {
    at: [BTreeMap<u32, Vec<f64>>; 2],
}

impl Course {
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Sides>) -> Self {
        let mut at = [BTreeMap::new(), BTreeMap::new()];
        for sides in rows {
            for (all, side) in at.iter_mut().zip([&sides.base, &sides.other]) {
                for (&boot, &value) in side {
                    let there: &mut Vec<f64> = all.entry(boot).or_default();
                    there.push(value);
                }
            }
        }
        for values in at.iter_mut().flat_map(BTreeMap::values_mut) {
            values.sort_by(f64::total_cmp);
        }
        Course { at }
    }

    /// Returns the median of the rows at a boot, without the row that has the value `own` there.
    fn beside(&self, own: Option<f64>, is_other: bool, boot: u32) -> Option<f64> {
        let rows = self.at[usize::from(is_other)].get(&boot)?;
        let left_out = own.map(|own| rows.partition_point(|value| *value < own));
        let count = rows.len() - usize::from(left_out.is_some());
        if count < OTHERS {
            return None;
        }
        let at = |place: usize| rows[place + usize::from(left_out.is_some_and(|out| out <= place))];
        Some(f64::midpoint(at((count - 1) / 2), at(count / 2)))
    }

    /// Returns a row relative to the others. `None` if too few others ran in one of its boots.
    pub fn without(&self, row: &Sides) -> Option<Sides> {
        row.map(|is_other, boot, value| Some(value - self.beside(Some(value), is_other, boot)?))
    }

    /// Returns the median row at each boot that has enough rows.
    pub fn middle(&self) -> Sides {
        let side = |is_other: bool| -> Boots {
            let boots: BTreeSet<u32> = self.at[usize::from(is_other)].keys().copied().collect();
            let middles = boots.into_iter();
            middles
                .filter_map(|boot| Some((boot, self.beside(None, is_other, boot)?)))
                .collect()
        };
        Sides {
            base: side(false),
            other: side(true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows that follow `course`, each with a small offset, on both sides.
    fn rows(count: usize, course: [f64; 4]) -> Vec<TimeRow> {
        let boots = |row: usize, of: &[f64]| -> Vec<(u32, f64)> {
            let values = of.iter().map(|c| (row + 1) as f64 * c.exp());
            (1..).zip(values).collect()
        };
        let row = |row| TimeRow {
            base: boots(row, &course[..2]),
            other: boots(row, &course[2..]),
            by_itself: false,
        };
        (0..count).map(row).collect()
    }

    #[test]
    fn what_all_do_is_taken_out_and_what_one_does_is_left() {
        let mut rows = rows(6, [0.0, 0.2, 0.1, 0.3]);
        rows[2]
            .other
            .iter_mut()
            .for_each(|(_, value)| *value *= 2.0);
        let sides: Vec<_> = rows.iter().map(Sides::of).collect();
        let course = Course::of(sides.iter().flatten());
        let own = course.without(sides[2].as_ref().unwrap()).unwrap();
        let (base, other) = own.values();
        for (b, o) in base.iter().zip(&other) {
            assert!((o - b - 2f64.ln()).abs() < 1e-9, "{own:?}");
        }
        assert!(own.scatter() < 1e-9 && own.are_disjoint());
        let middle = course.middle();
        assert!((middle.other[&1] - middle.base[&1] - 0.1).abs() < 1e-9);
        assert!(!middle.are_disjoint() && middle.scatter() > 0.1);
    }

    #[test]
    fn few_rows_have_no_course() {
        let sides: Vec<_> = rows(5, [0.0; 4]).iter().map(Sides::of).collect();
        let course = Course::of(sides.iter().flatten());
        assert_eq!(course.without(sides[0].as_ref().unwrap()), None);
        assert_eq!(Sides::of(&TimeRow::default()), None);
        // Five rows are just enough for a median.
        assert_eq!(course.middle().base.len(), 2);
    }
}
