//! What changed between two explained operations, function by function. The parts add up to the difference of the
//! measurements.

use crate::debug::fold;
use crate::explained::Explained;
use crate::per_function::counts;
use crate::place::{Function, Kind};
use crate::render::number::{grouped, signed};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// How a function's part changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// It is called only in the second.
    Gained,
    /// It is called only in the first.
    Lost,
    /// More instructions of its own.
    Longer,
    /// Fewer.
    Shorter,
    /// As many of its own, but not with all that it calls.
    Callees,
}

/// A function's part in one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Part {
    /// How often it is called.
    pub calls: u64,
    /// Instructions of its own where it is inlined into its callers.
    pub inlined: u64,
    /// Its own instructions.
    pub own: u64,
    /// The same, and of all that it calls.
    pub total: u64,
}

/// A function that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Changed {
    /// Its name, without what a compiler adds (`.isra.0`, `.constprop.0`, `.part.0`).
    pub name: String,
    /// Its level.
    pub level: u8,
    /// What kind of software it is.
    pub kind: Kind,
    /// How.
    pub change: Change,
    /// In the first operation.
    pub before: Part,
    /// In the second.
    pub after: Part,
}

impl Changed {
    /// How many instructions of its own it gained.
    pub fn own(&self) -> i64 {
        self.after.own as i64 - self.before.own as i64
    }

    /// The same with all that it calls.
    pub fn total(&self) -> i64 {
        self.after.total as i64 - self.before.total as i64
    }

    fn line(&self) -> String {
        let [before, after] = [self.before, self.after].map(|part| match part.calls {
            0 if part.inlined > 0 => "inlined".to_owned(),
            calls => grouped(calls as i64),
        });
        let calls = match before == after {
            true => after,
            false => format!("{before} > {after}"),
        };
        let (own, total) = (signed(self.own()), signed(self.total()));
        let Self { name, change, .. } = self;
        format!(
            "{own:>9} {total:>9} {calls:>15}  {name}: {}\n",
            change.word()
        )
    }
}

/// What changed. `measured` is the sum of all functions' own, of `guest`, `-control`, `-intercepted`, and of what is
/// left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// Always `worldswitch-explain-diff/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The first operation: platform and benchmark.
    pub before: String,
    /// The second one.
    pub after: String,
    /// Functions that changed, by the instructions of their own, the most first.
    pub functions: Vec<Changed>,
    /// The guest's own instructions.
    pub guest: i64,
    /// What the control loop executes outside of the guest.
    pub control: i64,
    /// Instructions that the clock does not charge.
    pub intercepted: i64,
    /// What is left out of the functions, if a user named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    /// The measurement.
    pub measured: i64,
}

/// What the emulator adds, by its names, to both operations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// All names.
    pub names: Vec<String>,
    /// How many instructions more it adds to the second one.
    pub instructions: i64,
}

/// The version of what [`Difference`] is as JSON.
pub const SCHEMA: &str = "worldswitch-explain-diff/1";

/// Two functions of the same key are the same one: name, level, and whether it is a process's.
type Key = (String, u8, bool);

/// Two operations can't be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} and {1} have no functions in common: compare machines of one architecture")]
pub struct DiffError(String, String);

impl Difference {
    /// Compares two operations.
    ///
    /// # Errors
    /// They are of two architectures.
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

    /// The parts' sum, which is `measured`.
    pub fn sum(&self) -> i64 {
        self.remaining() + self.left_out_instructions()
    }

    /// The sum of the parts that are not left out.
    fn remaining(&self) -> i64 {
        let functions: i64 = self.functions.iter().map(Changed::own).sum();
        functions + self.guest - self.control - self.intercepted
    }

    fn left_out_instructions(&self) -> i64 {
        let left_out = self.left_out.as_ref();
        left_out.map_or(0, |left_out| left_out.instructions)
    }

    /// The first line.
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

    /// For people; functions whose own instructions changed by less than `least` are summed up.
    pub fn to_text(&self, least: u64) -> String {
        let is_shown = |changed: &&Changed| changed.own().unsigned_abs() >= least.max(1);
        let mut text = format!(
            "{}\n{:>9} {:>9} {:>15}  function, and how\n",
            self.sentence(),
            "own",
            "total",
            "calls"
        );
        for changed in self.functions.iter().filter(is_shown) {
            text += &changed.line();
        }
        let rest = self.functions.iter().filter(|changed| !is_shown(changed));
        let rest: Vec<i64> = rest.map(Changed::own).filter(|own| *own != 0).collect();
        let smaller = format!("{} functions that changed by less than {least}", rest.len());
        let mut put = |own: i64, what: &str| {
            let _ = writeln!(text, "{:>9} {:>9} {:>15}  {what}", signed(own), "", "");
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
        text
    }

    /// As JSON.
    ///
    /// # Errors
    /// None that is known.
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

    fn word(self) -> &'static str {
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

/// What the control loop executes outside of the guest, without what is left out.
fn control(explained: &Explained) -> i64 {
    let left_out = explained.left_out.as_ref();
    explained.control - left_out.map_or(0, |left_out| left_out.control as i64)
}

/// The parts of all functions outside of the guest; inlined ones only of the code of these names.
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
        let key = (plain(name).to_owned(), *level, *kind == Kind::User);
        (key, *kind, part)
    });
    counts.filter(|(_, kind, _)| *kind != Kind::Guest)
}

/// A function's name as the source has it: without what the compiler adds, and what Linux does to KVM's code at EL2.
fn plain(name: &str) -> &str {
    let name = name.strip_prefix("__kvm_nvhe_").unwrap_or(name);
    let suffixes = [".isra.", ".constprop.", ".part.", ".llvm."];
    let ends = suffixes.iter().filter_map(|suffix| name.find(suffix));
    &name[..ends.min().unwrap_or(name.len())]
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
