//! Frames that wait for a receiver, whose buffers are used up or which another I/O thread serves. The memory is fixed;
//! when it is full, new frames are dropped, as by every switch.

use crate::net::give::Parts;
use crate::net::header::{BYTES, Header};
use std::collections::VecDeque;

/// Bytes of frames that may wait: more than a receiver with a usual ring of 256 buffers can take at once.
pub const CAPACITY: usize = 512 << 10;
/// Frames that may wait.
pub const FRAMES: usize = 1024;

/// Place of a frame in the memory.
#[derive(Debug, Clone, Copy)]
struct Place {
    header: Header,
    start: usize,
    bytes: usize,
}

/// Waiting frames of one receive queue, the oldest first.
#[derive(Debug)]
pub struct Inbox {
    /// Memory used as a ring; a frame is never split.
    memory: Box<[u8]>,
    frames: VecDeque<Place>,
    /// Offset at which the next frame is put.
    end: usize,
}

impl Default for Inbox {
    fn default() -> Self {
        Self {
            // Zeroed pages, which take memory when they are first used.
            memory: vec![0; CAPACITY].into(),
            frames: VecDeque::with_capacity(FRAMES),
            end: 0,
        }
    }
}

impl Inbox {
    /// Returns the offset at which a frame of this length can be put.
    fn room(&self, bytes: usize) -> Option<usize> {
        let (Some(first), Some(last)) = (self.frames.front(), self.frames.back()) else {
            return (bytes <= self.memory.len()).then_some(0);
        };
        if last.start < first.start {
            return (bytes < first.start - self.end).then_some(self.end);
        }
        if bytes <= self.memory.len() - self.end {
            return Some(self.end);
        }
        // The frame goes to the start again. The end never meets the first frame, which would look like an empty ring.
        (bytes < first.start).then_some(0)
    }

    /// Adds a frame. False if there is no room.
    #[must_use]
    pub fn push(&mut self, header: Header, parts: &Parts) -> bool {
        let bytes = parts.bytes();
        let room = (self.frames.len() < FRAMES).then(|| self.room(bytes));
        let Some(start) = room.flatten() else {
            return false;
        };
        if !parts.copy(&mut self.memory[start..start + bytes]) {
            return false;
        }
        self.frames.push_back(Place {
            header,
            start,
            bytes,
        });
        self.end = start + bytes;
        true
    }

    /// Returns the oldest frame.
    #[must_use]
    pub fn first(&self) -> Option<(Header, &[u8])> {
        let Place {
            header,
            start,
            bytes,
        } = *self.frames.front()?;
        Some((header, &self.memory[start..start + bytes]))
    }

    /// Removes the oldest frame.
    pub fn pop(&mut self) {
        self.frames.pop_front();
    }

    /// Removes all frames.
    pub fn clear(&mut self) {
        self.frames.clear();
    }

    /// Returns the number of frames.
    #[must_use]
    pub fn frames(&self) -> usize {
        self.frames.len()
    }
}

// A place has a header, not a copy of its bytes.
const _: () = assert!(size_of::<Header>() == BYTES);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn it_is_a_queue(steps in prop::collection::vec((any::<bool>(), prop_oneof![60usize..2000, Just(65_000)]), 1..400)) {
            let (mut inbox, mut queue, mut count) = (Inbox::default(), VecDeque::<Vec<u8>>::new(), 0u8);
            for (push, bytes) in steps {
                if push {
                    count = count.wrapping_add(1);
                    let frame = vec![count; bytes];
                    let header = Header { gso_size: count.into(), ..Header::default() };
                    if inbox.push(header, &Parts::private(&frame)) {
                        queue.push_back(frame);
                    } else {
                        let waiting: usize = queue.iter().map(Vec::len).sum();
                        prop_assert!(waiting + 2 * 65_001 > CAPACITY, "{} bytes wait", waiting);
                    }
                } else {
                    inbox.pop();
                    queue.pop_front();
                }
                prop_assert_eq!(inbox.frames(), queue.len());
                let first = inbox.first().map(|(header, frame)| (header.gso_size, frame));
                prop_assert_eq!(first, queue.front().map(|frame| (frame[0].into(), &frame[..])));
            }
        }
    }
}
