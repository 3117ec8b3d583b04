use super::*;
use crate::fake::{Script, machine};
use crate::place::Places;
use crate::trace::Path as TracePath;
use proptest::prelude::*;

/// Each node as `DEPTH NAME calls/own/total`, in the order of the tree; and the walk.
fn follow(script: &Script) -> (Vec<String>, Walk) {
    let trace = Trace {
        architecture: Architecture::X86_64,
        recorder: crate::trace::Recorder::Plugin,
        has_accesses: true,
        insns: script.insns.clone(),
        paths: vec![TracePath {
            insns: script.path.clone(),
            ..TracePath::default()
        }],
        windows: vec![0],
    };
    let machine = machine();
    let flows: Vec<Flow> = trace
        .insns
        .iter()
        .map(|insn| Flow::of(trace.architecture, insn))
        .collect();
    let mut places = Places::of(&trace, &machine);
    let path = places.path(&script.path);
    let walk = walk(&trace, &flows, &script.path, &path, &places.functions);
    let mut lines = Vec::new();
    let mut open: Vec<(u32, usize)> = walk
        .tree
        .roots
        .iter()
        .rev()
        .map(|root| (*root, 0))
        .collect();
    while let Some((index, depth)) = open.pop() {
        let node = &walk.tree.nodes[index as usize];
        let name = &places.functions[node.function as usize].name;
        let Node {
            calls, own, total, ..
        } = node;
        lines.push(format!("{depth} {name} {calls}/{own}/{total}"));
        open.extend(node.children.iter().rev().map(|child| (*child, depth + 1)));
    }
    (lines, walk)
}

fn tree(script: &Script) -> Vec<String> {
    follow(script).0
}

#[test]
fn calls_and_returns_make_a_tree() {
    let mut script = Script::default();
    script
        .at("kvm_arch_vcpu_ioctl_run", 0)
        .plain(2)
        .call("helper")
        .plain(1)
        .call("other")
        .ret()
        .ret();
    script.plain(1).call("helper").ret().plain(1);
    let wanted = [
        "0 kvm_arch_vcpu_ioctl_run 1/6/11",
        "1 helper 2/4/5",
        "2 other 1/1/1",
    ];
    assert_eq!(tree(&script), wanted);
}

#[test]
fn what_was_called_before_the_path_is_a_root_of_its_own() {
    let mut script = Script::default();
    script
        .at("svm_vcpu_run", 8)
        .plain(1)
        .ret()
        .at("kvm_arch_vcpu_ioctl_run", 8)
        .call("helper")
        .ret();
    let wanted = [
        "0 svm_vcpu_run 1/2/2",
        "0 kvm_arch_vcpu_ioctl_run 1/1/2",
        "1 helper 1/1/1",
    ];
    assert_eq!(tree(&script), wanted);
}

#[test]
fn tail_calls_are_below_the_function_that_jumps() {
    let mut script = Script::default();
    script
        .at("kvm_arch_vcpu_ioctl_run", 0)
        .call("helper")
        .jump("other", 0)
        .ret()
        .plain(1);
    let wanted = [
        "0 kvm_arch_vcpu_ioctl_run 1/2/4",
        "1 helper 1/1/2",
        "2 other 1/1/1",
    ];
    assert_eq!(tree(&script), wanted);

    let mut script = Script::default();
    script
        .at("kvm_arch_vcpu_ioctl_run", 0)
        .call("helper")
        .jump("other", 0)
        .jump("helper", 9)
        .ret()
        .plain(1);
    let wanted = [
        "0 kvm_arch_vcpu_ioctl_run 1/2/5",
        "1 helper 1/2/3",
        "2 other 1/1/1",
    ];
    assert_eq!(tree(&script), wanted, "and back into it");
}

#[test]
fn a_thunk_is_beside_the_function_that_it_calls() {
    let mut script = Script::default();
    script
        .at("kvm_arch_vcpu_ioctl_run", 0)
        .call_thunk("helper")
        .plain(1)
        .ret()
        .plain(1);
    let wanted = [
        "0 kvm_arch_vcpu_ioctl_run 1/2/6",
        "1 __x86_indirect_thunk_rax 1/2/2",
        "1 helper 1/2/2",
    ];
    assert_eq!(tree(&script), wanted);
}

#[test]
fn an_interrupt_is_below_what_it_interrupts() {
    let mut script = Script::default();
    script
        .at("kvm_arch_vcpu_ioctl_run", 0)
        .plain(2)
        .at("asm_sysvec_apic_timer_interrupt", 0);
    script
        .call("helper")
        .ret()
        .back("kvm_arch_vcpu_ioctl_run", 2)
        .plain(2);
    let wanted = [
        "0 kvm_arch_vcpu_ioctl_run 1/4/7",
        "1 asm_sysvec_apic_timer_interrupt 1/2/3",
        "2 helper 1/1/1",
    ];
    let (tree, walk) = follow(&script);
    assert_eq!(tree, wanted);
    assert_eq!(
        walk.interruptions,
        [Interruption {
            before: 1,
            after: Some(5)
        }]
    );
}

