use super::*;
use proptest::prelude::*;

const AT: u64 = 0x10_0000;

fn at(address: u64, bytes: &[u8]) -> Insn {
    Insn::new(address, address, bytes)
}

/// An instruction of four bytes, or two if it is compressed.
fn insn(word: u32) -> Insn {
    match word & 3 {
        3 => at(AT, &word.to_le_bytes()),
        _ => at(AT, &(word as u16).to_le_bytes()),
    }
}

#[test]
fn transfers_are_decoded() {
    let known = [
        (0x8000_00ef, Flow::Call(Some(0))),      // jal ra, .-0x100000
        (0x0080_00ef, Flow::Call(Some(AT + 8))), // jal ra, .+8
        (0x3225_42ef, Flow::Call(Some(AT + 0x5_4322))), // jal t0, .+0x54322
        (0xffdf_f06f, Flow::Jump(Some(AT - 4))), // j .-4
        (0x0010_006f, Flow::Jump(Some(AT + 2048))), // j .+2048
        (0x0005_0463, Flow::Branch(AT + 8)),     // beqz a0, .+8
        (0x80b5_1063, Flow::Branch(AT - 4096)),  // bne a0, a1, .-4096
        (0x7eb5_7fe3, Flow::Branch(AT + 4094)),  // bgeu a0, a1, .+4094
        (0xfeb5_4fe3, Flow::Branch(AT - 2)),     // blt a0, a1, .-2
        (0x0000_8067, Flow::Return),             // ret
        (0x0007_8067, Flow::Jump(None)),         // jr a5
        (0x0007_80e7, Flow::Call(None)),         // jalr a5
        (0x0002_82e7, Flow::Call(None)),         // jalr t0, t0
        (0xb001, Flow::Jump(Some(AT - 2048))),   // c.j .-2048
        (0xab99, Flow::Jump(Some(AT + 1366))),   // c.j .+1366
        (0xa46d, Flow::Jump(Some(AT + 682))),    // c.j .+682
        (0xd101, Flow::Branch(AT - 256)),        // c.beqz a0, .-256
        (0xeffd, Flow::Branch(AT + 254)),        // c.bnez a5, .+254
        (0xc931, Flow::Branch(AT + 84)),         // c.beqz a0, .+84
        (0xe7cd, Flow::Branch(AT + 170)),        // c.bnez a5, .+170
        (0x8082, Flow::Return),                  // c.jr ra
        (0x8282, Flow::Return),                  // c.jr t0
        (0x8782, Flow::Jump(None)),              // c.jr a5
        (0x9782, Flow::Call(None)),              // c.jalr a5
        (0x0000_0073, Flow::SystemCall),         // ecall
        (0x1020_0073, Flow::ExceptionReturn),    // sret
        (0x3020_0073, Flow::ExceptionReturn),    // mret
        (0x1050_0073, Flow::Plain),              // wfi
        (0x0010_0073, Flow::Plain),              // ebreak
        (0x9002, Flow::Plain),                   // c.ebreak
        (0x852e, Flow::Plain),                   // c.mv a0, a1
        (0x952e, Flow::Plain),                   // c.add a0, a1
        (0x000f_8f93, Flow::Plain),              // mv t6, t6
        (0x0000_0013, Flow::Plain),              // nop
        (0x0001, Flow::Plain),                   // c.nop
    ];
    for (word, wanted) in known {
        assert_eq!(flow(&insn(word)), wanted, "{word:#x}");
    }
    assert_eq!(flow(&at(0, &[0x6f, 0])), Flow::Plain, "half of a word");
    assert_eq!(flow(&at(0, &[1, 0xa0, 0, 0])), Flow::Plain, "two halves");
}

#[test]
fn a_far_call_is_two_instructions() {
    let auipc = |register: u32| at(0x1000, &(0x0000_1017 | register << 7).to_le_bytes());
    let jalr = |link: u32, register: u32| {
        at(
            0x1004,
            &(0xff00_0067 | link << 7 | register << 15).to_le_bytes(),
        )
    };
    let of = |insns: &[Insn]| flows(insns).pop();
    let target = Some(0x1ff0);
    assert_eq!(of(&[auipc(1), jalr(1, 1)]), Some(Flow::Call(target)));
    assert_eq!(
        of(&[auipc(6), jalr(0, 6)]),
        Some(Flow::Jump(target)),
        "tail"
    );
    assert_eq!(of(&[auipc(6), jalr(1, 7)]), Some(Flow::Call(None)));
    assert_eq!(of(&[jalr(1, 1)]), Some(Flow::Call(None)));
    let elsewhere = Insn::new(0x1000, 0x9000, auipc(1).bytes());
    assert_eq!(of(&[elsewhere, jalr(1, 1)]), Some(Flow::Call(None)));
    let behind = at(0x8_0000_1004, jalr(1, 1).bytes());
    let mut high = at(0x8_0000_1000, &0x8000_0097_u32.to_le_bytes());
    assert_eq!(
        flows(&[high, behind]),
        [Flow::Plain, Flow::Call(Some(0x7_8000_0ff0))]
    );
    high = at(0, &0x8000_0097_u32.to_le_bytes());
    let low = at(4, jalr(1, 1).bytes());
    let wrapped = 0xffff_ffff_7fff_fff0;
    assert_eq!(flows(&[low, high])[0], Flow::Call(Some(wrapped)));
}

