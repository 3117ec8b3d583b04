//! What a front-end asks of a device, one level above the vhost-user messages.
//!
//! A queue is with the I/O thread while it runs, and here while anything of it changes: whoever
//! changes a queue takes it back first, which waits for its requests in flight ("drain"), and hands
//! it over again. So the I/O thread never sees a half-changed queue.

use super::iothread::IoThread;
use super::notify::check_eventfd;
use super::queue::{Queue, Shared};
use super::stats::Counted;
use crate::blk::{self, feature};
use elvis_ring::{
    DirtyLog, Inflight, Mapping, Memory, Region, Ring, RingAddresses, Span, inflight,
};
use rustix::fs::{MemfdFlags, SealFlags};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use vhost::VhostUserMemoryRegionBase;
use vhost::vhost_user::message::*;
use vhost::vhost_user::{Error, GpuBackend, Result, VhostUserBackendReqHandlerMut};

const VERSION_1: u64 = 1 << 32;
const EVENT_IDX: u64 = 1 << 29;
const INDIRECT: u64 = 1 << 28;
const PROTOCOL_FEATURES: u64 = 1 << 30;
const LOG_ALL: u64 = 1 << 26;

/// Memory regions of one front-end; QEMU's limit is the same.
const MAX_REGIONS: usize = 509;

/// The largest ring that QEMU lets a guest use.
const LARGEST_USUAL_RING: u16 = 1024;

/// A queue as the front-end sets it up.
#[derive(Default)]
struct Setup {
    size: u32,
    /// In the front-end's address space.
    addresses: Option<VringAddresses>,
    base: u16,
    kick: Option<OwnedFd>,
    call: Option<OwnedFd>,
    err: Option<OwnedFd>,
    enabled: bool,
    /// With the I/O thread.
    attached: bool,
    /// Counters of what it did so far.
    counted: Option<Counted>,
    /// The descriptors that the I/O thread has, once more.
    fault: Option<String>,
}

#[derive(Clone, Copy)]
struct VringAddresses {
    descriptors: u64,
    available: u64,
    used: u64,
    log: Option<u64>,
}

struct InflightArea {
    file: File,
    offset: u64,
    /// Of each queue's region.
    bytes: u64,
}

/// One connection's state.
pub struct Frontend {
    shared: Arc<Shared>,
    thread: Arc<IoThread>,
    features: u64,
    queues: Vec<Setup>,
    regions: Vec<Region>,
    memory: Arc<Memory>,
    inflight: Option<InflightArea>,
    log: Option<DirtyLog>,
}

fn failed(error: impl Into<io::Error>) -> Error {
    Error::ReqHandlerError(error.into())
}

fn refused(why: impl Into<String>) -> Error {
    Error::ReqHandlerError(io::Error::new(io::ErrorKind::InvalidInput, why.into()))
}

impl Frontend {
    /// The state of a new connection.
    pub fn new(shared: Arc<Shared>, thread: Arc<IoThread>, queues: u16) -> Self {
        Self {
            shared,
            thread,
            features: 0,
            queues: (0..queues).map(|_| Setup::default()).collect(),
            regions: Vec::new(),
            memory: Arc::new(Memory::default()),
            inflight: None,
            log: None,
        }
    }

    fn offered(&self) -> u64 {
        let mut features = VERSION_1 | EVENT_IDX | INDIRECT | PROTOCOL_FEATURES | LOG_ALL;
        features |= feature::SEG_MAX | feature::BLK_SIZE | feature::FLUSH;
        if self.queues.len() > 1 {
            features |= feature::MQ;
        }
        if self.shared.readonly {
            features |= feature::RO;
        } else {
            features |= feature::CONFIG_WCE | feature::DISCARD | feature::WRITE_ZEROES;
        }
        features
    }

    fn queue(&mut self, index: u32) -> Result<&mut Setup> {
        self.queues
            .get_mut(index as usize)
            .ok_or(Error::InvalidParam)
    }

