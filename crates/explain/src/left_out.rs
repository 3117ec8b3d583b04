//! Views without the emulator's additions ([`crate::adds`]): which calls are additions, and a call tree without them.

use crate::adds::{LACKS, Lack};
use crate::place::Function;
use crate::trace::Architecture;
use crate::tree::{Node, Tree};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Additions of the emulator that a view leaves out, because a user named them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Names of lacks of the emulator.
    pub names: Vec<String>,
    /// Instructions of the most common path that are left out.
    pub instructions: u64,
    /// Instructions of its control loop that are left out, which the measurement takes off.
    pub control: u64,
}

impl LeftOut {
    /// Returns the number of instructions that the measurement would be shorter.
    pub fn measured(&self) -> i64 {
        self.instructions as i64 - self.control as i64
    }

    /// Returns all names as text.
    pub fn named(&self) -> String {
        self.names.join(", ")
    }
}

/// Returns the lacks of an architecture's emulator; only those of `names`, if names are given.
pub(crate) fn lacks(architecture: Architecture, names: Option<&[String]>) -> Vec<&'static Lack> {
    let is_named =
        |lack: &&Lack| names.is_none_or(|names| names.iter().any(|name| name == lack.name));
    let all = LACKS
        .iter()
        .filter(|lack| lack.architecture == architecture);
    all.filter(is_named).collect()
}

/// Tells for each node whether it is called because of such a lack, directly or not.
pub(crate) fn caused(tree: &Tree, functions: &[Function], lacks: &[&Lack]) -> Vec<bool> {
    let name = |node: &Node| &*functions[node.function as usize].name;
    let is_of = |node: &Node, lack: &Lack| {
        let callers = node.parent.into_iter();
        let mut callers = callers.flat_map(|caller| tree.chain(caller));
        let is_below = |below| callers.any(|caller| name(caller) == below);
        name(node) == lack.function && lack.below.is_none_or(is_below)
    };
    let mut caused: Vec<bool> = Vec::with_capacity(tree.nodes.len());
    // Parents stand before their children.
    for node in &tree.nodes {
        let by_caller = node.parent.is_some_and(|parent| caused[parent as usize]);
        caused.push(by_caller || lacks.iter().any(|lack| is_of(node, lack)));
    }
    caused
}

/// Returns the number of instructions of these nodes.
pub(crate) fn instructions(tree: &Tree, nodes: &[bool]) -> u64 {
    let nodes = tree.nodes.iter().zip(nodes).filter(|(_, is)| **is);
    nodes.map(|(node, _)| node.own).sum()
}

/// Returns the tree without these nodes. All callees of a left out node must be left out too.
pub(crate) fn without(tree: &Tree, left_out: &[bool]) -> Tree {
    let mut numbers: Vec<u32> = Vec::with_capacity(tree.nodes.len());
    let mut next = 0;
    for is_left_out in left_out {
        numbers.push(next);
        next += u32::from(!is_left_out);
    }
    let kept = |nodes: &[u32]| -> Vec<u32> {
        let nodes = nodes.iter().map(|node| *node as usize);
        nodes
            .filter(|node| !left_out[*node])
            .map(|node| numbers[node])
            .collect()
    };
    let nodes = tree.nodes.iter().zip(left_out);
    let nodes = nodes.filter(|(_, is_left_out)| !**is_left_out);
    let mut rest = Tree {
        nodes: nodes
            .map(|(node, _)| Node {
                parent: node.parent.map(|parent| numbers[parent as usize]),
                children: kept(&node.children),
                total: 0,
                ..node.clone()
            })
            .collect(),
        roots: kept(&tree.roots),
    };
    rest.add_up();
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Kind;

    /// Functions are `a` to `f`; a node is its function and its caller, and has one instruction of its own.
    fn tree(nodes: &[(u32, Option<u32>)]) -> (Tree, Vec<Function>) {
        let function = |name: char| Function {
            name: name.to_string(),
            module: None,
            image: String::new(),
            level: 0,
            kind: Kind::Kernel,
            is_inlined: false,
        };
        let node = |(function, parent): &(u32, Option<u32>)| Node {
            function: *function,
            parent: *parent,
            children: vec![],
            calls: 1,
            own: 1,
            total: 0,
        };
        let mut tree = Tree {
            nodes: nodes.iter().map(node).collect(),
            roots: vec![],
        };
        let functions: Vec<Function> = ('a'..='f').map(function).collect();
        tree.link(functions.len()).unwrap();
        tree.add_up();
        (tree, functions)
    }

    fn lack(function: &'static str, below: Option<&'static str>) -> Lack {
        Lack {
            function,
            below,
            ..LACKS[0]
        }
    }

    #[test]
    fn a_call_is_caused_with_all_that_it_calls() {
        // a > (b > c > d, c > d), e > b > c.
        let (tree, functions) = tree(&[
            (0, None),
            (1, Some(0)),
            (2, Some(1)),
            (3, Some(2)),
            (2, Some(0)),
            (3, Some(4)),
            (4, None),
            (1, Some(6)),
            (2, Some(7)),
        ]);
        let of = |lacks: &[Lack]| {
            let found = caused(&tree, &functions, &lacks.iter().collect::<Vec<_>>());
            let nodes = (0..).zip(&found).filter(|(_, is)| **is);
            (
                nodes.map(|(node, _)| node).collect::<Vec<u32>>(),
                instructions(&tree, &found),
            )
        };
        assert_eq!(of(&[lack("c", None)]), (vec![2, 3, 4, 5, 8], 5));
        assert_eq!(of(&[lack("c", Some("a"))]), (vec![2, 3, 4, 5], 4));
        assert_eq!(of(&[lack("c", Some("b"))]), (vec![2, 3, 8], 3));
        // What both cause counts once.
        assert_eq!(
            of(&[lack("c", Some("b")), lack("d", None)]),
            (vec![2, 3, 5, 8], 4)
        );
        assert_eq!(of(&[lack("f", None)]), (vec![], 0));
    }

    #[test]
    fn a_tree_without_calls_is_linked_and_added_up() {
        let (tree, _) = tree(&[
            (0, None),
            (1, Some(0)),
            (2, Some(1)),
            (3, Some(0)),
            (4, Some(3)),
            (5, None),
        ]);
        let rest = without(&tree, &[false, true, true, false, false, false]);
        let nodes: Vec<(u32, Option<u32>, u64, &[u32])> = rest
            .nodes
            .iter()
            .map(|node| (node.function, node.parent, node.total, &*node.children))
            .collect();
        let wanted: [(u32, Option<u32>, u64, &[u32]); 4] = [
            (0, None, 3, &[1]),
            (3, Some(0), 2, &[2]),
            (4, Some(1), 1, &[]),
            (5, None, 1, &[]),
        ];
        assert_eq!(nodes, wanted);
        assert_eq!(rest.roots, [0, 3]);
        assert_eq!(without(&tree, &[false; 6]), tree);
    }
}
