use super::*;
use crate::counts::Count;
use crate::trace::Architecture;

const TEXT: u64 = 0xffff_ffff_8100_0000;
const MODULE: u64 = 0xffff_ffff_c000_0000;
const PROGRAM: u64 = 0x40_0000;

fn software() -> Software {
    let list = format!(
        "{TEXT:x} T entry\n100 T tcp_sendmsg\n{:x} t svm_vcpu_run [kvm_amd]\n100 t br_forward [bridge]\n",
        MODULE - TEXT - 0x100
    );
    Software {
        linux: Symbols::of_kernel(&list).unwrap(),
        xen: None,
    }
}

/// Windows of instructions by address, location, and counts of both levels.
fn counts(windows: &[&[(u64, u64, [u64; 2])]]) -> Counts {
    let mut insns = Vec::new();
    let windows = windows
        .iter()
        .map(|window| {
            let counts = window.iter().map(|(address, location, times)| {
                insns.push(Insn::new(*address, *location, &[]));
                Count {
                    insn: insns.len() - 1,
                    times: *times,
                }
            });
            Window {
                counts: counts.collect(),
                ..Window::default()
            }
        })
        .collect();
    Counts {
        architecture: Architecture::X86_64,
        insns,
        windows,
    }
}

fn run(ticks: u64) -> Run<'static> {
    Run {
        row: "tcp-rr",
        ticks,
        has_shorter: false,
        has_idle: false,
    }
}

fn natively() -> Counts {
    counts(&[
        &[(TEXT, 0x1000, [50, 0])],
        &[
            (TEXT, 0x1000, [1000, 0]),
            (TEXT + 0x120, 0x1120, [600, 0]),
            (PROGRAM, 0x9000, [400, 0]),
        ],
    ])
}

fn in_vm() -> Counts {
    counts(&[&[
        (TEXT, 0x1000, [1200, 0]),
        (TEXT, 0x77_0000, [0, 900]),
        (TEXT + 0x120, 0x77_0120, [0, 580]),
        (MODULE + 4, 0x5004, [3000, 0]),
        (MODULE + 0x100, 0x88_0000, [0, 70]),
        (PROGRAM, 0x9000, [200, 210]),
    ]])
}

#[test]
fn a_shorter_run_is_taken_off_by_function() {
    let longer = counts(&[
        &[(TEXT, 0x1000, [9, 0])],
        &[(TEXT, 0x1000, [500, 0]), (PROGRAM, 0x9000, [110, 3])],
        &[(TEXT, 0x1000, [1500, 0]), (PROGRAM, 0x9000, [108, 8])],
    ]);
    let run = Run {
        has_shorter: true,
        ..run(1003)
    };
    let spread = Spread::of(&longer, &software(), &run).unwrap();
    let times: Vec<[i64; 2]> = spread.parts.into_values().collect();
    // Programs of the machine executed more in the shorter run.
    assert_eq!(times, [[-2, 5], [1000, 0]]);
    let alone = Spread::of(&natively(), &software(), &Run { ticks: 2010, ..run });
    assert!(alone.unwrap_err().to_string().contains("no recorded run"));
}

