//! A stream with its functions.

use super::stream::{Item, Stream};
use crate::place::{Function, Kind, Machine, Places};
use crate::trace::Architecture;
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::Range;

/// An executed instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct At {
    /// The CPU that executed the instruction.
    pub cpu: u8,
    /// The function, with its level.
    pub function: Function,
    /// Bytes from the function's beginning, or from its page's if the function is not known.
    pub offset: u64,
    /// Virtual address of the instruction.
    pub address: u64,
    /// Bytes of the instruction, in hexadecimal.
    pub code: String,
}

/// Instructions of one function that were executed one after another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Run {
    /// The first of these instructions.
    pub at: At,
    /// Number of instructions.
    pub instructions: u64,
}

/// A stream, and the function of each of its last instructions.
pub struct Placed<'a> {
    pub stream: &'a Stream,
    places: Places<'a>,
    /// Function of each item: an index of [`Places::functions`].
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

    /// Returns all instructions in the order of their first execution, with their functions. Code that may be of
    /// several levels above the machine's own gets the level of the instruction that was executed first before it.
    pub fn firsts(stream: &'a Stream, machine: &'a Machine) -> Vec<(u64, Function)> {
        let trace = stream.trace();
        let order = stream.order();
        let mut places = Places::of_boot(&trace, machine, &order);
        let path = places.path(&order);
        let one = |(insn, place): (&u32, &crate::place::Place)| {
            let first = stream.firsts[*insn as usize];
            let mut function = places.functions[place.function as usize].clone();
            correct(&mut function, stream.architecture, first.is_in_vm);
            (first.at, function)
        };
        order.iter().zip(&path).map(one).collect()
    }

    /// Returns the instruction that was executed after so many others.
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

    /// The function of an item.
    fn function(&self, index: usize, item: &Item) -> Function {
        let mut function = self.places.functions[self.functions[index] as usize].clone();
        correct(&mut function, self.stream.architecture, item.is_in_vm);
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

    /// Returns the runs from an instruction on, at most `most`.
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

    /// Returns the last runs before an instruction, at most `most`. Perhaps only the end of the first run was recorded.
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

/// Corrects a level on x86, where the recording says whether an instruction was executed in a VM, by VMRUN. Code there
/// that is in no known image is the VM's.
fn correct(function: &mut Function, architecture: Architecture, is_in_vm: bool) {
    if architecture != Architecture::X86_64 {
        return;
    }
    match is_in_vm {
        true => function.level = function.level.max(1),
        false => function.level = 0,
    }
    if is_in_vm && function.image.is_empty() {
        function.kind = Kind::Guest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vmrun_tells_levels_better_than_what_ran_before() {
        let corrected = |level, image: &str, architecture, is_in_vm| {
            let mut function = Function {
                name: "f".into(),
                module: None,
                image: image.into(),
                level,
                kind: Kind::Kernel,
                is_inlined: false,
            };
            correct(&mut function, architecture, is_in_vm);
            (function.level, function.kind)
        };
        let x86 = Architecture::X86_64;
        assert_eq!(corrected(1, "Linux", x86, false), (0, Kind::Kernel));
        assert_eq!(corrected(0, "Linux", x86, true), (1, Kind::Kernel));
        assert_eq!(corrected(2, "Linux", x86, true), (2, Kind::Kernel));
        assert_eq!(corrected(0, "", x86, true), (1, Kind::Guest));
        let arm = Architecture::Aarch64;
        assert_eq!(corrected(1, "Linux", arm, false), (1, Kind::Kernel));
    }
}
