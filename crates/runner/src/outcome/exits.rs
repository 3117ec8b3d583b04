//! Compares a monitor's counts with the events that a benchmark must have caused: an unproven check becomes proved, and
//! one that the host contradicts fails.
//!
//! Pure. The rules are in the tables [`RULES`], [`ARM_RULES`], [`RISCV_RULES`] and [`MMIO_RULES`].

use crate::outcome::row::RowReport;
use std::collections::BTreeMap;
use ws_lab::sets::Architecture;
use ws_machines::machine::Engine;
use ws_records::Exits;
use ws_results::{HostView, Samples, Status, Verdict};

/// Rule by which the host's counts prove an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// KVM handles the operation, and counts each in this counter.
    Kvm(&'static str),
    /// The operation returns to the monitor with this exit reason of KVM_RUN, this many times.
    Returns(&'static str, u64),
    /// The operation touches a page that the host has not yet given to the guest's memory.
    NewPage,
    /// The operation never exits, with any extension that KVM uses.
    Never,
    /// The processor and KVM's configuration decide: nothing is concluded.
    Depends,
}

/// Bytes of the string that Print writes (guest/bench/print.c). KVM passes string output on byte by
/// byte (arch/x86/kvm/emulate.c: em_outs writes one unit per pass).
const PRINT_BYTES: u64 = 32;
/// Pages of 4 KiB in one of 2 MiB.
const HUGE_PAGES: u64 = 512;

/// Rules by benchmark. Sources: Intel SDM vol. 3, 26.1.2 and 26.1.3 (instructions that cause VM exits,
/// always and conditionally); AMD APM vol. 2, 15.9 (instruction intercepts); for the controls that KVM
/// sets, Linux arch/x86/kvm/vmx/vmx.c (vmcs_config) and svm/svm.c (init_vmcb). See also each row's page
/// in docs/benchmarks. A benchmark that is not in the table has the rule `Depends`.
const RULES: [(&str, Rule); 24] = [
    // RDTSC: KVM sets neither "RDTSC exiting" nor its intercept.
    ("idle", Rule::Never),
    // "Descriptor-table exiting" only for a guest that sets CR4.UMIP on a CPU that lacks it.
    ("sgdt", Rule::Never),
    ("sldt", Rule::Never),
    ("sidt", Rule::Never),
    ("lgdt", Rule::Never),
    // No control in VMX; in SVM the intercept of CR0 reads, which KVM sets sometimes.
    ("smsw", Rule::Depends),
    // No control in VMX; the intercepts of SVM are never set.
    ("pushf-popf", Rule::Never),
    // Exits only with shadow paging.
    ("set-cr3", Rule::Depends),
    // VMCALL always exits; for VMMCALL KVM always sets the intercept. KVM counts each.
    ("hypercall", Rule::Kvm("hypercalls")),
    ("hypercall-pending", Rule::Kvm("hypercalls")),
    ("hv-hypercall", Rule::Kvm("exits")),
    // KVM's clock, in a page.
    ("pvclock-read", Rule::Never),
    // CPUID always exits in VMX; for SVM KVM always sets the intercept.
    ("cpuid", Rule::Kvm("exits")),
    // A write of the APIC timer's divider: with APICv an APIC-write exit (SDM vol. 3, 30.4.3.2); with
    // AVIC it is handled by software too (APM vol. 2, 15.29.3.1).
    ("interrupt-controller-trap", Rule::Kvm("exits")),
    // Depends on APICv, AVIC, posted interrupts.
    ("ipi-halted", Rule::Depends),
    ("ipi-running", Rule::Depends),
    // The first pass may find pages without a second-stage entry.
    ("hot-memory-access", Rule::Depends),
    ("cold-memory-access", Rule::NewPage),
    // Exit only with shadow paging.
    ("set-page-table-4k", Rule::Depends),
    ("set-page-table-2m", Rule::Depends),
    ("remap-page", Rule::Depends),
    // KVM passes no port through to a guest; an access to a device of the monitor returns to the monitor.
    ("in", Rule::Returns("io", 1)),
    ("out", Rule::Returns("io", 1)),
    ("print", Rule::Returns("io", PRINT_BYTES)),
];

/// Least number of operations: with fewer, exits that the host caused could be taken for the operations'.
const OPERATIONS_TO_TELL: u64 = 1000;

/// Conclusion from the host's counts.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Finding {
    /// The event took place each time.
    Proved(String),
    /// The event can't have taken place each time.
    Contradicted(String),
    /// A note beside the guest's own verdict.
    Noted(String),
    Nothing,
}

/// Rules that differ on aarch64. Sources: Linux, arch/arm64/include/asm/kvm_arm.h (HCR_GUEST_FLAGS) and
/// arch/arm64/kvm/guest.c (kvm_vcpu_stats_desc); docs/benchmarks/aarch64.md.
const ARM_RULES: [(&str, Rule); 6] = [
    // HVC always exits, and so does SMC at a virtual EL2; KVM has no counter for them.
    ("hypercall", Rule::Kvm("exits")),
    ("hypercall-pending", Rule::Kvm("exits")),
    ("hypercall-fp", Rule::Kvm("exits")),
    // KVM emulates the distributor, so it handles a read itself.
    ("interrupt-controller-trap", Rule::Kvm("mmio_exit_kernel")),
    // HCR_EL2.TID3, which KVM always sets.
    ("read-id-register", Rule::Kvm("exits")),
    ("in-fp", Rule::Returns("mmio", 1)),
];

