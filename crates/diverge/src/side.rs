//! A machine of a comparison: its process, and the socket on which its plugin reports executed instructions.

use crate::{Asked, Machined, order};
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

/// Time limit of one read of a socket.
const LOOK: Duration = Duration::from_millis(2);

/// Characters of the console's end that a failed machine's message quotes.
const TAIL_CHARS: usize = 400;

/// A machine.
pub struct Side {
    pub label: String,
    pub machine: Box<dyn Machine>,
    request: LaunchRequest,
    listener: UnixListener,
    socket: Option<UnixStream>,
    /// Bytes of an incomplete message.
    begun: Vec<u8>,
    /// Since when the machine is silent though it need not wait for an answer, and its wait for a host CPU up to then.
    silent: Option<(Instant, Duration)>,
    /// Whether the answer was sent before the question.
    is_answered: bool,
    /// Whether the machine was ended because it executed nothing.
    pub has_idled: bool,
    pub file: PathBuf,
    console: Vec<u8>,
}

impl Side {
    /// Makes the machine, and the socket next to its file. Starts nothing.
    pub fn of(machined: &Machined, asked: &Asked, file: &Path) -> anyhow::Result<Self> {
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
            cpu: asked.cpu,
        };
        let recorded = Resources {
            recording: Some(parts::recording(file, what)?),
            ..machined.resources.clone()
        };
        let name = || machined.name.to_string();
        let machine = platforms::open(&machined.name, &recorded).with_context(name)?;
        let request =
            order::order(asked, machine.as_ref(), &machined.resources).with_context(name)?;
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

    /// Starts the machine.
    pub fn launch(&mut self) -> anyhow::Result<()> {
        self.machine.prepare()?;
        self.machine.launch(&self.request)?;
        Ok(())
    }

    /// Returns the next message, if there is one already. Ends a machine that was silent for `limit`; its plugin then
    /// sends an end message.
    ///
    /// # Errors
    /// The machine ended without a record.
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

    /// Whether the machine was silent for `limit`. Time in which it waits for a host CPU does not count.
    fn is_silent_for(&mut self, limit: Duration) -> bool {
        let Some((since, before)) = self.silent else {
            self.silent = Some((Instant::now(), self.machine.waited()));
            return false;
        };
        let silence = since.elapsed();
        silence > limit
            && silence.saturating_sub(self.machine.waited().saturating_sub(before)) > limit
    }

    /// Accepts the connection, if the plugin has connected.
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
                "{}: its plugin and this program have different versions: run make build",
                self.label
            )
        })
    }

    /// Answers the plugin's message.
    pub fn answer(&mut self, answer: Answer) -> anyhow::Result<()> {
        if std::mem::take(&mut self.is_answered) {
            return Ok(());
        }
        let Some(socket) = &mut self.socket else {
            return Ok(());
        };
        // The machine was silent until now because it waited for the other one.
        self.silent = None;
        let sent = socket.write_all(&[answer.byte()]);
        sent.with_context(|| format!("{}: its emulator ended", self.label))
    }

    /// Ends a machine that executes nothing. The answer is sent first: the plugin reads it after its end message.
    fn end(&mut self) -> anyhow::Result<()> {
        self.answer(Answer::Write)?;
        self.is_answered = true;
        self.has_idled = true;
        self.machine.kill();
        Ok(())
    }

    /// Ends the machine in any state, even one that waits for an answer.
    pub fn stop(&mut self) {
        self.socket = None;
        self.machine.kill();
    }

    /// Reads the console. Returns how the machine ended, if it has.
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

    /// Fails if the machine has ended.
    fn must_run(&mut self) -> anyhow::Result<()> {
        match self.drain()? {
            Some(how) => {
                let said = self.said();
                bail!("{}: it did not start: {how}{said}", self.label)
            }
            None => Ok(()),
        }
    }

    /// Quotes the emulator's complaints, or the end of the console.
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
