use super::*;
use crate::fake::{Hypercall, explained, explained_without_nrips};
use proptest::prelude::*;

fn hypercall(emulated: usize, user_space: bool, interrupts: usize) -> Hypercall {
    Hypercall {
        emulated,
        user_space,
        interrupts,
    }
}

fn explain(emulated: usize, user_space: bool, interrupts: usize) -> Explained {
    explained(&[hypercall(emulated, user_space, interrupts)])
}

fn without_nrips(emulated: usize, user_space: bool, interrupts: usize) -> Explained {
    explained_without_nrips(&[hypercall(emulated, user_space, interrupts)])
}

#[test]
fn what_is_left_out_is_one_line_and_both_differences_are_told() {
    let difference =
        Difference::of(&without_nrips(40, false, 0), &without_nrips(30, false, 1)).unwrap();
    let text = difference.to_text(5);
    let has = |part: &str| assert!(text.contains(part), "{text}");
    has("From test on lab:fake to test on lab:fake: +12 instructions without nrips (+2 with it).");
    has("      +12                            in all, without nrips\n");
    has("      -10                            nrips, which only the emulator adds\n");
    has("       +2                            in all, as measured\n");
    assert!(!text.contains("kvm_emulate_instruction"), "{text}");
    let json = crate::fake::valid(&difference.to_json().unwrap(), "explain-diff");
    assert_eq!(json["left_out"]["instructions"], -10);
}

fn changes(difference: &Difference) -> Vec<(&str, Change, i64, i64)> {
    let changed = difference.functions.iter();
    changed
        .map(|changed| {
            (
                &*changed.name,
                changed.change,
                changed.own(),
                changed.total(),
            )
        })
        .collect()
}

#[test]
fn functions_are_gained_lost_longer_shorter() {
    let difference = Difference::of(&explain(40, false, 0), &explain(30, false, 1)).unwrap();
    assert_eq!(difference.measured, 2);
    let wanted = [
        ("helper", Change::Gained, 10, 10),
        ("kvm_emulate_instruction", Change::Shorter, -10, -10),
        ("asm_sysvec_apic_timer_interrupt", Change::Gained, 2, 12),
        ("svm_skip_emulated_instruction", Change::Callees, 0, -10),
        ("kvm_arch_vcpu_ioctl_run", Change::Callees, 0, 2),
        ("svm_handle_exit", Change::Callees, 0, 2),
    ];
    assert_eq!(changes(&difference), wanted);
    let text = difference.to_text(5);
    let has = |part: &str| assert!(text.contains(part), "{text}");
    has("From test on lab:fake to test on lab:fake: +2 instructions.");
    has("      +10       +10           0 > 1  helper: gained");
    has("       +2                            1 functions that changed by less than 5");
    has("       +2                            in all, as measured");
}

#[test]
fn names_of_compilers_and_of_el2_are_the_same_function() {
    assert_eq!(source_name("vcpu_load.isra.0"), "vcpu_load");
    assert_eq!(source_name("__kvm_nvhe___guest_exit"), "__guest_exit");
    assert_eq!(source_name("f.constprop.0.part.1"), "f");
}

#[test]
fn other_processors_are_not_compared() {
    let mut other = explain(1, false, 0);
    other.architecture = "aarch64".to_owned();
    let error = Difference::of(&explain(1, false, 0), &other).unwrap_err();
    assert!(error.to_string().contains("x86_64 and aarch64"));
}

proptest! {
    #[test]
    fn parts_always_add_up(
        one in (0usize..60, any::<bool>(), 0usize..3),
        two in (0usize..60, any::<bool>(), 0usize..3),
    ) {
        let (before, after) = (explain(one.0, one.1, one.2), explain(two.0, two.1, two.2));
        let difference = Difference::of(&before, &after).unwrap();
        prop_assert_eq!(difference.sum(), difference.measured);
        prop_assert_eq!(difference.measured, after.sum.measured - before.sum.measured);
        let views = [one, two].map(|of| without_nrips(of.0, of.1, of.2));
        let view = Difference::of(&views[0], &views[1]).unwrap();
        prop_assert_eq!((view.sum(), view.measured), (difference.measured, difference.measured));
        prop_assert_eq!(view.remaining(), views[1].remaining() - views[0].remaining());
        let same = Difference::of(&before, &before).unwrap();
        prop_assert!(same.functions.is_empty() && same.measured == 0);
        let back = Difference::of(&after, &before).unwrap();
        prop_assert_eq!(back.functions.len(), difference.functions.len());
    }
}
