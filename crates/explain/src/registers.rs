//! Accesses to registers, by class and phase: the state that a world switch saves and restores.
//!
//! On Arm the classes are those of Dall et al. (2016), Table 3, and later additions. On x86 a VM's registers are the
//! fields of its VMCB, which is memory: the trace has the accessed fields, and the numbers of MSRs. On RISC-V the CSRs
//! are grouped by the mode that their numbers name.

use crate::a64::{self, Encoding};
use crate::flow::Flow;
use crate::hidden;
use crate::phases::Phase;
use crate::trace::{Accessed, Architecture, Insn, What};
use crate::{rv64, x86};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::LazyLock;

/// A class of registers. The first seven are the rows of Table 3; those from `Virtualization` on are x86's alone, and
/// those from `Supervisor` on RISC-V's.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// General registers, loaded and stored where worlds are switched.
    General,
    /// Floating point and vectors; on x86 also the state that XSAVE knows.
    FloatingPoint,
    /// EL1 system registers.
    El1,
    /// The interrupt controller's registers: ICC, ICH.
    Vgic,
    /// Timers.
    Timer,
    /// Traps and configuration of EL2.
    El2Configuration,
    /// EL2 virtual memory: stage 2, and the CPU's identity for the VM.
    El2Memory,
    /// The exception that was taken to EL2: ESR, ELR, SPSR, FAR, HPFAR.
    El2Exception,
    /// Debug.
    Debug,
    /// Performance monitors.
    Pmu,
    /// Thread pointers, the kernel's own among them, DAIF, identification.
    Other,
    /// x86: VMRUN, VMLOAD, VMSAVE, STGI, CLGI, VMREAD, VMWRITE and the like.
    Virtualization,
    /// x86: model-specific registers.
    Msr,
    /// x86: segments and descriptor tables.
    Segment,
    /// x86: control registers.
    Control,
    /// The VMCB's control area.
    VmcbControl,
    /// The VMCB's RIP, RSP, RAX, RFLAGS, CPL.
    VmcbGeneral,
    /// The VMCB's segments and descriptor tables.
    VmcbSegment,
    /// The VMCB's control registers, EFER.
    VmcbRegister,
    /// The VMCB's debug registers, last branches.
    VmcbDebug,
    /// The VMCB's MSRs: for system calls, shadow stacks, PAT.
    VmcbMsr,
    /// The VMCS' controls of execution, exits and entries.
    VmcsControl,
    /// The VMCS' information on an exit.
    VmcsExit,
    /// The guest's state in the VMCS.
    VmcsGuest,
    /// The host's state in the VMCS.
    VmcsHost,
    /// RISC-V: CSRs of supervisor mode.
    Supervisor,
    /// RISC-V: CSRs of virtual supervisor mode: the VM's own.
    VirtualSupervisor,
    /// RISC-V: CSRs of the hypervisor extension.
    HypervisorExtension,
    /// RISC-V: CSRs of the advanced interrupt architecture.
    Aia,
    /// RISC-V: CSRs of machine mode.
    Machine,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::General => "general",
            Self::FloatingPoint => "floating point",
            Self::El1 => "EL1 system",
            Self::Vgic => "VGIC",
            Self::Timer => "timer",
            Self::El2Configuration => "EL2 configuration",
            Self::El2Memory => "EL2 virtual memory",
            Self::El2Exception => "EL2 exception",
            Self::Debug => "debug",
            Self::Pmu => "PMU",
            Self::Other => "other",
            Self::Virtualization => "SVM, VMX",
            Self::Msr => "MSR",
            Self::Segment => "segment, table",
            Self::Control => "control",
            Self::VmcbControl => "VMCB control area",
            Self::VmcbGeneral => "VMCB general",
            Self::VmcbSegment => "VMCB segment, table",
            Self::VmcbRegister => "VMCB control reg.",
            Self::VmcbDebug => "VMCB debug",
            Self::VmcbMsr => "VMCB MSR",
            Self::VmcsControl => "VMCS controls",
            Self::VmcsExit => "VMCS exit",
            Self::VmcsGuest => "VMCS guest",
            Self::VmcsHost => "VMCS host",
            Self::Supervisor => "supervisor",
            Self::VirtualSupervisor => "virtual supervisor",
            Self::HypervisorExtension => "hypervisor",
            Self::Aia => "AIA",
            Self::Machine => "machine",
        })
    }
}

/// Number of accesses to a register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Accesses {
    /// Registers read, or stored to memory.
    pub reads: u64,
    /// Registers written, or loaded from memory.
    pub writes: u64,
}

impl std::ops::AddAssign for Accesses {
    fn add_assign(&mut self, other: Self) {
        self.reads += other.reads;
        self.writes += other.writes;
    }
}

/// Accesses by class, then by register, then by phase.
pub type Registers = BTreeMap<Class, BTreeMap<String, BTreeMap<Phase, Accesses>>>;

/// An access that an instruction makes.
struct Access {
    class: Class,
    name: String,
    count: Accesses,
}

