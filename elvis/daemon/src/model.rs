//! `elvis simulate --figure`, `--lab` and `--parameters`: the model of whole machines, beside the statements of the
//! ELVIS paper and the counts of the lab (docs/elvis-model.md).

use elvis_policy::simulation::machine::claims::{Bound, CLAIMS, Claim, POINTS};
use elvis_policy::simulation::machine::figures::{Figure, Runs};
use elvis_policy::simulation::machine::lab::{COUNTED, Counted, DISKS, Request};
use elvis_policy::simulation::machine::{Parameter, lab, paper};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use ws_text::{Column, Sheet};

/// Statements of the paper's text, as docs/reference.md describes them.
const STATED: &str = include_str!("../../../reference/elvis-2013.csv");

/// Greatest relative distance of a value that agrees with a statement, or with a count of the lab.
const TOLERANCE: f64 = 0.15;

#[derive(Deserialize)]
struct Stated {
    table: String,
    row: String,
    column: String,
    printed: String,
    value: f64,
    to: Option<f64>,
    unit: String,
}

/// A statement of the paper beside the model's value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    pub figure: u32,
    /// Row and column of the statement, as docs/reference.md describes them: a quantity, and a configuration.
    pub row: &'static str,
    pub column: &'static str,
    /// Value as printed, and its unit.
    pub paper: String,
    pub unit: String,
    pub simulated: f64,
    /// Whether a parameter was chosen so that the statement holds.
    pub fitted: bool,
    pub agrees: bool,
}

/// Reason for which there is no comparison.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The published figures can't be read.
    #[error("reference/elvis-2013.csv: {0}")]
    Reference(#[from] csv::Error),
    /// The published figures do not have a statement.
    #[error("reference/elvis-2013.csv has no \"{row}\" of {column}")]
    Missing {
        row: &'static str,
        column: &'static str,
    },
}

/// Figures, and the statements about them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Always true: no value was measured.
    pub simulated: bool,
    pub figures: Vec<Figure>,
    pub statements: Vec<Compared>,
}

fn stated() -> Result<Vec<Stated>, Error> {
    let all = csv::Reader::from_reader(STATED.as_bytes())
        .deserialize()
        .collect::<Result<_, _>>()?;
    Ok(all)
}

/// Returns the statement in this place of the reference.
fn find<'a>(
    stated: &'a [Stated],
    (table, row): (&str, &'static str),
    column: &'static str,
) -> Result<&'a Stated, Error> {
    let is_it = |it: &&Stated| (&*it.table, &*it.row, &*it.column) == (table, row, column);
    let found = stated.iter().find(is_it);
    found.ok_or(Error::Missing { row, column })
}

/// Simulates figures of the paper.
///
/// # Errors
/// Only by a bug: the published figures are part of the program.
pub fn figures(numbers: &[u32]) -> Result<Figures, Error> {
    let stated = stated()?;
    let mut runs = Runs::default();
    let parts = numbers.iter().flat_map(|&number| runs.figure(number));
    let mut figures: Vec<Figure> = parts.collect();
    for figure in &mut figures {
        add_points(figure, &stated)?;
    }
    let wanted = CLAIMS
        .iter()
        .filter(|claim| numbers.contains(&claim.figure));
    let statements = wanted.map(|claim| compare(claim, &stated, &mut runs));
    Ok(Figures {
        simulated: true,
        statements: statements.collect::<Result<_, _>>()?,
        figures,
    })
}

/// Adds the paper's own points to a figure's curves.
fn add_points(figure: &mut Figure, stated: &[Stated]) -> Result<(), Error> {
    for point in POINTS.iter().filter(|point| point.title == figure.title) {
        let name = point.curve.name();
        let found = find(stated, (point.table, point.row), name)?;
        if let Some(curve) = figure.curves.iter_mut().find(|curve| curve.name == name) {
            curve.paper.push((point.step, found.value * point.factor));
        }
    }
    Ok(())
}

fn compare(claim: &Claim, stated: &[Stated], runs: &mut Runs) -> Result<Compared, Error> {
    let (row, column) = (claim.row, claim.column);
    let stated = find(stated, (claim.table, row), column)?;
    let simulated = (claim.value)(runs);
    Ok(Compared {
        figure: claim.figure,
        row,
        column,
        paper: stated.printed.clone(),
        unit: stated.unit.clone(),
        simulated,
        fitted: claim.fitted,
        agrees: agrees(claim.bound, simulated, stated.value, stated.to),
    })
}

fn agrees(bound: Bound, simulated: f64, value: f64, to: Option<f64>) -> bool {
    let (low, high) = match bound {
        Bound::Is => (value, to.unwrap_or(value)),
        Bound::AtMost => (f64::MIN, value),
        Bound::Greatest => (to.unwrap_or(value), to.unwrap_or(value)),
    };
    let widened = |edge: f64, by: f64| {
        if edge == f64::MIN {
            edge
        } else {
            edge + by * edge.abs()
        }
    };
    (widened(low, -TOLERANCE)..=widened(high, TOLERANCE)).contains(&simulated)
}

