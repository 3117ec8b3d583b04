//! Recomputes what the papers state about their numbers (sums, ratios, percentages) from the data
//! files. A transcription error in a table breaks one of these tests, or the shape tests.

use ws_report::reference::{Kind, Reference, Value, load};

fn reference() -> Reference {
    load().unwrap()
}

/// The number in a table's cell.
fn get(r: &Reference, paper: &str, table: &str, row: &str, column: &str, unit: &str) -> f64 {
    r.value([paper, table, row, column, unit])
        .unwrap_or_else(|| panic!("{paper}, Table {table}: no {row} / {column} in {unit}"))
}

/// Whether `value`, rounded to the decimals of `printed`, is `printed`.
fn rounds_to(value: f64, printed: &str) -> bool {
    let decimals = printed.split_once('.').map_or(0, |(_, d)| d.len());
    format!("{value:.decimals$}") == printed
}

#[test]
fn every_value_belongs_to_a_known_table_machine_and_benchmark() {
    let r = reference();
    assert_eq!((r.papers.len(), r.tables.len()), (5, 34));
    let benchmarks = concat!(
        include_str!("../../../../docs/benchmarks/README.md"),
        include_str!("../../../../docs/benchmarks/io-latency.md")
    );
    let lab = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab");
    let is_workload = |name: &str| lab.join(format!("workloads/{name}.toml")).is_file();
    for v in &r.values {
        let table = r
            .tables
            .iter()
            .find(|t| t.paper == v.paper && t.table == v.table);
        let kind = table.unwrap_or_else(|| panic!("{v:?}")).kind;
        assert!(matches!(kind, Kind::Measured | Kind::Parameters), "{v:?}");
        assert!(v.hardware.is_empty() || r.hardware_of(v).is_some(), "{v:?}");
        assert!(
            v.benchmark.is_empty()
                || benchmarks.contains(&format!("`{}`", v.benchmark))
                || is_workload(&v.benchmark),
            "{v:?}"
        );
        assert_eq!(
            v.value.is_none(),
            ["-", "N/A"].contains(&&*v.printed),
            "{v:?}"
        );
        assert!(v.to.is_none_or(|to| Some(to) > v.value), "{v:?}");
    }
    // Every table of numbers has some.
    for t in &r.tables {
        let any = r.of_table(&t.paper, &t.table).next().is_some()
            || r.registers
                .iter()
                .any(|g| g.table == t.table && t.kind == Kind::Registers);
        let words = t.kind == Kind::Words || (t.paper == "neve-2017" && t.table == "2");
        assert_eq!(any, !words, "{t:?}");
    }
}

#[test]
fn a_row_that_a_suite_has_a_benchmark_for_names_it_in_each_table() {
    let r = reference();
    for line in r.suites.iter().filter(|line| line.published) {
        let of_row = |v: &&Value| v.paper == line.paper && v.row == line.row;
        let values: Vec<&Value> = r.values.iter().filter(of_row).collect();
        assert!(!values.is_empty(), "{line:?}");
        for v in values {
            assert_eq!(v.benchmark, line.benchmark, "{v:?}");
        }
    }
}

#[test]
fn no_cell_is_there_twice() {
    let r = reference();
    let mut cells: Vec<_> = r
        .values
        .iter()
        .map(|v| (&v.paper, &v.table, &v.row, &v.column, &v.unit))
        .collect();
    let all = cells.len();
    cells.sort();
    cells.dedup();
    assert_eq!(cells.len(), all);
}

#[test]
fn the_number_is_what_is_printed() {
    for v in &reference().values {
        let plain = v.printed.replace(',', "");
        let plain = plain.trim_start_matches("* ").trim_end_matches(['x', '%']);
        if let Ok(printed) = plain.parse::<f64>() {
            assert_eq!(v.value, Some(printed), "{v:?}");
        }
    }
}

