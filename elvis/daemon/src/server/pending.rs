//! Requests that an engine executes. One of the modules with `unsafe`.

use crate::blk::{Request, Status};
use crate::storage::{Blocks, Disk, Job, Operation, Registered};
use elvis_ring::{Chain, DirtyLog, Piece};
use std::os::fd::AsFd;

/// Modes of fallocate (linux/falloc.h).
const KEEP_SIZE: i32 = libc::FALLOC_FL_KEEP_SIZE;
const PUNCH_HOLE: i32 = libc::FALLOC_FL_PUNCH_HOLE;
const ZERO_RANGE: i32 = libc::FALLOC_FL_ZERO_RANGE;

/// Most bytes of a request that the engine gets at a time, a multiple of every block. Data in the page cache, or
/// written to it, io_uring copies in the I/O thread.
const PART: u64 = 256 << 10;

/// Most bytes of a direct request into the driver's own memory that the engine gets at a time: the kernel only looks up
/// its pages.
const DIRECT_PART: u64 = 1 << 20;

/// Request in flight.
#[derive(Debug)]
pub struct Pending {
    /// Slot of the request's queue.
    pub slot: usize,
    /// Buffers of the request.
    pub chain: Chain,
    pub request: Request,
    /// Time at which the request was taken.
    pub taken_ns: u64,
    /// Pieces of the part that is in flight: in memory that `chain` keeps mapped, or in `bounce`.
    pieces: Vec<Piece<'static>>,
    done: u64,
    /// Most bytes of a part, whatever the queue's pace.
    part: u64,
    /// Values of `done` at which this part begins and ends.
    from: u64,
    until: u64,
    /// Whether a write ends only when it is on the disk.
    dsync: bool,
    /// Whether the request's range is zeroed, and a sync follows.
    syncing: bool,
    /// Number of the request's sync that runs, see [`crate::storage::Syncs`].
    pub sync: Option<u64>,
    bounce: Option<Bounce>,
}

/// Aligned private memory, for buffers that O_DIRECT does not accept. A driver chooses the length of its requests, and
/// may name the same memory many times. So the memory has only one part of the request at a time.
#[derive(Debug)]
struct Bounce {
    memory: Vec<u8>,
    start: usize,
}

impl Bounce {
    /// Most bytes of a part.
    const PART: u64 = PART;

    /// Allocates the memory. None: there is not enough.
    fn new(bytes: u64, align: usize) -> Option<Self> {
        let bytes = bytes.min(Self::PART) as usize + align;
        let mut memory = Vec::new();
        memory.try_reserve_exact(bytes).ok()?;
        memory.resize(bytes, 0);
        let start = memory.as_mut_ptr().align_offset(align).min(align);
        Some(Self { memory, start })
    }

    fn bytes(&mut self, bytes: u64) -> &mut [u8] {
        &mut self.memory[self.start..self.start + bytes as usize]
    }
}

/// Instruction for a request after a result.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Submit the rest: nothing was done, or only a part.
    Again,
    /// A part was done, and to go on takes a while: see [`Pending::go_on`].
    Part,
    /// The request has ended.
    Ended(Status),
}

impl Pending {
    /// Makes a request to a file of these blocks, whose first part has at most `most` bytes. The error is the chain:
    /// there is no memory for the request.
    pub fn new(
        slot: usize,
        chain: Chain,
        request: Request,
        taken_ns: u64,
        dsync: bool,
        blocks: &Blocks,
        most: u64,
    ) -> Result<Self, Chain> {
        let mut pending = Self {
            slot,
            chain,
            request,
            taken_ns,
            pieces: Vec::new(),
            done: 0,
            part: PART,
            from: 0,
            until: 0,
            dsync,
            syncing: false,
            sync: None,
            bounce: None,
        };
        let bytes = request.data_bytes();
        let (memory, length) = (blocks.memory as usize, blocks.length as usize);
        let crooked = |piece: Piece| piece.address() % memory != 0 || piece.bytes() % length != 0;
        let bounced = pending.buffers(0, bytes).any(crooked);
        if bounced {
            pending.bounce = Bounce::new(bytes, memory);
        } else if memory > 1 {
            pending.part = DIRECT_PART;
        }
        // Room for the pieces of all parts is allocated now, while the request can still be refused.
        let segments = pending.chain.readable().len() + pending.chain.writable().len();
        let room = pending.pieces.try_reserve_exact(segments);
        if room.is_err() || (bounced && pending.bounce.is_none()) {
            return Err(pending.chain);
        }
        pending.next_part(most);
        Ok(pending)
    }

