//! The call tree with inlined functions in it. Each instruction stays one, so own and total counts add up as before.

use super::Sites;
use crate::place::Function;
use crate::tree::{Node, Tree, Walk};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// Instructions of a line of the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LineCount {
    /// Index in [`crate::explained::Explained::functions`]: the innermost function of the line's instructions, inlined
    /// or not.
    pub function: u32,
    /// The file, below the folder of the source.
    pub file: String,
    /// Number of the line, from 1.
    pub line: u32,
    /// Number of instructions.
    pub instructions: u64,
}

/// Puts inlined functions into the tree of a path, below the functions that contain them. Functions that an inlined one
/// calls are below it. `functions` gains the inlined ones. Nodes of the walk that are `left_out` are in neither tree
/// nor lines.
pub(crate) fn expand(
    walk: &Walk,
    path: &[u32],
    left_out: &[bool],
    sites: &Sites,
    functions: &mut Vec<Function>,
) -> (Tree, Vec<LineCount>) {
    let mut expander = Expander {
        functions,
        tree: Tree::default(),
        children: HashMap::new(),
        inlined: HashMap::new(),
        last: vec![None; walk.tree.nodes.len()],
    };
    let mut lines: BTreeMap<(u32, Rc<str>, u32), u64> = BTreeMap::new();
    let steps = path.iter().zip(&walk.nodes).zip(&walk.is_call);
    for ((insn, node), is_call) in steps.filter(|((_, node), _)| !left_out[**node as usize]) {
        let site = sites.get(*insn);
        let names = site.map_or(&[][..], |site| &site.inlined);
        let own = expander.step(walk, *node, *is_call, names);
        if let Some((file, line)) = site.and_then(|site| site.line.clone()) {
            let function = expander.tree.nodes[own as usize].function;
            *lines.entry((function, file, line)).or_default() += 1;
        }
    }
    expander.tree.add_up();
    let line = |((function, file, line), instructions): ((u32, Rc<str>, u32), u64)| LineCount {
        function,
        file: file.to_string(),
        line,
        instructions,
    };
    (expander.tree, lines.into_iter().map(line).collect())
}

struct Expander<'a> {
    functions: &'a mut Vec<Function>,
    tree: Tree,
    children: HashMap<(Option<u32>, u32), u32>,
    /// Index of an inlined function, by the function with the symbol and the inlined one's name.
    inlined: HashMap<(u32, Rc<str>), u32>,
    /// Node of the last instruction, for each node of the walk. The next function that it calls is called from there.
    last: Vec<Option<u32>>,
}

impl Expander<'_> {
    /// Counts an instruction of a node of the walk; returns its node in the new tree.
    fn step(&mut self, walk: &Walk, node: u32, is_call: bool, names: &[Rc<str>]) -> u32 {
        let Node {
            function, parent, ..
        } = walk.tree.nodes[node as usize];
        let caller = parent.and_then(|parent| self.last[parent as usize]);
        let mut own = self.child(caller, function);
        self.tree.nodes[own as usize].calls += u64::from(is_call);
        for name in names {
            let inlined = self.inlined(function, name);
            own = self.child(Some(own), inlined);
        }
        self.tree.nodes[own as usize].own += 1;
        self.last[node as usize] = Some(own);
        own
    }

    fn child(&mut self, parent: Option<u32>, function: u32) -> u32 {
        let next = self.tree.nodes.len() as u32;
        let node = *self.children.entry((parent, function)).or_insert(next);
        if node == next {
            self.tree.add(parent, function);
        }
        node
    }

    /// Returns the function of this name that is inlined into `within`. Code of the same level and software has one
    /// such function.
    fn inlined(&mut self, within: u32, name: &Rc<str>) -> u32 {
        let key = (within, Rc::clone(name));
        if let Some(known) = self.inlined.get(&key) {
            return *known;
        }
        let function = Function {
            name: name.to_string(),
            is_inlined: true,
            ..self.functions[within as usize].clone()
        };
        let known = self.functions.iter().position(|known| *known == function);
        let index = known.unwrap_or_else(|| {
            self.functions.push(function);
            self.functions.len() - 1
        });
        self.inlined.insert(key, index as u32);
        index as u32
    }
}

/// Returns the tree in which inlined functions that are not to be kept are part of their callers again.
pub(crate) fn fold(tree: &Tree, functions: &[Function], keeps: impl Fn(&Function) -> bool) -> Tree {
    let mut kept: Vec<u32> = Vec::with_capacity(tree.nodes.len());
    let mut nodes = tree.nodes.clone();
    for index in 0..nodes.len() {
        let function = &functions[nodes[index].function as usize];
        let parent = nodes[index].parent.map(|parent| kept[parent as usize]);
        nodes[index].parent = parent;
        let into = parent.filter(|_| function.is_inlined && !keeps(function));
        kept.push(into.unwrap_or(index as u32));
        if let Some(into) = into {
            nodes[into as usize].own += nodes[index].own;
            nodes[index].own = 0;
            nodes[index].total = 0;
        }
    }
    Tree {
        nodes,
        roots: tree.roots.clone(),
    }
}
