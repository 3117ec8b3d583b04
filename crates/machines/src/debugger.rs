//! Recording the instructions of a machine of Bochs, by the debugger that Debian builds in. The debugger stops at its
//! magic breakpoint, an instruction before and after the measured operations. It prints each instruction until the next
//! breakpoint. It only looks: the machine's clock counts the same with and without it.

use crate::machine::MachineError;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::thread::{self, JoinHandle};

/// The line of Bochs' configuration that turns magic breakpoints on.
pub const SETTING: &str = "magic_break: enabled=1\n";

/// The most windows of a machine: far more than any benchmark has, its warm-up included.
const WINDOWS_MAX: usize = 1 << 16;

/// The most bytes that are kept of a machine, and the room that the disk must have: 2 million instructions.
pub const KEPT_BYTES_MAX: u64 = 256 << 20;

/// The last line of the file: all was kept, or not (crates/explain/src/bochs.rs reads it).
const END: &str = "end\n";
const TOO_LONG: &str = "too long\n";

/// The debugger's commands. It prints instructions between the first mark and the second, the third and the fourth, and
/// so on, and the registers before each.
pub fn commands() -> Vec<u8> {
    let windows = "c\ntrace on\nc\ntrace off\n".repeat(WINDOWS_MAX);
    format!("trace-reg on\n{windows}").into_bytes()
}

/// Copies the debugger's output into a file, without the lines that nobody reads. Dropping it waits for the end of the
/// output: drop it after the machine.
#[derive(Debug)]
pub struct Keeper(Option<JoinHandle<io::Result<()>>>);

impl Keeper {
    /// Starts a thread that copies the debugger's output into the file at `path`. The returned file takes the output.
    pub fn start(path: &Path) -> Result<(Self, File), MachineError> {
        let kept = File::create(path).map_err(|e| MachineError::io("write", path, e))?;
        let failed = |e: io::Error| MachineError::io("make a pipe for", path, e);
        let (from, to) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
            .map_err(|e| failed(e.into()))?;
        let from = BufReader::new(File::from(from));
        let copy = move || keep(from, BufWriter::new(kept), KEPT_BYTES_MAX);
        let thread = thread::Builder::new().name("recorder".into()).spawn(copy);
        Ok((Self(Some(thread.map_err(failed)?)), to.into()))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // A file that could not be written lacks its last line, so its reader notices.
            let _ = thread.join();
        }
    }
}

/// Copies the lines of a trace: instructions, begins and ends of windows, and registers before instructions that need
/// them. It reads the output to its end even beyond `limit`, as Bochs would block on a full pipe.
fn keep(mut from: impl BufRead, mut to: impl Write, limit: u64) -> io::Result<()> {
    let mut registers = Vec::new();
    let mut line = Vec::new();
    let mut kept = 0u64;
    while from.read_until(b'\n', &mut line)? > 0 {
        if line.starts_with(b"r") {
            registers.extend_from_slice(&line);
        } else if line.starts_with(b"(0).[") || line.starts_with(b"Tracing ") {
            if !needs_registers(&line) {
                registers.clear();
            }
            kept += (registers.len() + line.len()) as u64;
            if kept <= limit {
                to.write_all(&registers)?;
                to.write_all(&line)?;
            }
            registers.clear();
        }
        line.clear();
    }
    let last = if kept <= limit { END } else { TOO_LONG };
    to.write_all(last.as_bytes())?;
    to.flush()
}

/// Whether the registers are needed to know what an instruction accesses.
fn needs_registers(line: &[u8]) -> bool {
    let line = String::from_utf8_lossy(line);
    ["rdmsr", "wrmsr", "vmread", "vmwrite", "xgetbv", "xsetbv"]
        .iter()
        .any(|name| line.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STOPPED: &str = "(0) Magic breakpoint\nNext at t=7\nCPU0:\nrax: 00000000_00000010\n\
        rip: 00000000_0010ef93\neflags 0x00000006: id vip\n(0) [0x29b] 0008:000000000010ef93 (unk. ctxt): mfence ; 0faef0\n\
        Tracing enabled for CPU0\n";
    const PLAIN: &str = "(0).[7] [0x29b] 0008:000000000010ef93 (unk. ctxt): mfence ; 0faef0\n";
    const READ: &str = "rax: 00000000_00004402\n";
    const VMREAD: &str =
        "(0).[8] [0x29e] 0010:ffffffffc039d39e (unk. ctxt): vmread rax, rax ; 0f78c0\n";

    fn kept(said: &str, limit: u64) -> String {
        let mut to = Vec::new();
        keep(said.as_bytes(), &mut to, limit).unwrap();
        String::from_utf8(to).unwrap()
    }

    #[test]
    fn registers_are_kept_where_they_are_needed() {
        let said = format!("{STOPPED}CPU0:\nrax: 00000000_00000011\n{PLAIN}CPU0:\n{READ}{VMREAD}");
        let wanted = format!("Tracing enabled for CPU0\n{PLAIN}{READ}{VMREAD}end\n");
        assert_eq!(kept(&said, 1 << 20), wanted);
    }

    #[test]
    fn what_is_too_long_says_so() {
        assert_eq!(kept(PLAIN, PLAIN.len() as u64), format!("{PLAIN}end\n"));
        assert_eq!(kept(PLAIN, PLAIN.len() as u64 - 1), "too long\n");
    }

    #[test]
    fn all_is_copied_once_the_keeper_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        let (keeper, mut words) = Keeper::start(&path).unwrap();
        words.write_all(STOPPED.as_bytes()).unwrap();
        words.write_all(PLAIN.as_bytes()).unwrap();
        drop(words);
        drop(keeper);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, format!("Tracing enabled for CPU0\n{PLAIN}end\n"));
        assert!(Keeper::start(&folder.path().join("none/trace")).is_err());
    }

    #[test]
    fn windows_are_recorded_in_turn() {
        let commands = String::from_utf8(commands()).unwrap();
        let begin = "trace-reg on\nc\ntrace on\nc\ntrace off\nc\ntrace on\n";
        assert!(commands.starts_with(begin));
    }
}
