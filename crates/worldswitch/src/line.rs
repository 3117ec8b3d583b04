//! What one console says, as it comes: its records, and what has to be kept of the rest.

use ws_records::{Counts, Decoder, Expect, Item, Record};

/// Who speaks in a record (docs/records.md). Nothing but its guest keeps a guest from writing in
/// its monitor's name: such a line has the launch's nonce, which only the guest itself was told.
pub const GUEST: &str = "guest";
pub const MONITOR: &str = "vmm";

/// So much of the console's end is kept in results.
const TAIL_BYTES: usize = 4096;

/// A console that is read.
#[derive(Debug)]
pub struct Line {
    decoder: Decoder,
    /// The last bytes of console text.
    tail: Vec<u8>,
    /// How many bytes came since [`Line::restart`].
    bytes: u64,
    /// The decoder's counts at that time.
    counted: Counts,
}

impl Line {
    /// A console of which nothing was read.
    pub fn new(expect: Expect) -> Self {
        Self {
            decoder: Decoder::new(expect),
            tail: Vec::new(),
            bytes: 0,
            counted: Counts::default(),
        }
    }

    /// Takes more of the console; the records of the guest and of its monitor in it.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Record> {
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        let items = self.decoder.feed(bytes);
        self.keep(items)
    }

    /// The console ended: records that only lack their line's end.
    pub fn finish(&mut self) -> Vec<Record> {
        let items = self.decoder.finish();
        self.keep(items)
    }

    fn keep(&mut self, items: Vec<Item>) -> Vec<Record> {
        let mut records = Vec::new();
        for item in items {
            match item {
                Item::Record(record) if [GUEST, MONITOR].contains(&&*record.source) => {
                    records.push(*record);
                }
                Item::Record(_) => {}
                Item::Console(text) => {
                    self.tail.extend(text);
                    let excess = self.tail.len().saturating_sub(TAIL_BYTES);
                    self.tail.drain(..excess);
                }
            }
        }
        records
    }

    /// A new launch begins on the same line.
    pub fn restart(&mut self) {
        self.bytes = 0;
        self.tail.clear();
        self.counted = self.decoder.counts();
    }

    /// How many bytes this launch wrote.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The nonce of the current launch as records write it, `0` where it is unknown.
    pub fn nonce(&self) -> String {
        self.decoder.nonce().unwrap_or_default().to_string()
    }

    /// What was wrong in this launch.
    pub fn counts(&self) -> Counts {
        let (now, before) = (self.decoder.counts(), self.counted);
        Counts {
            bad_lines: now.bad_lines.saturating_sub(before.bad_lines),
            stale_records: now.stale_records.saturating_sub(before.stale_records),
            lost_records: now.lost_records.saturating_sub(before.lost_records),
        }
    }

    /// The end of the console's text, escaped, at most 4 KiB.
    pub fn tail(&self) -> String {
        let text = ws_text::console(&self.tail);
        let mut start = text.len().saturating_sub(TAIL_BYTES);
        while !text.is_char_boundary(start) {
            start += 1;
        }
        text.get(start..).unwrap_or_default().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_is_short_and_escaped() {
        let mut line = Line::new(Expect::Learn);
        for _ in 0..3000 {
            line.feed(b"\x1b[31m\n");
        }
        let tail = line.tail();
        assert!(tail.len() <= TAIL_BYTES && tail.ends_with("[31m\n"));
        assert!(!tail.contains('\x1b'));
        assert_eq!(line.bytes(), 18_000);
        line.restart();
        assert_eq!((line.bytes(), line.tail()), (0, String::new()));
    }
}
