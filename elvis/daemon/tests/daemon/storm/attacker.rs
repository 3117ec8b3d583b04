//! Carries out an attack.

use super::attacks::{
    Asks, Attack, Calls, DISCARD, Frame, ID, Meanwhile, PORT, READ, Request, Table, ZERO,
};
use crate::client::{exchange, memfd};
use crate::messages::{message, send};
use crate::nic::{Nic, RECEIVED, frame};
use crate::random::Random;
use crate::raw::{Features, RING_PACKED, Raw};
use elvis_ring::driver::{Buffer, Driver};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rustix::event::epoll;
use rustix::fs::FallocateFlags;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use vhost::vhost_user::message::VhostUserConfigFlags;
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo};
use vmm_sys_util::eventfd::EventFd;

const MIB: u64 = 1 << 20;
const MEMORY: u64 = 64 * MIB;
/// Entries of a disk's ring.
const SIZE: u16 = 256;
/// Addresses of requests' headers with statuses, of tables, and of data. A header has up to 48 bytes.
const HEADERS: u64 = 0x1_0000;
const TABLES: u64 = 0x2_0000;
const TABLE: u64 = 0x5000;
const DATA: u64 = 4 * MIB;
/// How many kicks, or frames, it makes at a time.
const AT_ONCE: u64 = 64;

/// Message numbers (vhost-user), and the flag of one that passes no descriptor.
const SET_VRING_KICK: u32 = 12;
const SEND_RARP: u32 = 19;
const NO_DESCRIPTOR: u64 = 1 << 8;

type Done = vhost::Result<()>;

/// Attacks until `over`.
pub fn attack(attack: &Attack, seed: u64, dir: &Path, over: &dyn Fn() -> bool) {
    let socket = dir.join(attack.device);
    let mut random = Random(seed);
    while !over() {
        if attack.meanwhile == Meanwhile::Messages {
            messages(&socket, random.next());
        }
        let mut attacker = Attacker::connect(attack, &socket);
        if attacker.begin(attack).is_err() {
            continue;
        }
        let mut replied = Instant::now();
        while !over() && replied.elapsed() < Duration::from_millis(attack.patience_ms) {
            if attacker.ask() > 0 {
                replied = Instant::now();
            }
            if attacker.meanwhile(attack.meanwhile).is_err() {
                break;
            }
            std::thread::yield_now();
        }
    }
}

/// Waits until the attacked device has no requests in flight: only then does it accept the next front-end.
pub fn rest(attack: &Attack, dir: &Path) {
    drop(Attacker::connect(attack, &dir.join(attack.device)));
}

/// Sends random messages on a separate connection.
fn messages(socket: &Path, seed: u64) {
    let seed = seed.to_ne_bytes().repeat(4);
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    let stream = UnixStream::connect(socket).unwrap();
    stream.set_nonblocking(true).unwrap();
    for _ in 0..24 {
        let message = message().new_tree(&mut runner).unwrap().current();
        if !send(&stream, &message) {
            return;
        }
    }
}

enum Device {
    Disk(Box<Raw>, Vec<Vec<Buffer>>),
    Port(Box<Nic>, Vec<Frame>),
}

struct Attacker {
    device: Device,
    attack: Attack,
    err: EventFd,
    /// The waiters for its eventfds.
    _watching: Vec<OwnedFd>,
    asked: u64,
    huge: File,
}

impl Attacker {
    fn connect(attack: &Attack, socket: &Path) -> Self {
        let features = Features {
            without: attack.without | if attack.packed { 0 } else { RING_PACKED },
            with: 0,
        };
        let device = if attack.device == PORT {
            let frames = match &attack.asks {
                Asks::Frames(frames) => frames.clone(),
                _ => Vec::new(),
            };
            let nic = match attack.packed {
                true => Nic::idle_packed(socket, 0),
                false => Nic::idle(socket, 0),
            };
            Device::Port(Box::new(nic), frames)
        } else {
            let kick = EventFd::new(0).unwrap();
            let memory = memfd(MEMORY);
            let raw = Raw::of_memory(socket, memory, 0, SIZE, kick, features);
            let requests = match &attack.asks {
                Asks::Requests(requests) => requests.clone(),
                _ => Vec::new(),
            };
            let buffers = (0..)
                .zip(&requests)
                .map(|(number, request)| {
                    let most = attack.most(request);
                    prepare(&raw.driver, number, request, most)
                })
                .collect();
            Device::Disk(Box::new(raw), buffers)
        };
        Self {
            device,
            attack: attack.clone(),
            err: EventFd::new(0).unwrap(),
            _watching: Vec::new(),
            asked: 0,
            huge: memfd(1 << 46),
        }
    }

