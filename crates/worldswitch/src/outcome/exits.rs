//! What a monitor counted, set beside what a benchmark must have done: an unproven check becomes
//! proved, and one that the host contradicts fails.
//!
//! Pure. The rules stand in one table, [`RULES`].

use crate::outcome::row::RowReport;
use std::collections::BTreeMap;
use ws_lab::sets::Architecture;
use ws_machines::machine::Engine;
use ws_records::Exits;
use ws_results::{HostView, Samples, Status, Verdict};

/// What an operation does that the host can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// KVM answers it, and counts each in this counter of its own.
    Kvm(&'static str),
    /// It comes back to the monitor, for this reason of KVM_RUN's, so many times.
    Returns(&'static str, u64),
    /// It touches a page of the host that the guest's memory did not have.
    NewPage,
    /// The guest does it alone, with any extension that KVM uses.
    Never,
    /// It depends on the processor and on how KVM was set up: nothing is concluded.
    Depends,
}

/// Bytes of the string that Print writes (guest/bench/print.c). KVM hands string output on byte by
/// byte (arch/x86/kvm/emulate.c, em_outs writes one unit a pass).
const PRINT_BYTES: u64 = 32;

/// By benchmark. Sources: Intel SDM vol. 3, 26.1.2 and 26.1.3 (instructions that cause VM exits,
/// always and conditionally); AMD APM vol. 2, 15.9 (instruction intercepts); which controls KVM
/// sets, Linux arch/x86/kvm/vmx/vmx.c (vmcs_config) and svm/svm.c (init_vmcb). Each row's page in
/// docs/benchmarks tells more. A benchmark that is not here depends.
const RULES: [(&str, Rule); 21] = [
    // RDTSC: KVM sets neither "RDTSC exiting" nor its intercept.
    ("idle", Rule::Never),
    // "Descriptor-table exiting" only for a guest that sets CR4.UMIP on a CPU that lacks it.
    ("sgdt", Rule::Never),
    ("sldt", Rule::Never),
    ("sidt", Rule::Never),
    ("lgdt", Rule::Never),
    // No control in VMX; in SVM the intercept of CR0 reads, which KVM sets at times.
    ("smsw", Rule::Depends),
    // No control in VMX; the intercepts of SVM are never set.
    ("pushf-popf", Rule::Never),
    // With shadow paging.
    ("set-cr3", Rule::Depends),
    // VMCALL always exits; for VMMCALL KVM always sets the intercept. KVM counts each.
    ("hypercall", Rule::Kvm("hypercalls")),
    // CPUID always exits in VMX; for SVM KVM always sets the intercept.
    ("cpuid", Rule::Kvm("exits")),
    // A write of the APIC timer's divider: with APICv an APIC-write exit (SDM vol. 3, 30.4.3.2), and
    // software's with AVIC too (APM vol. 2, 15.29.3.1).
    ("interrupt-controller-trap", Rule::Kvm("exits")),
    // APICv, AVIC, posted interrupts.
    ("ipi-halted", Rule::Depends),
    ("ipi-running", Rule::Depends),
    // The first pass may find pages whose second-stage entry is not there yet.
    ("hot-memory-access", Rule::Depends),
    ("cold-memory-access", Rule::NewPage),
    // With shadow paging.
    ("set-page-table-4k", Rule::Depends),
    ("set-page-table-2m", Rule::Depends),
    ("remap-page", Rule::Depends),
    // KVM lets no port through to a guest; one of the monitor's devices comes back to it.
    ("in", Rule::Returns("io", 1)),
    ("out", Rule::Returns("io", 1)),
    ("print", Rule::Returns("io", PRINT_BYTES)),
];

/// Of fewer operations than this, a few exits of the host's own making could be taken for theirs.
const OPERATIONS_TO_TELL: u64 = 1000;

/// What the host's counts say of a benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Finding {
    /// It took place, each time.
    Proved(String),
    /// It can't have taken place each time.
    Contradicted(String),
    /// Worth knowing beside the guest's own verdict.
    Noted(String),
    Nothing,
}

