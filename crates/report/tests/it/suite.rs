//! Tests of tables in a paper's layout.

use crate::support::{absent, measured, result};
use serde_json::json;
use ws_report::{Options, Table};
use ws_results::Status;

fn laid_out(suite: &str, results: &[ws_results::ResultFile]) -> Table {
    let reference = ws_report::reference::load().unwrap();
    let table = ws_report::table(results, &Options::default()).unwrap();
    table.as_suite(&reference.suite(suite), &reference)
}

fn kvm() -> ws_results::ResultFile {
    let rows = vec![
        absent("sgdt", "unprivileged", Status::Skip, "no such register"),
        measured("hypercall", "exception", "insns", &[&[1061], &[1061]]),
        measured("irq-completion", "exception", "insns", &[&[3], &[3]]),
    ];
    result("lab:kvm-vhe", 2, json!({"unit": "insns"}), rows)
}

#[test]
fn rows_are_the_paper_s_and_each_cell_of_ours_is_a_number_or_a_reason() {
    let table = laid_out("dall2015", &[kvm()]);
    let rows: Vec<&str> = table.rows.iter().map(|row| &*row.category).collect();
    assert_eq!(
        rows[..4],
        [
            "Hypercall",
            "Interrupt Controller Trap",
            "Virtual IPI",
            "Virtual IRQ Completion"
        ]
    );
    assert!(!table.rows.iter().any(|row| row.benchmark == "sgdt"));
    for row in &table.rows {
        let cell = row.cells[0].as_ref().unwrap();
        assert!(cell.value.is_some() || !cell.notes.is_empty(), "{row:?}");
    }
    assert_eq!(table.rows[0].cells[0].as_ref().unwrap().value, Some(1061.0));
    assert!(
        table
            .notes
            .iter()
            .any(|note| note.starts_with("not measured there"))
    );
    // No notes of rows that are not in the table.
    assert!(
        !table
            .notes
            .iter()
            .any(|note| note.contains("no such register"))
    );
}

#[test]
fn published_numbers_have_columns_and_a_unit_of_their_own() {
    let table = laid_out("dall2015", &[kvm()]);
    let columns: Vec<&str> = table
        .columns
        .iter()
        .map(|column| &*column.platform)
        .collect();
    assert_eq!(
        columns,
        ["lab:kvm-vhe", "ARM KVM", "ARM Xen", "x86 KVM", "x86 Xen"]
    );
    for column in &table.columns[1..] {
        assert_eq!(column.unit.as_deref(), Some("cycles"));
        assert!(table.notes[column.notes[0]].starts_with("published, Table 2: "));
    }
    for row in &table.rows {
        for (column, cell) in table.columns.iter().zip(&row.cells) {
            let unit = cell.as_ref().and_then(|cell| cell.unit.as_ref());
            assert!(unit.is_none() || unit == column.unit.as_ref(), "{row:?}");
        }
    }
    let out: Vec<_> = table
        .rows
        .iter()
        .filter(|row| row.category == "I/O Latency Out")
        .collect();
    let arm_kvm = |row: &ws_report::TableRow| row.cells[1].as_ref().and_then(|cell| cell.value);
    // The published value is shown beside the closest benchmark only.
    let values: Vec<_> = out.iter().map(|row| arm_kvm(row)).collect();
    assert_eq!(values, [Some(6024.0), None, None, None]);
    let text = table.to_terminal(false, 400);
    assert!(
        text.contains("16,491") && text.contains("cycles: as printed in the paper"),
        "{text}"
    );
}

#[test]
fn a_published_number_of_another_unit_of_work_says_so() {
    let rows = vec![measured("set-page-table-4k", "memory", "insns", &[&[34]])];
    let ours = result("lab:kvm", 1, json!({"unit": "insns"}), rows);
    let table = laid_out("hyperbench", &[ours]);
    let row = |name| table.rows.iter().find(|row| row.category == name).unwrap();
    let set = row("Set Page Table").cells[1].as_ref().unwrap();
    assert_eq!(set.value, Some(141_254_312.0));
    let note = &table.notes[set.notes[0]];
    assert!(note.contains("The units of work differ"), "{note}");
    let text = table.to_terminal(false, 400);
    let line = text.lines().find(|line| line.contains("141,254,312"));
    let mark = format!("set-page-table-4k [{}]", set.notes[0] + 1);
    assert!(line.unwrap().contains(&mark), "{text}");
    assert!(
        row("Hypercall").cells[1]
            .as_ref()
            .is_none_or(|c| c.notes.is_empty())
    );
}

#[test]
fn the_columns_of_a_second_table_follow_and_its_slowdowns_are_the_paper_s() {
    let table = laid_out("neve2017", &[kvm()]);
    let column = |name: &str| {
        table
            .columns
            .iter()
            .position(|column| column.platform == name)
    };
    let neve = table.rows[0].cells[column("NEVE Nested VM").unwrap()]
        .as_ref()
        .unwrap();
    assert_eq!((neve.value, neve.slowdown), (Some(92385.0), Some(34.0)));
    let vm = table.rows[0].cells[column("ARMv8.3 VM").unwrap()]
        .as_ref()
        .unwrap();
    assert_eq!((vm.value, vm.slowdown), (Some(2729.0), None));
    assert!(table.to_markdown().contains("Device I/O"));
}