    /// Returns the bytes of memory that the request holds.
    pub fn held(&self) -> u64 {
        // The engine's threads have a copy of the pieces.
        let pieces = 2 * self.pieces.capacity() * size_of::<Piece>();
        let bounced = self.bounce.as_ref().map_or(0, |it| it.memory.capacity());
        (size_of::<Self>() + self.chain.held() + pieces + bounced) as u64
    }

    /// Returns the request's buffers of data, after the first `skip` bytes.
    fn buffers(&self, skip: u64, bytes: u64) -> Box<dyn Iterator<Item = Piece<'_>> + '_> {
        match self.request {
            Request::Read { .. } => Box::new(self.chain.writable_pieces(skip, bytes)),
            Request::Write { .. } => {
                let skip = crate::blk::HEADER.saturating_add(skip);
                Box::new(self.chain.readable_pieces(skip, bytes))
            }
            _ => Box::new(std::iter::empty()),
        }
    }

    /// Begins the next part, of at most `most` bytes.
    fn next_part(&mut self, most: u64) {
        let (done, left) = (self.done, self.request.data_bytes() - self.done);
        let bytes = left.min(self.part).min(most);
        (self.from, self.until) = (done, done + bytes);
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.clear();
        match &mut self.bounce {
            Some(bounce) => {
                let memory = bounce.bytes(bytes);
                if let Request::Write { .. } = self.request {
                    self.chain.read(crate::blk::HEADER + done, memory);
                }
                let place = memory.as_mut_ptr();
                // SAFETY: the request owns the buffer, and does not access it before the engine is done with it.
                pieces.push(unsafe { Piece::new(place, bytes as usize) });
            }
            None => {
                // SAFETY: the request owns the chain too, passes the pieces only to an engine, and lives until
                // that is done.
                let keep = |it: Piece| unsafe { Piece::new(it.address() as *mut u8, it.bytes()) };
                pieces.extend(self.buffers(done, bytes).map(keep));
            }
        }
        self.pieces = pieces;
    }

    /// Copies the bytes of this part that were read into private memory to the driver's buffers. False if that is not
    /// possible.
    fn give(&mut self) -> bool {
        let (Request::Read { .. }, Some(bounce)) = (self.request, &mut self.bounce) else {
            return true;
        };
        let bytes = self.until - self.from;
        self.chain.write(self.from, bounce.bytes(bytes))
    }

