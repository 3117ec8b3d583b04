//! Both sides' calls in one tree, from which a differential flame graph is drawn.

use std::collections::{BTreeSet, VecDeque};
use ws_explain::diff::source_name;
use ws_explain::explained::Explained;
use ws_explain::place::Kind;

/// A call path that either side executes.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Name of the function, without a compiler's additions.
    pub function: String,
    /// Name of the function without the change, if another one calls mostly the same functions with it. A compiler that
    /// inlines a function into its caller makes such pairs.
    pub replaces: Option<String>,
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

/// Name, level, and whether the guest executes it.
type Key = (String, u8, bool);

impl Side<'_> {
    fn key(&self, node: u32) -> Key {
        let function = self.explained.tree.nodes[node as usize].function;
        let function = &self.explained.functions[function as usize];
        (
            source_name(&function.name).to_owned(),
            function.level,
            function.kind == Kind::Guest,
        )
    }

    fn keys(&self, nodes: &[u32]) -> BTreeSet<Key> {
        nodes.iter().map(|node| self.key(*node)).collect()
    }

    /// Functions that a call calls.
    fn callees(&self, node: u32) -> BTreeSet<Key> {
        self.keys(&self.explained.tree.nodes[node as usize].children)
    }
}

/// Whether two calls of different functions call mostly the same functions.
fn is_alike(sides: [&Side; 2], [old, new]: [u32; 2]) -> bool {
    let (olds, news) = (sides[0].callees(old), sides[1].callees(new));
    let common = olds.intersection(&news).count();
    common >= 2 && 2 * common >= olds.len().max(news.len())
}

fn merged(sides: [&Side; 2], nodes: [&[u32]; 2], deepest: usize) -> Vec<Call> {
    if deepest == 0 {
        return Vec::new();
    }
    let [old_keys, new_keys] = [0, 1].map(|side| sides[side].keys(nodes[side]));
    let mut olds: VecDeque<u32> = nodes[0].iter().copied().collect();
    let mut calls = Vec::new();
    for &new in nodes[1] {
        let wanted = sides[1].key(new);
        let found = match old_keys.contains(&wanted) {
            true => olds.iter().position(|old| sides[0].key(*old) == wanted),
            // The first of the next calls that only the other side has.
            false => {
                let alone = olds.iter();
                let mut alone = alone.take_while(|old| !new_keys.contains(&sides[0].key(**old)));
                alone.position(|old| is_alike(sides, [*old, new]))
            }
        };
        match found {
            None => calls.push(call(sides, wanted, [None, Some(new)], deepest)),
            Some(at) => {
                for old in olds.drain(..at) {
                    calls.push(call(sides, sides[0].key(old), [Some(old), None], deepest));
                }
                let old = olds.pop_front();
                calls.push(call(sides, wanted, [old, Some(new)], deepest));
            }
        }
    }
    calls.extend(
        olds.into_iter()
            .map(|old| call(sides, sides[0].key(old), [Some(old), None], deepest)),
    );
    calls
}

fn call(
    sides: [&Side; 2],
    (function, level, is_guest): Key,
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
    let old = nodes[0].map(|node| sides[0].key(node).0);
    Call {
        replaces: old.filter(|old| *old != function),
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// An operation from calls in the order of their callers: name, number of the caller, own instructions.
    fn explained(calls: &[(&str, Option<usize>, u64)]) -> Explained {
        let functions = calls.iter().map(
            |(name, ..)| json!({"name": name, "image": "kvm", "level": 0, "kind": "hypervisor"}),
        );
        let mut totals = vec![0; calls.len()];
        for (call, (_, caller, own)) in calls.iter().enumerate().rev() {
            totals[call] += own;
            if let Some(caller) = *caller {
                totals[caller] += totals[call];
            }
        }
        let nodes = calls.iter().enumerate().map(|(at, (_, parent, own))| {
            json!({"function": at, "parent": parent, "calls": 1, "own": own, "total": totals[at]})
        });
        let all: u64 = calls.iter().map(|(_, _, own)| own).sum();
        let text = json!({
            "schema": "worldswitch-explain/1", "platform": "lab:kvm", "benchmark": "hypercall",
            "architecture": "x86_64", "hypervisors": 1, "samples": 1, "partial": 0, "windows": 1,
            "sum": {"attributed": all, "guest": 0, "measured": all, "intercepted": 0}, "control": 0,
            "functions": functions.collect::<Vec<_>>(), "tree": {"nodes": nodes.collect::<Vec<_>>()},
            "debug": [], "lines": [], "phases": [], "registers": [], "accessing": {}, "returns": 0,
            "traps": [], "has_accesses": false, "has_fields": false, "added": [], "others": [],
        });
        Explained::from_json(&text.to_string()).unwrap()
    }

    /// Calls as text: depth by indent, the name that is replaced, own instructions of both sides.
    fn drawn(before: &Explained, after: &Explained) -> Vec<String> {
        fn draw(calls: &[Call], depth: usize, lines: &mut Vec<String>) {
            for call in calls {
                let replaces = call.replaces.as_deref().unwrap_or_default();
                let [old, new] = call.own;
                lines.push(format!(
                    "{:depth$}{replaces}>{} {old} {new}",
                    "", call.function
                ));
                draw(&call.children, depth + 1, lines);
            }
        }
        let mut lines = Vec::new();
        draw(&calls(before, after), 0, &mut lines);
        lines
    }

    #[test]
    fn a_function_takes_the_place_of_one_that_called_the_same() {
        let before = explained(&[
            ("enter", None, 1),
            ("run", None, 9),
            ("exit", Some(1), 5),
            ("load", Some(1), 3),
            ("poll", Some(1), 2),
        ]);
        let inlined = [
            ("enter", None, 1),
            ("ioctl", None, 12),
            ("exit", Some(1), 7),
            ("load", Some(1), 3),
        ];
        assert_eq!(
            drawn(&before, &explained(&inlined)),
            [
                ">enter 1 1",
                "run>ioctl 9 12",
                " >exit 5 7",
                " >load 3 3",
                " >poll 2 0"
            ]
        );
        // With one common callee of three it is another function.
        let other = [
            ("enter", None, 1),
            ("ioctl", None, 12),
            ("exit", Some(1), 7),
        ];
        assert_eq!(
            drawn(&before, &explained(&other)),
            [
                ">enter 1 1",
                ">ioctl 0 12",
                " >exit 0 7",
                ">run 9 0",
                " >exit 5 0",
                " >load 3 0",
                " >poll 2 0"
            ]
        );
        // A function that both sides have is never replaced.
        let both = [
            ("ioctl", None, 12),
            ("exit", Some(0), 7),
            ("load", Some(0), 3),
            ("run", None, 9),
        ];
        let calls = drawn(&before, &explained(&both));
        assert!(calls.contains(&">ioctl 0 12".to_owned()), "{calls:?}");
        assert!(calls.contains(&">run 9 9".to_owned()), "{calls:?}");
    }
}
