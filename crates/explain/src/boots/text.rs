//! Two boots in words.

use super::difference::{Difference, Side, What};
use super::diverged::Diverged;
use super::functions::{Functions, Only};
use super::placed::{At, Run};
use crate::place::Function;
use crate::render::number::grouped;
use std::fmt::Write;

const SIDES: [&str; 2] = ["A", "B"];

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
            "\nThis emulator does not tell its clock. A halt of another length shows only where the clock is read later.\n",
        );
    }
    text
}

fn by_instruction(text: &mut String, difference: &Difference) {
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
            "A turn of the CPUs ended at another instruction. --cpu N compares the instructions of one CPU.\n",
        );
    }
    runs(text, "Before that, both:", &difference.before);
    for (side, name) in difference.sides.iter().zip(SIDES) {
        match side.next.is_empty() {
            true => {
                let _ = writeln!(text, "\nThen {name}: nothing more");
            }
            false => runs(text, &format!("Then {name}:"), &side.next),
        }
    }
}

/// The difference itself, in one sentence.
fn found(difference: &Difference) -> String {
    let [a, b] = &difference.sides;
    let executes = |side: &Side| match &side.at {
        Some(there) => format!("executes {}", at(there)),
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

/// Runs of functions, as a table.
fn runs(text: &mut String, title: &str, runs: &[Run]) {
    if runs.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{title}");
    let several = runs.iter().any(|run| run.at.cpu != 0);
    for run in runs {
        let cpu = match several {
            true => format!("CPU {} ", run.at.cpu),
            false => String::new(),
        };
        let _ = writeln!(
            text,
            "{:>12}  {cpu}L{} {:<10}  {}",
            number(run.instructions),
            run.at.function.level,
            kind(&run.at.function),
            place(&run.at.function, run.at.offset),
        );
    }
}

/// An instruction: function, level and who.
fn at(at: &At) -> String {
    let function = &at.function;
    let who = match function.image.is_empty() {
        true => format!("L{}", function.level),
        false => format!("L{}, {}", function.level, function.kind),
    };
    format!("{} ({who})", place(function, at.offset))
}

/// What is known of nothing but its address may be firmware.
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

fn by_function(text: &mut String, diverged: &Diverged, functions: &Functions, most: usize) {
    let [a, b] = &functions.boots;
    let _ = writeln!(
        text,
        "A executes {} known functions in {} instructions, and B {} in {}. {} functions are in both.",
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
                "\nEach function of {own} is also executed in {other}."
            );
            continue;
        }
        let _ = writeln!(
            text,
            "\nOnly {own} executes {}. The first ones, with the instructions before them:",
            number(boot.only.len() as u64)
        );
        for only in boot.only.iter().take(most) {
            let _ = writeln!(text, "{}", one(only, other));
        }
    }
}

fn one(only: &Only, other: &str) -> String {
    let function = &only.function;
    let has = match (only.other_level, only.is_in_other) {
        (Some(level), _) => format!("{other} executes it at L{level} only"),
        (None, true) => format!("{other} has it, and does not execute it"),
        (None, false) => format!("{other} has no such function"),
    };
    let after = only.after.as_ref();
    let after = after.map_or(String::new(), |after| format!(", after {after}"));
    format!(
        "{:>14}  L{} {:<10}  {}: {has}{after}",
        number(only.executed_before),
        function.level,
        kind(function),
        place(function, 0),
    )
}

fn number(number: u64) -> String {
    grouped(i64::try_from(number).unwrap_or(i64::MAX))
}