    /// Takes a queue back from the I/O thread, where it is there. Waits for its requests.
    fn take_back(&mut self, index: u32) -> Result<()> {
        if !self.queue(index)?.attached {
            return Ok(());
        }
        let number = u16::try_from(index).map_err(|_| Error::InvalidParam)?;
        let back = self
            .thread
            .detach(self.shared.number, number)
            .map_err(failed)?;
        let Queue {
            ring,
            kick,
            call,
            err,
            fault,
            counted,
            ..
        } = *back;
        let queue = self.queue(index)?;
        queue.attached = false;
        queue.base = ring.next();
        queue.kick = Some(kick);
        queue.call = call;
        queue.err = err;
        queue.fault = fault;
        queue.counted = Some(counted);
        Ok(())
    }

    /// Hands a queue to the I/O thread, where all is there that it needs.
    fn hand_over(&mut self, index: u32) -> Result<()> {
        let (memory, event_idx) = (Arc::clone(&self.memory), self.features & EVENT_IDX != 0);
        let inflight = self.inflight_of(index)?;
        let log = self.log.clone().filter(|_| self.features & LOG_ALL != 0);
        let (shared, thread) = (Arc::clone(&self.shared), Arc::clone(&self.thread));
        let queue = self.queue(index)?;
        if queue.attached || !queue.enabled || queue.kick.is_none() {
            return Ok(());
        }
        let Some(addresses) = queue.addresses else {
            return Err(refused("a queue is started that has no addresses"));
        };
        let guest = |user, name: &str| {
            let outside = || refused(format!("the {name} at {user:#x} is not in memory"));
            memory.guest_of_user(user).ok_or_else(outside)
        };
        let at = RingAddresses {
            descriptors: guest(addresses.descriptors, "descriptor table")?,
            available: guest(addresses.available, "available ring")?,
            used: guest(addresses.used, "used ring")?,
            used_log: addresses.log,
        };
        let ring = Ring::new(queue.size, &at, &memory, queue.base, event_idx);
        let mut ring = ring.map_err(|error| refused(error.to_string()))?;
        if let Some(inflight) = inflight {
            ring.track(inflight);
        }
        ring.log_to(log);
        let Some(kick) = queue.kick.take() else {
            return Ok(());
        };
        let running = Queue {
            shared,
            index: u16::try_from(index).map_err(|_| Error::InvalidParam)?,
            ring,
            kick,
            call: queue.call.take(),
            err: queue.err.take(),
            fault: queue.fault.take(),
            counted: queue.counted.take().unwrap_or_else(Counted::new),
        };
        queue.attached = true;
        thread.attach(Box::new(running)).map_err(failed)
    }

    /// Changes something with all queues taken back, and hands those over again that were running.
    fn changed<T>(&mut self, change: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let count = self.queues.len() as u32;
        let running: Vec<u32> = (0..count)
            .filter(|&index| self.queues[index as usize].attached)
            .collect();
        for &index in &running {
            self.take_back(index)?;
        }
        let changed = change(self)?;
        for index in running {
            self.hand_over(index)?;
        }
        Ok(changed)
    }

    fn set_regions(&mut self, regions: Vec<Region>) -> Result<()> {
        if regions.len() > MAX_REGIONS {
            return Err(refused("too many memory regions"));
        }
        self.memory = Arc::new(Memory::new(regions.clone()).map_err(failed)?);
        self.regions = regions;
        Ok(())
    }

    fn map(region: &VhostUserMemoryRegion, file: &File) -> Result<Region> {
        let (guest, user) = (region.guest_phys_addr, region.user_addr);
        Region::map(file, region.mmap_offset, guest, user, region.memory_size).map_err(failed)
    }

