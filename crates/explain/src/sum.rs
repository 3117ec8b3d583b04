//! Whether what was recorded is what was measured: for each sample exactly, or an error.
//!
//! A recorded window is longer than the guest's measure of it by the harness, which is the same in the control loop,
//! and by instructions that the emulator's clock does not charge: those that did not complete, because they were
//! intercepted or raised an exception. QEMU charges a block's instructions when it begins. A fault or intercept gives
//! back what it leaves undone, the instruction that raised it among them, which the plugin has seen. A call of a higher
//! privilege level, as SVC, HVC, SYSCALL, completes, and so does for the clock a system register's access that traps;
//! there even the rest of the block stays charged, though nobody executes it.
//!
//! Bochs charges each instruction that begins, whatever becomes of it, and the debugger's trace says the time at each:
//! what is charged and not executed is known, and nothing is executed and not charged.

use crate::a64;
use crate::place::{Function, Kind, Place};
use crate::trace::{Architecture, Insn, Path, Recorder, Trace};
use crate::tree::{Walk, arm_vector, is_x86_vector};
use crate::x86;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the guest measured: the samples of one boot, in their order.
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
    /// Certainly not.
    pub certain: i64,
    /// The trace does not say it: they were followed by an interrupt, or were intercepted.
    pub possible: i64,
}

/// The sum of the most common sample. All are instructions for one operation: the run window less the control window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sum {
    /// Executed outside of the guest.
    pub attributed: i64,
    /// Executed by the guest itself.
    pub guest: i64,
    /// Measured by the guest.
    pub measured: i64,
    /// Recorded, but not charged by the clock; less what the clock charged, but nobody executed.
    pub intercepted: i64,
}

/// The sum does not come out.
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
        /// In the trace.
        windows: usize,
        /// In the result.
        samples: usize,
    },
    /// A fault of ours, or of the emulator's.
    #[error(
        "the sum does not come out in sample {sample}: {attributed} attributed + {guest} of the guest's own are \
         {recorded} instructions, but {measured} measured + {certain} intercepted are {charged}: please report it with \
         the trace"
    )]
    Mismatch {
        /// Counted from 0.
        sample: usize,
        /// See [`Sum`].
        attributed: i64,
        /// See [`Sum`].
        guest: i64,
        /// Their sum.
        recorded: i64,
        /// See [`Sum`].
        measured: i64,
        /// See [`Uncharged`].
        certain: i64,
        /// Measured and intercepted.
        charged: i64,
    },
}

/// A path's instructions, by who executed them, and what was not charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Outside of the guest.
    pub attributed: i64,
    /// By the guest.
    pub guest: i64,
    /// Not charged by the clock.
    pub uncharged: Uncharged,
}

impl Sum {
    /// The sum of one sample.
    ///
    /// # Errors
    /// It does not come out.
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

/// Counts a path.
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

/// What QEMU's clock did not charge.
fn uncharged(
    trace: &Trace,
    path: &Path,
    places: &[Place],
    functions: &[Function],
    walk: &Walk,
) -> Uncharged {
    let function = |at: usize| &functions[places[at].function as usize];
    let mut uncharged = Uncharged::default();
    for interruption in &walk.interruptions {
        let insn = |at: usize| &trace.insns[path.insns[at] as usize];
        let (before, entry) = (interruption.before, interruption.before + 1);
        let after = interruption.after.map(insn);
        let cut = path.cuts.binary_search_by_key(&before, |cut| cut.at);
        let rest = cut.map_or(0, |index| path.cuts[index].rest as i64);
        let charge = match trace.architecture {
            Architecture::Aarch64 => on_arm(insn(before), insn(entry), rest),
            Architecture::X86_64 => on_x86(insn(before), &function(entry).name, after),
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
    /// And the rest of its block.
    WithRest,
    None,
    Unknown,
}

/// The vector says it: the first of each four is that of synchronous exceptions (DDI 0487, D1.3.1).
fn on_arm(before: &Insn, entry: &Insn, rest: i64) -> Charge {
    let Some(vector) = arm_vector(entry) else {
        return Charge::Unknown;
    };
    let Some(word) = a64::word(before).filter(|_| vector & 0x180 == 0) else {
        return Charge::Full;
    };
    match a64::group(word) {
        // Floating point that is switched off ends its block: that is charged, an abort is not.
        a64::Group::Memory { is_vector: true } if rest == 0 => Charge::Unknown,
        a64::Group::Memory { .. } => Charge::None,
        a64::Group::System => Charge::WithRest,
        // Also an instruction that the next one's fetch follows: that one was not executed.
        a64::Group::Other => Charge::Full,
    }
}

/// The handler says it, if it has a vector; an exit of a guest has none. What Xen's other vectors get is known when a
/// block is translated, as an instruction that a PV kernel is not privileged for: it ends the block, and is charged.
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
