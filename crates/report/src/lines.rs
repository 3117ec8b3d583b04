//! Plain aligned columns for a terminal.

use crate::text::{pad_left, pad_right, width};

/// The gap between two columns.
const GAP: &str = "  ";

/// The alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Set {
    Left,
    Right,
}

/// Pads the cells of every line to the widths of their columns. Cells must be escaped and without
/// colour; a line may have fewer cells than `columns`. Columns that are empty in all lines are left out.
pub(crate) fn align(columns: &[Set], lines: &[Vec<String>]) -> Vec<Vec<String>> {
    let cell = |line: &'_ Vec<String>, column: usize| line.get(column).cloned().unwrap_or_default();
    let mut aligned = vec![Vec::new(); lines.len()];
    for (column, set) in columns.iter().enumerate() {
        let widest = lines.iter().map(|line| width(&cell(line, column))).max();
        let Some(widest) = widest.filter(|widest| *widest > 0) else {
            continue;
        };
        for (line, out) in lines.iter().zip(&mut aligned) {
            let text = cell(line, column);
            out.push(match set {
                Set::Left => pad_right(&text, widest),
                Set::Right => pad_left(&text, widest),
            });
        }
    }
    aligned
}

/// Joins the cells of a line, without trailing blanks.
pub(crate) fn join(cells: &[String]) -> String {
    cells.join(GAP).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other_and_empty_ones_go() {
        let lines = [vec!["a", "", "1"], vec!["bcd", "", "234"], vec!["e"]];
        let lines = lines.map(|line| line.into_iter().map(String::from).collect());
        let aligned = align(&[Set::Left, Set::Left, Set::Right], &lines);
        let joined: Vec<String> = aligned.iter().map(|cells| join(cells)).collect();
        assert_eq!(joined, ["a      1", "bcd  234", "e"]);
    }
}
