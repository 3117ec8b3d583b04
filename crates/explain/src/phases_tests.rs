use super::*;
use crate::tree::{Node, Tree};

fn function(name: &str, kind: Kind, level: u8) -> Function {
    Function {
        is_inlined: false,
        name: name.into(),
        module: None,
        image: String::new(),
        level,
        kind,
    }
}

/// The phases of instructions of functions without callers, one each.
fn of(functions: &[Function]) -> Vec<Option<Phase>> {
    let node = |index| Node {
        function: index,
        parent: None,
        children: vec![],
        calls: 1,
        own: 1,
        total: 1,
    };
    let count = functions.len() as u32;
    let walk = Walk {
        is_call: Vec::new(),
        tree: Tree {
            nodes: (0..count).map(node).collect(),
            roots: (0..count).collect(),
        },
        nodes: (0..count).collect(),
        interruptions: vec![],
    };
    phases(&walk, functions)
}

#[test]
fn a_guest_hypervisor_is_a_phase_of_its_own() {
    let (guest, kernel) = (Kind::Guest, Kind::Kernel);
    let path = [
        function("test_run", guest, 2),
        function("__guest_exit", kernel, 0),
        function("handle_exit", kernel, 0),
        function("__guest_enter", kernel, 0),
        function("handle_exit", kernel, 1),
        function("__guest_exit", kernel, 0),
        function("handle_exit", kernel, 0),
        function("__guest_enter", kernel, 0),
    ];
    let wanted = [
        None,
        Some(Phase::Exit),
        Some(Phase::Handling),
        Some(Phase::Entry),
        Some(Phase::GuestHypervisor),
        Some(Phase::Exit),
        Some(Phase::Handling),
        Some(Phase::Entry),
    ];
    assert_eq!(of(&path), wanted);
    assert!(are_known(&of(&path)));
}

#[test]
fn a_trap_of_floating_point_is_handled_before_the_other_handlers() {
    for handler in ["kvm_hyp_handle_fpsimd", "__kvm_nvhe_kvm_hyp_handle_fpsimd"] {
        let path = [
            function("test_run", Kind::Guest, 1),
            function("__guest_exit", Kind::Kernel, 0),
            function(handler, Kind::Kernel, 0),
            function("__guest_enter", Kind::Kernel, 0),
        ];
        let wanted = [
            None,
            Some(Phase::Exit),
            Some(Phase::Handling),
            Some(Phase::Entry),
        ];
        assert_eq!(of(&path), wanted);
    }
}

#[test]
fn phases_of_an_unknown_hypervisor_are_not_known() {
    let path = [
        function("test_run", Kind::Guest, 1),
        function("other_exit", Kind::Hypervisor, 0),
    ];
    assert_eq!(of(&path), [None, Some(Phase::Exit)]);
    assert!(!are_known(&of(&path)));
}
