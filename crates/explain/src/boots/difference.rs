//! The first executed instruction at which two boots differ.

use super::placed::{At, Placed, Run};
use super::stream::Stream;
use crate::place::Machine;
use schemars::JsonSchema;
use serde::Serialize;

/// Runs of functions that are kept before the difference.
const BEFORE: usize = 6;

/// The kind of difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// A halt has another length: in one boot the clock skips more time.
    Halt,
    /// Another CPU goes on.
    Cpu,
    /// Another instruction is executed.
    Instruction,
    /// A boot has ended, or executes nothing more.
    End,
}

/// A boot at the difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Side {
    /// The first instruction that is not the same in the other boot; nothing if this boot has ended.
    pub at: Option<At>,
    /// Time that the clock skipped just before that instruction, in a halt.
    pub skipped_ns: u64,
    /// The instructions that the boot executes from there on, function by function.
    pub next: Vec<Run>,
}

/// The first difference of two boots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// Number of equal instructions that both boots execute before the difference.
    pub equal: u64,
    /// The kind of difference.
    pub what: What,
    /// The last instruction that is the same in both; nothing if there is none.
    pub last: Option<At>,
    /// The instructions that both execute just before the difference, function by function.
    pub before: Vec<Run>,
    /// Both boots.
    pub sides: [Side; 2],
}

/// Reasons why no difference is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DifferenceError {
    /// The plugin's hashes differ where its instructions do not.
    #[error(
        "the hashes of both boots differ, but not their recorded instructions: please report it with both machines' names"
    )]
    Same,
    /// The recorded parts of both boots do not overlap.
    #[error(
        "the recorded instructions of both boots do not overlap: please report it with both machines' names"
    )]
    Apart,
}

/// Finds the first difference in the last instructions of two boots, before which they are the same. `next`: number of
/// runs of functions that are listed after it, for each boot. None if both have ended and one only has some
/// instructions more: after a power-off the host decides how many an emulator still executes.
///
/// # Errors
/// The recorded instructions show no difference and the boots have not ended, or they do not overlap.
pub fn difference(
    streams: [&Stream; 2],
    machines: [&Machine; 2],
    next: usize,
) -> Result<Option<Difference>, DifferenceError> {
    let Some((equal, what)) = first_difference(streams)? else {
        return Ok(None);
    };
    let placed = [
        Placed::of(streams[0], machines[0]),
        Placed::of(streams[1], machines[1]),
    ];
    let side = |placed: &Placed<'_>| Side {
        at: placed.at(equal),
        skipped_ns: placed.stream.item(equal).map_or(0, |item| item.skipped_ns),
        next: placed.next(equal, next),
    };
    Ok(Some(Difference {
        equal,
        what,
        last: equal.checked_sub(1).and_then(|last| placed[0].at(last)),
        before: placed[0].before(equal, BEFORE),
        sides: [side(&placed[0]), side(&placed[1])],
    }))
}

/// Returns the number of equal instructions, and the kind of the difference; see [`difference`].
pub fn first_difference([a, b]: [&Stream; 2]) -> Result<Option<(u64, What)>, DifferenceError> {
    let have_ended = a.has_ended && b.has_ended;
    let begin = a.begin().max(b.begin());
    if begin > a.executed.min(b.executed) {
        return Err(DifferenceError::Apart);
    }
    for at in begin..=a.executed.max(b.executed) {
        let (one, other) = match (a.item(at), b.item(at)) {
            (Some(one), Some(other)) => (one, other),
            (None, None) => break,
            _ if have_ended => break,
            _ => return Ok(Some((at, What::End))),
        };
        // Locations are addresses of one emulator's process, so they are not compared.
        let key = |stream: &Stream, insn: u32| {
            let insn = stream.insns[insn as usize];
            (insn.address, insn.bytes().to_vec())
        };
        let what = if one.cpu != other.cpu {
            What::Cpu
        } else if one.skipped_ns != other.skipped_ns {
            What::Halt
        } else if key(a, one.insn) != key(b, other.insn) {
            What::Instruction
        } else {
            continue;
        };
        return Ok(Some((at, what)));
    }
    match have_ended {
        true => Ok(None),
        false => Err(DifferenceError::Same),
    }
}

#[cfg(test)]
mod tests {
    use super::super::stream::{First, Item};
    use super::*;
    use crate::place::{Image, Role};
    use crate::symbols::Symbols;
    use crate::trace::{Architecture, Insn};

    fn machine() -> Machine {
        let symbols = Symbols::of_kernel("1000 T main\n100 T work\n100 T handler\n").unwrap();
        Machine {
            name: "lab:test".into(),
            hypervisors: 0,
            images: vec![Image {
                name: "guest".into(),
                role: Role::Guest,
                symbols,
                bias: 0,
                code: None,
            }],
        }
    }

