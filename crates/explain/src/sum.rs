//! Checks that the recorded instructions are those that were measured: for each sample exactly, or with an error.
//!
//! A recorded window is longer than the guest's measure of it by two parts. One is the harness, which is the same in
//! the control loop. The other is instructions that the emulator's clock does not charge: those that did not complete,
//! because they were intercepted or raised an exception. QEMU charges a block's instructions when it begins. A fault or
//! intercept gives back the instructions left undone, including the one that raised it, which the plugin has seen. A
//! call of a higher privilege level (SVC, HVC, SYSCALL, ECALL) completes. For the clock an access to a system register
//! of ARM that traps completes too; there even the rest of the block stays charged, though nobody executes it. So does the
//! rest of the block after a WFI of RISC-V in which a processor halts.
//!
//! Bochs charges each instruction that begins, even if it does not complete, and the debugger's trace has the time at
//! each. So the instructions that are charged and not executed are known. No instruction is executed and not charged.

use crate::place::{Function, Kind, Place};
use crate::trace::{Architecture, Insn, Path, Recorder, Trace};
use crate::tree::{RISCV_HANDLER, Walk, arm_vector, is_x86_vector};
use crate::x86;
use crate::{a64, rv64};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The guest's measurement: the samples of one boot, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Ticks of each timed loop, which are instructions.
    pub run: Vec<u64>,
    /// Ticks of each control loop.
    pub control: Vec<u64>,
}

/// Instructions of a path that the clock did not charge, less those that it charged and that were not executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uncharged {
    /// Number that certainly were not charged.
    pub certain: i64,
    /// Number that may not have been charged: they were followed by an interrupt, or were intercepted.
    pub possible: i64,
}

/// The sum of the most common sample. All are instructions for one operation: the run window less the control window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sum {
    /// Instructions executed outside of the guest.
    pub attributed: i64,
    /// Instructions executed by the guest itself.
    pub guest: i64,
    /// Instructions measured by the guest.
    pub measured: i64,
    /// Instructions recorded but not charged by the clock, less those charged but not executed.
    pub intercepted: i64,
}

/// Reasons why the recorded and the measured instructions do not agree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SumError {
    /// Windows and samples are not of the same run.
    #[error(
        "the trace has {windows} windows of {what}, and the guest has sent {samples} samples: they are not of one boot, \
         or another benchmark with the same loop ran too; record this benchmark alone"
    )]
    Count {
        /// The loop's function.
        what: String,
        /// Number of windows in the trace.
        windows: usize,
        /// Number of samples in the result.
        samples: usize,
    },
    /// The sum of a sample is wrong, by a fault of this program or of the emulator.
    #[error(
        "the sum is wrong in sample {sample}: {attributed} attributed + {guest} of the guest's own are \
         {recorded} instructions, but {measured} measured + {certain} intercepted are {charged}: please report it with \
         the trace"
    )]
    Mismatch {
        /// Number of the sample, from 0.
        sample: usize,
        /// See [`Sum`].
        attributed: i64,
        /// See [`Sum`].
        guest: i64,
        /// Sum of `attributed` and `guest`.
        recorded: i64,
        /// See [`Sum`].
        measured: i64,
        /// See [`Uncharged`].
        certain: i64,
        /// Sum of `measured` and `certain`.
        charged: i64,
    },
}

/// Instructions of a path, by who executed them, and those that were not charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Instructions outside of the guest.
    pub attributed: i64,
    /// Instructions of the guest.
    pub guest: i64,
    /// Instructions that the clock did not charge.
    pub uncharged: Uncharged,
}

impl Sum {
    /// Computes the sum of one sample. Fails if it does not agree with the measurement.
    pub fn of(
        sample: usize,
        run: &Count,
        control: &Count,
        measured: i64,
    ) -> Result<Self, SumError> {
        let attributed = run.attributed - control.attributed;
        let guest = run.guest - control.guest;
        let intercepted = attributed + guest - measured;
        let certain = run.uncharged.certain - control.uncharged.certain;
        let least = certain - control.uncharged.possible;
        let most = certain + run.uncharged.possible;
        if (least..=most).contains(&intercepted) {
            return Ok(Self {
                attributed,
                guest,
                measured,
                intercepted,
            });
        }
        Err(SumError::Mismatch {
            sample,
            attributed,
            guest,
            recorded: attributed + guest,
            measured,
            certain,
            charged: measured + certain,
        })
    }
}

/// Counts the instructions of a path.
pub fn count(
    trace: &Trace,
    path: &Path,
    places: &[Place],
    functions: &[Function],
    walk: &Walk,
) -> Count {
    let function = |at: usize| &functions[places[at].function as usize];
    let guest = (0..path.insns.len()).filter(|at| function(*at).kind == Kind::Guest);
    let guest = guest.count() as i64;
    let uncharged = match trace.recorder {
        Recorder::Plugin => uncharged(trace, path, places, functions, walk),
        Recorder::Debugger => Uncharged {
            certain: -path.cuts.iter().map(|cut| cut.rest as i64).sum::<i64>(),
            possible: 0,
        },
    };
    Count {
        attributed: path.insns.len() as i64 - guest,
        guest,
        uncharged,
    }
}

