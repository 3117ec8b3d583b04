//! The functions that are the cause of a change, with their lines.

use crate::flame::Call;
use crate::hunks::Hunks;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use ws_explain::diff::{Change, Difference, source_name};
use ws_explain::explained::Explained;

/// A function whose own instructions changed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Guilty {
    /// Name of the function.
    pub function: String,
    /// Level of the function; 0 for the machine's own software.
    pub level: u8,
    /// Kind of the change.
    pub change: Change,
    /// Instructions of its own that the function executes more.
    pub own: i64,
    /// The function with the call of it that only one side has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// Source file, if there is debug information.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line of the file with the most instructions that the patch changed, or that only one side executes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl Guilty {
    /// The change in words: `gained, called by vcpu_run`.
    pub fn how(&self) -> String {
        let word = self.change.word();
        self.called()
            .map_or_else(|| word.to_owned(), |called| format!("{word}, {called}"))
    }

    /// `called by vcpu_run`, if only one side has that call.
    pub(crate) fn called(&self) -> Option<String> {
        let caller = self.caller.as_ref()?;
        Some(format!("called by {caller}"))
    }

    /// `arch/x86/kvm/x86.c:11234`, if it is known.
    pub fn place(&self) -> Option<String> {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => Some(format!("{file}:{line}")),
            _ => None,
        }
    }
}

/// Returns at most `most` functions whose own instructions changed, the most first, and the number of the others.
/// `calls` are both sides' calls, and `hunks` has the changed lines of a file, if both sides are commits.
pub fn guilty(
    before: &Explained,
    after: &Explained,
    difference: &Difference,
    most: usize,
    calls: &[Call],
    hunks: &dyn Fn(&str) -> Hunks,
) -> (Vec<Guilty>, usize) {
    let changed: Vec<_> = difference
        .functions
        .iter()
        .filter(|changed| changed.own() != 0)
        .collect();
    let guilty = changed.iter().take(most).map(|changed| {
        let key = (&*changed.name, changed.level);
        let (old_lines, new_lines) = (lines(before, key), lines(after, key));
        let caller = caller(calls, key);
        // The line that has the new call.
        let of_caller = |side: &Explained| {
            let caller = caller.as_deref();
            caller.map_or(Lines::new(), |name| lines(side, (name, changed.level)))
        };
        let (calling_old, calling_new) = (of_caller(before), of_caller(after));
        let all = [&new_lines, &old_lines, &calling_new, &calling_old];
        let files = all.into_iter().flatten().map(|((file, _), _)| &**file);
        let files: BTreeSet<&str> = files.collect();
        let patches: BTreeMap<&str, Hunks> =
            files.into_iter().map(|file| (file, hunks(file))).collect();
        let patched = || {
            let new = |lines| in_patch(lines, |file, line| patches[file].is_new(line));
            let old_line = |lines| in_patch(lines, |file, line| patches[file].is_old(line));
            new(&new_lines)
                .or_else(|| new(&calling_new))
                .or_else(|| old_line(&old_lines))
                .or_else(|| old_line(&calling_old))
        };
        // A function that is gone has lines on the first side only.
        let alone = || match changed.own() > 0 {
            true => only_in(&new_lines, &old_lines).or_else(|| only_in(&old_lines, &new_lines)),
            false => only_in(&old_lines, &new_lines).or_else(|| only_in(&new_lines, &old_lines)),
        };
        let at = patched().or_else(alone);
        let (file, line) = at.unzip();
        Guilty {
            function: changed.name.clone(),
            level: changed.level,
            change: changed.change,
            own: changed.own(),
            caller,
            file,
            line,
        }
    });
    let guilty: Vec<Guilty> = guilty.collect();
    let more = changed.len() - guilty.len();
    (guilty, more)
}

/// Returns the function that calls this one on one side only, or calls another one there that leads to it. Of several the
/// one with the most instructions; none if both sides call the function alike.
fn caller(calls: &[Call], (name, level): (&str, u8)) -> Option<String> {
    let mut found: BTreeMap<&str, u64> = BTreeMap::new();
    let mut alike = 0;
    // Calls with the last function on the way that both sides have, and whether only one side has the call.
    let mut open: Vec<(&Call, Option<&str>, bool)> =
        calls.iter().map(|call| (call, None, false)).collect();
    while let Some((call, above, is_below)) = open.pop() {
        let is_alone = is_below || call.total.contains(&0);
        if call.function == name && call.level == level {
            let changed = call.added().unsigned_abs();
            match above.filter(|_| is_alone) {
                Some(above) => *found.entry(above).or_default() += changed,
                None => alike += changed,
            }
        }
        let above = if is_alone {
            above
        } else {
            Some(&*call.function)
        };
        open.extend(call.children.iter().map(|child| (child, above, is_alone)));
    }
    let most = found.into_iter().max_by_key(|(_, changed)| *changed);
    most.filter(|(_, changed)| *changed > alike)
        .map(|(caller, _)| caller.to_owned())
}

/// Lines of a function in the order of file and number, with their instructions.
type Lines = Vec<((String, u32), u64)>;

fn lines(explained: &Explained, (name, level): (&str, u8)) -> Lines {
    let mut lines: BTreeMap<(String, u32), u64> = BTreeMap::new();
    for line in &explained.lines {
        let function = explained.functions.get(line.function as usize);
        if function.is_some_and(|one| one.level == level && source_name(&one.name) == name) {
            *lines.entry((line.file.clone(), line.line)).or_default() += line.instructions;
        }
    }
    lines.into_iter().collect()
}

/// Returns the line with the most instructions among those that the patch changes, the first of as many.
fn in_patch(lines: &Lines, is_changed: impl Fn(&str, u32) -> bool) -> Option<(String, u32)> {
    let lines = lines.iter().rev();
    let changed = lines.filter(|((file, line), _)| is_changed(file, *line));
    changed
        .max_by_key(|(_, insns)| *insns)
        .map(|(at, _)| at.clone())
}