    /// Returns the rest of the request as a job for the engine. None if the disk is not a file.
    pub fn job<'a>(
        &'a self,
        token: u64,
        disk: &'a Disk,
        registered: &'a Registered,
    ) -> Option<Job<'a>> {
        let Disk::File { file, .. } = disk else {
            return None;
        };
        let (operation, offset) = match self.request {
            _ if self.syncing => (Operation::Flush, 0),
            Request::Read { offset, .. } => (Operation::Read, offset + self.done),
            Request::Write { offset, .. } => {
                (Operation::Write { dsync: self.dsync }, offset + self.done)
            }
            Request::Flush | Request::Id => (Operation::Flush, 0),
            Request::Discard { offset, bytes } => (
                Operation::Allocate {
                    mode: PUNCH_HOLE | KEEP_SIZE,
                    bytes,
                },
                offset,
            ),
            Request::Zero {
                offset,
                bytes,
                unmap,
            } => {
                let mode = if unmap { PUNCH_HOLE } else { ZERO_RANGE };
                (
                    Operation::Allocate {
                        mode: mode | KEEP_SIZE,
                        bytes,
                    },
                    offset,
                )
            }
        };
        Some(Job {
            token,
            fd: file.as_fd(),
            operation,
            offset,
            pieces: &self.pieces,
            registered,
        })
    }

    /// Whether the request's next operation syncs data.
    pub fn syncs(&self) -> bool {
        match self.request {
            Request::Flush => true,
            Request::Write { .. } => self.dsync,
            _ => self.syncing,
        }
    }

    /// Handles the engine's result.
    pub fn result(&mut self, result: i32) -> Outcome {
        if result == -libc::EINTR || result == -libc::EAGAIN {
            return Outcome::Again;
        }
        let ranged = matches!(self.request, Request::Discard { .. } | Request::Zero { .. });
        if result == -libc::EOPNOTSUPP && ranged {
            return Outcome::Ended(Status::Unsupported);
        }
        let Ok(moved) = u64::try_from(result) else {
            return Outcome::Ended(Status::IoError);
        };
        let wanted = self.request.data_bytes();
        if wanted == 0 {
            // Zeros are a write, which must be on the disk if writes must. A discard is not: its range is undefined.
            let zeroed = matches!(self.request, Request::Zero { .. }) && !self.syncing;
            if zeroed && self.dsync {
                self.syncing = true;
                return Outcome::Again;
            }
            return Outcome::Ended(Status::Ok);
        }
        self.done += moved;
        if self.done < self.until {
            // The file was truncated, or a device accepts no more.
            if moved == 0 {
                return Outcome::Ended(Status::IoError);
            }
            self.drop_front(moved as usize);
            return Outcome::Again;
        }
        let copies = self.bounce.is_some() && matches!(self.request, Request::Read { .. });
        if copies || self.done < wanted {
            return Outcome::Part;
        }
        Outcome::Ended(Status::Ok)
    }

    /// Goes on after a part: gives the driver the bytes read, and begins the next part, of at most `most` bytes. Also
    /// returns the bytes of the part that ended.
    pub fn go_on(&mut self, most: u64) -> (u64, Outcome) {
        let bytes = self.until - self.from;
        let outcome = if !self.give() {
            Outcome::Ended(Status::IoError)
        } else if self.done == self.request.data_bytes() {
            Outcome::Ended(Status::Ok)
        } else {
            self.next_part(most);
            Outcome::Again
        };
        (bytes, outcome)
    }

    fn drop_front(&mut self, mut bytes: usize) {
        let whole = self.pieces.iter().take_while(|piece| {
            let taken = piece.bytes() <= bytes;
            if taken {
                bytes -= piece.bytes();
            }
            taken
        });
        let whole = whole.count();
        self.pieces.drain(..whole);
        if let Some(first) = self.pieces.first_mut() {
            *first = first.skip(bytes);
        }
    }
}

