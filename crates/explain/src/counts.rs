//! Reads the plugin's counts (plugin/file.h): how often each instruction was executed between the marks of a guest, for
//! windows that are too long for paths. The file is untrusted, as a trace is.

use crate::trace::{Architecture, Insn, Reader, TraceError, damaged};
use std::fmt;

const MAGIC: &str = "worldswitch-counts ";
const VERSION: &str = "2";

/// Number of levels: the machine's own software, and that of its VMs.
pub const LEVELS: usize = 2;

/// Executions of an instruction in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// Index in [`Counts::insns`].
    pub insn: usize,
    /// Executions by level.
    pub times: [u64; LEVELS],
}

/// Reason why a VM was left on ARM (plugin/arm.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reason(pub u8);

/// Number of reasons: exception classes, and three kinds of interrupts.
const REASONS: u64 = 67;

impl Reason {
    /// An access to memory.
    pub const ABORT: Self = Self(0x24);
}

impl fmt::Display for Reason {
    /// Writes the name that exits by reason have in results (common/reasons_aarch64.c).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ABORT {
            return f.pad("dabt");
        }
        let name = match self.0 {
            0x01 => "wfx",
            0x07 => "fp",
            0x16 => "hvc",
            0x17 => "smc",
            0x18 => "sysreg",
            0x19 => "sve",
            0x1a => "eret",
            0x20 => "iabt",
            0x30 => "debug",
            0x3c => "brk",
            64 | 65 => "interrupt",
            66 => "serror",
            other => return write!(f, "ec_{other:x}"),
        };
        f.pad(name)
    }
}

/// Exits of the VMs of a level, for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exits {
    /// Level of the VM; 0 is Xen's dom0.
    pub level: usize,
    pub reason: Reason,
    pub times: u64,
}

/// Ways from a point of the code to the next one that is passed (plugin/counts.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Indices of the points.
    pub from: u64,
    pub to: u64,
    pub times: u64,
    /// Instructions and idle time of all times together.
    pub ticks: u64,
}

/// Counts of a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Executions of each instruction.
    pub counts: Vec<Count>,
    /// Nanoseconds for which all CPUs halted; none if they are not known.
    pub halted_ns: Option<u64>,
    /// Exits of VMs, on ARM.
    pub exits: Vec<Exits>,
    pub ways: Vec<Way>,
}

/// The counts of all windows, whole and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// The emulated processor.
    pub architecture: Architecture,
    /// All different instructions.
    pub insns: Vec<Insn>,
    /// The windows in the order of time.
    pub windows: Vec<Window>,
}

impl Counts {
    /// Reads a whole file. A file is refused if it is damaged, cut or of another version, or if the plugin could not
    /// count everything.
    pub fn read(bytes: &[u8]) -> Result<Self, TraceError> {
        let mut reader = Reader { bytes };
        let architecture = reader.head(MAGIC, VERSION)?;
        let has_clock = reader.number("its head")? != 0;
        let insns = reader.count("its instructions")?;
        let insns = insns.map(|_| reader.insn());
        let insns: Vec<Insn> = insns.collect::<Result<_, TraceError>>()?;
        let windows = reader.count("its windows")?;
        let windows = windows.map(|_| window(&mut reader, insns.len(), has_clock));
        let windows = windows.collect::<Result<_, _>>()?;
        reader.end()?;
        Ok(Self {
            architecture,
            insns,
            windows,
        })
    }

    /// Returns the number of instructions executed in a window.
    pub fn sum(&self, window: usize) -> u64 {
        let window = self.windows.get(window).into_iter();
        let counts = window.flat_map(|window| &window.counts);
        counts
            .flat_map(|count| count.times)
            .fold(0, u64::saturating_add)
    }
}

const WINDOWS: &str = "its windows";

/// Reads a window. Each instruction is the difference of its number, counted from 1, to the one before.
fn window(reader: &mut Reader<'_>, insns: usize, has_clock: bool) -> Result<Window, TraceError> {
    let mut number = 0u64;
    let mut counts = Vec::new();
    for _ in reader.count(WINDOWS)? {
        let difference = reader.number(WINDOWS)?;
        number = number.saturating_add(difference);
        if difference == 0 || number > insns as u64 {
            return Err(damaged(format!(
                "a window has instruction {number} of {insns}"
            )));
        }
        counts.push(Count {
            insn: (number - 1) as usize,
            times: [reader.number(WINDOWS)?, reader.number(WINDOWS)?],
        });
    }
    let halted_ns = reader.number(WINDOWS)?;
    let exits = reader.count(WINDOWS)?.map(|_| exits(reader));
    let exits = exits.collect::<Result<_, _>>()?;
    let ways = reader.count(WINDOWS)?.map(|_| {
        Ok(Way {
            from: reader.number(WINDOWS)?,
            to: reader.number(WINDOWS)?,
            times: reader.number(WINDOWS)?,
            ticks: reader.number(WINDOWS)?,
        })
    });
    let ways = ways.collect::<Result<_, TraceError>>()?;
    Ok(Window {
        counts,
        halted_ns: has_clock.then_some(halted_ns),
        exits,
        ways,
    })
}