#[test]
fn the_difference_is_by_function_and_the_sum_is_whole() {
    let natively = Spread::of(&natively(), &software(), &run(2010)).unwrap();
    let in_vm = Spread::of(&in_vm(), &software(), &run(6160)).unwrap();
    let comparison = Comparison {
        workload: ("tcp-rr", "transaction"),
        units: 10,
        natively: ("lab:linux", &natively),
        in_vm: ("lab:kvm-linux", &in_vm),
        is_one_of_several: false,
    };
    let (title, table) = comparison.table();
    assert!(title.contains("a transaction"), "{title}");
    let lines: Vec<String> = table.lines().iter().map(|line| line.join(" | ")).collect();
    assert_eq!(
        lines,
        [
            "svm_vcpu_run [kvm_amd] | hypervisor | 0 | 300 | 0 | +300",
            "entry | kernel | 100 | 120 | 90 | +110",
            "modules of the VM's kernel | kernel | 0 | 0 | 7 | +7",
            "all programs | user space | 40 | 20 | 21 | +1",
            "tcp_sendmsg | kernel | 60 | 0 | 58 | -2",
            "0 others |  | 0 | 0 | 0 | 0",
            "all |  | 200 | 440 | 176 | +416",
        ]
    );
    let (_, table) = comparison.components_table(Some(290.0));
    let lines: Vec<String> = table.lines().iter().map(|line| line.join(" | ")).collect();
    assert_eq!(
        lines,
        [
            "KVM |  | 0 | 300 | 0 | +300",
            "other kernel code |  | 100 | 120 | 90 | +110",
            "drivers in the VM |  | 0 | 0 | 7 | +7",
            "programs |  | 40 | 20 | 21 | +1",
            "network stack |  | 60 | 0 | 58 | -2",
            "all |  | 200 | 440 | 176 | +416",
            "minus the cost model's prediction for exits |  |  |  |  | -290",
            "the model's error: the difference |  |  |  |  | +126",
        ]
    );
    let (_, unpriced) = comparison.components_table(None);
    assert_eq!(unpriced.lines().len(), table.lines().len() - 2);
    let explained = comparison.explained();
    let sum = |of: fn(&ComponentExplained) -> i64| explained.components.iter().map(of).sum::<i64>();
    assert_eq!(sum(|part| part.natively), explained.natively.counted);
    assert_eq!(sum(|part| part.host + part.vm), explained.in_vm.counted);
    assert_eq!(
        (explained.natively.counted, explained.in_vm.by_clock),
        (2000, 6160)
    );
    let first = &explained.functions[0];
    assert_eq!(
        (&*first.function, first.natively, first.host, first.vm),
        ("svm_vcpu_run", 0, 3000, 0)
    );
    assert_eq!(explained.functions.len(), 5, "all, not only those shown");
    let proof = comparison.proof();
    assert!(
        proof.contains("lab:linux: 2,000 instructions counted, 2,010 by the clock"),
        "{proof}"
    );
}

#[test]
fn a_run_that_differs_by_more_than_a_percent_is_an_error() {
    let says = |ticks| {
        let found = Spread::of(&natively(), &software(), &run(ticks));
        found.map(|found| found.ticks).map_err(|e| e.to_string())
    };
    assert_eq!(says(2020), Ok(2020));
    assert_eq!(says(1981), Ok(1981));
    let error = says(2030).unwrap_err();
    assert!(error.contains("have 50, 2000"), "{error}");
    // Both windows are found.
    assert_eq!(says(50), Ok(50));
}

#[test]
fn levels_that_do_not_fit_the_kernels_place_are_an_error() {
    let wrong = [
        // A VM in the place of the machine's own.
        counts(&[&[(TEXT, 0x1000, [1, 0]), (TEXT + 4, 0x1004, [0, 1])]]),
        // The machine's own in two places.
        counts(&[&[(TEXT, 0x1000, [1, 0]), (TEXT + 4, 0x9004, [1, 0])]]),
    ];
    for counts in wrong {
        let found = Spread::of(&counts, &software(), &run(1));
        assert_eq!(found, Err(SpreadError::Levels(TEXT + 4)));
    }
}

const ARM_TEXT: u64 = 0xffff_8000_8001_0000;
const XEN_TEXT: u64 = 0xa00_0020_0000;
const AT_EL2_TEXT: u64 = 0x7fc2_0001_0100;

fn on_arm() -> Software {
    let list = format!("{ARM_TEXT:x} T _text\n100 t __kvm_nvhe___guest_exit\n100 T schedule\n");
    let xen = format!("{XEN_TEXT:x} T _start\n100 T leave_hypervisor_to_guest\n");
    Software {
        linux: Symbols::of_kernel(&list).unwrap(),
        xen: Some(Symbols::of_kernel(&xen).unwrap()),
    }
}

fn exit(level: usize, reason: u8, times: u64) -> Exits {
    Exits {
        level,
        reason: Reason(reason),
        times,
    }
}

/// A shorter run and a run of dom0, Xen and a VM, with exits and idle time.
fn under_xen() -> Counts {
    let mut counts = counts(&[
        &[
            (ARM_TEXT + 0x200, 0x1200, [10, 0]),
            (XEN_TEXT + 0x104, 0x3_0104, [5, 0]),
            (PROGRAM, 0x9000, [4, 2]),
        ],
        &[
            (ARM_TEXT + 0x200, 0x1200, [100, 0]),
            (ARM_TEXT + 0x200, 0x7_7200, [0, 60]),
            (XEN_TEXT + 0x104, 0x3_0104, [45, 0]),
            (PROGRAM, 0x9000, [24, 12]),
        ],
    ]);
    counts.windows[0].halted_ns = Some(7);
    counts.windows[0].exits = vec![exit(1, 0x01, 2), exit(1, 64, 3)];
    counts.windows[1].halted_ns = Some(57);
    let exits = [
        (0, 0x16, 40),
        (1, 0x01, 22),
        (1, 0x24, 1),
        (1, 64, 3),
        (1, 65, 4),
    ];
    counts.windows[1].exits = exits
        .map(|(level, reason, times)| exit(level, reason, times))
        .into();
    counts
}

