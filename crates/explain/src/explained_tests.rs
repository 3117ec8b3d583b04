use super::*;
use crate::fake::{
    Hypercall, explained as explain, explained_without_nrips as without_nrips, machine, trace,
};
use crate::trace::{Accessed, Insn, What};
use proptest::prelude::*;

const PLAIN: Hypercall = Hypercall {
    emulated: 40,
    user_space: false,
    interrupts: 0,
};

#[test]
fn a_hypercall_is_explained() {
    let explained = explain(&[PLAIN; 3]);
    assert_eq!((explained.samples, explained.windows), (3, 3));
    let Sum {
        attributed,
        guest,
        measured,
        intercepted,
    } = explained.sum;
    assert_eq!(attributed + guest, measured + intercepted);
    assert_eq!((intercepted, explained.others.len()), (1, 0));
    let phases: Vec<(Phase, u64)> = explained
        .phases
        .iter()
        .map(|count| (count.phase, count.instructions))
        .collect();
    assert_eq!(
        phases,
        [(Phase::Exit, 22), (Phase::Handling, 48), (Phase::Entry, 4)]
    );
    let counts = explained.counts();
    let first = &explained.functions[counts[0].function as usize];
    assert_eq!(
        (&*first.name, counts[0].own),
        ("kvm_emulate_instruction", 41)
    );
    assert!(
        counts
            .iter()
            .all(|count| explained.functions[count.function as usize].kind != Kind::Guest)
    );
    assert_eq!(
        counts.iter().map(|count| count.own as i64).sum::<i64>(),
        attributed
    );
}

#[test]
fn what_the_emulator_adds_is_told_and_can_be_taken_out() {
    let explained = explain(&[PLAIN]);
    let [added] = &explained.added[..] else {
        panic!("{:?}", explained.added);
    };
    assert_eq!((&*added.name, added.instructions), ("nrips", 41));
    assert_eq!(explained.without(&["nrips"]), explained.sum.measured - 41);
    assert_eq!(explained.without(&["other"]), explained.sum.measured);
    let real = explain(&[Hypercall {
        emulated: 0,
        ..PLAIN
    }]);
    assert!(real.added.is_empty());
}

