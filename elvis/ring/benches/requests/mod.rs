//! The requests whose ring work is measured: a block device's, and frames that a driver sends and receives. Each is
//! served by elvis' ring, which checks it, and by [`crate::raw`], which trusts it.

#![allow(dead_code)]

use elvis_ring::Chain;
use elvis_ring::driver::Driver;
use std::hint::black_box;

/// Bytes of a frame's header, and with its shortest frame.
const HEADER: usize = 12;
const FRAME: u32 = 72;
/// Address of the frames' buffers, and bytes of each. Linux' mergeable buffers have 1536 bytes for frames of 1500
/// bytes.
const BUFFERS: u64 = 0x20_0000;
const BUFFER: u32 = 1536;

/// Work of a device on a request, besides the ring.
pub trait Request {
    /// Bytes that it writes.
    const WRITTEN: u32;

    /// Does the work by elvis' chain; `header` is memory for the bytes that it reads.
    fn checked(chain: &Chain, header: &mut [u8; 16]);

    /// Does the raw work on the first buffer.
    fn first(place: *mut u8);
    /// Does the raw work on the last buffer, which has `bytes` bytes.
    fn last(_place: *mut u8, _bytes: u32) {}
}

/// Reads, without checks.
fn read<T: Copy>(place: *mut u8) -> T {
    // SAFETY: the benchmark's own driver wrote only places in its memory, which it keeps.
    unsafe { place.cast::<T>().read_volatile() }
}

fn write<T: Copy>(place: *mut u8, value: T) {
    // SAFETY: as above.
    unsafe { place.cast::<T>().write_volatile(value) }
}

/// A read of 4 KiB: its header is read, and its status is written.
pub struct Block;

impl Request for Block {
    const WRITTEN: u32 = 4097;

    #[inline]
    fn checked(chain: &Chain, header: &mut [u8; 16]) {
        black_box(chain.read(0, header));
        black_box(chain.write_last(0));
    }

    fn first(place: *mut u8) {
        black_box(read::<[u64; 2]>(place));
    }

    fn last(place: *mut u8, bytes: u32) {
        write(place.wrapping_add(bytes as usize - 1), 0u8);
    }
}

/// A sent frame: its header is read.
pub struct Sent;

impl Request for Sent {
    const WRITTEN: u32 = 0;

    #[inline]
    fn checked(chain: &Chain, header: &mut [u8; 16]) {
        black_box(chain.read(0, &mut header[..HEADER]));
    }

    fn first(place: *mut u8) {
        black_box(read::<[u32; 3]>(place));
    }
}

/// A buffer for a received frame: its header is written.
pub struct Received;

impl Request for Received {
    const WRITTEN: u32 = FRAME;

    #[inline]
    fn checked(chain: &Chain, header: &mut [u8; 16]) {
        black_box(chain.write(0, &header[..HEADER]));
    }

    fn first(place: *mut u8) {
        write(place, [0u32; 3]);
    }
}

/// Sends `count` frames, each in one buffer.
pub fn send(driver: &mut Driver, count: u16) {
    for slot in 0..u64::from(count) {
        driver.submit(&[(BUFFERS + slot * u64::from(BUFFER), FRAME, false)]);
    }
}

/// Gives `count` buffers for received frames.
pub fn receive(driver: &mut Driver, count: u16) {
    for slot in 0..u64::from(count) {
        driver.submit(&[(BUFFERS + slot * u64::from(BUFFER), BUFFER, true)]);
    }
}
