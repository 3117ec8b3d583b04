//! The front-end of a vhost-user network device: connects, shares memory, and starts one pair of rings, which the
//! caller drives. For [`crate::pair`], and for elvis' tests.

use anyhow::Context;
use elvis_ring::driver::Driver;
use elvis_ring::{Memory, Region};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;
use vhost::vhost_user::message::{VhostUserHeaderFlag, VhostUserProtocolFeatures};
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use vmm_sys_util::eventfd::EventFd;

/// The ring of received frames, in all pairs here.
pub const RECEIVE: usize = 0;
/// The ring of sent frames.
pub const TRANSMIT: usize = 1;
/// Entries of a ring, as QEMU's default.
pub const SIZE: u16 = 256;
/// Addresses of the rings in the memory.
pub const RINGS: [u64; 2] = [0, 0x4000];
/// Start of the memory that the caller may use.
pub const FREE: u64 = 0x10_0000;
/// Difference of the front-end's addresses and the guest's.
const USER: u64 = 0x7000_0000_0000;

/// Features of the device and of the transport.
pub mod feature {
    /// The device completes checksums.
    pub const CSUM: u64 = 1;
    /// The driver takes frames whose checksum is not complete.
    pub const GUEST_CSUM: u64 = 1 << 1;
    /// The driver takes TCP segments larger than a frame, over IPv4.
    pub const GUEST_TSO4: u64 = 1 << 7;
    /// The device splits large TCP segments, over IPv4.
    pub const HOST_TSO4: u64 = 1 << 11;
    /// A received frame may use several buffers.
    pub const MRG_RXBUF: u64 = 1 << 15;
    /// Writes to memory are logged.
    pub const LOG_ALL: u64 = 1 << 26;
    /// Each side asks for its next notification at a certain entry.
    pub const EVENT_IDX: u64 = 1 << 29;
    /// vhost-user's feature: there are protocol features, and a message enables rings.
    pub const PROTOCOL: u64 = 1 << 30;
    /// VIRTIO 1.0: the header has the number of buffers.
    pub const VERSION_1: u64 = 1 << 32;
    /// Rings are packed.
    pub const RING_PACKED: u64 = 1 << 34;
}

/// A connected device.
pub struct Nic {
    /// Connection to the server.
    pub frontend: Frontend,
    /// Features that both sides support.
    pub features: u64,
    /// Protocol features that both sides support.
    pub protocol: VhostUserProtocolFeatures,
    /// Rings [`RECEIVE`] and [`TRANSMIT`].
    pub rings: [Driver; 2],
    /// Notifications to the device.
    pub kicks: [EventFd; 2],
    /// Notifications from the device.
    pub calls: [EventFd; 2],
    /// File of the memory.
    pub file: File,
    /// Memory that is shared with the device.
    pub memory: Arc<Memory>,
    /// Number of kicks so far.
    pub kicked: u64,
}

impl Nic {
    /// Connects, with so much memory and with the features of these that the device offers. Starts no ring.
    pub fn connect(
        socket: &Path,
        features: u64,
        protocol: VhostUserProtocolFeatures,
        bytes: u64,
    ) -> anyhow::Result<Self> {
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        let file = File::from(rustix::fs::memfd_create("worldswitch-nic", flags)?);
        file.set_len(bytes)?;
        let memory = Arc::new(Memory::new(vec![Region::map(&file, 0, 0, 0, bytes)?])?);
        let (frontend, features, protocol) = negotiate(socket, features, protocol)?;
        let packed = features & feature::RING_PACKED != 0;
        let ring = |base| Driver::of_memory(&memory, base, SIZE, true, packed);
        let rings = [ring(RINGS[RECEIVE])?, ring(RINGS[TRANSMIT])?];
        let event = || EventFd::new(0);
        Ok(Self {
            frontend,
            features,
            protocol,
            rings,
            kicks: [event()?, event()?],
            calls: [event()?, event()?],
            file,
            memory,
            kicked: 0,
        })
    }

    /// Shares the memory, and starts both rings at these entries. Packed rings start at descriptors; the bit above a
    /// descriptor is the wrap counter. `log`: place of the used rings in the log of writes.
    pub fn start(&mut self, bases: [u16; 2], log: Option<u64>) -> vhost::Result<()> {
        let region = VhostUserMemoryRegionInfo {
            guest_phys_addr: 0,
            memory_size: self.memory.regions().iter().map(Region::bytes).sum(),
            userspace_addr: USER,
            mmap_offset: 0,
            mmap_handle: self.file.as_raw_fd(),
        };
        // The memory comes first: the server looks up the rings' addresses in it.
        self.frontend.set_mem_table(&[region])?;
        for (queue, base) in bases.into_iter().enumerate() {
            self.frontend.set_vring_num(queue, SIZE)?;
            let at = self.rings[queue].addresses();
            let rings = VringConfigData {
                queue_max_size: SIZE,
                queue_size: SIZE,
                desc_table_addr: USER + at.descriptors,
                used_ring_addr: USER + at.used,
                avail_ring_addr: USER + at.available,
                flags: u32::from(log.is_some()),
                log_addr: log.map(|log| log + at.used),
            };
            self.frontend.set_vring_addr(queue, &rings)?;
            self.frontend.set_vring_base(queue, base)?;
            self.frontend.set_vring_call(queue, &self.calls[queue])?;
            self.frontend.set_vring_kick(queue, &self.kicks[queue])?;
            self.frontend.set_vring_enable(queue, true)?;
        }
        Ok(())
    }

    /// Notifies the device of new buffers, unless it suppresses notifications.
    pub fn kick(&mut self, queue: usize) -> std::io::Result<()> {
        if self.rings[queue].kick_wanted() {
            self.kicks[queue].write(1)?;
            self.kicked += 1;
        }
        Ok(())
    }

    /// Bytes of the header before a frame.
    pub fn header_bytes(&self) -> usize {
        match self.features & (feature::MRG_RXBUF | feature::VERSION_1) {
            0 => 10,
            _ => 12,
        }
    }
}

/// Connects to a server. Returns the features that both sides support, of the device and of the protocol.
pub fn negotiate(
    socket: &Path,
    features: u64,
    protocol: VhostUserProtocolFeatures,
) -> anyhow::Result<(Frontend, u64, VhostUserProtocolFeatures)> {
    let named = || socket.display().to_string();
    let mut frontend = Frontend::connect(socket, 2).with_context(named)?;
    frontend.set_owner()?;
    let features = features & frontend.get_features()?;
    frontend.set_features(features)?;
    let protocol = protocol & frontend.get_protocol_features()?;
    frontend.set_protocol_features(protocol)?;
    if protocol.contains(VhostUserProtocolFeatures::REPLY_ACK) {
        frontend.set_hdr_flags(VhostUserHeaderFlag::NEED_REPLY);
    }
    Ok((frontend, features, protocol))
}