#[test]
fn tables_have_the_shape_of_the_papers() {
    let r = reference();
    for (paper, table, cells) in [
        ("hyperbench-2019", "1", 16),
        ("hyperbench-2019", "3", 16 * 5 * 2),
        ("hyperbench-2019", "4", 14 * 3),
        ("dall-2015", "2", 7 * 4),
        ("dall-2015", "3", 7 * 2),
        ("dall-2015", "5", 9 * 6),
        ("dall-2015", "6", 8 * 3),
        ("neve-2017", "1", 4 * 5),
        ("neve-2017", "6", 4 * 5 * 2),
        ("neve-2017", "7", 4 * 5),
        ("rasmusson-2013", "figure 4", 7 * 10),
    ] {
        assert_eq!(r.of_table(paper, table).count(), cells, "{paper} {table}");
    }
}

#[test]
fn hyperbench_slowdowns_are_the_cycles_over_the_host_s() {
    let r = reference();
    let paper = "hyperbench-2019";
    let mut checked = 0;
    for v in r.of_table(paper, "3").filter(|v| v.unit == "ratio") {
        if v.printed == "-" {
            continue;
        }
        let cycles = |column: &str| get(&r, paper, "3", &v.row, column, "cycles");
        let ratio = cycles(&v.column) / cycles("Host machine");
        // Cells without a decimal were rounded to a whole number.
        assert!(rounds_to(ratio, &v.printed), "{v:?}: {ratio}");
        checked += 1;
    }
    assert_eq!(checked, 14 * 5);
}

#[test]
fn hyperbench_table_4_has_the_improvements_that_it_says() {
    let r = reference();
    let paper = "hyperbench-2019";
    for v in r.of_table(paper, "4").filter(|v| v.column == "Improvement") {
        let of = |column: &str| get(&r, paper, "4", &v.row, column, "cycles");
        let (old, new) = (of("Westmere"), of("Ivy Bridge"));
        // Cycles saved, as a percentage of Westmere's; negative where Westmere is faster.
        let percent = 100.0 * (old - new) / old;
        let as_printed = (percent - v.value.unwrap()).abs() <= 0.5;
        assert_eq!(as_printed, v.errata.is_empty(), "{v:?}: {percent}");
    }
    // Its Ivy Bridge is Table 3's KVM (EPT), row by row.
    for v in r.of_table(paper, "4").filter(|v| v.column == "Ivy Bridge") {
        let same = r
            .of_table(paper, "3")
            .find(|t| t.benchmark == v.benchmark && t.setup == "kvm" && t.unit == "cycles");
        assert_eq!(same.unwrap().value, v.value, "{v:?}");
    }
}

#[test]
fn hyperbench_s_text_agrees_with_its_tables() {
    let r = reference();
    let cycles = |row, column| get(&r, "hyperbench-2019", "3", row, column, "cycles");
    // 6.3: "about 10x slower than that with EPT".
    let shadow = cycles("Set CR3", "KVM (SPT)") / cycles("Set CR3", "KVM (EPT)");
    assert!((10.0..11.0).contains(&shadow), "{shadow}");
    // 6.3: cold memory costs "at the level of 300 clock cycles" more.
    for column in ["KVM (EPT)", "Xen"] {
        let added =
            cycles("Cold Memory Access", column) - cycles("Cold Memory Access", "Host machine");
        assert!((290.0..320.0).contains(&added), "{column}: {added}");
    }
    // 6.3: an IPI to a running CPU "costs a Hypercall and a hardware IPI".
    let running = get(
        &r,
        "hyperbench-2019",
        "text 6.3",
        "IPI to a running CPU",
        "KVM (EPT)",
        "cycles",
    );
    let sum = cycles("Hypercall", "KVM (EPT)") + cycles("IPI", "Host machine");
    assert!((running / sum - 1.0).abs() < 0.15, "{running} and {sum}");
}

