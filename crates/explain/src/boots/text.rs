//! The comparison of two boots, in words.

use super::difference::{Difference, Side, What};
use super::diverged::Diverged;
use super::functions::{Functions, Only};
use super::placed::{At, Run};
use crate::place::Function;
use std::fmt::Write;
use ws_text::number::grouped;
use ws_text::{Column, Sheet};

const SIDES: [&str; 2] = ["A", "B"];

/// Describes the comparison. Of functions that only one boot executes, at most `most` are listed.
pub fn text(diverged: &Diverged, most: usize) -> String {
    let mut text = String::new();
    for (side, name) in SIDES.iter().zip(&diverged.boots) {
        let _ = writeln!(text, "{side}: {name}");
    }
    text.push('\n');
    if let Some(functions) = &diverged.functions {
        by_function(&mut text, diverged, functions, most);
        return text;
    }
    match &diverged.difference {
        Some(difference) => by_instruction(&mut text, difference),
        None => {
            let [a, b] = diverged.executed;
            let executed = number(a.min(b));
            let of = match diverged.cpu {
                Some(cpu) => format!(" on CPU {cpu}"),
                None => String::new(),
            };
            let _ = writeln!(
                text,
                "No difference: both execute the same {executed} instructions{of}."
            );
        }
    }
    if !diverged.has_clock {
        text.push_str(
            "\nThe emulator does not export its clock: the lengths of halts were not compared. Where they differ, only the next read of the clock shows it.\n",
        );
    }
    text
}

fn by_instruction(text: &mut String, difference: &Difference) {
    let at = |there: &At| at(there, has_several_cpus(difference));
    match &difference.last {
        Some(last) => {
            let _ = writeln!(
                text,
                "Both execute the same {} instructions. The last one is {}.",
                number(difference.equal),
                at(last)
            );
        }
        None => text.push_str("They differ from the first instruction on.\n"),
    }
    let _ = writeln!(text, "{}", found(difference));
    if difference.what == What::Cpu {
        text.push_str(
            "A CPU's turn ended at another instruction. --cpu N compares the instructions of one CPU.\n",
        );
    }
    let with_cpu = has_several_cpus(difference);
    runs(text, "Before that, both:", &difference.before, with_cpu);
    for (side, name) in difference.sides.iter().zip(SIDES) {
        match side.next.is_empty() {
            true => {
                let _ = writeln!(text, "\nThen {name}: nothing more");
            }
            false => runs(text, &format!("Then {name}:"), &side.next, with_cpu),
        }
    }
}

/// Describes the difference in one sentence.
fn found(difference: &Difference) -> String {
    let [a, b] = &difference.sides;
    let executes = |side: &Side| match &side.at {
        Some(there) => format!("executes {}", at(there, has_several_cpus(difference))),
        None => "has ended, or executes nothing more".to_owned(),
    };
    match difference.what {
        What::Halt => format!(
            "There a CPU halts. The clock skips {} ns in A, and {} ns in B.",
            number(a.skipped_ns),
            number(b.skipped_ns)
        ),
        What::Cpu => {
            let cpu = |side: &Side| side.at.as_ref().map_or(0, |at| at.cpu);
            format!(
                "Then A goes on with CPU {}, and B with CPU {}.",
                cpu(a),
                cpu(b)
            )
        }
        What::Instruction | What::End => format!("Then A {}, and B {}.", executes(a), executes(b)),
    }
}

/// Lists runs of functions as a table.
fn runs(text: &mut String, title: &str, runs: &[Run], with_cpu: bool) {
    if runs.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{title}");
    let mut sheet = Sheet::new([
        Column::number("").wide(12),
        Column::text(""),
        Column::text("").wide(10).after(1),
        Column::text(""),
    ]);
    sheet.extend(runs.iter().map(|run| {
        let At {
            cpu,
            function,
            offset,
            ..
        } = &run.at;
        let cpu = match with_cpu {
            true => format!("CPU {cpu} "),
            false => String::new(),
        };
        [
            number(run.instructions),
            format!("{cpu}L{}", function.level),
            kind(function),
            place(function, *offset),
        ]
    }));
    *text += &sheet.to_terminal("");
}

/// Whether any instruction around the difference was executed on another CPU than the first.
fn has_several_cpus(difference: &Difference) -> bool {
    let runs = difference.sides.iter().flat_map(|side| &side.next);
    let runs = runs.chain(&difference.before).map(|run| &run.at);
    let ends = difference.sides.iter().filter_map(|side| side.at.as_ref());
    runs.chain(ends).any(|at| at.cpu != 0)
}

/// Describes an instruction: function, level and kind of software; and the CPU, if there are several.
fn at(at: &At, with_cpu: bool) -> String {
    let function = &at.function;
    let mut who = format!("L{}", function.level);
    if !function.image.is_empty() {
        who = format!("{who}, {}", function.kind);
    }
    if with_cpu {
        who = format!("CPU {}, {who}", at.cpu);
    }
    format!("{} ({who})", place(function, at.offset))
}

/// Returns the kind of a function's software. Code of which only the address is known has none: it may be firmware.
fn kind(function: &Function) -> String {
    match function.image.is_empty() {
        true => "-".to_owned(),
        false => function.kind.to_string(),
    }
}

fn place(function: &Function, offset: u64) -> String {
    match (&function.module, offset) {
        _ if function.image.is_empty() => format!("{} +{offset:#x}", function.name),
        (Some(module), 0) => format!("{} [{module}]", function.name),
        (Some(module), _) => format!("{}+{offset:#x} [{module}]", function.name),
        (None, 0) => function.name.clone(),
        (None, _) => format!("{}+{offset:#x}", function.name),
    }
}

