//! Both sides' calls in one tree, from which a differential flame graph is drawn.

use std::collections::VecDeque;
use ws_explain::diff::source_name;
use ws_explain::explained::Explained;
use ws_explain::place::Kind;

/// A call path that either side executes.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Name of the function, without a compiler's additions.
    pub function: String,
    /// Level of the function; 0 for the machine's own software.
    pub level: u8,
    /// Whether the guest itself executes it.
    pub is_guest: bool,
    /// Whether it runs only because of something that the emulator lacks.
    pub is_added: bool,
    /// Instructions of the function itself, without and with the change.
    pub own: [u64; 2],
    /// Instructions with all callees, without and with the change.
    pub total: [u64; 2],
    /// Width of the call in a graph of both sides: its own instructions and the widths of its callees, each on the side
    /// that has more.
    pub width: u64,
    /// Calls of this one, in the order of time.
    pub children: Vec<Call>,
}

/// Greatest depth of calls that are kept; a kernel's stack has no room for as many.
const DEEPEST: usize = 200;

/// Returns the calls of both sides. A call of one side alone stands after the calls that were before it there.
pub fn calls(before: &Explained, after: &Explained) -> Vec<Call> {
    let sides = [before, after].map(|explained| Side {
        added: explained.added_nodes(),
        explained,
    });
    let roots = [&sides[0], &sides[1]].map(|side| &*side.explained.tree.roots);
    merged([&sides[0], &sides[1]], roots, DEEPEST)
}

/// The operation on one side.
struct Side<'a> {
    explained: &'a Explained,
    /// For each node whether it runs only because of something that the emulator lacks.
    added: Vec<bool>,
}

fn merged(sides: [&Side; 2], nodes: [&[u32]; 2], deepest: usize) -> Vec<Call> {
    if deepest == 0 {
        return Vec::new();
    }
    let key = |side: usize, node: u32| {
        let explained = sides[side].explained;
        let function = explained.tree.nodes[node as usize].function;
        let function = &explained.functions[function as usize];
        (
            source_name(&function.name).to_owned(),
            function.level,
            function.kind == Kind::Guest,
        )
    };
    let mut olds: VecDeque<u32> = nodes[0].iter().copied().collect();
    let mut calls = Vec::new();
    for &new in nodes[1] {
        let wanted = key(1, new);
        match olds.iter().position(|old| key(0, *old) == wanted) {
            None => calls.push(call(sides, wanted, [None, Some(new)], deepest)),
            Some(at) => {
                for old in olds.drain(..at) {
                    calls.push(call(sides, key(0, old), [Some(old), None], deepest));
                }
                let old = olds.pop_front();
                calls.push(call(sides, wanted, [old, Some(new)], deepest));
            }
        }
    }
    calls.extend(
        olds.into_iter()
            .map(|old| call(sides, key(0, old), [Some(old), None], deepest)),
    );
    calls
}

fn call(
    sides: [&Side; 2],
    (function, level, is_guest): (String, u8, bool),
    nodes: [Option<u32>; 2],
    deepest: usize,
) -> Call {
    let node =
        |side: usize| nodes[side].map(|node| &sides[side].explained.tree.nodes[node as usize]);
    let is_added =
        |side: usize| nodes[side].is_some_and(|node: u32| sides[side].added[node as usize]);
    let of =
        |part: fn(&ws_explain::tree::Node) -> u64| [0, 1].map(|side| node(side).map_or(0, part));
    let children = [0, 1].map(|side| node(side).map_or(&[][..], |node| &*node.children));
    let children = merged(sides, children, deepest - 1);
    let own = of(|node| node.own);
    Call {
        function,
        level,
        is_guest,
        is_added: is_added(0) || is_added(1),
        own,
        total: of(|node| node.total),
        width: own[0].max(own[1]) + children.iter().map(|call| call.width).sum::<u64>(),
        children,
    }
}

impl Call {
    /// Number of own instructions that the change adds.
    pub fn added(&self) -> i64 {
        self.own[1] as i64 - self.own[0] as i64
    }
}
