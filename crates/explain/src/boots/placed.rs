//! A stream with its functions.

use super::stream::{Item, Stream};
use crate::place::{Function, Kind, Machine, Places};
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::Range;

/// An executed instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct At {
    /// The CPU.
    pub cpu: u8,
    /// The function, with its level.
    pub function: Function,
    /// Bytes from the function's beginning, or from its page's if the function is not known.
    pub offset: u64,
    /// Virtual.
    pub address: u64,
    /// Its bytes, in hexadecimal.
    pub code: String,
}

/// Instructions of one function that were executed one after another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Run {
    /// The first of them.
    pub at: At,
    /// How many.
    pub instructions: u64,
}

/// A stream, and the function of each of its last instructions.
pub struct Placed<'a> {
    pub stream: &'a Stream,
    places: Places<'a>,
    /// Of each item: an index of [`Places::functions`].
    functions: Vec<u32>,
}

impl<'a> Placed<'a> {
    pub fn of(stream: &'a Stream, machine: &'a Machine) -> Self {
        let trace = stream.trace();
        let mut places = Places::of_boot(&trace, machine, &stream.order());
        let path = trace.paths.first();
        let path = path.map_or(Vec::new(), |path| places.path(&path.insns));
        Self {
            stream,
            places,
            functions: path.into_iter().map(|place| place.function).collect(),
        }
    }

    /// All instructions in the order of their first execution, with their functions; the levels of code that may be of
    /// several levels are those of what was executed first before it.
    pub fn firsts(stream: &'a Stream, machine: &'a Machine) -> Vec<(u64, Function)> {
        let trace = stream.trace();
        let order = stream.order();
        let mut places = Places::of_boot(&trace, machine, &order);
        let path = places.path(&order);
        let one = |(insn, place): (&u32, &crate::place::Place)| {
            let function = places.functions[place.function as usize].clone();
            (stream.firsts[*insn as usize], function)
        };
        order.iter().zip(&path).map(one).collect()
    }

    /// What was executed after so many instructions.
    pub fn at(&self, executed_before: u64) -> Option<At> {
        let item = self.stream.item(executed_before)?;
        let index = usize::try_from(executed_before - self.stream.begin()).ok()?;
        let insn = &self.stream.insns[item.insn as usize];
        Some(At {
            cpu: item.cpu,
            function: self.function(index, item),
            offset: self.places.offset(item.insn as usize),
            address: insn.address,
            code: insn.bytes().iter().map(|b| format!("{b:02x}")).collect(),
        })
    }

    /// The function of an item. What runs in a VM and in no known image is the VM's.
    fn function(&self, index: usize, item: &Item) -> Function {
        let mut function = self.places.functions[self.functions[index] as usize].clone();
        if item.is_in_vm && function.image.is_empty() {
            function.level = function.level.max(1);
            function.kind = Kind::Guest;
        }
        function
    }

    /// Whether two items are of the same function on the same CPU.
    fn is_same(&self, a: u64, b: u64) -> bool {
        let key = |at: u64| {
            let item = self.stream.item(at)?;
            let index = usize::try_from(at - self.stream.begin()).ok()?;
            Some((item.cpu, item.is_in_vm, self.functions.get(index)?))
        };
        key(a) == key(b)
    }

    /// The runs from an instruction on, at most so many.
    pub fn next(&self, from: u64, most: usize) -> Vec<Run> {
        let mut runs = Vec::new();
        let mut at = from;
        while runs.len() < most && at < self.stream.executed {
            let begin = at;
            while at < self.stream.executed && self.is_same(begin, at) {
                at += 1;
            }
            runs.extend(self.run(begin..at));
        }
        runs
    }

    /// The last runs before an instruction, at most so many; of the first of them perhaps only the end was kept.
    pub fn before(&self, end: u64, most: usize) -> Vec<Run> {
        let mut runs = Vec::new();
        let mut end = end;
        while runs.len() < most && end > self.stream.begin() {
            let mut at = end;
            while at > self.stream.begin() && self.is_same(at - 1, end - 1) {
                at -= 1;
            }
            runs.extend(self.run(at..end));
            end = at;
        }
        runs.reverse();
        runs
    }

    fn run(&self, range: Range<u64>) -> Option<Run> {
        Some(Run {
            at: self.at(range.start)?,
            instructions: range.end - range.start,
        })
    }
}
