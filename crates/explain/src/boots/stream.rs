//! Reads the plugin's record of all that a machine executed (plugin/file.h): the different instructions, each with the
//! time of its first execution, and the last instructions in their order. The file is untrusted, as a trace is.

use crate::trace::{Architecture, Insn, Path, Reader, Recorder, Trace, TraceError, damaged};

const MAGIC: &str = "worldswitch-stream ";
const VERSION: &str = "1";

/// An executed instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Index in [`Stream::insns`].
    pub insn: u32,
    /// The CPU that executed it.
    pub cpu: u8,
    /// Whether the instruction was executed in a VM, on x86.
    pub is_in_vm: bool,
    /// Time that the clock skipped in a halt just before the instruction.
    pub skipped_ns: u64,
}

/// Time of an instruction's first execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct First {
    /// Number of the execution, from 1.
    pub at: u64,
    /// Whether it was in a VM, on x86.
    pub is_in_vm: bool,
}

/// The end of a stream, whole and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The emulated processor.
    pub architecture: Architecture,
    /// Whether skips of the clock are known.
    pub has_clock: bool,
    /// Whether the machine has ended by itself.
    pub has_ended: bool,
    /// Number of instructions executed in all.
    pub executed: u64,
    /// All different instructions that were executed.
    pub insns: Vec<Insn>,
    /// First execution of each of these.
    pub firsts: Vec<First>,
    /// The last executed instructions, in their order.
    pub items: Vec<Item>,
}

impl Stream {
    /// Reads a whole file. A file is refused if it is damaged, cut or of another version, or if the plugin could not
    /// keep everything.
    pub fn read(bytes: &[u8]) -> Result<Self, TraceError> {
        let mut reader = Reader { bytes };
        let architecture = reader.head(MAGIC, VERSION)?;
        let has_clock = reader.number("whether the clock is known")? != 0;
        let has_ended = reader.number("whether it ended")? != 0;
        let executed = reader.number("how much was executed")?;
        let (insns, firsts) = executed_insns(&mut reader, executed)?;
        let items = items(&mut reader, insns.len(), executed)?;
        reader.end()?;
        Ok(Self {
            architecture,
            has_clock,
            has_ended,
            executed,
            insns,
            firsts,
            items,
        })
    }

    /// Returns the number of instructions executed before the first recorded item.
    pub fn begin(&self) -> u64 {
        self.executed - self.items.len() as u64
    }

    /// Returns the instruction that was executed after so many others, if it was recorded.
    pub fn item(&self, executed_before: u64) -> Option<&Item> {
        let at = executed_before.checked_sub(self.begin())?;
        self.items.get(usize::try_from(at).ok()?)
    }

    /// Returns the instructions in the order of their first execution.
    pub fn order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.insns.len() as u32).collect();
        order.sort_by_key(|insn| self.firsts[*insn as usize]);
        order
    }

    /// Returns the recorded items as a trace of one window.
    pub fn trace(&self) -> Trace {
        Trace {
            architecture: self.architecture,
            recorder: Recorder::Plugin,
            has_accesses: false,
            insns: self.insns.clone(),
            paths: vec![Path {
                insns: self.items.iter().map(|item| item.insn).collect(),
                ..Path::default()
            }],
            windows: vec![0],
        }
    }
}

/// Reads the instructions, and the first execution of each.
fn executed_insns(
    reader: &mut Reader<'_>,
    executed: u64,
) -> Result<(Vec<Insn>, Vec<First>), TraceError> {
    const WHAT: &str = "its instructions";
    let (mut insns, mut firsts) = (Vec::new(), Vec::new());
    for _ in reader.count(WHAT)? {
        insns.push(reader.insn()?);
        let first = reader.number(WHAT)?;
        let (at, is_in_vm) = (first >> 1, first & 1 == 1);
        if at == 0 || at > executed {
            return Err(damaged(format!(
                "an instruction was executed first as number {at} of {executed}"
            )));
        }
        firsts.push(First { at, is_in_vm });
    }
    Ok((insns, firsts))
}