    fn inflight_of(&self, index: u32) -> Result<Option<Inflight>> {
        let Some(area) = &self.inflight else {
            return Ok(None);
        };
        // As large as the area is and not as this ring: firmware and kernel of one guest may use
        // rings of different sizes with the same area.
        let (bytes, size) = (area.bytes, inflight::region_entries(area.bytes));
        let ring = self
            .queues
            .get(index as usize)
            .map_or(0, |queue| queue.size);
        if ring > u32::from(size) {
            return Err(refused(format!(
                "a ring of {ring}, and an in-flight area for {size}"
            )));
        }
        let small = || refused("the in-flight area is too small for its queues");
        let start = area
            .offset
            .checked_add(bytes * u64::from(index))
            .ok_or_else(small)?;
        let end = start.checked_add(bytes).ok_or_else(small)?;
        let mapping = Arc::new(Mapping::new(&area.file, end).map_err(failed)?);
        let region = Span::new(&mapping, start, bytes).ok_or_else(small)?;
        Inflight::new(region, size).map(Some).ok_or_else(small)
    }

    /// Ends all service: the connection has ended, or the device is reset.
    pub fn stop(&mut self) {
        for index in 0..self.queues.len() as u32 {
            if let Err(error) = self.take_back(index) {
                eprintln!("elvis: {}: {error}", self.shared.name);
            }
        }
    }

    fn reset(&mut self) {
        self.stop();
        for queue in &mut self.queues {
            *queue = Setup {
                counted: queue.counted.take(),
                ..Setup::default()
            };
        }
        self.features = 0;
        self.inflight = None;
        self.log = None;
        self.shared.writeback.store(true, Ordering::Relaxed);
    }
}

impl VhostUserBackendReqHandlerMut for Frontend {
    fn set_owner(&mut self) -> Result<()> {
        Ok(())
    }

    fn reset_owner(&mut self) -> Result<()> {
        self.reset();
        Ok(())
    }

    fn reset_device(&mut self) -> Result<()> {
        self.reset();
        Ok(())
    }

    fn get_features(&mut self) -> Result<u64> {
        Ok(self.offered())
    }

    fn set_features(&mut self, features: u64) -> Result<()> {
        if features & !self.offered() != 0 {
            return Err(refused(format!("features {features:#x} were not offered")));
        }
        self.changed(|frontend| {
            frontend.features = features;
            // Without the feature a queue is enabled from the start.
            if features & PROTOCOL_FEATURES == 0 {
                frontend
                    .queues
                    .iter_mut()
                    .for_each(|queue| queue.enabled = true);
            }
            // Without flush a driver expects that what is written is on the disk.
            let cached = features & feature::FLUSH != 0;
            if !cached {
                frontend.shared.writeback.store(false, Ordering::Relaxed);
            }
            Ok(())
        })
    }

    fn set_mem_table(
        &mut self,
        context: &[VhostUserMemoryRegion],
        files: Vec<File>,
        _postcopy: Option<bool>,
    ) -> Result<Option<Vec<VhostUserMemoryRegionBase>>> {
        let regions = context
            .iter()
            .zip(&files)
            .map(|(region, file)| Self::map(region, file));
        let regions = regions.collect::<Result<Vec<_>>>()?;
        self.changed(|frontend| frontend.set_regions(regions))?;
        Ok(None)
    }

    fn get_max_mem_slots(&mut self) -> Result<u64> {
        Ok(MAX_REGIONS as u64)
    }

    fn add_mem_region(
        &mut self,
        region: &VhostUserSingleMemoryRegion,
        file: File,
        _postcopy: Option<bool>,
    ) -> Result<Option<VhostUserMemoryRegionBase>> {
        let region = Self::map(region, &file)?;
        self.changed(|frontend| {
            let mut regions = frontend.regions.clone();
            regions.push(region);
            frontend.set_regions(regions)
        })?;
        Ok(None)
    }

    fn remove_mem_region(&mut self, region: &VhostUserSingleMemoryRegion) -> Result<()> {
        let (guest, bytes) = (region.guest_phys_addr, region.memory_size);
        self.changed(|frontend| {
            let mut regions = frontend.regions.clone();
            regions.retain(|other| other.guest() != guest || other.bytes() != bytes);
            if regions.len() == frontend.regions.len() {
                return Err(refused(format!("there is no memory region at {guest:#x}")));
            }
            frontend.set_regions(regions)
        })
    }

