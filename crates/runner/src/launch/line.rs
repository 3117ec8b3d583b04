//! A console while it is read: its records, and the end of its other text.

use crate::launch::marks::{self, Heard};
use crate::launch::state::{BELOW, Event, GUEST, LaunchReport};
use serde_json::Value;
use ws_machines::earshot::Chunk;
use ws_records::{Counts, Decoder, Expect, Item};
use ws_results::Launch;

/// Sources of records that run the guest: the project's monitor, its hypervisor, and the monitor below a nested
/// machine's. Exits of other sources (a guest hypervisor, Xen's dom0) are part of the counts of these.
const MONITORS: [&str; 3] = ["vmm", "neve", BELOW];

/// Bytes of the console's end that results keep.
const TAIL_BYTES: usize = 4096;

/// A console that is being read.
#[derive(Debug)]
pub struct Line {
    decoder: Decoder,
    /// Last bytes of console text.
    tail: Vec<u8>,
    /// Number of bytes since [`Line::restart`].
    bytes: u64,
    /// Counts of the decoder at [`Line::restart`].
    counted: Counts,
}

impl Line {
    /// A console of which nothing has been read.
    pub fn new(expect: Expect) -> Self {
        Self {
            decoder: Decoder::new(expect),
            tail: Vec::new(),
            bytes: 0,
            counted: Counts::default(),
        }
    }

    /// Lets the line expect the guest's marks, if `marks`.
    pub fn with_marks(self, marks: bool) -> Self {
        if !marks {
            return self;
        }
        let decoder = self.decoder.with_marks();
        Self { decoder, ..self }
    }

    /// Takes more bytes of the console, which arrived in these chunks. Returns the records of the guest
    /// and of its monitor, and the guest's marks.
    pub fn feed(&mut self, bytes: &[u8], chunks: &[Chunk]) -> Vec<Event<'static>> {
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        let items = self.decoder.feed(bytes);
        self.keep(items, marks::times(bytes, chunks))
    }

    /// Ends the console: returns a record that only lacks its newline.
    pub fn finish(&mut self) -> Vec<Event<'static>> {
        let items = self.decoder.finish();
        self.keep(items, Vec::new())
    }

    /// Turns items into events. `times`: times of the marks, in order.
    fn keep(&mut self, items: Vec<Item>, times: Vec<Option<u64>>) -> Vec<Event<'static>> {
        let mut events = Vec::new();
        let mut times = times.into_iter();
        for item in items {
            match item {
                Item::Record(record) => {
                    if record.source == GUEST || MONITORS.contains(&&*record.source) {
                        events.push(Event::Record(record));
                    }
                }
                Item::Mark(mark) => events.push(Event::Mark(Heard {
                    mark,
                    ticks: times.next().flatten(),
                })),
                Item::Console(text) => {
                    self.tail.extend(text);
                    let excess = self.tail.len().saturating_sub(TAIL_BYTES);
                    self.tail.drain(..excess);
                }
            }
        }
        events
    }

    /// Begins a new launch on the same line.
    pub fn restart(&mut self) {
        self.bytes = 0;
        self.tail.clear();
        self.counted = self.decoder.counts();
    }

    /// Number of bytes that this launch wrote.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Describes the launch of this report for a result, from its console alone.
    pub fn launch(&self, report: &LaunchReport) -> Launch {
        let (now, before) = (self.decoder.counts(), self.counted);
        let hello = report.hello.as_ref();
        Launch {
            nonce: self.decoder.nonce().unwrap_or_default().to_string(),
            vcpus: hello.map_or(0, |hello| hello.cpus),
            // If somebody else booted the machine, only the benchmarks that began are known.
            asked: report.rows.iter().map(|row| row.bench.clone()).collect(),
            hello: hello.map(|hello| Value::Object(hello.received.clone())),
            first_record_ms: None,
            wall_ms: 0,
            end: report.end,
            end_detail: report.detail.clone(),
            bad_lines: now.bad_lines.saturating_sub(before.bad_lines),
            stale_records: now.stale_records.saturating_sub(before.stale_records),
            lost_records: now.lost_records.saturating_sub(before.lost_records),
            console_tail: self.tail(),
        }
    }

    /// The end of the console's text, escaped; at most `TAIL_BYTES`.
    fn tail(&self) -> String {
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
    use ws_records::Mark;

    #[test]
    fn marks_come_with_the_times_of_their_chunks() {
        let mut line = Line::new(Expect::Learn).with_marks(true);
        let chunks = [(5, 7), (1, 8), (3, 9)].map(|(bytes, ticks)| Chunk { bytes, ticks });
        let events = line.feed(b"text\n\x01\x03\x02x", &chunks);
        let heard: Vec<(Mark, Option<u64>)> = events
            .iter()
            .map(|event| match event {
                Event::Mark(heard) => (heard.mark, heard.ticks),
                other => panic!("{other:?}"),
            })
            .collect();
        let wanted = [
            (Mark::Control, Some(8)),
            (Mark::End, None),
            (Mark::Run, None),
        ];
        assert_eq!(heard, wanted);
        line.feed(b"\n", &[]);
        assert_eq!(line.tail(), "text\nx\n");
    }

    #[test]
    fn a_tail_is_short_and_escaped() {
        let mut line = Line::new(Expect::Learn);
        for _ in 0..3000 {
            line.feed(b"\x1b[31m\n", &[]);
        }
        let tail = line.tail();
        assert!(tail.len() <= TAIL_BYTES && tail.ends_with("[31m\n"));
        assert!(!tail.contains('\x1b'));
        assert_eq!(line.bytes(), 18_000);
        line.restart();
        assert_eq!((line.bytes(), line.tail()), (0, String::new()));
    }
}