/// Returns the line with the most instructions that has no counterpart on the other side. Lines of one file and as many
/// instructions are counterparts; a patch moves those below it, so numbers do not say which. The counterparts are the
/// common subsequence with the most instructions.
fn only_in(lines: &Lines, others: &Lines) -> Option<(String, u32)> {
    let is_same = |a: usize, b: usize| {
        let (((file, _), insns), ((other, _), others)) = (&lines[a], &others[b]);
        file == other && insns == others
    };
    // most[a][b]: instructions of the best common subsequence of the lines from a and the others from b.
    let mut most = vec![vec![0u64; others.len() + 1]; lines.len() + 1];
    for a in (0..lines.len()).rev() {
        for b in (0..others.len()).rev() {
            let skipped = most[a + 1][b].max(most[a][b + 1]);
            most[a][b] = match is_same(a, b) {
                true => skipped.max(most[a + 1][b + 1] + lines[a].1),
                false => skipped,
            };
        }
    }
    let (mut a, mut b, mut alone) = (0, 0, Vec::new());
    while a < lines.len() {
        if b < others.len() && most[a][b] == most[a][b + 1] {
            b += 1;
        } else if b < others.len() && is_same(a, b) && most[a][b] == most[a + 1][b + 1] + lines[a].1
        {
            (a, b) = (a + 1, b + 1);
        } else {
            alone.push(&lines[a]);
            a += 1;
        }
    }
    let first_of_most = |one: &&(_, u64), other: &&(_, u64)| one.1.cmp(&other.1);
    let found = alone.into_iter().rev().max_by(first_of_most);
    found.map(|(at, _)| at.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(lines: &[(u32, u64)]) -> Lines {
        let line = |&(line, insns)| (("x86.c".to_owned(), line), insns);
        lines.iter().map(line).collect()
    }

    fn found(lines: &[(u32, u64)], others: &[(u32, u64)]) -> Option<u32> {
        only_in(&of(lines), &of(others)).map(|(_, line)| line)
    }

    #[test]
    fn the_line_that_only_one_side_has_is_found_though_others_moved() {
        let before = [(10, 3), (11, 4), (12, 1), (20, 2)];
        // Two lines before line 12, the second of which has code.
        let after = [(10, 3), (11, 4), (13, 7), (14, 1), (22, 2)];
        assert_eq!(found(&after, &before), Some(13));
        assert_eq!(found(&before, &after), None);
        // A line that got longer.
        assert_eq!(found(&[(10, 3), (11, 6)], &[(10, 3), (11, 4)]), Some(11));
        // Of several the one with the most instructions, the first of as many.
        assert_eq!(found(&[(1, 2), (2, 5), (3, 5)], &[]), Some(2));
        assert_eq!(found(&[], &[(1, 2)]), None);
    }

    #[test]
    fn a_line_of_the_patch_goes_before_lines_that_the_compiler_moved() {
        let hunks = Hunks::of("@@ -10,0 +11,2 @@\n");
        let after = of(&[(10, 9), (11, 2), (12, 3), (40, 30)]);
        let found = in_patch(&after, |_, line| hunks.is_new(line));
        assert_eq!(found.map(|(_, line)| line), Some(12));
        assert_eq!(in_patch(&after, |_, line| hunks.is_old(line)), None);
    }

    fn call(function: &str, own: [u64; 2], children: Vec<Call>) -> Call {
        let below = |side: usize| children.iter().map(|call| call.total[side]).sum::<u64>();
        Call {
            function: function.to_owned(),
            replaces: None,
            level: 0,
            is_guest: false,
            is_added: false,
            own,
            total: [own[0] + below(0), own[1] + below(1)],
            width: 0,
            children,
        }
    }

    #[test]
    fn the_caller_is_the_last_function_on_both_sides() {
        let lock = || call("_raw_spin_lock", [0, 9], vec![]);
        let inlined = call("spin_lock", [0, 1], vec![lock()]);
        let calls = [call(
            "run",
            [5, 5],
            vec![call("sync", [7, 7], vec![inlined])],
        )];
        assert_eq!(
            caller(&calls, ("_raw_spin_lock", 0)).as_deref(),
            Some("sync")
        );
        assert_eq!(caller(&calls, ("spin_lock", 0)).as_deref(), Some("sync"));
        assert_eq!(caller(&calls, ("sync", 0)), None);
        // More of it is in calls that both sides have.
        let calls = [call(
            "run",
            [5, 5],
            vec![lock(), call("_raw_spin_lock", [9, 30], vec![])],
        )];
        assert_eq!(caller(&calls, ("_raw_spin_lock", 0)), None);
        assert_eq!(caller(&[lock()], ("_raw_spin_lock", 0)), None);
    }

    proptest! {
        #[test]
        fn one_more_line_is_that_line(
            mut lines in proptest::collection::btree_map(1u32..200, 1u64..20, 0..30),
            new in 1u64..20,
            at in 1u32..200,
        ) {
            lines.remove(&at);
            let before: Vec<(u32, u64)> = lines.iter().map(|(line, insns)| (*line, *insns)).collect();
            let moved = |line: u32| if line > at { line + 1 } else { line };
            let mut after: Vec<(u32, u64)> = before.iter().map(|(line, insns)| (moved(*line), *insns)).collect();
            after.push((at, new));
            after.sort_unstable();
            // Neighbours with as many instructions can't be told apart.
            let found = found(&after, &before).unwrap();
            let insns = after.iter().find(|(line, _)| *line == found).unwrap().1;
            prop_assert_eq!(insns, new);
        }
    }
}