    fn set_vring_num(&mut self, index: u32, num: u32) -> Result<()> {
        self.take_back(index)?;
        self.queue(index)?.size = num;
        Ok(())
    }

    fn set_vring_addr(
        &mut self,
        index: u32,
        flags: VhostUserVringAddrFlags,
        descriptors: u64,
        used: u64,
        available: u64,
        log: u64,
    ) -> Result<()> {
        let log = flags
            .contains(VhostUserVringAddrFlags::VHOST_VRING_F_LOG)
            .then_some(log);
        let addresses = VringAddresses {
            descriptors,
            available,
            used,
            log,
        };
        let running = self.queue(index)?.attached;
        self.take_back(index)?;
        self.queue(index)?.addresses = Some(addresses);
        if running {
            self.hand_over(index)
        } else {
            Ok(())
        }
    }

    fn set_vring_base(&mut self, index: u32, base: u32) -> Result<()> {
        self.take_back(index)?;
        self.queue(index)?.base = u16::try_from(base).map_err(|_| Error::InvalidParam)?;
        Ok(())
    }

    fn get_vring_base(&mut self, index: u32) -> Result<VhostUserVringState> {
        self.take_back(index)?;
        let queue = self.queue(index)?;
        // "The back-end must stop the ring", and forgets its descriptors with it.
        queue.kick = None;
        queue.call = None;
        queue.fault = None;
        Ok(VhostUserVringState::new(index, queue.base.into()))
    }

    fn set_vring_kick(&mut self, index: u8, file: Option<File>) -> Result<()> {
        let index = u32::from(index);
        self.take_back(index)?;
        let Some(file) = file else {
            return Err(refused(
                "a queue without a kick descriptor is not supported",
            ));
        };
        self.queue(index)?.kick = Some(check_eventfd(file).map_err(failed)?);
        self.hand_over(index)
    }

    fn set_vring_call(&mut self, index: u8, file: Option<File>) -> Result<()> {
        let call = file.map(check_eventfd).transpose().map_err(failed)?;
        let (thread, number) = (Arc::clone(&self.thread), self.shared.number);
        let queue = self.queue(index.into())?;
        if queue.attached {
            return thread.set_call(number, index.into(), call).map_err(failed);
        }
        queue.call = call;
        Ok(())
    }

    fn set_vring_err(&mut self, index: u8, file: Option<File>) -> Result<()> {
        let err = file.map(check_eventfd).transpose().map_err(failed)?;
        let running = self.queue(index.into())?.attached;
        self.take_back(index.into())?;
        self.queue(index.into())?.err = err;
        if running {
            self.hand_over(index.into())
        } else {
            Ok(())
        }
    }

    fn get_protocol_features(&mut self) -> Result<VhostUserProtocolFeatures> {
        use VhostUserProtocolFeatures as P;
        Ok(P::MQ
            | P::CONFIG
            | P::REPLY_ACK
            | P::CONFIGURE_MEM_SLOTS
            | P::INFLIGHT_SHMFD
            | P::LOG_SHMFD
            | P::RESET_DEVICE)
    }

    fn set_protocol_features(&mut self, _features: u64) -> Result<()> {
        Ok(())
    }

    fn get_queue_num(&mut self) -> Result<u64> {
        Ok(self.queues.len() as u64)
    }

    fn set_vring_enable(&mut self, index: u32, enable: bool) -> Result<()> {
        self.queue(index)?.enabled = enable;
        if enable {
            self.hand_over(index)
        } else {
            self.take_back(index)
        }
    }

