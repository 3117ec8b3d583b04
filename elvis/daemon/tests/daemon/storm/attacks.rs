//! The grammar of attacks: a device, the features to which its driver agrees, the driver's requests, and what driver and
//! front-end do meanwhile.

use crate::random::Random;
use elvis::net::Header;

/// Feature bits of disks: the greatest size and number of segments.
const BOUNDS: u64 = 1 << 1 | 1 << 2;
const EVENT_IDX: u64 = 1 << 29;
const MIB: u64 = 1 << 20;

/// The attacker's devices, by name.
pub const DISKS: [&str; 5] = ["ram", "tmp", "file", "direct", "null"];
pub const PORT: &str = "port";
/// Most bytes of a request that uses a real disk, or memory that stays used: an attack ends only after its requests in
/// flight.
const MOST: u64 = 4 * MIB;

/// One attack.
#[derive(Debug, Clone)]
pub struct Attack {
    pub device: &'static str,
    pub packed: bool,
    /// Bits of the features to which its driver does not agree.
    pub without: u64,
    pub calls: Calls,
    pub asks: Asks,
    pub meanwhile: Meanwhile,
    /// If no reply comes for so long, it connects anew.
    pub patience_ms: u64,
}

/// The eventfds for calls and errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    Usual,
    Full,
    /// Each has so many waiters.
    Watched(usize),
}

/// What its driver keeps in the ring.
#[derive(Debug, Clone)]
pub enum Asks {
    Nothing,
    Requests(Vec<Request>),
    Frames(Vec<Frame>),
}

/// A request to a disk: its segments have the same length, and their addresses are `step` bytes apart.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    pub kind: u32,
    pub sector: u64,
    pub segments: u64,
    pub bytes: u64,
    pub step: u64,
    pub odd: u64,
    pub table: Table,
    /// The segments have the wrong direction.
    pub reversed: bool,
    /// The status is missing.
    pub cut: bool,
}

/// Where the descriptors of a request are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    Ring,
    Indirect,
    /// The header in the ring, the rest in a table.
    Mixed,
    /// In a table whose first descriptor points to the table itself.
    Nested,
}

/// A frame to a switch.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    pub bytes: usize,
    pub to: u8,
    /// Each frame has another sender's address.
    pub moves: bool,
    pub header: Header,
    /// Bytes of each of its buffers.
    pub part: usize,
}

/// What driver and front-end do meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meanwhile {
    Wait,
    Kicks,
    /// The ring is stopped and started.
    Restarts,
    Features,
    CallsAnew,
    Enables,
    Tables,
    /// Regions of so many bytes are added, until one is refused, and removed.
    Regions(u64),
    Connections,
    Configuration,
    Announcements,
    /// Random messages, on separate connections.
    Messages,
    /// Pages of its memory are freed.
    Punches,
    /// Its memory file is cut.
    Shrinks,
    /// Its ring has no kicks: it is polled.
    NoKicks,
    /// Its ring names descriptors that do not exist.
    BadHeads,
    /// It offers many small buffers for frames.
    SmallBuffers,
}

const MEANWHILE: [Meanwhile; 18] = [
    Meanwhile::Wait,
    Meanwhile::Kicks,
    Meanwhile::Restarts,
    Meanwhile::Features,
    Meanwhile::CallsAnew,
    Meanwhile::Enables,
    Meanwhile::Tables,
    Meanwhile::Regions(4096),
    Meanwhile::Regions(1 << 40),
    Meanwhile::Connections,
    Meanwhile::Configuration,
    Meanwhile::Announcements,
    Meanwhile::Messages,
    Meanwhile::Punches,
    Meanwhile::Shrinks,
    Meanwhile::NoKicks,
    Meanwhile::BadHeads,
    Meanwhile::SmallBuffers,
];

pub const READ: u32 = 0;
pub const WRITE: u32 = 1;
pub const FLUSH: u32 = 4;
pub const ID: u32 = 8;
pub const DISCARD: u32 = 11;
pub const ZERO: u32 = 13;

impl Attack {
    /// A disk's driver that agreed to no bounds, and whose front-end is quiet.
    fn disk(device: &'static str, request: Request) -> Self {
        Self {
            device,
            packed: false,
            without: BOUNDS,
            calls: Calls::Usual,
            asks: Asks::Requests(vec![request]),
            meanwhile: Meanwhile::Wait,
            patience_ms: 1000,
        }
    }

    fn port(frame: Frame) -> Self {
        Self {
            asks: Asks::Frames(vec![frame]),
            ..Self::disk(PORT, Request::small(READ))
        }
    }

