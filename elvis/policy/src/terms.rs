//! The types in the interface of the scheduler.

/// A queue of this core, from [`crate::Scheduler::add_queue`]. Ids are reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueId(pub u32);

/// A device of this core, from [`crate::Scheduler::add_device`]. Ids are reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId(pub u32);

/// What a look at a queue's available ring shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// The driver's free-running index (`avail.idx`): it changes with every request added.
    pub avail: u16,
    /// Requests available and not yet taken.
    pub pending: u16,
}

/// What the I/O thread does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Look at this queue and call [`crate::Scheduler::begin`].
    Visit(QueueId),
    /// Handle pending kicks and completions, without waiting.
    Events,
    /// Nothing is polled and there is no work: wait for an event.
    Sleep {
        /// When to ask again even without an event, in ns.
        until_ns: Option<u64>,
    },
}

/// What to do with a queue after a look at it.
#[derive(Debug, PartialEq, Eq)]
pub enum Begin {
    /// Turn its notifications off, and serve it.
    Serve(Visit),
    /// It is polled and has no requests.
    Empty,
    /// It has requests, but it is another device's turn or a rate limit is reached.
    Wait,
    /// It is not polled, or no longer. Turn its notifications on and look once more: if a request
    /// arrived meanwhile, call [`crate::Scheduler::woken`].
    Arm,
}

/// What to do after a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Nothing: the queue is polled, or will be visited again.
    Nothing,
    /// As [`Begin::Arm`].
    Arm,
}

/// A queue that is being served.
#[derive(Debug, PartialEq, Eq)]
pub struct Visit {
    pub(crate) queue: QueueId,
    /// Its device, which pays for the visit even if the queue is removed meanwhile.
    pub(crate) device: DeviceId,
    /// Of a network device: the other queue of its pair.
    pub(crate) partner: Option<u32>,
    /// Polled queues for which it need not end: of a long visit its own, of a short one its partner too.
    pub(crate) aside: [u32; 2],
    /// Its device has limits.
    pub(crate) limited: bool,
    pub(crate) budget: u32,
    pub(crate) spent: u32,
    /// When it began, and when its time is over.
    pub(crate) from_ns: u64,
    pub(crate) until_ns: u64,
    /// How long the host stopped the thread meanwhile.
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

    /// Notes that the host ran other programs on the thread's CPU for so long during the visit: that time is not
    /// charged.
    pub fn stopped(&mut self, ns: u64) {
        self.stopped_ns += ns;
    }

    /// Units of work done so far.
    #[must_use]
    pub fn spent(&self) -> u32 {
        self.spent
    }
}
