//! An estimate of the cycles of an operation's register accesses and traps, at another machine's prices.
//!
//! An estimate is no measurement. Accesses without a price are counted and left out of the sum.

use crate::explained::Explained;
use crate::prices::{Access, Cycles, Item, Other, Price, Prices, known_accesses};
use crate::registers::Class;
use crate::trace::Architecture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A line of the estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reckoned {
    /// The accessed item.
    pub item: Item,
    /// Kind of the access.
    pub access: Access,
    /// Number of accesses; nothing if that is not known.
    pub count: Option<u64>,
    /// Number of instructions that make the accesses: one that stores a pair of registers makes two accesses.
    pub instructions: u64,
    /// Price of one access.
    pub price: Option<Price>,
    /// Estimated cycles of all accesses; nothing without a price.
    pub cycles: Option<Cycles>,
}

/// A published measurement on the machine that the prices are of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Published {
    /// The measured hypervisor: `ARM KVM`.
    pub of: String,
    /// Cycles of the same operation.
    pub cycles: u64,
}

/// Estimate of an operation in cycles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reckoning {
    /// Names of the prices.
    pub prices: Vec<String>,
    /// Lines by item and access.
    pub lines: Vec<Reckoned>,
    /// Sum of the lines.
    pub cycles: Cycles,
    /// Instructions outside of the guest.
    pub instructions: u64,
    /// Instructions outside of the guest that have no price, and so no part in the sum.
    pub unpriced: u64,
    /// Published measurements of the operation.
    pub published: Vec<Published>,
}

/// Reason why prices can't be used for an operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the prices {prices} are for registers of {theirs}, but the machine is {ours}")]
pub struct OtherArchitecture {
    /// Names of the prices.
    pub prices: String,
    /// Architectures that have all registers of the prices.
    pub theirs: String,
    /// Architecture of the operation.
    pub ours: String,
}

impl Reckoning {
    /// Estimates an operation. `published` are measurements of others.
    ///
    /// # Errors
    /// The prices are another architecture's.
    pub fn of(
        explained: &Explained,
        prices: &Prices,
        published: Vec<Published>,
    ) -> Result<Self, OtherArchitecture> {
        let has_all = |of: &Architecture| {
            let mut items = prices.of.keys();
            items.all(|(item, _)| item.architectures().contains(of))
        };
        let theirs = Architecture::ALL.into_iter().filter(has_all);
        let theirs: Vec<&str> = theirs.map(Architecture::name).collect();
        if !theirs.contains(&&*explained.architecture) {
            return Err(OtherArchitecture {
                prices: prices.names.join(", "),
                theirs: match theirs[..] {
                    [] => "several architectures".to_owned(),
                    _ => theirs.join(" or "),
                },
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

/// Makes the lines of all items that are accessed or have a price.
fn lines(explained: &Explained, prices: &Prices) -> Vec<Reckoned> {
    let accessed = explained.registers.iter();
    let accessed = accessed.map(|count| Item::Class(count.class));
    let traps = (explained.returns > 0).then_some(Item::Other(Other::Trap));
    let priced = prices.of.keys().map(|(item, _)| *item);
    let items: BTreeSet<Item> = accessed.chain(traps).chain(priced).collect();
    let mut items: Vec<Item> = items.into_iter().collect();
    // GICv2's interface is listed after the class that replaced it.
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

/// Whether the hypervisor has used a GICv2. The trace has no accesses to its registers, which are in memory.
fn has_gicv2(explained: &Explained) -> bool {
    let of_gicv2 = |name: &str| name.contains("vgic_v2_") || name.starts_with("gicv2_");
    let mut functions = explained.functions.iter();
    functions.any(|function| of_gicv2(&function.name))
}

/// Returns the number of accesses, if it is known, and of the instructions that make them.
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
        // A trap has no instruction of its own: it is taken at one of the guest, or at the host's HVC. Its return is an
        // ERET.
        Item::Other(Other::Trap) => match access {
            Access::Return => (Some(explained.returns), explained.returns),
            _ => (Some(explained.returns), 0),
        },
    }
}

#[cfg(test)]
#[path = "reckoning_tests.rs"]
mod tests;