/// Counts the instructions that QEMU's clock did not charge.
fn uncharged(
    trace: &Trace,
    path: &Path,
    places: &[Place],
    functions: &[Function],
    walk: &Walk,
) -> Uncharged {
    let function = |at: usize| &functions[places[at].function as usize];
    let mut uncharged = Uncharged::default();
    // KVM traps each WFI of a guest.
    let is_halt = |at: usize| {
        trace.architecture == Architecture::Riscv64
            && function(at).level == 0
            && rv64::is_wfi(&trace.insns[path.insns[at] as usize])
    };
    let halts = path.cuts.iter().filter(|cut| is_halt(cut.at));
    uncharged.certain -= halts.map(|cut| cut.rest as i64).sum::<i64>();
    for interruption in &walk.interruptions {
        let insn = |at: usize| &trace.insns[path.insns[at] as usize];
        let (before, entry) = (interruption.before, interruption.before + 1);
        let after = interruption.after.map(insn);
        let cut = path.cuts.binary_search_by_key(&before, |cut| cut.at);
        let rest = cut.map_or(0, |index| path.cuts[index].rest as i64);
        let charge = match trace.architecture {
            Architecture::Aarch64 => on_arm(insn(before), insn(entry), rest),
            Architecture::X86_64 => on_x86(insn(before), &function(entry).name, after),
            Architecture::Riscv64 if is_halt(before) => Charge::Full,
            Architecture::Riscv64 => {
                let end = interruption.after.unwrap_or(path.insns.len());
                let names = (entry..end).map(|at| &*function(at).name);
                on_riscv(insn(before), rest, after, event_on_riscv(names))
            }
        };
        match charge {
            Charge::Full => {}
            Charge::WithRest => uncharged.certain -= rest,
            Charge::None => uncharged.certain += 1,
            Charge::Unknown => uncharged.possible += 1,
        }
    }
    uncharged
}

/// Whether the clock charged the instruction before an interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Charge {
    Full,
    /// The clock charged the instruction and the rest of its block.
    WithRest,
    None,
    Unknown,
}

/// Decides by the vector: the first of each four is that of synchronous exceptions (DDI 0487, D1.3.1).
fn on_arm(before: &Insn, entry: &Insn, rest: i64) -> Charge {
    let Some(vector) = arm_vector(entry) else {
        return Charge::Unknown;
    };
    let Some(word) = a64::word(before).filter(|_| vector & 0x180 == 0) else {
        return Charge::Full;
    };
    match a64::group(word) {
        // An access to floating point that is switched off ends its block, and is charged; an abort is not charged.
        a64::Group::Memory { is_vector: true } if rest == 0 => Charge::Unknown,
        a64::Group::Memory { .. } => Charge::None,
        a64::Group::System => Charge::WithRest,
        // The next instruction's fetch may have failed: that instruction was not executed.
        a64::Group::Other => Charge::Full,
    }
}

/// Event that interrupted an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// The hypervisor trapped the instruction and emulated it.
    Emulation,
    /// The instruction, or the fetch of the next one, raised an exception of the host.
    Exception,
    /// An interrupt of the host came after the instruction.
    Interrupt,
}

/// Tells the event by the functions that then ran, if they tell it. All traps have one entry, so the entry does not.
fn event_on_riscv<'a>(names: impl Iterator<Item = &'a str>) -> Option<Event> {
    let mut names = names.peekable();
    if names.peek() == Some(&RISCV_HANDLER) {
        return match names.find(|name| *name != RISCV_HANDLER)? {
            "do_irq" => Some(Event::Interrupt),
            _ => Some(Event::Exception),
        };
    }
    // Linux: arch/riscv/kvm/vcpu_insn.c.
    const EMULATION: [&str; 3] = [
        "kvm_riscv_vcpu_virtual_insn",
        "kvm_riscv_vcpu_mmio_load",
        "kvm_riscv_vcpu_mmio_store",
    ];
    names
        .any(|name| EMULATION.contains(&name))
        .then_some(Event::Emulation)
}

fn on_riscv(before: &Insn, rest: i64, after: Option<&Insn>, event: Option<Event>) -> Charge {
    let is_at = |address: u64| after.is_some_and(|after| after.address == address);
    match rv64::group(before) {
        rv64::Group::Call => Charge::Full,
        // Interrupts come between blocks only.
        _ if rest > 0 => Charge::None,
        // The next instruction's fetch may have failed: that instruction was not executed.
        rv64::Group::Other => Charge::Full,
        rv64::Group::Memory | rv64::Group::System => match event {
            _ if is_at(before.address) => Charge::None,
            Some(Event::Emulation) => Charge::None,
            Some(Event::Interrupt) => Charge::Full,
            Some(Event::Exception) if is_at(before.next()) => Charge::Full,
            Some(Event::Exception) => Charge::None,
            None => Charge::Unknown,
        },
    }
}

/// Decides by the handler, if it has a vector; an exit of a guest has none. Exceptions of Xen's other vectors are known
/// when a block is translated, such as an instruction that a PV kernel may not execute. Such an instruction ends the
/// block, and is charged.
fn on_x86(before: &Insn, handler: &str, after: Option<&Insn>) -> Charge {
    let is_repeated = after.is_some_and(|after| after.address == before.address);
    let is_next = after.is_some_and(|after| after.address == before.next());
    match x86::intercept(before) {
        _ if handler.starts_with("asm_exc_") => Charge::None,
        _ if handler == "entry_PF" => Charge::None,
        _ if is_x86_vector(handler) => Charge::Full,
        x86::Intercept::Always => Charge::None,
        _ if is_repeated && !x86::is_string(before) => Charge::None,
        x86::Intercept::Memory if is_next => Charge::Unknown,
        x86::Intercept::Sometimes => Charge::Unknown,
        x86::Intercept::Memory | x86::Intercept::Never => match after {
            Some(_) if !is_repeated => Charge::Full,
            _ => Charge::Unknown,
        },
    }
}

#[cfg(test)]
#[path = "sum_tests.rs"]
mod tests;
