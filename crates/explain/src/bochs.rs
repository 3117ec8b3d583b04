//! Reads the output of Bochs' debugger for each instruction between the marks of the guest, which are its magic
//! breakpoint (crates/machines/src/debugger.rs requests it, and drops all lines that are not read here). The text is
//! untrusted: a line that is not understood is refused with the reason, and nothing is guessed.
//!
//! The reader uses these lines. The first is repeated for each register, before the instruction that needs it. All
//! other lines are dropped.
//!
//! ```text
//! rcx: 00000000_c0000080
//! (0).[5457376618] [0x0000029b5f93] 0008:000000000010ef93 (unk. ctxt): mfence                    ; 0faef0
//! Tracing enabled for CPU0
//! Tracing disabled for CPU0
//! ```
//!
//! The number in brackets is the machine's clock, which counts instructions; then come the instruction's address in the
//! machine's memory, its segment and address, and its bytes. An instruction's line is written before it is executed.

use crate::trace::{
    Accessed, Architecture, Cut, Insn, Path, Recorder, Trace, TraceError, What, damaged,
};
use crate::x86;
use std::collections::HashMap;
use std::io::BufRead;

/// The last line of a whole text.
pub const END: &str = "end";
/// The last line of a text that grew too long.
pub const TOO_LONG: &str = "too long";

const OPENS: &str = "Tracing enabled for ";
const CLOSES: &str = "Tracing disabled for ";
const BEGINS_INSN: &str = "(0).[";

/// Names of the general registers, as instructions number them.
const REGISTERS: [&str; 16] = [
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8 ", "r9 ", "r10", "r11", "r12",
    "r13", "r14", "r15",
];

/// Reads a whole text. A text that is cut, too long, or not understood is refused.
pub fn read(mut text: impl BufRead) -> Result<Trace, TraceError> {
    let mut reader = Reader::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = text.read_until(b'\n', &mut line);
        let read = read.map_err(|error| TraceError::Unread(error.to_string()))?;
        if read == 0 {
            return Err(TraceError::Cut("the debugger's words"));
        }
        match String::from_utf8_lossy(&line).trim_end() {
            END => return reader.end(),
            TOO_LONG => {
                return Err(TraceError::NotWhole(
                    "the debugger's output exceeds the limit".into(),
                ));
            }
            line => reader.line(line)?,
        }
    }
}

#[derive(Default)]
struct Reader {
    insns: Vec<Insn>,
    numbers: HashMap<Insn, u32>,
    paths: HashMap<Path, u32>,
    windows: Vec<u32>,
    now: Option<Window>,
    /// Values of the general registers before the next instruction; None for a register that was not printed.
    registers: [Option<u64>; REGISTERS.len()],
    /// Whether some instruction accesses a register whose number is not known.
    is_unnamed: bool,
    /// Addresses of the first window's first instruction and of its last one, a mark.
    ends: Option<(u64, u64)>,
    dropped: u64,
}

