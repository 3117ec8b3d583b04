//! A front-end whose ring the test controls, so that it can break every rule. It uses the vhost crate's
//! front-end.

#![allow(dead_code, clippy::unwrap_used)]

use crate::client::{LIMIT, limited, memfd, pause};
use elvis_ring::driver::{Buffer, Driver};
use elvis_ring::{Memory, Region};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use vhost::vhost_user::message::{
    VhostUserHeaderFlag, VhostUserInflight, VhostUserProtocolFeatures as Protocol,
};
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use vmm_sys_util::eventfd::EventFd;

pub const SIZE: u16 = 64;
const MEMORY: u64 = 4 << 20;
/// The front-end's addresses are the guest's plus this.
const USER: u64 = 0x7000_0000_0000;
/// Addresses of buffers: each request has a header, a status and 4 KiB of data.
const HEADERS: u64 = 0x4_0000;
pub const DATA: u64 = 0x10_0000;

/// Feature bit of packed rings.
pub const RING_PACKED: u64 = 1 << 34;

/// What a front-end chooses of the offered features: all but `without`, and `with` whether offered or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    pub without: u64,
    pub with: u64,
}

impl Features {
    /// All that are offered, with packed rings or without.
    fn rings(packed: bool) -> Self {
        Self {
            without: if packed { 0 } else { RING_PACKED },
            with: 0,
        }
    }
}

pub struct Raw {
    pub frontend: Frontend,
    pub driver: Driver,
    size: u16,
    features: Features,
    pub memory: File,
    pub kick: EventFd,
    pub call: EventFd,
    pub inflight: Option<(VhostUserInflight, File)>,
}

impl Raw {
    /// Connects, with new memory and a split ring; the ring is not started yet.
    pub fn connect(socket: &Path) -> Self {
        Self::of(socket, false)
    }

    /// The same, packed or not.
    pub fn of(socket: &Path, packed: bool) -> Self {
        Self::choosing(socket, Features::rings(packed))
    }

    /// The same, with these features.
    pub fn choosing(socket: &Path, features: Features) -> Self {
        let kick = EventFd::new(0).unwrap();
        Self::of_memory(socket, memfd(MEMORY), 0, SIZE, kick, features)
    }

    /// The same, with a split ring of this size at `base` of a memory file, and this descriptor for kicks. Several
    /// front-ends may share a file and a descriptor.
    pub fn in_memory(socket: &Path, memory: File, base: u64, size: u16, kick: EventFd) -> Self {
        Self::of_memory(socket, memory, base, size, kick, Features::rings(false))
    }

    /// The same, with these features.
    pub fn of_memory(
        socket: &Path,
        memory: File,
        base: u64,
        size: u16,
        kick: EventFd,
        features: Features,
    ) -> Self {
        let bytes = memory.metadata().unwrap().len();
        let region = Region::map(&memory, 0, 0, 0, bytes).unwrap();
        let mapped = Arc::new(Memory::new(vec![region]).unwrap());
        let packed = features.without & RING_PACKED == 0;
        let driver = Driver::of_memory(&mapped, base, size, true, packed).unwrap();
        let frontend = negotiate(socket, features);
        let call = EventFd::new(0).unwrap();
        Self {
            frontend,
            driver,
            size,
            features,
            memory,
            kick,
            call,
            inflight: None,
        }
    }

    /// Connects to another server; ring and memory stay.
    pub fn reconnect(&mut self, socket: &Path) {
        self.frontend = negotiate(socket, self.features);
    }

    /// Chooses the same features again, after a reset.
    pub fn choose_again(&mut self) {
        let all = chosen(&self.frontend, self.features);
        self.frontend.set_features(all).unwrap();
    }

    pub fn track_inflight(&mut self) {
        let wanted = VhostUserInflight::new(0, 0, 1, self.size);
        self.inflight = Some(self.frontend.get_inflight_fd(&wanted).unwrap());
    }

    /// Shares memory and starts the ring at entry `base`.
    pub fn start(&mut self, base: u16) {
        self.try_start(base).unwrap();
    }

    /// The same for a ring that starts, or that continues as GET_VRING_BASE returned it.
    pub fn start_at(&mut self, base: Option<u32>) {
        // The vhost crate sends 16 bits only. The rest, for packed rings, says the same again.
        let base = base.unwrap_or(self.driver.start()) as u16;
        self.start(base);
    }

