//! Renders the table as Markdown.

use crate::grid::{Detail, EXTERNAL_HEADS, groups, legend, reference, texts};
use crate::table::Table;
use crate::text::{Set, Sheet, below_in_markdown, markdown};

impl Table {
    /// A Markdown table with its legend and notes. Ends in a newline.
    pub fn to_markdown(&self) -> String {
        let groups = groups(self, Detail::Full);
        let mut heads = vec![
            ("category".to_owned(), Set::Text),
            ("benchmark".to_owned(), Set::Text),
        ];
        for group in &groups {
            let mut head = group.column.platform.clone();
            if let Some(unit) = &group.column.unit {
                head.push_str(&format!(", {unit}"));
            }
            if group.baseline {
                head.push_str(" (baseline)");
            }
            for &note in &group.notes {
                head.push_str(&format!(" {}", reference(note)));
            }
            let external = EXTERNAL_HEADS.iter().filter(|_| group.external);
            let more = group.spread.then_some("spread").into_iter();
            let more = more.chain(external.copied()).chain(group.comparison);
            let numbers = [head].into_iter().chain(more.map(str::to_owned));
            heads.extend(numbers.map(|head| (head, Set::Number)));
        }
        let mut sheet = Sheet::new(heads.iter().map(|(head, set)| (&**head, *set)));
        sheet.extend(self.rows.iter().map(|row| {
            let mut cells = vec![row.category.clone(), row.benchmark.clone()];
            for (group, cell) in groups.iter().zip(&row.cells) {
                let texts = texts(cell.as_ref(), group, &[]);
                let value = format!("{} {}", texts.value, texts.marks);
                cells.push(value.trim().to_owned());
                cells.extend(group.spread.then_some(texts.spread));
                cells.extend(texts.external.into_iter().filter(|_| group.external));
                cells.extend(group.comparison.map(|_| texts.comparison));
            }
            cells
        }));
        let mut out = sheet.to_markdown();
        let legend = legend(self, &groups);
        if !legend.is_empty() || !self.notes.is_empty() {
            out.push('\n');
        }
        out += &below_in_markdown(legend.iter().map(String::as_str));
        for (index, text) in self.notes.iter().enumerate() {
            // The mark is escaped too, so that it cannot become a link.
            out += &format!("- {} {}\n", markdown(&reference(index)), markdown(text));
        }
        out
    }
}