/// A window that is open.
#[derive(Default)]
struct Window {
    path: Path,
    /// Time at which the window's last instruction began.
    began: u64,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), TraceError> {
        if line.starts_with(OPENS) {
            return match self.now.replace(Window::default()) {
                None => Ok(()),
                Some(_) => Err(damaged("a window begins in another one")),
            };
        }
        if line.starts_with(CLOSES) {
            let window = self.now.take();
            let window = window.ok_or_else(|| damaged("a window ends and none began"))?;
            return self.close(window.path);
        }
        if let Some((register, value)) = register(line) {
            self.registers[register] = Some(value);
        }
        if !line.starts_with(BEGINS_INSN) {
            return Ok(());
        }
        let registers = std::mem::take(&mut self.registers);
        let Some(mut window) = self.now.take() else {
            return Ok(());
        };
        let (time, insn) = step(line).ok_or_else(|| {
            let said: String = line.chars().take(100).collect();
            damaged(format!("can't parse an instruction: {said:?}"))
        })?;
        self.execute(&mut window, time, insn, &registers)?;
        self.now = Some(window);
        Ok(())
    }

    /// Adds an instruction to a window.
    fn execute(
        &mut self,
        window: &mut Window,
        time: u64,
        insn: Insn,
        registers: &[Option<u64>],
    ) -> Result<(), TraceError> {
        let path = &mut window.path;
        let at = path.insns.len();
        if let Some(last) = at.checked_sub(1) {
            let passed = time.checked_sub(window.began).filter(|passed| *passed > 0);
            let passed = passed.ok_or_else(|| {
                let began = window.began;
                damaged(format!("the clock goes from {began} to {time}"))
            })?;
            if passed > 1 {
                path.cuts.push(Cut {
                    at: last,
                    rest: passed - 1,
                });
            }
        }
        window.began = time;
        let next = self.insns.len() as u32;
        let number = *self.numbers.entry(insn).or_insert(next);
        if number == next {
            self.insns.push(insn);
        }
        path.insns.push(number);
        if let Some(register) = x86::operand(&insn) {
            match registers.get(register).copied().flatten() {
                Some(value) => path.accesses.push(Accessed {
                    at,
                    // Numbers of MSRs and of VMCS fields have 32 bits.
                    what: What::Number(value as u32),
                }),
                None => self.is_unnamed = true,
            }
        }
        Ok(())
    }

    /// Ends a window, which must lie between the same marks as the first one: another program's breakpoint would shift
    /// all of them.
    fn close(&mut self, path: Path) -> Result<(), TraceError> {
        let insn = |number: Option<&u32>| number.map(|number| self.insns[*number as usize]);
        let ends = insn(path.insns.first()).zip(insn(path.insns.last()));
        let (first, last) = ends.ok_or_else(|| damaged("a window has no instruction"))?;
        if !x86::is_mark(&last) {
            return Err(damaged("a window does not end at a mark of the guest"));
        }
        // The opening mark is not in the path. If the path ends at that very mark, the timed call began again and never
        // ended.
        if last.next() == first.address {
            self.dropped += 1;
            return Ok(());
        }
        let ends = (first.address, last.address);
        if *self.ends.get_or_insert(ends) != ends {
            return Err(damaged(
                "windows lie between different marks: other software than the guest executes its mark",
            ));
        }
        let next = self.paths.len() as u32;
        self.windows.push(*self.paths.entry(path).or_insert(next));
        Ok(())
    }

    fn end(self) -> Result<Trace, TraceError> {
        if self.now.is_some() {
            return Err(TraceError::Cut("a window"));
        }
        if self.dropped > 0 {
            return Err(TraceError::Dropped(self.dropped));
        }
        let mut paths: Vec<(Path, u32)> = self.paths.into_iter().collect();
        paths.sort_unstable_by_key(|(_, number)| *number);
        Ok(Trace {
            architecture: Architecture::X86_64,
            recorder: Recorder::Debugger,
            has_accesses: !self.is_unnamed,
            insns: self.insns,
            paths: paths.into_iter().map(|(path, _)| path).collect(),
            windows: self.windows,
        })
    }
}

/// Parses a line with a register: its index in [`REGISTERS`], and its value.
fn register(line: &str) -> Option<(usize, u64)> {
    let (name, value) = line.split_once(": ")?;
    let register = REGISTERS.iter().position(|register| *register == name)?;
    let (upper, lower) = value.split_once('_')?;
    let half = |digits: &str| u32::from_str_radix(digits, 16).ok();
    Some((
        register,
        u64::from(half(upper)?) << 32 | u64::from(half(lower)?),
    ))
}

/// Parses a line with an instruction: the time at which it began, and the instruction.
fn step(line: &str) -> Option<(u64, Insn)> {
    let (time, rest) = line.strip_prefix(BEGINS_INSN)?.split_once("] [0x")?;
    let (location, rest) = rest.split_once("] ")?;
    let (place, rest) = rest.split_once(" (")?;
    let (_segment, address) = place.split_once(':')?;
    // Shorter addresses are of 16-bit code, where they are only offsets.
    if address.len() != 16 {
        return None;
    }
    let number = |digits: &str| u64::from_str_radix(digits, 16).ok();
    let (_, digits) = rest.rsplit_once("; ")?;
    let bytes = digits.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair)
            .ok()
            .filter(|pair| pair.len() == 2);
        u8::from_str_radix(pair?, 16).ok()
    });
    let bytes: Vec<u8> = bytes.collect::<Option<_>>()?;
    let is_insn = (1..=15).contains(&bytes.len());
    let insn = Insn::new(number(address)?, number(location)?, &bytes);
    is_insn.then_some((time.parse().ok()?, insn))
}

#[cfg(test)]
#[path = "bochs_tests.rs"]
mod tests;