    /// Attacks that worked once, or might.
    pub fn known() -> Vec<Self> {
        let gib = Request {
            segments: 32,
            bytes: 32 * MIB,
            step: 0,
            odd: 1,
            ..Request::small(READ)
        };
        let bytes = Request {
            segments: 512,
            bytes: 1,
            step: 64,
            ..Request::small(READ)
        };
        let long = Request {
            segments: 2,
            bytes: 32 * MIB,
            ..Request::small(WRITE)
        };
        let idle = |meanwhile| Self {
            asks: Asks::Nothing,
            meanwhile,
            ..Self::disk("ram", gib)
        };
        let small = |meanwhile| Self {
            meanwhile,
            ..Self::disk("null", Request::small(READ))
        };
        let calls = |calls, meanwhile| Self {
            calls,
            ..small(meanwhile)
        };
        let mut all = vec![
            Self::disk("ram", bytes),
            Self::disk("ram", Request { kind: ZERO, ..long }),
            idle(Meanwhile::Kicks),
            idle(Meanwhile::NoKicks),
            idle(Meanwhile::Regions(1 << 46)),
            idle(Meanwhile::Connections),
            idle(Meanwhile::Messages),
            idle(Meanwhile::BadHeads),
            small(Meanwhile::Restarts),
            small(Meanwhile::Connections),
            small(Meanwhile::Punches),
            small(Meanwhile::Shrinks),
            calls(Calls::Full, Meanwhile::Restarts),
            calls(Calls::Full, Meanwhile::BadHeads),
            calls(Calls::Watched(4000), Meanwhile::Wait),
            Self::port(Frame::to_all(60_000)),
            Self::port(Frame::to_all(64)),
            Self {
                meanwhile: Meanwhile::Announcements,
                ..Self::port(Frame {
                    moves: true,
                    ..Frame::to_all(1514)
                })
            },
        ];
        let many = Request {
            segments: 200,
            bytes: MIB,
            step: 4096,
            ..Request::small(READ)
        };
        all.push(Self {
            patience_ms: 3,
            ..Self::disk("file", many)
        });
        all.push(Self::disk("direct", many));
        for device in DISKS {
            all.push(Self::disk(device, gib));
            all.push(Self::disk(device, long));
        }
        for table in [Table::Mixed, Table::Nested] {
            all.push(Self::disk("ram", Request { table, ..bytes }));
        }
        all
    }

    /// Most bytes of a request.
    pub fn most(&self, request: &Request) -> u64 {
        match (request.kind, self.device) {
            (READ, "ram" | "tmp" | "null") => u64::MAX,
            _ => MOST,
        }
    }

    /// Any attack.
    pub fn any(random: &mut Random) -> Self {
        let network = random.one_in(3);
        let asks = match random.below(8) {
            0 => Asks::Nothing,
            _ if network => Asks::Frames((0..4).map(|_| Frame::any(random)).collect()),
            _ => Asks::Requests((0..4).map(|_| Request::any(random)).collect()),
        };
        let usual = random.one_in(2);
        Self {
            device: if network { PORT } else { random.of(&DISKS) },
            packed: random.one_in(3),
            without: random.of(&[0, BOUNDS, BOUNDS, EVENT_IDX | BOUNDS]),
            calls: match random.below(8) {
                0 => Calls::Full,
                1 => Calls::Watched(1000),
                _ => Calls::Usual,
            },
            asks,
            meanwhile: match usual {
                true => Meanwhile::Wait,
                false => random.of(&MEANWHILE),
            },
            patience_ms: random.of(&[3, 1000]),
        }
    }
}

impl Request {
    fn small(kind: u32) -> Self {
        Self {
            kind,
            sector: 0,
            segments: 1,
            bytes: 4096,
            step: 0,
            odd: 0,
            table: Table::Indirect,
            reversed: false,
            cut: false,
        }
    }

    fn any(random: &mut Random) -> Self {
        Self {
            kind: random.of(&[READ, READ, READ, WRITE, WRITE, FLUSH, ID, DISCARD, ZERO, 99]),
            sector: random.of(&[0, 0, 0, 1, 1024, 1 << 21, u64::MAX]),
            segments: random.of(&[1, 1, 2, 32, 126, 200, 512, 1000]),
            bytes: random.of(&[0, 1, 511, 512, 4096, 64 << 10, MIB, 32 * MIB]),
            step: random.of(&[0, 1, 64, 4096]),
            odd: random.of(&[0, 0, 1, 512]),
            table: random.of(&[
                Table::Ring,
                Table::Indirect,
                Table::Indirect,
                Table::Mixed,
                Table::Nested,
            ]),
            reversed: random.one_in(16),
            cut: random.one_in(16),
        }
    }
}

impl Frame {
    fn to_all(bytes: usize) -> Self {
        Self {
            bytes,
            to: 0xff,
            moves: false,
            header: Header::default(),
            part: usize::MAX,
        }
    }

    fn any(random: &mut Random) -> Self {
        let mut header = Header::default();
        if random.one_in(3) {
            header = Header {
                flags: 1,
                gso_type: random.of(&[0, 1, 4, 5, 0x81, 3]),
                hdr_len: 54,
                gso_size: random.of(&[0, 1, 8, 64, 256, 1448, 65_535]),
                csum_start: random.of(&[14, 34, 54, 60_000]),
                csum_offset: random.of(&[0, 6, 16]),
            };
        }
        Self {
            bytes: random.of(&[14, 60, 64, 1514, 9000, 60_000, 65_550, 70_000]),
            to: random.of(&[0xff, 0xff, 2, 99]),
            moves: random.one_in(3),
            header,
            part: random.of(&[usize::MAX, 2048, 400]),
        }
    }
}
