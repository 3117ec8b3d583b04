//! The decision whether to look for answers right after a driver sent frames to an interface. Answers of the host's own
//! kernel are there when the frame was sent. Answers of other hosts are not, and an event tells of them. Pure.

/// Number of looks in vain in a row after which only one of so many is made.
const IN_VAIN: u32 = 8;

/// State of one receive queue.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Number of frames to look for now.
    wanted: u32,
    in_vain: u32,
    /// Number of looks that were left out since the last one.
    left_out: u32,
}

impl Answers {
    /// Notes that `sent` frames were sent. True: look for as many.
    pub(super) fn expect(&mut self, sent: u32) -> bool {
        if self.in_vain >= IN_VAIN {
            self.left_out = (self.left_out + 1) % IN_VAIN;
            if self.left_out > 0 {
                return false;
            }
        }
        self.wanted = sent;
        true
    }

    /// Whether an answer is to be looked for.
    pub(super) fn wanted(&self) -> bool {
        self.wanted > 0
    }

    /// Takes one look. False if none is wanted.
    pub(super) fn look(&mut self) -> bool {
        let wanted = self.wanted();
        self.wanted = self.wanted.saturating_sub(1);
        wanted
    }

    /// Notes whether a look found a frame.
    pub(super) fn found(&mut self, frame: bool) {
        self.in_vain = match frame {
            true => 0,
            false => self.in_vain.saturating_add(1),
        };
    }

    /// Notes that there is no frame now.
    pub(super) fn none(&mut self) {
        self.wanted = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes looks after `times` sent frames, each of which finds a frame or not. Returns how many were made.
    fn looks(answers: &mut Answers, times: u32, found: bool) -> u32 {
        let mut made = 0;
        for _ in 0..times {
            if answers.expect(1) {
                assert!(answers.look());
                answers.found(found);
                made += 1;
            }
            assert!(!answers.look());
        }
        made
    }

    #[test]
    fn as_many_frames_as_were_sent_are_looked_for() {
        let mut answers = Answers::default();
        assert!(!answers.wanted());
        assert!(answers.expect(3));
        assert_eq!((0..5).filter(|_| answers.look()).count(), 3);
        assert!(answers.expect(3) && answers.look());
        answers.none();
        assert!(!answers.wanted() && !answers.look());
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
