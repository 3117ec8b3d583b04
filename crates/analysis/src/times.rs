//! Verdicts on units of time: a permutation test over boots, and an interval that must lie within
//! the band of effects that do not count.
//!
//! What each step assumes, and where it is from, stands in `docs/method.md`.

use crate::summary::{REPLICATES, SEED};
use crate::verdict::{MAX_BOOTS, Thresholds, Verdict};
use ws_statistics::{
    Block, Interval, Method, RankTests, bootstrap, drawn_median, holm, median, needed_to_agree,
    needed_to_differ, smallest_p, sorted,
};

/// Boots of each side in a block, where there are more.
const BLOCK_BOOTS: usize = 5;

/// The rank test must be able to go this far below the level that it is held against, or its power
/// would hang on every single boot. Else blocks are made larger.
const MARGIN: f64 = 10.0;

/// One row's values on both sides: a boot's number, and what it costs by that boot. All values are
/// above 0, and more is worse.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeRow {
    /// The base's.
    pub base: Vec<(u32, f64)>,
    /// The other's.
    pub other: Vec<(u32, f64)>,
}

/// What is known of a row after all rows were tested.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeVerdict {
    /// The verdict.
    pub verdict: Verdict,
    /// Why it is inconclusive.
    pub why: Option<Why>,
    /// The other's median over the base's.
    pub ratio: f64,
    /// Where that ratio lies, with confidence 1 less the significance.
    pub interval: Option<Interval>,
    /// The test's p-value of this row alone.
    pub p: f64,
    /// The same, corrected for the suite (Holm).
    pub p_suite: f64,
    /// How `p` was found.
    pub method: Method,
    /// How many blocks the boots were put in.
    pub blocks: usize,
}

/// Why a row is inconclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// With so few boots the test can't reach the level, whatever they say.
    TooFewBoots {
        /// More boots a side that can.
        more: usize,
    },
    /// The boots scatter too much for the difference that there is.
    TooNoisy {
        /// About so many more boots a side would tell, nine times in ten; `None` where even
        /// [`MAX_BOOTS`] would not.
        more: Option<usize>,
    },
}

/// Judges the rows of one suite together. `interleaved`: the boots of both sides took turns, and
/// those of one number stood next to each other. Rows in which a side has no boots get `None`.
pub fn judge_times(
    rows: &[TimeRow],
    interleaved: bool,
    thresholds: &Thresholds,
) -> Vec<Option<TimeVerdict>> {
    let measured = rows.iter().filter(|row| row.is_measured()).count();
    // Holm holds the smallest p-value against this.
    let level = thresholds.significance / measured.max(1) as f64;
    let mut tests = RankTests::default();
    let mut found: Vec<Option<Found>> = rows
        .iter()
        .map(|row| Found::of(row, interleaved, level, thresholds, &mut tests))
        .collect();
    let p_values: Vec<f64> = found.iter().flatten().map(|found| found.p).collect();
    let mut corrected = holm(&p_values).into_iter();
    found
        .iter_mut()
        .zip(rows)
        .map(|(found, row)| {
            let found = found.as_ref()?;
            Some(found.verdict(row, corrected.next().unwrap_or(1.0), level, thresholds))
        })
        .collect()
}

impl TimeRow {
    fn is_measured(&self) -> bool {
        !self.base.is_empty() && !self.other.is_empty()
    }

    fn values(side: &[(u32, f64)]) -> Vec<f64> {
        side.iter().map(|&(_, value)| value).collect()
    }

    /// The boots in blocks of so many numbers in a row; the last takes what is left over.
    fn blocks(&self, boots: usize) -> Vec<Block> {
        let mut numbers: Vec<u32> = self.base.iter().chain(&self.other).map(|b| b.0).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let count = (numbers.len() / boots).max(1);
        let within = |side: &[(u32, f64)], from: u32, to: Option<u32>| -> Vec<f64> {
            side.iter()
                .filter(|(number, _)| *number >= from && to.is_none_or(|to| *number < to))
                .map(|&(_, value)| value)
                .collect()
        };
        (0..count)
            .map(|block| {
                let from = numbers[block * boots];
                let to = (block + 1 < count).then(|| numbers[(block + 1) * boots]);
                Block {
                    base: within(&self.base, from, to),
                    other: within(&self.other, from, to),
                }
            })
            .collect()
    }

