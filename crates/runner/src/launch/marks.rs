//! Time from outside (HyperBench, 5.1): turns the marks that the host received into samples.
//!
//! Pure. An uncertain time is discarded, never guessed; samples without a time are counted with the
//! reason.

use crate::outcome::row::External;
use ws_machines::earshot::Chunk;
use ws_records::Mark;

/// A limit above any guest's samples per row; a hostile guest gets no memory for more.
const SLOTS_MAX: usize = 65_536;

/// A mark as the host received it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    pub mark: Mark,
    /// Reading of the host's counter; None if it is unknown when the mark arrived.
    pub ticks: Option<u64>,
}

/// The time of each mark in `bytes`, in order; `chunks` are the reads in which the bytes arrived.
///
/// A mark has a time only if it is the first byte of its chunk and the only mark in it: then the host
/// waited for this byte and read the counter when it arrived. Any other mark may have waited for an
/// unknown time while the host was busy.
pub fn times(bytes: &[u8], chunks: &[Chunk]) -> Vec<Option<u64>> {
    let is_mark = |byte: &u8| Mark::of(*byte).is_some();
    let marks = |bytes: &[u8]| bytes.iter().filter(|byte| is_mark(byte)).count();
    let mut times = Vec::new();
    let mut rest = bytes;
    for chunk in chunks {
        let (piece, behind) = rest.split_at(chunk.bytes.min(rest.len()));
        rest = behind;
        let count = marks(piece);
        let alone = count == 1 && piece.first().is_some_and(is_mark);
        times.extend(std::iter::repeat_n(alone.then_some(chunk.ticks), count));
    }
    times.extend(std::iter::repeat_n(None, marks(rest)));
    times
}

/// Marks of a row, in order of arrival.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    slots: Vec<Slot>,
    too_many: bool,
}

/// Marks of a sample: a control batch, then a run batch.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    control: Batch,
    run: Batch,
}

/// The marks of a batch that arrived, with their times.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    begin: Option<Option<u64>>,
    end: Option<Option<u64>>,
}

/// Reason why a batch has no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    Lost,
    Unsure,
    Backwards,
}

impl Batch {
    fn ticks(self) -> Result<u64, Flaw> {
        let begin = self.begin.ok_or(Flaw::Lost)?.ok_or(Flaw::Unsure)?;
        let end = self.end.ok_or(Flaw::Lost)?.ok_or(Flaw::Unsure)?;
        end.checked_sub(begin).ok_or(Flaw::Backwards)
    }
}

impl Marks {
    /// Takes the next mark. An unexpected mark begins a new sample: there are then more samples than the
    /// guest measured, which [`Marks::samples`] detects.
    pub fn hear(&mut self, heard: Heard) {
        let last = self.slots.last_mut();
        let place = match (heard.mark, last) {
            (Mark::Run, Some(slot)) if slot.run.begin.is_none() && slot.run.end.is_none() => {
                Some(&mut slot.run.begin)
            }
            // A run batch whose begin was lost is still in place: after the control batch's end.
            (Mark::End, Some(slot)) if slot.run.begin.is_none() && slot.control.end.is_none() => {
                Some(&mut slot.control.end)
            }
            (Mark::End, Some(slot)) if slot.run.end.is_none() => Some(&mut slot.run.end),
            _ => None,
        };
        if let Some(place) = place {
            *place = Some(heard.ticks);
        } else if self.slots.len() == SLOTS_MAX {
            self.too_many = true;
        } else {
            let mut slot = Slot::default();
            *match heard.mark {
                Mark::Control => &mut slot.control.begin,
                Mark::Run => &mut slot.run.begin,
                Mark::End => &mut slot.control.end,
            } = Some(heard.ticks);
            self.slots.push(slot);
        }
    }

    /// Returns the samples, as the host timed them. `count`: the number that the guest measured; marks of more or fewer
    /// samples can't be assigned.
    pub fn samples(&self, count: usize) -> External {
        let marked = self.slots.len();
        if marked == 0 {
            return External::none(count, "no mark came".to_owned());
        }
        if marked != count || self.too_many {
            return External::none(
                count,
                format!(
                    "received marks of {marked} samples, but the guest has {count}, so marks and samples can't be paired"
                ),
            );
        }
        let mut external = External::default();
        let mut flaws = Vec::new();
        for (index, slot) in (0..).zip(&self.slots) {
            match (slot.control.ticks(), slot.run.ticks()) {
                (Ok(control), Ok(run)) => {
                    external.control.push(control);
                    external.run.push(run);
                }
                (Err(flaw), _) | (_, Err(flaw)) => {
                    external.missing.push(index);
                    flaws.push(flaw);
                }
            }
        }
        external.why = why(&flaws, count);
        external
    }
}

fn why(flaws: &[Flaw], count: usize) -> Option<String> {
    let kinds = [
        (
            Flaw::Unsure,
            "a mark was read together with others or after text",
        ),
        (Flaw::Lost, "a mark never came"),
        (Flaw::Backwards, "the host's counter went back"),
    ];
    let told: Vec<String> = kinds
        .iter()
        .filter_map(|(kind, words)| {
            let number = flaws.iter().filter(|flaw| *flaw == kind).count();
            (number > 0).then(|| format!("in {number} {words}"))
        })
        .collect();
    (!told.is_empty()).then(|| {
        format!(
            "{} of {count} samples have no time: {}",
            flaws.len(),
            told.join(", ")
        )
    })
}

#[cfg(test)]
#[path = "marks_tests.rs"]
mod tests;