/// Returns the accesses of an instruction; `function` is the one that has it.
fn accesses(
    architecture: Architecture,
    insn: &Insn,
    accessed: &[Accessed],
    function: &str,
) -> Vec<Access> {
    match architecture {
        Architecture::Aarch64 => {
            let word = a64::word(insn);
            word.and_then(|word| on_arm(word, function))
                .into_iter()
                .collect()
        }
        Architecture::X86_64 => on_x86(insn, accessed),
        Architecture::Riscv64 => on_riscv(insn, function).into_iter().collect(),
    }
}

/// Adds the accesses of one executed instruction; `accessed` are those that its bytes do not say. Returns the class,
/// and the instruction itself as one access of its kind. If there are several accesses, the last one determines both.
pub fn add(
    registers: &mut Registers,
    architecture: Architecture,
    insn: &Insn,
    accessed: &[Accessed],
    function: &str,
    phase: Phase,
) -> Option<(Class, Accesses)> {
    let mut last = None;
    for access in accesses(architecture, insn, accessed, function) {
        let Access { class, name, count } = access;
        let phases = registers.entry(class).or_default().entry(name).or_default();
        *phases.entry(phase).or_default() += count;
        last = Some((class, one(count.writes > 0, 1)));
    }
    last
}

/// Whether an instruction returns from a trap to EL2, to the guest or, without VHE, to the host.
pub fn returns_from_trap(architecture: Architecture, insn: &Insn, function: &str) -> bool {
    architecture == Architecture::Aarch64
        && a64::flow(insn) == Flow::ExceptionReturn
        && (switches_worlds(function) || function.starts_with("__kvm_nvhe_"))
}

fn one(is_write: bool, count: u64) -> Accesses {
    match is_write {
        true => Accesses {
            reads: 0,
            writes: count,
        },
        false => Accesses {
            reads: count,
            writes: 0,
        },
    }
}

fn on_arm(word: u32, function: &str) -> Option<Access> {
    if let Some(access) = a64::access(word) {
        return Some(Access {
            class: class(access.encoding),
            name: name(access.encoding),
            count: one(access.is_write, 1),
        });
    }
    let moved = a64::moved(word)?;
    let class = match moved.is_vector {
        true => Class::FloatingPoint,
        // In all other functions a load or store is not of the guest's registers.
        false if switches_worlds(function) => Class::General,
        false => return None,
    };
    Some(Access {
        class,
        name: if moved.is_vector { "V0-V31" } else { "X0-X30" }.to_owned(),
        count: one(moved.is_load, moved.registers),
    })
}

/// Whether a function's loads and stores are of the interrupted software's general registers.
fn switches_worlds(function: &str) -> bool {
    // Linux: arch/arm64/kvm/hyp/entry.S, hyp-entry.S, nvhe/host.S; with `__kvm_nvhe_` before the name without VHE.
    const NAMES: [&str; 9] = [
        "__guest_enter",
        "__guest_exit",
        "__kvm_hyp_vector",
        "__bp_harden_hyp_vecs",
        "el1_sync",
        "el1_trap",
        "__host_exit",
        "__host_enter_restore_full",
        "__host_enter_for_panic",
    ];
    const XEN_AND_NEVE: [&str; 5] = [
        "__bp_harden_hyp_vecs_start",
        "hyp_traps_vector",
        "return_from_trap",
        "context_enter",
        "vectors",
    ];
    // Xen's table has the file before the name of a function that is not global.
    let function = function.rsplit('#').next().unwrap_or(function);
    let linux = function.strip_prefix("__kvm_nvhe_").unwrap_or(function);
    NAMES.contains(&linux) || XEN_AND_NEVE.contains(&function) || function.starts_with("guest_sync")
}

/// Returns the class of a system register, by the groups of encodings (DDI 0487, D19.2).
fn class(encoding: Encoding) -> Class {
    let Encoding { op0, op1, n, m, .. } = encoding;
    match (op0, op1, n, m) {
        (2, ..) => Class::Debug,
        (_, _, 12, 8..) | (_, 0, 4, 6) => Class::Vgic,
        (_, _, 14, 0..=7) => Class::Timer,
        (_, _, 9, _) | (_, 3, 14, 8..) => Class::Pmu,
        // FPCR, FPSR.
        (_, 3, 4, 4) => Class::FloatingPoint,
        // SP_EL0: the kernel's pointer to its current task. Identification; interrupt masks; thread pointers.
        (_, 0, 4, 1 | 2) | (_, 0, 0, _) => Class::Other,
        (_, 0 | 5, ..) | (_, 4, 4, 1) => Class::El1,
        (_, 4, 2, 1 | 2 | 6) | (_, 4, 0, _) => Class::El2Memory,
        (_, 4, 4, 0) | (_, 4, 5 | 6, _) => Class::El2Exception,
        (_, 4, 13, _) => Class::Other,
        (_, 4, ..) => Class::El2Configuration,
        _ => Class::Other,
    }
}

/// Names by encoding.
static NAMES: LazyLock<HashMap<Encoding, &'static str>> = LazyLock::new(|| {
    let lines = include_str!("registers.txt").lines();
    lines.filter_map(named).collect()
});

