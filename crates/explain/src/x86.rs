//! AMD64 instructions (AMD APM vol. 3, appendix A: opcode maps), as far as they hand over control or matter to a
//! hypervisor. No disassembler: prefixes, opcode and ModRM are enough.

use crate::flow::Flow;
use crate::registers::Class;
use crate::trace::Insn;

/// Parts of an instruction after its prefixes.
pub struct Parts<'a> {
    /// Opcode: one byte, or 0x0f00 and the second one, or 0x0f3800, 0x0f3a00 and the third.
    pub opcode: u32,
    /// Byte after the opcode: ModRM, if the opcode has one.
    pub modrm: u8,
    /// Last of the prefixes 66, F2, F3; 0 if there is none.
    pub prefix: u8,
    /// All bytes after the opcode.
    pub rest: &'a [u8],
}

impl Parts<'_> {
    /// Returns the field reg of ModRM, often a part of the opcode.
    pub fn reg(&self) -> u8 {
        self.modrm >> 3 & 7
    }

    /// Whether ModRM names a register and no memory.
    pub fn is_register(&self) -> bool {
        self.modrm >> 6 == 3
    }
}

/// Splits an instruction. None for a VEX, EVEX or XOP prefix: such instructions have none of the opcodes of interest.
pub fn parts(bytes: &[u8]) -> Option<Parts<'_>> {
    let mut at = 0;
    let mut prefix = 0;
    loop {
        match bytes.get(at)? {
            byte @ (0x66 | 0xf2 | 0xf3) => prefix = *byte,
            0x67 | 0x2e | 0x36 | 0x3e | 0x26 | 0x64 | 0x65 | 0xf0 | 0x40..=0x4f => {}
            0xc4 | 0xc5 | 0x62 => return None,
            _ => break,
        }
        at += 1;
    }
    let (opcode, length) = match bytes[at..] {
        [0x0f, middle @ (0x38 | 0x3a), last, ..] => {
            (0x0f_0000 | u32::from(middle) << 8 | u32::from(last), 3)
        }
        [0x0f, last, ..] => (0x0f00 | u32::from(last), 2),
        [0x0f] | [] => return None,
        [only, ..] => (u32::from(only), 1),
    };
    let rest = &bytes[at + length..];
    Some(Parts {
        opcode,
        modrm: rest.first().copied().unwrap_or(0),
        prefix,
        rest,
    })
}

/// Decodes how an instruction hands over control.
pub fn flow(insn: &Insn) -> Flow {
    let Some(parts) = parts(insn.bytes()) else {
        return Flow::Plain;
    };
    match (parts.opcode, parts.modrm) {
        (0xe8, _) => Flow::Call(relative(insn, parts.rest)),
        (0xe9 | 0xeb, _) => Flow::Jump(relative(insn, parts.rest)),
        (0x70..=0x7f | 0xe0..=0xe3 | 0x0f80..=0x0f8f, _) => match relative(insn, parts.rest) {
            Some(target) => Flow::Branch(target),
            None => Flow::Plain,
        },
        (0xff, _) => match parts.reg() {
            2 | 3 => Flow::Call(None),
            4 | 5 => Flow::Jump(None),
            _ => Flow::Plain,
        },
        (0xc2 | 0xc3 | 0xca | 0xcb, _) => Flow::Return,
        // IRET; SYSRET, SYSEXIT.
        (0xcf | 0x0f07 | 0x0f35, _) => Flow::ExceptionReturn,
        // INT n; SYSCALL, SYSENTER.
        (0xcd | 0x0f05 | 0x0f34, _) => Flow::SystemCall,
        // VMRUN; VMLAUNCH, VMRESUME.
        (0x0f01, 0xd8 | 0xc2 | 0xc3) => Flow::EnterGuest,
        _ => Flow::Plain,
    }
}

/// Whether a hypervisor intercepts an instruction of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intercept {
    /// Intercepted by every hypervisor: VMMCALL, VMCALL, CPUID, IN, OUT, HLT, RDMSR, WRMSR.
    Always,
    /// Intercepted if the hypervisor chooses so: accesses to control and debug registers, INVLPG, RDTSC, PAUSE and the
    /// like.
    Sometimes,
    /// Intercepted if the memory that the instruction accesses is a device or is not mapped.
    Memory,
    /// Never intercepted.
    Never,
}

