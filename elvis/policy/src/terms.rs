//! The types in the interface of the scheduler.

/// A queue of this core, from [`crate::Scheduler::add_queue`]. Ids are reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueId(pub u32);

/// A device of this core, from [`crate::Scheduler::add_device`]. Ids are reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId(pub u32);

/// Result of a look at a queue's available ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// The driver's free-running index (`avail.idx`): it changes with every request added.
    pub avail: u16,
    /// Requests available and not yet taken.
    pub pending: u16,
}

/// Next step of the I/O thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Look at this queue and call [`crate::Scheduler::begin`].
    Visit(QueueId),
    /// Handle pending kicks and completions, without waiting.
    Events,
    /// Nothing is polled and there is no work: wait for an event.
    Sleep {
        /// Time at which to ask again even without an event, in ns.
        until_ns: Option<u64>,
    },
}

/// Instruction for a queue after a look at it.
#[derive(Debug, PartialEq, Eq)]
pub enum Begin {
    /// Turn its notifications off, and serve it.
    Serve(Visit),
    /// The queue is polled and has no requests.
    Empty,
    /// The queue has requests, but it is another device's turn or a rate limit is reached.
    Wait,
    /// The queue is not polled, or no longer. Turn its notifications on and look once more: if a request arrived
    /// meanwhile, call [`crate::Scheduler::woken`].
    Arm,
}

/// Instruction for a queue after a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Nothing: the queue is polled, or will be visited again.
    Nothing,
    /// The queue is not polled: do as for [`Begin::Arm`].
    Arm,
}

/// A queue that is being served.
#[derive(Debug, PartialEq, Eq)]
pub struct Visit {
    pub(crate) queue: QueueId,
    /// Device of the queue, which pays for the visit even if the queue is removed meanwhile.
    pub(crate) device: DeviceId,
    /// Other queue of the pair, in a network device.
    pub(crate) partner: Option<u32>,
    /// Number of polled queues for which the visit need not end: of a long visit its own queue, of a short one its
    /// partner too.
    pub(crate) aside: [u32; 2],
    /// Whether the device has limits.
    pub(crate) limited: bool,
    pub(crate) budget: u32,
    pub(crate) spent: u32,
    /// Time at which the visit began, and at which its time is over.
    pub(crate) from_ns: u64,
    pub(crate) until_ns: u64,
    /// Time for which the host stopped the thread during the visit.
    pub(crate) stopped_ns: u64,
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

    /// Notes that the host ran other programs on the thread's CPU for `ns` during the visit: that time is not charged.
    pub fn stopped(&mut self, ns: u64) {
        self.stopped_ns += ns;
    }

    /// Requests served so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests
    }
}
