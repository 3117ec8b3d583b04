use super::*;
use crate::trace::{Architecture, Path};

const KERNEL: &str =
    "ffffffff81000000 T kernel_entry\n100 T kernel_work\n1000000 t vmx_exit [kvm_amd]\n";

fn machine(hypervisors: u8) -> Machine {
    let image = |name: &str, role, list| Image {
        name: name.into(),
        role,
        symbols: Symbols::of_kernel(list).unwrap(),
        bias: 0,
        code: None,
    };
    Machine {
        name: "lab:test".into(),
        hypervisors,
        images: vec![
            image(
                "guest",
                Role::Guest,
                "100000 T timed_call\n100 T hypercall_run\n",
            ),
            image("Linux", Role::Linux, KERNEL),
            image("vmm", Role::Program, "200000 T main\n"),
        ],
    }
}

/// A trace of one path: addresses and where they are in the emulator.
fn trace(insns: &[(u64, u64)]) -> Trace {
    Trace {
        architecture: Architecture::X86_64,
        recorder: crate::trace::Recorder::Plugin,
        has_accesses: true,
        insns: insns
            .iter()
            .map(|(address, location)| Insn::new(*address, *location, &[0x90]))
            .collect(),
        paths: vec![Path {
            insns: (0..insns.len() as u32).collect(),
            ..Path::default()
        }],
        windows: vec![0],
    }
}

fn said(machine: &Machine, insns: &[(u64, u64)]) -> Vec<String> {
    let trace = trace(insns);
    let mut places = Places::of(&trace, machine);
    let path = places.path(&trace.paths[0].insns);
    path.iter()
        .map(|place| {
            let Function {
                name, level, kind, ..
            } = &places.functions[place.function as usize];
            format!(
                "L{level} {kind} {name}{}",
                if place.is_start { "" } else { "+" }
            )
        })
        .collect()
}

const TEXT: u64 = 0xffff_ffff_8100_0000;
const MODULE: u64 = TEXT + 0x100_0100;

#[test]
fn each_instruction_has_a_level_a_kind_and_a_function() {
    let path = [
        (0x10_0000, 5),
        (0x10_0101, 5),
        (MODULE, 77),
        (TEXT, 0x1000),
        (TEXT + 0x101, 0x1101),
        (0x20_0000, 9),
        (0x55_5555, 9),
        (0xffff_8000_0000_0123, 9),
        // The kernel's own code at another address.
        (0x8000_1000_0102, 0x1102),
        (0x10_0102, 5),
    ];
    let wanted = [
        "L1 guest timed_call",
        "L1 guest hypercall_run+",
        "L0 hypervisor vmx_exit",
        "L0 kernel kernel_entry",
        "L0 kernel kernel_work+",
        "L0 user space main",
        "L0 user space unknown code at 0x555000+",
        "L0 kernel unknown code at 0xffff800000000000+",
        "L0 hypervisor kernel_work+",
        "L1 guest hypercall_run+",
    ];
    assert_eq!(said(&machine(1), &path), wanted);
}

#[test]
fn levels_are_told_apart_by_where_their_kernel_lies() {
    let (l0, l1) = (0x1000, 0x90_0000);
    let path = [
        (0x10_0000, 5),
        (TEXT, l0),
        (MODULE, 70),
        (TEXT + 0x100, l1 + 0x100),
        (MODULE, 71),
        (0x20_0000, 8),
        (TEXT + 1, l0 + 1),
        (0x20_0000, 9),
        (0x10_0000, 5),
    ];
    let wanted = [
        "L2 guest timed_call",
        "L0 kernel kernel_entry",
        "L0 hypervisor vmx_exit",
        "L1 kernel kernel_work",
        "L1 hypervisor vmx_exit",
        "L1 user space main",
        "L0 kernel kernel_entry+",
        "L0 user space main",
        "L2 guest timed_call",
    ];
    assert_eq!(said(&machine(2), &path), wanted);
}

#[test]
fn code_of_a_hypervisor_that_a_guest_has_too_is_told_by_where_it_lies() {
    let mut machine = machine(1);
    machine.images.push(Image {
        name: "neve".into(),
        role: Role::Hypervisor,
        symbols: Symbols::of_kernel("f0000 T leave\n10000 T vectors\n").unwrap(),
        bias: 0,
        code: Some(Code::of_bytes(0xf_0000, vec![0x90; 0x2_0000])),
    });
    machine.images.swap_remove(1); // Linux
    machine.images[0].symbols = Symbols::of_kernel("100000 T timed_call\n100 T end\n").unwrap();
    // The first is the guest's; the others are neve's, whose memory begins at 0x900000.
    let path = [
        (0x10_0010, 0x71_0010),
        (0xf_0010, 0x9f_0010),
        (0x10_0010, 0xa0_0010),
    ];
    let said = said(&machine, &path);
    assert_eq!(said[0], "L1 guest timed_call+");
    assert_eq!(said[2], "L0 hypervisor vectors+");
}

