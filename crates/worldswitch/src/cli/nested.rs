//! The words of `worldswitch nested`.

use super::{Output, Parts, PlatformList, platforms};
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  worldswitch nested -o nested                  all of it: three minutes of a core
  worldswitch nested --short                    the paper's world switch only, without Linux: 20 s
  worldswitch nested --of nested --export-markdown nested.md
  worldswitch nested --on lab:neve+policy=kvm-4.10,lab:neve-nested@pv+cpu=cortex-a57+policy=kvm-4.10
  worldswitch report nested -o nested.html      the same on a page, drawn";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct NestedArgs {
    /// Platforms, separated by commas; may be given again. Default: lab:neve-nested by nv, pv, neve and
    /// nv2, with VHE and without, with both policies, and Linux KVM in Linux KVM; each beside a VM on
    /// its hypervisor.
    #[arg(long, value_name = "PLATFORM,...", value_parser = platforms, conflicts_with = "short")]
    pub on: Vec<PlatformList>,
    /// Only with the world switch of Linux 4.10, as the paper's, and without Linux itself.
    #[arg(long)]
    pub short: bool,
    /// Show these results of an earlier run, and measure nothing; may be given again.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["on", "short", "boots", "output"])]
    pub of: Vec<String>,
    /// How often to boot each platform; the second proves the digits.
    #[arg(long, value_name = "N", default_value_t = 2,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub boots: u32,
    #[command(flatten)]
    pub output: Output,
    /// Also write the tables as JSON, with traps by cause.
    #[arg(long, value_name = "FILE")]
    pub export_json: Option<PathBuf>,
    /// Also write the tables as Markdown.
    #[arg(long, value_name = "FILE")]
    pub export_markdown: Option<PathBuf>,
    #[command(flatten)]
    pub parts: Parts,
}
