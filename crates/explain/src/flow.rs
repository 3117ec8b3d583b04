//! Decodes how an instruction hands over control, from its bytes.

use crate::trace::{Architecture, Insn};
use crate::{a64, rv64, x86};

/// Place of the next instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Directly after this instruction.
    Plain,
    /// A call, and its target if the bytes say it.
    Call(Option<u64>),
    /// A conditional jump, and its target.
    Branch(u64),
    /// An unconditional jump, and its target if the bytes say it.
    Jump(Option<u64>),
    /// A return to a caller.
    Return,
    /// A call of a higher privilege level: SYSCALL, SVC, HVC, ECALL.
    SystemCall,
    /// The way back from an exception or a system call; on ARM and RISC-V also the way into a guest.
    ExceptionReturn,
    /// VMRUN, VMLAUNCH, VMRESUME: the next instruction of this level is the one directly after it.
    EnterGuest,
}

impl Flow {
    /// Decodes an instruction.
    pub fn of(architecture: Architecture, insn: &Insn) -> Self {
        match architecture {
            Architecture::X86_64 => x86::flow(insn),
            Architecture::Aarch64 => a64::flow(insn),
            Architecture::Riscv64 => rv64::flow(insn),
        }
    }

    /// Decodes all instructions of a trace. On RISC-V two instructions together may say a target.
    pub fn all(architecture: Architecture, insns: &[Insn]) -> Vec<Self> {
        match architecture {
            Architecture::Riscv64 => rv64::flows(insns),
            _ => insns
                .iter()
                .map(|insn| Self::of(architecture, insn))
                .collect(),
        }
    }

    /// Whether an instruction of this kind at `from` can be followed by one at `to`, if nothing interrupts it. Targets
    /// that the bytes do not say are possible everywhere.
    pub fn leads(self, from: &Insn, to: u64) -> bool {
        let is_next = from.next() == to;
        match self {
            Self::Plain | Self::EnterGuest => is_next || from.address == to,
            Self::Branch(target) => is_next || target == to,
            Self::Call(Some(target)) | Self::Jump(Some(target)) => target == to,
            Self::Call(None) | Self::Jump(None) | Self::Return => true,
            Self::SystemCall | Self::ExceptionReturn => true,
        }
    }
}