#[test]
fn accesses_are_decoded() {
    let known = [
        (0xc010_2573, "time", true, false),        // csrr a0, time
        (0x6005_1073, "hstatus", false, true),     // csrw hstatus, a0
        (0x1405_1573, "sscratch", true, true),     // csrrw a0, sscratch, a0
        (0x1001_6073, "sstatus", true, true),      // csrsi sstatus, 2
        (0x1001_7073, "sstatus", true, true),      // csrci sstatus, 2
        (0x1005_b573, "sstatus", true, true),      // csrrc a0, sstatus, a1
        (0x2800_2573, "vsatp", true, false),       // csrr a0, vsatp
        (0x1040_5073, "sie", false, true),         // csrwi sie, 0
        (0xc030_2573, "hpmcounter3", true, false), // csrr a0, hpmcounter3
        (0x5c01_1073, "CSR 0x5c0", false, true),   // csrw 0x5c0, sp
    ];
    for (word, name, reads, writes) in known {
        let access = access(&insn(word)).unwrap();
        assert_eq!(
            (&*access.csr.to_string(), access.reads, access.writes),
            (name, reads, writes)
        );
    }
    for word in [0x0000_0073, 0x1200_0073, 0x6c05_c573, 0x952e, 0x0000_0013] {
        assert_eq!(access(&insn(word)), None, "{word:#x}");
    }
    assert!(is_clock(&insn(0xc010_2573)));
    assert!(!is_clock(&insn(0xc000_2573)), "csrr a0, cycle");
    assert!(!is_clock(&insn(0xc010_1073)), "csrw time, zero");
}

#[test]
fn every_name_has_one_number() {
    let lines = include_str!("csrs.txt").lines();
    let lines: Vec<&str> = lines.filter(|line| !line.starts_with('#')).collect();
    assert_eq!(NAMES.len(), lines.len());
    assert!(lines.is_sorted());
}

#[test]
fn groups_tell_what_may_trap() {
    let known = [
        (0x32a5_b027, Group::Memory), // fsd fa0, 800(a1)
        (0x6588, Group::Memory),      // c.ld a0, 8(a1)
        (0xe406, Group::Memory),      // c.sdsp ra, 8(sp)
        (0x00b6_252f, Group::Memory), // amoadd.w a0, a1, (a2)
        (0x1006_352f, Group::Memory), // lr.d a0, (a2)
        (0x6c05_c573, Group::Memory), // hlv.d a0, (a1)
        (0x0045_200f, Group::Memory), // cbo.zero (a0)
        (0xe285_0007, Group::Memory), // vl8r.v v0, (a0)
        (0x81c8, Group::Memory),      // c.lbu a0, 1(a1)
        (0xc010_2573, Group::System), // csrr a0, time
        (0x1200_0073, Group::System), // sfence.vma
        (0x1050_0073, Group::System), // wfi
        (0x0000_0073, Group::Call),   // ecall
        (0x9002, Group::Call),        // c.ebreak
        (0x0010_0073, Group::Call),   // ebreak
        (0x0ff0_000f, Group::Other),  // fence
        (0x952e, Group::Other),       // c.add a0, a1
        (0x0101, Group::Other),       // c.addi sp, 0
        (0x000f_8f93, Group::Other),  // mv t6, t6
    ];
    for (word, wanted) in known {
        assert_eq!(group(&insn(word)), wanted, "{word:#x}");
    }
}