impl Figures {
    /// Returns the figures and statements as text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = "Simulated, not measured: docs/elvis-model.md.\n".to_owned();
        // Writing to a string can't fail.
        for figure in &self.figures {
            let _ = writeln!(
                text,
                "\nFigure {}: {}, {} (simulated), by {}",
                figure.figure, figure.title, figure.unit, figure.steps
            );
            text += &points(figure).to_terminal("");
        }
        text.push('\n');
        for it in &self.statements {
            let verdict = match (it.fitted, it.agrees) {
                (true, _) => "fitted",
                (false, true) => "agrees",
                (false, false) => "DOES NOT AGREE",
            };
            let _ = writeln!(
                text,
                "Figure {}: {}, {}: the paper {} ({}), simulated {}: {verdict}",
                it.figure,
                it.row,
                it.column,
                it.paper,
                it.unit,
                shown(it.simulated)
            );
        }
        text
    }
}

/// Returns a figure's curves, a column each.
fn points(figure: &Figure) -> Sheet {
    let curves = figure.curves.iter();
    let columns = curves.map(|curve| Column::number(&*curve.name).wide(26));
    let mut sheet = Sheet::new([Column::number("").wide(4)].into_iter().chain(columns));
    let first = figure.curves.first();
    let steps = first.into_iter().flat_map(|curve| &curve.points);
    sheet.extend(steps.enumerate().map(|(step, (at, _))| {
        let curves = figure.curves.iter();
        let values = curves.map(|curve| {
            let point = curve.points.get(step);
            point.map_or(String::new(), |(_, value)| shown(*value))
        });
        [at.to_string()]
            .into_iter()
            .chain(values)
            .collect::<Vec<_>>()
    }));
    sheet
}

fn shown(value: f64) -> String {
    match value.abs() {
        size if size < 10.0 => format!("{value:.2}"),
        size if size < 1000.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// A request of the lab beside the model's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Checked {
    pub counted: Counted,
    pub simulated: Request,
    /// Whether the parameters are from this depth.
    pub fitted: bool,
    pub agrees: bool,
}

/// Compares the model of the lab's machine with the counts, at all depths that were counted.
#[must_use]
pub fn lab() -> Vec<Checked> {
    let checked = |counted: &Counted| {
        let disk = DISKS.iter().find(|disk| disk.name == counted.disk)?;
        let simulated = disk.request(counted.depth);
        let near = |value: f64, counted: f64| (value / counted - 1.0).abs() <= TOLERANCE;
        Some(Checked {
            counted: *counted,
            simulated,
            fitted: counted.depth == 1,
            agrees: near(simulated.insns, counted.insns) && near(simulated.exits, counted.exits),
        })
    };
    COUNTED.iter().filter_map(checked).collect()
}

/// Requests a second by the number of devices.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OfDevices {
    pub devices: u32,
    pub measured: f64,
    pub simulated: f64,
    /// Whether the parameters are from this number of devices.
    pub fitted: bool,
}

/// Compares the model of elvis on a host with the measurements, for each number of devices that was measured.
#[must_use]
pub fn devices() -> Vec<OfDevices> {
    devices_by(lab::devices)
}

fn devices_by(simulated: impl Fn(u32) -> f64) -> Vec<OfDevices> {
    let of = |&(devices, measured)| OfDevices {
        devices,
        measured,
        simulated: simulated(devices),
        fitted: devices == 1,
    };
    lab::DEVICES.iter().map(of).collect()
}

/// Returns the comparison by devices as text.
#[must_use]
pub fn devices_text(all: &[OfDevices]) -> String {
    let mut sheet = Sheet::new([
        Column::text("devices").wide(8),
        Column::number("measured").wide(9).after(1),
        Column::number("requests/s").wide(10).after(1),
        Column::number("").wide(8).after(1),
        Column::text(""),
    ]);
    sheet.extend(all.iter().map(|it| {
        let off = 100.0 * (it.simulated / it.measured - 1.0);
        [
            it.devices.to_string(),
            format!("{:.0}", it.measured),
            format!("{:.0}", it.simulated),
            format!("{off:+.1} %"),
            if it.fitted { "fitted" } else { "" }.to_owned(),
        ]
    }));
    format!("\n{}", sheet.to_terminal(""))
}

/// Returns the comparison with the lab as text.
#[must_use]
pub fn lab_text(all: &[Checked]) -> String {
    let number = |head, wide| Column::number(head).wide(wide).after(1);
    let mut sheet = Sheet::new([
        Column::text("disk").wide(15),
        number("depth", 5),
        Column::number("counted").wide(9),
        number("insns", 9),
        number("", 8),
        Column::number("counted").wide(8),
        number("exits", 8),
        number("", 8),
        Column::text(""),
    ]);
    sheet.extend(all.iter().map(|it| {
        let off = |value: f64, counted: f64| format!("{:+.1} %", 100.0 * (value / counted - 1.0));
        let (counted, simulated) = (&it.counted, &it.simulated);
        let verdict = match (it.fitted, it.agrees) {
            (true, _) => "fitted",
            (false, true) => "",
            (false, false) => "off by more than 15 %",
        };
        [
            counted.disk.to_owned(),
            counted.depth.to_string(),
            format!("{:.0}", counted.insns),
            format!("{:.0}", simulated.insns),
            off(simulated.insns, counted.insns),
            format!("{:.3}", counted.exits),
            format!("{:.3}", simulated.exits),
            off(simulated.exits, counted.exits),
            verdict.to_owned(),
        ]
    }));
    sheet.to_terminal("")
}

