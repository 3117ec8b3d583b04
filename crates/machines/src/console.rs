//! The console of a machine that is a child process. It is a file that is polled, or a pipe if the host times the guest
//! from outside.
//!
//! The file is the default: with it a slow reader never blocks the guest, which would change
//! instruction counts. The pipe is only for units of time.

use crate::earshot::{Chunk, Earshot};
use crate::machine::{CONSOLE_LIMIT_BYTES, MachineError};
use crate::process::unnamed_file;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// How long a console may stay open after its process ended: another process may hold the pipe
/// open.
const END_LIMIT: Duration = Duration::from_secs(1);

/// The reading end of a console.
#[derive(Debug)]
pub struct ProcessConsole {
    end: End,
    /// When the process was first seen to have ended.
    ended: Option<Instant>,
    /// [`END_LIMIT`].
    patience: Duration,
}

#[derive(Debug)]
enum End {
    File { file: File, position: u64 },
    Pipe(Earshot),
}

/// The result of [`ProcessConsole::read`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// New bytes.
    Data,
    /// Nothing new.
    Nothing,
    /// Nothing new, and nothing more will come.
    End,
}

impl ProcessConsole {
    /// A new console, and the file that the process writes to. `timed`: the host timestamps the
    /// output.
    pub fn open(timed: bool) -> Result<(Self, File), MachineError> {
        let (end, theirs) = if timed {
            let (earshot, theirs) = Earshot::listen()?;
            (End::Pipe(earshot), theirs)
        } else {
            let file = unnamed_file(CONSOLE_LIMIT_BYTES)?;
            let theirs = file
                .try_clone()
                .map_err(|e| MachineError::Other(format!("can't duplicate a console file: {e}")))?;
            (End::File { file, position: 0 }, theirs)
        };
        let console = Self {
            end,
            ended: None,
            patience: END_LIMIT,
        };
        Ok((console, theirs))
    }

    /// Appends the process's new output to `bytes`, at most 64 KiB, and if it is timed, the chunks to `chunks`. Does
    /// not wait. `ended`: the process was seen to have ended before this call.
    pub fn read(
        &mut self,
        bytes: &mut Vec<u8>,
        chunks: &mut Vec<Chunk>,
        ended: bool,
    ) -> io::Result<Found> {
        let before = bytes.len();
        let mut more = true;
        match &mut self.end {
            End::File { file, position } => {
                let mut chunk = [0u8; 65536];
                let count = file.read_at(&mut chunk, *position)?;
                *position += count as u64;
                bytes.extend(chunk.iter().take(count));
                more = !ended;
            }
            End::Pipe(earshot) => more &= earshot.take(bytes, chunks)?,
        }
        if bytes.len() > before {
            return Ok(Found::Data);
        }
        if ended {
            more &= self.ended.get_or_insert_with(Instant::now).elapsed() < self.patience;
        }
        Ok(if more { Found::Nothing } else { Found::End })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(console: &mut ProcessConsole, ended: bool) -> (Vec<u8>, usize, Found) {
        let (mut bytes, mut chunks) = (Vec::new(), Vec::new());
        let found = console.read(&mut bytes, &mut chunks, ended).unwrap();
        (bytes, chunks.len(), found)
    }

    #[test]
    fn a_file_is_followed_and_ends_with_its_process() {
        let (mut console, mut theirs) = ProcessConsole::open(false).unwrap();
        assert_eq!(read(&mut console, false).2, Found::Nothing);
        theirs.write_all(b"abc").unwrap();
        assert_eq!(read(&mut console, true), (b"abc".to_vec(), 0, Found::Data));
        assert_eq!(read(&mut console, true).2, Found::End);
    }

    #[test]
    fn a_pipe_is_heard_and_ends_when_it_is_closed() {
        let (mut console, mut theirs) = ProcessConsole::open(true).unwrap();
        assert_eq!(read(&mut console, false).2, Found::Nothing);
        theirs.write_all(b"abc").unwrap();
        let started = Instant::now();
        let heard = loop {
            let heard = read(&mut console, false);
            if heard.2 == Found::Data {
                break heard;
            }
            assert!(started.elapsed() < Duration::from_secs(60));
        };
        assert_eq!(heard, (b"abc".to_vec(), 1, Found::Data));
        drop(theirs);
        while read(&mut console, false).2 != Found::End {
            assert!(started.elapsed() < Duration::from_secs(60));
        }
    }

    #[test]
    fn a_pipe_that_somebody_else_holds_ends_when_patience_does() {
        let (mut console, theirs) = ProcessConsole::open(true).unwrap();
        console.patience = Duration::MAX;
        assert_eq!(read(&mut console, true).2, Found::Nothing);
        console.patience = Duration::ZERO;
        assert_eq!(read(&mut console, false).2, Found::Nothing);
        assert_eq!(read(&mut console, true).2, Found::End);
        drop(theirs);
    }
}
