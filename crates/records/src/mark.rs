//! Marks: single bytes around a guest's timed batches, for a host that times them from outside.

/// The meaning of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A batch of the control loop begins.
    Control,
    /// A batch of the operation begins.
    Run,
    /// The batch has ended.
    End,
}

impl Mark {
    /// The mark that a byte encodes.
    pub fn of(byte: u8) -> Option<Self> {
        match byte {
            0x01 => Some(Mark::Control),
            0x02 => Some(Mark::Run),
            0x03 => Some(Mark::End),
            _ => None,
        }
    }

    /// Returns the mark's byte on the line. No record contains such a byte: records are printable ASCII.
    pub fn byte(self) -> u8 {
        match self {
            Mark::Control => 0x01,
            Mark::Run => 0x02,
            Mark::End => 0x03,
        }
    }
}
