//! Calls and instructions of each function of a call tree.

use crate::tree::{Node, Tree};
use std::collections::HashMap;

/// Number of calls and instructions of a function in an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionCount {
    /// Index in [`Explained::functions`].
    pub function: u32,
    /// Number of calls.
    pub calls: u64,
    /// Instructions of the function itself.
    pub own: u64,
    /// Instructions of the function and of all that it called.
    pub total: u64,
}

/// Counts all functions of a tree. A function that calls itself is counted once in its total.
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
