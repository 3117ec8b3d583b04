use super::*;

fn counted(attributed: i64, guest: i64, certain: i64, possible: i64) -> Count {
    Count {
        attributed,
        guest,
        uncharged: Uncharged { certain, possible },
    }
}

#[test]
fn a_sum_comes_out_exactly_or_is_an_error() {
    let control = counted(0, 33, 0, 0);
    let sum = Sum::of(0, &counted(3029, 36, 1, 0), &control, 3031).unwrap();
    let wanted = Sum {
        attributed: 3029,
        guest: 3,
        measured: 3031,
        intercepted: 1,
    };
    assert_eq!(sum, wanted);
    let error = Sum::of(7, &counted(3029, 36, 1, 0), &control, 3030)
        .unwrap_err()
        .to_string();
    for part in [
        "sample 7",
        "3029 attributed + 3",
        "3030 measured + 1 intercepted are 3031",
    ] {
        assert!(error.contains(part), "{error}");
    }
    assert!(
        Sum::of(0, &counted(3029, 36, 0, 1), &control, 3031).is_ok(),
        "it may have been charged"
    );
    assert!(Sum::of(0, &counted(3029, 36, 0, 1), &control, 3030).is_err());
}

#[test]
fn a_control_loop_that_exits_is_taken_off() {
    let sum = Sum::of(0, &counted(500, 40, 2, 0), &counted(200, 30, 1, 0), 309).unwrap();
    assert_eq!((sum.attributed, sum.guest, sum.intercepted), (300, 10, 1));
}

fn x86(bytes: &[u8], handler: &str, behind: Option<u64>) -> Charge {
    let before = Insn::new(0x1000, 0, bytes);
    let after = behind.map(|offset| Insn::new(0x1000 + offset, 0, &[0x90]));
    on_x86(&before, handler, after.as_ref())
}

#[test]
fn on_x86_the_handler_or_the_instruction_says_what_is_charged() {
    let known: [(&[u8], &str, Option<u64>, Charge); 13] = [
        (&[0x0f, 0x01, 0xd9], "svm_vcpu_run", Some(3), Charge::None),
        (&[0xec], "svm_vcpu_run", None, Charge::None),
        (&[0x48, 0x8b, 0x07], "svm_vcpu_run", Some(0), Charge::None),
        (
            &[0x48, 0x8b, 0x07],
            "svm_vcpu_run",
            Some(3),
            Charge::Unknown,
        ),
        (&[0x48, 0x8b, 0xc7], "svm_vcpu_run", Some(3), Charge::Full),
        (&[0x75, 0x10], "svm_vcpu_run", Some(0x12), Charge::Full),
        (&[0xf3, 0xa4], "svm_vcpu_run", Some(0), Charge::Unknown),
        (
            &[0x48, 0x8b, 0x07],
            "asm_exc_page_fault",
            Some(0),
            Charge::None,
        ),
        (
            &[0x48, 0x8b, 0x07],
            "asm_sysvec_apic_timer_interrupt",
            Some(3),
            Charge::Full,
        ),
        (&[0xec], "asm_common_interrupt", Some(1), Charge::Full),
        // A PV guest of Xen: RDMSR, switched-off SSE, a missing page.
        (&[0x0f, 0x32], "entry_GP", Some(2), Charge::Full),
        (&[0x66, 0x0f, 0xef, 0xc0], "entry_NM", Some(0), Charge::Full),
        (&[0x48, 0x8b, 0x07], "entry_PF", Some(0), Charge::None),
    ];
    for (bytes, handler, behind, wanted) in known {
        assert_eq!(
            x86(bytes, handler, behind),
            wanted,
            "{bytes:x?} {handler} {behind:?}"
        );
    }
}

#[test]
fn on_arm_the_vector_says_what_is_charged() {
    let charge = |word: u32, entry: u64, rest: i64| {
        let before = Insn::new(0x1000, 0, &word.to_le_bytes());
        on_arm(&before, &Insn::new(entry, 0, &[0; 4]), rest)
    };
    let (load, load_vector, read, hvc) = (0xf940_0020, 0x3dc0_0020, 0xd538_0400, 0xd400_0002);
    assert_eq!(charge(load, 0x8400, 3), Charge::None);
    assert_eq!(charge(load, 0x8480, 3), Charge::Full, "an interrupt");
    assert_eq!(charge(load, 0x8404, 3), Charge::Unknown, "no vector");
    assert_eq!(charge(load_vector, 0x8200, 2), Charge::None);
    assert_eq!(
        charge(load_vector, 0x8200, 0),
        Charge::Unknown,
        "switched off, or an abort"
    );
    assert_eq!(charge(read, 0x8400, 5), Charge::WithRest);
    assert_eq!(charge(hvc, 0x8400, 0), Charge::Full);
}

#[test]
fn on_riscv_the_instruction_and_what_ran_then_say_what_is_charged() {
    let (load, csr, ecall, add) = (0x0005_3503, 0xc010_2573, 0x0000_0073, 0x00b5_0533);
    let charge = |word: u32, rest, behind: Option<u64>, names: &[&str]| {
        let insn = |offset| Insn::new(0x1000 + offset, 0, &word.to_le_bytes());
        let event = event_on_riscv(names.iter().copied());
        on_riscv(&insn(0), rest, behind.map(insn).as_ref(), event)
    };
    let host = |of| ["handle_exception", "handle_exception", of];
    let exit = |of| ["__kvm_riscv_switch_to", "kvm_riscv_vcpu_exit", of];
    let emulated = exit("kvm_riscv_vcpu_mmio_load");
    let trapped = exit("kvm_riscv_vcpu_virtual_insn");
    let unknown = exit("do_irq");
    type Case<'a> = (u32, i64, Option<u64>, &'a [&'a str], Charge);
    let known: [Case<'_>; 14] = [
        (
            ecall,
            0,
            Some(4),
            &exit("kvm_riscv_vcpu_sbi_ecall"),
            Charge::Full,
        ),
        (add, 0, Some(4), &unknown, Charge::Full),
        (load, 3, Some(4), &unknown, Charge::None),
        (load, 0, Some(0), &unknown, Charge::None),
        (load, 0, Some(4), &emulated, Charge::None),
        (load, 0, Some(4), &unknown, Charge::Unknown),
        (load, 0, None, &[], Charge::Unknown),
        (csr, 0, Some(4), &trapped, Charge::None),
        (csr, 0, Some(4), &unknown, Charge::Unknown),
        (csr, 0, Some(4), &host("do_irq"), Charge::Full),
        (load, 0, Some(4), &host("do_irq"), Charge::Full),
        (load, 0, Some(0), &host("do_page_fault"), Charge::None),
        // The fetch of the next instruction failed; an access of the kernel to a process failed.
        (load, 0, Some(4), &host("do_page_fault"), Charge::Full),
        (load, 0, Some(0x40), &host("do_page_fault"), Charge::None),
    ];
    for (word, rest, behind, names, wanted) in known {
        let found = charge(word, rest, behind, names);
        assert_eq!(found, wanted, "{word:#x} {rest} {behind:?} {names:?}");
    }
}