#[test]
fn dall_s_text_agrees_with_its_tables() {
    let r = reference();
    let t = |table: &str, row: &str, column: &str, unit: &str| {
        get(&r, "dall-2015", table, row, column, unit)
    };
    let cycles = |row: &str, column: &str| t("2", row, column, "cycles");
    // 4: Xen ARM takes "less than a third of the cycles" of x86; KVM ARM "more than an order of
    // magnitude" more.
    assert!(cycles("Hypercall", "ARM Xen") < cycles("Hypercall", "x86 Xen") / 3.0);
    assert!(cycles("Hypercall", "ARM KVM") > 10.0 * cycles("Hypercall", "ARM Xen"));
    // 4: saving and restoring "accounts for almost all of the Hypercall time", and saving costs more.
    let sum = |column| -> f64 {
        let of = r.of_table("dall-2015", "3").filter(|v| v.column == column);
        of.map(|v| v.value.unwrap()).sum()
    };
    assert_eq!((sum("Save"), sum("Restore")), (4202.0, 1506.0));
    assert!((sum("Save") + sum("Restore")) / cycles("Hypercall", "ARM KVM") > 0.85);
    // 5: the overheads of Apache and Memcached, in percent.
    for (row, column, percent) in [
        ("Apache", "ARM KVM", "35"),
        ("Memcached", "ARM KVM", "26"),
        ("Apache", "ARM Xen", "84"),
        ("Memcached", "ARM Xen", "32"),
    ] {
        let overhead = t("5", row, "ARM Native", "per_s") / t("5", row, column, "per_s") - 1.0;
        assert!(
            rounds_to(100.0 * overhead, percent),
            "{row} {column}: {overhead}"
        );
    }
    // 5: "more than 250% overhead" of Xen on TCP_STREAM.
    for side in ["ARM", "x86"] {
        let of = |who: &str| {
            t(
                "5",
                "TCP_STREAM",
                &format!("{side} {who}"),
                "megabits_per_s",
            )
        };
        assert!(of("Native") / of("Xen") > 3.5);
    }
}

#[test]
fn dall_s_transaction_is_the_sum_of_its_parts() {
    let r = reference();
    let us = |row, column| get(&r, "dall-2015", "6", row, column, "us");
    let near = |a: f64, b: f64| (a - b).abs() < 0.05;
    for column in ["Native", "KVM", "Xen"] {
        let rate = get(&r, "dall-2015", "6", "Trans/s", column, "per_s");
        let arm = format!("ARM {column}");
        assert_eq!(rate, get(&r, "dall-2015", "5", "TCP_RR", &arm, "per_s"));
        assert!(near(1e6 / rate, us("Time/trans", column)), "{column}");
        let steps = us("send to recv", column) + us("recv to send", column);
        // This sum does not add up; it is in the errata.
        assert!(
            (steps - us("Time/trans", column)).abs() < 4.0
                && !near(steps, us("Time/trans", column))
        );
        let errata = r
            .of_table("dall-2015", "6")
            .find(|v| v.row == "send to recv" && v.column == column);
        assert!(errata.unwrap().errata.contains(&format!("{steps:.1}")));
    }
    for (column, overhead, off) in [("KVM", 44.5, 0.0), ("Xen", 55.7, 0.1)] {
        assert!(near(
            us("Time/trans", column) - us("Time/trans", "Native"),
            overhead
        ));
        assert!(near(us("Overhead", column), overhead));
        let parts: f64 = ["recv to VM recv", "VM recv to VM send", "VM send to send"]
            .map(|row| us(row, column))
            .iter()
            .sum();
        assert!(
            near(parts - us("recv to send", column), off),
            "{column}: {parts}"
        );
    }
    // 5: delays of 36.1 and 47.3, "an extra 11.2".
    let delay = |column| us("recv to VM recv", column) + us("VM send to send", column);
    assert!(near(delay("KVM"), 36.1) && near(delay("Xen"), 47.3));
    assert!(near(delay("Xen") - delay("KVM"), 11.2));
}

