//! Separates T_cons, building the second set of page tables, from T_two, walking both sets.
//!
//! The first read of a page (cold) pays for both; a later read (hot), in a working set beyond the TLB's reach, pays
//! only for the walk. Two page sizes of the guest show whether that holds: with larger pages the walk gets shorter,
//! while the host's work to build its tables stays the same. If the measurement does not show that, nothing is
//! separated, and the reason says what it shows instead.

use super::fit::interval;
use super::terms::Term;
use crate::unit::UnitKind;
use schemars::JsonSchema;
use serde::Serialize;
use ws_results::Paging;

/// The separation of T_cons and T_two.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Separation {
    /// Costs by ascending page size of the guest; empty if the terms could not be separated.
    pub pages: Vec<PageCosts>,
    /// Reason why the terms could not be separated.
    pub why: Option<String>,
}

/// The costs at one page size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PageCosts {
    /// The guest's page size.
    pub page_bytes: u64,
    /// Cost that virtualization adds to a hot access: T_two.
    pub two: f64,
    /// The lower end of the interval of `two`.
    pub two_low: f64,
    /// The upper end of that interval.
    pub two_high: f64,
    /// Cost that virtualization adds to a cold access, minus T_two: T_cons.
    pub cons: f64,
    /// The lower end of the interval of `cons`.
    pub cons_low: f64,
    /// The upper end of that interval.
    pub cons_high: f64,
}

/// Cost that virtualization adds to one access in a benchmark at one page size.
pub(super) struct Added<'a> {
    pub benchmark: &'a str,
    pub page_bytes: Option<u64>,
    pub added: f64,
    /// `added` in each resample of the boots, in the same order for all.
    pub drawn: Vec<f64>,
}

impl Added<'_> {
    fn less(&self, other: &Self) -> Known {
        let drawn: Vec<f64> = self
            .drawn
            .iter()
            .zip(&other.drawn)
            .map(|(ours, theirs)| ours - theirs)
            .collect();
        Known::of(self.added - other.added, drawn)
    }
}

/// A cost with its resampled values.
struct Known {
    cost: f64,
    low: f64,
    high: f64,
    drawn: Vec<f64>,
}

impl Known {
    fn of(cost: f64, drawn: Vec<f64>) -> Self {
        let (low, high) = interval(&drawn).unwrap_or((cost, cost));
        Known {
            cost,
            low,
            high,
            drawn,
        }
    }

    fn less(&self, other: &Self) -> Self {
        let drawn = self.drawn.iter().zip(&other.drawn);
        Known::of(
            self.cost - other.cost,
            drawn.map(|(ours, theirs)| ours - theirs).collect(),
        )
    }

    fn words(&self) -> String {
        format!("{:.1} ({:.1} to {:.1})", self.cost, self.low, self.high)
    }
}

/// Hot and cold access at one page size.
struct Page {
    bytes: u64,
    two: Known,
    cons: Known,
}

