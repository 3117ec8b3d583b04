//! The table of registered buffers: drivers' memory that is pinned for an io_uring, so that the kernel
//! need not pin it for each request. It assigns memory to entries; `uring` passes them to the kernel.

use elvis_ring::{Memory, Piece, Span};

/// Entries of a ring's table.
pub const ENTRIES: u16 = 4096;
/// Greatest length of one entry, the kernel's limit.
const LONGEST: usize = 1 << 30;

/// Entry of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffer {
    /// Index of the entry.
    pub index: u16,
    /// First address of the memory.
    pub start: usize,
    /// Length of the memory, in bytes.
    pub bytes: usize,
}

/// Registered parts of the memory of one queue's driver.
#[derive(Debug, Default)]
pub struct Registered(Vec<Buffer>);

impl Registered {
    /// Returns the index of the buffer that contains the whole piece.
    #[must_use]
    pub fn find(&self, piece: &Piece) -> Option<u16> {
        let whole = |buffer: &&Buffer| {
            let offset = piece.address().wrapping_sub(buffer.start);
            let room = buffer.bytes.checked_sub(offset);
            room.is_some_and(|room| piece.bytes() <= room)
        };
        self.0.iter().find(whole).map(|buffer| buffer.index)
    }
}

/// Counters of registered buffers, for `elvis ctl stats`.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Counted {
    /// Bytes that are registered, and so pinned, now.
    pub bytes: u64,
    /// Requests that used registered buffers.
    pub requests: u64,
    /// Reason for which the last failed registration failed.
    pub refused: Option<String>,
}

/// Entries of a ring's table and their numbers of users. A device's queues share entries.
#[derive(Debug)]
pub struct Table {
    used: Vec<(Buffer, u32)>,
    free: Vec<u16>,
    pub counted: Counted,
}

impl Table {
    pub fn new() -> Self {
        Self {
            used: Vec::new(),
            free: (0..ENTRIES).rev().collect(),
            counted: Counted::default(),
        }
    }

    /// Adds a driver's memory. `register` registers new entries; those for which it fails are left out.
    pub fn add(
        &mut self,
        memory: &Memory,
        mut register: impl FnMut(&Buffer) -> std::io::Result<()>,
    ) -> Registered {
        let mut registered = Registered::default();
        for (start, bytes) in memory
            .regions()
            .iter()
            .flat_map(|region| parts(region.span()))
        {
            let known = self
                .used
                .iter_mut()
                .find(|(buffer, _)| (buffer.start, buffer.bytes) == (start, bytes));
            if let Some((buffer, users)) = known {
                *users += 1;
                registered.0.push(*buffer);
                continue;
            }
            let Some(index) = self.free.pop() else {
                self.counted.refused = Some(format!("all {ENTRIES} entries are in use"));
                break;
            };
            let buffer = Buffer {
                index,
                start,
                bytes,
            };
            if let Err(error) = register(&buffer) {
                self.counted.refused = Some(error.to_string());
                self.free.push(index);
                continue;
            }
            self.counted.bytes += bytes as u64;
            self.used.push((buffer, 1));
            registered.0.push(buffer);
        }
        registered
    }

    /// Releases entries from [`Table::add`]. Entries without other users are passed to `unregister`.
    pub fn remove(&mut self, registered: Registered, mut unregister: impl FnMut(&Buffer)) {
        for gone in registered.0 {
            let Some(at) = self.used.iter().position(|(buffer, _)| *buffer == gone) else {
                continue;
            };
            self.used[at].1 -= 1;
            if self.used[at].1 == 0 {
                unregister(&gone);
                self.used.swap_remove(at);
                self.free.push(gone.index);
                self.counted.bytes -= gone.bytes as u64;
            }
        }
    }
}

/// Splits a region into parts of at most [`LONGEST`] bytes.
fn parts(region: &Span) -> impl Iterator<Item = (usize, usize)> {
    let (start, bytes) = (region.start() as usize, region.bytes());
    let offsets = (0..bytes).step_by(LONGEST);
    offsets.map(move |offset| (start + offset, LONGEST.min(bytes - offset)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use elvis_ring::Region;
    use std::fs::File;
    use std::io;

    fn memory(bytes: u64) -> Memory {
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        let file = File::from(rustix::fs::memfd_create("buffers-test", flags).unwrap());
        file.set_len(bytes).unwrap();
        Memory::new(vec![Region::map(&file, 0, 0, 0, bytes).unwrap()]).unwrap()
    }

    fn piece(registered: &Registered, buffer: usize, offset: usize, bytes: usize) -> Option<u16> {
        let place = registered.0[buffer].start.wrapping_add(offset);
        // SAFETY: it is only compared, never accessed.
        registered.find(&unsafe { Piece::new(place as *mut u8, bytes) })
    }

    #[test]
    fn a_piece_is_found_where_it_lies_whole() {
        let mut table = Table::new();
        // This takes only address space: no page is touched.
        let registered = table.add(&memory((1 << 30) + 8192), |_| Ok(()));
        assert_eq!(table.counted.bytes, (1 << 30) + 8192);
        assert_eq!(piece(&registered, 0, 0, 1), Some(0));
        assert_eq!(piece(&registered, 0, LONGEST - 512, 512), Some(0));
        assert_eq!(piece(&registered, 0, LONGEST - 512, 513), None);
        assert_eq!(piece(&registered, 0, LONGEST, 8192), Some(1));
        assert_eq!(piece(&registered, 0, LONGEST, 8193), None);
        assert_eq!(piece(&registered, 0, usize::MAX, 1), None);
    }

    #[test]
    fn queues_of_a_device_share_and_the_last_one_gives_up() {
        let (mut table, one, other) = (Table::new(), memory(4096), memory(4096));
        let mut made = 0;
        let mut add = |table: &mut Table, memory| {
            table.add(memory, |_| {
                made += 1;
                Ok(())
            })
        };
        let first = add(&mut table, &one);
        let second = add(&mut table, &one);
        let third = add(&mut table, &other);
        assert_eq!((made, table.counted.bytes), (2, 8192));
        assert_eq!(piece(&second, 0, 0, 512), piece(&first, 0, 0, 512));
        assert_ne!(piece(&third, 0, 0, 512), piece(&first, 0, 0, 512));
        table.remove(first, |_| panic!("another queue uses it"));
        let mut gone = Vec::new();
        table.remove(second, |buffer| gone.push(buffer.index));
        table.remove(third, |buffer| gone.push(buffer.index));
        assert_eq!((gone, table.counted.bytes), (vec![0, 1], 0));
        assert_eq!(table.free.len(), usize::from(ENTRIES));
    }

    #[test]
    fn what_is_refused_is_left_out_and_said() {
        let (mut table, one) = (Table::new(), memory(4096));
        let registered = table.add(&one, |_| Err(io::Error::from_raw_os_error(libc::ENOMEM)));
        assert!(registered.0.is_empty() && table.free.len() == usize::from(ENTRIES));
        assert!(table.counted.refused.as_ref().unwrap().contains("memory"));
        table.remove(registered, |_| panic!("nothing was registered"));
    }
}
