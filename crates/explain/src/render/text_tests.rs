use super::*;
use crate::fake::{Hypercall, machine, trace};

fn explain(samples: &[Hypercall]) -> Explained {
    let (trace, measured) = trace(samples);
    Explained::of(&trace, &machine(), "test", &measured).unwrap()
}

#[test]
fn all_of_it_is_told() {
    let usual = Hypercall {
        emulated: 40,
        ..Hypercall::default()
    };
    let tick = Hypercall {
        interrupts: 1,
        ..usual
    };
    let text = explain(&[usual, usual, tick]).to_text(Shown {
        least: 3,
        registers: true,
        lines: false,
    });
    let wanted = "\
test on lab:fake: 73 instructions, 74 of them outside of the guest: 74 in the kernel.
The emulator adds 41 of these (56 %). Without them the count would be 32 (nrips: ";
    assert!(text.starts_with(wanted), "{text}");
    let (_, rest) = text.split_once("stores it).\n\n").unwrap();
    let wanted = "\
Call tree of the most common path (2 of 3 samples), in the order of time
    total      own  calls
        3        3      2  timed_call [guest]
        4        4      2  test_run [guest]
       21       21      1  svm_vcpu_run [kernel]
       53        4      1  kvm_arch_vcpu_ioctl_run [kernel]
       48        5      1    svm_handle_exit [kernel]
       43        2      1      svm_skip_emulated_instruction [kernel]
       41       41      1        kvm_emulate_instruction [kernel]
1 calls of fewer than 3 instructions are not shown: 1 in all

Other paths
       85 instructions in 1 sample of 3, with asm_sysvec_apic_timer_interrupt: 12 instructions

Phases
       22  exit (30 %)
       48  handling (65 %)
        4  entry (5 %)

Registers read/written                  entry
SVM, VMX               VMRUN              0/1

Sum: 74 attributed + 0 of the guest's own = 73 measured + 1 intercepted, which the clock does not charge
";
    assert_eq!(rest, wanted);
}

#[test]
fn an_operation_that_stays_in_the_guest_is_said_to() {
    let mut explained = explain(&[Hypercall::default()]);
    explained.tree = crate::tree::Tree::default();
    explained.sum = Sum {
        guest: 3,
        measured: 3,
        ..Sum::default()
    };
    explained.registers.clear();
    explained.phases.clear();
    let text = explained.to_text(Shown::default());
    assert!(
        text.starts_with("test on lab:fake: 3 instructions, all of the guest's own.\n"),
        "{text}"
    );
    assert!(
        !text.contains("Phases") && !text.contains("Registers"),
        "{text}"
    );
}

#[test]
fn what_is_charged_and_not_executed_is_said() {
    let mut explained = explain(&[Hypercall::default()]);
    explained.sum = Sum {
        attributed: 10,
        guest: 1,
        measured: 15,
        intercepted: -4,
    };
    let text = explained.to_text(Shown::default());
    assert!(
        text.ends_with("= 15 measured - 4 charged by the clock and not executed\n"),
        "{text}"
    );
}
