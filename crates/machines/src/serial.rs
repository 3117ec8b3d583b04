//! The serial line platform: the user boots the guest, and its records arrive over a serial device,
//! 115200 8N1, raw. A pseudo-terminal works as well.

use crate::machine::{
    Console, Control, Description, Engine, LaunchRequest, Machine, MachineError, WAIT,
};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::{ControlModes, OptionalActions, Termios, speed};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;
use ws_results::Identity;

/// A serial device whose input is read.
#[derive(Debug)]
pub struct SerialLine {
    device: PathBuf,
    description: Description,
    line: Option<(OwnedFd, Termios)>,
}

impl SerialLine {
    /// Makes the machine at the other end of `device`, which `prepare` opens.
    pub fn new(device: impl Into<PathBuf>) -> Self {
        Self {
            device: device.into(),
            description: Description::new(Control::Listened, None, Engine::Unknown),
            line: None,
        }
    }

    /// Opens and configures the line. Returns the line with its earlier settings.
    fn open(&self) -> Result<(OwnedFd, Termios), MachineError> {
        let error = |what| move |e: Errno| MachineError::io(what, &self.device, e.into());
        // Without O_NONBLOCK, open() would wait for a carrier.
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let line = rustix::fs::open(&self.device, flags, Mode::empty())
            .map_err(error("open the serial line"))?;
        if !rustix::termios::isatty(&line) {
            return Err(MachineError::Other(format!(
                "{} is not a serial line: name a device such as /dev/ttyUSB0, or read a saved console with log:FILE",
                self.device.display()
            )));
        }
        // The lock keeps a second reader out: each would get only a part of the input.
        rustix::fs::flock(&line, FlockOperation::NonBlockingLockExclusive).map_err(|e| {
            if e == Errno::WOULDBLOCK {
                MachineError::Other(format!(
                    "{} is in use by another program: end that program first",
                    self.device.display()
                ))
            } else {
                MachineError::io("lock", &self.device, e.into())
            }
        })?;
        let before = rustix::termios::tcgetattr(&line).map_err(error("read the settings of"))?;
        let mut raw = before.clone();
        raw.make_raw();
        raw.set_speed(speed::B115200)
            .map_err(error("set the speed of"))?;
        raw.control_modes -= ControlModes::PARENB
            | ControlModes::CSTOPB
            | ControlModes::CSIZE
            | ControlModes::CRTSCTS;
        raw.control_modes |= ControlModes::CS8 | ControlModes::CREAD | ControlModes::CLOCAL;
        rustix::termios::tcsetattr(&line, OptionalActions::Now, &raw)
            .map_err(error("set 115200 8N1 on"))?;
        Ok((line, before))
    }
}

impl Machine for SerialLine {
    fn description(&self) -> &Description {
        &self.description
    }

    fn prepare(&mut self) -> Result<(), MachineError> {
        self.line = Some(self.open()?);
        Ok(())
    }

    fn launch(&mut self, _: &LaunchRequest) -> Result<(), MachineError> {
        // The user boots the machine. The line stays open and configured, so that nothing between
        // two boots is lost.
        Ok(())
    }

