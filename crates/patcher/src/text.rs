//! A report as text.

use crate::{Access, Report};
use std::fmt::Write;

impl Report {
    /// Formats by register the replacement of its accesses, then the conditions under which the image runs.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        // Writing to a string can't fail.
        let mut line = |register: &str, access: Access, becomes: &str, places: usize| {
            let access = match access {
                Access::Read => "read",
                Access::Write => "write",
                Access::Execute => "",
            };
            let _ = writeln!(text, "{register:<18} {access:<8} {places:>6}  {becomes}");
        };
        let mut total = 0;
        for row in &self.changed {
            total += row.places.len();
            line(&row.register, row.access, row.becomes, row.places.len());
        }
        for row in &self.left {
            let stays = format!("stays: {}", row.why);
            line(&row.register, row.access, &stays, row.places.len());
        }
        let head = format!(
            "{:<18} {:<8} {:>6}  becomes\n",
            "register", "access", "places"
        );
        let needs = self.needs.iter().map(|need| format!("- {need}\n"));
        format!(
            "{head}{text}\n{total} instructions of {} were rewritten; veneers take {} bytes. {} words of data look like such instructions.\n\
             The patched image runs only under these conditions, which the image does not show:\n{}",
            self.code_bytes / 4,
            self.veneer_bytes,
            self.in_data,
            needs.collect::<String>(),
        )
    }
}
