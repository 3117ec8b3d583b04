//! Which boots count.

use crate::{Boot, Metric, Samples};
use std::collections::BTreeSet;

/// The numbers of the boots that were perturbed on purpose. They stand in no figure but the invariance
/// band; nothing but this type tells them from those that do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Perturbed(BTreeSet<u32>);

impl Perturbed {
    /// Those of these boots.
    pub fn of(boots: &[Boot]) -> Self {
        let perturbed = boots.iter().filter(|boot| boot.perturbed.is_some());
        Self(perturbed.map(|boot| boot.boot).collect())
    }

    /// Whether this boot is one.
    pub fn contains(&self, boot: u32) -> bool {
        self.0.contains(&boot)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A metric's samples of the boots that count, and those of perturbed ones.
    pub fn split<'a>(&self, metric: &'a Metric) -> (Vec<&'a Samples>, Vec<&'a Samples>) {
        let boots = metric.boots.iter();
        boots.partition(|samples| !self.contains(samples.boot))
    }
}

impl<const N: usize> From<[u32; N]> for Perturbed {
    fn from(boots: [u32; N]) -> Self {
        Self(boots.into())
    }
}