/// Modules do not say by their location which level they are of: entries and exits do.
#[test]
fn exits_and_entries_tell_the_levels_of_modules() {
    const VMRESUME: [u8; 3] = [0x0f, 0x01, 0xc3];
    const NOP: [u8; 1] = [0x90];
    let path: [(u64, u64, &[u8]); 9] = [
        (0x10_0000, 5, &NOP),
        (MODULE, 70, &NOP),
        (MODULE + 1, 71, &VMRESUME),
        (MODULE, 80, &NOP),     // L1 is told of its guest's exit
        (MODULE + 8, 88, &NOP), // and is left again
        (MODULE, 70, &NOP),
        (MODULE + 1, 71, &VMRESUME), // into L1
        (MODULE + 1, 81, &VMRESUME), // which enters the guest, for which it is left
        (MODULE, 70, &NOP),
    ];
    let mut trace = trace(&[(0, 0); 9]);
    let mut insns: Vec<Insn> = Vec::new();
    trace.paths[0].insns.clear();
    for (address, location, bytes) in path {
        let insn = Insn::new(address, location, bytes);
        let known = insns.iter().position(|known| *known == insn);
        let number = known.unwrap_or(insns.len());
        if known.is_none() {
            insns.push(insn);
        }
        trace.paths[0].insns.push(number as u32);
    }
    trace.insns = insns;
    let machine = machine(2);
    let mut places = Places::of(&trace, &machine);
    let levels = places.path(&trace.paths[0].insns);
    let levels: Vec<u8> = levels
        .iter()
        .map(|place| places.functions[place.function as usize].level)
        .collect();
    assert_eq!(levels, [2, 0, 0, 1, 1, 0, 0, 1, 0]);
}

/// What is said of one path of a boot whose instructions were executed first in this order.
fn said_of_boot(machine: &Machine, trace: &Trace, order: &[u32]) -> Vec<String> {
    let mut places = Places::of_boot(trace, machine, order);
    let path = places.path(&trace.paths[0].insns);
    path.iter()
        .map(|place| {
            let function = &places.functions[place.function as usize];
            format!("L{} {} {}", function.level, function.kind, function.name)
        })
        .collect()
}

#[test]
fn of_a_boot_the_kernel_that_ran_first_is_l0_s() {
    let (l0, l1) = (0x1000, 0x90_0000);
    let mut trace = trace(&[(TEXT + 0x100, l1 + 0x100), (MODULE, 71), (TEXT, l0)]);
    trace.paths[0].insns = vec![2, 0, 1];
    let machine = machine(2);
    let wanted = [
        "L0 kernel kernel_entry",
        "L1 kernel kernel_work",
        "L1 hypervisor vmx_exit",
    ];
    assert_eq!(said_of_boot(&machine, &trace, &[2, 0, 1]), wanted);
    // No exit of a guest is in the path, which would tell it without the order.
    assert_ne!(said_of_boot(&machine, &trace, &[]), wanted);
}

#[test]
fn of_a_boot_firmware_is_not_the_guest_that_lies_there_later() {
    let elf = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let code = Code::of(&elf).unwrap();
    let mut machine = machine(0);
    machine.images[0].code = Some(code);
    let trace = trace(&[(0x10_0101, 5)]);
    let boot = said_of_boot(&machine, &trace, &[0]);
    assert_eq!(boot, ["L0 user space unknown code at 0x100000"]);
    // Between the guest's marks it is a function that was patched where it runs.
    assert_eq!(
        said(&machine, &[(0x10_0101, 5)]),
        ["L0 guest hypercall_run+"]
    );
}

#[test]
fn of_a_boot_code_runs_at_its_physical_address_before_page_tables() {
    let mut trace = trace(&[
        (0x4010_0102, 0x1102),
        (0x8000_1000_0102, 0x1102),
        (TEXT, 0x1000),
    ]);
    let machine = machine(1);
    trace.architecture = Architecture::Aarch64;
    let wanted = [
        "L0 kernel kernel_work",
        "L0 hypervisor kernel_work",
        "L0 kernel kernel_entry",
    ];
    assert_eq!(said_of_boot(&machine, &trace, &[0, 2, 1]), wanted);
    // A loader of x86 runs where the kernel is later.
    trace.architecture = Architecture::X86_64;
    let loader = said_of_boot(&machine, &trace, &[0, 2, 1]);
    assert_eq!(loader[0], "L0 user space unknown code at 0x40100000");
}

#[test]
fn on_riscv_the_firmware_has_the_memory_before_the_kernel() {
    let machine = machine(1);
    let mut trace = trace(&[
        (0x1000, 1),
        (0x8000_0490, 2),
        (TEXT, 0x1000),
        (0x8020_0000, 3),
        (0x1_0000, 4),
    ]);
    let firmware = ["L0 firmware OpenSBI"; 2];
    let others = [
        "L0 kernel kernel_entry",
        "L0 user space unknown code at 0x80200000",
        "L0 user space unknown code at 0x10000",
    ];
    let order = [0, 1, 2, 3, 4];
    trace.architecture = Architecture::Riscv64;
    let said = said_of_boot(&machine, &trace, &order);
    assert_eq!(said[..2], firmware);
    assert_eq!(said[2..], others);
    trace.architecture = Architecture::Aarch64;
    let said = said_of_boot(&machine, &trace, &order);
    assert_eq!(said[0], "L0 user space unknown code at 0x1000");
}
