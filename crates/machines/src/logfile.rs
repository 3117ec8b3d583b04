//! The log platform: the saved console of an earlier run.

use crate::machine::{Console, Control, Description, Engine, LaunchRequest, Machine, MachineError};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;
use ws_results::Identity;

/// A saved console, read from its start to its end.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    description: Description,
    file: Option<File>,
}

impl LogFile {
    /// Makes the machine of the log at `path`, which `prepare` opens.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            description: Description::new(Control::Replayed, None, Engine::Unknown),
            file: None,
        }
    }
}

impl Machine for LogFile {
    fn description(&self) -> &Description {
        &self.description
    }

    fn prepare(&mut self) -> Result<(), MachineError> {
        let error = |e| MachineError::io("read the log", &self.path, e);
        let file = File::open(&self.path).map_err(error)?;
        if file.metadata().map_err(error)?.is_dir() {
            return Err(MachineError::Other(format!(
                "{} is a folder; log: takes a file with a console's output",
                self.path.display()
            )));
        }
        self.file = Some(file);
        Ok(())
    }

    fn launch(&mut self, _: &LaunchRequest) -> Result<(), MachineError> {
        // There is nothing to launch.
        Ok(())
    }

    fn console(&mut self, buffer: &mut Vec<u8>) -> Result<Console, MachineError> {
        let Some(file) = &mut self.file else {
            return Ok(Console::Ended("the log is not open".into()));
        };
        let mut chunk = [0u8; 65536];
        match file.read(&mut chunk) {
            Ok(0) => Ok(Console::Ended("the log ends here".into())),
            Ok(count) => {
                buffer.extend(chunk.iter().take(count));
                Ok(Console::Data)
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => Ok(Console::Quiet),
            Err(e) => Err(MachineError::io("read the log", &self.path, e)),
        }
    }

    fn identity(&self) -> Identity {
        let mut identity = Identity::default();
        identity
            .subject
            .insert("log".into(), self.path.display().to_string().into());
        // The log does not say whether the machine was pinned.
        identity
            .conditions
            .insert("pinning".into(), "unknown".into());
        identity
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_log_is_handed_out_whole_and_then_ends() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let text = vec![b'x'; 200_000];
        file.write_all(&text).unwrap();
        let mut log = LogFile::new(file.path());
        log.prepare().unwrap();
        let mut buffer = Vec::new();
        while log.console(&mut buffer).unwrap() == Console::Data {}
        assert_eq!(buffer, text);
        assert!(matches!(
            log.console(&mut buffer).unwrap(),
            Console::Ended(_)
        ));
    }

    #[test]
    fn a_log_that_is_not_there_or_is_a_folder_is_an_error_with_its_path() {
        let error = LogFile::new("/nonexistent/x")
            .prepare()
            .unwrap_err()
            .to_string();
        assert!(error.contains("/nonexistent/x"), "{error}");
        let error = LogFile::new("/").prepare().unwrap_err().to_string();
        assert!(error.contains("is a folder"), "{error}");
    }
}
