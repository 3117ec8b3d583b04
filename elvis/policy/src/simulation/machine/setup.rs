//! The input of a machine's simulation: guests with their loads, cores, who serves, prices.

use super::prices::Prices;

/// Load of a guest: a number of transactions at a time, each a piece of work, requests to the device, and, on a
/// network, the reply's packets. Times are in ticks.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Transactions outstanding.
    pub depth: u32,
    /// The guest's own work for a transaction, without its replies' handling.
    pub work: u64,
    /// Last part of the work, which puts a request into the queue with interrupts off. Requests that are submitted
    /// together go in one after the other, and a server that looks sees the first ones.
    pub put: u64,
    /// The guest's work for a reply, in its interrupt's handler.
    pub reply: u64,
    /// Uniform variation of the work, in percent.
    pub spread_percent: u64,
    /// Requests to the device in a transaction.
    pub outs: u32,
    /// Packets that come back; 0: the device itself replies, as a disk does.
    pub ins: u32,
    /// Whether all transactions that are ready are submitted together, by one thread of the guest.
    pub together: bool,
    /// The server's work for a request, and for a packet that comes.
    pub out_each: u64,
    pub in_each: u64,
    /// Time that a request's data takes on the wire, and the time until the other side has replied.
    pub wire_each: u64,
    pub away: u64,
    /// Data of a request, for the policy's units of work.
    pub bytes: u64,
}

/// A guest's place.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    pub load: Load,
    /// Core of the guest's vCPU, and core of its server; none: any.
    pub core: Option<usize>,
    pub io_core: Option<usize>,
    /// Whether the server is on another socket.
    pub is_far: bool,
    /// The port of the NIC.
    pub port: usize,
}

/// Server of the guests' queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serving {
    /// The device itself: no interposition.
    None,
    /// A thread for each guest, which sleeps.
    Own,
    /// A thread for each I/O core, with notifications.
    Shared,
    /// A thread for each I/O core, which polls.
    Polling,
}

/// A machine with its guests.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    pub guests: Vec<Placed>,
    pub cores: usize,
    pub serving: Serving,
    /// Whether interrupts reach a running guest without an exit, and end without one.
    pub exitless: bool,
    /// Whether a server that sleeps works as QEMU's. It takes all requests, wants kicks again, and lets a pool of
    /// threads do the requests. Then it completes all that are done.
    pub takes_first: bool,
    /// Whether such a server calls the guest at the first request that it completes, not at the last.
    pub tells_first: bool,
    /// Whether the NIC interrupts any core, not that of the I/O thread.
    pub nic_anywhere: bool,
    /// Whether a guest without work spins, and does not halt.
    pub spins: bool,
    /// Whether the server's thread is QEMU's main loop, which has timers.
    pub main_loop: bool,
    /// Whether cores run one at a time, as in the lab: QEMU gives each an equal part of the time until the next timer.
    pub in_turns: bool,
    pub prices: Prices,
    pub ticks_per_us: u64,
    pub params: crate::Params,
    /// Time before counting starts, and time that is counted.
    pub warmup: u64,
    pub length: u64,
    pub seed: u64,
}
