//! Chooses CPUs for threads that must not disturb each other, and that must all be equally fast.

use crate::facts::Cpus;
use crate::kinds::Kind;
use crate::list::Set;
use std::collections::BTreeSet;

impl Cpus {
    /// Picks `count` of these CPUs, all of the fastest kind that has enough. Prefers CPUs on cores of their own, then
    /// CPUs of one NUMA node. None if no kind has enough.
    #[must_use]
    pub fn pick(&self, among: &Set, count: usize) -> Option<Vec<u32>> {
        let kinds = self.kinds_among(among);
        let cpus = kinds.into_iter().map(|(_, cpus)| cpus);
        let cpus = cpus.into_iter().find(|cpus| cpus.len() >= count)?;
        let mut places = self.by_node(&cpus);
        places.push(cpus);
        let apart = places.iter().map(|cpus| self.one_a_core(cpus));
        let mut ways = apart.chain(places.iter().map(|cpus| cpus.iter().copied().collect()));
        let mut chosen = ways.find(|cpus: &Vec<u32>| cpus.len() >= count)?;
        chosen.truncate(count);
        Some(chosen)
    }

    /// Returns the CPUs of the fastest kind that has at least `least` of these CPUs; all of them if there is no such
    /// kind.
    #[must_use]
    pub fn alike(&self, among: &Set, least: usize) -> Set {
        let kinds = self.kinds_among(among).into_iter();
        let mut kinds = kinds.map(|(_, cpus)| cpus);
        kinds
            .find(|cpus| cpus.len() >= least)
            .unwrap_or_else(|| among.clone())
    }

    /// Groups these CPUs by kind, the fastest kind first. CPUs of unknown kind are left out.
    #[must_use]
    pub fn kinds_among(&self, among: &Set) -> Vec<(&Kind, Set)> {
        let of = |kind: &Kind| -> Set { kind.cpus.intersection(among).copied().collect() };
        let kinds = self.kinds.iter().map(|kind| (kind, of(kind)));
        kinds.filter(|(_, cpus)| !cpus.is_empty()).collect()
    }

    /// Returns the first thread of each core, in the order of the CPUs.
    fn one_a_core(&self, cpus: &Set) -> Vec<u32> {
        let mut seen = Set::new();
        let mut chosen = Vec::new();
        for cpu in cpus {
            if !seen.contains(cpu) {
                seen.extend(self.core_of(*cpu));
                chosen.push(*cpu);
            }
        }
        chosen
    }

    fn by_node(&self, cpus: &Set) -> Vec<Set> {
        let nodes: BTreeSet<Option<u32>> = cpus.iter().map(|cpu| self.node_of(*cpu)).collect();
        let of = |node: Option<u32>| {
            let on_it = cpus.iter().filter(|cpu| self.node_of(**cpu) == node);
            on_it.copied().collect()
        };
        nodes.into_iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made;
    use proptest::prelude::*;

    #[test]
    fn the_fastest_kind_that_has_enough_is_chosen_on_cores_of_their_own() {
        let hybrid = made::hybrid();
        assert_eq!(hybrid.pick(&hybrid.allowed, 2), Some(vec![0, 2]));
        // Four cores have two threads each; then a core's second thread, not a slower core.
        assert_eq!(hybrid.pick(&hybrid.allowed, 5), Some(vec![0, 1, 2, 3, 4]));
        assert_eq!(hybrid.pick(&Set::from([1, 8, 9, 10]), 2), Some(vec![8, 9]));
        assert_eq!(hybrid.pick(&Set::from([1, 8]), 2), None);
        assert_eq!(hybrid.pick(&Set::new(), 1), None);
        let little = made::big_little();
        assert_eq!(little.pick(&little.allowed, 2), Some(vec![4, 5]));
        assert_eq!(little.pick(&little.allowed, 3), Some(vec![0, 1, 2]));
        assert_eq!(little.alike(&little.allowed, 2), Set::from([4, 5]));
        assert_eq!(little.alike(&little.allowed, 5), little.allowed);
    }

    #[test]
    fn they_are_on_one_node_where_that_is_possible() {
        let nodes = made::two_nodes();
        assert_eq!(nodes.pick(&Set::from([0, 4, 5]), 2), Some(vec![4, 5]));
        assert_eq!(nodes.pick(&Set::from([0, 4]), 2), Some(vec![0, 4]));
    }

    proptest! {
        #[test]
        fn a_choice_is_of_one_kind_and_of_what_was_offered(
            host in 0..made::ALL, offered in prop::collection::btree_set(0u32..12, 0..12), count in 1usize..9,
        ) {
            let cpus = made::all(host);
            let Some(chosen) = cpus.pick(&offered, count) else {
                prop_assert!(cpus.kinds_among(&offered).iter().all(|(_, of_it)| of_it.len() < count));
                return Ok(());
            };
            let set: Set = chosen.iter().copied().collect();
            prop_assert_eq!((chosen.len(), set.len()), (count, count));
            prop_assert!(set.is_subset(&offered) && set.is_subset(&cpus.online));
            let kinds = cpus.kinds_among(&set);
            prop_assert_eq!(kinds.len(), 1);
            // No faster kind would have had enough.
            for (kind, of_it) in cpus.kinds_among(&offered) {
                if kind == kinds[0].0 {
                    break;
                }
                prop_assert!(of_it.len() < count);
            }
        }
    }
}