/// Reads the last instructions. Each is the difference of its number, counted from 1, to the one before, in zigzag.
fn items(reader: &mut Reader<'_>, insns: usize, executed: u64) -> Result<Vec<Item>, TraceError> {
    const WHAT: &str = "its last instructions";
    let count = reader.count(WHAT)?;
    if count.end as u64 > executed {
        return Err(damaged(format!(
            "it kept more than the {executed} executed"
        )));
    }
    let mut number = 0i64;
    count
        .map(|_| {
            number = number.wrapping_add(reader.difference(WHAT)?);
            if number < 1 || number as u64 > insns as u64 {
                return Err(damaged(format!("it has instruction {number} of {insns}")));
            }
            let place = reader.number(WHAT)?;
            let cpu = u8::try_from(place >> 1);
            Ok(Item {
                insn: (number - 1) as u32,
                cpu: cpu.map_err(|_| damaged(format!("there is no CPU {}", place >> 1)))?,
                is_in_vm: place & 1 == 1,
                skipped_ns: reader.number(WHAT)?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodes as plugin/tests/unit.c does, but for the time of the clock.
    const FILE: &[u8] = b"worldswitch-stream 1\nx86_64\n\n\0\x01\0\x05\x02\
        \x02\0\0\0\0\0\0\0\x02\x10\0\0\0\0\0\0\x01\xf4\x02\
        \x03\0\0\0\0\0\0\0\x03\x10\0\0\0\0\0\0\x01\x90\x04\
        \x03\x04\x02\0\x01\0\x88\x27\0\x03\0end\n";

    #[test]
    fn a_stream_is_read_as_the_plugin_writes_it() {
        let stream = Stream::read(FILE).unwrap();
        assert_eq!(stream.architecture, Architecture::X86_64);
        assert!(stream.has_clock && !stream.has_ended);
        assert_eq!((stream.executed, stream.begin()), (5, 2));
        let first = |at| First {
            at,
            is_in_vm: false,
        };
        assert_eq!(stream.firsts, [first(1), first(2)]);
        assert_eq!(stream.insns[0], Insn::new(2, 0x1002, b"\xf4"));
        let item = |insn, cpu, is_in_vm, skipped_ns| Item {
            insn,
            cpu,
            is_in_vm,
            skipped_ns,
        };
        let items = [
            item(1, 1, false, 0),
            item(0, 0, false, 5000),
            item(0, 1, true, 0),
        ];
        assert_eq!(stream.items, items);
        assert_eq!(stream.item(3), Some(&items[1]));
        assert_eq!(stream.item(1), None);
        assert_eq!(stream.item(5), None);
        assert_eq!(stream.order(), [0, 1]);
        assert_eq!(stream.trace().paths[0].insns, [1, 0, 0]);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            changes in proptest::collection::vec((29..FILE.len(), proptest::prelude::any::<u8>()), 0..6),
        ) {
            let mut bytes = FILE.to_vec();
            for (at, byte) in changes {
                bytes[at] = byte;
            }
            if let Ok(stream) = Stream::read(&bytes) {
                assert!(stream.begin() <= stream.executed);
                assert_eq!(stream.order().len(), stream.insns.len());
                assert_eq!(stream.trace().paths[0].insns.len(), stream.items.len());
            }
        }
    }

    #[test]
    fn a_damaged_stream_is_refused() {
        for end in 0..FILE.len() {
            assert!(Stream::read(&FILE[..end]).is_err(), "cut at {end}");
        }
        // How much was executed, when an instruction was first, how many are kept, the number of one.
        for (at, byte) in [(32, 1), (52, 0), (52, 12), (72, 9), (73, 6), (73, 3)] {
            let mut bytes = FILE.to_vec();
            assert_ne!(bytes[at], byte);
            bytes[at] = byte;
            assert!(Stream::read(&bytes).is_err(), "{byte} at {at}");
        }
    }
}