    /// A stream of these addresses, of which the first ones were not kept; each is executed on a CPU after a halt.
    fn stream(base: u64, dropped: usize, executed: &[(u64, u8, u64)]) -> Stream {
        let mut insns = Vec::new();
        let mut firsts = Vec::new();
        let mut items = Vec::new();
        for (number, (address, cpu, skipped_ns)) in (1..).zip(executed) {
            let insn = Insn::new(*address, base + address, &[0x90]);
            let index = insns.iter().position(|known| *known == insn);
            let index = index.unwrap_or_else(|| {
                insns.push(insn);
                firsts.push(First {
                    at: number,
                    is_in_vm: false,
                });
                insns.len() - 1
            });
            items.push(Item {
                insn: index as u32,
                cpu: *cpu,
                is_in_vm: false,
                skipped_ns: *skipped_ns,
            });
        }
        items.drain(..dropped);
        Stream {
            architecture: Architecture::X86_64,
            has_clock: true,
            has_ended: false,
            executed: executed.len() as u64,
            insns,
            firsts,
            items,
        }
    }

    const COMMON: [(u64, u8, u64); 4] = [
        (0x1000, 0, 0),
        (0x1001, 0, 0),
        (0x1100, 0, 0),
        (0x1101, 0, 0),
    ];

    fn both(
        a: &[(u64, u8, u64)],
        b: &[(u64, u8, u64)],
        have_ended: [bool; 2],
    ) -> Result<Option<Difference>, DifferenceError> {
        let machine = machine();
        let mut streams = [
            stream(0x70_0000, 0, &[&COMMON, a].concat()),
            stream(0x90_0000, 1, &[&COMMON, b].concat()),
        ];
        for (stream, has_ended) in streams.iter_mut().zip(have_ended) {
            stream.has_ended = has_ended;
        }
        difference([&streams[0], &streams[1]], [&machine; 2], 2)
    }

    fn found(a: &[(u64, u8, u64)], b: &[(u64, u8, u64)]) -> Difference {
        both(a, b, [false; 2]).unwrap().unwrap()
    }

    fn runs(runs: &[Run]) -> Vec<(String, u64)> {
        let run = |run: &Run| (run.at.function.name.clone(), run.instructions);
        runs.iter().map(run).collect()
    }

    #[test]
    fn another_instruction_is_found_with_what_is_around_it() {
        let found = found(
            &[
                (0x1102, 0, 0),
                (0x1200, 0, 0),
                (0x1201, 0, 0),
                (0x1005, 0, 0),
            ],
            &[(0x1102, 0, 0), (0x1103, 0, 0)],
        );
        assert_eq!((found.equal, found.what), (5, What::Instruction));
        assert_eq!(found.last.unwrap().offset, 2);
        let name = |name: &str, count| (name.to_owned(), count);
        assert_eq!(runs(&found.before), [name("main", 2), name("work", 3)]);
        let [a, b] = &found.sides;
        assert_eq!(a.at.as_ref().unwrap().function.name, "handler");
        assert_eq!(runs(&a.next), [name("handler", 2), name("main", 1)]);
        assert_eq!(b.at.as_ref().unwrap().offset, 3);
        assert_eq!(runs(&b.next), [name("work", 1)]);
    }

    #[test]
    fn a_halt_of_another_length_is_found_before_what_follows_from_it() {
        let a = [(0x1200, 0, 40_000), (0x1002, 0, 0)];
        let b = [(0x1200, 0, 41_000), (0x1003, 0, 0)];
        let halt = found(&a, &b);
        assert_eq!((halt.equal, halt.what), (4, What::Halt));
        assert_eq!(halt.sides.map(|side| side.skipped_ns), [40_000, 41_000]);
    }

    #[test]
    fn another_cpu_and_an_earlier_end_are_differences() {
        let cpu = found(&[(0x1200, 0, 0)], &[(0x1200, 1, 0)]);
        assert_eq!((cpu.equal, cpu.what), (4, What::Cpu));
        let more = [(0x1200, 0, 0)];
        let end = found(&more, &[]);
        assert_eq!((end.equal, end.what), (4, What::End));
        assert!(end.sides[0].at.is_some() && end.sides[1].at.is_none());
        // Only one of them ended by itself.
        let ended = both(&more, &[], [false, true]).unwrap().unwrap();
        assert_eq!(ended.what, What::End);
    }

    #[test]
    fn some_instructions_more_after_a_power_off_are_no_difference() {
        assert_eq!(both(&[(0x1200, 0, 0)], &[], [true; 2]), Ok(None));
        assert_eq!(both(&COMMON, &COMMON, [true; 2]), Ok(None));
        let other = both(&[(0x1200, 0, 0)], &[(0x1201, 0, 0)], [true; 2]);
        assert_eq!(other.unwrap().unwrap().what, What::Instruction);
    }

    #[test]
    fn what_is_the_same_or_apart_is_an_error_before_both_have_ended() {
        assert_eq!(
            both(&COMMON, &COMMON, [false; 2]),
            Err(DifferenceError::Same)
        );
        let machine = machine();
        let (short, late) = (stream(0, 0, &COMMON[..1]), stream(0, 3, &COMMON));
        let apart = difference([&short, &late], [&machine; 2], 1);
        assert_eq!(apart, Err(DifferenceError::Apart));
    }
}
