//! Renders the cost model for a terminal and as JSON: the cost of each event, its dependence on count, and the total
//! cost of a workload's events.

use crate::number;
use crate::text::{Column, Set, Sheet, Style, terminal};
use schemars::JsonSchema;
use serde::Serialize;
use ws_analysis::UnitKind;
use ws_analysis::model::{Component, Model, OperatorKind, Prediction, RowCost, TermCost, Whole};

use Set::{Number, Text};

/// The schema of the JSON.
pub const MODEL_SCHEMA: &str = "worldswitch-model/1";

/// The output of `worldswitch show --native`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Models {
    /// Always `worldswitch-model/1`.
    #[schemars(extend("const" = MODEL_SCHEMA))]
    pub schema: &'static str,
    /// Models, one for each platform.
    pub models: Vec<Modelled>,
}

/// A platform with its model.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Modelled {
    /// Cost model of the platform.
    pub model: Model,
    /// The cost of the workload there, if one was given.
    pub prediction: Option<Prediction>,
}

/// The JSON Schema of [`Models::to_json`], the content of `docs/model-schema.json`.
pub fn model_schema() -> String {
    format!("{:#}\n", schemars::schema_for!(Models).to_value())
}

/// The width of the longest bar, in columns.
const BAR_COLUMNS: f64 = 60.0;

impl Models {
    /// Makes the output of these models, in their order.
    pub fn of(models: Vec<Modelled>) -> Self {
        Models {
            schema: MODEL_SCHEMA,
            models,
        }
    }

    /// Text for a terminal. Ends in a newline.
    pub fn to_terminal(&self, colour: bool) -> String {
        let style = Style::new(colour);
        let pages = self.models.iter().map(|modelled| {
            let mut out = Page::new(&style);
            out.model(&modelled.model);
            if let Some(prediction) = &modelled.prediction {
                out.prediction(prediction, &modelled.model);
            }
            out.text
        });
        pages.collect::<Vec<_>>().join("\n")
    }

    /// Renders everything as JSON, pretty-printed.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

struct Page<'a> {
    style: &'a Style,
    text: String,
}

impl<'a> Page<'a> {
    fn new(style: &'a Style) -> Self {
        Page {
            style,
            text: String::new(),
        }
    }

    fn line(&mut self, text: &str) {
        self.text.push_str(text.trim_end());
        self.text.push('\n');
    }

    fn title(&mut self, text: &str) {
        let text = self.style.bold(text);
        self.text.push('\n');
        self.line(&text);
    }

    fn table(&mut self, sheet: Sheet) {
        let sheet = sheet.without_empty_columns();
        self.text.push_str(&sheet.to_coloured("  ", self.style));
    }

    fn model(&mut self, model: &Model) {
        let head = format!(
            "{} against {}, in {}, {}",
            model.platform,
            model.native,
            model.unit,
            model.paging.word()
        );
        self.line(&self.style.bold(&terminal(&head)));
        for note in &model.notes {
            self.line(&format!("  {note}"));
        }
        self.title("The cost of one event");
        self.rows(model);
        self.title(
            "The terms: T_guest = T_direct + T_virt, T_virt = T_cpu + T_memory + T_io + eta",
        );
        for component in [Component::Cpu, Component::Memory, Component::Io] {
            let terms = model
                .terms
                .iter()
                .filter(|term| term.component == component);
            let terms: Vec<&TermCost> = terms.collect();
            let sum: Vec<String> = terms
                .iter()
                .map(|t| {
                    format!(
                        "{} (*) {}",
                        t.term.symbol().replacen('T', "C", 1),
                        t.term.symbol()
                    )
                })
                .collect();
            self.line(&format!("  {} = {}", component.symbol(), sum.join(" + ")));
            let mut sheet = Sheet::new([Column::text("").wide(9), Column::text("").after(1)]);
            sheet.extend(terms.iter().map(|term| {
                let symbol = term.term.symbol().to_owned();
                [symbol, term_text(term, &model.unit)]
            }));
            self.text += &sheet.to_terminal("    ");
        }
        self.separation(model);
        self.operators(model);
    }

