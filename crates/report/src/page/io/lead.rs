//! The opening of a report of `worldswitch run io`: the servers by throughput.

use super::{Figure, THROUGHPUT, Value, figures, value};
use crate::number;
use crate::page::chart::{Bar, Chart, Fill, Lane};
use crate::page::lead::{Lead, View};
use crate::page::series::Series;
use ws_results::Row;

/// The opening: the throughput of each server with the most devices of the first figure.
pub(crate) fn lead(series: &[Series]) -> Option<Lead> {
    let figures = figures(series);
    figures.iter().find_map(Figure::lead)
}

/// A server with its throughput.
struct Server {
    name: String,
    platform: usize,
    rate: Value,
}

impl Figure<'_> {
    /// The servers at the last step, and the fastest against the slowest in words.
    fn lead(&self) -> Option<Lead> {
        let step = self.steps.last()?;
        let servers = self.servers_at_last();
        let (first, last) = (servers.first()?, servers.last()?);
        let against = match servers.len() {
            1 => String::new(),
            _ => format!(
                ", {} those of {}",
                number::slowdown(first.rate.median / last.rate.median),
                last.name
            ),
        };
        let role = match self.role {
            "" => String::new(),
            role => format!(" ({role})"),
        };
        let what = self.known().map_or("devices", |known| known.steps);
        let devices = format!("{step} {what}{role}");
        let lanes: Vec<Lane> = servers.iter().map(Server::lane).collect();
        let chart = Chart {
            name: &format!("Requests/s, all devices together: {devices}"),
            log: false,
            lanes: &lanes,
            mark: None,
            keys: Vec::new(),
        };
        Some(Lead {
            sentence: format!(
                "With {devices} {} serves {} requests/s{against}.",
                first.name,
                whole(first.rate.median)
            ),
            figure: chart.markup(),
            of: View::Io,
        })
    }

    /// Returns the servers at the last step, the fastest first.
    fn servers_at_last(&self) -> Vec<Server> {
        let of = |(series, rows): &(&'_ Series<'_>, Vec<Option<&Row>>)| {
            Some(Server {
                name: series.label.clone(),
                platform: series.platform,
                rate: value((*rows.last()?)?, &THROUGHPUT)?,
            })
        };
        let mut servers: Vec<Server> = self.servers.iter().filter_map(of).collect();
        servers.sort_by(|a, b| b.rate.median.total_cmp(&a.rate.median));
        servers
    }
}

impl Server {
    fn lane(&self) -> Lane {
        let rate = &self.rate;
        Lane {
            name: self.name.clone(),
            bars: vec![Bar {
                fill: Fill::Platform(self.platform),
                value: rate.median,
                before: None,
                band: Some([rate.least, rate.greatest]).filter(|[low, high]| low < high),
                text: whole(rate.median),
                remark: None,
                detail: format!(
                    "{}: median {}, least {}, greatest {} requests/s",
                    self.name,
                    whole(rate.median),
                    whole(rate.least),
                    whole(rate.greatest)
                ),
            }],
        }
    }
}

fn whole(value: f64) -> String {
    number::value(value.round(), "count")
}
