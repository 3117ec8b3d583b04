//! `worldswitch doctor`: finds what this host lacks and what disturbs its measurements, with cures.

use crate::cli::DoctorArgs;
use crate::shared::Done;
use ws_doctor::Severity;
use ws_runner::doctor::examine;
use ws_runner::parts;
use ws_terminal::output;

/// Examines the host and prints the report. Returns [`Done::InPart`] if the report has a problem.
pub fn doctor(args: &DoctorArgs) -> anyhow::Result<Done> {
    let resources = parts::resources(&args.parts.to_parts());
    let report = examine(&resources, true);
    output::data(&if args.json {
        format!("{}\n", serde_json::to_string_pretty(&report)?)
    } else {
        ws_doctor::long(&report, output::is_coloured())
    })?;
    Ok(match report.worst {
        Severity::Problem => Done::InPart,
        _ => Done::Whole,
    })
}
