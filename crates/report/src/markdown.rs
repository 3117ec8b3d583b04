//! Renders the table as Markdown.

use crate::grid::{Detail, EXTERNAL_HEADS, groups, legend, reference, texts};
use crate::table::Table;
use crate::text::{below_in_markdown, markdown};

impl Table {
    /// A Markdown table with its legend and notes. Ends in a newline.
    pub fn to_markdown(&self) -> String {
        let groups = groups(self, Detail::Full);
        let mut heads = vec!["category".to_owned(), "benchmark".to_owned()];
        let mut rules = vec!["---", "---"];
        for group in &groups {
            let mut head = markdown(&group.column.platform);
            if let Some(unit) = &group.column.unit {
                head.push_str(&format!(", {}", markdown(unit)));
            }
            if group.baseline {
                head.push_str(" (baseline)");
            }
            for &note in &group.notes {
                head.push_str(&format!(" {}", note_mark(note)));
            }
            heads.push(head);
            heads.extend(group.spread.then(|| "spread".into()));
            let external = EXTERNAL_HEADS.iter().filter(|_| group.external);
            heads.extend(external.map(|head| (*head).to_owned()));
            heads.extend(group.comparison.map(Into::into));
            let columns = 1
                + usize::from(group.spread)
                + 3 * usize::from(group.external)
                + usize::from(group.comparison.is_some());
            rules.extend(vec!["---:"; columns]);
        }
        let mut out = line(&heads) + &line(&rules);
        for row in &self.rows {
            let mut cells = vec![markdown(&row.category), markdown(&row.benchmark)];
            for (group, cell) in groups.iter().zip(&row.cells) {
                let texts = texts(cell.as_ref(), group, &[]);
                let value = format!("{} {}", texts.value, texts.marks);
                cells.push(markdown(value.trim()));
                cells.extend(group.spread.then(|| markdown(&texts.spread)));
                let external = texts.external.iter().filter(|_| group.external);
                cells.extend(external.map(|text| markdown(text)));
                cells.extend(group.comparison.map(|_| markdown(&texts.comparison)));
            }
            out += &line(&cells);
        }
        let legend = legend(self, &groups);
        if !legend.is_empty() || !self.notes.is_empty() {
            out.push('\n');
        }
        out += &below_in_markdown(legend.iter().map(String::as_str));
        for (index, text) in self.notes.iter().enumerate() {
            out.push_str(&format!("- {} {}\n", note_mark(index), markdown(text)));
        }
        out
    }
}

/// `[1]`, escaped like everything else, so that it cannot become a link.
fn note_mark(note: usize) -> String {
    markdown(&reference(note))
}

fn line(cells: &[impl AsRef<str>]) -> String {
    let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
    format!("| {} |\n", cells.join(" | "))
}
