//! Two boots of different code, function by function: which functions only one of them executes, in the order in which
//! it executes them first.

use super::placed::Placed;
use super::stream::Stream;
use crate::place::{Function, Machine};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A function that the other boot does not execute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Only {
    /// The function.
    pub function: Function,
    /// Number of instructions that the boot executes before the function's first one.
    pub executed_before: u64,
    /// The function whose first execution came just before this one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Whether the other machine has a function of this name.
    pub is_in_other: bool,
    /// The level at which the other boot executes a function of this name, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_level: Option<u8>,
}

/// The functions of one boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Boot {
    /// Number of different functions that the boot executes, as far as they are known.
    pub functions: u64,
    /// The functions that only this boot executes, in the order of their first execution.
    pub only: Vec<Only>,
}

/// The functions of two boots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Functions {
    /// Number of functions that both boots execute.
    pub common: u64,
    /// Both boots.
    pub boots: [Boot; 2],
}

/// Identity of a function in both kernels: its level and name.
type Key = (u8, String);

/// A function of a boot: the time of its first execution, and the function that was executed first just before it.
struct First {
    at: u64,
    function: Function,
    after: Option<String>,
}

/// Compares the functions of two boots.
pub fn functions(streams: [&Stream; 2], machines: [&Machine; 2]) -> Functions {
    let [a, b] = [0, 1].map(|side| firsts(streams[side], machines[side]));
    let names = machines.map(names);
    let common = a.keys().filter(|key| b.contains_key(*key)).count() as u64;
    let boot =
        |own: &BTreeMap<Key, First>, other: &BTreeMap<Key, First>, names: &BTreeSet<String>| {
            let only = own.iter().filter(|(key, _)| !other.contains_key(*key));
            let mut only: Vec<Only> = only
                .map(|((_, name), first)| Only {
                    function: first.function.clone(),
                    executed_before: first.at - 1,
                    after: first.after.clone(),
                    is_in_other: names.contains(name),
                    other_level: levels(other, name).next(),
                })
                .collect();
            only.sort_by_key(|only| only.executed_before);
            Boot {
                functions: own.len() as u64,
                only,
            }
        };
    Functions {
        common,
        boots: [boot(&a, &b, &names[1]), boot(&b, &a, &names[0])],
    }
}

/// Returns the levels at which a boot executes a function of this name.
fn levels<'a>(firsts: &'a BTreeMap<Key, First>, name: &'a str) -> impl Iterator<Item = u8> + 'a {
    let levels = 0..=u8::MAX;
    levels.filter(move |level| firsts.contains_key(&(*level, name.to_owned())))
}

/// Returns the known functions of a boot.
fn firsts(stream: &Stream, machine: &Machine) -> BTreeMap<Key, First> {
    let mut firsts: BTreeMap<Key, First> = BTreeMap::new();
    let mut after = None;
    for (at, function) in Placed::firsts(stream, machine) {
        if function.image.is_empty() {
            continue;
        }
        let key = (function.level, plain(&function.name).to_owned());
        let name = function.name.clone();
        let after_this = after.take();
        firsts.entry(key).or_insert(First {
            at,
            function,
            after: after_this,
        });
        after = Some(name);
    }
    firsts
}

/// Returns the names of all functions that a machine has.
fn names(machine: &Machine) -> BTreeSet<String> {
    let symbols = machine.images.iter().flat_map(|image| image.symbols.all());
    symbols
        .map(|symbol| plain(&symbol.name).to_owned())
        .collect()
}

/// Returns the name in the source: a compiler appends .isra.0, .constprop.0 and the like to its copies.
fn plain(name: &str) -> &str {
    match name.find('.') {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::super::stream::First as FirstOfInsn;
    use super::*;
    use crate::place::{Image, Role};
    use crate::symbols::Symbols;
    use crate::trace::{Architecture, Insn};

    fn machine(symbols: &str) -> Machine {
        Machine {
            name: "lab:test".into(),
            hypervisors: 1,
            images: vec![Image {
                name: "Linux".into(),
                role: Role::Linux,
                symbols: Symbols::of_kernel(symbols).unwrap(),
                bias: 0,
                code: None,
            }],
        }
    }

    /// A stream of instructions at these addresses.
    fn stream(addresses: &[u64], is_in_vm: bool) -> Stream {
        let insn = |address: &u64| Insn::new(*address, *address, &[0x90]);
        Stream {
            architecture: Architecture::X86_64,
            has_clock: true,
            has_ended: true,
            executed: addresses.len() as u64,
            insns: addresses.iter().map(insn).collect(),
            firsts: (1..=addresses.len() as u64)
                .map(|at| FirstOfInsn { at, is_in_vm })
                .collect(),
            items: Vec::new(),
        }
    }

    #[test]
    fn functions_of_one_boot_only_are_in_the_order_of_their_first_execution() {
        let machines = [
            machine("1000 T start\n100 T old.isra.0\n100 T work.constprop.0\n100 T idle\n"),
            machine("9000 T start\n80 T work\n80 T fresh\n80 T idle\n"),
        ];
        // What is in no image is no function.
        let a = stream(
            &[0xf000_0000, 0x1000, 0x1300, 0x1100, 0x1101, 0x1200],
            false,
        );
        let b = stream(&[0x9000, 0x9080, 0x9100], false);
        let found = functions([&a, &b], [&machines[0], &machines[1]]);
        assert_eq!(found.common, 2);
        let told = |side: usize| -> Vec<(&str, u64, Option<&str>, bool)> {
            let only = found.boots[side].only.iter();
            only.map(|only| {
                let name = &*only.function.name;
                (
                    name,
                    only.executed_before,
                    only.after.as_deref(),
                    only.is_in_other,
                )
            })
            .collect()
        };
        assert_eq!(
            told(0),
            [
                ("idle", 2, Some("start"), true),
                ("old.isra.0", 3, Some("idle"), false)
            ]
        );
        assert_eq!(told(1), [("fresh", 2, Some("work"), false)]);
        assert_eq!(found.boots[0].functions, 4);
        assert_eq!(found.boots[0].only[0].other_level, None);
    }

    #[test]
    fn a_function_that_the_other_boot_executes_at_another_level_says_so() {
        let guest = |hypervisors| {
            let mut machine = machine("1000 T main\n");
            machine.images[0].role = Role::Guest;
            machine.hypervisors = hypervisors;
            machine
        };
        let (native, virtual_) = (guest(0), guest(1));
        let (alone, in_vm) = (stream(&[0x1000], false), stream(&[0x1000], true));
        let found = functions([&alone, &in_vm], [&native, &virtual_]);
        assert_eq!(found.common, 0);
        let levels = |side: usize| found.boots[side].only[0].other_level;
        assert_eq!((levels(0), levels(1)), (Some(1), Some(0)));
    }
}