/// Rules that differ on riscv64. Sources: Linux, arch/riscv/kvm/vcpu.c (kvm_vcpu_stats_desc; hcounteren lets a guest read
/// only `time`), vcpu_exit.c and vcpu_insn.c. KVM never sets hstatus.VTVM, with which a guest's accesses to `satp` and its
/// SFENCE.VMA exit.
const RISCV_RULES: [(&str, Rule); 11] = [
    // ECALL always exits. KVM's own counter of calls has only those that it passes on to the monitor.
    ("hypercall", Rule::Kvm("exits")),
    ("hypercall-pending", Rule::Kvm("exits")),
    ("set-timer", Rule::Kvm("exits")),
    ("remote-fence-halted", Rule::Kvm("exits")),
    ("remote-fence-running", Rule::Kvm("exits")),
    ("hypercall-user", Rule::Returns("sbi", 1)),
    ("read-counter", Rule::Kvm("csr_exit_kernel")),
    // KVM emulates an APLIC.
    ("interrupt-controller-trap", Rule::Kvm("mmio_exit_kernel")),
    ("set-cr3", Rule::Never),
    ("tlb-invalidate", Rule::Never),
    ("write-vector-base", Rule::Never),
];

/// Rules of an architecture without ports: a register of the monitor's device.
const MMIO_RULES: [(&str, Rule); 3] = [
    ("in", Rule::Returns("mmio", 1)),
    ("out", Rule::Returns("mmio", 1)),
    ("print", Rule::Returns("mmio", PRINT_BYTES)),
];

fn rule(bench: &str, architecture: Architecture) -> Rule {
    let (own, access): (&[_], &[_]) = match architecture {
        Architecture::X86_64 => (&[], &[]),
        Architecture::Aarch64 => (&ARM_RULES, &MMIO_RULES),
        Architecture::Riscv64 => (&RISCV_RULES, &MMIO_RULES),
    };
    let found = (own.iter().chain(access).chain(&RULES)).find(|(name, _)| *name == bench);
    found.map_or(Rule::Depends, |(_, rule)| *rule)
}

/// Applies a rule to neve's counts. neve counts traps by cause, and those of a guest hypervisor
/// separately (`el2_`): the others are the guest's own.
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
    // More traps are possible: the EL1 half of a split-mode guest hypervisor calls its EL2 half.
    if came >= operations {
        Finding::Proved(text)
    } else {
        Finding::Noted(text)
    }
}

/// Applies a rule. On a software KVM only the monitor's own counts are used: that KVM's counters say
/// nothing about the exits of a processor.
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
            let text = format!("the guest returned to the monitor {came} times by {reason} for {operations} operations");
            match weigh(came, operations, text) {
                // There was one per operation at least, but not one per byte: output may have come in larger units.
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
                // A page of 2 MiB serves many operations, or none.
                if before > 0 && [before, after].iter().all(|count| count % HUGE_PAGES == 0) {
                    return Finding::Noted(format!("{text}: the pages are of 2 MiB"));
                }
                weigh(new, operations, text)
            }
            _ => Finding::Nothing,
        },
        Rule::Never => kvm.map_or(Finding::Nothing, |kvm| {
            // Host interrupts cause exits of any guest.
            let own = count(kvm, "exits").saturating_sub(count(kvm, "irq_exits"));
            if operations < OPERATIONS_TO_TELL || own < operations / 2 {
                return Finding::Nothing;
            }
            Finding::Noted(format!(
                "unneeded exits: KVM counted {own} exits besides interrupts for {operations} operations"
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

/// Compares the guest's verdict on a row with the host's counts, and updates the row.
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
        // The marks of a guest that is timed from outside also return to the monitor.
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
            *reason = Some(format!(
                "the host saw that the event did not take place: {text}"
            ));
            *result = None;
            text
        }
    };
    check.note = match check.note.as_str() {
        "" => text,
        note => format!("{note}. On the host: {text}"),
    };
}

/// Names vCPU threads that the monitor saw on other CPUs than they are pinned to. The monitor checks whenever the guest
/// returns to it, and at both ends of the samples, but not in between.
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
            "pinned vCPUs changed their CPU {} times",
            exits.moves
        ));
    }
    strayed
}

/// Makes the host's view of a row for a result; None if there are neither counts nor strayed threads.
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
        view.below = exits.below;
        view.below_causes = exits.below_causes;
        view.reasons = exits.reasons;
        view.threads = exits.threads;
        view.steps = exits.steps;
        view.traced = exits.traced;
        view.page_faults = exits.page_faults;
        view.pages_before = exits.pages_before;
        view.pages_after = exits.pages_after;
    }
    Some(view)
}

/// Makes metrics of a monitor's counts; `place` is their boot and launch. A count over all samples of a boot is one
/// sample, of all operations. Without a monitor there are none: only the steps of a transaction are known.
pub fn samples(exits: &Exits, place: &Samples) -> Vec<(&'static str, Samples)> {
    let has_monitor = exits.kvm.is_some() || exits.steps.is_empty();
    if exits.operations == 0 || !has_monitor {
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