#[test]
fn dall_s_overheads_with_interrupts_on_one_vcpu_are_those_of_table_5() {
    let r = reference();
    let paper = "dall-2015";
    let mut checked = 0;
    for (name, benchmark) in [("Apache", "apache"), ("Memcached", "memcached")] {
        for setup in ["kvm", "xen"] {
            let rate = |setup: &str| {
                let mut of_table = r.of_table(paper, "5");
                let of = |v: &&Value| {
                    v.benchmark == benchmark && v.setup == setup && v.hardware == "m400"
                };
                of_table.find(of).unwrap().value.unwrap()
            };
            let row = |on: &str| format!("overhead, {name}, virtual interrupts on {on}");
            let stated = |on: &str| {
                let mut text = r.of_table(paper, "text 5");
                let value = text.find(|v| v.row == row(on) && v.setup == setup);
                value.unwrap()
            };
            let one = stated("one VCPU");
            let percent = (rate("native") / rate(setup) - 1.0) * 100.0;
            assert!(
                rounds_to(percent, one.printed.trim_end_matches('%')),
                "{one:?}: {percent}"
            );
            assert!(stated("several VCPUs").value < one.value);
            checked += 1;
        }
    }
    assert_eq!(checked, 4);
}

#[test]
fn neve_s_text_on_applications_agrees_with_itself() {
    let r = reference();
    let of = |row: &str, column: &str, unit| get(&r, "neve-2017", "text 7.2", row, column, unit);
    let slowdown = |column: &str| of("slowdown, Memcached", column, "ratio");
    // "more than an order of magnitude improvement".
    assert!(slowdown("ARMv8.3 Nested VM") / slowdown("NEVE Nested VM") > 10.0);
    let beside = of("slowdown, Memcached, beside x86", "NEVE Nested VM", "ratio");
    assert!(beside < slowdown("NEVE Nested VM"));
    for row in ["overhead, SPECjvm", "overhead, kernbench"] {
        let of = |column: &str| of(row, column, "percent");
        assert!(of("ARMv8.3 Nested VM") > of("ARMv8.3 Nested VM VHE"));
    }
}

#[test]
fn neve_s_ratios_are_nested_over_virtual() {
    let r = reference();
    let paper = "neve-2017";
    let cycles = |table, row: &str, column: &str| get(&r, paper, table, row, column, "cycles");
    // 5: 422,720 / 2,729 = 155x.
    assert!(rounds_to(
        cycles("1", "Hypercall", "ARMv8.3 Nested VM") / cycles("1", "Hypercall", "ARMv8.3 VM"),
        "155"
    ));
    for v in r.of_table(paper, "6").filter(|v| v.unit == "ratio") {
        let vm = if v.column.starts_with("x86") {
            "x86 VM"
        } else {
            "ARMv8.3 VM"
        };
        let ratio = cycles("6", &v.row, &v.column) / cycles("1", &v.row, vm);
        assert!(
            rounds_to(ratio, v.printed.trim_end_matches('x')),
            "{v:?}: {ratio}"
        );
    }
    // Table 6 repeats Table 1.
    for v in r
        .of_table(paper, "1")
        .filter(|v| v.column.contains("Nested"))
    {
        assert_eq!(v.value, Some(cycles("6", &v.row, &v.column)));
    }
}

#[test]
fn neve_s_traps_are_fewer_by_more_than_six_except_where_the_errata_say_so() {
    let r = reference();
    let paper = "neve-2017";
    for v in r
        .of_table(paper, "7")
        .filter(|v| v.column.starts_with("NEVE"))
    {
        let before = v.column.replace("NEVE", "ARMv8.3");
        let before = get(&r, paper, "7", &v.row, &before, "traps");
        let after = v.value.unwrap();
        if after > 0.0 {
            assert_eq!(before / after > 6.0, v.errata.is_empty(), "{v:?}");
        }
    }
}

#[test]
fn neve_s_registers_are_counted_and_the_double_one_is_named() {
    let r = reference();
    let count = |table: &str, group: &str| {
        let of = r.registers.iter();
        of.filter(|g| g.table == table && g.group == group)
            .map(|g| g.count)
            .sum::<u32>()
    };
    assert_eq!(
        [
            count("3", "VM Trap Control"),
            count("3", "VM Execution Control"),
            count("3", "Thread ID")
        ],
        [10, 16, 1]
    );
    // 6.1: twelve redirected, two of them for VHE; four cached; two redirected or trapped. That is
    // 18, but the paper says 17.
    assert_eq!(
        [
            count("4", "Redirect to *_EL1"),
            count("4", "Redirect to *_EL1 (VHE)"),
            count("4", "Trap on write"),
            count("4", "Redirect or trap")
        ],
        [10, 2, 4, 2]
    );
    assert_eq!(count("5", "Trap on write"), 6 + 4 + 4 + 16);
    let of_table_3 = r.registers.iter().filter(|g| g.table == "3");
    let mut names: Vec<_> = of_table_3.map(|g| g.register.as_str()).collect();
    assert_eq!(names.len(), 27, "as section 6.1 says");
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 26, "TPIDR_EL2 is there twice");
    let twice = r.registers.iter().filter(|g| g.register == "TPIDR_EL2");
    assert!(twice.clone().count() == 2 && twice.clone().all(|g| g.errata.contains("twice")));
}

