//! Calls and instructions of each function of a call tree.

use crate::tree::{Node, Tree};
use std::collections::HashMap;

/// How many instructions a function takes in an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionCount {
    /// Index in [`Explained::functions`].
    pub function: u32,
    /// How often it was called.
    pub calls: u64,
    /// Its own instructions.
    pub own: u64,
    /// The same, and of all that it called.
    pub total: u64,
}

/// All functions of a tree. A function that calls itself is counted once in its total.
pub(crate) fn counts(tree: &Tree) -> Vec<FunctionCount> {
    let mut counts: HashMap<u32, FunctionCount> = HashMap::new();
    for node in &tree.nodes {
        let count = counts.entry(node.function).or_insert(FunctionCount {
            function: node.function,
            ..FunctionCount::default()
        });
        count.calls += node.calls;
        count.own += node.own;
        if !is_inside_itself(tree, node) {
            count.total += node.total;
        }
    }
    let mut counts: Vec<FunctionCount> = counts.into_values().collect();
    counts.sort_by_key(|count| (std::cmp::Reverse(count.own), count.function));
    counts
}

fn is_inside_itself(tree: &Tree, node: &Node) -> bool {
    let callers = node
        .parent
        .into_iter()
        .flat_map(|parent| tree.chain(parent));
    callers
        .into_iter()
        .any(|caller| caller.function == node.function)
}
