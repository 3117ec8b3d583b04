//! The call tree of a path, by a shadow stack for each level.
//!
//! Every executed instruction belongs to one node, so the nodes' own counts always add up to the path's length. Calls
//! of one function by the same caller share a node; nodes are in the order of time of their first call. A function that
//! was called before the path began has no caller in it, and is a root.

use crate::flow::Flow;
use crate::place::{Function, Kind, Place};
use crate::trace::{Architecture, Insn, Trace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A function, called by its parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// Index in the list of functions.
    pub function: u32,
    /// Node of the caller; null for a function that was called before the path began.
    pub parent: Option<u32>,
    /// Nodes that the function called, in the order of time of the first call.
    #[serde(skip)]
    pub children: Vec<u32>,
    /// Number of calls; of a root, of entries.
    pub calls: u64,
    /// Instructions of the function itself.
    pub own: u64,
    /// Instructions of the function and of all its callees.
    pub total: u64,
}

/// The nodes of a path; a parent comes before its children.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tree {
    /// All nodes.
    pub nodes: Vec<Node>,
    /// Nodes without a caller, in the order of time.
    #[serde(skip)]
    pub roots: Vec<u32>,
}

/// An instruction after which other code ran that the instruction did not call: an interrupt, a fault, an exit to a
/// hypervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interruption {
    /// The last instruction before the interruption, as its index in the path; the other code begins after it.
    pub before: usize,
    /// Index at which the interrupted code continued; None if it never did.
    pub after: Option<usize>,
}

/// A path that was followed.
#[derive(Clone, Debug)]
pub struct Walk {
    /// Call tree of the path.
    pub tree: Tree,
    /// The node of each instruction of the path.
    pub nodes: Vec<u32>,
    /// Whether each instruction begins a call of its node.
    pub is_call: Vec<bool>,
    /// Interruptions in the order of time of their beginning.
    pub interruptions: Vec<Interruption>,
}

/// The event that ends a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Back {
    /// None that is known: the frame's caller is not in the path.
    Root,
    /// The event that ends the frame below: the frame was jumped to.
    Tail,
    /// A return to this address.
    Call(u64),
    /// A return from this interruption.
    Exception(usize),
    /// A system call at this index of the path.
    System(usize),
    /// Any return to a frame below: the frame began with a guest's exit.
    Exit,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    node: u32,
    back: Back,
}

/// Stack of one level.
#[derive(Clone, Debug, Default)]
struct Stack {
    frames: Vec<Frame>,
    /// Last instruction of the level, as the index in the path.
    last: Option<usize>,
    /// Exit that the level has not returned from, as the index in the interruptions.
    open: Option<usize>,
}

/// Follows a path. `places` are those of its instructions.
pub fn walk(
    trace: &Trace,
    flows: &[Flow],
    path: &[u32],
    places: &[Place],
    functions: &[Function],
) -> Walk {
    let mut walker = Walker {
        trace,
        flows,
        path,
        places,
        functions,
        // A level is a byte.
        stacks: vec![Stack::default(); 256],
        tree: Tree::default(),
        children: HashMap::new(),
        interruptions: Vec::new(),
        calls: 0,
    };
    let mut nodes = Vec::with_capacity(path.len());
    let mut is_call = Vec::with_capacity(path.len());
    for at in 0..path.len() {
        let before = walker.calls;
        nodes.push(walker.step(at));
        is_call.push(walker.calls > before);
    }
    walker.tree.add_up();
    Walk {
        tree: walker.tree,
        nodes,
        is_call,
        interruptions: walker.interruptions,
    }
}

struct Walker<'a> {
    trace: &'a Trace,
    flows: &'a [Flow],
    path: &'a [u32],
    places: &'a [Place],
    functions: &'a [Function],
    /// Stacks by level.
    stacks: Vec<Stack>,
    tree: Tree,
    children: HashMap<(Option<u32>, u32), u32>,
    interruptions: Vec<Interruption>,
    /// Calls of all nodes, until now; an instruction begins at most one.
    calls: u64,
}

