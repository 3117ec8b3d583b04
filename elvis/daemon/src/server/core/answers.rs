//! The decision whether to look for answers right after a driver sent frames to an interface. Answers of the host's own
//! kernel are there when the frame was sent. Answers of other hosts are not, and an event tells of them. Pure.

/// Number of looks in vain in a row after which only one of so many is made.
const IN_VAIN: u32 = 8;

/// State of one receive queue.
#[derive(Debug, Default)]
pub(super) struct Answers {
    in_vain: u32,
    /// Number of looks that were left out since the last one.
    left_out: u32,
}

impl Answers {
    /// Whether to look for answers, now that frames were sent.
    pub(super) fn due(&mut self) -> bool {
        if self.in_vain < IN_VAIN {
            return true;
        }
        self.left_out = (self.left_out + 1) % IN_VAIN;
        self.left_out == 0
    }

    /// Notes whether a look found a frame.
    pub(super) fn found(&mut self, frame: bool) {
        self.in_vain = match frame {
            true => 0,
            false => self.in_vain.saturating_add(1),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends `times` frames, and finds an answer at each look or at none. Returns the number of looks.
    fn looks(answers: &mut Answers, times: u32, found: bool) -> u32 {
        let mut made = 0;
        for _ in 0..times {
            if answers.due() {
                answers.found(found);
                made += 1;
            }
        }
        made
    }

    #[test]
    fn where_no_answers_come_at_once_few_looks_are_made() {
        let mut answers = Answers::default();
        assert_eq!(looks(&mut answers, IN_VAIN, false), IN_VAIN);
        assert_eq!(looks(&mut answers, 100 * IN_VAIN, false), 100);
        // One that finds a frame is enough.
        assert_eq!(looks(&mut answers, IN_VAIN, true), 1);
        assert_eq!(looks(&mut answers, 100, true), 100);
    }
}
