//! The log of pages that the device wrote, for live migration (vhost-user: LOG_SHMFD).

use crate::{Mapping, Span};
use std::fs::File;
use std::io;
use std::sync::Arc;

/// Bytes of guest memory per bit.
const PAGE: u64 = 4096;

/// A bitmap shared by the front-end; bit n is the page at guest-physical address n * 4096.
#[derive(Debug, Clone)]
pub struct DirtyLog {
    bits: Span,
}

impl DirtyLog {
    /// Maps the log of a front-end.
    pub fn map(file: &File, offset: u64, bytes: u64) -> io::Result<Self> {
        let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "the log is too large");
        let end = offset.checked_add(bytes).ok_or_else(invalid)?;
        let mapping = Arc::new(Mapping::new(file, end)?);
        Ok(Self {
            bits: Span::new(&mapping, offset, bytes).ok_or_else(invalid)?,
        })
    }

    /// Marks a written range. Pages without a bit in the log are skipped: they are not guest memory.
    pub fn mark(&self, guest: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let last = guest.saturating_add(bytes - 1) / PAGE;
        let end = (self.bits.bytes() as u64).saturating_mul(8);
        for page in (guest / PAGE)..=last.min(end.saturating_sub(1)) {
            self.bits.set_bits((page / 8) as usize, 1 << (page % 8));
        }
    }
}