/// What is other on aarch64. Sources: Linux, arch/arm64/include/asm/kvm_arm.h (HCR_GUEST_FLAGS) and
/// arch/arm64/kvm/guest.c (kvm_vcpu_stats_desc); docs/benchmarks/aarch64.md.
const ARM_RULES: [(&str, Rule); 6] = [
    // HVC always exits, and at a virtual EL2 SMC, which KVM has no counter for.
    ("hypercall", Rule::Kvm("exits")),
    // KVM has the distributor, and answers a read of it itself.
    ("interrupt-controller-trap", Rule::Kvm("mmio_exit_kernel")),
    // HCR_EL2.TID3, which KVM always sets.
    ("read-id-register", Rule::Kvm("exits")),
    // A register of the monitor's.
    ("in", Rule::Returns("mmio", 1)),
    ("out", Rule::Returns("mmio", 1)),
    ("print", Rule::Returns("mmio", PRINT_BYTES)),
];

fn rule(bench: &str, architecture: Architecture) -> Rule {
    let own: &[_] = match architecture {
        Architecture::X86_64 => &[],
        Architecture::Aarch64 => &ARM_RULES,
    };
    let found = own.iter().chain(&RULES).find(|(name, _)| *name == bench);
    found.map_or(Rule::Depends, |(_, rule)| *rule)
}

/// neve counts each trap by its cause, and those of a guest hypervisor apart: what is left are the
/// guest's own.
fn of_neve(rule: Rule, exits: &Exits) -> Finding {
    let each = match rule {
        Rule::Depends | Rule::Never | Rule::NewPage => return Finding::Nothing,
        Rule::Kvm(_) => 1,
        Rule::Returns(_, each) => each,
    };
    let own = exits
        .returns
        .iter()
        .filter(|(cause, _)| !cause.starts_with("el2_"));
    let came = own.fold(0u64, |sum, (_, n)| sum.saturating_add(*n));
    let operations = exits.operations.saturating_mul(each);
    let text = format!(
        "neve counted {came} traps of the guest for {} operations",
        exits.operations
    );
    // More: the host's half of a guest hypervisor in split mode calls its own half at EL2.
    if came >= operations {
        Finding::Proved(text)
    } else {
        Finding::Noted(text)
    }
}

/// Applies a rule. Where KVM emulates the guest, only what the monitor itself saw counts: such a
/// KVM's counters say nothing about the exits of a processor.
fn find(rule: Rule, exits: &Exits, engine: Engine) -> Finding {
    let operations = exits.operations;
    let kvm = exits.kvm.as_ref().filter(|_| engine == Engine::HardwareKvm);
    if operations == 0 {
        return Finding::Nothing;
    }
    if engine == Engine::Neve {
        return of_neve(rule, exits);
    }
    match rule {
        Rule::Depends => Finding::Nothing,
        Rule::Kvm(counter) => kvm.map_or(Finding::Nothing, |kvm| {
            let (events, all) = (count(kvm, counter), count(kvm, "exits"));
            let text = format!(
                "KVM counted {events} {counter} in {all} exits for {operations} operations"
            );
            weigh(events.min(all), operations, text)
        }),
        Rule::Returns(reason, each) => {
            let came = count(&exits.returns, reason);
            let text = format!("the guest came back to the monitor {came} times by {reason} for {operations} operations");
            match weigh(came, operations, text) {
                // At least one each, but not every byte: the rest may have come in longer pieces.
                Finding::Proved(_) if came < operations.saturating_mul(each) => Finding::Nothing,
                finding => finding,
            }
        }
        Rule::NewPage => match (exits.pages_before, exits.pages_after) {
            (Some(before), Some(after)) => {
                let new = after.saturating_sub(before);
                let text = format!(
                    "the guest's memory had {before} pages before and {after} after {operations} operations"
                );
                weigh(new, operations, text)
            }
            _ => Finding::Nothing,
        },
        Rule::Never => kvm.map_or(Finding::Nothing, |kvm| {
            // Interrupts of the host's own take it out of any guest.
            let own = count(kvm, "exits").saturating_sub(count(kvm, "irq_exits"));
            if operations < OPERATIONS_TO_TELL || own < operations / 2 {
                return Finding::Nothing;
            }
            Finding::Noted(format!(
                "it left the guest, which it need not: KVM counted {own} exits beside interrupts for {operations} operations"
            ))
        }),
    }
}

