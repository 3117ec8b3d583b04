//! Published numbers of a machine like the recipe's. Views show them beside the machine's own.

use super::{Hypervisor, Recipe};
use serde::{Deserialize, Serialize};

/// Numbers of a paper, by the columns of `reference/*.csv`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The paper, such as `neve-2017`.
    pub paper: String,
    /// Table of the paper; none for all of its tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// Setup that the paper measured.
    pub setup: String,
    /// The paper's machine.
    pub hardware: String,
    /// Only for neve: the options that the machine must have, as `policy=kvm-4.10`. Defaults count: `vhe=0`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

impl Recipe {
    /// The published numbers that apply to the machine with its options.
    pub fn published(&self) -> impl Iterator<Item = &Published> {
        self.published.iter().filter(|of| {
            let mut options = of.options.iter();
            options.all(|option| match &self.hypervisor {
                Hypervisor::Neve(neve) => neve.has(option),
                _ => false,
            })
        })
    }

    /// Fault of the recipe's published numbers, in words for the recipe's author; none if they are right.
    pub(crate) fn wrong_published(&self) -> Option<String> {
        let of_choices = self.choices.iter().flat_map(|choice| &choice.published);
        let mut all = of_choices.flatten().chain(&self.published);
        let is_neve = matches!(self.hypervisor, Hypervisor::Neve(_));
        all.any(|of| !of.options.is_empty() && !is_neve).then(|| {
            "published.options is for hypervisor.kind = \"neve\"; published = [] drops inherited numbers"
                .to_owned()
        })
    }
}
