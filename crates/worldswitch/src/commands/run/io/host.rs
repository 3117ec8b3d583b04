//! Block and network I/O of many devices on this host, served by elvis, its baselines and its peers in
//! alternating order.

use crate::cli::io::IoArgs;
use crate::cli::session;
use crate::shared::{Done, export, on_stdout};
use ws_io::host;
use ws_io::table::{Servers, crowded};
use ws_terminal::{columns, output};

/// Measures, shows the table, keeps the results.
pub fn host(args: &IoArgs) -> anyhow::Result<Done> {
    let json = args.lab.exports.json_to();
    let measured = host::run(&args.options(), &session()?)?;
    let servers = Servers::of(&measured.results);
    if !on_stdout([json])? {
        output::data(&servers.to_terminal())?;
    }
    export(json, || Ok(columns::json(&servers)?))?;
    if let Some(crowded) = crowded(&measured.results) {
        output::remark(&crowded);
    }
    let folder = measured.folder.display();
    output::remark(&format!("results are in {folder}"));
    Ok(Done::whole_if(measured.is_whole))
}