#[test]
fn under_xen_dom0_is_the_host_and_exits_are_by_reason() {
    let run = Run {
        has_shorter: true,
        has_idle: true,
        // 220 instructions, one of which trapped, and 50 idle.
        ..run(269)
    };
    let spread = Spread::of(&under_xen(), &on_arm(), &run).unwrap();
    assert_eq!((spread.counted(), spread.ticks), (220, 219));
    assert_eq!(spread.halted, Some(50));
    let natively = Spread::default();
    let comparison = Comparison {
        workload: ("tcp-rr", "transaction"),
        units: 10,
        natively: ("lab:arm-linux", &natively),
        in_vm: ("lab:arm-xen-linux", &spread),
        is_one_of_several: false,
    };
    let lines = |(_, table): (String, Sheet)| -> Vec<String> {
        table.lines().iter().map(|line| line.join(" | ")).collect()
    };
    assert_eq!(
        lines(comparison.table())[..3],
        [
            "schedule | kernel | 0 | 9 | 6 | +15",
            "leave_hypervisor_to_guest [Xen] | hypervisor | 0 | 4 | 0 | +4",
            "all programs | user space | 0 | 2 | 1 | +3",
        ]
    );
    assert_eq!(
        lines(comparison.exits_table().unwrap()),
        [
            "hvc | 0.00 | 4.00",
            "wfx | 2.00 | 0.00",
            "interrupt | 0.40 | 0.00",
            "dabt | 0.10 | 0.00",
            "all | 2.50 | 4.00"
        ]
    );
    let components = lines(comparison.components_table(None));
    assert!(
        components.contains(&"Xen |  | 0 | 4 | 0 | +4".to_owned()),
        "{components:?}"
    );
    let proof = comparison.proof();
    let of_xen = "lab:arm-xen-linux: 220 instructions counted, 219 by the clock; \
                  accesses that trapped, which the clock does not charge: 1; idle for 50 ticks";
    assert!(proof.contains(of_xen), "{proof}");
    let explained = comparison.explained();
    assert_eq!(explained.exits[0].dom0, 40);
    assert_eq!(
        (explained.natively.halted, explained.in_vm.halted),
        (None, Some(50))
    );
}

#[test]
fn a_machine_without_exits_has_no_table_of_them() {
    let mut counts = under_xen();
    counts
        .windows
        .iter_mut()
        .for_each(|window| window.exits.clear());
    let run = Run {
        has_shorter: true,
        ..run(220)
    };
    let spread = Spread::of(&counts, &on_arm(), &run).unwrap();
    let comparison = Comparison {
        workload: ("tcp-rr", "transaction"),
        units: 10,
        natively: ("lab:arm-linux", &spread),
        in_vm: ("lab:kvm-vhe-linux", &spread),
        is_one_of_several: false,
    };
    assert!(comparison.exits_table().is_none());
    let several = Comparison {
        is_one_of_several: true,
        ..comparison
    };
    let (title, _) = several.table();
    assert!(
        title.starts_with("tcp-rr on lab:kvm-vhe-linux: instructions a transaction, by"),
        "{title}"
    );
}

#[test]
fn kvm_s_code_at_el2_is_in_the_kernel_s_image() {
    let counts = counts(&[&[
        (ARM_TEXT + 0x204, 0x1204, [50, 0]),
        (AT_EL2_TEXT, 0x1100, [30, 0]),
        // A process has a page there that the kernel freed; the VM's locations are not the kernel's.
        (PROGRAM, 0x1208, [20, 0]),
        (PROGRAM + 4, 0x1104, [0, 10]),
    ]]);
    let software = Software {
        xen: None,
        ..on_arm()
    };
    let spread = Spread::of(&counts, &software, &run(110)).unwrap();
    let parts: Vec<(String, Kind, [i64; 2])> = spread
        .parts
        .into_iter()
        .map(|(part, times)| (part.label(), part.kind, times))
        .collect();
    let part = |name: &str, kind, times| (name.to_owned(), kind, times);
    assert_eq!(
        parts,
        [
            part("__kvm_nvhe___guest_exit", Kind::Hypervisor, [30, 0]),
            part("all programs", Kind::User, [20, 10]),
            part("schedule", Kind::Kernel, [50, 0]),
        ]
    );
}
