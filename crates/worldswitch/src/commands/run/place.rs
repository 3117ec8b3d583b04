//! `worldswitch run place`: a host and its VM at work on chosen CPUs, alone and together.

use crate::cli::{PlaceArgs, View, session};
use crate::shared::{Done, views};
use std::time::Duration;
use ws_place::{Asked, measure};
use ws_results::place::PlaceKind;

/// Measures and shows the results.
pub fn place(args: &PlaceArgs) -> anyhow::Result<Done> {
    let kinds = PlaceKind::ALL.into_iter();
    let is_asked = |kind: &PlaceKind| args.kind.is_empty() || args.kind.contains(kind);
    let asked = Asked {
        kinds: &kinds.filter(is_asked).collect::<Vec<_>>(),
        cells: args.cells,
        time: Duration::from_secs(u64::from(args.time) * 60),
        boots: args.boots,
    };
    let (parts, output) = (args.usual.parts.to_parts(), args.usual.output.to_output());
    let (results, is_whole) = measure(&args.on, asked, &parts, output, session()?)?;
    views::show(View::Place, &results, &parts.lab, &args.usual.exports)?;
    Ok(Done::whole_if(is_whole))
}
