//! The protocol that keeps two machines in step, by hashes of the instructions that they executed (plugin/peer.h).

/// The bytes of a message.
pub const MESSAGE_BYTES: usize = 17;

/// A message of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// An interval is full.
    Full(Point),
    /// The machine has ended.
    End(Point),
    /// The machine has written its file.
    Written,
}

/// Progress of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Number of instructions executed so far.
    pub executed: u64,
    /// Hash of the instructions of the last interval.
    pub hash: u64,
}

impl Message {
    /// Reads a message; nothing if it is not valid.
    pub fn read(bytes: &[u8; MESSAGE_BYTES]) -> Option<Self> {
        let number = |from: usize| {
            let bytes = bytes.iter().skip(from).take(8).rev();
            bytes.fold(0, |number, byte| number << 8 | u64::from(*byte))
        };
        let point = Point {
            executed: number(1),
            hash: number(9),
        };
        match bytes[0] {
            b'i' => Some(Self::Full(point)),
            b'e' => Some(Self::End(point)),
            b'w' => Some(Self::Written),
            _ => None,
        }
    }
}

/// Answer to a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Go on.
    GoOn,
    /// Write the file after one more interval, which shows the instructions after the difference.
    OneMore,
    /// Write the file now.
    Write,
}

impl Answer {
    /// Returns the byte of the answer, as the machine reads it.
    pub fn byte(self) -> u8 {
        match self {
            Self::GoOn => b'g',
            Self::OneMore => b'm',
            Self::Write => b'd',
        }
    }
}

/// The step that follows from both machines' messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The machines have been the same so far.
    GoOn,
    /// Both have ended, or they differ in the last interval: the answer to each.
    Over([Answer; 2]),
    /// A machine has sent a message out of turn.
    Confused,
}

/// Decides the next step, when both machines have sent a message.
pub fn step(messages: [Message; 2]) -> Step {
    let told = |message| match message {
        Message::Full(_) => Answer::OneMore,
        Message::End(_) | Message::Written => Answer::Write,
    };
    match messages {
        [Message::Written, _] | [_, Message::Written] => Step::Confused,
        [Message::Full(a), Message::Full(b)] if a == b => Step::GoOn,
        messages => Step::Over(messages.map(told)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_the_plugin_sends_them() {
        let mut bytes = *b"i\x01\x02\0\0\0\0\0\0\xff\0\0\0\0\0\0\x80";
        let point = Point {
            executed: 0x201,
            hash: 0x8000_0000_0000_00ff,
        };
        assert_eq!(Message::read(&bytes), Some(Message::Full(point)));
        bytes[0] = b'e';
        assert_eq!(Message::read(&bytes), Some(Message::End(point)));
        bytes[0] = b'w';
        assert_eq!(Message::read(&bytes), Some(Message::Written));
        bytes[0] = b'x';
        assert_eq!(Message::read(&bytes), None);
    }

    #[test]
    fn machines_go_on_until_they_differ_or_end() {
        let point = |executed, hash| Point { executed, hash };
        let (full, end) = (Message::Full, Message::End);
        let both = |a, b| step([a, b]);
        assert_eq!(both(full(point(8, 1)), full(point(8, 1))), Step::GoOn);
        let over = |a, b| Step::Over([a, b]);
        let (more, write) = (Answer::OneMore, Answer::Write);
        assert_eq!(both(full(point(8, 1)), full(point(8, 2))), over(more, more));
        assert_eq!(both(end(point(9, 2)), end(point(9, 2))), over(write, write));
        assert_eq!(both(end(point(9, 2)), end(point(9, 3))), over(write, write));
        // A shorter boot that is the same as far as it goes.
        assert_eq!(
            both(end(point(9, 2)), end(point(10, 2))),
            over(write, write)
        );
        assert_eq!(both(end(point(8, 1)), full(point(8, 1))), over(write, more));
        assert_eq!(both(full(point(8, 1)), Message::Written), Step::Confused);
    }
}
