//! Tells perturbed boots from those that count in a platform's figures.

use crate::{Boot, Metric, Samples};
use std::collections::BTreeSet;

/// The numbers of the boots that were perturbed on purpose. They count in no figure but the
/// invariance band. All code that separates them from the other boots uses this type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Perturbed(BTreeSet<u32>);

impl Perturbed {
    /// Collects the perturbed boots among `boots`.
    pub fn of(boots: &[Boot]) -> Self {
        let perturbed = boots.iter().filter(|boot| boot.perturbed.is_some());
        Self(perturbed.map(|boot| boot.boot).collect())
    }

    /// Whether this boot was perturbed.
    pub fn contains(&self, boot: u32) -> bool {
        self.0.contains(&boot)
    }

    /// The number of perturbed boots.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no boot was perturbed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A metric's samples, split into boots that count and perturbed boots.
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