    pub fn try_start(&mut self, base: u16) -> vhost::Result<()> {
        limited("a ring that is started", || self.set_up(base))
    }

    fn set_up(&mut self, base: u16) -> vhost::Result<()> {
        if let Some((area, file)) = &self.inflight {
            self.frontend.set_inflight_fd(area, file.as_raw_fd())?;
        }
        let region = VhostUserMemoryRegionInfo {
            guest_phys_addr: 0,
            memory_size: self.memory.metadata().unwrap().len(),
            userspace_addr: USER,
            mmap_offset: 0,
            mmap_handle: self.memory.as_raw_fd(),
        };
        self.frontend.set_mem_table(&[region])?;
        self.frontend.set_vring_num(0, self.size)?;
        let at = self.driver.addresses();
        let rings = VringConfigData {
            queue_max_size: self.size,
            queue_size: self.size,
            flags: 0,
            desc_table_addr: USER + at.descriptors,
            used_ring_addr: USER + at.used,
            avail_ring_addr: USER + at.available,
            log_addr: None,
        };
        self.frontend.set_vring_addr(0, &rings)?;
        self.frontend.set_vring_base(0, base)?;
        self.frontend.set_vring_call(0, &self.call)?;
        self.frontend.set_vring_kick(0, &self.kick)?;
        self.frontend.set_vring_enable(0, true)
    }

    /// Submits a write of 4 KiB of `value` to block `block`. Returns its head.
    pub fn submit_write(&mut self, number: u64, block: u64, value: u8) -> Option<u16> {
        let slot = number % 64;
        let (header, data) = (HEADERS + slot * 64, DATA + slot * 4096);
        let memory = self.driver.memory();
        let span = memory.span(header, 64).unwrap();
        span.store_u64(0, 1, Ordering::Relaxed);
        span.store_u64(8, block * 8, Ordering::Relaxed);
        span.store_u8(32, 0xff, Ordering::Relaxed);
        self.memory.write_all_at(&[value; 4096], data).unwrap();
        self.driver.submit(&[
            (header, 16, false),
            (data, 4096, false),
            (header + 32, 1, true),
        ])
    }

    /// Makes a request of this type with this data, and waits for its status.
    pub fn request(&mut self, kind: u64, sector: u64, data: &[Buffer]) -> u8 {
        let span = self.driver.memory().span(HEADERS, 64).unwrap();
        span.store_u64(0, kind, Ordering::Relaxed);
        span.store_u64(8, sector, Ordering::Relaxed);
        span.store_u8(32, 0xff, Ordering::Relaxed);
        let (header, status) = ((HEADERS, 16, false), (HEADERS + 32, 1, true));
        let all = [&[header], data, &[status]].concat();
        self.driver.submit(&all).unwrap();
        self.kick();
        self.reply();
        self.status(0)
    }

    pub fn status(&self, number: u64) -> u8 {
        let span = self
            .driver
            .memory()
            .span(HEADERS + number % 64 * 64 + 32, 1)
            .unwrap();
        span.load_u8(0, Ordering::Relaxed)
    }

    pub fn kick(&mut self) {
        if self.driver.kick_wanted() {
            self.kick.write(1).unwrap();
        }
    }

    /// Waits for a reply, and returns its request's head.
    pub fn reply(&mut self) -> u16 {
        let begun = Instant::now();
        loop {
            if let Some((head, _)) = self.driver.reply() {
                return head;
            }
            assert!(begun.elapsed() < LIMIT, "waited {LIMIT:?} for a reply");
            pause(begun);
        }
    }
}

fn negotiate(socket: &Path, features: Features) -> Frontend {
    limited("an answer to a front-end", || negotiated(socket, features))
}

fn chosen(frontend: &Frontend, features: Features) -> u64 {
    frontend.get_features().unwrap() & !features.without | features.with
}

fn negotiated(socket: &Path, features: Features) -> Frontend {
    let mut frontend = Frontend::connect(socket, 1).unwrap();
    frontend.set_owner().unwrap();
    assert_ne!(frontend.get_features().unwrap() & RING_PACKED, 0);
    frontend.set_features(chosen(&frontend, features)).unwrap();
    let protocol = frontend.get_protocol_features().unwrap();
    assert!(protocol.contains(Protocol::INFLIGHT_SHMFD | Protocol::LOG_SHMFD));
    frontend.set_protocol_features(protocol).unwrap();
    frontend.set_hdr_flags(VhostUserHeaderFlag::NEED_REPLY);
    frontend
}