impl Walker<'_> {
    fn insn(&self, at: usize) -> &Insn {
        &self.trace.insns[self.path[at] as usize]
    }

    fn flow(&self, at: usize) -> Flow {
        self.flows[self.path[at] as usize]
    }

    fn level(&self, at: usize) -> usize {
        usize::from(self.functions[self.places[at].function as usize].level)
    }

    /// Follows the next instruction: returns its node.
    fn step(&mut self, at: usize) -> u32 {
        let level = self.level(at);
        if at > 0 && self.level(at - 1) > level {
            let above = self.level(at - 1);
            self.stacks[above].open = Some(self.interruptions.len());
            let before = at - 1;
            self.interruptions.push(Interruption {
                before,
                after: None,
            });
        }
        if let Some(open) = self.stacks[level].open.take() {
            self.interruptions[open].after = Some(at);
        }
        let function = self.places[at].function;
        let node = if self.functions[function as usize].kind == Kind::Guest {
            // Without a hypervisor the firmware has the guest's level, and has returned.
            self.stacks[level].frames.clear();
            self.child(None, function, at)
        } else {
            self.follow(level, at);
            self.stacks[level]
                .frames
                .last()
                .map_or(0, |frame| frame.node)
        };
        self.stacks[level].last = Some(at);
        self.tree.nodes[node as usize].own += 1;
        node
    }

    /// Brings the stack of a level to its next instruction.
    fn follow(&mut self, level: usize, at: usize) {
        let Some(last) = self.stacks[level].last else {
            return self.root(level, at);
        };
        let (from, to) = (*self.insn(last), self.insn(at).address);
        let flow = self.flow(last);
        if last + 1 == at {
            return self.transfer(level, last, at);
        }
        let came_down = self.level(at - 1) > level;
        match (came_down, flow) {
            (true, Flow::EnterGuest) if from.next() == to => self.jump(level, at),
            (true, _) if self.trace.architecture == Architecture::Riscv64 => {
                self.exit_on_riscv(level, at);
            }
            (true, _) => self.push(level, at, Back::Exit),
            // A trap of this level was handled below it, and the level goes on.
            (false, _) if from.address == to => {}
            (false, Flow::SystemCall | Flow::ExceptionReturn) => self.jump(level, at),
            // The exit of a nested guest, which the level below forwards.
            (false, Flow::EnterGuest) if from.next() != to => self.push(level, at, Back::Exit),
            (false, _) => self.transfer(level, last, at),
        }
    }

    /// Follows the exit of a guest. KVM points stvec at the instruction after its SRET, in the same function.
    fn exit_on_riscv(&mut self, level: usize, at: usize) {
        // The firmware may have taken an interrupt of the guest and returned to the guest, unseen by KVM.
        while self.stacks[level]
            .frames
            .last()
            .is_some_and(|top| self.is_firmware(self.function(top)))
        {
            self.stacks[level].frames.pop();
        }
        match self.stacks[level].frames.is_empty() {
            true => self.root(level, at),
            false if self.is_top(level, at) => {}
            false => self.push(level, at, Back::Exit),
        }
    }

    fn is_firmware(&self, function: u32) -> bool {
        self.functions[function as usize].kind == Kind::Firmware
    }

    /// Moves from one instruction of a level to its next one.
    fn transfer(&mut self, level: usize, last: usize, at: usize) {
        let (from, to) = (*self.insn(last), self.insn(at).address);
        let flow = self.flow(last);
        let is_free = match flow {
            Flow::Call(None) | Flow::Jump(None) | Flow::Return => true,
            // An interrupt that was pending when its mask ended.
            Flow::ExceptionReturn => self.trace.architecture == Architecture::Riscv64,
            _ => false,
        };
        if !flow.leads(&from, to) || is_free && self.is_vector(last, at) {
            let before = last;
            self.interruptions.push(Interruption {
                before,
                after: None,
            });
            return self.push(level, at, Back::Exception(self.interruptions.len() - 1));
        }
        match flow {
            // A call that stays in the function only fills the return stack of the processor.
            Flow::Call(_) if self.is_top(level, at) && !self.places[at].is_start => {}
            Flow::Call(_) => self.push(level, at, Back::Call(from.next())),
            Flow::Return => self.come_back(level, at),
            Flow::SystemCall => self.push(level, at, Back::System(last)),
            Flow::ExceptionReturn => self.resume(level, at),
            Flow::Plain | Flow::Branch(_) | Flow::Jump(_) | Flow::EnterGuest => {
                self.jump(level, at);
            }
        }
    }

    /// Whether the stack's innermost function is that of the instruction.
    fn is_top(&self, level: usize, at: usize) -> bool {
        let top = self.stacks[level].frames.last();
        top.is_some_and(|top| self.function(top) == self.places[at].function)
    }

    fn function(&self, frame: &Frame) -> u32 {
        self.tree.nodes[frame.node as usize].function
    }

    /// Follows a jump, or goes on to the next instruction. Another function was called instead of this one's rest.
    fn jump(&mut self, level: usize, at: usize) {
        if self.is_top(level, at) {
            return;
        }
        let function = self.places[at].function;
        let frames = &self.stacks[level].frames;
        let Some(top) = frames.last().copied() else {
            return self.root(level, at);
        };
        if is_thunk(&self.functions[self.function(&top) as usize].name) {
            self.stacks[level].frames.pop();
            return self.push(level, at, top.back);
        }
        // A jump back into a function that jumped away.
        let tails = frames
            .iter()
            .rev()
            .take_while(|frame| frame.back == Back::Tail);
        let chain = tails.count() + 1;
        let earlier = frames.iter().rev().take(chain);
        let found = earlier
            .clone()
            .position(|frame| self.function(frame) == function);
        match found {
            Some(above) if !self.places[at].is_start => {
                let kept = frames.len() - above;
                self.stacks[level].frames.truncate(kept);
            }
            _ => self.push(level, at, Back::Tail),
        }
    }

    fn come_back(&mut self, level: usize, at: usize) {
        let back = Back::Call(self.insn(at).address);
        let frames = &mut self.stacks[level].frames;
        match frames.iter().rposition(|frame| frame.back == back) {
            Some(found) => {
                frames.truncate(found);
                self.jump(level, at);
            }
            // A thunk's return is a jump, and so is the return of an entry that nobody called.
            None if self.places[at].is_start || self.was_interrupted(level) => self.jump(level, at),
            None => self.root(level, at),
        }
    }

    /// Whether the innermost function was entered by no call.
    fn was_interrupted(&self, level: usize) -> bool {
        let top = self.stacks[level].frames.last().map(|frame| frame.back);
        matches!(top, Some(Back::Exception(_) | Back::System(_) | Back::Exit))
    }

    /// Follows a return from an exception or a system call.
    fn resume(&mut self, level: usize, at: usize) {
        let to = self.insn(at).address;
        let frames = &self.stacks[level].frames;
        let found = frames.iter().rposition(|frame| match frame.back {
            Back::System(before) => self.insn(before).next() == to,
            Back::Exception(index) => {
                let before = self.interruptions[index].before;
                let from = self.insn(before);
                from.address == to || from.next() == to || self.flow(before).leads(from, to)
            }
            _ => false,
        });
        let Some(found) = found else {
            let same = frames
                .iter()
                .rposition(|frame| self.function(frame) == self.places[at].function);
            return match same {
                Some(same) => self.stacks[level].frames.truncate(same + 1),
                None => self.root(level, at),
            };
        };
        let back = frames[found].back;
        self.stacks[level].frames.truncate(found);
        let Back::Exception(index) = back else {
            return self.jump(level, at);
        };
        self.interruptions[index].after = Some(at);
        let before = self.interruptions[index].before;
        let from = *self.insn(before);
        match from.address == to || !self.flow(before).leads(&from, to) {
            true => self.jump(level, at),
            // The interruption came just after a call or a return, which takes effect only now.
            false => self.transfer(level, before, at),
        }
    }

    fn root(&mut self, level: usize, at: usize) {
        self.stacks[level].frames.clear();
        self.push(level, at, Back::Root);
    }

    fn push(&mut self, level: usize, at: usize, back: Back) {
        let parent = self.stacks[level].frames.last().map(|frame| frame.node);
        let node = self.child(parent, self.places[at].function, at);
        let back = if parent.is_none() { Back::Root } else { back };
        self.stacks[level].frames.push(Frame { node, back });
    }

    /// Returns the node of a function under its caller, and counts a call.
    fn child(&mut self, parent: Option<u32>, function: u32, at: usize) -> u32 {
        let next = self.tree.nodes.len() as u32;
        let node = *self.children.entry((parent, function)).or_insert(next);
        if node == next {
            self.tree.add(parent, function);
        }
        // The guest has no stack: a function is called anew if another one of the guest ran before.
        let goes_on = at > 0 && self.places[at - 1].function == function && parent.is_none();
        self.tree.nodes[node as usize].calls += u64::from(!goes_on);
        self.calls += u64::from(!goes_on);
        node
    }

    /// Whether an instruction is the first of an exception's handler; `last` is the level's instruction before it.
    fn is_vector(&self, last: usize, at: usize) -> bool {
        let name = &self.functions[self.places[at].function as usize].name;
        match self.trace.architecture {
            Architecture::X86_64 => self.places[at].is_start && is_x86_vector(name),
            Architecture::Aarch64 => arm_vector(self.insn(at)).is_some() && name.contains("vector"),
            // Linux: arch/riscv/kernel/entry.S.
            Architecture::Riscv64 => {
                let is_trap = self.places[at].is_start && name == RISCV_HANDLER;
                let is_firmware = |at: usize| self.is_firmware(self.places[at].function);
                is_trap || is_firmware(at) && !is_firmware(last)
            }
        }
    }
}

