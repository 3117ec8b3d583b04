//! Options of `worldswitch lab patch`.

use crate::cli::values::one_of;
use clap::Args;
use clap::builder::TypedValueParser;
use std::path::PathBuf;
use ws_patcher::{Range, Target};

const EXAMPLES: &str = "\
Examples:
  worldswitch lab patch build/neve/aarch64/neve.elf -o patched.elf --to pv
  worldswitch lab patch build/neve/aarch64-vhe/neve.elf -o patched.elf --to neve --vhe
  worldswitch lab patch Image -o patched.img --to pv --code 0x800-0x10468

The output has the format of the input; llvm-objcopy -O binary makes an ELF file bootable.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct PatchHypArgs {
    /// The hypervisor's image: an ELF file with symbols, or any other file with --code.
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// File for the patched image. With -, write only the image to standard output.
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// Replacement of hypervisor instructions.
    #[arg(long, value_name = "MECHANISM", value_parser = mechanism())]
    pub to: Target,
    /// Patch a VHE hypervisor. Registers named EL1 are the hypervisor's; those named EL12 and EL02 are its VM's.
    #[arg(long)]
    pub vhe: bool,
    /// Code in a file that is not ELF: every word in these bytes, and no other. May be repeated.
    #[arg(long, value_name = "START-END", value_parser = range)]
    pub code: Vec<Range>,
    /// Bytes of the file for veneers: executable, zero and unused.
    #[arg(long, value_name = "START-END", value_parser = range)]
    pub veneers: Option<Range>,
    /// The deferred pages, one per CPU, as offsets in the file: writable and unused. The pages may lie beyond the end
    /// of the file.
    #[arg(long, value_name = "START-END", value_parser = range)]
    pub pages: Option<Range>,
    /// Print the changes as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Parses neve's mechanism for CPUs that have neither FEAT_NV nor FEAT_NV2.
fn mechanism() -> impl TypedValueParser<Value = Target> {
    one_of(&[
        (Target::Pv, &["pv"], "Hypercalls, hvc #imm16"),
        (
            Target::Neve,
            &["neve"],
            "The paper's NEVE: loads and stores in the deferred page, EL1 registers, and hypercalls",
        ),
    ])
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
            "expected START-END in bytes, such as 0x800-0x10468; END is not included".into()
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