#[test]
fn rasmusson_s_text_agrees_with_its_figure() {
    let r = reference();
    let rate = |cores: &str, column: &str| {
        get(
            &r,
            "rasmusson-2013",
            "figure 4",
            cores,
            column,
            "megabytes_per_s",
        )
    };
    let same = "host core 0; kvm core 0";
    // 3: "about 67 percent of the host speed" to localhost; a third of that to the host.
    let localhost = rate(same, "single sender to localhost; kvm rate")
        / rate(same, "single sender to localhost; host rate");
    assert!(rounds_to(100.0 * localhost, "67"), "{localhost}");
    let virtio = rate(same, "concurrent to vebox; kvm rate")
        / rate(same, "concurrent to localhost; kvm rate");
    assert!((virtio - 1.0 / 3.0).abs() < 0.03, "{virtio}");
    // 3 and 4: alone, the guest reaches 85 to 98 percent of the host's rate, except in the marked case.
    for v in r.of_table("rasmusson-2013", "figure 4") {
        if v.column == "single to stbox; kvm rate" && v.note.is_empty() {
            let share = v.value.unwrap() / rate(&v.row, "single to stbox; host rate");
            assert!((0.85..0.985).contains(&share), "{v:?}: {share}");
        }
    }
    // 3: "a factor 8" if both are on both cores.
    let both = "host core 0, 1; kvm core 0, 1";
    let factor =
        rate(both, "single to stbox; kvm rate") / rate(both, "concurrent to stbox; kvm rate");
    assert!(rounds_to(factor, "8"), "{factor}");
}

#[test]
fn a_suite_s_rows_are_those_of_its_paper_s_table_all_of_them_and_each_published_once() {
    let r = reference();
    for (suite, rows) in [("dall2015", 7), ("hyperbench", 16), ("neve2017", 4)] {
        let lines = r.suite(suite);
        let mut names: Vec<&str> = lines.iter().map(|line| &*line.row).collect();
        names.dedup();
        assert_eq!(names.len(), rows, "{suite}");
        for line in &lines {
            for table in line.tables.split(' ') {
                let cycles =
                    |v: &&ws_report::reference::Value| v.row == line.row && v.unit == "cycles";
                assert!(
                    r.of_table(&line.paper, table).any(|v| cycles(&v)),
                    "{line:?}"
                );
            }
        }
        for name in names {
            let published = lines
                .iter()
                .filter(|line| line.row == name && line.published);
            assert_eq!(published.count(), 1, "{suite} {name}");
        }
        let first = lines[0];
        let table = first.tables.split(' ').next().unwrap();
        let mut of_table: Vec<&str> = r
            .of_table(&first.paper, table)
            .filter(|v| v.unit == "cycles")
            .map(|v| &*v.row)
            .collect();
        of_table.dedup();
        assert_eq!(of_table.len(), rows, "{suite}");
    }
    assert!(r.suite("other").is_empty());
}

#[test]
fn elvis_s_text_agrees_with_itself() {
    let r = reference();
    let ops = |row, column| get(&r, "elvis-2013", "text 4.5", row, column, "per_s");
    let elvis = ops("filebench, each VM", "ELVIS");
    assert!(rounds_to(
        elvis / ops("filebench, each of 14 VMs", "Baseline"),
        "2.4"
    ));
    let one = elvis / ops("filebench, 1 VM", "Baseline");
    assert!(
        rounds_to(100.0 * (one - 1.0), "15"),
        "it is in the errata: {one}"
    );
}
