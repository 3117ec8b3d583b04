use super::*;
use crate::counts::{Count, Executed};
use crate::trace::Architecture;

const TEXT: u64 = 0xffff_ffff_8100_0000;
const MODULE: u64 = 0xffff_ffff_c000_0000;
const PROGRAM: u64 = 0x40_0000;

fn symbols() -> Symbols {
    let list = format!(
        "{TEXT:x} T entry\n100 T tcp_sendmsg\n{:x} t svm_vcpu_run [kvm_amd]\n100 t br_forward [bridge]\n",
        MODULE - TEXT - 0x100
    );
    Symbols::of_kernel(&list).unwrap()
}

/// Windows of instructions by address, location, and counts of both levels.
fn counts(windows: &[&[(u64, u64, [u64; 2])]]) -> Counts {
    let mut insns = Vec::new();
    let windows = windows
        .iter()
        .map(|window| {
            let counts = window.iter().map(|(address, location, times)| {
                insns.push(Executed {
                    address: *address,
                    location: *location,
                });
                Count {
                    insn: insns.len() - 1,
                    times: *times,
                }
            });
            counts.collect()
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
    let spread = Spread::of(&longer, &symbols(), &run).unwrap();
    let times: Vec<[u64; 2]> = spread.parts.into_values().collect();
    assert_eq!(times, [[0, 5], [1000, 0]]);
    let alone = Spread::of(&natively(), &symbols(), &Run { ticks: 2010, ..run });
    assert!(alone.unwrap_err().to_string().contains("no recorded run"));
}

#[test]
fn the_difference_is_by_function_and_the_sum_is_whole() {
    let natively = Spread::of(&natively(), &symbols(), &run(2010)).unwrap();
    let in_vm = Spread::of(&in_vm(), &symbols(), &run(6160)).unwrap();
    let comparison = Comparison {
        workload: ("tcp-rr", "transaction"),
        units: 10,
        natively: ("lab:linux", &natively),
        in_vm: ("lab:kvm-linux", &in_vm),
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
            "virtio drivers in the VM |  | 0 | 0 | 7 | +7",
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
    let sum = |of: fn(&ComponentExplained) -> u64| explained.components.iter().map(of).sum::<u64>();
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
        let found = Spread::of(&natively(), &symbols(), &run(ticks));
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
        let found = Spread::of(&counts, &symbols(), &run(1));
        assert_eq!(found, Err(SpreadError::Levels(TEXT + 4)));
    }
}
