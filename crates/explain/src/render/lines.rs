//! Debug information as text: the code whose inlined functions are known, and lines of the source.

use super::Shown;
use super::text::counted;
use crate::debug::LineCount;
use crate::explained::Explained;
use crate::per_function::counts;
use crate::place::Function;
use ws_text::number::grouped;

impl Explained {
    /// Names the code whose inlined functions are known, and the code whose are not; empty if none are.
    pub(super) fn debug_text(&self) -> String {
        if self.debug.is_empty() {
            return String::new();
        }
        let mut without: Vec<&str> = self.functions.iter().map(Function::code).collect();
        without.retain(|code| !code.is_empty() && !self.debug.iter().any(|known| known == code));
        without.sort_unstable();
        without.dedup();
        let known = self.debug.join(", ");
        match without.is_empty() {
            true => format!("Inlined functions: those of {known}\n"),
            false => format!(
                "Inlined functions: those of {known}; no debug information of {}\n",
                without.join(", ")
            ),
        }
    }

    /// Lists lines of the source by function, both with the most instructions first.
    pub(super) fn lines_text(&self, shown: Shown) -> String {
        if !shown.lines {
            return String::new();
        }
        let least = shown.least;
        let mut sheet = counted(2);
        for count in counts(&self.tree) {
            let is_shown =
                |line: &&LineCount| line.function == count.function && line.instructions >= least;
            let mut lines: Vec<&LineCount> = self.lines.iter().filter(is_shown).collect();
            if lines.is_empty() {
                continue;
            }
            lines.sort_by_key(|line| std::cmp::Reverse(line.instructions));
            let label = self.label(&self.functions[count.function as usize]);
            sheet.extend([[grouped(count.own as i64), label]]);
            sheet.extend(lines.iter().map(|line| {
                let at = format!("  {}:{}", line.file, line.line);
                [grouped(line.instructions as i64), at]
            }));
        }
        let title = format!("Lines of the source, of at least {least} instructions\n");
        title + &sheet.to_terminal("")
    }
}
