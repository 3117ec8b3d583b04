//! Splits the bytes of a serial line into records and console text.
//!
//! The decoder holds at most one line ([`MAX_LINE_BYTES`]) between calls, accepts any bytes in any
//! chunking, and never panics. Every input byte is accounted for: it is returned as console text or
//! as a mark, or it belongs to a record line that is returned or counted as stale.

use crate::kinds::Kind;
use crate::line::{self, MARKER, MAX_LINE_BYTES, Nonce};
use crate::mark::Mark;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Launches whose records are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Only the launch with this nonce: the runner launched the machine itself. If the machine restarts by itself, its
    /// second `hello` begins launch 2.
    Exact(Nonce),
    /// The launch of the first `hello`, by its nonce: somebody else launched the machine (`log:`, `serial:`). A later
    /// `hello` with another nonce, or from a source that already sent records, begins a new launch. Records before the
    /// first `hello` count as stale.
    Learn,
}

/// An accepted record.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Number of the launch on this line, from 1.
    pub launch: u64,
    /// The sender.
    pub source: String,
    /// The launch's nonce, as received.
    pub nonce: Nonce,
    /// Sequence number of the record among those of its source in this launch.
    pub seq: u64,
    /// The typed content.
    pub kind: Kind,
    /// The whole object, as received.
    pub object: Map<String, Value>,
}

/// An item of the line. Items are in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A record. Boxed because it is many times larger than the other variants.
    Record(Box<Record>),
    /// Raw console bytes. Whole lines with their ends, except for text before a record on its line
    /// and for lines longer than [`MAX_LINE_BYTES`].
    Console(Vec<u8>),
    /// A mark. One inside a line is returned before the content of that line.
    Mark(Mark),
}

/// Counts of faults since the decoder was created. Saturating.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lines with a marker that starts no valid record; that text is returned as console text.
    pub bad_lines: u64,
    /// Records of another launch, or with a sequence number that had passed already. Records with
    /// nonce 0 belong to no launch: they are dropped without being counted.
    pub stale_records: u64,
    /// Records that are missing, by the gaps in the sequence numbers.
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
    /// The current line, without the bytes that can no longer belong to a record.
    line: Vec<u8>,
    /// The current line had a marker that was given up because the line was too long.
    dead_marker: bool,
    counts: Counts,
    /// Marks are taken out of the line.
    marks: bool,
}

/// The most sources in a launch; records of further ones are stale. The limit bounds memory: a hostile guest can make
/// up any number of names.
const MAX_SOURCES: usize = 64;

impl Decoder {
    /// Makes a decoder at the start of a line.
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

    /// Makes a decoder that also finds marks, anywhere in a line; for a guest that was asked for them. To other
    /// decoders these bytes are ordinary bytes.
    pub fn with_marks(self) -> Self {
        Decoder {
            marks: true,
            ..self
        }
    }

    /// Takes the next bytes, in any chunking, and returns the items that they complete.
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

    /// Ends the input. Returns the held bytes, as a record if only its newline is missing.
    pub fn finish(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        self.end_of_line(&mut items);
        items
    }

    /// Returns the counts of faults so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The nonce of the current launch; `None` before the first `hello` with [`Expect::Learn`].
    pub fn nonce(&self) -> Option<Nonce> {
        self.nonce
    }

    /// Splits the held line (whole, or the last one without its newline) into text and record.
    fn end_of_line(&mut self, items: &mut Vec<Item>) {
        let mut line = std::mem::take(&mut self.line);
        let mut marked = std::mem::take(&mut self.dead_marker);
        let found = markers_from_the_last(&line)
            .find_map(|start| Some((start, line::parse(without_newline(&line[start..]))?)));
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
        // The text before a record may itself be a truncated record.
        marked |= find_marker(&line).is_some();
        self.counts.bad_lines = self.counts.bad_lines.saturating_add(u64::from(marked));
        push_console(items, line);
        if let Some(record) = record.and_then(|record| self.admit(record)) {
            items.push(Item::Record(Box::new(record)));
        }
    }

    /// Handles a line of the maximum length without a newline. Returns as text the bytes that can no longer start a
    /// record, and keeps the rest.
    fn overflow(&mut self, items: &mut Vec<Item>) {
        // A marker at the very start has used up its 4096 bytes.
        let from = usize::from(self.line.starts_with(MARKER));
        self.dead_marker |= from == 1;
        let keep = match find_marker(&self.line[from..]) {
            Some(at) => from + at,
            None => self.line.len() - partial_marker(&self.line),
        };
        push_console(items, self.line.drain(..keep).collect());
    }

    /// Decides whether to accept a well-formed record, and tracks the sequence numbers.
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
            // A program that was given no nonce sends 0, such as a monitor below the guest's.
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

/// Adds text, if any, without the spare capacity of the line buffer.
fn push_console(items: &mut Vec<Item>, mut text: Vec<u8>) {
    if !text.is_empty() {
        text.shrink_to_fit();
        items.push(Item::Console(text));
    }
}

fn without_newline(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

/// The offset of the first marker.
fn find_marker(bytes: &[u8]) -> Option<usize> {
    bytes
        .windows(MARKER.len())
        .position(|window| window == MARKER)
}

/// The offsets of the markers, the last one first.
fn markers_from_the_last(bytes: &[u8]) -> impl Iterator<Item = usize> {
    bytes
        .windows(MARKER.len())
        .enumerate()
        .rev()
        .filter(|(_, window)| *window == MARKER)
        .map(|(at, _)| at)
}

/// How many bytes at the end may be the start of a marker.
fn partial_marker(bytes: &[u8]) -> usize {
    (1..MARKER.len())
        .rev()
        .find(|&len| bytes.ends_with(&MARKER[..len]))
        .unwrap_or(0)
}
