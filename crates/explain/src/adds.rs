//! What the emulator adds: work that no real processor of the kind causes. It is never left out silently: totals with
//! and without it stand beside each other.

use crate::trace::Architecture;

/// Something that the emulator lacks, and the functions that run because of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lack {
    /// By which a user names it.
    pub name: &'static str,
    /// The emulated processor that lacks it.
    pub architecture: Architecture,
    /// A function that runs, with all that it calls, because of it,
    pub function: &'static str,
    /// where this one calls it, directly or not; None: wherever.
    pub below: Option<&'static str>,
    /// What it is.
    pub why: &'static str,
    /// How that was found out.
    pub established: &'static str,
}

/// All that is known.
pub const LACKS: [Lack; 2] = [
    Lack {
        name: "nrips",
        architecture: Architecture::X86_64,
        function: "kvm_emulate_instruction",
        below: Some("svm_skip_emulated_instruction"),
        why: "QEMU's SVM does not store the address of the next instruction (NRIPS), so KVM fetches and decodes the \
              guest's instruction to step over it; every AMD EPYC stores it",
        established: "CPUID Fn8000_000A, EDX bit 3: QEMU 7.2 and 10.0 report nrip-save as false for their processor \
                      `max` under TCG (QMP query-cpu-model-expansion), as TCG_SVM_FEATURES in QEMU's \
                      target/i386/cpu.c has it only where no kernel is emulated; QEMU's EPYC models have it. In \
                      Linux's arch/x86/kvm/svm/svm.c, __svm_skip_emulated_instruction() (in older versions \
                      svm_skip_emulated_instruction()) calls kvm_emulate_instruction() only if next_rip is 0",
    },
    Lack {
        name: "nrips",
        architecture: Architecture::X86_64,
        function: "svm_get_insn_len",
        below: None,
        why: "QEMU's SVM does not store the address of the next instruction (NRIPS), so Xen fetches and decodes the \
              guest's instruction to step over it; every AMD EPYC stores it",
        established: "the same bit. In Xen's xen/arch/x86/hvm/svm/emulate.c, svm_get_insn_len() returns before it \
                      decodes if the bit is set, but for builds with debug=y, which Debian's are not",
    },
];

/// By which users name what is known, each once.
pub fn names() -> Vec<&'static str> {
    let mut names = LACKS.map(|lack| lack.name).to_vec();
    names.sort_unstable();
    names.dedup();
    names
}
