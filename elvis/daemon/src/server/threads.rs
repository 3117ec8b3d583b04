//! The I/O threads that serve a device.

use super::iothread::IoThread;
use std::sync::Arc;

/// I/O threads of a device, at least one. The queues of a spread device go round them.
#[derive(Clone)]
pub struct Threads {
    first: Arc<IoThread>,
    rest: Vec<Arc<IoThread>>,
}

impl Threads {
    /// Returns a single thread.
    #[must_use]
    pub fn one(first: Arc<IoThread>) -> Self {
        Self {
            first,
            rest: Vec::new(),
        }
    }

    /// Returns all of these threads, in their order from number `first` on; None if there is no such one.
    #[must_use]
    pub fn all(threads: &[Arc<IoThread>], first: usize) -> Option<Self> {
        let rest = threads.iter().cycle().skip(first + 1);
        Some(Self {
            first: Arc::clone(threads.get(first)?),
            rest: rest.take(threads.len() - 1).map(Arc::clone).collect(),
        })
    }

    /// Returns the thread that serves a queue of this group.
    #[must_use]
    pub fn of(&self, group: u16) -> &Arc<IoThread> {
        match usize::from(group) % (1 + self.rest.len()) {
            0 => &self.first,
            number => &self.rest[number - 1],
        }
    }

    /// Returns all threads, the first one first.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<IoThread>> {
        std::iter::once(&self.first).chain(&self.rest)
    }
}

impl PartialEq for Threads {
    fn eq(&self, other: &Self) -> bool {
        let same = |(one, other)| Arc::ptr_eq(one, other);
        self.rest.len() == other.rest.len() && self.iter().zip(other.iter()).all(same)
    }
}
