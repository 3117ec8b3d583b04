//! The prices of a machine: what an exit, an interrupt, a wake-up costs, each with its unit and source.

use serde::Serialize;

/// A parameter of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Parameter {
    pub name: &'static str,
    pub value: u64,
    pub unit: &'static str,
    /// Where its value is from.
    pub source: &'static str,
}

/// The value of the parameter of this name; 0 if there is none.
pub(super) fn value(parameters: &[Parameter], name: &str) -> u64 {
    let found = parameters.iter().find(|parameter| parameter.name == name);
    found.map_or(0, |parameter| parameter.value)
}

/// A parameter by its name.
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

/// What an operation takes, in ticks: instructions of the lab, or cycles.
macro_rules! prices {
    ($($(#[$doc:meta])* $name:ident)*) => {
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Prices { $($(#[$doc])* pub $name: u64,)* }

        impl Prices {
            /// From the parameters of these names. What has no parameter costs nothing.
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
    /// In it: waking a server that sleeps.
    wake
    /// What a guest itself does to go idle, and afterwards.
    idle
    /// An exit at HLT, until the core is idle.
    halt
    /// From the wake-up of a halted vCPU until its guest runs.
    resume
    /// An exit of a running guest by an interrupt.
    interrupt
    /// An exit when it can take a call's interrupt, which it could not at once; 0: it always can.
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
    /// As long a guest spins that does not halt, before another core can have its turn.
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
    /// What a server's work takes with the data in another socket's memory, in percent.
    far_percent
    /// The same of the guest's own work.
    far_guest_percent
}
