//! Verdict on nodes: which ones to trust.
//!
//! A cell's digits follow from its machine's digest alone, so nodes that ran the same cell must agree. Where they
//! do not, the rule is:
//!
//! 1. A node that contradicts itself in a cell is odd.
//! 2. If more than half of a cell's other nodes agree, those that do not agree are odd.
//! 3. Nothing that an odd node measured is a vote, so the rules are applied again without it, until no node more
//!    becomes odd.
//! 4. Nodes that still differ in a cell are in dispute: two against each other, as a rule. Nobody can tell which
//!    one is wrong, until a third node has run that cell.
//!
//! Why the majority: nodes fail one by one (a disk, a memory bank, a cache with other files), and two that fail
//! independently do not give the same wrong digits.

use crate::cell::Key;
use crate::digits::Digits;
use std::collections::{BTreeMap, BTreeSet};

/// A node's run of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vote {
    /// The cell.
    pub cell: Key,
    /// The node.
    pub node: String,
    /// Digits of the run.
    pub digits: Digits,
}

/// Reason why a node is not trusted. Nodes without a doubt are trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// Whether the node is wrong, or may be.
    pub standing: Standing,
    /// First cell in which the node differs.
    pub cell: Key,
    /// Benchmarks in which the node differs there.
    pub rows: Vec<String>,
    /// Nodes that have other digits; only the node itself, if it contradicts itself.
    pub against: Vec<String>,
}

/// Degree of a doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The node is wrong.
    Odd,
    /// The node or another one is wrong.
    Disputed,
}

/// The digits of each node in one cell.
type InCell<'a> = BTreeMap<&'a str, BTreeSet<&'a Digits>>;

/// Judges all nodes, and returns those that are not trusted. The order of votes does not matter.
pub fn judge(votes: &[Vote]) -> BTreeMap<String, Doubt> {
    let mut cells: BTreeMap<&Key, InCell<'_>> = BTreeMap::new();
    for vote in votes {
        let nodes = cells.entry(&vote.cell).or_default();
        nodes.entry(&vote.node).or_default().insert(&vote.digits);
    }
    let mut doubts = BTreeMap::new();
    loop {
        let mut odd = BTreeMap::new();
        for (cell, nodes) in &cells {
            for (node, doubt) in odd_in(cell, nodes) {
                odd.entry(node).or_insert(doubt);
            }
        }
        if odd.is_empty() {
            break;
        }
        for nodes in cells.values_mut() {
            nodes.retain(|node, _| !odd.contains_key(*node));
        }
        doubts.extend(odd);
    }
    for (cell, nodes) in &cells {
        for (node, doubt) in doubts_in(cell, nodes, None, Standing::Disputed) {
            doubts.entry(node).or_insert(doubt);
        }
    }
    doubts
}

/// Finds the nodes that are odd by one cell alone.
fn odd_in(cell: &Key, nodes: &InCell<'_>) -> Vec<(String, Doubt)> {
    let contradicts = nodes.iter().filter(|(_, digits)| digits.len() > 1);
    let contradicts: Vec<(String, Doubt)> = contradicts
        .map(|(node, digits)| {
            let mut two = digits.iter();
            let rows = two.next().zip(two.next());
            let doubt = Doubt {
                standing: Standing::Odd,
                cell: cell.clone(),
                rows: rows.map_or(Vec::new(), |(one, other)| one.differ(other)),
                against: vec![(*node).to_owned()],
            };
            ((*node).to_owned(), doubt)
        })
        .collect();
    if !contradicts.is_empty() {
        // These nodes' votes are taken out before other nodes are judged.
        return contradicts;
    }
    let mut counts: BTreeMap<&Digits, usize> = BTreeMap::new();
    for digits in nodes.values().flatten() {
        *counts.entry(digits).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    match most.filter(|(_, count)| count * 2 > nodes.len()) {
        Some((right, _)) => doubts_in(cell, nodes, Some(right), Standing::Odd),
        None => Vec::new(),
    }
}

/// Finds the nodes of a cell that do not have the `right` digits; if these are not known, all nodes if any two differ.
fn doubts_in(
    cell: &Key,
    nodes: &InCell<'_>,
    right: Option<&Digits>,
    standing: Standing,
) -> Vec<(String, Doubt)> {
    let one = |digits: &BTreeSet<&Digits>| digits.first().map(|digits| (*digits).clone());
    let mut doubts = Vec::new();
    for (node, own) in nodes {
        let Some(own) = one(own) else { continue };
        let others = nodes.iter().filter_map(|(other, digits)| {
            let digits = one(digits)?;
            let is_voter = right.is_none_or(|right| digits == *right);
            (is_voter && digits != own).then(|| ((*other).to_owned(), own.differ(&digits)))
        });
        let others: Vec<(String, Vec<String>)> = others.collect();
        let Some((_, rows)) = others.first() else {
            continue;
        };
        let doubt = Doubt {
            standing,
            cell: cell.clone(),
            rows: rows.clone(),
            against: others.iter().map(|(other, _)| other.clone()).collect(),
        };
        doubts.push(((*node).to_owned(), doubt));
    }
    doubts
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
