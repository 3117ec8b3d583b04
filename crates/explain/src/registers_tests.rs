use super::*;

fn accessed(
    architecture: Architecture,
    bytes: &[u8],
    function: &str,
) -> Option<(Class, String, u64, u64)> {
    let access = accesses(architecture, &Insn::new(0, 0, bytes), &[], function).pop()?;
    Some((
        access.class,
        access.name,
        access.count.reads,
        access.count.writes,
    ))
}

fn arm(word: u32, function: &str) -> Option<(Class, String, u64, u64)> {
    accessed(Architecture::Aarch64, &word.to_le_bytes(), function)
}

#[test]
fn arms_registers_have_their_class_and_name() {
    let known = [
        (0xd53c_1100, Class::El2Configuration, "HCR_EL2", 1, 0),
        (0xd51c_2100, Class::El2Memory, "VTTBR_EL2", 0, 1),
        (0xd51c_00a0, Class::El2Memory, "VMPIDR_EL2", 0, 1),
        (0xd53c_5200, Class::El2Exception, "ESR_EL2", 1, 0),
        (0xd53c_4020, Class::El2Exception, "ELR_EL2", 1, 0),
        (0xd538_1000, Class::El1, "SCTLR_EL1", 1, 0),
        (0xd53d_1000, Class::El1, "SCTLR_EL12", 1, 0),
        (0xd51c_4100, Class::El1, "SP_EL1", 0, 1),
        (0xd53c_c9a0, Class::Vgic, "ICC_SRE_EL2", 1, 0),
        (0xd53c_cc00, Class::Vgic, "ICH_LR0_EL2", 1, 0),
        (0xd538_4600, Class::Vgic, "ICC_PMR_EL1", 1, 0),
        (0xd51c_e100, Class::Timer, "CNTHCTL_EL2", 0, 1),
        (0xd53d_e320, Class::Timer, "CNTV_CTL_EL02", 1, 0),
        (0xd530_0240, Class::Debug, "MDSCR_EL1", 1, 0),
        (0xd530_0380, Class::Debug, "DBGBVR3_EL1", 1, 0),
        (0xd51b_9e00, Class::Pmu, "PMUSERENR_EL0", 0, 1),
        (0xd53b_e820, Class::Pmu, "PMEVCNTR1_EL0", 1, 0),
        (0xd53b_4400, Class::FloatingPoint, "FPCR", 1, 0),
        (0xd51b_4420, Class::FloatingPoint, "FPSR", 0, 1),
        (0xd538_4100, Class::Other, "SP_EL0", 1, 0),
        (0xd53b_4220, Class::Other, "DAIF", 1, 0),
        (0xd53c_d040, Class::Other, "TPIDR_EL2", 1, 0),
        (0xd53b_d040, Class::Other, "TPIDR_EL0", 1, 0),
        (0xd538_00a0, Class::Other, "MPIDR_EL1", 1, 0),
        (0xd538_f000, Class::El1, "S3_0_C15_C0_0", 1, 0),
    ];
    for (word, class, name, reads, writes) in known {
        assert_eq!(
            arm(word, "f"),
            Some((class, name.to_owned(), reads, writes)),
            "{word:#x}"
        );
    }
}

#[test]
fn general_registers_count_where_worlds_are_switched() {
    let store_pair = 0xa900_0440;
    assert_eq!(arm(store_pair, "memcpy"), None);
    let wanted = Some((Class::General, "X0-X30".to_owned(), 2, 0));
    assert_eq!(arm(store_pair, "__guest_exit"), wanted);
    assert_eq!(arm(store_pair, "__kvm_nvhe___guest_exit"), wanted);
    assert_eq!(arm(store_pair, "entry.o#guest_sync_slowpath"), wanted);
    assert_eq!(arm(store_pair, "traps.c#do_trap_hypercall"), None);
    let vector = Some((Class::FloatingPoint, "V0-V31".to_owned(), 0, 1));
    assert_eq!(arm(0x3dc0_0020, "memcpy"), vector, "vectors everywhere");
}