    fn rows(&mut self, model: &Model) {
        let ratios = model.rows.iter().any(|row| row.gnr.is_some());
        let gnr = if ratios { "GNR" } else { "" };
        // Without several counts there is no operator; the reason is printed once, below.
        let counts = model.rows.iter().any(has_counts);
        let mut sheet = Sheet::new([
            ("benchmark", Text),
            ("term", Text),
            ("guest", Number),
            ("native", Number),
            ("added", Number),
            (ranges(model), Text),
            (gnr, Number),
            (if ratios { ranges(model) } else { "" }, Text),
            (if counts { "operator" } else { "" }, Text),
        ]);
        let value = |v: f64| cost(v, &model.unit);
        sheet.extend(model.rows.iter().map(|row| {
            let range = match row.added_low == row.added_high {
                true => String::new(),
                false => format!("[{}, {}]", value(row.added_low), value(row.added_high)),
            };
            let gnr = row.gnr.map_or(String::new(), number::slowdown);
            let gnr_range = match (row.gnr_low, row.gnr_high) {
                (Some(low), Some(high)) => format!("[{low:.3}, {high:.3}]"),
                _ => String::new(),
            };
            [
                row.benchmark.clone(),
                row.term.map_or("-", |term| term.symbol()).into(),
                value(row.guest),
                if row.native_measured {
                    value(row.native)
                } else {
                    "-".into()
                },
                value(row.added),
                range,
                gnr,
                gnr_range,
                match counts {
                    true => row.operator.kind.word().into(),
                    false => String::new(),
                },
            ]
        }));
        self.table(sheet);
    }

    fn separation(&mut self, model: &Model) {
        if let Some(why) = &model.separation.why {
            self.line(&format!("  T_cons and T_two apart: not determined: {why}"));
        }
        for page in &model.separation.pages {
            let value = |v: f64| cost(v, &model.unit);
            self.line(&format!(
                "  with {} KiB pages of the guest: T_two {} ({} to {}), T_cons {} ({} to {}; cold minus hot)",
                page.page_bytes / 1024,
                value(page.two),
                value(page.two_low),
                value(page.two_high),
                value(page.cons),
                value(page.cons_low),
                value(page.cons_high)
            ));
        }
    }

    /// The paper's Fig. 5: the cost of one operation by count, relative to the first.
    fn operators(&mut self, model: &Model) {
        let rows: Vec<&RowCost> = model.rows.iter().filter(|row| has_counts(row)).collect();
        if rows.is_empty() {
            let why = model
                .rows
                .iter()
                .find_map(|row| row.operator.why.as_deref());
            if let Some(why) = why {
                self.line(&format!(
                    "  the operator (*) is not determined, and is assumed to be linear: {why}"
                ));
            }
            return;
        }
        self.title("The operator (*): the cost of one operation by count, relative to the first");
        for row in rows {
            let why = row
                .operator
                .why
                .as_ref()
                .map_or(String::new(), |why| format!(": {why}"));
            let kind = row.operator.kind.word();
            self.line(&format!("  {}: {kind}{why}", terminal(&row.benchmark)));
            let mut sheet = Sheet::new([
                Column::number("").wide(13),
                Column::number("").wide(6).after(1),
                Column::text("").wide(16).after(1),
                Column::text("").after(1),
            ]);
            sheet.extend(row.operator.points.iter().filter_map(|point| {
                let share = point.normalized?;
                let bar = (share.clamp(0.0, 2.0) * BAR_COLUMNS / 2.0).round() as usize;
                let range = point.low.zip(point.high);
                let range = range.map(|(low, high)| format!("[{low:.3}, {high:.3}]"));
                Some([
                    number::value(point.iterations as f64, "count"),
                    format!("{share:.3}"),
                    range.unwrap_or_default(),
                    "#".repeat(bar),
                ])
            }));
            self.text += &sheet.to_terminal("    ");
        }
    }

    fn prediction(&mut self, prediction: &Prediction, model: &Model) {
        self.title("The workload's virtualization time");
        self.events(prediction, model);
        self.text.push('\n');
        self.components(prediction, model);
        if let Some(whole) = &prediction.whole {
            self.line(&format!("  {}", whole_text(whole)));
        }
        for what in &prediction.left_out {
            self.line(&format!("  not included: {}", terminal(what)));
        }
    }

    fn events(&mut self, prediction: &Prediction, model: &Model) {
        let value = |v: f64| cost(v, &model.unit);
        let counts = model.rows.iter().any(has_counts);
        let operator = if counts { "operator" } else { "" };
        let mut sheet = Sheet::new([
            ("event", Text),
            ("term", Text),
            ("times", Number),
            ("each", Number),
            ("total", Number),
            (ranges(model), Text),
            (operator, Text),
        ]);
        sheet.extend(prediction.events.iter().map(|event| {
            [
                event.benchmark.clone(),
                event.term.symbol().into(),
                number::value(event.count, "count"),
                value(event.each),
                value(event.total),
                range(event.low, event.high, &value),
                match event.operator {
                    _ if !counts => String::new(),
                    OperatorKind::NotDetermined => "assumed linear".into(),
                    other => other.word().into(),
                },
            ]
        }));
        self.table(sheet);
    }

