//! The changes between two explained operations, function by function. They add up to the difference of the
//! measurements.

use crate::debug::fold;
use crate::explained::Explained;
use crate::per_function::counts;
use crate::place::{Function, Kind};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use ws_text::number::{grouped, signed};
use ws_text::{Column, Sheet};

/// Kind of a function's change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Only the second operation calls the function.
    Gained,
    /// Only the first operation calls the function.
    Lost,
    /// The function executes more instructions of its own.
    Longer,
    /// The function executes fewer instructions of its own.
    Shorter,
    /// The function's own instructions are as many, but its calls or its total changed.
    Callees,
}

/// A function's part in one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Part {
    /// Number of calls.
    pub calls: u64,
    /// The function's own instructions where it is inlined into its callers.
    pub inlined: u64,
    /// Instructions of the function itself.
    pub own: u64,
    /// Instructions of the function and of all that it calls.
    pub total: u64,
}

/// A function that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Changed {
    /// Name of the function, without a compiler's additions (`.isra.0`, `.constprop.0`, `.part.0`).
    pub name: String,
    /// Level of the function.
    pub level: u8,
    /// Kind of software that the function is in.
    pub kind: Kind,
    /// Kind of the change.
    pub change: Change,
    /// The function's part in the first operation.
    pub before: Part,
    /// The function's part in the second operation.
    pub after: Part,
}

impl Changed {
    /// Returns the number of own instructions that the function gained.
    pub fn own(&self) -> i64 {
        self.after.own as i64 - self.before.own as i64
    }

    /// Returns the number of instructions that the function and its callees gained.
    pub fn total(&self) -> i64 {
        self.after.total as i64 - self.before.total as i64
    }

    /// The cells of a table: own instructions, with callees, calls, and the function with its change.
    fn cells(&self) -> [String; 4] {
        let [before, after] = [self.before, self.after].map(|part| match part.calls {
            0 if part.inlined > 0 => "inlined".to_owned(),
            calls => grouped(calls as i64),
        });
        let calls = match before == after {
            true => after,
            false => format!("{before} > {after}"),
        };
        let what = format!("{}: {}", self.name, self.change.word());
        [signed(self.own()), signed(self.total()), calls, what]
    }
}

/// The difference of two explained operations. `measured` is the sum of all functions' own changes, of `guest`,
/// `-control`, `-intercepted`, and of the instructions that are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// Always `worldswitch-explain-diff/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The first operation: benchmark and platform.
    pub before: String,
    /// The second operation: benchmark and platform.
    pub after: String,
    /// Functions that changed, by the instructions of their own, the most first.
    pub functions: Vec<Changed>,
    /// Change of the guest's own instructions.
    pub guest: i64,
    /// Change of the instructions that the control loop executes outside of the guest.
    pub control: i64,
    /// Change of the instructions that the clock does not charge.
    pub intercepted: i64,
    /// Additions of the emulator that are left out of the functions, if a user named them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    /// Change of the measurement.
    pub measured: i64,
}

/// Additions of the emulator to both operations, by their names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Names of the additions.
    pub names: Vec<String>,
    /// Number of instructions by which the second operation has more of them.
    pub instructions: i64,
}

/// Name and version of the schema of [`Difference`] as JSON.
pub const SCHEMA: &str = "worldswitch-explain-diff/1";

/// Identity of a function in both operations: name, level, and whether it is a process's.
type Key = (String, u8, bool);

/// Two operations can't be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} and {1} have no functions in common: compare machines of one architecture")]
pub struct DiffError(String, String);

impl Difference {
    /// Compares two operations.
    ///
    /// # Errors
    /// The operations are of two architectures.
    pub fn of(before: &Explained, after: &Explained) -> Result<Self, DiffError> {
        let architectures = (&before.architecture, &after.architecture);
        if architectures.0 != architectures.1 {
            return Err(DiffError(architectures.0.clone(), architectures.1.clone()));
        }
        let mut parts: BTreeMap<Key, (Kind, [Part; 2])> = BTreeMap::new();
        // Where one side's inlined functions are not known, the other side's are parts of their callers too.
        let both = before
            .debug
            .iter()
            .filter(|name| after.debug.contains(name));
        let both: Vec<&str> = both.map(String::as_str).collect();
        for (side, explained) in [before, after].into_iter().enumerate() {
            for (key, kind, part) in parts_of(explained, &both) {
                let (_, both) = parts.entry(key).or_insert((kind, [Part::default(); 2]));
                both[side].add(part);
            }
        }
        let changed =
            parts
                .into_iter()
                .filter_map(|((name, level, _), (kind, [before, after]))| {
                    Some(Changed {
                        name,
                        level,
                        kind,
                        change: Change::of(before, after)?,
                        before,
                        after,
                    })
                });
        let mut functions: Vec<Changed> = changed.collect();
        functions.sort_by_key(|changed| {
            let most = |by: i64| std::cmp::Reverse(by.unsigned_abs());
            (
                most(changed.own()),
                most(changed.total()),
                changed.name.clone(),
            )
        });
        let (one, two) = (&before.sum, &after.sum);
        let title =
            |explained: &Explained| format!("{} on {}", explained.benchmark, explained.platform);
        Ok(Self {
            schema: SCHEMA.to_owned(),
            before: title(before),
            after: title(after),
            functions,
            guest: two.guest - one.guest,
            control: control(after) - control(before),
            intercepted: two.intercepted - one.intercepted,
            left_out: after.left_out.as_ref().map(|left_out| LeftOut {
                names: left_out.names.clone(),
                instructions: after.left_out_measured() - before.left_out_measured(),
            }),
            measured: two.measured - one.measured,
        })
    }