    /// Starts the rings.
    fn begin(&mut self, attack: &Attack) -> Done {
        let calls = match &self.device {
            Device::Disk(raw, _) => vec![&raw.call],
            Device::Port(nic, _) => nic.calls.iter().collect(),
        };
        for eventfd in calls.into_iter().chain([&self.err]) {
            match attack.calls {
                Calls::Usual => {}
                Calls::Full => eventfd.write(u64::MAX - 1).unwrap(),
                Calls::Watched(times) => self._watching.extend(watch(eventfd, times)),
            }
        }
        match &mut self.device {
            Device::Disk(raw, _) => {
                raw.driver.want_calls(true);
                let base = raw.driver.start() as u16;
                raw.try_start(base)?;
            }
            Device::Port(nic, _) => {
                let base = nic.new_base();
                nic.try_start([base; 2])?;
                nic.offer_buffers();
            }
        }
        let err = self.err.try_clone().unwrap();
        self.frontend().set_vring_err(0, &err)?;
        if attack.meanwhile == Meanwhile::NoKicks {
            exchange(
                self.frontend(),
                SET_VRING_KICK,
                &NO_DESCRIPTOR.to_ne_bytes(),
            );
        }
        Ok(())
    }

    fn frontend(&mut self) -> &mut Frontend {
        match &mut self.device {
            Device::Disk(raw, _) => &mut raw.frontend,
            Device::Port(nic, _) => &mut nic.frontend,
        }
    }

    /// Fills the ring. Returns how many replies came.
    fn ask(&mut self) -> u64 {
        match &mut self.device {
            Device::Disk(raw, all) => {
                let mut replies = 0;
                while raw.driver.reply().is_some() {
                    replies += 1;
                }
                while let Some(buffers) = all.get(self.asked as usize % all.len().max(1)) {
                    if submit(&mut raw.driver, buffers).is_none() {
                        break;
                    }
                    self.asked += 1;
                }
                raw.kick();
                replies
            }
            Device::Port(nic, frames) => {
                while nic.try_receive().is_some() {}
                let before = nic.replied();
                for _ in 0..AT_ONCE {
                    let Some(it) = frames.get(self.asked as usize % frames.len().max(1)) else {
                        break;
                    };
                    let from = if it.moves { self.asked as u8 } else { 100 };
                    let bytes = frame(it.to, from, it.bytes);
                    let part = it.part.max(bytes.len() / 200 + 1);
                    if !nic.try_send(&it.header, &bytes, part) {
                        break;
                    }
                    self.asked += 1;
                }
                nic.replied() - before
            }
        }
    }

    fn memory(&self) -> &File {
        match &self.device {
            Device::Disk(raw, _) => &raw.memory,
            Device::Port(nic, _) => &nic.file,
        }
    }

    /// Does one round of what the attack does meanwhile. After an error the attacker has to connect anew.
    fn meanwhile(&mut self, what: Meanwhile) -> Done {
        let closed = || Err(vhost::Error::InvalidOperation);
        match what {
            Meanwhile::Wait | Meanwhile::NoKicks => {}
            Meanwhile::Kicks => self.kicks(),
            Meanwhile::Restarts => self.restart()?,
            Meanwhile::Features => {
                let features = self.frontend().get_features()?;
                let packed = if self.attack.packed { 0 } else { RING_PACKED };
                let features = features & !self.attack.without & !packed;
                self.frontend().set_features(features)?;
            }
            Meanwhile::CallsAnew => {
                let err = self.err.try_clone().unwrap();
                self.frontend().set_vring_call(0, &err)?;
                self.frontend().set_vring_err(0, &err)?;
            }
            Meanwhile::Enables => {
                self.frontend().set_vring_enable(0, false)?;
                self.frontend().set_vring_enable(0, true)?;
            }
            Meanwhile::Tables => {
                let file = self.memory().try_clone().unwrap();
                let region = |number: u64| region(&file, number * MIB, MIB, number * MIB);
                let all: Vec<_> = (0..8).map(region).collect();
                self.frontend().set_mem_table(&all)?;
            }
            Meanwhile::Regions(bytes) => self.regions(bytes)?,
            Meanwhile::Configuration => {
                if matches!(self.device, Device::Disk(..)) {
                    let flags = VhostUserConfigFlags::empty();
                    self.frontend().get_config(0, 8, flags, &[0; 8])?;
                }
            }
            Meanwhile::Announcements => {
                if let Device::Port(nic, _) = &self.device {
                    let mac = [2, 2, 2, 2, 2, 100, 0, 0];
                    exchange(&nic.frontend, SEND_RARP, &mac);
                }
            }
            Meanwhile::Punches => {
                let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                rustix::fs::fallocate(self.memory(), flags, DATA, MEMORY / 2).unwrap();
            }
            Meanwhile::Shrinks => {
                self.memory().set_len(0).unwrap();
                self.kicks();
                std::thread::sleep(Duration::from_millis(1));
                return closed();
            }
            Meanwhile::Connections | Meanwhile::Messages => return closed(),
            Meanwhile::BadHeads => {
                self.bad_head();
                std::thread::sleep(Duration::from_micros(200));
                self.restart()?;
            }
            Meanwhile::SmallBuffers => {
                if let Device::Port(nic, _) = &mut self.device {
                    while nic.rings[0].submit(&[(RECEIVED, 13, true)]).is_some() {}
                }
            }
        }
        Ok(())
    }