    fn components(&mut self, prediction: &Prediction, model: &Model) {
        let value = |v: f64| cost(v, &model.unit);
        let mut sheet = Sheet::new([
            ("component", Text),
            ("total", Number),
            (ranges(model), Text),
            ("share", Number),
            ("", Text),
        ]);
        sheet.extend(prediction.components.iter().map(|part| {
            let share = if prediction.total > 0.0 {
                part.total / prediction.total
            } else {
                0.0
            };
            [
                part.component.symbol().into(),
                value(part.total),
                range(part.low, part.high, &value),
                number::percent(share.max(0.0)),
                "#".repeat((share.clamp(0.0, 1.0) * BAR_COLUMNS).round() as usize),
            ]
        }));
        let line = |name: &str, v: f64| vec![name.to_owned(), value(v)];
        let ranged = |name: &str, v: f64, low: f64, high: f64| {
            vec![name.to_owned(), value(v), range(low, high, &value)]
        };
        let (low, high) = (prediction.low, prediction.high);
        sheet.extend([ranged("T_virt", prediction.total, low, high)]);
        if let Some(whole) = &prediction.whole {
            let (low, high) = (whole.guest_low, whole.guest_high);
            sheet.extend([line("T_direct", whole.direct)]);
            sheet.extend([ranged("T_guest", whole.guest, low, high)]);
            sheet.extend(whole.measured.map(|measured| line("  measured", measured)));
            sheet.extend(whole.eta.map(|eta| line("  eta", eta)));
        }
        self.table(sheet);
    }
}

/// A workload's whole time, equations 1 to 3, as text.
pub(crate) fn whole_text(whole: &Whole) -> String {
    let ratio = |guest: f64| number::slowdown(guest / whole.direct);
    let gnr = match (whole.gnr, whole.measured) {
        (None, _) => "no GNR: T_direct is 0".into(),
        (Some(gnr), measured) => {
            let measured = measured.map(|guest| format!(", {} as measured", ratio(guest)));
            format!(
                "GNR {} (T_guest / T_direct){}",
                number::slowdown(gnr),
                measured.unwrap_or_default()
            )
        }
    };
    let eta = match whole.eta.zip(whole.measured) {
        Some((eta, measured)) if measured > 0.0 => format!(
            "; eta (what the model leaves out, and its error) is {} of the measured time",
            number::difference(eta / measured)
        ),
        Some(_) => String::new(),
        None => "; eta is not known: T_guest was not measured".into(),
    };
    gnr + &eta
}

/// An added cost. Instructions are means here: from 1,000 on, decimals are not significant.
pub(crate) fn cost(value: f64, unit: &str) -> String {
    let step = if value.abs() < 1000.0 { 0.1 } else { 1.0 };
    match UnitKind::of(unit) {
        UnitKind::Count => number::value((value / step).round() * step, unit),
        _ => number::value(value, unit),
    }
}

/// The meaning of the ranges in brackets.
fn ranges(model: &Model) -> &'static str {
    match UnitKind::of(&model.unit) {
        UnitKind::Count => "over all boots",
        _ => "95 %",
    }
}

/// Whether there are enough counts for a figure. A guest that chooses its own counts may choose two.
fn has_counts(row: &RowCost) -> bool {
    row.operator.points.len() > 2
}

pub(crate) fn range(low: f64, high: f64, value: &dyn Fn(f64) -> String) -> String {
    match low == high {
        true => "boots agree".into(),
        false => format!("[{}, {}]", value(low), value(high)),
    }
}

pub(crate) fn term_text(term: &TermCost, unit: &str) -> String {
    if let Some(why) = &term.zero {
        return format!("0: {why}");
    }
    let (Some(least), Some(greatest)) = (term.least, term.greatest) else {
        return "not measured: its benchmarks did not run".into();
    };
    let benchmarks: Vec<_> = term.benchmarks.iter().map(|name| terminal(name)).collect();
    let (least, greatest) = (cost(least, unit), cost(greatest, unit));
    let cost = if least == greatest {
        least
    } else {
        format!("{least} to {greatest}")
    };
    format!("{cost} ({})", benchmarks.join(", "))
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
