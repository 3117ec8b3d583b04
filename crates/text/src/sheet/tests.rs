use super::*;
use crate::Style;
use proptest::prelude::*;

fn texts(line: &[&str]) -> Vec<String> {
    line.iter().map(|cell| (*cell).to_owned()).collect()
}

#[test]
fn a_table_is_aligned_and_escaped() {
    let mut sheet = Sheet::new([("name", Set::Text), ("n", Set::Number)]);
    sheet.extend([["a|\u{1b}".to_owned(), "12".to_owned()]]);
    assert_eq!(sheet.to_terminal(" "), " name       n\n a|\\u{1b}  12\n");
    assert_eq!(
        sheet.to_markdown(),
        "| name | n |\n|---|---:|\n| a\\|\\\\u{1b} | 12 |\n"
    );
    assert_eq!(sheet.to_csv(), "name,n\na|\\u{1b},12\n");
    assert_eq!(below_in_markdown(["<b>"]), "- &lt;b&gt;\n");
    assert_eq!(below_on_terminal(["\u{1b}"]), "\\u{1b}\n");
}

#[test]
fn empty_columns_and_empty_heads_go() {
    let mut sheet = Sheet::list([Set::Text, Set::Text, Set::Number]);
    sheet.extend([
        texts(&["a", "", "1"]),
        texts(&["bcd", "", "234"]),
        texts(&["e"]),
    ]);
    assert_eq!(sheet.to_terminal(""), "a        1\nbcd    234\ne\n");
    let sheet = sheet.without_empty_columns();
    assert_eq!(sheet.to_terminal(""), "a      1\nbcd  234\ne\n");
}

#[test]
fn a_coloured_cell_is_as_wide_as_others() {
    let mut sheet = Sheet::new([("", Set::Text), ("n", Set::Number)]);
    sheet.extend([
        ["a".to_owned(), "1".to_owned()],
        ["bc".to_owned(), String::new()],
    ]);
    sheet.ink(0, 0, Ink::Red);
    sheet.ink(1, 1, Ink::Red);
    let coloured = sheet.to_coloured("", &Style::new(true));
    assert_eq!(
        coloured,
        "\u{1b}[2m    n\u{1b}[0m\n\u{1b}[31ma \u{1b}[0m  1\nbc\n"
    );
    assert_eq!(
        sheet.to_coloured("", &Style::new(false)),
        sheet.to_terminal("")
    );
}

#[test]
fn columns_have_least_widths_and_gaps() {
    let mut sheet = Sheet::new([
        Column::number("own").wide(5),
        Column::text("").after(1),
        Column::text("how"),
    ]);
    sheet.extend([texts(&["1", "a", "x"]), texts(&["123456", "bc", "y"])]);
    let wanted = "   own     how\n     1 a   x\n123456 bc  y\n";
    assert_eq!(sheet.to_terminal(""), wanted);
}

#[test]
fn a_spanning_text_widens_no_column() {
    let mut sheet = Sheet::list([Set::Text, Set::Number, Set::Text]);
    sheet.extend([texts(&["a", "1", "x"])]);
    sheet.span(texts(&["", "longer than the others"]));
    assert_eq!(
        sheet.to_terminal(""),
        "a  1  x\n   longer than the others\n"
    );
    assert!(
        sheet
            .to_markdown()
            .ends_with("| a | 1 | x |\n|  | longer than the others |\n")
    );
}

#[test]
fn the_last_text_is_wrapped_where_it_begins() {
    let mut sheet = Sheet::list([Set::Text, Set::Text]).wrapped(12);
    sheet.extend([texts(&["abc", "de fgh ij"])]);
    sheet.span(texts(&["some words more"]));
    sheet.ink(0, 1, Ink::Red);
    assert_eq!(
        sheet.to_terminal(" "),
        " abc  de fgh\n      ij\n some words more\n"
    );
    assert!(
        sheet
            .to_coloured("", &Style::new(true))
            .contains("     \u{1b}[31mij\u{1b}[0m\n")
    );
}

/// Two groups: one with a joined column, and one whose title is wider than its columns.
fn grouped() -> Sheet {
    let mut sheet = Sheet::new([Column::text("category").once(), Column::text("benchmark")]);
    let mark = || Column::text("").after(1).joined();
    sheet.group(
        "kvm",
        "",
        [Column::number("insns"), mark(), Column::number("added")],
    );
    sheet.group("native machine", "[1]", [Column::number("insns"), mark()]);
    sheet.extend([
        texts(&["io", "in", "3,438", "!", "+3,437", "1"]),
        texts(&["io", "out", "9", "", "", "skip", "[2]"]),
    ]);
    sheet.without_empty_columns()
}

#[test]
fn groups_stand_side_by_side_where_they_fit() {
    let wide = "                       kvm    native machine [1]
           insns     added             insns
io  in     3,438 !  +3,437                 1
    out        9                        skip [2]
";
    let mut sheet = grouped();
    assert_eq!(sheet.to_fitted(80, &Style::new(false)), wide);
    let narrow = "                       kvm
           insns     added
io  in     3,438 !  +3,437
    out        9

           native machine [1]
                    insns
io  in                  1
    out              skip [2]
";
    assert_eq!(sheet.to_fitted(40, &Style::new(false)), narrow);
    assert_eq!(sheet.to_fitted(0, &Style::new(false)), narrow);
    // The colours of a failed row do not run over the gap between two platforms.
    for column in 0..7 {
        sheet.ink(1, column, Ink::Red);
    }
    let coloured = sheet.to_fitted(80, &Style::new(true));
    let red = "    \u{1b}[31m    9          \u{1b}[0m    \u{1b}[31m";
    assert!(coloured.contains(red), "{coloured:?}");
}

#[test]
fn titles_and_marks_are_in_heads_and_cells_without_layout() {
    let mut sheet = grouped();
    assert_eq!(
        sheet.to_markdown(),
        "| category | benchmark | kvm, insns | added | native machine, insns \\[1\\] |
|---|---|---:|---:|---:|
| io | in | 3,438 \\! | +3,437 | 1 |
| io | out | 9 |  | skip \\[2\\] |
"
    );
    sheet.prepare(0, 1, "**in**".into());
    assert!(sheet.to_markdown().contains("| io | **in** | 3,438"));
    assert!(
        sheet
            .to_csv()
            .contains("\nio,in,\"3,438 !\",\"'+3,437\",1\n")
    );
}

#[test]
fn numbers_of_csv_are_numbers_and_texts_no_formulas() {
    let mut sheet = Sheet::new([("a", Set::Text), ("b", Set::Number)]);
    sheet.extend([texts(&["-1", "-1"]), texts(&["say \"x\"", "-1+2"])]);
    assert_eq!(sheet.to_csv(), "a,b\n'-1,-1\n\"say \"\"x\"\"\",'-1+2\n");
}

proptest! {
    /// Whatever the cells are, all lines of a table have their columns at the same place.
    #[test]
    fn any_cells_are_aligned(cells in prop::collection::vec(("\\PC{0,9}", "[0-9]{1,9}"), 1..9)) {
        let mut sheet = Sheet::list([Set::Text, Set::Number]);
        sheet.extend(cells.iter().map(|(text, number)| [text.clone(), number.clone()]));
        let drawn = sheet.to_terminal("");
        let widths: Vec<usize> = drawn.lines().map(crate::width).collect();
        prop_assert_eq!(widths.len(), cells.len());
        prop_assert!(widths.iter().all(|width| *width == widths[0]), "{}", drawn);
    }
}