    /// Returns the sum of the parts, which is `measured`.
    pub fn sum(&self) -> i64 {
        self.remaining() + self.left_out_instructions()
    }

    /// Returns the sum of the parts that are not left out.
    fn remaining(&self) -> i64 {
        let functions: i64 = self.functions.iter().map(Changed::own).sum();
        functions + self.guest - self.control - self.intercepted
    }

    fn left_out_instructions(&self) -> i64 {
        let left_out = self.left_out.as_ref();
        left_out.map_or(0, |left_out| left_out.instructions)
    }

    /// Returns the first line of the text.
    fn sentence(&self) -> String {
        let (measured, remaining) = (signed(self.measured), signed(self.remaining()));
        let by = match &self.left_out {
            None => format!("{measured} instructions"),
            Some(LeftOut { names, .. }) => {
                let names = names.join(", ");
                format!("{remaining} instructions without {names} ({measured} with it)")
            }
        };
        format!("From {} to {}: {by}.\n", self.before, self.after)
    }

    /// Returns the difference as text; functions whose own instructions changed by less than `least` are summed up.
    pub fn to_text(&self, least: u64) -> String {
        let is_shown = |changed: &&Changed| changed.own().unsigned_abs() >= least.max(1);
        let mut sheet = Sheet::new([
            Column::number("own").wide(9),
            Column::number("total").wide(9).after(1),
            Column::number("calls").wide(15).after(1),
            Column::text("function, and how"),
        ]);
        let shown = self.functions.iter().filter(is_shown);
        sheet.extend(shown.map(Changed::cells));
        let rest = self.functions.iter().filter(|changed| !is_shown(changed));
        let rest: Vec<i64> = rest.map(Changed::own).filter(|own| *own != 0).collect();
        let smaller = format!("{} functions that changed by less than {least}", rest.len());
        let mut put = |own: i64, what: &str| {
            let none = String::new();
            sheet.extend([[signed(own), none.clone(), none, what.to_owned()]]);
        };
        let others = [
            (rest.iter().sum(), &*smaller),
            (self.guest, "the guest itself"),
            (
                -self.control,
                "the control loop's exits, which are taken off",
            ),
            (
                -self.intercepted,
                "intercepted, which the clock does not charge",
            ),
        ];
        for (own, what) in others.into_iter().filter(|(own, _)| *own != 0) {
            put(own, what);
        }
        if let Some(LeftOut {
            names,
            instructions,
        }) = &self.left_out
        {
            let names = names.join(", ");
            put(self.remaining(), &format!("in all, without {names}"));
            put(
                *instructions,
                &format!("{names}, which only the emulator adds"),
            );
        }
        put(self.sum(), "in all, as measured");
        format!("{}\n{}", self.sentence(), sheet.to_terminal(""))
    }

    /// Returns the difference as JSON.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }
}

impl Change {
    fn of(before: Part, after: Part) -> Option<Self> {
        Some(match (before.calls + before.own, after.calls + after.own) {
            (0, 0) => return None,
            (0, _) => Self::Gained,
            (_, 0) => Self::Lost,
            _ if after.own > before.own => Self::Longer,
            _ if after.own < before.own => Self::Shorter,
            _ if after.total != before.total || after.calls != before.calls => Self::Callees,
            _ => return None,
        })
    }

    /// Returns the kind of the change as a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Gained => "gained",
            Self::Lost => "lost",
            Self::Longer => "longer",
            Self::Shorter => "shorter",
            Self::Callees => "other callees",
        }
    }
}

impl Part {
    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.inlined += other.inlined;
        self.own += other.own;
        self.total += other.total;
    }
}

/// Returns the instructions of the control loop outside of the guest, without those that are left out.
fn control(explained: &Explained) -> i64 {
    let left_out = explained.left_out.as_ref();
    explained.control - left_out.map_or(0, |left_out| left_out.control as i64)
}

/// Returns the parts of all functions outside of the guest. Inlined functions are parts only in the code of these
/// names.
fn parts_of<'a>(
    explained: &'a Explained,
    inlined_of: &[&str],
) -> impl Iterator<Item = (Key, Kind, Part)> + 'a {
    let functions = &explained.functions;
    let keeps = |function: &Function| inlined_of.contains(&function.code());
    let counts = counts(&fold(&explained.tree, functions, keeps));
    let counts = counts.into_iter().map(|count| {
        let function = &functions[count.function as usize];
        let Function {
            name, level, kind, ..
        } = function;
        let part = Part {
            calls: count.calls,
            inlined: if function.is_inlined { count.own } else { 0 },
            own: count.own,
            total: count.total,
        };
        let key = (source_name(name).to_owned(), *level, *kind == Kind::User);
        (key, *kind, part)
    });
    counts.filter(|(_, kind, _)| *kind != Kind::Guest)
}

/// Returns a function's name in the source: without a compiler's additions, and without Linux' prefix of KVM's code at
/// EL2.
pub fn source_name(name: &str) -> &str {
    let name = name.strip_prefix("__kvm_nvhe_").unwrap_or(name);
    let suffixes = [".isra.", ".constprop.", ".part.", ".llvm."];
    let ends = suffixes.iter().filter_map(|suffix| name.find(suffix));
    &name[..ends.min().unwrap_or(name.len())]
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