#[test]
fn loads_and_stores_are_decoded() {
    let known = [
        (0x6588, true, false, 1),       // c.ld a0, 8(a1)
        (0xe588, false, false, 1),      // c.sd a0, 8(a1)
        (0x6522, true, false, 1),       // c.ldsp a0, 8(sp)
        (0xe406, false, false, 1),      // c.sdsp ra, 8(sp)
        (0x2508, true, true, 1),        // c.fld fa0, 8(a0)
        (0xa42a, false, true, 1),       // c.fsdsp fa0, 8(sp)
        (0x41c8, true, false, 1),       // c.lw a0, 4(a1)
        (0xc1c8, false, false, 1),      // c.sw a0, 4(a1)
        (0x81c8, true, false, 1),       // c.lbu a0, 1(a1)
        (0x89c8, false, false, 1),      // c.sb a0, 1(a1)
        (0x32a5_b027, false, true, 1),  // fsd fa0, 800(a1)
        (0x0005_3503, true, false, 1),  // ld a0, 0(a0)
        (0x00a5_3023, false, false, 1), // sd a0, 0(a0)
        (0xe285_0007, true, true, 8),   // vl8r.v v0, (a0)
        (0x6285_0227, false, true, 4),  // vs4r.v v4, (a0)
        (0x0205_0427, false, true, 1),  // vse8.v v8, (a0)
    ];
    for (word, is_load, is_vector, registers) in known {
        let wanted = Moved {
            is_load,
            is_vector,
            registers,
        };
        assert_eq!(moved(&insn(word)), Some(wanted), "{word:#x}");
    }
    for word in [0x00b6_252f, 0x952e, 0x0001, 0x6c05_c573, 0x0028] {
        assert_eq!(moved(&insn(word)), None, "{word:#x}");
    }
}

#[test]
fn causes_are_named() {
    let known = [
        (0x0000_0073, "ECALL"),
        (0x1050_0073, "WFI"),
        (0x1020_0073, "SRET"),
        (0x1200_0073, "SFENCE.VMA"),
        (0x62b5_0073, "HFENCE"),
        (0x2200_0073, "HFENCE"),
        (0x9002, "EBREAK"),
        (0xc010_2573, "read of time"),
        (0x1400_1073, "write of sscratch"),
        (0x1001_6073, "change of sstatus"),
        (0x6588, "memory access, interrupt"),
        (0x02c5_f553, "floating point, interrupt"), // fadd.d
        (0x6ac5_f543, "floating point, interrupt"), // fmadd.d
        (0x0211_0057, "vector, interrupt"),         // vadd.vv
        (0x952e, "interrupt"),
    ];
    for (word, wanted) in known {
        assert_eq!(trap_name(&insn(word)), wanted, "{word:#x}");
    }
}

/// Encodes a jump of this offset (volume I, 2.3).
fn encoded_jal(offset: i64) -> u32 {
    let bits = offset as u32;
    let part = |low: u32, count: u32, to: u32| (bits >> low & ((1 << count) - 1)) << to;
    0x6f | part(20, 1, 31) | part(1, 10, 21) | part(11, 1, 20) | part(12, 8, 12)
}

fn encoded_branch(offset: i64) -> u32 {
    let bits = offset as u32;
    let part = |low: u32, count: u32, to: u32| (bits >> low & ((1 << count) - 1)) << to;
    0x63 | part(12, 1, 31) | part(5, 6, 25) | part(1, 4, 8) | part(11, 1, 7)
}

proptest! {
    #[test]
    fn jumps_lead_where_they_were_encoded(half in -(1_i64 << 19)..1 << 19, address in any::<u64>()) {
        let jal = at(address, &encoded_jal(2 * half).to_le_bytes());
        prop_assert_eq!(flow(&jal), Flow::Jump(Some(address.wrapping_add_signed(2 * half))));
    }

    #[test]
    fn branches_lead_where_they_were_encoded(half in -(1_i64 << 11)..1 << 11, address in any::<u64>()) {
        let branch = at(address, &encoded_branch(2 * half).to_le_bytes());
        prop_assert_eq!(flow(&branch), Flow::Branch(address.wrapping_add_signed(2 * half)));
    }

    #[test]
    fn any_bytes_are_decoded(bytes in prop::collection::vec(any::<u8>(), 0..16), address in any::<u64>()) {
        let insn = at(address, &bytes);
        let _ = (flow(&insn), access(&insn), moved(&insn), trap_name(&insn), is_clock(&insn));
        prop_assert_eq!(flows(&[insn, insn]).len(), 2);
    }

    #[test]
    fn loads_and_stores_may_fault(word in any::<u32>()) {
        let insn = insn(word);
        if moved(&insn).is_some() {
            prop_assert_eq!(group(&insn), Group::Memory);
            prop_assert_eq!(flow(&insn), Flow::Plain);
        }
        if access(&insn).is_some() {
            prop_assert_eq!(group(&insn), Group::System);
        }
    }
}
