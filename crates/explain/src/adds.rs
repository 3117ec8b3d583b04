//! The emulator's additions: work that no real processor of the kind causes. They are never left out silently: totals
//! with and without them stand beside each other.

use crate::trace::Architecture;

/// A feature that the emulator lacks, and the functions that run because of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lack {
    /// Name by which a user selects the lack.
    pub name: &'static str,
    /// The emulated processor that lacks it.
    pub architecture: Architecture,
    /// Function that runs, with all that it calls, because of the lack.
    pub function: &'static str,
    /// Caller, direct or not, below which the function counts; None: any.
    pub below: Option<&'static str>,
    /// The cause of the additional work, in words.
    pub why: &'static str,
    /// Evidence for the lack.
    pub established: &'static str,
}

/// All lacks that are known.
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

/// Returns the names by which users select lacks, each once.
pub fn names() -> Vec<&'static str> {
    let mut names = LACKS.map(|lack| lack.name).to_vec();
    names.sort_unstable();
    names.dedup();
    names
}
