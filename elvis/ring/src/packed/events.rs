//! Notifications of a packed ring: the event suppression structures, the driver's and the device's.

use super::Packed;
use std::sync::atomic::{Ordering, fence};

/// Bytes of an event suppression structure (section 2.8.14).
pub(super) const EVENT: usize = 4;
/// Flags of an event suppression structure: notify of all changes; of none; when the ring is used up to a descriptor.
pub(crate) const ENABLE: u16 = 0;
pub(crate) const DISABLE: u16 = 1;
pub(crate) const DESC: u16 = 2;

impl Packed {
    pub(crate) fn call_wanted(&self) -> bool {
        fence(Ordering::SeqCst);
        self.driver_waits(self.size)
    }

    /// Whether the driver wants a call for one of the last `count` descriptors that became used.
    #[inline]
    pub(super) fn driver_waits(&self, count: u16) -> bool {
        let event = u32::from_le(self.driver.load_u32(0, Ordering::Relaxed));
        match (event >> 16) as u16 & 3 {
            DISABLE => false,
            DESC if self.event_idx => self.used.passed(event as u16, count, self.size),
            _ => true,
        }
    }

    #[inline]
    pub(crate) fn disarm(&mut self) {
        if std::mem::replace(&mut self.kicks_wanted, false) {
            self.set_event(DISABLE, 0);
        }
    }

    #[inline]
    pub(crate) fn arm(&mut self) {
        self.kicks_wanted = true;
        if self.event_idx {
            // The place of the last look is used, not `next`: requests seen but not taken are not new.
            self.set_event(DESC, self.seen.bits());
        } else {
            // Without EVENT_IDX the place has no meaning. It makes the structure nonzero, which `keep` requires.
            self.set_event(ENABLE, u16::MAX);
        }
        fence(Ordering::SeqCst);
    }

    fn set_event(&mut self, flags: u16, at: u16) {
        let event = u32::from(at) | u32::from(flags) << 16;
        self.device.store_u32(0, event.to_le(), Ordering::Relaxed);
        if let (Some(log), Some(guest)) = (&self.log, self.device_log) {
            log.mark(guest, EVENT as u64);
        }
    }
}