fn exits(reader: &mut Reader<'_>) -> Result<Exits, TraceError> {
    let [level, reason, times] = [
        reader.number(WINDOWS)?,
        reader.number(WINDOWS)?,
        reader.number(WINDOWS)?,
    ];
    if level >= LEVELS as u64 || reason >= REASONS {
        return Err(damaged(format!(
            "a window has exits of level {level} for reason {reason}"
        )));
    }
    Ok(Exits {
        level: level as usize,
        reason: Reason(reason as u8),
        times,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file of the plugin's own unit test, without the reason why it is not whole.
    fn file(failed: &str) -> Vec<u8> {
        let head = format!("worldswitch-counts 2\nx86_64\n{failed}\n\0\x01\x03");
        let mut file = head.into_bytes();
        let mark = b"\x66\x87\xdb";
        let insns: [(u64, u64, &[u8]); 3] = [(5, 5, mark), (3, 0x1003, b"\x90"), (9, 9, mark)];
        for (address, location, bytes) in insns {
            file.extend(address.to_le_bytes());
            file.extend(location.to_le_bytes());
            file.push(bytes.len() as u8);
            file.extend(bytes);
        }
        file.extend(b"\x02\x03\x01\x01\0\x01\x82\x01\0\x01\x01\0");
        file.extend(b"\x81\x01\x01\x01\x40\x01\x01\x02\x03\x05\x07");
        file.extend(b"\x02\x01\x01\0\x02\0\x01\0\0\0end\n");
        file
    }

    #[test]
    fn counts_are_read_as_the_plugin_writes_them() {
        let counts = Counts::read(&file("")).unwrap();
        assert_eq!(counts.insns[1], Insn::new(3, 0x1003, b"\x90"));
        let of = |insn, times| Count { insn, times };
        let [first, second] = &counts.windows[..] else {
            panic!("{:?}", counts.windows)
        };
        assert_eq!(
            first.counts,
            [of(0, [1, 0]), of(1, [130, 0]), of(2, [1, 0])]
        );
        assert_eq!(second.counts, [of(0, [1, 0]), of(2, [0, 1])]);
        let exits = Exits {
            level: 1,
            reason: Reason(64),
            times: 1,
        };
        assert_eq!((first.halted_ns, &*first.exits), (Some(129), &[exits][..]));
        let way = Way {
            from: 2,
            to: 3,
            times: 5,
            ticks: 7,
        };
        assert_eq!(first.ways, [way]);
        assert_eq!((second.halted_ns, second.exits.len()), (Some(0), 0));
        assert_eq!([0, 1, 2].map(|window| counts.sum(window)), [132, 2, 0]);
    }

    #[test]
    fn without_the_clock_idle_time_is_not_known() {
        let mut file = file("");
        let clock = "worldswitch-counts 2\nx86_64\n\n\0".len();
        file[clock] = 0;
        let counts = Counts::read(&file).unwrap();
        assert!(
            counts
                .windows
                .iter()
                .all(|window| window.halted_ns.is_none())
        );
    }

    #[test]
    fn reasons_have_the_names_of_results() {
        let names = [0x01, 0x16, 0x18, 0x24, 64, 66, 0x25].map(|code| Reason(code).to_string());
        let wanted = [
            "wfx",
            "hvc",
            "sysreg",
            "dabt",
            "interrupt",
            "serror",
            "ec_25",
        ];
        assert_eq!(names, wanted);
    }

    #[test]
    fn damage_is_refused() {
        let says = |bytes: &[u8]| Counts::read(bytes).unwrap_err().to_string();
        assert!(says(b"worldswitch-trace 2\n").contains("first line differs"));
        assert!(says(b"worldswitch-counts 9\n").contains("reads \"2\""));
        assert!(says(&file("there was no memory")).contains("no memory"));
        let whole = file("");
        for length in 22..whole.len() {
            assert!(says(&whole[..length]).contains("ends in"), "{length}");
        }
        let mut damaged = whole;
        let windows = damaged.len() - 37;
        assert_eq!(damaged[windows..windows + 2], [2, 3]);
        damaged[windows + 2] = 9;
        assert!(says(&damaged).contains("instruction 9 of 3"));
        damaged[windows + 2] = 0;
        assert!(says(&damaged).contains("instruction 0 of 3"));
        damaged[windows + 2] = 1;
        let level = windows + 15;
        assert_eq!(damaged[level..level + 2], [1, 64]);
        damaged[level + 1] = 67;
        assert!(says(&damaged).contains("level 1 for reason 67"));
        damaged[level] = 2;
        assert!(says(&damaged).contains("level 2"));
    }
}
