//! Reads the plugin's counts (plugin/file.h): how often each instruction was executed between the marks of a guest, for
//! windows that are too long for paths. The file is untrusted, as a trace is.

use crate::trace::{Architecture, Reader, TraceError, damaged};

const MAGIC: &str = "worldswitch-counts ";
const VERSION: &str = "1";

/// Number of levels: the machine's own software, and that of its VMs.
pub const LEVELS: usize = 2;

/// Place of a counted instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Executed {
    /// Virtual address of the instruction.
    pub address: u64,
    /// Address of its first byte in the emulator's memory.
    pub location: u64,
}

/// Executions of an instruction in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// Index in [`Counts::insns`].
    pub insn: usize,
    /// Executions by level.
    pub times: [u64; LEVELS],
}

/// The counts of all windows, whole and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// The emulated processor.
    pub architecture: Architecture,
    /// All different instructions.
    pub insns: Vec<Executed>,
    /// The windows in the order of time.
    pub windows: Vec<Vec<Count>>,
}

impl Counts {
    /// Reads a whole file. A file is refused if it is damaged, cut or of another version, or if the plugin could not
    /// count everything.
    pub fn read(bytes: &[u8]) -> Result<Self, TraceError> {
        const INSNS: &str = "its instructions";
        let mut reader = Reader { bytes };
        let architecture = reader.head(MAGIC, VERSION)?;
        let insns = reader.count(INSNS)?.map(|_| {
            Ok(Executed {
                address: reader.word(INSNS)?,
                location: reader.word(INSNS)?,
            })
        });
        let insns: Vec<Executed> = insns.collect::<Result<_, TraceError>>()?;
        let windows = reader.count("its windows")?;
        let windows = windows.map(|_| window(&mut reader, insns.len()));
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
        let counts = self.windows.get(window).into_iter().flatten();
        counts
            .flat_map(|count| count.times)
            .fold(0, u64::saturating_add)
    }
}

/// Reads a window. Each instruction is the difference of its number, counted from 1, to the one before.
fn window(reader: &mut Reader<'_>, insns: usize) -> Result<Vec<Count>, TraceError> {
    const WHAT: &str = "its windows";
    let mut number = 0u64;
    let mut window = Vec::new();
    for _ in reader.count(WHAT)? {
        let difference = reader.number(WHAT)?;
        number = number.saturating_add(difference);
        if difference == 0 || number > insns as u64 {
            return Err(damaged(format!(
                "a window has instruction {number} of {insns}"
            )));
        }
        window.push(Count {
            insn: (number - 1) as usize,
            times: [reader.number(WHAT)?, reader.number(WHAT)?],
        });
    }
    Ok(window)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file of the plugin's own unit test, without the reason why it is not whole.
    fn file(failed: &str) -> Vec<u8> {
        let mut file = format!("worldswitch-counts 1\nx86_64\n{failed}\n\0\x03").into_bytes();
        for (address, location) in [(5u64, 5u64), (3, 0x1003), (9, 9)] {
            file.extend(address.to_le_bytes());
            file.extend(location.to_le_bytes());
        }
        file.extend(b"\x02\x03\x01\x01\0\x01\x82\x01\0\x01\x01\0\x02\x01\x01\0\x02\0\x01end\n");
        file
    }

    #[test]
    fn counts_are_read_as_the_plugin_writes_them() {
        let counts = Counts::read(&file("")).unwrap();
        assert_eq!(counts.insns[1].location, 0x1003);
        let of = |insn, times| Count { insn, times };
        let first = [of(0, [1, 0]), of(1, [130, 0]), of(2, [1, 0])];
        assert_eq!(counts.windows[0], first);
        assert_eq!(counts.windows[1], [of(0, [1, 0]), of(2, [0, 1])]);
        assert_eq!([0, 1, 2].map(|window| counts.sum(window)), [132, 2, 0]);
    }

    #[test]
    fn damage_is_refused() {
        let says = |bytes: &[u8]| Counts::read(bytes).unwrap_err().to_string();
        assert!(says(b"worldswitch-trace 2\n").contains("first line differs"));
        assert!(says(b"worldswitch-counts 9\n").contains("reads \"1\""));
        assert!(says(&file("there was no memory")).contains("no memory"));
        let whole = file("");
        for length in 22..whole.len() {
            assert!(says(&whole[..length]).contains("ends in"), "{length}");
        }
        let mut damaged = whole;
        let windows = damaged.len() - 23;
        assert_eq!(damaged[windows], 2);
        damaged[windows + 2] = 9;
        assert!(says(&damaged).contains("instruction 9 of 3"));
        damaged[windows + 2] = 0;
        assert!(says(&damaged).contains("instruction 0 of 3"));
    }
}
