//! Leads a launch of QEMU from its start to the point where the first process reads its lines.

use super::LaunchPoint;
use super::gdb::Gdb;
use super::states::{Saved, States};
use crate::machine::MachineError;
use crate::qmp::{Qmp, Trouble};
use rustix::pipe::{PipeFlags, pipe_with};
use serde_json::{Value, json};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;

/// The byte by which a first process says that its state is worth saving (`common/launch.c`).
const SAVES: u8 = b'+';
/// The pause between two questions whether QEMU is ready.
const PAUSE: Duration = Duration::from_millis(2);
/// The rate limit of a state, so high that it is written as fast as it is read. Bytes a second.
const BANDWIDTH: u64 = 1 << 40;

/// QEMU's name of the pipe that it writes the state to.
const STATE: &str = "state";

/// The begin of a launch.
#[derive(Debug)]
pub enum How {
    /// A boot until the stop. The state is kept there, under this name. Without a name the machine goes on.
    Boot(Option<(States, String)>),
    /// A state that is resumed.
    Resume(Saved),
}

/// A launch that stops and goes on.
#[derive(Debug)]
pub struct Stopped {
    pub how: How,
    pub point: LaunchPoint,
    /// The lines that the first process gets at the stop.
    pub lines: String,
}

/// The thread that leads a launch. It ends by itself when QEMU does.
#[derive(Debug)]
pub struct Conductor {
    thread: Option<JoinHandle<Result<Option<Saved>, Trouble>>>,
    /// The file of the state that is resumed.
    resumed: Option<PathBuf>,
}

/// The state of a launch that a conductor leads.
#[derive(Debug)]
pub enum Led {
    /// The machine went on, or is not there yet.
    Well,
    /// The machine booted, and goes on in another QEMU, from this state.
    Booted(Saved),
    /// The state did not resume, and was removed.
    NotResumed,
    /// QEMU ended; its status says more.
    Ended,
    Failed(MachineError),
}

impl Conductor {
    /// Leads the launch of the QEMU that `spawn` starts, with more arguments and inherited files.
    ///
    /// # Errors
    /// The lines do not fit into the room of the launch point.
    pub fn start<T>(
        launch: Stopped,
        spawn: impl FnOnce(Vec<String>, Vec<OwnedFd>) -> Result<T, MachineError>,
    ) -> Result<(T, Self), MachineError> {
        let Stopped { how, point, lines } = launch;
        if lines.len() as u64 >= point.room {
            return Err(MachineError::Other(format!(
                "the launch's configuration has {} bytes, and the machine has room for {}: select fewer rows",
                lines.len(),
                point.room
            )));
        }
        let (qmp, its_qmp) = Qmp::pair()?;
        let (gdb, its_gdb) = Gdb::pair()?;
        // QEMU's own account of whether the machine ran is left out of states. A machine that stopped at an instruction
        // would be resumed as one that ran.
        let stopped = ["-S", "-global", "migration.store-global-state=off"];
        // QEMU would announce a resumed machine to its network for some 800 ms of the host's time. While that timer is
        // set, a turn of several vCPUs ends by the host's clock.
        let silent = ["-global", "migration.announce-rounds=0"];
        let first = stopped.into_iter().chain(silent);
        let mut words: Vec<String> = first.map(str::to_owned).collect();
        words.extend(Qmp::arguments(its_qmp.as_raw_fd()));
        words.extend(Gdb::arguments(its_gdb.as_raw_fd()));
        let mut resumed = None;
        if let How::Resume(saved) = &how {
            words.extend(["-incoming", "defer"].map(str::to_owned));
            resumed.clone_from(&saved.path);
        }
        let started = spawn(words, vec![its_qmp, its_gdb])?;
        let leader = Leader {
            qmp,
            gdb,
            point,
            lines,
        };
        let thread = std::thread::spawn(move || match how {
            How::Boot(kept) => leader.boot(kept),
            How::Resume(saved) => leader.resume(saved).map(|()| None),
        });
        let thread = Some(thread);
        Ok((started, Self { thread, resumed }))
    }