/// Decides whether a hypervisor intercepts an instruction (AMD APM vol. 2, 15.9; most MSRs are intercepted).
pub fn intercept(insn: &Insn) -> Intercept {
    let Some(parts) = parts(insn.bytes()) else {
        return Intercept::Memory;
    };
    match (parts.opcode, parts.modrm) {
        (0x0f01, 0xc1 | 0xd9) => Intercept::Always,
        (0x0fa2 | 0xf4 | 0x0f30 | 0x0f32, _) => Intercept::Always,
        (0x6c..=0x6f | 0xe4..=0xe7 | 0xec..=0xef, _) => Intercept::Always,
        (0x0f00 | 0x0f01 | 0x0f06 | 0x0f08 | 0x0f09 | 0x0f20..=0x0f23, _) => Intercept::Sometimes,
        (0x0f31 | 0x0f33 | 0x0faa | 0x9c | 0x9d | 0xcd | 0xcf, _) => Intercept::Sometimes,
        // PAUSE and NOP.
        (0x90, _) if parts.prefix == 0xf3 => Intercept::Sometimes,
        (0x90, _) => Intercept::Never,
        (0x70..=0x7f | 0xe0..=0xe3 | 0xe9 | 0xeb | 0x0f80..=0x0f8f, _) => Intercept::Never,
        (0x40..=0x4f | 0xb0..=0xbf | 0xf5 | 0xf8..=0xfd, _) => Intercept::Never,
        // Instructions with ModRM that access no memory; LEA does not either.
        (0x00..=0x3f | 0x80..=0x8b | 0xc0 | 0xc1 | 0xd0..=0xd3 | 0xf6 | 0xf7 | 0xfe, modrm)
            if modrm >> 6 == 3 =>
        {
            Intercept::Never
        }
        (0x8d, _) => Intercept::Never,
        _ => Intercept::Memory,
    }
}

/// Returns the cause for which an instruction is intercepted.
pub fn trap_name(insn: &Insn) -> &'static str {
    let Some(parts) = parts(insn.bytes()) else {
        return "memory access, interrupt";
    };
    match (parts.opcode, parts.modrm) {
        (0x0f01, 0xc1) => "VMCALL",
        (0x0f01, 0xd9) => "VMMCALL",
        (0x0fa2, _) => "CPUID",
        (0xf4, _) => "HLT",
        (0x0f30, _) => "WRMSR",
        (0x0f31, _) => "RDTSC",
        (0x0f32, _) => "RDMSR",
        (0x6c..=0x6f | 0xe4..=0xe7 | 0xec..=0xef, _) => "IN, OUT",
        (0x0f20 | 0x0f22, _) => "access to a control register",
        (0x0f21 | 0x0f23, _) => "access to a debug register",
        (0x0f01, modrm) if modrm >> 6 != 3 && parts.reg() == 7 => "INVLPG",
        (0x0fc7, _) if !parts.is_register() && parts.reg() == 6 => match parts.prefix {
            0 => "VMPTRLD",
            0x66 => "VMCLEAR",
            _ => "VMXON",
        },
        (0x0f_3880, _) => "INVEPT",
        (0x0f_3881, _) => "INVVPID",
        (0x0f00 | 0x0f01 | 0x0f78 | 0x0f79, _) => match register(insn) {
            Some((Class::Virtualization, name, _)) => name,
            Some((Class::Segment, name, _)) if name != "SWAPGS" => "access to a descriptor table",
            Some((_, "XSETBV", _)) => "XSETBV",
            _ => "memory access, interrupt",
        },
        _ => "memory access, interrupt",
    }
}

/// Returns the general register that selects what an instruction accesses: an MSR, an extended control register, a
/// field of the VMCS. Registers have the numbers of instructions (RAX, RCX, RDX, RBX, ...).
pub fn operand(insn: &Insn) -> Option<usize> {
    let parts = parts(insn.bytes())?;
    match (parts.opcode, parts.modrm) {
        (0x0f30 | 0x0f32, _) | (0x0f01, 0xd0 | 0xd1) => Some(1),
        // With these prefixes the opcodes are SSE4a's.
        (0x0f78 | 0x0f79, _) if parts.prefix == 0 => {
            let before = insn.bytes().len() - parts.rest.len() - 2;
            let rex = before.checked_sub(1).map_or(0, |at| insn.bytes()[at]);
            let is_upper = rex & 0xf4 == 0x44;
            Some(usize::from(parts.reg()) + 8 * usize::from(is_upper))
        }
        _ => None,
    }
}

