//! A table whose cells are texts already, as on a terminal.

use super::words::plain;
use crate::text::{Set, Sheet};
use maud::{Markup, html};

/// The table, in a region that scrolls.
pub(crate) fn text_table(caption: &str, sheet: &Sheet) -> Markup {
    let sets = sheet.sets();
    html! {
        div.scroll tabindex="0" role="region" aria-label=(plain(caption)) {
            table {
                caption { (plain(caption)) }
                thead { tr { @for head in sheet.heads() { th scope="col" { (plain(&head)) } } } }
                tbody { @for line in sheet.lines() {
                    tr { @for (column, (cell, set)) in line.iter().zip(&sets).enumerate() {
                        @match (column, set) {
                            (0, _) => th scope="row" { (plain(cell)) },
                            (_, Set::Text) => td { (plain(cell)) },
                            (_, Set::Number) => td.value { (plain(cell)) },
                        }
                    } }
                } }
            }
        }
    }
}