    fn get_config(
        &mut self,
        offset: u32,
        size: u32,
        _flags: VhostUserConfigFlags,
    ) -> Result<Vec<u8>> {
        let writeback = self.shared.writeback.load(Ordering::Relaxed);
        let queues = u16::try_from(self.queues.len()).unwrap_or(u16::MAX);
        let mut space = blk::config(self.shared.disk.bytes(), queues, writeback).to_vec();
        // Front-ends ask for as much as they know of; what we don't know is zero.
        let end = offset.checked_add(size).ok_or(Error::InvalidParam)? as usize;
        space.resize(space.len().max(end), 0);
        Ok(space[offset as usize..end].to_vec())
    }

    fn set_config(
        &mut self,
        offset: u32,
        bytes: &[u8],
        _flags: VhostUserConfigFlags,
    ) -> Result<()> {
        let at = blk::WRITEBACK.checked_sub(offset).map(|at| at as usize);
        let offered = self.features & feature::CONFIG_WCE != 0;
        match at.and_then(|at| bytes.get(at)) {
            Some(&writeback) if offered && writeback <= 1 => {
                self.shared
                    .writeback
                    .store(writeback == 1, Ordering::Relaxed);
                Ok(())
            }
            _ => Err(Error::InvalidParam),
        }
    }

    fn set_gpu_socket(&mut self, _backend: GpuBackend) -> Result<()> {
        Err(Error::InvalidOperation("a block device has no GPU"))
    }

    fn get_shared_object(&mut self, _uuid: VhostUserSharedMsg) -> Result<File> {
        Err(Error::InvalidOperation(
            "a block device has no shared objects",
        ))
    }

    fn get_inflight_fd(&mut self, wanted: &VhostUserInflight) -> Result<(VhostUserInflight, File)> {
        let (queues, queue_size) = (wanted.num_queues, wanted.queue_size);
        if queues == 0 || usize::from(queues) > self.queues.len() || queue_size == 0 {
            return Err(refused("an in-flight area for queues that are not there"));
        }
        // Larger than asked for: QEMU lets a guest take a ring larger than the queue size that it
        // asks with.
        let region = inflight::region_bytes(queue_size.max(LARGEST_USUAL_RING));
        let bytes = region * u64::from(queues);
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create("elvis-inflight", flags).map_err(failed)?;
        let file = File::from(file);
        file.set_len(bytes).map_err(failed)?;
        let seals = SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
        rustix::fs::fcntl_add_seals(&file, seals).map_err(failed)?;
        let kept = file.try_clone().map_err(failed)?;
        self.inflight = Some(InflightArea {
            file: kept,
            offset: 0,
            bytes: region,
        });
        Ok((VhostUserInflight::new(bytes, 0, queues, queue_size), file))
    }

    fn set_inflight_fd(&mut self, area: &VhostUserInflight, file: File) -> Result<()> {
        // The size tells how large the regions are, as whoever made the area chose them.
        let queues = u64::from(area.num_queues).max(1);
        let (offset, bytes) = (area.mmap_offset, area.mmap_size / queues / 64 * 64);
        if bytes < inflight::region_bytes(area.queue_size) {
            return Err(refused("the in-flight area is too small for its queues"));
        }
        self.changed(|frontend| {
            frontend.inflight = Some(InflightArea {
                file,
                offset,
                bytes,
            });
            Ok(())
        })
    }

    fn set_device_state_fd(
        &mut self,
        _direction: VhostTransferStateDirection,
        _phase: VhostTransferStatePhase,
        _file: File,
    ) -> Result<Option<File>> {
        Err(Error::InvalidOperation(
            "a block device has no state of its own",
        ))
    }

    fn check_device_state(&mut self) -> Result<()> {
        Err(Error::InvalidOperation(
            "a block device has no state of its own",
        ))
    }

    fn get_shmem_config(&mut self) -> Result<VhostUserShMemConfig> {
        Err(Error::InvalidOperation(
            "a block device has no shared memory regions",
        ))
    }

    fn set_log_base(&mut self, log: &VhostUserLog, file: File) -> Result<()> {
        let log = DirtyLog::map(&file, log.mmap_offset, log.mmap_size).map_err(failed)?;
        self.changed(|frontend| {
            frontend.log = Some(log);
            Ok(())
        })
    }
}