    /// Looks at the launch. `is_over`: QEMU has ended.
    pub fn look(&mut self, is_over: bool) -> Led {
        let is_known = |thread: &mut JoinHandle<_>| is_over || thread.is_finished();
        let Some(thread) = self.thread.take_if(is_known) else {
            return Led::Well;
        };
        let led = thread.join();
        if let (Some(path), false) = (self.resumed.take(), matches!(led, Ok(Ok(_)))) {
            let _ = std::fs::remove_file(path);
            return Led::NotResumed;
        }
        match led {
            Ok(Ok(None)) => Led::Well,
            Ok(Ok(Some(saved))) => Led::Booted(saved),
            Ok(Err(Trouble::Closed)) => Led::Ended,
            Ok(Err(Trouble::Other(error))) => Led::Failed(error),
            Err(_) => Led::Failed(MachineError::Other(
                "the thread that starts the machine panicked: please report it".into(),
            )),
        }
    }
}

/// Makes a pipe: its reading end and its writing end.
fn pipe() -> Result<(OwnedFd, OwnedFd), MachineError> {
    pipe_with(PipeFlags::CLOEXEC).map_err(|e| MachineError::io("make a pipe for", "QEMU", e.into()))
}

/// The parts of the conductor's thread.
struct Leader {
    qmp: Qmp,
    gdb: Gdb,
    point: LaunchPoint,
    lines: String,
}

impl Leader {
    /// Boots until the stop, and saves the state if states are kept. Each machine then goes on from a state, even if it
    /// has just booted. So a boot and a resume can't differ in what QEMU does not save.
    fn boot(mut self, kept: Option<(States, String)>) -> Result<Option<Saved>, Trouble> {
        self.qmp.greet()?;
        self.debug()?;
        let thread = self.gdb.run_to(self.point.stop)?;
        if let Some((states, key)) = kept {
            if self.gdb.byte(&thread, self.point.lines)? == SAVES {
                return self.save(&states, &key, &thread).map(Some);
            }
        }
        self.go_on(&thread).map(|()| None)
    }

    fn resume(mut self, mut saved: Saved) -> Result<(), Trouble> {
        self.qmp.greet()?;
        let (from, to) = pipe().map_err(Trouble::Other)?;
        self.prepare(from)?;
        let uri = json!({ "uri": format!("fd:{STATE}") });
        self.qmp.ask_with("migrate-incoming", &uri)?;
        let is_whole = saved.copy(&mut File::from(to)).unwrap_or(false);
        if !is_whole {
            return Err(Trouble::Closed);
        }
        self.wait_for("query-status", "paused")?;
        // QEMU aborts if a debugger attaches before the state is loaded.
        self.debug()?;
        self.go_on(saved.thread())
    }

    /// Gives QEMU its end of a state's pipe. Files that QEMU only maps, as a root file system, are not part of the
    /// state.
    fn prepare(&mut self, its: OwnedFd) -> Result<(), Trouble> {
        let ignored = json!({ "capability": "x-ignore-shared", "state": true });
        let capabilities = json!({ "capabilities": [ignored] });
        self.qmp
            .ask_with("migrate-set-capabilities", &capabilities)?;
        self.qmp.pass(STATE, its.as_fd())
    }

    /// Starts QEMU's stub for debuggers.
    fn debug(&mut self) -> Result<(), Trouble> {
        let command = json!({ "command-line": "gdbserver chardev:gdb" });
        self.qmp.ask_with("human-monitor-command", &command)?;
        Ok(())
    }

    fn save(&mut self, states: &States, key: &str, thread: &str) -> Result<Saved, Trouble> {
        let (from, to) = pipe().map_err(Trouble::Other)?;
        self.prepare(to)?;
        let fast = json!({ "max-bandwidth": BANDWIDTH });
        self.qmp.ask_with("migrate-set-parameters", &fast)?;
        let to = json!({ "uri": format!("fd:{STATE}") });
        self.qmp.ask_with("migrate", &to)?;
        let taken = states.take(key, thread, &mut File::from(from));
        self.wait_for("query-migrate", "completed")?;
        taken.map_err(|e| {
            Trouble::Other(MachineError::Other(format!(
                "can't save the state of the booted machine: {e}"
            )))
        })
    }

    /// Waits until a question's answer has this status.
    fn wait_for(&mut self, question: &str, status: &str) -> Result<(), Trouble> {
        loop {
            let answer = self.qmp.ask_with(question, &json!({}))?;
            match answer.get("status").and_then(Value::as_str) {
                Some(now) if now == status => return Ok(()),
                Some("failed" | "cancelled") => return Err(Trouble::Closed),
                _ => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Writes the lines, and lets the machine go on.
    fn go_on(mut self, thread: &str) -> Result<(), Trouble> {
        let mut lines = self.lines.into_bytes();
        lines.push(0);
        self.gdb.write(thread, self.point.lines, &lines)?;
        self.gdb.go_on()
    }
}
