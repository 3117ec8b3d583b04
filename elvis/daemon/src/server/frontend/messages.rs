//! Handlers of the vhost-user messages.

use super::inflight::InflightArea;
use super::{
    EVENT_IDX, Frontend, INDIRECT, LOG_ALL, MAPPED, MAPPED_AREA, MAPPED_LOG, MAX_REGIONS,
    RING_PACKED, VringAddresses, failed, refused,
};
use crate::server::notify::check_eventfd;
use crate::server::queue::Kick;
use elvis_ring::{DirtyLog, Region};
use std::fs::File;
use vhost::VhostUserMemoryRegionBase;
use vhost::vhost_user::message::*;
use vhost::vhost_user::{Backend, Error, GpuBackend, Result, VhostUserBackendReqHandlerMut};

const VERSION_1: u64 = 1 << 32;
const PROTOCOL_FEATURES: u64 = 1 << 30;

impl Frontend {
    fn offered(&self) -> u64 {
        let kind = &self.shared.kind;
        let mut all = VERSION_1 | EVENT_IDX | INDIRECT | PROTOCOL_FEATURES | LOG_ALL;
        // Only a file of progress says where a packed ring of such a device goes on after a crash.
        if !kind.in_order() || self.shared.rings.is_some() {
            all |= RING_PACKED;
        }
        all | kind.features()
    }
}

/// Checks that a front-end maps at most `most` bytes: `mapped` so far, and `more`.
fn may_map(
    mapped: u64,
    more: impl Iterator<Item = (u64, u64)>,
    most: u64,
    what: &str,
) -> Result<()> {
    let all = more.fold(mapped, |all, (offset, bytes)| {
        // Files are mapped from their start.
        all.saturating_add(offset.saturating_add(bytes))
    });
    if all > most {
        let why =
            format!("its {what} takes {all} bytes of address space, and a device may have {most}");
        return Err(refused(why));
    }
    Ok(())
}