/// Whether an instruction is the guest's mark, a no-operation around the measured code: `xchg %bx,%bx`.
pub fn is_mark(insn: &Insn) -> bool {
    insn.bytes() == [0x66, 0x87, 0xdb]
}

/// Whether an instruction is VMRUN.
pub fn is_vmrun(insn: &Insn) -> bool {
    insn.bytes() == [0x0f, 0x01, 0xd8]
}

/// Whether an instruction is RDTSC.
pub fn is_clock(insn: &Insn) -> bool {
    parts(insn.bytes()).is_some_and(|parts| parts.opcode == 0x0f31)
}

/// Whether an instruction is MOVS, CMPS, STOS, LODS, SCAS, INS or OUTS: with a REP prefix executed again at the same
/// address.
pub fn is_string(insn: &Insn) -> bool {
    let opcode = parts(insn.bytes()).map(|parts| parts.opcode);
    matches!(opcode, Some(0xa4..=0xa7 | 0xaa..=0xaf | 0x6c..=0x6f))
}

/// Returns the register or state that an instruction accesses by its purpose, and whether the instruction writes it
/// (loads it, or makes the processor change it).
pub fn register(insn: &Insn) -> Option<(Class, &'static str, bool)> {
    let parts = parts(insn.bytes())?;
    let reg = parts.reg();
    Some(match (parts.opcode, parts.modrm) {
        (0x0f32, _) => (Class::Msr, "RDMSR", false),
        (0x0f30, _) => (Class::Msr, "WRMSR", true),
        (0x0f01, modrm) if modrm >> 6 == 3 => return privileged(modrm),
        (0x0f01, _) if reg < 4 => match reg {
            0 => (Class::Segment, "GDTR", false),
            1 => (Class::Segment, "IDTR", false),
            2 => (Class::Segment, "GDTR", true),
            _ => (Class::Segment, "IDTR", true),
        },
        (0x0f00, _) if reg < 4 => match reg {
            0 => (Class::Segment, "LDTR", false),
            1 => (Class::Segment, "TR", false),
            2 => (Class::Segment, "LDTR", true),
            _ => (Class::Segment, "TR", true),
        },
        (0x8c | 0x8e, _) if reg < 6 => (
            Class::Segment,
            SEGMENTS[usize::from(reg)],
            parts.opcode == 0x8e,
        ),
        (0x0fae, _) if parts.prefix == 0xf3 && parts.is_register() && reg < 4 => match reg {
            0 => (Class::Segment, "FS base", false),
            1 => (Class::Segment, "GS base", false),
            2 => (Class::Segment, "FS base", true),
            _ => (Class::Segment, "GS base", true),
        },
        (0x0fae, _) if parts.prefix == 0 && !parts.is_register() => return floating_point(reg),
        // XRSTORS; XSAVEC, XSAVES.
        (0x0fc7, _) if !parts.is_register() => match reg {
            3 => (Class::FloatingPoint, "XRSTORS", true),
            4 => (Class::FloatingPoint, "XSAVEC", false),
            5 => (Class::FloatingPoint, "XSAVES", false),
            _ => return None,
        },
        (0x0f20 | 0x0f22, _) => (
            Class::Control,
            CONTROLS[usize::from(reg)],
            parts.opcode == 0x0f22,
        ),
        (0x0f21 | 0x0f23, _) => (
            Class::Debug,
            DEBUGS[usize::from(reg)],
            parts.opcode == 0x0f23,
        ),
        (0x0f06, _) => (Class::Control, "CR0", true),
        (0x0f78, _) => (Class::Virtualization, "VMREAD", false),
        (0x0f79, _) => (Class::Virtualization, "VMWRITE", true),
        _ => return None,
    })
}

const SEGMENTS: [&str; 6] = ["ES", "CS", "SS", "DS", "FS", "GS"];
const CONTROLS: [&str; 8] = ["CR0", "CR1", "CR2", "CR3", "CR4", "CR5", "CR6", "CR7"];
const DEBUGS: [&str; 8] = ["DR0", "DR1", "DR2", "DR3", "DR4", "DR5", "DR6", "DR7"];

