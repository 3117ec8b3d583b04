//! Tries a change: makes both sides, measures them, and judges the results.

use crate::explained::explain;
use crate::measured::{measured, pairs};
use crate::sides::{Made, Sides};
use crate::{Machine, Trial};
use std::path::PathBuf;
use std::rc::Rc;
use ws_lab::sets::Architecture;
use ws_machines::image::GuestImage;
use ws_machines::name::PlatformName;
use ws_machines::resources::Resources;
use ws_runner::parts::{self, Parts};
use ws_runner::{Benchmarks, Folder, Session};

/// A change to try.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Both sides in the user's words: results, kernels, versions, commits, or monitors.
    pub sides: [String; 2],
    /// Machines; empty: the usual ones, or those of earlier results.
    pub on: Vec<PlatformName>,
    pub benchmarks: Benchmarks,
    /// Perturbed boots of each side.
    pub perturb: u32,
    /// Conditions that may differ between the sides.
    pub allow: Vec<String>,
    /// Whether the sides are KVM monitors.
    pub monitor: bool,
    /// The repository of Linux that has the commits.
    pub kernel_tree: PathBuf,
    /// Shell command that builds a commit. Default: a build with the lab's configuration.
    pub build: Option<String>,
    pub parts: Parts,
}

/// A trial, with its sides as they were made.
pub struct Tried<'a> {
    asked: &'a Asked,
    made: [Made; 2],
    pub trial: Trial,
    /// Whether all was measured.
    pub is_whole: bool,
}

impl<'a> Tried<'a> {
    /// Makes both sides, measures and compares them. The folder gets results, and the logs of builds.
    ///
    /// # Errors
    /// A side can't be built or measured, or the user stopped it.
    pub fn of(
        asked: &'a Asked,
        sides: &Sides,
        folder: &Rc<Folder>,
        session: &Session,
    ) -> anyhow::Result<Self> {
        let made = sides.make(asked, folder.path(), session)?;
        let (results, is_whole) = measured(asked, sides, &made, folder, session)?;
        let pairs = pairs(&sides.machines, &made, &results)?;
        let [base, head] = made.each_ref().map(|made| made.side.clone());
        let mut trial = Trial::of(base, head, &pairs, &asked.allow)?;
        trial.describe(&parts::resources(&asked.parts));
        Ok(Self {
            asked,
            made,
            trial,
            is_whole,
        })
    }

    /// Finds the functions that cause each change: records both sides.
    ///
    /// # Errors
    /// The user stopped it.
    pub fn explain(&mut self, session: &Session) -> anyhow::Result<()> {
        explain(&mut self.trial, self.asked, &self.made, session)
    }
}

impl Trial {
    /// Adds what the benchmarks measure, in the words of this host's guest images. Results may have other benchmarks.
    fn describe(&mut self, resources: &Resources) {
        for architecture in Architecture::ALL {
            let is_its = |machine: &&mut Machine| {
                machine.architecture.as_deref() == Some(architecture.name())
            };
            let machines = self.machines.iter_mut().filter(is_its);
            let mut rows = machines.flat_map(|machine| &mut machine.rows).peekable();
            if rows.peek().is_none() {
                continue;
            }
            let image = resources.guest_for(architecture).ok();
            let Some(image) = image.and_then(|path| GuestImage::read(&path).ok()) else {
                continue;
            };
            for row in rows {
                let its = image.rows.iter().find(|known| known.name == row.benchmark);
                row.measures = its.map(|known| known.summary.clone());
            }
        }
    }
}
