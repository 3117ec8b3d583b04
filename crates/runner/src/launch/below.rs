//! Counts of a row by the hypervisor below a nested machine's: its traps, in all and by cause. Pure.

use std::collections::BTreeMap;
use ws_records::Exits;

/// Name under which windows with nothing but marks are counted (lab/agent/below.h).
pub const MARKS: &str = "marks";
/// Name under which a shorter run is counted, which is subtracted from the measured one.
pub const SHORTER: &str = "shorter";

/// The counter of all traps.
const EXITS: &str = "exits";

type Counts = BTreeMap<String, u64>;

/// Counts of one or more records of that hypervisor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Below {
    /// KVM's counters, or neve's sum of all causes.
    pub counts: Option<Counts>,
    pub causes: Counts,
}

impl Below {
    /// Takes the counts of a record. KVM sends its counters, or its exits by reason, which it counts in a run of their
    /// own. neve always counts by cause.
    pub fn of(exits: Exits) -> Self {
        if exits.kvm.is_some() || !exits.reasons.is_empty() {
            return Self {
                counts: exits.kvm,
                causes: exits.reasons,
            };
        }
        let sum = (exits.returns.values()).fold(0u64, |sum, count| sum.saturating_add(*count));
        Self {
            counts: Some(BTreeMap::from([(EXITS.to_owned(), sum)])),
            causes: exits.returns,
        }
    }

    /// Adds the counts of another record of the same row.
    pub fn add(&mut self, other: Self) {
        if let Some(counts) = other.counts {
            each(
                self.counts.get_or_insert_default(),
                counts,
                u64::saturating_add,
            );
        }
        each(&mut self.causes, other.causes, u64::saturating_add);
    }

    /// Keeps the least of these counts and another empty window's.
    pub fn learn(&mut self, other: Self) {
        match (&mut self.counts, other.counts) {
            (Some(own), Some(counts)) => least(own, &counts),
            (own, counts) => *own = own.take().or(counts),
        }
        match self.causes.is_empty() {
            true => self.causes = other.causes,
            false if !other.causes.is_empty() => least(&mut self.causes, &other.causes),
            false => {}
        }
    }

    /// Subtracts the counts of marks, or of a shorter run.
    pub fn without(mut self, other: &Self) -> Self {
        let take = |from: &mut Counts, what: &Counts| {
            for (name, count) in from.iter_mut() {
                *count = count.saturating_sub(what.get(name).copied().unwrap_or(0));
            }
        };
        if let (Some(counts), Some(of_marks)) = (&mut self.counts, &other.counts) {
            take(counts, of_marks);
        }
        take(&mut self.causes, &other.causes);
        self
    }
}

fn each(to: &mut Counts, from: Counts, with: fn(u64, u64) -> u64) {
    for (name, count) in from {
        let own = to.entry(name).or_default();
        *own = with(*own, count);
    }
}

/// Keeps the least of each counter. A counter that the other lacks was 0 there.
fn least(own: &mut Counts, other: &Counts) {
    for (name, count) in own {
        *count = (*count).min(other.get(name).copied().unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(of: &[(&str, u64)]) -> Counts {
        of.iter()
            .map(|(name, n)| ((*name).to_owned(), *n))
            .collect()
    }

    #[test]
    fn kvm_counts_in_one_run_and_by_cause_in_another() {
        let mut all = Below::of(Exits {
            kvm: Some(counts(&[("exits", 900), ("wfi_exit_stat", 4)])),
            returns: counts(&[("mmio", 7)]),
            ..Exits::default()
        });
        all.add(Below::of(Exits {
            reasons: counts(&[("sysreg", 700), ("eret", 90)]),
            ..Exits::default()
        }));
        assert_eq!(all.counts.as_ref().unwrap()["exits"], 900);
        let marks = Below {
            counts: Some(counts(&[("exits", 100)])),
            causes: counts(&[("sysreg", 701)]),
        };
        let all = all.without(&marks);
        assert_eq!(
            all.counts.unwrap(),
            counts(&[("exits", 800), ("wfi_exit_stat", 4)])
        );
        assert_eq!(all.causes, counts(&[("sysreg", 0), ("eret", 90)]));
    }

    #[test]
    fn neve_s_causes_are_its_counts() {
        let of = |hvc| {
            Below::of(Exits {
                returns: counts(&[("hvc", hvc), ("el2_eret", 5)]),
                ..Exits::default()
            })
        };
        assert_eq!(of(2).counts.unwrap()["exits"], 7);
        let mut marks = Below::default();
        for hvc in [3, 2, 4] {
            marks.learn(of(hvc));
        }
        assert_eq!(
            (marks.counts.unwrap()["exits"], marks.causes["hvc"]),
            (7, 2)
        );
    }
}