/// Whether a name is that of an entry of exceptions and interrupts in Linux (arch/x86/include/asm/idtentry.h) or Xen
/// (`entry_PF`, arch/x86/x86_64/entry.S).
pub fn is_x86_vector(name: &str) -> bool {
    let of_xen = name.strip_prefix("entry_");
    of_xen.is_some_and(|vector| vector.starts_with(|c: char| c.is_ascii_uppercase()))
        || name.starts_with("asm_exc_")
        || name.starts_with("asm_sysvec_")
        || name.starts_with("asm_common_")
        || name == "irq_entries_start"
        || name == "asm_spurious_interrupt"
}

/// Linux' entry of all traps on RISC-V: exceptions, interrupts, system calls.
pub const RISCV_HANDLER: &str = "handle_exception";

/// Returns the offset in a vector table, if an instruction is at the beginning of a vector: 16 vectors of 128 bytes
/// (DDI 0487, D1.3.1).
pub fn arm_vector(insn: &Insn) -> Option<u64> {
    (insn.address & 0x7f == 0).then_some(insn.address & 0x780)
}

/// Whether a function only jumps to the target in a register or at a patched address: retpolines, Linux's static calls.
fn is_thunk(name: &str) -> bool {
    name.starts_with("__x86_indirect_") || name.starts_with("__SCT__")
}

