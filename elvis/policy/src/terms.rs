//! What the scheduler and its driver say to each other.

/// A queue of this core, as [`crate::Scheduler::add_queue`] named it. Ids are used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueId(pub u32);

/// A device of this core, as [`crate::Scheduler::add_device`] named it. Ids are used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId(pub u32);

/// What a look at a queue's available ring shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// The driver's free-running index (`avail.idx`): it moves whenever a request is added.
    pub avail: u16,
    /// Requests that are there and not yet taken.
    pub pending: u16,
}

/// What the I/O thread does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Look at this queue and call [`crate::Scheduler::begin`].
    Visit(QueueId),
    /// Take in kicks and completions, without waiting for any.
    Events,
    /// Nothing is polled and nothing is to be done: wait for an event, no longer than this.
    Sleep {
        /// When to ask again in any case, in ns.
        until_ns: Option<u64>,
    },
}

/// What a look at a queue leads to.
#[derive(Debug, PartialEq, Eq)]
pub enum Begin {
    /// Turn its notifications off, and serve it.
    Serve(Visit),
    /// Polled, and nothing is there.
    Empty,
    /// Requests are there, and it is another device's turn or a rate limit is reached.
    Wait,
    /// Turn its notifications on and look once more: if a request came meanwhile, call
    /// [`crate::Scheduler::woken`]. Polling has ended, or it was not polled.
    Arm,
}

/// What follows a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Nothing: the queue is polled or will be visited again.
    Nothing,
    /// As [`Begin::Arm`].
    Arm,
}

/// A queue that is being served.
#[derive(Debug, PartialEq, Eq)]
pub struct Visit {
    pub(crate) queue: QueueId,
    pub(crate) budget: u32,
    pub(crate) spent: u32,
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    pub(crate) peeks_owed: u32,
    pub(crate) peeked: u32,
    pub(crate) stuck: bool,
    pub(crate) left_early: bool,
}

impl Visit {
    /// The queue that is served.
    #[must_use]
    pub fn queue(&self) -> QueueId {
        self.queue
    }

    /// Units of work done so far.
    #[must_use]
    pub fn spent(&self) -> u32 {
        self.spent
    }
}
