//! Both machines while they run.

use crate::side::Side;
use anyhow::{Context, bail};
use std::path::PathBuf;
use std::time::Duration;
use ws_explain::boots::lockstep::{Answer, Message, Step, step};
use ws_terminal::{Progress, Stop};
use ws_text::number::grouped;

/// End of both machines.
pub enum Ended {
    /// Both machines wrote their records: they differ, or both have ended.
    Written {
        /// Record of each machine.
        files: [PathBuf; 2],
        /// Whether each machine was ended because it executed nothing.
        have_idled: [bool; 2],
    },
    /// The user stopped both.
    Stopped,
}

/// Two machines that run.
pub struct Pair {
    sides: [Side; 2],
    limit: Duration,
}

impl Pair {
    /// Starts both machines. A machine that executes nothing for `limit` counts as ended.
    pub fn launch(mut sides: [Side; 2], limit: Duration) -> anyhow::Result<Self> {
        for side in &mut sides {
            side.launch().with_context(|| side.label.clone())?;
        }
        Ok(Self { sides, limit })
    }

    /// Runs both machines, interval by interval, until they differ or have ended.
    pub fn in_step(mut self, stop: &Stop, progress: &Progress) -> anyhow::Result<Ended> {
        let ended = self.until_they_differ(stop, progress);
        self.sides.iter_mut().for_each(Side::stop);
        ended
    }

    fn until_they_differ(&mut self, stop: &Stop, progress: &Progress) -> anyhow::Result<Ended> {
        let mut said = [None; 2];
        loop {
            if stop.requested() {
                return Ok(Ended::Stopped);
            }
            for (side, said) in self.sides.iter_mut().zip(&mut said) {
                if said.is_none() {
                    *said = side.look(self.limit)?;
                }
            }
            let [Some(a), Some(b)] = said else { continue };
            said = [None; 2];
            match step([a, b]) {
                Step::GoOn => {
                    show(progress, a);
                    for side in &mut self.sides {
                        side.answer(Answer::GoOn)?;
                    }
                }
                Step::Over(answers) => {
                    for (side, answer) in self.sides.iter_mut().zip(answers) {
                        side.answer(answer)?;
                    }
                    return self.until_written(stop);
                }
                Step::Confused => bail!(
                    "the plugins of both machines are out of step: please report it with both machines' names"
                ),
            }
        }
    }

    /// Waits for both files.
    fn until_written(&mut self, stop: &Stop) -> anyhow::Result<Ended> {
        for side in &mut self.sides {
            while side.look(self.limit)? != Some(Message::Written) {
                if stop.requested() {
                    return Ok(Ended::Stopped);
                }
            }
        }
        Ok(self.written())
    }

    /// Runs both machines to their ends, independently.
    pub fn apart(mut self, stop: &Stop, progress: &Progress) -> anyhow::Result<Ended> {
        let ended = self.until_both_end(stop, progress);
        self.sides.iter_mut().for_each(Side::stop);
        ended
    }

    fn until_both_end(&mut self, stop: &Stop, progress: &Progress) -> anyhow::Result<Ended> {
        let mut is_written = [false; 2];
        while is_written != [true; 2] {
            if stop.requested() {
                return Ok(Ended::Stopped);
            }
            for (side, is_written) in self.sides.iter_mut().zip(&mut is_written) {
                if *is_written {
                    continue;
                }
                match side.look(self.limit)? {
                    Some(message @ Message::Full(_)) => {
                        show(progress, message);
                        side.answer(Answer::GoOn)?;
                    }
                    Some(Message::End(_)) => side.answer(Answer::Write)?,
                    Some(Message::Written) => *is_written = true,
                    None => {}
                }
            }
        }
        Ok(self.written())
    }

    fn written(&self) -> Ended {
        let sides = self.sides.each_ref();
        Ended::Written {
            files: sides.map(|side| side.file.clone()),
            have_idled: sides.map(|side| side.has_idled),
        }
    }
}

fn executed(message: Message) -> u64 {
    match message {
        Message::Full(point) | Message::End(point) => point.executed,
        Message::Written => 0,
    }
}

fn show(progress: &Progress, message: Message) {
    let millions = executed(message) / 1_000_000;
    let what = || format!(": {} million instructions", grouped(millions as i64));
    progress.show("both boots", what, None);
}
