//! The functions that execute the instructions of an I/O request, for up to three rows side by side: other servers of a
//! device, other depths, other machines.

use crate::components;
use crate::place::Kind;
use crate::spread::{Part, Spread};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use ws_text::number::{grouped, signed};
use ws_text::{Set, Sheet};

/// Functions with a line of their own.
const SHOWN: usize = 25;
/// Executor of a function, by level.
const WHERE: [&str; 2] = ["host", "VM"];

/// A measured row.
#[derive(Clone, Debug)]
pub struct MeasuredRow {
    /// Platform and name of the row, as far as they differ from those of the others.
    pub name: String,
    /// Number of requests in the row's window.
    pub requests: u64,
    /// Instructions that were executed in the row's window.
    pub spread: Spread,
}

/// The rows.
#[derive(Clone, Debug)]
pub struct RequestSpreads {
    rows: Vec<MeasuredRow>,
}

/// All functions of one row's window, as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RequestsExplained {
    pub row: String,
    /// Number of requests in the window.
    pub requests: u64,
    /// Instructions of all functions.
    pub counted: u64,
    /// Instructions by the clock.
    pub by_clock: u64,
    /// Functions, the one with the most instructions first.
    pub functions: Vec<RequestFunction>,
}

/// A function, or code without a name that is counted together, with its instructions in the window.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RequestFunction {
    pub function: String,
    /// The kernel's module that has the function.
    pub module: Option<String>,
    pub kind: Kind,
    /// Component that the function is part of.
    pub component: &'static str,
    /// Instructions that the host executes.
    pub host: u64,
    /// Instructions that the VM executes.
    pub vm: u64,
}

/// The words of a line, and its instructions in each row's window.
type Line = ([String; 3], Vec<i64>);

impl RequestSpreads {
    /// Takes rows in their order.
    pub fn new(rows: Vec<MeasuredRow>) -> Self {
        Self { rows }
    }

    /// Sums up each function at each level. Functions with the same `words` are summed up together.
    fn lines(&self, words: impl Fn(&Part) -> [String; 2]) -> Vec<Line> {
        let mut sums: BTreeMap<[String; 3], Vec<i64>> = BTreeMap::new();
        for (number, row) in self.rows.iter().enumerate() {
            for (part, times) in &row.spread.parts {
                let [name, kind] = words(part);
                for (at, times) in WHERE.iter().zip(times).filter(|(_, times)| **times > 0) {
                    let of = [name.clone(), kind.clone(), (*at).to_owned()];
                    let sum = sums.entry(of).or_insert_with(|| vec![0; self.rows.len()]);
                    sum[number] += times;
                }
            }
        }
        let mut lines: Vec<Line> = sums.into_iter().collect();
        lines.sort_by_key(|(_, sums)| Reverse(self.weight(sums)));
        lines
    }

    /// Returns the weight by which lines are sorted: the difference of two rows, else the most instructions of any row.
    fn weight(&self, sums: &[i64]) -> u64 {
        match self.difference(sums) {
            Some(difference) => difference.unsigned_abs(),
            None => {
                let each = self.each(sums).map(f64::round);
                each.fold(0.0, f64::max) as u64
            }
        }
    }

    /// Returns the number of instructions a request by which the second of two rows has more; None if there are not
    /// two.
    fn difference(&self, sums: &[i64]) -> Option<i64> {
        let mut each = self.each(sums);
        let (2, Some(first), Some(second)) = (sums.len(), each.next(), each.next()) else {
            return None;
        };
        Some((second - first).round() as i64)
    }

    /// Returns the instructions a request, of each row.
    fn each(&self, sums: &[i64]) -> impl Iterator<Item = f64> {
        let each = sums.iter().zip(&self.rows);
        each.map(|(sum, row)| *sum as f64 / row.requests.max(1) as f64)
    }

    fn cells(&self, (words, sums): &Line) -> Vec<String> {
        let mut cells = words.to_vec();
        cells.extend(self.each(sums).map(|each| grouped(each.round() as i64)));
        cells.extend(self.difference(sums).map(signed));
        cells
    }

    /// Tabulates lines, the sum of the lines that are not shown, and the sum of all.
    fn table(&self, what: &str, lines: &[Line], shown: usize) -> Sheet {
        let sum = |lines: &[Line], name: String| -> Line {
            let mut sums = vec![0; self.rows.len()];
            for (_, line) in lines {
                sums.iter_mut().zip(line).for_each(|(sum, of)| *sum += of);
            }
            ([name, String::new(), String::new()], sums)
        };
        let words = [what, "kind", "where"].map(|head| (head, Set::Text));
        let numbers = self.rows.iter().map(|row| &*row.name);
        let numbers = numbers.chain((self.rows.len() == 2).then_some("difference"));
        let numbers = numbers.map(|head| (head, Set::Number));
        let mut table = Sheet::new(words.into_iter().chain(numbers));
        let (shown, others) = lines.split_at(shown.min(lines.len()));
        table.extend(shown.iter().map(|line| self.cells(line)));
        if !others.is_empty() {
            let name = format!("{} others", others.len());
            table.extend([self.cells(&sum(others, name))]);
        }
        table.extend([self.cells(&sum(lines, "all".to_owned()))]);
        table
    }