impl Tree {
    /// Adds a node, below its caller.
    pub(crate) fn add(&mut self, parent: Option<u32>, function: u32) {
        let node = self.nodes.len() as u32;
        self.nodes.push(Node {
            function,
            parent,
            children: Vec::new(),
            calls: 0,
            own: 0,
            total: 0,
        });
        match parent {
            Some(parent) => self.nodes[parent as usize].children.push(node),
            None => self.roots.push(node),
        }
    }

    /// Adds up the totals. Parents come before their children, so one pass from the end is enough.
    pub(crate) fn add_up(&mut self) {
        for index in (0..self.nodes.len()).rev() {
            self.nodes[index].total += self.nodes[index].own;
            let total = self.nodes[index].total;
            if let Some(parent) = self.nodes[index].parent {
                self.nodes[parent as usize].total += total;
            }
        }
    }

    /// Checks nodes that come from a file and refer to one of `functions` functions; finds roots and children.
    pub(crate) fn link(&mut self, functions: usize) -> Result<(), String> {
        for index in 0..self.nodes.len() {
            let Node {
                parent, function, ..
            } = self.nodes[index];
            if function as usize >= functions {
                return Err(format!(
                    "node {index} is of function {function} of {functions}"
                ));
            }
            match parent {
                None => self.roots.push(index as u32),
                Some(parent) if (parent as usize) < index => {
                    self.nodes[parent as usize].children.push(index as u32);
                }
                Some(parent) => return Err(format!("node {index} is called by node {parent}")),
            }
        }
        Ok(())
    }

    /// Returns a node and its callers, from the inside out.
    pub fn chain(&self, node: u32) -> impl Iterator<Item = &Node> {
        let first = self.nodes.get(node as usize);
        std::iter::successors(first, |node| self.nodes.get(node.parent? as usize))
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