fn named(line: &'static str) -> Option<(Encoding, &'static str)> {
    let (name, numbers) = line.split_once(' ')?;
    let numbers: Vec<u8> = numbers
        .split(' ')
        .map_while(|number| number.parse().ok())
        .collect();
    let [op0, op1, n, m, op2] = numbers[..] else {
        return None;
    };
    Some((
        Encoding {
            op0,
            op1,
            n,
            m,
            op2,
        },
        name,
    ))
}

/// Returns the name of a system register; the generic name if it is in no table here.
pub(crate) fn name(encoding: Encoding) -> String {
    let Encoding {
        op0,
        op1,
        n,
        m,
        op2,
    } = encoding;
    let numbered = match (op0, op1, n, m, op2) {
        (2, 0, 0, _, 4) => Some(format!("DBGBVR{m}_EL1")),
        (2, 0, 0, _, 5) => Some(format!("DBGBCR{m}_EL1")),
        (2, 0, 0, _, 6) => Some(format!("DBGWVR{m}_EL1")),
        (2, 0, 0, _, 7) => Some(format!("DBGWCR{m}_EL1")),
        (3, 3, 14, 8..=11, _) => Some(format!("PMEVCNTR{}_EL0", (m - 8) * 8 + op2)),
        (3, 3, 14, 12.., _) if (m, op2) != (15, 7) => {
            Some(format!("PMEVTYPER{}_EL0", (m - 12) * 8 + op2))
        }
        _ => None,
    };
    let known = NAMES.get(&encoding).map(|name| (*name).to_owned());
    numbered.or(known).unwrap_or_else(|| encoding.to_string())
}

fn on_riscv(insn: &Insn, function: &str) -> Option<Access> {
    if let Some(rv64::Access { csr, reads, writes }) = rv64::access(insn) {
        return Some(Access {
            class: class_of_csr(csr.0),
            name: csr.to_string(),
            count: Accesses {
                reads: reads.into(),
                writes: writes.into(),
            },
        });
    }
    let moved = rv64::moved(insn)?;
    let class = match moved.is_vector {
        true => Class::FloatingPoint,
        // Linux: arch/riscv/kvm/vcpu_switch.S.
        false
            if matches!(
                function,
                "__kvm_riscv_switch_to" | "__kvm_riscv_nacl_switch_to"
            ) =>
        {
            Class::General
        }
        false => return None,
    };
    Some(Access {
        class,
        name: if moved.is_vector {
            "f0-f31, v0-v31"
        } else {
            "x1-x31"
        }
        .to_owned(),
        count: one(moved.is_load, moved.registers),
    })
}

/// Returns the class of a CSR. Bits 8 and 9 of its number are its mode (volume II, "CSR Address Mapping Conventions").
fn class_of_csr(number: u16) -> Class {
    match number {
        // fcsr and its fields; vcsr and its fields, vstart, vl, vtype, vlenb.
        0x001..=0x003 | 0x008..=0x00f | 0xc20..=0xc22 => Class::FloatingPoint,
        // stimecmp, vstimecmp, htimedelta, time.
        0x14d | 0x24d | 0x605 | 0xc01 => Class::Timer,
        0x320..=0x33f | 0xb00..=0xb1f | 0xc00..=0xc1f | 0xda0 => Class::Pmu,
        // scontext, hcontext; triggers.
        0x5a8 | 0x6a8 | 0x7a0..=0x7bf => Class::Debug,
        // siselect to stopei, stopi, and the same of the other modes; hgeie, hvien, hvictl, hviprio; hgeip; mvien, mvip.
        0x150..=0x15c | 0xdb0 | 0x250..=0x25c | 0xeb0 | 0x350..=0x35c | 0xfb0 => Class::Aia,
        0x607..=0x609 | 0x646 | 0x647 | 0xe12 | 0x308 | 0x309 => Class::Aia,
        0x200..=0x2ff => Class::VirtualSupervisor,
        _ => match number >> 8 & 3 {
            0 => Class::Other,
            1 => Class::Supervisor,
            2 => Class::HypervisorExtension,
            _ => Class::Machine,
        },
    }
}

fn on_x86(insn: &Insn, accessed: &[Accessed]) -> Vec<Access> {
    let own = x86::register(insn).map(|(class, name, is_write)| {
        let number = accessed.iter().find_map(|access| match access.what {
            What::Number(number) => Some(number),
            What::Vmcb { .. } => None,
        });
        let (class, name) = match number {
            Some(number) => hidden::register(class, number),
            None => (class, name.to_owned()),
        };
        Access {
            class,
            name,
            count: one(is_write, 1),
        }
    });
    let fields = accessed.iter().filter_map(|access| match access.what {
        What::Vmcb { offset, is_write } => {
            let (class, name) = hidden::field(offset);
            Some(Access {
                class,
                name,
                count: one(is_write, 1),
            })
        }
        What::Number(_) => None,
    });
    own.into_iter().chain(fields).collect()
}

#[cfg(test)]
#[path = "registers_tests.rs"]
mod tests;
