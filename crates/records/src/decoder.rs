//! From bytes as they come to records and console text.
//!
//! The decoder holds at most one line ([`MAX_LINE_BYTES`]) between calls, accepts any bytes in any
//! chunking, and never panics. Every byte that goes in is accounted for: it comes out as console
//! text or as a mark, or it was part of a record line that is yielded, or counted as stale.

use crate::kinds::Kind;
use crate::line::{self, MARKER, MAX_LINE_BYTES, Nonce};
use crate::mark::Mark;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Which records are ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Only those with this nonce: the runner launched the machine itself. Should the machine
    /// restart by itself, its second `hello` begins launch 2.
    Exact(Nonce),
    /// The first `hello` says which: somebody else launched the machine (`log:`, `serial:`). A
    /// later `hello` with another nonce, or of a source that spoke already, begins a new launch.
    /// Records before the first `hello` count as stale.
    Learn,
}

/// A record that is ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// From 1; one more for each new launch on this line.
    pub launch: u64,
    /// Who speaks.
    pub source: String,
    /// The launch's, as it came.
    pub nonce: Nonce,
    /// Its number among the records of this source in this launch.
    pub seq: u64,
    /// What it says.
    pub kind: Kind,
    /// The whole object as it came.
    pub object: Map<String, Value>,
}

/// What the line held, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// Boxed: a record is many times larger than a piece of text.
    Record(Box<Record>),
    /// Bytes of console text, raw: they may be anything. Whole lines with their ends, except for
    /// what stood before a record and for lines longer than [`MAX_LINE_BYTES`].
    Console(Vec<u8>),
    /// A mark, as it came: where it stood inside a line, it comes before what that line holds.
    Mark(Mark),
}

/// What was not as it should be, since the decoder was made. Saturating.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lines that began as records and were none; their text is console text.
    pub bad_lines: u64,
    /// Records of another launch, or whose sequence number had passed already. Those of nonce 0 are
    /// of no launch, and are left out without a count.
    pub stale_records: u64,
    /// Records missing by their sequence numbers.
    pub lost_records: u64,
}

/// An incremental reader of one serial line.
#[derive(Clone, Debug)]
pub struct Decoder {
    expect: Expect,
    /// The nonce of the current launch.
    nonce: Option<Nonce>,
    launch: u64,
    /// Next sequence number by source, in the current launch.
    next_seq: BTreeMap<String, u64>,
    /// The current line so far, as far as it may still be or hold a record.
    line: Vec<u8>,
    /// The current line held a marker that was given up because the line was too long.
    dead_marker: bool,
    counts: Counts,
    /// Marks are taken out of the line.
    marks: bool,
}

/// So many sources may speak in a launch; records of further ones are stale. It bounds memory:
/// names are free for a hostile guest to choose.
const MAX_SOURCES: usize = 64;

impl Decoder {
    /// A decoder at the beginning of a line.
    pub fn new(expect: Expect) -> Self {
        Decoder {
            expect,
            nonce: match expect {
                Expect::Exact(nonce) => Some(nonce),
                Expect::Learn => None,
            },
            launch: 1,
            next_seq: BTreeMap::new(),
            line: Vec::new(),
            dead_marker: false,
            counts: Counts::default(),
            marks: false,
        }
    }

    /// Takes marks out of the line, wherever they stand: the guest was asked for them. Where it
    /// was not, such a byte is a byte like any other.
    pub fn with_marks(self) -> Self {
        Decoder {
            marks: true,
            ..self
        }
    }