    fn kicks(&mut self) {
        let kick = match &self.device {
            Device::Disk(raw, _) => &raw.kick,
            Device::Port(nic, _) => &nic.kicks[1],
        };
        for _ in 0..AT_ONCE {
            kick.write(1).unwrap();
        }
    }

    fn bad_head(&mut self) {
        match &mut self.device {
            Device::Disk(raw, _) => raw.driver.offer(SIZE),
            Device::Port(nic, _) => nic.rings[1].offer(SIZE),
        }
        self.kicks();
    }

    fn restart(&mut self) -> Done {
        match &mut self.device {
            Device::Disk(raw, _) => {
                let base = raw.frontend.get_vring_base(0)?;
                raw.try_start(base as u16)
            }
            Device::Port(nic, _) => {
                let mut bases = [0; 2];
                for (queue, base) in bases.iter_mut().enumerate() {
                    *base = nic.frontend.get_vring_base(queue)? as u16;
                }
                nic.try_start(bases)
            }
        }
    }

    /// Adds some regions, or fewer if one is refused, and removes them.
    fn regions(&mut self, bytes: u64) -> Done {
        let huge = self.huge.try_clone().unwrap();
        let region = |number: u64| region(&huge, (1 << 47) + number * bytes, bytes, 0);
        let frontend = self.frontend();
        let added = (0..8).take_while(|&number| frontend.add_mem_region(&region(number)).is_ok());
        for number in 0..added.count() as u64 {
            frontend.remove_mem_region(&region(number))?;
        }
        Ok(())
    }
}

fn region(file: &File, guest: u64, bytes: u64, offset: u64) -> VhostUserMemoryRegionInfo {
    VhostUserMemoryRegionInfo {
        guest_phys_addr: guest,
        memory_size: bytes,
        userspace_addr: 0x7000_0000_0000 + guest,
        mmap_offset: offset,
        mmap_handle: file.as_raw_fd(),
    }
}

/// Adds so many waiters to an eventfd: each signal of it has to wake them all.
fn watch(eventfd: &EventFd, times: usize) -> Vec<OwnedFd> {
    // SAFETY: the descriptor is open during the borrow.
    let eventfd = unsafe { BorrowedFd::borrow_raw(eventfd.as_raw_fd()) };
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
    let mut all: Vec<OwnedFd> = (0..times)
        .map(|_| eventfd.try_clone_to_owned().unwrap())
        .collect();
    for copy in &all {
        let data = epoll::EventData::new_u64(0);
        epoll::add(&epoll, copy.as_fd(), data, epoll::EventFlags::IN).unwrap();
    }
    all.push(epoll);
    all
}

/// Writes a request's header and its table, if it has one. Returns the buffers for the ring. Two buffers without a length
/// at the end stand for the table: its address, and its bytes. The request has at most `most` bytes of data.
fn prepare(driver: &Driver, number: u64, request: &Request, most: u64) -> Vec<Buffer> {
    let (header, table) = (HEADERS + number * 64, TABLES + number * TABLE);
    let range = matches!(request.kind, ZERO | DISCARD);
    let sector = if range { 0 } else { request.sector };
    let span = driver.memory().span(header, 64).unwrap();
    span.store_u64(0, request.kind.into(), Ordering::Relaxed);
    span.store_u64(8, sector, Ordering::Relaxed);
    let written = matches!(request.kind, READ | ID);
    let bytes = request.bytes.min(most);
    let segments = request.segments.min(most / bytes.max(1));
    let mut buffers: Vec<Buffer> = vec![(header, 16, false)];
    if range {
        span.store_u64(16, request.sector % 1024, Ordering::Relaxed);
        span.store_u64(24, segments * bytes / 512, Ordering::Relaxed);
        buffers.push((header + 16, 16, false));
    } else if bytes > 0 {
        let written = written != request.reversed;
        let segments = (0..segments).map(|at| {
            let place = request.odd + at * request.step % MIB;
            (DATA + place, bytes as u32, written)
        });
        buffers.extend(segments);
    }
    if !request.cut {
        buffers.push((header + 48, 1, true));
    }
    let first = match request.table {
        Table::Ring => return buffers,
        Table::Indirect | Table::Nested => 0,
        Table::Mixed => 1,
    };
    let mut rest = buffers.split_off(first);
    let bytes = rest.len() as u32 * 16;
    driver.write_table(table, &rest).unwrap();
    if request.table == Table::Nested {
        // Its first descriptor names the table itself.
        driver
            .write(table, &[[table, u64::from(bytes) | 4 << 32]])
            .unwrap();
    }
    rest.clear();
    buffers.push((table, 0, false));
    buffers.push((u64::from(bytes), 0, false));
    buffers
}

/// Puts a request into the ring: the buffers are those that [`prepare`] returns.
fn submit(driver: &mut Driver, buffers: &[Buffer]) -> Option<u16> {
    match buffers {
        [before @ .., (table, 0, false), (bytes, 0, false)] => match before {
            [] => driver.submit_indirect(*table, *bytes as u32),
            _ => driver.submit_mixed(before, *table, *bytes as u32),
        },
        _ => driver.submit(buffers),
    }
}