/// Returns all parameters: of the paper's machine, of its loads, and of the lab.
#[must_use]
pub fn parameters() -> Vec<(&'static str, Vec<Parameter>)> {
    let mut all = vec![
        ("the paper's machine", paper::PRICES.to_vec()),
        ("its loads", paper::LOADS.to_vec()),
        ("the lab", lab::COMMON.to_vec()),
    ];
    all.extend(DISKS.iter().map(|disk| (disk.name, disk.own().to_vec())));
    all
}

/// Returns all parameters as text.
#[must_use]
pub fn parameters_text() -> String {
    let mut text = String::new();
    for (what, parameters) in parameters() {
        let _ = writeln!(text, "{what}:");
        let mut sheet = Sheet::new([
            Column::text("").wide(18),
            Column::number("").wide(9).after(1),
            Column::text("").wide(13).after(1),
            Column::text("").after(1),
        ]);
        sheet.extend(parameters.iter().map(|it| {
            let value = match it.value {
                u64::MAX => "no limit".to_owned(),
                value => value.to_string(),
            };
            [it.name.into(), value, it.unit.into(), it.source.into()]
        }));
        text += &sheet.to_terminal("  ");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_on_the_page(text: &str) {
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        let page = include_str!("../../../docs/elvis-model.md");
        assert!(
            page.contains(&lines.join("\n")),
            "docs/elvis-model.md: {text}"
        );
    }

    #[test]
    fn a_value_agrees_within_its_bound_and_fifteen_percent() {
        assert!(agrees(Bound::Is, 114.0, 100.0, None) && !agrees(Bound::Is, 116.0, 100.0, None));
        assert!(agrees(Bound::Is, 86.0, 100.0, None) && !agrees(Bound::Is, 84.0, 100.0, None));
        assert!(agrees(Bound::AtMost, -5.0, 1.0, None) && !agrees(Bound::AtMost, 2.0, 1.0, None));
        assert!(agrees(Bound::Greatest, 40.0, 28.0, Some(45.0)));
        assert!(!agrees(Bound::Greatest, 30.0, 28.0, Some(45.0)));
    }

    #[test]
    fn every_claim_is_one_of_the_published_figures() {
        let stated = stated().unwrap();
        for claim in &CLAIMS {
            let found = find(&stated, (claim.table, claim.row), claim.column);
            assert!(found.is_ok(), "{} {}", claim.row, claim.column);
        }
        for point in &POINTS {
            let found = find(&stated, (point.table, point.row), point.curve.name());
            assert!(found.is_ok(), "{}", point.row);
        }
    }

    #[test]
    fn the_lab_s_counts_stand_beside_the_model_s() {
        let all = lab();
        assert_eq!(all.len(), COUNTED.len());
        assert!(all.iter().all(|it| it.agrees));
        let mut wrong = all.clone();
        wrong[3].agrees = false;
        assert_eq!(lab_text(&wrong).matches("off by more than 15 %").count(), 1);
        let text = lab_text(&all);
        assert!(!text.contains("off by more"), "{text}");
        assert_eq!(text.lines().count(), 1 + all.len());
        is_on_the_page(&text);
    }

    #[test]
    fn every_number_of_devices_stands_beside_what_was_measured() {
        // The policy's tests run the model, and compare.
        let text = devices_text(&devices_by(|devices| 1e4 * f64::from(devices)));
        assert_eq!(text.matches("fitted").count(), 1);
        let lines: Vec<&str> = text.trim().lines().collect();
        assert_eq!(lines.len(), 1 + lab::DEVICES.len());
        assert!(lines[4].contains("29680      40000  +34.8 %"), "{text}");
    }

    #[test]
    fn a_figure_says_that_it_is_simulated_and_has_the_paper_s_points() {
        let figures = figures(&[9]).unwrap();
        assert!(figures.simulated && figures.figures.iter().all(|figure| figure.simulated));
        assert_eq!(figures.figures[0].curves.len(), 2);
        let text = figures.text();
        assert!(text.starts_with("Simulated, not measured"));
        assert!(text.contains("the paper 70% (percent)"), "{text}");
        let mut empty = Runs::default().figure(9).remove(0);
        empty.title = "Filebench, throughput";
        empty.curves[0].name = "Baseline".to_owned();
        add_points(&mut empty, &stated().unwrap()).unwrap();
        assert_eq!(empty.curves[0].paper, [(1, 18_715.0), (14, 14.0 * 8_862.0)]);
    }

    #[test]
    fn every_parameter_has_a_unit_and_a_source() {
        for (what, parameters) in parameters() {
            for it in parameters {
                assert!(
                    !it.unit.is_empty() && !it.source.is_empty(),
                    "{what} {}",
                    it.name
                );
            }
        }
        is_on_the_page(&parameters_text());
    }
}
