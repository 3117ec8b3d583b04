//! A reckoning: what an operation's accesses to registers and its traps would take at another machine's prices.
//!
//! It is no measurement. What has no price is counted and left out of the sum.

use crate::explained::Explained;
use crate::prices::{Access, Cycles, Item, Other, Price, Prices, known_accesses};
use crate::registers::Class;
use crate::trace::Architecture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A line of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reckoned {
    /// What is accessed.
    pub item: Item,
    /// How.
    pub access: Access,
    /// How often; nothing if that is not known.
    pub count: Option<u64>,
    /// Instructions that do it: one that stores a pair of registers makes two accesses.
    pub instructions: u64,
    /// For one access.
    pub price: Option<Price>,
    /// What it is reckoned to take; nothing without a price.
    pub cycles: Option<Cycles>,
}

/// What somebody measured on the machine that the prices are of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Published {
    /// Of which hypervisor: `ARM KVM`.
    pub of: String,
    /// How long the same operation took.
    pub cycles: u64,
}

/// An operation in cycles, by prices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reckoning {
    /// The names of the prices.
    pub prices: Vec<String>,
    /// By what is accessed, and how.
    pub lines: Vec<Reckoned>,
    /// Their sum.
    pub cycles: Cycles,
    /// Instructions outside of the guest.
    pub instructions: u64,
    /// Those of them that have no price, and so no part in the sum.
    pub unpriced: u64,
    /// Measured by others.
    pub published: Vec<Published>,
}

/// Why prices can't be used for an operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the prices {prices} are for registers of {theirs}, and the machine is {ours}")]
pub struct OtherArchitecture {
    /// Their names.
    pub prices: String,
    /// Theirs.
    pub theirs: &'static str,
    /// The operation's.
    pub ours: String,
}

impl Reckoning {
    /// Reckons an operation; `published` is what others measured.
    ///
    /// # Errors
    /// The prices are another architecture's.
    pub fn of(
        explained: &Explained,
        prices: &Prices,
        published: Vec<Published>,
    ) -> Result<Self, OtherArchitecture> {
        let theirs = prices.of.keys().filter_map(|(item, _)| item.architecture());
        let mut theirs = theirs.map(Architecture::name);
        if let Some(theirs) = theirs.find(|name| *name != explained.architecture) {
            return Err(OtherArchitecture {
                prices: prices.names.join(", "),
                theirs,
                ours: explained.architecture.clone(),
            });
        }
        let lines = lines(explained, prices);
        let mut cycles = Cycles::default();
        for line in &lines {
            cycles += line.cycles.unwrap_or_default();
        }
        let priced = lines.iter().filter(|line| line.price.is_some());
        let priced: u64 = priced.map(|line| line.instructions).sum();
        let left_out = explained.left_out.as_ref();
        let left_out = left_out.map_or(0, |left_out| left_out.instructions as i64);
        let instructions = explained.sum.attributed + explained.control - left_out;
        let instructions = instructions.max(0) as u64;
        Ok(Self {
            prices: prices.names.clone(),
            lines,
            cycles,
            instructions,
            unpriced: instructions.saturating_sub(priced),
            published,
        })
    }
}

/// What is accessed or has a price.
fn lines(explained: &Explained, prices: &Prices) -> Vec<Reckoned> {
    let accessed = explained.registers.iter();
    let accessed = accessed.map(|count| Item::Class(count.class));
    let traps = (explained.returns > 0).then_some(Item::Other(Other::Trap));
    let priced = prices.of.keys().map(|(item, _)| *item);
    let items: BTreeSet<Item> = accessed.chain(traps).chain(priced).collect();
    let mut items: Vec<Item> = items.into_iter().collect();
    // Beside the class that took its place.
    items.sort_by_key(|item| match item {
        Item::Class(class) => (false, Some(*class), false),
        Item::Other(Other::Gich) => (false, Some(Class::Vgic), true),
        Item::Other(Other::Trap) => (true, None, false),
    });
    let lines = items.into_iter().flat_map(|item| {
        known_accesses(item).map(|access| {
            let (count, instructions) = count(explained, item, access);
            let price = prices.of.get(&(item, access)).copied();
            Reckoned {
                item,
                access,
                count,
                instructions,
                price,
                cycles: price.zip(count).map(|(price, count)| price.of(count)),
            }
        })
    });
    lines.collect()
}

/// Whether the hypervisor has used a GICv2, whose registers are in memory, where accesses are not seen.
fn has_gicv2(explained: &Explained) -> bool {
    let of_gicv2 = |name: &str| name.contains("vgic_v2_") || name.starts_with("gicv2_");
    let mut functions = explained.functions.iter();
    functions.any(|function| of_gicv2(&function.name))
}

/// How often if that is known, and by how many instructions.
fn count(explained: &Explained, item: Item, access: Access) -> (Option<u64>, u64) {
    match item {
        Item::Class(class) => {
            let of = explained.registers.iter();
            let counts = of.filter(|count| count.class == class);
            let counts = counts.map(|count| match access {
                Access::Write => count.accesses.writes,
                _ => count.accesses.reads,
            });
            let insns = explained.accessing.get(&class).copied().unwrap_or_default();
            let instructions = match access {
                Access::Write => insns.writes,
                _ => insns.reads,
            };
            (Some(counts.sum()), instructions)
        }
        Item::Other(Other::Gich) => ((!has_gicv2(explained)).then_some(0), 0),
        // A trap is the last instruction before it, the guest's or the host's HVC; its return is an ERET.
        Item::Other(Other::Trap) => match access {
            Access::Return => (Some(explained.returns), explained.returns),
            _ => (Some(explained.returns), 0),
        },
    }
}

#[cfg(test)]
#[path = "reckoning_tests.rs"]
mod tests;