    /// Returns a title, and the table by function.
    pub fn functions(&self) -> (String, Sheet) {
        let lines = self.lines(|part| [part.label(), part.kind.to_string()]);
        let title = "instructions a request, by the functions that execute them";
        (title.to_owned(), self.table("function", &lines, SHOWN))
    }

    /// Returns a title, and the table by component.
    pub fn components(&self) -> (String, Sheet) {
        let lines = self.lines(|part| [components::of(part).to_owned(), String::new()]);
        let title = "instructions a request, by component of their functions";
        (title.to_owned(), self.table("part", &lines, usize::MAX))
    }

    /// Compares the sums with the clock, in words.
    pub fn proof(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "{}: {} requests, {} instructions counted, {} by the clock",
                row.name,
                grouped(row.requests as i64),
                grouped(row.spread.counted()),
                grouped(row.spread.ticks as i64)
            );
        }
        text
    }

    /// Returns all rows and functions, as JSON has them.
    pub fn explained(&self) -> Vec<RequestsExplained> {
        // No shorter run is taken off, so no number is negative.
        let explained = self.rows.iter().map(|row| {
            let mut parts: Vec<_> = row.spread.parts.iter().collect();
            parts.sort_by_key(|(_, times)| Reverse(times.iter().sum::<i64>()));
            let functions = parts.into_iter().map(|(part, [host, vm])| RequestFunction {
                function: part.name.clone(),
                module: part.module.clone(),
                kind: part.kind,
                component: components::of(part),
                host: host.unsigned_abs(),
                vm: vm.unsigned_abs(),
            });
            RequestsExplained {
                row: row.name.clone(),
                requests: row.requests,
                counted: row.spread.counted().unsigned_abs(),
                by_clock: row.spread.ticks,
                functions: functions.collect(),
            }
        });
        explained.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::part;

    fn row(name: &str, requests: u64, parts: &[(Part, [i64; 2])]) -> MeasuredRow {
        let parts: BTreeMap<Part, [i64; 2]> = parts.iter().cloned().collect();
        let ticks = parts.values().flatten().sum::<i64>() as u64;
        MeasuredRow {
            name: name.to_owned(),
            requests,
            spread: Spread {
                parts,
                ticks,
                ..Spread::default()
            },
        }
    }

    fn two() -> RequestSpreads {
        let send = part("tcp_sendmsg", None, Kind::Kernel);
        let run = part("svm_vcpu_run", Some("kvm_amd"), Kind::Hypervisor);
        RequestSpreads::new(vec![
            row(
                "vhost",
                10,
                &[(send.clone(), [100, 50]), (run.clone(), [900, 0])],
            ),
            row("elvis", 20, &[(send, [200, 100]), (run, [200, 0])]),
        ])
    }

    #[test]
    fn two_rows_are_compared_a_request_the_largest_difference_first() {
        let (_, table) = two().functions();
        assert_eq!(
            table.heads(),
            ["function", "kind", "where", "vhost", "elvis", "difference"]
        );
        assert_eq!(
            table.lines()[0],
            [
                "svm_vcpu_run [kvm_amd]",
                "hypervisor",
                "host",
                "90",
                "10",
                "-80"
            ]
        );
        assert_eq!(
            table.lines()[1],
            ["tcp_sendmsg", "kernel", "VM", "5", "5", "0"]
        );
        assert_eq!(
            table.lines()[2],
            ["tcp_sendmsg", "kernel", "host", "10", "10", "0"]
        );
        assert_eq!(table.lines()[3], ["all", "", "", "105", "25", "-80"]);
        let (_, table) = two().components();
        assert_eq!(table.lines()[0], ["KVM", "", "host", "90", "10", "-80"]);
        assert_eq!(table.lines().len(), 4);
    }

    #[test]
    fn one_row_has_no_difference_and_what_is_not_shown_is_summed() {
        let parts: Vec<(Part, [i64; 2])> = (1..=30)
            .map(|number| {
                (
                    part(&format!("f{number:02}"), None, Kind::Kernel),
                    [number, 0],
                )
            })
            .collect();
        let one = RequestSpreads::new(vec![row("io-a-d1", 1, &parts)]);
        let (_, table) = one.functions();
        assert_eq!(table.heads(), ["function", "kind", "where", "io-a-d1"]);
        assert_eq!(table.lines()[0][0], "f30");
        assert_eq!(table.lines()[SHOWN], ["5 others", "", "", "15"]);
        assert_eq!(table.lines()[SHOWN + 1], ["all", "", "", "465"]);
    }

    #[test]
    fn programs_get_all_functions_of_each_row() {
        let explained = two().explained();
        assert_eq!((explained[0].requests, explained[0].counted), (10, 1050));
        let first = &explained[0].functions[0];
        assert_eq!(
            (first.function.as_str(), first.host, first.vm),
            ("svm_vcpu_run", 900, 0)
        );
        assert_eq!(
            two().proof(),
            "vhost: 10 requests, 1,050 instructions counted, 1,050 by the clock\n\
             elvis: 20 requests, 500 instructions counted, 500 by the clock\n"
        );
    }
}
