//! The finding of a table, in a sentence.

use crate::main_rows::{MAIN, MainRow};
use crate::number;
use crate::relative;
use crate::table::{Cell, Table};
use crate::text::terminal;
use ws_results::CLOCK_UNITS;

/// Fraction by which a platform must differ from the first one to be named.
const DIFFERS: f64 = 0.05;
/// The most platforms that one sentence compares.
const COMPARED: usize = 4;

/// The finding of a table in one sentence, such as "In lab:kvm a hypercall takes 3,032 instructions; the
/// longest exit is print, 215,357; lab:kvm-shadow adds 3,370 to a CR3 write", or how platforms compare with another
/// (`relative.rs`). None if no hypervisor's or emulator's cost was measured. Names are escaped for a terminal.
pub fn finding(table: &Table) -> Option<String> {
    relative::sentence(table).or_else(|| costs(table))
}

fn costs(table: &Table) -> Option<String> {
    let columns = hypervisors(table);
    let &first = columns.first()?;
    let main = MAIN.iter().find(|main| cost(table, main, first).is_some());
    let Some(main) = main else {
        return longest(table, &[first], "")
            .map(|longest| format!("In {} the {longest}.", name(table, first)));
    };
    let others = unlike(table, main, &columns);
    let mut parts = vec![hypercalls(table, main, first, &others)];
    let whose = match others.is_empty() {
        true => String::new(),
        false => format!(" of {}", name(table, first)),
    };
    parts.extend(longest(table, &columns, &whose).map(|text| format!("the {text}")));
    parts.extend(extra(table, &columns));
    Some(format!("{}.", parts.join("; ")))
}

/// Returns the columns that the sentence is about: of hypervisors whose instructions were counted, else all columns in
/// the unit of the first one.
fn hypervisors(table: &Table) -> Vec<usize> {
    let counted: Vec<usize> = table.counts().collect();
    if !counted.is_empty() {
        return counted;
    }
    // A count of exits does not tell the cost of an operation.
    let measured = |column: &usize| {
        table.columns[*column].unit.as_deref() != Some("count")
            && table.rows.iter().any(|row| value(row, *column).is_some())
    };
    let columns = (0..table.columns.len()).filter(measured);
    // A baseline is news only if nothing else was measured.
    let (others, baselines): (Vec<_>, Vec<_>) =
        columns.partition(|&column| table.columns[column].baseline != Some(column));
    let mut columns = others.into_iter().chain(baselines);
    let Some(first) = columns.next() else {
        return Vec::new();
    };
    let unit = &table.columns[first].unit;
    let alike = columns.filter(|&other| table.columns[other].unit == *unit);
    [first].into_iter().chain(alike).collect()
}

fn value(row: &crate::table::TableRow, column: usize) -> Option<&Cell> {
    let cell = row.cells.get(column)?.as_ref()?;
    cell.value.filter(|_| !cell.near_zero).map(|_| cell)
}

fn main_cell<'a>(table: &'a Table, main: &MainRow, column: usize) -> Option<&'a Cell> {
    let mut rows = table.rows.iter();
    value(rows.find(|row| row.benchmark == main.benchmark)?, column)
}

fn cost(table: &Table, main: &MainRow, column: usize) -> Option<f64> {
    main_cell(table, main, column)?.value
}

fn name(table: &Table, column: usize) -> String {
    terminal(&table.columns[column].platform).into_owned()
}

/// A cell's unit in words; ticks and nanoseconds are those of a clock.
fn unit(cell: &Cell) -> &str {
    match cell.unit.as_deref() {
        Some("insns") if cell.value == Some(1.0) => "instruction",
        Some("insns") => "instructions",
        Some(unit) if CLOCK_UNITS.contains(&unit) => "ticks",
        Some(unit) => unit,
        None => "",
    }
}

/// The columns whose cost of a row differs from the first's.
fn unlike(table: &Table, main: &MainRow, columns: &[usize]) -> Vec<usize> {
    let Some((&first, others)) = columns.split_first() else {
        return Vec::new();
    };
    let base = cost(table, main, first).unwrap_or(0.0);
    let differs = |column: &usize| {
        let other = cost(table, main, *column);
        other.is_some_and(|other| (other - base).abs() > DIFFERS * base)
    };
    let others = others.iter().copied().filter(differs);
    others.take(COMPARED - 1).collect()
}

/// "In lab:kvm a hypercall takes 3,032 instructions, in lab:arm-xen 526".
fn hypercalls(table: &Table, main: &MainRow, first: usize, others: &[usize]) -> String {
    let text = |column: usize| {
        let cell = main_cell(table, main, column)?;
        Some(number::value(cell.value?, cell.unit.as_deref()?))
    };
    let mut sentence = format!(
        "In {} {} takes {} {}",
        name(table, first),
        main.noun,
        text(first).unwrap_or_default(),
        main_cell(table, main, first).map_or("", unit)
    );
    for &other in others {
        let value = text(other).unwrap_or_default();
        sentence += &format!(", in {} {value}", name(table, other));
    }
    sentence
}

/// Names the row that costs most in the first of these platforms: "longest exit is print, 215,357". `whose` names that
/// platform if the sentence has named several.
fn longest(table: &Table, columns: &[usize], whose: &str) -> Option<String> {
    let &column = columns.first()?;
    let rows = table
        .rows
        .iter()
        .filter_map(|row| Some((row, value(row, column)?)));
    let cost = |row| table.cost_in(row, column).unwrap_or(0.0);
    let (row, cell) = rows.max_by(|(a, _), (b, _)| cost(a).total_cmp(&cost(b)))?;
    let value = number::value(cell.value?, cell.unit.as_deref()?);
    Some(format!(
        "longest exit{whose} is {}, {value}",
        terminal(&row.benchmark)
    ))
}

/// Names the most that another platform adds where the first adds nothing: "lab:kvm-shadow adds 3,370 to a CR3 write".
fn extra(table: &Table, columns: &[usize]) -> Option<String> {
    let (&first, others) = columns.split_first()?;
    let free = MAIN
        .iter()
        .filter(|main| main_cell(table, main, first).is_some_and(|cell| cell.added == Some(0.0)));
    let added = free.flat_map(|main| {
        others.iter().filter_map(move |&column| {
            let added = main_cell(table, main, column)?.added?;
            (added > 0.0).then_some((main, column, added))
        })
    });
    let (main, column, added) = added.max_by(|a, b| a.2.total_cmp(&b.2))?;
    Some(format!(
        "{} adds {} to {}",
        name(table, column),
        number::value(added, "insns"),
        main.noun
    ))
}
