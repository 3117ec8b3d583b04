//! Failures to accept connections to devices, the control socket and the metrics. If descriptors run out, the
//! connection stays in the socket's queue; retrying without a pause would be a busy loop.

use std::io;
use std::time::Duration;

/// Time to wait before the next try.
const PAUSE: Duration = Duration::from_millis(100);

/// Reports the first failure after a success.
#[derive(Default)]
pub struct Accepting {
    said: bool,
}

impl Accepting {
    /// Notes that a connection was accepted.
    pub fn worked(&mut self) {
        self.said = false;
    }

    /// Notes that no connection could be accepted for `who`. Returns how long to wait before the next try.
    #[must_use]
    pub fn failed(&mut self, who: &str, error: &io::Error) -> Duration {
        if matches!(
            error.raw_os_error(),
            Some(libc::EINTR | libc::EAGAIN | libc::ECONNABORTED)
        ) {
            // Only this connection failed: try the next at once.
            return Duration::ZERO;
        }
        if !std::mem::replace(&mut self.said, true) {
            let what_to_do = match error.raw_os_error() {
                Some(libc::EMFILE) => {
                    "; raise the daemon's limit of open files (ulimit -Hn, or LimitNOFILE= of its unit)"
                }
                Some(libc::ENFILE) => "; raise the system's limit of open files (fs.file-max)",
                _ => "",
            };
            log::warn!("{who}: can't accept a connection, it waits: {error}{what_to_do}");
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
