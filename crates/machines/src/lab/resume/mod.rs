//! Machines that resume where they had booted, instead of booting again.
//!
//! The first process of a machine stops before it reads the lines of a launch (`common/launch.c`, docs/lab.md). The lab
//! saves the machine's state there once, and writes the lines of each launch into that process. A boot passes the same
//! stop, so that both give the same counts. `gdb` stops the machine and writes to it, `states` keeps states in the
//! cache. `conductor` leads a launch from its start to the point where the machine goes on.

mod conductor;
mod gdb;
mod states;

pub use conductor::{Conductor, How, Led, Stopped};
pub use states::{Saved, States};

use object::{Object, ObjectSymbol};

/// The point where the first process stops, and the place where it expects the lines of a launch (`common/launch.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchPoint {
    /// The address of the instruction where it stops.
    pub stop: u64,
    /// The address of the lines.
    pub lines: u64,
    /// The most bytes of the lines, with the zero byte at their end.
    pub room: u64,
}

impl LaunchPoint {
    /// Finds the launch point of a program; none if the program has none.
    pub fn of(elf: &[u8]) -> Option<Self> {
        let file = object::File::parse(elf).ok()?;
        let symbol = |name: &str| file.symbols().find(|symbol| symbol.name() == Ok(name));
        let lines = symbol("launch_lines")?;
        Some(Self {
            stop: symbol("launch_point")?.address(),
            lines: lines.address(),
            room: lines.size(),
        })
    }
}
