//! A platform that somebody else boots: each received boot becomes a boot of its job.

use crate::launch::listen;
use crate::launch::state::{LaunchReport, LaunchState};
use crate::outcome::gather::Gathered;
use crate::rounds::BENCH_LIMIT;
use crate::rounds::job::{Common, Job, Selection};
use std::sync::Arc;
use ws_machines::machine::Control;
use ws_results::{Boot, Launch, LaunchEnd};
use ws_terminal::Progress;

impl Job {
    /// Receives all boots that somebody else makes.
    pub fn listen(&mut self, common: &Common, progress: &Progress) {
        let replayed = self.control() == Control::Replayed;
        if !replayed {
            progress.say(&format!(
                "{}: waiting for a guest. Boot guest.elf (PVH) or guest.mb (GRUB: multiboot) on that machine, \
                 with its first serial port (115200 8N1) connected to this line. Ctrl-C stops.",
                self.name
            ));
        }
        let (name, wanted) = (&self.name, self.wanted);
        let mut watch = |heard: usize, state: Option<&LaunchState>| {
            let what = || match state {
                Some(state) => {
                    let running = state.running().unwrap_or("between benchmarks");
                    let of = state.hello().and_then(|hello| hello.selected).unwrap_or(0);
                    format!(
                        " boot {}: {running} ({}/{of})",
                        heard + 1,
                        state.rows_done()
                    )
                }
                None => format!(": waiting for boot {}", heard + 1),
            };
            progress.show(name, what, None);
        };
        let machine = self.instance.machine.as_mut();
        let heard = match listen::listen(
            machine,
            common.bench_limit.unwrap_or(BENCH_LIMIT),
            wanted,
            &common.stop,
            &mut watch,
        ) {
            Ok(heard) => heard,
            Err(error) => {
                self.failed = Some(error.to_string());
                return;
            }
        };
        // Boots that were complete before Ctrl-C count.
        self.cut = common.stop.requested();
        if heard.is_empty() && !self.cut {
            self.failed = Some(
                "it has no boot of a guest: no record \"hello\" arrived (docs/records.md shows one)"
                    .to_owned(),
            );
        }
        let selection = Arc::clone(&self.selection);
        // First the rows: a boot that was cut short does not name those that it did not reach.
        self.know_rows_of_image(common, &selection, &heard);
        for (index, (report, launch)) in heard.into_iter().enumerate() {
            if let Err(why) = self.instance.heed_hello(&report, None) {
                self.failed = Some(why);
                return;
            }
            self.instance.tell(progress, &report, &launch);
            self.add_heard(common, index, report, launch);
        }
    }

    /// Takes the rows of a launch that was cut short from the image, because the launch does not name the benchmarks
    /// that it did not reach. The launch must have announced as many as the image has, and all that it ran must be in
    /// the image.
    fn know_rows_of_image(
        &mut self,
        common: &Common,
        image: &Selection,
        heard: &[(LaunchReport, Launch)],
    ) {
        let in_image = |name: &str| image.rows.iter().any(|row| row.name == name);
        let is_image = heard.iter().any(|(report, _)| {
            report.end != LaunchEnd::Bye
                && selected(report) == Some(image.image_rows as u64)
                && report
                    .rows
                    .iter()
                    .filter(|row| keeps(common, &row.bench))
                    .all(|row| in_image(&row.bench))
        });
        if is_image {
            // The guest may still be of another image, so the digests are not used.
            self.gathered = Gathered::named(&image.rows);
        }
    }

    fn add_heard(&mut self, common: &Common, index: usize, report: LaunchReport, launch: Launch) {
        let number = u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1);
        let (came, selected) = (report.rows.len() as u64, selected(&report).unwrap_or(0));
        if came < selected {
            self.remark(format!(
                "{}: boot {number} announced {selected} benchmarks, but records of {came} arrived ({})",
                self.name, report.detail
            ));
        }
        if self.hello.is_none() {
            self.hello.clone_from(&report.hello);
        }
        let cut = (report.end != LaunchEnd::Bye).then(|| report.detail.clone());
        let mut rows = report.rows;
        rows.retain(|row| keeps(common, &row.bench));
        let boot = Boot {
            boot: number,
            launches: vec![launch],
            perturbed: None,
        };
        let unit = self.instance.unit().to_owned();
        self.gathered.add(boot, rows, &unit, cut.as_deref());
    }
}

/// Number of benchmarks that the guest announced.
fn selected(report: &LaunchReport) -> Option<u64> {
    report.hello.as_ref()?.selected.map(u64::from)
}

fn keeps(common: &Common, bench: &str) -> bool {
    common
        .bench
        .as_ref()
        .is_none_or(|regex| regex.is_match(bench))
}