/// Writes the status into a request's buffers, and marks the writes in the dirty log. Returns the number of bytes
/// written.
pub fn reply(
    chain: &Chain,
    request: Option<&Request>,
    status: Status,
    log: Option<&DirtyLog>,
) -> u32 {
    if !chain.write_last(status as u8) {
        return 0;
    }
    // "The device MAY write anything there" unless the status is Ok: this counts as not written.
    let data = match (request, status) {
        (Some(Request::Read { bytes, .. }), Status::Ok) => *bytes,
        (Some(Request::Id), Status::Ok) => crate::blk::ID as u64,
        _ => 0,
    };
    if let Some(log) = log {
        for segment in chain.writable() {
            log.mark(segment.guest, segment.bytes.into());
        }
    }
    // The status is the last byte of the buffers. If the bytes before it are not full, the driver does not use this
    // length.
    u32::try_from(data + 1).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(lengths: &[usize]) -> Pending {
        let bytes = lengths.iter().sum::<usize>() as u64;
        let request = Request::Write {
            offset: 4096,
            bytes,
        };
        let made = Pending::new(
            0,
            Chain::new(),
            request,
            0,
            false,
            &Blocks::SECTORS,
            u64::MAX,
        );
        let mut pending = made.unwrap();
        let mut at = 0x1000;
        pending.pieces = lengths
            .iter()
            .map(|&bytes| {
                // SAFETY: it is never accessed.
                let piece = unsafe { Piece::new(at as *mut u8, bytes) };
                at += bytes;
                piece
            })
            .collect();
        pending
    }

    #[test]
    fn a_short_write_goes_on_where_it_ended() {
        let mut pending = pending(&[512, 1024, 512]);
        assert_eq!(pending.result(-libc::EINTR), Outcome::Again);
        assert_eq!(pending.result(700), Outcome::Again);
        let left: Vec<_> = pending
            .pieces
            .iter()
            .map(|p| (p.address(), p.bytes()))
            .collect();
        assert_eq!(left, [(0x1000 + 700, 836), (0x1000 + 1536, 512)]);
        assert_eq!(pending.result(836), Outcome::Again);
        assert_eq!(pending.result(512), Outcome::Ended(Status::Ok));
    }

    /// Checks reads and writes of chains whose buffers begin and end anywhere, with each kind of file.
    #[test]
    fn buffers_that_a_file_does_not_take_are_bounced() {
        let memory = {
            let flags = rustix::fs::MemfdFlags::CLOEXEC;
            let file = std::fs::File::from(rustix::fs::memfd_create("pending", flags).unwrap());
            file.set_len(1 << 20).unwrap();
            file
        };
        let blocks = |memory, length| Blocks {
            memory,
            length,
            ..Blocks::SECTORS
        };
        let kinds = [
            blocks(1, 1),
            blocks(4, 512),
            blocks(512, 512),
            blocks(4096, 4096),
        ];
        let buffers = [
            [(0x8000, 4096), (0x9000, 4096)],
            [(0x8200, 4096), (0x9400, 4096)],
            [(0x8004, 4096), (0x9804, 4096)],
            [(0x8000, 512), (0x9000, 7680)],
            [(0x8000, 100), (0x9000, 8092)],
        ];
        for (kind, bounced) in kinds.iter().zip([0b00000, 0b10000, 0b10100, 0b11110]) {
            for (number, buffers) in buffers.iter().enumerate() {
                let mut driver = elvis_ring::driver::Driver::new(&memory, 8, false).unwrap();
                let data = buffers.map(|(guest, bytes)| (guest, bytes, true));
                driver.submit(&[&[(0x4000, 16, false)], &data[..], &[(0x5000, 1, true)]].concat());
                let (mut ring, mut chain) = (driver.device().unwrap(), Chain::new());
                ring.look().unwrap();
                assert!(ring.take(&mut chain).unwrap());
                let request = Request::Read {
                    offset: 0,
                    bytes: 8192,
                };
                let mut pending =
                    Pending::new(0, chain, request, 0, false, kind, u64::MAX).unwrap();
                let is_bounced = pending.bounce.is_some();
                assert_eq!(is_bounced, bounced >> number & 1 == 1, "{kind:?}, {number}");
                let aligned = |piece: &Piece| {
                    piece.address() % kind.memory as usize == 0
                        && piece.bytes() % kind.length as usize == 0
                };
                assert!(pending.pieces.iter().all(aligned));
                let mut ended = pending.result(8192);
                if is_bounced {
                    assert_eq!(ended, Outcome::Part);
                    ended = pending.go_on(u64::MAX).1;
                }
                assert_eq!(ended, Outcome::Ended(Status::Ok));
            }
        }
    }

    /// Checks that a long request is submitted in parts: data in the page cache are copied when a part is submitted.
    #[test]
    fn a_long_request_is_submitted_part_by_part() {
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        let memory = std::fs::File::from(rustix::fs::memfd_create("pending", flags).unwrap());
        memory.set_len(4 << 20).unwrap();
        let direct = Blocks {
            memory: 512,
            length: 512,
            ..Blocks::SECTORS
        };
        for (blocks, part) in [(Blocks::SECTORS, PART), (direct, DIRECT_PART)] {
            let mut driver = elvis_ring::driver::Driver::new(&memory, 8, false).unwrap();
            let each = 3 << 19;
            let (first, second) = (0x10_0000, 0x10_0000 + u64::from(each));
            let data = [(first, each, false), (second, each - 512, false)];
            driver.submit(&[&[(0x4000, 16, false)], &data[..], &[(0x5000, 1, true)]].concat());
            let (mut ring, mut chain) = (driver.device().unwrap(), Chain::new());
            ring.look().unwrap();
            assert!(ring.take(&mut chain).unwrap());
            let bytes = u64::from(2 * each - 512);
            let request = Request::Write { offset: 0, bytes };
            let mut pending = Pending::new(0, chain, request, 0, false, &blocks, u64::MAX).unwrap();
            let start = pending.pieces[0].address();
            let mut done = 0;
            while done < bytes {
                let submitted = pending
                    .pieces
                    .iter()
                    .map(|it| it.bytes() as u64)
                    .sum::<u64>();
                assert_eq!(submitted, part.min(bytes - done));
                assert_eq!(pending.pieces[0].address(), start + done as usize);
                done += submitted;
                let result = pending.result(submitted as i32);
                if done < bytes {
                    assert_eq!(
                        (result, pending.go_on(u64::MAX).1),
                        (Outcome::Part, Outcome::Again)
                    );
                } else {
                    assert_eq!(result, Outcome::Ended(Status::Ok));
                }
            }
        }
    }

    /// Checks a read of three parts and a bit, the second of which comes in two pieces.
    #[test]
    fn a_long_request_is_bounced_part_by_part() {
        const PART: usize = Bounce::PART as usize;
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        let memory = std::fs::File::from(rustix::fs::memfd_create("pending", flags).unwrap());
        memory.set_len(8 << 20).unwrap();
        let mut driver = elvis_ring::driver::Driver::new(&memory, 8, false).unwrap();
        let bytes = 3 * PART + 512;
        let buffers = [
            (0x4000, 16, false),
            (0x10_0001, bytes as u32, true),
            (0x5000, 1, true),
        ];
        driver.submit(&buffers).unwrap();
        let (mut ring, mut chain) = (driver.device().unwrap(), Chain::new());
        ring.look().unwrap();
        assert!(ring.take(&mut chain).unwrap());
        let request = Request::Read {
            offset: 0,
            bytes: bytes as u64,
        };
        let blocks = Blocks {
            memory: 512,
            length: 512,
            ..Blocks::SECTORS
        };
        let mut pending = Pending::new(0, chain, request, 0, false, &blocks, u64::MAX).unwrap();
        let held = pending.held();
        assert!(held > Bounce::PART && held < 2 * Bounce::PART, "{held}");
        let mut done = 0;
        let results = [PART, 1024, PART - 1024, PART, 512];
        for (number, moved) in results.into_iter().enumerate() {
            assert_eq!(pending.done, done as u64);
            let [piece] = &pending.pieces[..] else {
                panic!("not one piece");
            };
            let rest = if number == 2 { 1024 } else { 0 };
            assert_eq!(piece.bytes(), (bytes - done + rest).min(PART) - rest);
            // What the engine does.
            let bounce = pending.bounce.as_mut().unwrap();
            bounce.bytes(Bounce::PART)[rest..rest + moved].fill(number as u8 + 1);
            done += moved;
            let outcome = match done == bytes {
                true => Outcome::Ended(Status::Ok),
                false => Outcome::Again,
            };
            let ends_part = number != 1;
            let result = pending.result(moved as i32);
            if ends_part {
                assert_eq!(
                    (result, pending.go_on(u64::MAX).1),
                    (Outcome::Part, outcome)
                );
            } else {
                assert_eq!(result, Outcome::Again);
            }
            assert_eq!(pending.held(), held);
        }
        let data = driver.memory().span(0x10_0001, bytes as u64).unwrap();
        let byte = |at| data.load_u8(at, std::sync::atomic::Ordering::Relaxed);
        let mut at = 0;
        for (number, moved) in results.into_iter().enumerate() {
            assert!((at..at + moved).all(|at| byte(at) == number as u8 + 1));
            at += moved;
        }
    }

    #[test]
    fn errors_end_it() {
        assert_eq!(pending(&[512]).result(0), Outcome::Ended(Status::IoError));
        assert_eq!(
            pending(&[512]).result(-libc::ENOSPC),
            Outcome::Ended(Status::IoError)
        );
        let mut discard = pending(&[]);
        discard.request = Request::Discard {
            offset: 0,
            bytes: 512,
        };
        assert_eq!(
            discard.result(-libc::EOPNOTSUPP),
            Outcome::Ended(Status::Unsupported)
        );
        assert_eq!(discard.result(0), Outcome::Ended(Status::Ok));
    }
}
