//! The functions that execute the instructions of a request to a VM's device.

use crate::counted::{Recorded, functions};
use crate::titled;
use anyhow::{Context, bail};
use std::fs;
use std::ops::RangeInclusive;
use ws_explain::requests::{MeasuredRow, RequestSpreads, RequestsExplained};
use ws_explain::symbols::Symbols;
use ws_lab::recipe::{EmulatorKind, Io};
use ws_lab::sets::Architecture;
use ws_machines::name::PlatformName;
use ws_machines::shipped::Shipped;
use ws_results::IoRow;
use ws_runner::parts::{self, Parts};
use ws_runner::rows::{Devices, RowsOf};
use ws_runner::{Session, whole};
use ws_terminal::{Usage, output};

/// Limit of rows: a recorded boot takes minutes, and the table has no room for more.
const ROWS_AT_MOST: usize = 3;

/// Agent's function that makes the measured requests. Its two reads of the clock are the window.
const WINDOW: &str = "requests_make";

/// Rows of platforms to explain.
pub struct Requests {
    rows: Vec<(PlatformName, IoRow)>,
    marks: RangeInclusive<u64>,
    parts: Parts,
}

impl Requests {
    /// Chooses the wanted rows on these platforms.
    ///
    /// # Errors
    /// Wrong usage: a platform that can't be recorded, or too many rows. Another error: the agent can't be read.
    pub fn choose(on: &[PlatformName], devices: &Devices, parts: Parts) -> anyhow::Result<Self> {
        let rows_of = RowsOf::Devices(devices.clone());
        let lab = parts::recipes(&parts.lab)?;
        let mut rows = Vec::new();
        for name in on {
            let recipe = whole::recipe(&lab, name, &rows_of)?;
            let is_qemu = matches!(recipe.emulator.kind, EmulatorKind::Qemu);
            if recipe.architecture != Architecture::X86_64 || !is_qemu {
                bail!(Usage(format!(
                    "--explain can't record {name}: it records x86 machines under QEMU only; choose --on lab:kvm-linux"
                )));
            }
            let of_recipe = recipe.vm.and_then(|vm| vm.io);
            let wanted = of_recipe
                .iter()
                .flat_map(all_rows)
                .filter(|row| devices.want(row));
            rows.extend(wanted.map(|row| (name.clone(), row)));
        }
        if rows.is_empty() {
            bail!(Usage(
                "no row matches --device, --depth and --busy: worldswitch benchmarks --on lab:kvm-linux lists the rows"
                    .to_owned()
            ));
        }
        if rows.len() > ROWS_AT_MOST {
            bail!(Usage(format!(
                "--explain takes at most {ROWS_AT_MOST} rows, and {} were chosen: choose with --device REGEX, --depth N and \
                 --busy=no",
                rows.len()
            )));
        }
        let marks = window(&parts)?;
        Ok(Self { rows, marks, parts })
    }

    /// Boots the machine once more for each row, recorded. `print`: also prints the functions. Returns `None` if the
    /// user stopped the command.
    pub fn explain(
        &self,
        print: bool,
        session: &Session,
    ) -> anyhow::Result<Option<Vec<RequestsExplained>>> {
        let mut rows = Vec::new();
        for (platform, row) in &self.rows {
            let Some(software) = functions(platform, &self.parts, session)? else {
                return Ok(None);
            };
            let name = row.name();
            let recorded = Recorded {
                platform,
                row: &name,
                rows: RowsOf::Devices(Devices::default()),
                marks: Some(self.marks.clone()),
                has_dom0: false,
                points: Vec::new(),
                has_shorter: false,
                has_idle: false,
            };
            let Some((spread, requests)) = recorded.spread(&software, &self.parts, session)? else {
                return Ok(None);
            };
            rows.push(MeasuredRow {
                name: self.name(platform, row),
                requests,
                spread,
            });
        }
        let spreads = RequestSpreads::new(rows);
        if print {
            titled([spreads.functions(), spreads.components()])?;
            output::data(&format!("\n{}", spreads.proof()))?;
        }
        Ok(Some(spreads.explained()))
    }

    /// Names a row, with its platform if there are several.
    fn name(&self, platform: &PlatformName, row: &IoRow) -> String {
        let has_others = self.rows.iter().any(|(other, _)| other != platform);
        match has_others {
            true => format!("{} {platform}", row.name()),
            false => row.name(),
        }
    }
}

/// All rows of a recipe's devices.
fn all_rows(of: &Io) -> Vec<IoRow> {
    let mut rows = Vec::new();
    for device in &of.devices {
        for busy in [false, true] {
            rows.extend(of.depths.iter().map(|&depth| IoRow {
                device: device.name.clone(),
                depth,
                busy,
            }));
        }
    }
    rows
}

/// Finds the addresses of the agent's code that makes the measured requests.
fn window(parts: &Parts) -> anyhow::Result<RangeInclusive<u64>> {
    let resources = parts::resources(parts);
    let agent = resources.find(Shipped::Agent(Architecture::X86_64))?;
    let file = agent.display();
    let bytes = fs::read(&agent).with_context(|| format!("can't read {file}"))?;
    let symbols = Symbols::of_elf(&bytes).with_context(|| file.to_string())?;
    symbols
        .code_of(WINDOW)
        .with_context(|| format!("{file} has no function {WINDOW}: run make build"))
}
