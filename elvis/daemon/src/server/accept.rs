//! Connections that can't be taken: of devices, of the control socket, of the metrics. Where descriptors have run
//! out the connection stays in the socket's queue, and whoever asked for it at once again would do nothing else.

use std::io;
use std::time::Duration;

/// How long to wait before the next try.
const PAUSE: Duration = Duration::from_millis(100);

/// Says once that connections can't be taken, until one is.
#[derive(Default)]
pub struct Accepting {
    said: bool,
}

impl Accepting {
    /// One was taken.
    pub fn worked(&mut self) {
        self.said = false;
    }

    /// None was taken for `who`. Returns how long to wait before the next try.
    #[must_use]
    pub fn failed(&mut self, who: &str, error: &io::Error) -> Duration {
        if matches!(
            error.raw_os_error(),
            Some(libc::EINTR | libc::EAGAIN | libc::ECONNABORTED)
        ) {
            // That one is gone, and the next may be there.
            return Duration::ZERO;
        }
        if !std::mem::replace(&mut self.said, true) {
            let what_to_do = match error.raw_os_error() {
                Some(libc::EMFILE) => {
                    "; raise this process' limit of descriptors (ulimit -Hn, or LimitNOFILE= of its unit)"
                }
                Some(libc::ENFILE) => "; raise the system's limit of open files (fs.file-max)",
                _ => "",
            };
            eprintln!("elvis: {who}: a connection waits that can't be taken: {error}{what_to_do}");
        }
        PAUSE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_waits_for_what_may_last_and_for_nothing_else() {
        let mut accepting = Accepting::default();
        let mut failed = |code| {
            let pause = accepting.failed("a", &io::Error::from_raw_os_error(code));
            (pause, accepting.said)
        };
        assert_eq!(failed(libc::ECONNABORTED), (Duration::ZERO, false));
        assert_eq!(failed(libc::EMFILE), (PAUSE, true));
        assert_eq!(failed(libc::ENFILE), (PAUSE, true));
        accepting.worked();
        assert!(!accepting.said);
    }
}