    /// Blocks as small as [`BLOCK_BOOTS`], if the test can then still reach well below `level`; else
    /// larger ones, up to one of all. It looks at numbers of boots only, never at values.
    fn fitting_blocks(&self, interleaved: bool, level: f64) -> Vec<Block> {
        let all = self.base.len() + self.other.len();
        let mut boots = if interleaved { BLOCK_BOOTS } else { all };
        loop {
            let blocks = self.blocks(boots);
            if blocks.len() == 1 || smallest(&blocks) <= level / MARGIN {
                return blocks;
            }
            boots *= 2;
        }
    }
}

fn smallest(blocks: &[Block]) -> f64 {
    let sizes: Vec<_> = blocks
        .iter()
        .map(|block| (block.base.len(), block.other.len()))
        .collect();
    smallest_p(&sizes)
}

/// What a row says by itself.
struct Found {
    ratio: f64,
    interval: Option<Interval>,
    p: f64,
    /// Whether the other side's ranks lie above their mean.
    rises: bool,
    method: Method,
    blocks: usize,
    /// The least p-value that so many boots can give.
    reachable: f64,
}

impl Found {
    fn of(
        row: &TimeRow,
        interleaved: bool,
        level: f64,
        thresholds: &Thresholds,
        tests: &mut RankTests,
    ) -> Option<Self> {
        let (base, other) = (TimeRow::values(&row.base), TimeRow::values(&row.other));
        let ratio = median(&other)? / median(&base)?;
        let blocks = row.fitting_blocks(interleaved, level);
        let test = tests.test(&blocks)?;
        let (over, under) = (sorted(&other), sorted(&base));
        let mut counts = Vec::new();
        let interval = bootstrap(SEED, 1.0 - thresholds.significance, REPLICATES, |rng| {
            let over = drawn_median(&over, rng, &mut counts)?;
            Some(over / drawn_median(&under, rng, &mut counts)?)
        });
        Some(Found {
            ratio,
            interval,
            p: test.p,
            rises: test.shift > 0.0,
            method: test.method,
            reachable: smallest(&blocks),
            blocks: blocks.len(),
        })
    }

    fn verdict(
        &self,
        row: &TimeRow,
        p_suite: f64,
        level: f64,
        thresholds: &Thresholds,
    ) -> TimeVerdict {
        let (low, high) = (
            1.0 / (1.0 + thresholds.min_effect),
            1.0 + thresholds.min_effect,
        );
        let significant = p_suite <= thresholds.significance;
        let few = self.reachable > level;
        let (verdict, why) = if few {
            let boots = row.base.len().min(row.other.len());
            let more = boots_to_reach(level).saturating_sub(boots).max(1);
            (Verdict::Inconclusive, Some(Why::TooFewBoots { more }))
        } else if significant && self.rises && self.ratio >= high {
            (Verdict::Worse, None)
        } else if significant && !self.rises && self.ratio <= low {
            (Verdict::Better, None)
        } else if self.interval.is_some_and(|i| i.is_within(low, high)) {
            (Verdict::NoChange, None)
        } else {
            let more = more_boots(row, self.ratio, level, thresholds);
            (Verdict::Inconclusive, Some(Why::TooNoisy { more }))
        };
        TimeVerdict {
            verdict,
            why,
            ratio: self.ratio,
            interval: self.interval,
            p: self.p,
            p_suite,
            method: self.method,
            blocks: self.blocks,
        }
    }
}

/// The least number of boots a side with which the test can reach `level`.
fn boots_to_reach(level: f64) -> usize {
    (1..MAX_BOOTS)
        .find(|&boots| smallest_p(&[(boots, boots)]) <= level)
        .unwrap_or(MAX_BOOTS)
}

/// About how many more boots a side would end the doubt, if boots go on as they did.
fn more_boots(row: &TimeRow, ratio: f64, level: f64, thresholds: &Thresholds) -> Option<usize> {
    let logs = |side: &[(u32, f64)]| -> Vec<f64> { side.iter().map(|(_, v)| v.ln()).collect() };
    let deviation = (variance(&logs(&row.base)) + variance(&logs(&row.other))).sqrt()
        / std::f64::consts::SQRT_2;
    let (effect, band) = (ratio.ln().abs(), thresholds.min_effect.ln_1p());
    let needed = if effect >= band {
        needed_to_differ(level, effect, deviation)
    } else {
        needed_to_agree(thresholds.significance, band - effect, deviation)
    };
    let boots = row.base.len().min(row.other.len()) as f64;
    // The formula is of bell curves. Where it says that these boots should have done, they have none.
    let more = (needed.ceil() - boots).max((boots / 2.0).ceil());
    (boots + more <= MAX_BOOTS as f64).then_some(more as usize)
}

fn variance(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if n > 1.0 { squares / (n - 1.0) } else { 0.0 }
}