    /// Takes the next bytes, however cut, and returns what became complete by them.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Item> {
        let mut items = Vec::new();
        if !self.marks {
            self.feed_line(bytes, &mut items);
            return items;
        }
        for piece in bytes.split_inclusive(|&byte| Mark::of(byte).is_some()) {
            match piece.split_last() {
                Some((&last, text)) if Mark::of(last).is_some() => {
                    self.feed_line(text, &mut items);
                    items.extend(Mark::of(last).map(Item::Mark));
                }
                _ => self.feed_line(piece, &mut items),
            }
        }
        items
    }

    /// Takes bytes without marks.
    fn feed_line(&mut self, bytes: &[u8], items: &mut Vec<Item>) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = MAX_LINE_BYTES - self.line.len();
            let window = &rest[..room.min(rest.len())];
            match window.iter().position(|&byte| byte == b'\n') {
                Some(end) => {
                    self.line.extend_from_slice(&window[..=end]);
                    rest = &rest[end + 1..];
                    self.end_of_line(items);
                }
                None => {
                    self.line.extend_from_slice(window);
                    rest = &rest[window.len()..];
                    if self.line.len() == MAX_LINE_BYTES {
                        self.overflow(items);
                    }
                }
            }
        }
    }

    /// The line has ended: what is held comes out, as a record when it lacks only its newline.
    pub fn finish(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        self.end_of_line(&mut items);
        items
    }

    /// What was wrong so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The nonce of the current launch; `None` while it is still to be learned.
    pub fn nonce(&self) -> Option<Nonce> {
        self.nonce
    }

    /// A whole line is held (or the last one, without its end): split it into text and record.
    fn end_of_line(&mut self, items: &mut Vec<Item>) {
        let mut line = std::mem::take(&mut self.line);
        let mut marked = std::mem::take(&mut self.dead_marker);
        let found = markers_from_the_last(&line)
            .find_map(|start| Some((start, line::parse(without_end(&line[start..]))?)));
        let record = match found {
            Some((start, Ok(record))) => {
                line.truncate(start);
                Some(record)
            }
            Some((_, Err(_))) => {
                marked = true;
                None
            }
            None => None,
        };
        // What stands before a record may itself be one that was cut short.
        marked |= find_marker(&line).is_some();
        self.counts.bad_lines = self.counts.bad_lines.saturating_add(u64::from(marked));
        push_console(items, line);
        if let Some(record) = record.and_then(|record| self.admit(record)) {
            items.push(Item::Record(Box::new(record)));
        }
    }

    /// The line is as long as a line may be and has no end yet: give up what can no longer begin
    /// a record, and keep what still can.
    fn overflow(&mut self, items: &mut Vec<Item>) {
        // A marker at the very start has had its 4096 bytes.
        let from = usize::from(self.line.starts_with(MARKER));
        self.dead_marker |= from == 1;
        let keep = match find_marker(&self.line[from..]) {
            Some(at) => from + at,
            None => self.line.len() - partial_marker(&self.line),
        };
        push_console(items, self.line.drain(..keep).collect());
    }

    /// Decides whether a well-formed record is ours, and keeps the books of sequence numbers.
    fn admit(&mut self, mut record: Record) -> Option<Record> {
        let expected = self.next_seq.get(&record.source).copied();
        if matches!(record.kind, Kind::Hello(_)) {
            let ours = self.nonce == Some(record.nonce);
            let learns = self.expect == Expect::Learn && !ours;
            let restarts = ours && expected.is_some_and(|next| record.seq < next);
            if learns || restarts {
                self.launch += u64::from(self.nonce.is_some());
                self.nonce = Some(record.nonce);
                self.next_seq.clear();
            }
        }
        let expected = self.next_seq.get(&record.source).copied();
        let known = expected.is_some() || self.next_seq.len() < MAX_SOURCES;
        let next = expected.unwrap_or(0);
        if self.nonce != Some(record.nonce) || record.seq < next || !known {
            // Who was told of no launch speaks of none: a monitor below the guest's, for one.
            let of_none = record.nonce == Nonce(0) && self.nonce != Some(record.nonce);
            let stale = u64::from(!of_none);
            self.counts.stale_records = self.counts.stale_records.saturating_add(stale);
            return None;
        }
        self.counts.lost_records = self.counts.lost_records.saturating_add(record.seq - next);
        self.next_seq
            .insert(record.source.clone(), record.seq.saturating_add(1));
        record.launch = self.launch;
        Some(record)
    }
}

/// Adds text, if any, without the spare room of the line that it was cut from.
fn push_console(items: &mut Vec<Item>, mut text: Vec<u8>) {
    if !text.is_empty() {
        text.shrink_to_fit();
        items.push(Item::Console(text));
    }
}

/// The line without `\n`, and without each `\r` before it: one for each terminal on the way.
fn without_end(line: &[u8]) -> &[u8] {
    let mut line = line.strip_suffix(b"\n").unwrap_or(line);
    while let Some(shorter) = line.strip_suffix(b"\r") {
        line = shorter;
    }
    line
}

/// Where the first marker stands.
fn find_marker(bytes: &[u8]) -> Option<usize> {
    bytes
        .windows(MARKER.len())
        .position(|window| window == MARKER)
}

/// Where markers stand, the last first.
fn markers_from_the_last(bytes: &[u8]) -> impl Iterator<Item = usize> {
    bytes
        .windows(MARKER.len())
        .enumerate()
        .rev()
        .filter(|(_, window)| *window == MARKER)
        .map(|(at, _)| at)
}

/// How many bytes at the end may be the beginning of a marker.
fn partial_marker(bytes: &[u8]) -> usize {
    (1..MARKER.len())
        .rev()
        .find(|&len| bytes.ends_with(&MARKER[..len]))
        .unwrap_or(0)
}