#[test]
fn a_call_that_an_interrupt_delays_takes_place_behind_it() {
    let mut script = Script::default();
    script
        .at("kvm_arch_vcpu_ioctl_run", 0)
        .call("helper")
        .at("asm_sysvec_apic_timer_interrupt", 0);
    script.back("helper", 0).plain(1).ret().plain(1);
    let wanted = [
        "0 kvm_arch_vcpu_ioctl_run 1/2/5",
        "1 asm_sysvec_apic_timer_interrupt 1/1/1",
        "1 helper 1/2/2",
    ];
    assert_eq!(tree(&script), wanted);
}

#[test]
fn a_fault_is_executed_again() {
    let mut script = Script::default();
    script
        .at("helper", 0)
        .plain(2)
        .at("asm_exc_page_fault", 0)
        .plain(1)
        .back("helper", 1)
        .plain(1);
    let (tree, walk) = follow(&script);
    assert_eq!(tree, ["0 helper 1/3/5", "1 asm_exc_page_fault 1/2/2"]);
    assert_eq!(
        walk.interruptions,
        [Interruption {
            before: 1,
            after: Some(4)
        }]
    );
}

#[test]
fn system_calls_return_to_their_caller() {
    let mut script = Script::default();
    script
        .at("main", 0)
        .call("ioctl")
        .insn(&[0x0f, 0x05])
        .at("entry_SYSCALL_64", 0)
        .call("kvm_vcpu_ioctl")
        .ret();
    script.back("ioctl", 2).ret().plain(1);
    let wanted = [
        "0 main 1/2/7",
        "1 ioctl 1/2/5",
        "2 entry_SYSCALL_64 1/2/3",
        "3 kvm_vcpu_ioctl 1/1/1",
    ];
    assert_eq!(tree(&script), wanted);
}

#[test]
fn a_second_exit_goes_on_in_the_first_ones_loop() {
    let vmrun = [0x0f, 0x01, 0xd8];
    let mut script = Script::default();
    script
        .at("kvm_arch_vcpu_ioctl_run", 0)
        .call("svm_vcpu_run")
        .insn(&vmrun);
    script
        .at("test_run", 0)
        .insn(&[0x0f, 0xa2])
        .at("svm_vcpu_run", 3)
        .plain(1)
        .ret()
        .plain(1);
    let (tree, walk) = follow(&script);
    let wanted = [
        "0 kvm_arch_vcpu_ioctl_run 1/2/5",
        "1 svm_vcpu_run 1/3/3",
        "0 test_run 1/1/1",
    ];
    assert_eq!(tree, wanted);
    assert_eq!(
        walk.interruptions,
        [Interruption {
            before: 2,
            after: None
        }]
    );
}

const NAMES: [&str; 8] = [
    "test_run",
    "svm_vcpu_run",
    "svm_handle_exit",
    "__x86_indirect_thunk_rax",
    "asm_exc_page_fault",
    "helper",
    "main",
    "ioctl",
];

proptest! {
    /// Whatever is executed, in whatever order: every instruction is in one node, and totals add up.
    #[test]
    fn counts_always_add_up(steps in prop::collection::vec((0usize..8, 0usize..8, 0u64..40), 1..200)) {
        let mut script = Script::default();
        script.at("helper", 0);
        for (what, name, offset) in steps {
            let name = NAMES[name];
            let _ = match what {
                0 => script.call(name),
                1 => script.ret(),
                2 => script.jump(name, offset),
                3 => script.at(name, offset).plain(1),
                4 => script.back(name, offset),
                5 => script.insn(&[0x0f, 0x05]),
                6 => script.insn(&[0x0f, 0x01, 0xd8]),
                _ => script.plain(1 + offset as usize % 3),
            };
        }
        let (_, walk) = follow(&script);
        let nodes = &walk.tree.nodes;
        let length = script.path.len() as u64;
        prop_assert_eq!(nodes.iter().map(|node| node.own).sum::<u64>(), length);
        prop_assert_eq!(walk.tree.roots.iter().map(|root| nodes[*root as usize].total).sum::<u64>(), length);
        for (index, node) in nodes.iter().enumerate() {
            let children: u64 = node.children.iter().map(|child| nodes[*child as usize].total).sum();
            prop_assert_eq!(node.total, node.own + children);
            prop_assert!(node.parent.is_none_or(|parent| (parent as usize) < index));
        }
        prop_assert_eq!(walk.nodes.len() as u64, length);
    }
}
