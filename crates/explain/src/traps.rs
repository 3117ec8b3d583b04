//! Traps: the cause for which each level above L0 was left in an operation, the level that handled it, and the number
//! of instructions that lower levels then executed.

use crate::place::{Function, Place};
use crate::registers;
use crate::trace::{Architecture, Insn, Path, Trace};
use crate::tree::{Walk, arm_vector};
use crate::{a64, rv64, x86};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Traps of one cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trap {
    /// The level that was left.
    pub from: u8,
    /// The level that was entered.
    pub to: u8,
    /// Cause: the instruction, or `interrupt`.
    pub cause: String,
    /// Number of traps.
    pub count: u64,
    /// Instructions that the lower levels executed until the next entry, in all.
    pub instructions: u64,
}

/// Returns all traps of a path, by levels, then the most expensive first. Calls of nodes that are left out are not
/// counted.
pub fn traps(
    trace: &Trace,
    path: &Path,
    places: &[Place],
    functions: &[Function],
    walk: &Walk,
    left_out: &[bool],
) -> Vec<Trap> {
    let level = |at: usize| functions[places[at].function as usize].level;
    let mut sums: BTreeMap<(u8, u8, String), (u64, u64)> = BTreeMap::new();
    for interruption in &walk.interruptions {
        let (before, entry) = (interruption.before, interruption.before + 1);
        let Some(to) = places.get(entry).map(|_| level(entry)) else {
            continue;
        };
        if level(before) <= to {
            continue;
        }
        let insn = |at: usize| &trace.insns[path.insns[at] as usize];
        let cause = cause(trace.architecture, insn(before), insn(entry));
        let below = (entry..places.len()).take_while(|at| level(*at) <= to);
        let below = below.filter(|at| !left_out[walk.nodes[*at] as usize]);
        let (count, instructions) = sums.entry((level(before), to, cause)).or_default();
        *count += 1;
        *instructions += below.count() as u64;
    }
    let mut traps: Vec<Trap> = sums
        .into_iter()
        .map(|((from, to, cause), (count, instructions))| Trap {
            from,
            to,
            cause,
            count,
            instructions,
        })
        .collect();
    traps.sort_by_key(|trap| {
        (
            std::cmp::Reverse(trap.from),
            trap.to,
            std::cmp::Reverse(trap.instructions),
        )
    });
    traps
}

fn cause(architecture: Architecture, before: &Insn, entry: &Insn) -> String {
    match architecture {
        Architecture::X86_64 => x86::trap_name(before).to_owned(),
        Architecture::Aarch64 => on_arm(before, entry),
        Architecture::Riscv64 => rv64::trap_name(before),
    }
}

fn on_arm(before: &Insn, entry: &Insn) -> String {
    let Some(word) = a64::word(before) else {
        return "unknown".to_owned();
    };
    if arm_vector(entry).is_some_and(|vector| vector & 0x180 != 0) {
        return "interrupt".to_owned();
    }
    match (a64::access(word), a64::group(word)) {
        (Some(access), _) => {
            let way = if access.is_write {
                "write of"
            } else {
                "read of"
            };
            format!("{way} {}", registers::name(access.encoding))
        }
        (None, a64::Group::Memory { .. }) => "memory access".to_owned(),
        (None, a64::Group::System) => a64::system_name(word).to_owned(),
        (None, a64::Group::Other) => a64::call_name(word).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm(word: u32, entry: u64) -> String {
        let before = Insn::new(0x1000, 0, &word.to_le_bytes());
        cause(
            Architecture::Aarch64,
            &before,
            &Insn::new(entry, 0, &[0; 4]),
        )
    }

    #[test]
    fn causes_are_named() {
        assert_eq!(arm(0xd53c_1100, 0x400), "read of HCR_EL2");
        assert_eq!(arm(0xd51c_1100, 0x400), "write of HCR_EL2");
        assert_eq!(arm(0xd400_0002, 0x400), "HVC");
        assert_eq!(arm(0xd69f_03e0, 0x400), "ERET");
        assert_eq!(arm(0xf940_0020, 0x400), "memory access");
        assert_eq!(arm(0xf940_0020, 0x480), "interrupt");
        assert_eq!(arm(0x1e60_4020, 0x400), "floating point", "fmov d0, d1");
        assert_eq!(arm(0x8b00_0020, 0x400), "other", "add x0, x1, x0");
        assert_eq!(arm(0xd50c_83df, 0x400), "TLBI");
        assert_eq!(arm(0xd503_207f, 0x400), "WFI");
        let x86 = |bytes: &[u8]| {
            let insn = Insn::new(0, 0, bytes);
            cause(Architecture::X86_64, &insn, &insn)
        };
        assert_eq!(x86(&[0x0f, 0x01, 0xd9]), "VMMCALL");
        assert_eq!(x86(&[0xec]), "IN, OUT");
        assert_eq!(x86(&[0x0f, 0x01, 0xc3]), "VMRESUME");
        assert_eq!(x86(&[0x0f, 0x01, 0xd8]), "VMRUN");
        assert_eq!(x86(&[0x0f, 0x78, 0xd0]), "VMREAD");
        assert_eq!(x86(&[0x44, 0x0f, 0x79, 0xc0]), "VMWRITE");
        assert_eq!(x86(&[0x0f, 0xc7, 0x30]), "VMPTRLD");
        assert_eq!(x86(&[0x66, 0x0f, 0xc7, 0x30]), "VMCLEAR");
        assert_eq!(x86(&[0x66, 0x0f, 0x38, 0x80, 0x08]), "INVEPT");
        let table = "access to a descriptor table";
        assert_eq!(x86(&[0x0f, 0x01, 0x10]), table, "lgdt");
        assert_eq!(x86(&[0x0f, 0x00, 0xc8]), table, "str");
        assert_eq!(x86(&[0x0f, 0x01, 0xd1]), "XSETBV");
        assert_eq!(
            x86(&[0x0f, 0x01, 0xf8]),
            "memory access, interrupt",
            "swapgs"
        );
        assert_eq!(
            x86(&[0x0f, 0xc7, 0x08]),
            "memory access, interrupt",
            "cmpxchg8b"
        );
        assert_eq!(
            x86(&[0x0f, 0x01, 0xd0]),
            "memory access, interrupt",
            "xgetbv"
        );
        assert_eq!(x86(&[0x48, 0x8b, 0x07]), "memory access, interrupt");
    }
}