fn count(counts: &BTreeMap<String, u64>, name: &str) -> u64 {
    counts.get(name).copied().unwrap_or(0)
}

fn weigh(seen: u64, operations: u64, text: String) -> Finding {
    if seen >= operations {
        Finding::Proved(text)
    } else {
        Finding::Contradicted(text)
    }
}

/// Sets the host's counts beside the guest's word.
pub fn judge(row: &mut RowReport, engine: Engine, architecture: Architecture, pins: &[u32]) {
    let RowReport {
        bench,
        exits,
        check,
        status,
        reason,
        result,
        strayed,
        external,
        ..
    } = row;
    let Some(exits) = exits else { return };
    strayed.extend(places(exits, pins));
    let Some(check) = check.as_mut().filter(|_| *status == Status::Ok) else {
        return;
    };
    let rule = match rule(bench, architecture) {
        // The marks of a guest that is timed from outside come to the monitor too.
        Rule::Returns(..) if external.is_some() => Rule::Depends,
        rule => rule,
    };
    let text = match find(rule, exits, engine) {
        Finding::Nothing => return,
        Finding::Noted(text) => text,
        Finding::Proved(text) => {
            check.verdict = Verdict::Proved;
            text
        }
        Finding::Contradicted(text) => {
            check.verdict = Verdict::Failed;
            *status = Status::Failed;
            *reason = Some(format!("the host saw that it did not take place: {text}"));
            *result = None;
            text
        }
    };
    check.note = match check.note.as_str() {
        "" => text,
        note => format!("{note}. On the host: {text}"),
    };
}

/// vCPU threads that the monitor saw elsewhere than they were pinned to. It looks whenever the
/// guest comes back to it, and at both ends of the samples; what happens between is not seen.
fn places(exits: &Exits, pins: &[u32]) -> Vec<String> {
    let mut strayed: Vec<String> = (0..)
        .zip(exits.host_cpus.iter().zip(pins))
        .filter(|(_, (seen, pin))| **seen >= 0 && **seen != i64::from(**pin))
        .map(|(vcpu, (seen, pin)): (u32, _)| {
            format!("vCPU {vcpu} was pinned to CPU {pin} and ran on CPU {seen}")
        })
        .collect();
    if !pins.is_empty() && exits.moves > 0 {
        strayed.push(format!(
            "pinned vCPUs were seen to change their CPU {} times",
            exits.moves
        ));
    }
    strayed
}

/// What the host saw, as a result keeps it; nothing where it did not look, or saw nothing to tell.
pub fn view(report: &RowReport, boot: u32) -> Option<HostView> {
    if report.exits.is_none() && report.strayed.is_empty() {
        return None;
    }
    let mut view = HostView {
        boot,
        launch: report.launch,
        strayed: report.strayed.clone(),
        ..HostView::default()
    };
    if let Some(exits) = report.exits.clone() {
        view.operations = Some(exits.operations);
        view.host_ns = Some(exits.host_ns);
        view.returns = exits.returns;
        view.kvm = exits.kvm;
        view.page_faults = exits.page_faults;
        view.pages_before = exits.pages_before;
        view.pages_after = exits.pages_after;
    }
    Some(view)
}

/// The metrics that a monitor's counts make, at their `place`. A count over all samples of a boot is
/// one sample of as many operations.
pub fn samples(exits: &Exits, place: &Samples) -> Vec<(&'static str, Samples)> {
    if exits.operations == 0 {
        return Vec::new();
    }
    let sample = |total| Samples {
        iterations: exits.operations,
        run: vec![total],
        control: vec![0],
        ..place.clone()
    };
    let returns = exits.returns.values();
    let returns = returns.fold(0u64, |sum, n| sum.saturating_add(*n));
    let kvm = exits.kvm.iter();
    kvm.map(|kvm| ("exits", sample(count(kvm, "exits"))))
        .chain([("returns", sample(returns))])
        .collect()
}

#[cfg(test)]
#[path = "exits_tests.rs"]
mod tests;