#[test]
fn a_view_leaves_out_what_is_named_and_says_so() {
    let (whole, view) = (explain(&[PLAIN]), without_nrips(&[PLAIN]));
    let left_out = view.left_out.as_ref().unwrap();
    assert_eq!((left_out.instructions, left_out.control), (41, 0));
    assert_eq!(view.remaining(), whole.sum.measured - 41);
    assert_eq!((view.sum, &view.added), (whole.sum, &whole.added));
    let own =
        |explained: &Explained| -> u64 { explained.counts().iter().map(|count| count.own).sum() };
    assert_eq!(own(&view), own(&whole) - 41);
    let phases = |explained: &Explained| -> Vec<u64> {
        explained
            .phases
            .iter()
            .map(|count| count.instructions)
            .collect()
    };
    assert_eq!(
        (phases(&whole), phases(&view)),
        (vec![22, 48, 4], vec![22, 7, 4])
    );
    let function = "kvm_emulate_instruction";
    assert!(whole.to_folded().contains(function) && !view.to_folded().contains(function));
    assert!(!view.to_flame_graph().unwrap().contains(function));
    let text = view.to_text(crate::render::Shown::default());
    for part in [
        "test on lab:fake: 32 instructions without nrips (73 with it), 33 of them outside of the guest: 33 in the kernel.\n\
         Left out: nrips, 41 instructions that only the emulator adds (QEMU's SVM ",
        "       7  handling (21 %)",
        "= 73 measured + 1 intercepted, which the clock does not charge\nWithout nrips: 73 - 41 = 32\n",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert!(!text.contains("The emulator adds"), "{text}");
    let json = crate::fake::valid(&view.to_json().unwrap(), "explain");
    assert_eq!(json["left_out"]["names"][0], "nrips");
    assert_eq!(
        Explained::from_json(&view.to_json().unwrap()).unwrap(),
        view
    );
}

#[test]
fn a_view_without_what_is_not_there_is_whole_and_says_so() {
    let real = Hypercall {
        emulated: 0,
        ..PLAIN
    };
    let (whole, view) = (explain(&[real]), without_nrips(&[real]));
    assert_eq!(
        (&view.tree, view.remaining()),
        (&whole.tree, whole.sum.measured)
    );
    assert!(
        view.sentence()
            .contains("Left out: nrips, which adds nothing to this operation.")
    );
}

/// A trace with one access by the first instruction behind VMMCALL, which saves the VM's state.
fn accessing(samples: usize, what: &[What]) -> (Trace, Measured) {
    let (mut trace, measured) = trace(&vec![PLAIN; samples]);
    let path = trace.paths.len() - 1;
    let of = |insn: &Insn| insn.address == crate::fake::address("svm_vcpu_run") + 3;
    let at = trace.path(path as u32).position(of).unwrap();
    let accesses = what.iter().map(|what| Accessed { at, what: *what });
    trace.paths[path].accesses = accesses.collect();
    (trace, measured)
}

const EXIT_CODE: What = What::Vmcb {
    offset: 0x70,
    is_write: false,
};

#[test]
fn fields_of_the_vmcb_are_registers_of_a_phase() {
    let (trace, measured) = accessing(1, &[EXIT_CODE]);
    let explained = Explained::of(&trace, &machine(), "test", &measured).unwrap();
    let text = explained.to_text(crate::render::Shown {
        registers: true,
        ..crate::render::Shown::default()
    });
    assert!(
        text.contains("\nVMCB control area      EXITCODE              1/0                -\n"),
        "{text}"
    );
    assert_eq!(explained.accessing[&Class::VmcbControl].reads, 1);
    assert!(!text.contains("QEMU before 9.1"));
    let older = Trace {
        has_accesses: false,
        ..trace
    };
    let explained = Explained::of(&older, &machine(), "test", &measured).unwrap();
    let text = explained.to_text(crate::render::Shown::default());
    assert!(
        text.contains("QEMU before 9.1") && text.contains("without --qemu"),
        "{text}"
    );
}

#[test]
fn a_path_with_other_accesses_is_another_one() {
    let (mut trace, measured) = accessing(3, &[EXIT_CODE]);
    let mut other = trace.paths.last().unwrap().clone();
    other.accesses.clear();
    trace.paths.push(other);
    *trace.windows.last_mut().unwrap() += 1;
    let explained = Explained::of(&trace, &machine(), "test", &measured).unwrap();
    assert_eq!((explained.windows, explained.others.len()), (2, 1));
    assert_eq!(explained.others[0].sum, explained.sum);
}

#[test]
fn user_space_is_a_phase_of_its_own() {
    let explained = explain(&[Hypercall {
        user_space: true,
        ..PLAIN
    }]);
    let phases: BTreeMap<Phase, u64> = explained
        .phases
        .iter()
        .map(|count| (count.phase, count.instructions))
        .collect();
    assert_eq!(
        phases.values().sum::<u64>() as i64,
        explained.sum.attributed
    );
    assert_eq!((phases[&Phase::UserSpace], phases[&Phase::Entry]), (10, 4));
}

#[test]
fn other_paths_are_told_with_the_reason() {
    let tick = Hypercall {
        interrupts: 1,
        ..PLAIN
    };
    let longer = Hypercall {
        emulated: 50,
        ..PLAIN
    };
    let explained = explain(&[PLAIN, tick, PLAIN, longer, PLAIN, tick]);
    assert_eq!((explained.samples, explained.windows), (6, 3));
    let why = |other: &OtherPath| {
        let because = other.because.clone().unwrap();
        (
            other.windows,
            other.sum.measured - explained.sum.measured,
            because.function,
            because.is_new,
        )
    };
    let found: Vec<_> = explained.others.iter().map(why).collect();
    let timer = "asm_sysvec_apic_timer_interrupt".to_owned();
    assert_eq!(
        found,
        [
            (2, 12, timer, true),
            (1, 10, "kvm_emulate_instruction".to_owned(), false)
        ]
    );
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let (whole, measured) = trace(&[PLAIN; 3]);
    let says = |trace: &Trace, measured: &Measured| {
        Explained::of(trace, &machine(), "test", measured)
            .unwrap_err()
            .to_string()
    };
    assert!(says(&whole, &Measured::default()).contains("no samples"));
    let (_, more) = trace(&[PLAIN; 4]);
    assert!(says(&whole, &more).contains("3 windows of test_run"));
    let mut other = measured.clone();
    other.run[1] += 1;
    assert!(says(&whole, &other).contains("sample 1"));
    let mut nothing = whole.clone();
    nothing.windows.clear();
    assert!(says(&nothing, &measured).contains("no window"));
}

#[test]
fn a_benchmark_that_reads_the_clock_is_refused_if_most_samples_have_more_than_it_measured() {
    let explained = |samples: usize, partial: usize| {
        let (mut trace, mut measured) = trace(&vec![PLAIN; samples]);
        let address = crate::fake::address("test_run");
        let reads = trace.insns.iter().position(|insn| insn.address == address);
        trace.insns[reads.unwrap()] = Insn::new(address, 0, &[0x0f, 0x31]);
        measured.run[..partial]
            .iter_mut()
            .for_each(|ticks| *ticks -= 20);
        Explained::of(&trace, &machine(), "test", &measured)
    };
    let whole = explained(3, 0).unwrap();
    assert_eq!((whole.samples, whole.partial, whole.windows), (3, 0, 3));
    assert!(
        !whole
            .to_text(crate::render::Shown::default())
            .contains("not known")
    );
    let most = explained(3, 1).unwrap();
    assert_eq!((most.samples, most.partial, most.windows), (3, 1, 2));
    assert_eq!(most.sum, whole.sum);
    let text = most.to_text(crate::render::Shown::default());
    assert!(text.contains("not known for 1 of 3 samples"), "{text}");
    let refused = explained(2, 1).unwrap_err();
    assert_eq!(refused, ExplainError::SelfTimed("test_run".into()));
}

#[test]
fn json_is_read_back() {
    let explained = explain(&[
        PLAIN,
        Hypercall {
            interrupts: 1,
            ..PLAIN
        },
    ]);
    let text = explained.to_json().unwrap();
    assert_eq!(Explained::from_json(&text).unwrap(), explained);
    let refused = |from: &str, to: &str| {
        let text = text.replacen(from, to, 1);
        Explained::from_json(&text).unwrap_err().to_string()
    };
    assert!(refused(SCHEMA, "worldswitch-explain/9").contains("explain/9"));
    assert!(refused("\"parent\": 3", "\"parent\": 2000").contains("called by node 2000"));
    assert!(refused("\"function\": 0", "\"function\": 99").contains("function 99"));
    assert!(refused("\"samples\"", "\"simples\"").contains("samples"));
}

#[test]
fn a_flame_graph_has_all_functions() {
    let svg = explain(&[PLAIN]).to_flame_graph().unwrap();
    assert!(svg.contains("<svg") && svg.contains("kvm_emulate_instruction"));
    assert_eq!(
        svg,
        explain(&[PLAIN]).to_flame_graph().unwrap(),
        "it is the same each time"
    );
}

fn calls() -> impl Strategy<Value = Hypercall> {
    (0usize..60, any::<bool>(), 0usize..3).prop_map(|(emulated, user_space, interrupts)| {
        Hypercall {
            emulated,
            user_space,
            interrupts,
        }
    })
}

proptest! {
    #[test]
    fn sums_always_add_up(samples in prop::collection::vec(calls(), 1..6)) {
        let explained = explain(&samples);
        let view = without_nrips(&samples);
        let rest: u64 = view.phases.iter().map(|count| count.instructions).sum();
        prop_assert_eq!(rest as i64 + view.left_out_measured(), explained.sum.attributed);
        prop_assert_eq!(view.others.len(), explained.others.len());
        let sums = explained.others.iter().map(|other| other.sum).chain([explained.sum]);
        for sum in sums {
            prop_assert_eq!(sum.attributed + sum.guest, sum.measured + sum.intercepted);
        }
        let phases: u64 = explained.phases.iter().map(|count| count.instructions).sum();
        prop_assert_eq!(phases as i64, explained.sum.attributed);
        let folded: u64 = explained.to_folded().lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
        let length: u64 = explained.tree.nodes.iter().map(|node| node.own).sum();
        prop_assert_eq!(folded, length);
        let windows = explained.windows + explained.others.iter().map(|other| other.windows).sum::<u64>();
        prop_assert_eq!(windows, samples.len() as u64);
    }
}
