//! The contents of blocks when reads are checked: pseudo-random bytes, derived from the disk, the block
//! and the number of times that it was written.

use anyhow::bail;

/// Contents that one client wrote to its disk. A block that it never wrote may hold anything.
pub struct Written {
    disk: u64,
    /// Number of times that this client wrote each block.
    generations: Vec<u32>,
}

impl Written {
    /// Makes the contents of a disk of `blocks` blocks; each disk has another number `disk`.
    pub fn new(disk: u64, blocks: u64) -> Self {
        Self {
            disk,
            generations: vec![0; blocks as usize],
        }
    }

    /// Fills a buffer with the block's next contents.
    pub fn fill(&mut self, block: u64, buffer: &mut [u8]) {
        let generation = &mut self.generations[block as usize];
        *generation += 1;
        bytes(self.disk, block, *generation, buffer);
    }

    /// Compares the bytes read from a block with those written, and fails if they differ. False if this client never
    /// wrote the block.
    pub fn check(&self, block: u64, read: &[u8]) -> anyhow::Result<bool> {
        let generation = self.generations[block as usize];
        if generation == 0 {
            return Ok(false);
        }
        let mut wanted = vec![0; read.len()];
        bytes(self.disk, block, generation, &mut wanted);
        if let Some(at) = (0..read.len()).find(|&at| read[at] != wanted[at]) {
            bail!(
                "block {block}, written {generation} times, was read back wrong from byte {at} on"
            );
        }
        Ok(true)
    }

    /// The blocks that were written.
    pub fn blocks(&self) -> Vec<u64> {
        let numbered = (0..).zip(&self.generations);
        let written = numbered.filter(|(_, generation)| **generation > 0);
        written.map(|(block, _)| block).collect()
    }
}

fn bytes(disk: u64, block: u64, generation: u32, buffer: &mut [u8]) {
    // Disk, block and generation are in separate bits, so that no two seeds are equal.
    let seed = disk << 56 ^ block << 32 ^ u64::from(generation);
    fastrand::Rng::with_seed(seed).fill(buffer);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_differ_by_disk_block_and_generation() {
        let (mut one, mut other) = (Written::new(1, 8), Written::new(2, 8));
        let mut buffer = vec![0; 4096];
        assert!(!one.check(3, &buffer).unwrap());
        one.fill(3, &mut buffer);
        assert!(one.check(3, &buffer).unwrap());
        let stale = buffer.clone();
        other.fill(3, &mut buffer);
        assert!(one.check(3, &buffer).is_err(), "another disk's");
        one.fill(4, &mut buffer);
        assert!(one.check(3, &buffer).is_err(), "another block's");
        one.fill(3, &mut buffer);
        assert!(one.check(3, &stale).is_err(), "a lost write");
        buffer[4095] ^= 1;
        let error = one.check(3, &buffer).unwrap_err().to_string();
        assert!(error.contains("block 3, written 2 times") && error.contains("byte 4095"));
        assert_eq!(one.blocks(), [3, 4]);
    }
}