/// Separates the two terms, from added costs by benchmark and page size.
pub(super) fn separate(kind: UnitKind, paging: Paging, added: &[Added<'_>]) -> Separation {
    let found = if kind != UnitKind::Time {
        Err("only time shows page walks: an instruction count has none".into())
    } else if let Some(zero) = Term::Two.absent(paging) {
        Err(format!("T_two is zero, {zero}"))
    } else {
        let pages = pages(added);
        is_shown(&pages).map(|()| pages)
    };
    match found {
        Err(why) => Separation {
            pages: Vec::new(),
            why: Some(why),
        },
        Ok(pages) => Separation {
            pages: pages.iter().map(Page::costs).collect(),
            why: None,
        },
    }
}

fn pages(added: &[Added<'_>]) -> Vec<Page> {
    let of = |wanted: &'static str| added.iter().filter(move |row| row.benchmark == wanted);
    let mut pages: Vec<Page> = of("hot-memory-access")
        .filter_map(|hot| {
            let cold = of("cold-memory-access").find(|cold| cold.page_bytes == hot.page_bytes)?;
            Some(Page {
                bytes: hot.page_bytes?,
                two: Known::of(hot.added, hot.drawn.clone()),
                cons: cold.less(hot),
            })
        })
        .collect();
    pages.sort_by_key(|page| page.bytes);
    pages.dedup_by_key(|page| page.bytes);
    pages
}

/// Checks that hot and cold accesses behave as the model assumes. The error describes the behaviour that was measured.
fn is_shown(pages: &[Page]) -> Result<(), String> {
    let [small, .., large] = pages else {
        return Err(
            "needs hot and cold access at two page sizes: worldswitch run --page 4k, then --page 2m".into(),
        );
    };
    let sizes = format!("{} and {} KiB", small.bytes / 1024, large.bytes / 1024);
    if small.two.low <= 0.0 {
        return Err(format!(
            "the added cost of a hot access with {} KiB pages, {}, can't be told from zero: try a working set beyond the TLB's reach (--ws 256m) and more boots",
            small.bytes / 1024,
            small.two.words()
        ));
    }
    let falls = small.two.less(&large.two);
    if falls.low <= 0.0 {
        return Err(format!(
            "the added cost of a hot access, with pages of {sizes} {} and {}, does not fall \
             with the page size as page walks do",
            small.two.words(),
            large.two.words()
        ));
    }
    if let Some(page) = pages.iter().find(|page| page.cons.low <= 0.0) {
        return Err(format!(
            "with {} KiB pages virtualization does not add more to a cold access than to a hot \
             one: the difference is {}",
            page.bytes / 1024,
            page.cons.words()
        ));
    }
    let differ = small.cons.less(&large.cons);
    if differ.low > 0.0 || differ.high < 0.0 {
        return Err(format!(
            "the added cost of a cold access minus that of a hot one, with pages of {sizes} {} \
             and {}, is not the same with both, as the host's work would be",
            small.cons.words(),
            large.cons.words()
        ));
    }
    Ok(())
}

impl Page {
    fn costs(&self) -> PageCosts {
        PageCosts {
            page_bytes: self.bytes,
            two: self.two.cost,
            two_low: self.two.low,
            two_high: self.two.high,
            cons: self.cons.cost,
            cons_low: self.cons.low,
            cons_high: self.cons.high,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: u64 = 4096;
    const LARGE: u64 = 2 << 20;

    /// Costs of hot and cold access by page size, each with two resampled values at `scatter` from it.
    fn separated(pages: &[(u64, f64, f64)], scatter: f64) -> Separation {
        let of = |benchmark, page, added: f64| Added {
            benchmark,
            page_bytes: Some(page),
            added,
            drawn: vec![added - scatter, added + scatter],
        };
        let added: Vec<_> = pages
            .iter()
            .flat_map(|&(page, hot, cold)| {
                [
                    of("cold-memory-access", page, cold),
                    of("hot-memory-access", page, hot),
                ]
            })
            .collect();
        separate(UnitKind::Time, Paging::Nested, &added)
    }

    fn why(pages: &[(u64, f64, f64)]) -> String {
        let found = separated(pages, 1.0);
        assert_eq!(found.pages, []);
        found.why.unwrap()
    }

    #[test]
    fn two_page_sizes_tell_them_apart() {
        let found = separated(&[(LARGE, 10.0, 310.0), (SMALL, 20.0, 320.0)], 1.0);
        let shown: Vec<_> = found
            .pages
            .iter()
            .map(|p| (p.page_bytes, p.two, p.cons))
            .collect();
        assert_eq!(shown, [(SMALL, 20.0, 300.0), (LARGE, 10.0, 300.0)]);
        assert!(found.pages[0].two_low < 19.5 && found.pages[0].two_high > 20.5);
        assert_eq!(found.why, None);
    }

    #[test]
    fn what_the_measurement_does_not_show_is_not_told_apart() {
        let none = why(&[(SMALL, 0.5, 300.0), (LARGE, 0.1, 300.0)]);
        assert!(
            none.contains("can't be told from zero") && none.contains("--ws"),
            "{none}"
        );
        let flat = why(&[(SMALL, 20.0, 320.0), (LARGE, 20.0, 320.0)]);
        assert!(flat.contains("does not fall"), "{flat}");
        let cheap = why(&[(SMALL, 20.0, 15.0), (LARGE, 10.0, 310.0)]);
        assert!(cheap.contains("not add more"), "{cheap}");
        let other = why(&[(SMALL, 20.0, 320.0), (LARGE, 10.0, 90_000.0)]);
        assert!(other.contains("not the same"), "{other}");
    }

    #[test]
    fn one_page_size_counts_or_shadow_paging_do_not() {
        assert!(why(&[(SMALL, 20.0, 320.0)]).contains("--page 2m"));
        let of = |kind, paging| separate(kind, paging, &[]).why.unwrap();
        assert!(of(UnitKind::Count, Paging::Nested).contains("page walks"));
        assert!(of(UnitKind::Time, Paging::Shadow).contains("shadow"));
    }
}
