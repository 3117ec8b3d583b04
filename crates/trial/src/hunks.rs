//! The changed lines of a file, from the patch between both sides.

use std::ops::Range;

/// The hunks of a file, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunks(Vec<Hunk>);

/// Lines that are replaced, and the lines that replace them. Either may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hunk {
    old: Range<u32>,
    new: Range<u32>,
}

impl Hunks {
    /// Reads the hunks of one file from the output of `diff -U0`, which has no lines around a change.
    pub fn of(diff: &str) -> Self {
        Self(diff.lines().filter_map(hunk).collect())
    }

    /// Whether the side with the change has this line, and the other side does not.
    pub(crate) fn is_new(&self, line: u32) -> bool {
        self.0.iter().any(|hunk| hunk.new.contains(&line))
    }

    /// Whether only the side without the change has this line.
    pub(crate) fn is_old(&self, line: u32) -> bool {
        self.0.iter().any(|hunk| hunk.old.contains(&line))
    }
}

/// Reads `@@ -10,2 +12,3 @@`. A count that is left out is 1. Lines `-9,0` are an empty range after line 9.
fn hunk(line: &str) -> Option<Hunk> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let new = rest.split_once(" @@")?.0;
    Some(Hunk {
        old: range(old)?,
        new: range(new)?,
    })
}

fn range(text: &str) -> Option<Range<u32>> {
    let (first, count) = text.split_once(',').unwrap_or((text, "1"));
    let (first, count): (u32, u32) = (first.parse().ok()?, count.parse().ok()?);
    let first = if count == 0 { first + 1 } else { first };
    Some(first..first.checked_add(count)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hunks_tell_which_lines_are_new_and_which_are_gone() {
        let hunks = Hunks::of(
            "--- a/x.c\n+++ b/x.c\n@@ -9,0 +10,3 @@ int f(void)\n+\tif (a)\n@@ -20 +23 @@\n-b\n+c\n@@ -30,2 +32,0 @@\n",
        );
        let new: Vec<u32> = (1..50).filter(|line| hunks.is_new(*line)).collect();
        let old: Vec<u32> = (1..50).filter(|line| hunks.is_old(*line)).collect();
        assert_eq!(new, [10, 11, 12, 23]);
        assert_eq!(old, [20, 30, 31]);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_stumble(text in "(@@ -[0-9,]{0,12} \\+[0-9,]{0,12} @@\n|.{0,40}\n){0,6}") {
            let hunks = Hunks::of(&text);
            prop_assert!(!hunks.is_new(u32::MAX));
        }
    }
}
