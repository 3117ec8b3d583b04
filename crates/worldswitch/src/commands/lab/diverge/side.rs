//! One of the two machines: its process, and the socket on which it says what it has executed.

use super::{Machined, order};
use crate::cli::lab::DivergeArgs;
use anyhow::{Context, bail};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use ws_explain::boots::lockstep::{Answer, MESSAGE_BYTES, Message};
use ws_machines::machine::{CONSOLE_LIMIT_BYTES, Console, LaunchRequest, Machine};
use ws_machines::platforms;
use ws_machines::recording::What;
use ws_machines::resources::Resources;
use ws_runner::parts;

/// How long one look at a socket waits.
const LOOK: Duration = Duration::from_millis(2);

/// How much of a console's end is told of a machine that failed.
const TAIL_CHARS: usize = 400;

/// A machine.
pub struct Side {
    pub label: String,
    pub machine: Box<dyn Machine>,
    request: LaunchRequest,
    listener: UnixListener,
    socket: Option<UnixStream>,
    /// What came of a message.
    begun: Vec<u8>,
    /// Since when it says nothing though nobody lets it wait, and how long it had waited for a host CPU then.
    silent: Option<(Instant, Duration)>,
    /// An answer was sent before the question.
    is_answered: bool,
    /// It was ended, as it executed nothing.
    pub has_idled: bool,
    pub file: PathBuf,
    console: Vec<u8>,
}

impl Side {
    /// Makes the machine, and the socket beside its file; nothing is started.
    ///
    /// # Errors
    /// It can't be made or recorded, or the socket can't be made.
    pub fn of(machined: &Machined, args: &DivergeArgs, file: &Path) -> anyhow::Result<Self> {
        let peer = file.with_extension("socket");
        let listener = UnixListener::bind(&peer).with_context(|| {
            format!(
                "can't make a socket at {}: if the path is too long, name a shorter place in TMPDIR",
                peer.display()
            )
        })?;
        listener.set_nonblocking(true)?;
        let what = What::Boot {
            peer,
            cpu: args.cpu,
        };
        let recorded = Resources {
            recording: Some(parts::recording(file, what)?),
            ..machined.resources.clone()
        };
        let name = || machined.name.to_string();
        let machine = platforms::open(&machined.name, &recorded).with_context(name)?;
        let request =
            order::order(args, machine.as_ref(), &machined.resources).with_context(name)?;
        Ok(Self {
            label: machined.label.clone(),
            machine,
            request,
            listener,
            socket: None,
            begun: Vec::new(),
            silent: None,
            is_answered: false,
            has_idled: false,
            file: file.to_owned(),
            console: Vec::new(),
        })
    }

    /// Starts it.
    ///
    /// # Errors
    /// It can't be started.
    pub fn launch(&mut self) -> anyhow::Result<()> {
        self.machine.prepare()?;
        self.machine.launch(&self.request)?;
        Ok(())
    }

    /// What it says, if it does so at once. A machine that said nothing for `limit` is ended, and says that.
    ///
    /// # Errors
    /// It ended without a word.
    pub fn look(&mut self, limit: Duration) -> anyhow::Result<Option<Message>> {
        if self.socket.is_none() && !self.accept()? {
            std::thread::sleep(LOOK);
            return Ok(None);
        }
        let message = self.receive()?;
        match message {
            Some(_) => self.silent = None,
            None if !self.has_idled && self.is_silent_for(limit) => self.end()?,
            None => {}
        }
        Ok(message)
    }

    /// Whether it has said nothing for so long. Time in which it waits for a host CPU does not count.
    fn is_silent_for(&mut self, limit: Duration) -> bool {
        let Some((since, before)) = self.silent else {
            self.silent = Some((Instant::now(), self.machine.waited()));
            return false;
        };
        let silence = since.elapsed();
        silence > limit
            && silence.saturating_sub(self.machine.waited().saturating_sub(before)) > limit
    }

    /// Whether it is connected.
    fn accept(&mut self) -> anyhow::Result<bool> {
        match self.listener.accept() {
            Ok((socket, _)) => {
                socket.set_nonblocking(false)?;
                socket.set_read_timeout(Some(LOOK))?;
                self.socket = Some(socket);
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.must_run()?;
                Ok(false)
            }
            Err(error) => Err(error).context("can't listen to an emulator"),
        }
    }

    fn receive(&mut self) -> anyhow::Result<Option<Message>> {
        let mut bytes = [0; MESSAGE_BYTES];
        let Some(socket) = &mut self.socket else {
            return Ok(None);
        };
        let left = MESSAGE_BYTES - self.begun.len();
        match socket.read(&mut bytes[..left]) {
            Ok(0) => {
                self.drain()?;
                let said = self.said();
                bail!(
                    "{}: its emulator ended without a record of the boot{said}",
                    self.label
                );
            }
            Ok(count) => self.begun.extend_from_slice(&bytes[..count]),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {
                    self.drain()?;
                }
                _ => return Err(error).with_context(|| self.label.clone()),
            },
        }
        let Ok(whole) = <[u8; MESSAGE_BYTES]>::try_from(&*self.begun) else {
            return Ok(None);
        };
        self.begun.clear();
        let message = Message::read(&whole);
        message.map(Some).with_context(|| {
            format!(
                "{}: its plugin is of another version than this program: run make build",
                self.label
            )
        })
    }

    /// Answers what it said.
    ///
    /// # Errors
    /// It has ended.
    pub fn answer(&mut self, answer: Answer) -> anyhow::Result<()> {
        if std::mem::take(&mut self.is_answered) {
            return Ok(());
        }
        let Some(socket) = &mut self.socket else {
            return Ok(());
        };
        // Until now it waited for the other machine, and not the other way round.
        self.silent = None;
        let sent = socket.write_all(&[answer.byte()]);
        sent.with_context(|| format!("{}: its emulator ended", self.label))
    }

    /// Ends a machine that executes nothing. It then says that it ended, and must find its answer.
    fn end(&mut self) -> anyhow::Result<()> {
        self.answer(Answer::Write)?;
        self.is_answered = true;
        self.has_idled = true;
        self.machine.kill();
        Ok(())
    }

    /// Ends it, whatever it does: it waits for no answer any more.
    pub fn stop(&mut self) {
        self.socket = None;
        self.machine.kill();
    }

    /// Reads its console.
    fn drain(&mut self) -> anyhow::Result<Option<String>> {
        loop {
            match self.machine.console(&mut self.console)? {
                Console::Data if self.console.len() as u64 > CONSOLE_LIMIT_BYTES => {
                    self.console.drain(..CONSOLE_LIMIT_BYTES as usize / 2);
                }
                Console::Data => {}
                Console::Quiet => return Ok(None),
                Console::Ended(how) => return Ok(Some(how)),
            }
        }
    }

    /// Fails if it has ended.
    fn must_run(&mut self) -> anyhow::Result<()> {
        match self.drain()? {
            Some(how) => {
                let said = self.said();
                bail!("{}: it did not start: {how}{said}", self.label)
            }
            None => Ok(()),
        }
    }

    /// What its emulator complained of, or the end of its console.
    fn said(&mut self) -> String {
        let complaints = self.machine.complaints();
        let console = String::from_utf8_lossy(&self.console).into_owned();
        let text = match complaints.trim() {
            "" => console.trim().to_owned(),
            some => some.to_owned(),
        };
        let skipped = text.chars().count().saturating_sub(TAIL_CHARS);
        let tail: String = text.chars().skip(skipped).collect();
        match tail.is_empty() {
            true => String::new(),
            false => format!("; it said: {}", ws_text::terminal(&tail)),
        }
    }
}