fn map(region: &VhostUserMemoryRegion, file: &File) -> Result<Region> {
    let (guest, user) = (region.guest_phys_addr, region.user_addr);
    Region::map(file, region.mmap_offset, guest, user, region.memory_size).map_err(failed)
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
        if features & !(self.offered() | self.shared.kind.inherited()) != 0 {
            return Err(refused(format!("features {features:#x} were not offered")));
        }
        self.changed(|frontend| {
            frontend.features = features;
            // Without this feature a queue is enabled from the start.
            if features & PROTOCOL_FEATURES == 0 {
                frontend
                    .queues
                    .iter_mut()
                    .for_each(|queue| queue.enabled = true);
            }
            frontend.shared.kind.agreed(features).map_err(failed)
        })
    }

    fn set_mem_table(
        &mut self,
        context: &[VhostUserMemoryRegion],
        files: Vec<File>,
        _postcopy: Option<bool>,
    ) -> Result<Option<Vec<VhostUserMemoryRegionBase>>> {
        let sizes = context.iter().map(|it| (it.mmap_offset, it.memory_size));
        may_map(0, sizes, MAPPED, "memory")?;
        let regions = context
            .iter()
            .zip(&files)
            .map(|(region, file)| map(region, file));
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
        let mapped = self.regions.iter().map(Region::mapped).sum();
        let size = (region.mmap_offset, region.memory_size);
        may_map(mapped, std::iter::once(size), MAPPED, "memory")?;
        let region = map(region, &file)?;
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
        let packed = self.features & RING_PACKED != 0;
        if !packed && base > u32::from(u16::MAX) {
            return Err(Error::InvalidParam);
        }
        let queue = self.queue(index)?;
        (queue.base, queue.told) = (base, base);
        Ok(())
    }

    fn get_vring_base(&mut self, index: u32) -> Result<VhostUserVringState> {
        self.take_back(index)?;
        let queue = self.queue(index)?;
        // "The back-end must stop the ring": drop its descriptors too.
        queue.kick = None;
        queue.call = None;
        queue.fault = None;
        queue.told = queue.base;
        let base = queue.base;
        // The record stays until the front-end has the answer: if this process is killed before, the record says where
        // the ring continues.
        self.stopped = Some(index);
        self.let_go();
        Ok(VhostUserVringState::new(index, base))
    }

    fn set_vring_kick(&mut self, index: u8, file: Option<File>) -> Result<()> {
        let index = u32::from(index);
        self.take_back(index)?;
        let kick = match file {
            Some(file) => Kick::Eventfd(check_eventfd(file).map_err(failed)?),
            // "Polling will be used instead of waiting for the kick."
            None => {
                let name = &self.shared.name;
                log::info!("{name}: queue {index} has no kick descriptor: it is always polled");
                Kick::Never
            }
        };
        self.queue(index)?.kick = Some(kick);
        self.hand_over(index)
    }

    fn set_vring_call(&mut self, index: u8, file: Option<File>) -> Result<()> {
        let call = file.map(check_eventfd).transpose().map_err(failed)?;
        let (thread, number) = (self.thread(index.into()), self.shared.number);
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
        let all = P::MQ | P::REPLY_ACK | P::CONFIGURE_MEM_SLOTS | P::LOG_SHMFD | P::RESET_DEVICE;
        Ok(all | self.shared.kind.protocol())
    }

    fn set_protocol_features(&mut self, features: u64) -> Result<()> {
        self.protocol = features;
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
        let mut space = self.shared.kind.config();
        let (known, start) = (space.len(), offset as usize);
        let end = start.saturating_add(size as usize);
        // To answer with zeros would make a disk of 0 sectors.
        if start >= known {
            let why = format!(
                "a read of {size} bytes at offset {offset} of its configuration space, which has {known}"
            );
            self.refusal = Some(why.clone());
            return Err(refused(why));
        }
        if end > known {
            // Front-ends read as much as they know of. The part that elvis does not know belongs to features that it
            // does not offer.
            space.resize(end, 0);
            if !std::mem::replace(&mut self.told_config, true) {
                log::warn!(
                    "{}: its front-end reads {end} bytes of a configuration space of {known}: the rest is zeros",
                    self.shared.name
                );
            }
        }
        Ok(space[start..end].to_vec())
    }

    fn set_config(
        &mut self,
        offset: u32,
        bytes: &[u8],
        _flags: VhostUserConfigFlags,
    ) -> Result<()> {
        let set = self.shared.kind.set_config(offset, bytes, self.features);
        set.map_err(|why| refused(format!("can't write to the configuration space: {why}")))
    }

    /// `channel` takes this message of a disk's front-end, unless its header comes in parts.
    fn set_backend_req_fd(&mut self, _channel: Backend) {
        self.refusal =
            Some("SET_BACKEND_REQ_FD: only disks take it, and only in one piece".to_owned());
    }

    fn set_gpu_socket(&mut self, _backend: GpuBackend) -> Result<()> {
        Err(Error::InvalidOperation("this device has no GPU"))
    }

    fn get_shared_object(&mut self, _uuid: VhostUserSharedMsg) -> Result<File> {
        Err(Error::InvalidOperation("this device has no shared objects"))
    }

    fn get_inflight_fd(&mut self, wanted: &VhostUserInflight) -> Result<(VhostUserInflight, File)> {
        let (queues, queue_size) = (wanted.num_queues, wanted.queue_size);
        if queues == 0 || usize::from(queues) > self.queues.len() || queue_size == 0 {
            return Err(refused("an in-flight area for queues that do not exist"));
        }
        let (area, file) = InflightArea::make(queues, queue_size).map_err(failed)?;
        let bytes = area.bytes(queues);
        self.inflight = Some(area);
        Ok((VhostUserInflight::new(bytes, 0, queues, queue_size), file))
    }

    fn set_inflight_fd(&mut self, area: &VhostUserInflight, file: File) -> Result<()> {
        let size = (area.mmap_offset, area.mmap_size);
        may_map(0, std::iter::once(size), MAPPED_AREA, "in-flight area")?;
        let area = InflightArea::given(area, file).map_err(failed)?;
        self.changed(|frontend| {
            frontend.inflight = Some(area);
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
            "this device has no state to transfer",
        ))
    }

    fn check_device_state(&mut self) -> Result<()> {
        Err(Error::InvalidOperation(
            "this device has no state to transfer",
        ))
    }

    fn get_shmem_config(&mut self) -> Result<VhostUserShMemConfig> {
        Err(Error::InvalidOperation(
            "this device has no shared memory regions",
        ))
    }

    fn set_log_base(&mut self, log: &VhostUserLog, file: File) -> Result<()> {
        let size = (log.mmap_offset, log.mmap_size);
        may_map(0, std::iter::once(size), MAPPED_LOG, "log")?;
        let log = DirtyLog::map(&file, log.mmap_offset, log.mmap_size).map_err(failed)?;
        self.changed(|frontend| {
            frontend.log = Some(log);
            Ok(())
        })
    }
}
