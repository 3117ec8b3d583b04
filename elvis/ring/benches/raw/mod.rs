//! A device that trusts its driver: the least cost of a ring of each layout. It follows chains, does the work of the
//! request, writes the used elements and the index or the flags, and reads whether a call is wanted. It checks nothing,
//! and has one region of memory at address 0.

use crate::requests::Request;
use elvis_ring::driver::Driver;
use std::hint::black_box;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering, fence};

const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;
const AVAIL_USED: u16 = 1 << 7 | 1 << 15;

/// The device side of a driver's ring.
pub struct Raw {
    memory: *mut u8,
    descriptors: *mut u8,
    available: *mut u8,
    used: *mut u8,
    size: u16,
    /// Split: the next entries. Packed: the next descriptors.
    next: u16,
    used_next: u16,
    /// Packed: the flags of a descriptor that is available at `next`. Split: 0.
    turn: u16,
    _driver: std::sync::Arc<elvis_ring::Memory>,
}

impl Raw {
    /// A device for this driver.
    pub fn new(driver: &Driver) -> Self {
        let at = driver.addresses();
        let place = |guest| driver.memory().span(guest, 4).unwrap().start();
        Self {
            memory: place(0),
            descriptors: place(at.descriptors),
            available: place(at.available),
            used: place(at.used),
            size: crate::timed::SIZE,
            next: 0,
            used_next: 0,
            turn: u16::from(driver.start() != 0) << 7,
            _driver: std::sync::Arc::clone(driver.memory()),
        }
    }

    /// A field of shared memory.
    fn field<T: Copy>(place: *mut u8, offset: usize) -> T {
        // SAFETY: the benchmark's own driver wrote only what is in its memory, which `_driver` keeps.
        unsafe { place.add(offset).cast::<T>().read_volatile() }
    }

    fn set<T: Copy>(place: *mut u8, offset: usize, value: T) {
        // SAFETY: as above.
        unsafe { place.add(offset).cast::<T>().write_volatile(value) }
    }

    fn first<R: Request>(&self, guest: u64) {
        R::first(self.memory.wrapping_add(guest as usize));
    }

    fn last<R: Request>(&self, guest: u64, bytes: u32) {
        R::last(self.memory.wrapping_add(guest as usize), bytes);
    }

    fn split<R: Request>(&mut self) -> u64 {
        // SAFETY: as above.
        let index = unsafe { AtomicU16::from_ptr(self.available.add(2).cast()) };
        let avail = index.load(Ordering::Acquire);
        let (served, mask) = (avail.wrapping_sub(self.next), self.size - 1);
        while self.next != avail {
            let head: u16 = Self::field(self.available, 4 + 2 * usize::from(self.next & mask));
            self.next = self.next.wrapping_add(1);
            let (mut table, mut at) = (self.descriptors, head);
            let mut first = true;
            loop {
                let place = 16 * usize::from(at);
                let [guest, rest]: [u64; 2] = Self::field(table, place);
                let flags = (rest >> 32) as u16;
                if flags & INDIRECT != 0 {
                    table = self.memory.wrapping_add(guest as usize);
                    at = 0;
                    continue;
                }
                if std::mem::take(&mut first) {
                    self.first::<R>(guest);
                }
                if flags & NEXT == 0 {
                    self.last::<R>(guest, rest as u32);
                    break;
                }
                at = (rest >> 48) as u16;
            }
            let element = [u32::from(head), R::WRITTEN];
            Self::set(
                self.used,
                4 + 8 * usize::from(self.used_next & mask),
                element,
            );
            self.used_next = self.used_next.wrapping_add(1);
        }
        // SAFETY: as above.
        let index = unsafe { AtomicU16::from_ptr(self.used.add(2).cast()) };
        index.store(self.used_next, Ordering::Release);
        fence(Ordering::SeqCst);
        let event: u16 = Self::field(self.available, 4 + 2 * usize::from(self.size));
        black_box(event);
        served.into()
    }

    fn step(&mut self) {
        self.next += 1;
        if self.next == self.size {
            self.next = 0;
            self.turn ^= AVAIL_USED;
        }
    }

    fn packed<R: Request>(&mut self) -> u64 {
        let (mut served, mut publish) = (0, None);
        loop {
            let (start, turn, place) = (self.next, self.turn, 16 * usize::from(self.next));
            // SAFETY: as above.
            let flags = unsafe { AtomicU16::from_ptr(self.descriptors.add(place + 14).cast()) };
            if flags.load(Ordering::Acquire) & AVAIL_USED != turn {
                break;
            }
            let [mut guest, mut rest]: [u64; 2] = Self::field(self.descriptors, place);
            let mut id = (rest >> 32) as u16;
            self.step();
            if (rest >> 48) as u16 & INDIRECT != 0 {
                let table = self.memory.wrapping_add(guest as usize);
                let last = rest as u32 as usize - 16;
                self.first::<R>(Self::field(table, 0));
                [guest, rest] = Self::field(table, last);
            } else {
                self.first::<R>(guest);
                while (rest >> 48) as u16 & NEXT != 0 {
                    let place = 16 * usize::from(self.next);
                    [guest, rest] = Self::field(self.descriptors, place);
                    id = (rest >> 32) as u16;
                    self.step();
                }
            }
            self.last::<R>(guest, rest as u32);
            let place = 16 * usize::from(start);
            let written = u16::from(R::WRITTEN > 0) * WRITE;
            let flags = if turn == 1 << 7 { AVAIL_USED } else { 0 } | written;
            if publish.is_none() {
                publish = Some((place, flags));
                Self::set(self.descriptors, place + 8, R::WRITTEN);
                Self::set(self.descriptors, place + 12, id);
            } else {
                let rest = u64::from(R::WRITTEN) | u64::from(id) << 32 | u64::from(flags) << 48;
                Self::set(self.descriptors, place + 8, rest);
            }
            served += 1;
        }
        if let Some((place, flags)) = publish {
            // SAFETY: as above.
            let last = unsafe { AtomicU16::from_ptr(self.descriptors.add(place + 14).cast()) };
            last.store(flags, Ordering::Release);
        }
        fence(Ordering::SeqCst);
        // SAFETY: as above.
        let event = unsafe { AtomicU32::from_ptr(self.available.cast()) };
        black_box(event.load(Ordering::Relaxed));
        served
    }
}

/// Serves a ring, and returns the number of requests served.
#[inline(never)]
pub fn serve<R: Request>(ring: &mut Raw) -> u64 {
    if ring.turn == 0 {
        ring.split::<R>()
    } else {
        ring.packed::<R>()
    }
}