    fn console(&mut self, buffer: &mut Vec<u8>) -> Result<Console, MachineError> {
        let Some((line, _)) = &self.line else {
            return Ok(Console::Ended("the line is not open".into()));
        };
        let mut chunk = [0u8; 4096];
        match rustix::io::read(line, &mut chunk) {
            Ok(0) | Err(Errno::IO | Errno::NXIO) => Ok(Console::Ended(
                "the other end of the line was closed".into(),
            )),
            Ok(count) => {
                buffer.extend(chunk.iter().take(count));
                Ok(Console::Data)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(Console::Quiet),
            Err(e) => Err(MachineError::io("read", &self.device, e.into())),
        }
    }

    fn identity(&self) -> Identity {
        let mut identity = Identity::default();
        identity
            .subject
            .insert("device".into(), self.device.display().to_string().into());
        // The pinning of the machine at the other end is not known.
        identity
            .conditions
            .insert("pinning".into(), "unknown".into());
        identity
    }

    /// Waits for input, and returns as soon as it arrives: when the other end of a pseudo-terminal closes, unread input
    /// is lost.
    fn wait(&self) {
        // The next read reports any error.
        let _ = self.wakes_within(WAIT);
    }
}

impl SerialLine {
    /// Waits for input, at most `limit`; returns whether there is any.
    fn wakes_within(&self, limit: Duration) -> bool {
        let Some((line, _)) = &self.line else {
            return false;
        };
        let mut lines = [PollFd::new(line, PollFlags::IN)];
        let limit = limit.try_into().ok();
        limit.is_some_and(|limit| rustix::event::poll(&mut lines, Some(&limit)) == Ok(1))
    }
}

impl Drop for SerialLine {
    fn drop(&mut self) {
        if let Some((line, before)) = &self.line {
            // The device may be gone; then there is nothing to restore.
            let _ = rustix::termios::tcsetattr(line, OptionalActions::Now, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{InputModes, LocalModes, OutputModes};

    /// Our end of a new pseudo-terminal and the path of the other.
    fn pty() -> (OwnedFd, PathBuf) {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        (ours, PathBuf::from(name.into_string().unwrap()))
    }

    fn read_all(line: &mut SerialLine, wanted: usize) -> Vec<u8> {
        let mut buffer = Vec::new();
        while buffer.len() < wanted {
            // A kernel thread moves bytes from one end to the other, so they may arrive later.
            assert!(line.wakes_within(Duration::from_secs(60)), "{buffer:?}");
            line.console(&mut buffer).unwrap();
        }
        buffer
    }

    #[test]
    fn bytes_come_through_a_pty_as_they_are() {
        let (ours, path) = pty();
        let mut line = SerialLine::new(&path);
        line.prepare().unwrap();
        let mut buffer = Vec::new();
        assert_eq!(line.console(&mut buffer).unwrap(), Console::Quiet);
        let sent = b"a\r\nb\n\x03\x04\x11\x13\xff\0end";
        rustix::io::write(&ours, sent).unwrap();
        assert_eq!(read_all(&mut line, sent.len()), sent);
        // Nothing is echoed to the machine.
        let nonblocking = rustix::fs::fcntl_getfl(&ours).unwrap() | OFlags::NONBLOCK;
        rustix::fs::fcntl_setfl(&ours, nonblocking).unwrap();
        let mut echo = [0u8; 8];
        assert_eq!(rustix::io::read(&ours, &mut echo), Err(Errno::AGAIN));
    }

    #[test]
    fn a_reader_that_waits_wakes_when_something_comes_and_else_soon() {
        let (ours, path) = pty();
        let mut line = SerialLine::new(&path);
        line.prepare().unwrap();
        rustix::io::write(&ours, b"x").unwrap();
        assert!(line.wakes_within(Duration::from_secs(60)));
        // It does not sleep while there is input.
        assert!(line.wakes_within(Duration::ZERO));
        line.console(&mut Vec::new()).unwrap();
        assert!(!line.wakes_within(WAIT));
        line.wait();
    }

    #[test]
    fn the_line_is_115200_8n1_raw_and_given_back_as_it_was() {
        let (ours, path) = pty();
        let before = rustix::termios::tcgetattr(&ours).unwrap();
        let mut line = SerialLine::new(&path);
        line.prepare().unwrap();
        let during = rustix::termios::tcgetattr(&ours).unwrap();
        assert_eq!(during.input_speed(), 115_200);
        assert_eq!(during.output_speed(), 115_200);
        assert_eq!(
            during.control_modes & ControlModes::CSIZE,
            ControlModes::CS8
        );
        assert!(
            !during
                .control_modes
                .intersects(ControlModes::PARENB | ControlModes::CSTOPB | ControlModes::CRTSCTS)
        );
        assert!(
            !during
                .local_modes
                .intersects(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
        );
        assert!(
            !during
                .input_modes
                .intersects(InputModes::ICRNL | InputModes::IXON)
        );
        assert!(!during.output_modes.contains(OutputModes::OPOST));
        drop(line);
        let after = rustix::termios::tcgetattr(&ours).unwrap();
        assert_eq!(after.local_modes, before.local_modes);
        assert_eq!(after.input_modes, before.input_modes);
    }

    #[test]
    fn a_line_whose_other_end_closes_has_ended() {
        let (ours, path) = pty();
        let mut line = SerialLine::new(&path);
        line.prepare().unwrap();
        drop(ours);
        let mut buffer = Vec::new();
        assert!(matches!(
            line.console(&mut buffer).unwrap(),
            Console::Ended(_)
        ));
    }

    #[test]
    fn two_readers_of_one_line_are_refused() {
        let (_ours, path) = pty();
        let mut first = SerialLine::new(&path);
        first.prepare().unwrap();
        let error = SerialLine::new(&path).prepare().unwrap_err().to_string();
        assert!(error.contains("another program"), "{error}");
    }

    #[test]
    fn what_is_no_line_is_refused() {
        let error = SerialLine::new("/dev/null")
            .prepare()
            .unwrap_err()
            .to_string();
        assert!(error.contains("not a serial line"), "{error}");
        let error = SerialLine::new("/dev/nonexistent")
            .prepare()
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("can't open the serial line /dev/nonexistent"),
            "{error}"
        );
    }
}
