//! T_cons and T_two apart: building the second set of page tables, and walking both.
//!
//! A read of a page that nothing has touched pays for both; a read of one that was touched before,
//! in a working set beyond the TLB's reach, only for the walk. Two page sizes of the guest show
//! whether that holds: the walk gets shorter with larger pages, while the host builds its tables as
//! before.

use crate::unit::UnitKind;
use schemars::JsonSchema;
use serde::Serialize;

/// What could be told apart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Separation {
    /// By page size of the guest, ascending; empty where it could not.
    pub pages: Vec<PageCosts>,
    /// Why not.
    pub why: Option<String>,
}

/// With one page size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PageCosts {
    /// The guest's page size.
    pub page_bytes: u64,
    /// What virtualization adds to a hot access: T_two.
    pub two: f64,
    /// What it adds to a cold one, less that: T_cons.
    pub cons: f64,
}

/// From added costs by benchmark and page size.
pub(super) fn separate(kind: UnitKind, added: &[(&str, Option<u64>, f64)]) -> Separation {
    let not = |why: &str| Separation {
        pages: Vec::new(),
        why: Some(why.to_owned()),
    };
    if kind != UnitKind::Time {
        return not("only time shows page walks: an instruction count has none");
    }
    let of = |wanted: &'static str| {
        let rows = added.iter().filter(move |(name, _, _)| *name == wanted);
        rows.filter_map(|(_, page, added)| Some(((*page)?, *added)))
    };
    let mut pages: Vec<PageCosts> = of("hot-memory-access")
        .filter_map(|(page_bytes, two)| {
            let cold = of("cold-memory-access").find(|cold| cold.0 == page_bytes)?;
            Some(PageCosts {
                page_bytes,
                two,
                cons: cold.1 - two,
            })
        })
        .collect();
    pages.sort_by_key(|page| page.page_bytes);
    pages.dedup_by_key(|page| page.page_bytes);
    if pages.len() < 2 {
        return not(
            "it takes hot and cold access at two page sizes: worldswitch run --page 4k, and again --page 2m",
        );
    }
    Separation { pages, why: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [(&str, Option<u64>, f64); 4] = [
        ("cold-memory-access", Some(2 << 20), 310.0),
        ("hot-memory-access", Some(4096), 20.0),
        ("cold-memory-access", Some(4096), 320.0),
        ("hot-memory-access", Some(2 << 20), 10.0),
    ];

    #[test]
    fn two_page_sizes_tell_them_apart() {
        let found = separate(UnitKind::Time, &BOTH);
        let shown: Vec<_> = found
            .pages
            .iter()
            .map(|p| (p.page_bytes, p.two, p.cons))
            .collect();
        assert_eq!(shown, [(4096, 20.0, 300.0), (2 << 20, 10.0, 300.0)]);
        assert_eq!(found.why, None);
    }

    #[test]
    fn one_page_size_or_counts_do_not() {
        assert!(
            separate(UnitKind::Time, &BOTH[1..3])
                .why
                .unwrap()
                .contains("--page 2m")
        );
        assert!(
            separate(UnitKind::Count, &BOTH)
                .why
                .unwrap()
                .contains("page walks")
        );
    }
}
