//! The words of `worldswitch patch-hyp`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;
use crate::patcher::{Range, Target};

const EXAMPLES: &str = "\
Examples:
  worldswitch patch-hyp build/neve/aarch64/neve.elf -o patched.elf --to pv
  worldswitch patch-hyp build/neve/aarch64-vhe/neve.elf -o patched.elf --to neve --vhe
  worldswitch patch-hyp Image -o patched.img --to pv --code 0x800-0x10468
An ELF file stays one; llvm-objcopy -O binary makes of it what a machine boots.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct PatchHypArgs {
    /// A hypervisor's image: an ELF file with its symbols, or any other with --code.
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// The patched image.
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// By what its hypervisor instructions are to reach the hypervisor below.
    #[arg(long, value_name = "MECHANISM")]
    pub to: Mechanism,
    /// It is a VHE hypervisor: names of EL1 are its own registers, those of EL12 and EL02 its VM's.
    #[arg(long)]
    pub vhe: bool,
    /// These bytes of the file, and no others, are code, each word of them; may be given again. For files
    /// that are no ELF files.
    #[arg(long, value_name = "START-END", value_parser = range)]
    pub code: Vec<Range>,
    /// These bytes of the file are executable, zero and free.
    #[arg(long, value_name = "START-END", value_parser = range)]
    pub veneers: Option<Range>,
    /// The deferred pages, one a CPU, as if in the file: writable and free; they may lie behind its end.
    #[arg(long, value_name = "START-END", value_parser = range)]
    pub pages: Option<Range>,
    /// What was changed as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Of neve's mechanisms those for CPUs that have neither FEAT_NV nor FEAT_NV2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mechanism {
    /// Calls, hvc #imm16.
    Pv,
    /// The paper's NEVE: loads and stores of the deferred page, registers of EL1, and calls.
    Neve,
}

impl From<Mechanism> for Target {
    fn from(mechanism: Mechanism) -> Self {
        match mechanism {
            Mechanism::Pv => Self::Pv,
            Mechanism::Neve => Self::Neve,
        }
    }
}

/// `START-END`, each decimal or with 0x.
fn range(text: &str) -> Result<Range, String> {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    };
    let ends = text.split_once('-');
    ends.and_then(|(start, end)| Range::new(number(start)?, number(end)?))
        .ok_or_else(|| {
            "a range is START-END in bytes, as 0x800-0x10468, END beyond the last".into()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        assert_eq!(range("0x10-32"), Ok(Range::new(16, 32).unwrap()));
        for wrong in ["", "1", "2-1", "1-1", "0x-1", "-1", "1-0x1g"] {
            assert!(range(wrong).is_err(), "{wrong}");
        }
    }
}