/// Decodes 0F 01 with a register's ModRM: instructions without operands.
fn privileged(modrm: u8) -> Option<(Class, &'static str, bool)> {
    Some(match modrm {
        0xc2 => (Class::Virtualization, "VMLAUNCH", true),
        0xc3 => (Class::Virtualization, "VMRESUME", true),
        0xd8 => (Class::Virtualization, "VMRUN", true),
        0xda => (Class::Virtualization, "VMLOAD", true),
        0xdb => (Class::Virtualization, "VMSAVE", false),
        0xdc => (Class::Virtualization, "STGI", true),
        0xdd => (Class::Virtualization, "CLGI", true),
        0xd0 => (Class::Control, "XGETBV", false),
        0xd1 => (Class::Control, "XSETBV", true),
        0xf8 => (Class::Segment, "SWAPGS", true),
        _ => return None,
    })
}

/// Decodes 0F AE with a memory's ModRM, by the field reg.
fn floating_point(reg: u8) -> Option<(Class, &'static str, bool)> {
    Some(match reg {
        0 => (Class::FloatingPoint, "FXSAVE", false),
        1 => (Class::FloatingPoint, "FXRSTOR", true),
        2 => (Class::FloatingPoint, "MXCSR", true),
        3 => (Class::FloatingPoint, "MXCSR", false),
        4 => (Class::FloatingPoint, "XSAVE", false),
        5 => (Class::FloatingPoint, "XRSTOR", true),
        6 => (Class::FloatingPoint, "XSAVEOPT", false),
        _ => return None,
    })
}

/// Returns the target of a relative jump, from a displacement of one or four bytes.
fn relative(insn: &Insn, rest: &[u8]) -> Option<u64> {
    let displacement = match *rest {
        [only] => i64::from(only as i8),
        [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
        _ => return None,
    };
    Some(insn.next().wrapping_add(displacement as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn flow_of(bytes: &[u8]) -> Flow {
        flow(&Insn::new(0x1000, 0, bytes))
    }

    #[test]
    fn transfers_are_decoded() {
        let known: [(&[u8], Flow); 22] = [
            (&[0xe8, 1, 0, 0, 0], Flow::Call(Some(0x1006))),
            (
                &[0x2e, 0xe8, 0xff, 0xff, 0xff, 0xff],
                Flow::Call(Some(0x1005)),
            ),
            (&[0xff, 0xd0], Flow::Call(None)),       // call *%rax
            (&[0x41, 0xff, 0xd3], Flow::Call(None)), // call *%r11
            (&[0xff, 0x15, 0, 0, 0, 0], Flow::Call(None)), // call *0(%rip)
            (&[0xeb, 0xfe], Flow::Jump(Some(0x1000))),
            (&[0xe9, 0, 1, 0, 0], Flow::Jump(Some(0x1105))),
            (&[0xff, 0xe0], Flow::Jump(None)), // jmp *%rax
            (&[0x74, 2], Flow::Branch(0x1004)),
            (&[0x0f, 0x85, 0, 1, 0, 0], Flow::Branch(0x1106)),
            (&[0xe3, 0], Flow::Branch(0x1002)), // jrcxz
            (&[0xc3], Flow::Return),
            (&[0xf3, 0xc3], Flow::Return),
            (&[0x48, 0xcf], Flow::ExceptionReturn),
            (&[0x48, 0x0f, 0x07], Flow::ExceptionReturn),
            (&[0x0f, 0x05], Flow::SystemCall),
            (&[0x0f, 0x01, 0xd8], Flow::EnterGuest),
            (&[0x0f, 0x01, 0xd9], Flow::Plain), // vmmcall
            (&[0xff, 0xc0], Flow::Plain),       // inc %eax
            (&[0xc5, 0xf8, 0x77], Flow::Plain), // vzeroupper
            (&[0x66, 0x87, 0xdb], Flow::Plain),
            (&[0x90], Flow::Plain),
        ];
        for (bytes, wanted) in known {
            assert_eq!(flow_of(bytes), wanted, "{bytes:x?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_decoded(bytes in prop::collection::vec(any::<u8>(), 0..16), address in any::<u64>()) {
            let insn = Insn::new(address, 0, &bytes);
            let _ = (flow(&insn), crate::a64::flow(&insn));
        }
    }
}