#[test]
fn riscvs_registers_have_their_class_and_name() {
    let riscv =
        |word: u32, function| accessed(Architecture::Riscv64, &word.to_le_bytes(), function);
    let csrr = |number: u32| number << 20 | 0x2573;
    let known = [
        (0x100, Class::Supervisor, "sstatus"),
        (0x14d, Class::Timer, "stimecmp"),
        (0x151, Class::Aia, "sireg"),
        (0x200, Class::VirtualSupervisor, "vsstatus"),
        (0x24d, Class::Timer, "vstimecmp"),
        (0x280, Class::VirtualSupervisor, "vsatp"),
        (0x300, Class::Machine, "mstatus"),
        (0x600, Class::HypervisorExtension, "hstatus"),
        (0x607, Class::Aia, "hgeie"),
        (0x680, Class::HypervisorExtension, "hgatp"),
        (0x003, Class::FloatingPoint, "fcsr"),
        (0xc01, Class::Timer, "time"),
        (0xc02, Class::Pmu, "instret"),
        (0xc22, Class::FloatingPoint, "vlenb"),
        (0xdb0, Class::Aia, "stopi"),
        (0x7a1, Class::Debug, "tdata1"),
        (0x015, Class::Other, "seed"),
        (0x5c0, Class::Supervisor, "CSR 0x5c0"),
    ];
    for (number, class, name) in known {
        let wanted = Some((class, name.to_owned(), 1, 0));
        assert_eq!(riscv(csrr(number), "f"), wanted, "{number:#x}");
    }
    let swapped = Some((Class::Supervisor, "sscratch".to_owned(), 1, 1));
    assert_eq!(riscv(0x1405_1573, "f"), swapped, "csrrw a0, sscratch, a0");
    let saved = Some((Class::General, "x1-x31".to_owned(), 1, 0));
    let store = 0x00a5_3023;
    assert_eq!(riscv(store, "__kvm_riscv_switch_to"), saved);
    assert_eq!(riscv(store, "handle_exception"), None);
    let vector = Some((Class::FloatingPoint, "f0-f31, v0-v31".to_owned(), 0, 8));
    assert_eq!(riscv(0xe285_0007, "f"), vector, "vl8r.v v0, (a0)");
}

#[test]
fn returns_from_traps_are_those_of_hypervisors() {
    let returns = |word: u32, function| {
        let insn = Insn::new(0, 0, &word.to_le_bytes());
        returns_from_trap(Architecture::Aarch64, &insn, function)
    };
    let eret = 0xd69f_03e0;
    for hypervisor in [
        "__guest_enter",
        "__kvm_nvhe___host_enter_without_restoring",
        "entry.o#return_from_trap",
        "context_enter",
    ] {
        assert!(returns(eret, hypervisor), "{hypervisor}");
    }
    assert!(!returns(eret, "ret_to_user"), "to EL0");
    assert!(!returns(0xd65f_03c0, "__guest_enter"), "ret");
}

#[test]
fn all_names_of_the_table_are_read() {
    let lines = include_str!("registers.txt")
        .lines()
        .filter(|line| !line.starts_with('#'));
    let lines: Vec<&str> = lines.collect();
    assert_eq!(
        NAMES.len(),
        lines.len(),
        "each line has an encoding of its own"
    );
    assert!(lines.is_sorted_by_key(|line| named(line).unwrap().0));
}

#[test]
fn x86_instructions_have_their_class() {
    let known: [(&[u8], Class, &str, bool); 16] = [
        (&[0x0f, 0x32], Class::Msr, "RDMSR", false),
        (&[0x0f, 0x30], Class::Msr, "WRMSR", true),
        (&[0x0f, 0x01, 0xd8], Class::Virtualization, "VMRUN", true),
        (&[0x0f, 0x01, 0xdb], Class::Virtualization, "VMSAVE", false),
        (&[0x0f, 0x01, 0x10], Class::Segment, "GDTR", true),
        (&[0x0f, 0x00, 0xd8], Class::Segment, "TR", true),
        (&[0x8e, 0xe8], Class::Segment, "GS", true),
        (&[0x0f, 0x01, 0xf8], Class::Segment, "SWAPGS", true),
        (
            &[0xf3, 0x48, 0x0f, 0xae, 0xd8],
            Class::Segment,
            "GS base",
            true,
        ),
        (
            &[0x48, 0x0f, 0xae, 0x27],
            Class::FloatingPoint,
            "XSAVE",
            false,
        ),
        (
            &[0x48, 0x0f, 0xc7, 0x1f],
            Class::FloatingPoint,
            "XRSTORS",
            true,
        ),
        (&[0x0f, 0x20, 0xd8], Class::Control, "CR3", false),
        (&[0x0f, 0x22, 0xe0], Class::Control, "CR4", true),
        (&[0x0f, 0x01, 0xd1], Class::Control, "XSETBV", true),
        (&[0x0f, 0x23, 0xf8], Class::Debug, "DR7", true),
        (&[0x0f, 0x78, 0xc0], Class::Virtualization, "VMREAD", false),
    ];
    for (bytes, class, name, is_write) in known {
        let wanted = (
            class,
            name.to_owned(),
            u64::from(!is_write),
            u64::from(is_write),
        );
        assert_eq!(
            accessed(Architecture::X86_64, bytes, "f"),
            Some(wanted),
            "{bytes:x?}"
        );
    }
    for other in [
        &[0x90][..],
        &[0x0f, 0xae, 0xf0],
        &[0x0f, 0x01, 0xd9],
        &[0x0f, 0xc7, 0x0f],
    ] {
        assert_eq!(
            accessed(Architecture::X86_64, other, "f"),
            None,
            "{other:x?}"
        );
    }
}

