//! The prices of a machine: an exit, an interrupt, a wake-up, each with its unit and source.

use serde::Serialize;

/// A parameter of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Parameter {
    pub name: &'static str,
    pub value: u64,
    pub unit: &'static str,
    /// Source of the value.
    pub source: &'static str,
}

/// Returns the value of the parameter of this name; 0 if there is none.
pub(super) fn value(parameters: &[Parameter], name: &str) -> u64 {
    let found = parameters.iter().find(|parameter| parameter.name == name);
    found.map_or(0, |parameter| parameter.value)
}

/// Makes a parameter of this name.
macro_rules! parameter {
    ($name:ident = $value:expr, $unit:literal, $source:literal) => {
        Parameter {
            name: stringify!($name),
            value: $value,
            unit: $unit,
            source: $source,
        }
    };
}
pub(super) use parameter;

/// Defines the prices of operations, in ticks: instructions of the lab, or cycles.
macro_rules! prices {
    ($($(#[$doc:meta])* $name:ident)*) => {
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Prices { $($(#[$doc])* pub $name: u64,)* }

        impl Prices {
            /// Takes the prices from the parameters of these names. An operation without a parameter costs nothing.
            #[must_use]
            pub fn of(parameters: &[Parameter]) -> Self {
                Self { $($name: value(parameters, stringify!($name)),)* }
            }

            /// Whether a name is that of a price.
            #[must_use]
            pub fn has(name: &str) -> bool {
                [$(stringify!($name)),*].contains(&name)
            }
        }
    };
}

prices! {
    /// An exit for a notification, until the guest goes on.
    kick
    /// Part of `kick` that wakes a server that sleeps.
    wake
    /// A guest's own work to go idle, and afterwards.
    idle
    /// An exit at HLT, until the core is idle.
    halt
    /// Time from the wake-up of a halted vCPU until its guest runs.
    resume
    /// An exit of a running guest by an interrupt.
    interrupt
    /// An exit at which the guest takes a call's interrupt that it could not take at once; 0: it always can.
    window
    /// An exit at the end of an interrupt.
    end
    /// The guest's interrupt handler, without the replies.
    handler
    /// A thread that was woken, until it looks at the queue, and its going to sleep.
    server_wake
    /// A request in the pool, and completing it then.
    read
    complete
    /// A visit to a queue with requests, without the requests.
    visit
    /// A call: raising the guest's interrupt.
    call
    /// Most replies of one call, of a thread that serves one guest.
    call_after
    /// A look at an empty queue.
    poll
    /// A look for kicks.
    look
    /// Time that a guest which does not halt spins, before another core can have its turn.
    spin
    /// A switch from one thread to another.
    switch
    /// A thread's slice while others wait.
    slice
    /// Time between two ticks of the timers of host and guest, and the exits of a guest's.
    tick_gap
    tick_exits
    /// Time between two interrupts of a NIC.
    nic_gap
    /// A server's work with the data in another socket's memory, in percent of the work with near data.
    far_percent
    /// The guest's own work with the data in another socket's memory, in percent of the work with near data.
    far_guest_percent
}