/// Lists the functions that only one boot executes, in the order of their first execution.
fn by_function(text: &mut String, diverged: &Diverged, functions: &Functions, most: usize) {
    let [a, b] = &functions.boots;
    let _ = writeln!(
        text,
        "A executes {} known functions and {} instructions. B executes {} and {}. Both execute {} of these functions.",
        number(a.functions),
        number(diverged.executed[0]),
        number(b.functions),
        number(diverged.executed[1]),
        number(functions.common),
    );
    for (side, boot) in functions.boots.iter().enumerate() {
        let [own, other] = [SIDES[side], SIDES[1 - side]];
        if boot.only.is_empty() {
            let _ = writeln!(
                text,
                "\n{other} also executes each function that {own} executes."
            );
            continue;
        }
        let _ = writeln!(
            text,
            "\nFunctions that only {own} executes: {}. The first ones, with the instructions executed before each:",
            number(boot.only.len() as u64)
        );
        let mut sheet = Sheet::new([
            Column::number("").wide(14),
            Column::text(""),
            Column::text("").wide(10).after(1),
            Column::text(""),
        ]);
        let first = boot.only.iter().take(most);
        sheet.extend(first.map(|only| cells(only, other)));
        *text += &sheet.to_terminal("");
    }
}

/// The cells of a function that only one boot executes.
fn cells(only: &Only, other: &str) -> [String; 4] {
    let function = &only.function;
    let has = match (only.other_level, only.is_in_other) {
        (Some(level), _) => format!("{other} executes it at L{level} only"),
        (None, true) => format!("{other} has it, but does not execute it"),
        (None, false) => format!("{other} has no such function"),
    };
    let after = only.after.as_ref();
    let after = after.map_or(String::new(), |after| format!(", after {after}"));
    [
        number(only.executed_before),
        format!("L{}", function.level),
        kind(function),
        format!("{}{after} ({has})", place(function, 0)),
    ]
}

fn number(number: u64) -> String {
    grouped(i64::try_from(number).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::super::diverged::SCHEMA;
    use super::super::functions::Boot;
    use super::*;
    use crate::fake::valid;
    use crate::place::Kind;

    fn at(name: &str, module: Option<&str>, cpu: u8, offset: u64) -> At {
        At {
            cpu,
            function: Function {
                name: name.into(),
                module: module.map(str::to_owned),
                image: "Linux".into(),
                level: 1,
                kind: Kind::Kernel,
                is_inlined: false,
            },
            offset,
            address: 0x1000,
            code: "90".into(),
        }
    }

    fn side(at: Option<At>, skipped_ns: u64) -> Side {
        let next = at.clone().map(|at| Run {
            at,
            instructions: 1234,
        });
        Side {
            at,
            skipped_ns,
            next: next.into_iter().collect(),
        }
    }

    fn diverged(what: What, sides: [Side; 2], has_clock: bool) -> Diverged {
        Diverged {
            schema: SCHEMA.into(),
            boots: ["lab:a".into(), "lab:b".into()],
            executed: [5_000, 6_000],
            cpu: None,
            has_clock,
            differ: true,
            difference: Some(Difference {
                equal: 4_321,
                what,
                last: Some(at("idle", None, 0, 0x10)),
                before: Vec::new(),
                sides,
            }),
            functions: None,
        }
    }

    fn told(what: What, sides: [Side; 2], has_clock: bool) -> String {
        diverged(what, sides, has_clock).to_text(10)
    }

    #[test]
    fn json_is_as_its_schema_says() {
        let here = Some(at("handler", Some("kvm"), 0, 0));
        let mut diverged = diverged(What::End, [side(here, 1), side(None, 0)], true);
        let only = Only {
            function: at("tdx_early_init", None, 0, 0).function,
            executed_before: 7,
            after: None,
            is_in_other: false,
            other_level: Some(1),
        };
        let boot = |only| Boot { functions: 3, only };
        for functions in [false, true] {
            diverged.functions = functions.then(|| Functions {
                common: 2,
                boots: [boot(vec![only.clone()]), boot(Vec::new())],
            });
            valid(&diverged.to_json().unwrap(), "diverge");
        }
        let told = diverged.to_text(1);
        assert!(told.contains("L1 kernel      tdx_early_init (B executes it at L1 only)\n"));
        assert!(told.contains("A also executes each function that B executes."));
    }

    #[test]
    fn each_kind_of_difference_has_its_sentence() {
        let here = || Some(at("handler", Some("kvm"), 0, 0));
        let halt = told(
            What::Halt,
            [side(here(), 40_000), side(here(), 41_000)],
            true,
        );
        let wanted = "A: lab:a\nB: lab:b\n\nBoth execute the same 4,321 instructions. \
            The last one is idle+0x10 (L1, kernel).\n\
            There a CPU halts. The clock skips 40,000 ns in A, and 41,000 ns in B.\n\n\
            Then A:\n       1,234  L1 kernel      handler [kvm]\n\n\
            Then B:\n       1,234  L1 kernel      handler [kvm]\n";
        assert_eq!(halt, wanted);
        let end = told(What::End, [side(here(), 0), side(None, 0)], false);
        assert!(end.contains(
            "Then A executes handler [kvm] (L1, kernel), and B has ended, or executes nothing more."
        ));
        assert!(end.contains("Then B: nothing more\n"));
        assert!(end.contains("does not export its clock"));
        let other = Some(at("handler", None, 1, 4));
        let cpu = told(What::Cpu, [side(here(), 0), side(other, 0)], true);
        assert!(cpu.contains("The last one is idle+0x10 (CPU 0, L1, kernel)."));
        assert!(cpu.contains("Then A goes on with CPU 0, and B with CPU 1.\nA CPU's turn ended"));
        assert!(cpu.contains("1,234  CPU 1 L1 kernel      handler+0x4\n"));
    }
}