#[test]
fn what_bytes_do_not_say_has_its_name() {
    let mut registers = Registers::new();
    let mut add = |bytes: &[u8], what: &[What]| {
        let insn = Insn::new(0, 0, bytes);
        let accessed: Vec<Accessed> = what
            .iter()
            .map(|what| Accessed { at: 0, what: *what })
            .collect();
        let registers = &mut registers;
        add(
            registers,
            Architecture::X86_64,
            &insn,
            &accessed,
            "f",
            Phase::Exit,
        )
    };
    let field = |offset, is_write| What::Vmcb { offset, is_write };
    let (read, write) = (one(false, 1), one(true, 1));
    assert_eq!(
        add(&[0x0f, 0x32], &[What::Number(0xc000_0102)]),
        Some((Class::Msr, read))
    );
    assert_eq!(
        add(&[0x0f, 0x30], &[What::Number(0xc000_0102)]),
        Some((Class::Msr, write))
    );
    assert_eq!(
        add(&[0x0f, 0x01, 0xd0], &[What::Number(0)]),
        Some((Class::Control, read))
    );
    // mov 0x70(%rax), %rax; orl $1, 0xc0(%rax); movsq between two VMCBs; nop.
    let exit_code = [0x48, 0x8b, 0x40, 0x70];
    assert_eq!(
        add(&exit_code, &[field(0x70, false)]),
        Some((Class::VmcbControl, read))
    );
    let clean = [0x83, 0x88, 0xc0, 0, 0, 0, 1];
    assert_eq!(
        add(&clean, &[field(0xc0, false), field(0xc0, true)]),
        Some((Class::VmcbControl, write))
    );
    assert_eq!(
        add(&[0x48, 0xa5], &[field(0x550, false), field(0x550, true)]),
        Some((Class::VmcbRegister, write))
    );
    assert_eq!(add(&[0x90], &[]), None);
    let of = |class: Class, name: &str| {
        let Accesses { reads, writes } = registers[&class][name][&Phase::Exit];
        (reads, writes)
    };
    assert_eq!(of(Class::Msr, "KERNEL_GS_BASE"), (1, 1));
    assert_eq!(of(Class::Control, "XCR0"), (1, 0));
    assert_eq!(of(Class::VmcbControl, "EXITCODE"), (1, 0));
    assert_eq!(of(Class::VmcbControl, "CLEAN_BITS"), (1, 1));
    assert_eq!(of(Class::VmcbRegister, "CR3"), (1, 1));
}

#[test]
fn accesses_are_summed_by_phase() {
    let mut registers = Registers::new();
    for (word, phase) in [
        (0xd538_1000u32, Phase::Exit),
        (0xd538_2040, Phase::Exit),
        (0xd518_1000, Phase::Entry),
    ] {
        let insn = Insn::new(0, 0, &word.to_le_bytes());
        add(
            &mut registers,
            Architecture::Aarch64,
            &insn,
            &[],
            "f",
            phase,
        );
    }
    let names: Vec<&String> = registers[&Class::El1].keys().collect();
    assert_eq!(names, ["SCTLR_EL1", "TCR_EL1"]);
    let sctlr = &registers[&Class::El1]["SCTLR_EL1"];
    assert_eq!(
        sctlr[&Phase::Entry],
        Accesses {
            reads: 0,
            writes: 1
        }
    );
}
