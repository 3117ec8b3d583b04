//! Tests of the lines of a check, and of its outcome.

use super::*;
use crate::check::{Checked, Measured, outcome};
use ws_results::schema_check::valid;

fn line(budget: f64, insns: f64, band: (f64, f64)) -> Line<'static> {
    Line {
        platform: "lab:kvm".into(),
        benchmark: "in",
        budget,
        figure: Ok(Figure { insns, band }),
    }
}

#[test]
fn a_figure_is_over_where_its_whole_band_is() {
    let judged = |budget, insns, band| {
        let line = line(budget, insns, band);
        (line.verdict(), left(&line))
    };
    assert_eq!(
        judged(3100.0, 3100.0, (3090.0, 3110.0)),
        ("within", "0 left".into())
    );
    assert_eq!(
        judged(3100.0, 3101.0, (3101.0, 3101.0)),
        ("over", "1 OVER".into())
    );
    assert_eq!(
        judged(3100.0, 3101.0, (3100.0, 3105.0)),
        ("in doubt", "1 over, inside the band: in doubt".into())
    );
}

#[test]
fn the_worst_line_decides() {
    let mut lines = [
        line(10.0, 5.0, (5.0, 5.0)),
        line(10.0, 11.0, (9.0, 11.0)),
        line(10.0, 5.0, (5.0, 5.0)),
        line(10.0, 11.0, (11.0, 11.0)),
    ];
    assert_eq!(outcome(&lines[..1]), Outcome::NoRegression);
    assert_eq!(outcome(&lines[..3]), Outcome::Inconclusive);
    lines[2].figure = Err("died\nmore".into());
    assert_eq!(outcome(&lines[..1]), Outcome::NoRegression);
    assert_eq!(outcome(&lines[2..3]), Outcome::Inconclusive);
    assert_eq!(outcome(&lines), Outcome::Regression);
    assert_eq!(outcome(&[]), Outcome::Inconclusive);
    assert_eq!(left(&lines[2]), "no value: died");
    assert!(table(&lines).contains("in         10      -"));
    let page = markdown(&lines, "insns: <path>\n");
    assert!(page.starts_with("### Budget: 1 over, 1 in doubt, 1 no value, 1 within\n\n| platform"));
    assert!(page.ends_with("| lab:kvm | in | 10 | 11 |  | 1 OVER |\n\n- insns: &lt;path&gt;\n"));
}

#[test]
fn what_is_printed_fits_its_schema() {
    let mut lines = [line(10.0, 11.0, (9.0, 11.0)), line(10.0, 5.0, (5.0, 5.0))];
    lines[1].figure = Err("died".into());
    let checked = serde_json::to_string(&Checked::of(&lines, &Measured::default())).unwrap();
    let checked = valid(&checked, "check");
    assert_eq!(checked["rows"][0]["verdict"], "in doubt");
    assert_eq!(checked["rows"][1]["why"], "died");
}
