//! The cost of nested virtualization, in a sentence.

use super::{NestedBenchmark, NestedLine};
use crate::number;
use crate::unit_of_work::options;

impl NestedLine {
    fn insns(&self) -> Option<String> {
        Some(number::value(self.value?, self.unit.as_deref()?))
    }

    /// `1 trap`, `15 traps`.
    pub(crate) fn trap_count(&self) -> Option<String> {
        let traps = number::value(self.traps?, "count");
        Some(format!(
            "{traps} trap{}",
            if traps == "1" { "" } else { "s" }
        ))
    }
}

impl NestedBenchmark {
    /// Returns the finding: the most that NEVE saved against trapping alone if both were measured, otherwise the
    /// costliest nested VM.
    pub(crate) fn finding(&self) -> Option<String> {
        let nested = || {
            let lines = self.lines.iter();
            let valued = lines.filter_map(|line| Some((line.value?, line)));
            valued.filter(|(_, line)| line.facts.is_nested())
        };
        let neve = nested().filter(|(_, line)| line.facts.is_by("neve"));
        let pairs = neve.filter_map(|(value, line)| {
            // The same machine but for the mechanism.
            let is_it = |(_, other): &(f64, &NestedLine)| {
                other.facts.is_by("nv") && options(&other.platform) == options(&line.platform)
            };
            let (other, trapping) = nested().find(is_it)?;
            Some((other / value, line, trapping))
        });
        let row = self.row_in_a_sentence();
        if let Some((_, neve, trapping)) = pairs.max_by(|a, b| a.0.total_cmp(&b.0)) {
            let traps = match (neve.trap_count(), trapping.trap_count()) {
                (Some(some), Some(all)) => format!(", and {some} instead of {all}"),
                _ => String::new(),
            };
            return Some(format!(
                "With NEVE ({}) one {row} of a nested VM takes {} instructions instead of {}{traps}.",
                neve.platform,
                neve.insns()?,
                trapping.insns()?
            ));
        }
        let (_, line) = nested().max_by(|a, b| a.0.total_cmp(&b.0))?;
        let over = line.over_l0.as_ref();
        let over = over.and_then(|over| {
            let ratio = number::slowdown(over.ratio?);
            Some(format!(", {ratio} those of a VM on {}", over.vm))
        });
        Some(format!(
            "In {} one {row} of a nested VM takes {} instructions{}.",
            line.platform,
            line.insns()?,
            over.unwrap_or_default()
        ))
    }

    /// The paper's name of the row with a small letter.
    pub(crate) fn row_in_a_sentence(&self) -> String {
        let mut letters = self.row.chars();
        let first = letters
            .next()
            .map(|letter| letter.to_lowercase().to_string());
        first.unwrap_or_default() + letters.as_str()
    }
}
