//! Reports to the service manager (systemd's `Type=notify`, sd_notify(3)): that the daemon serves, that it still does, and
//! that it ends.

use crate::serve::Server;
use crate::thread;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::time::Duration;

/// Manager that started this process. The crate `sd-notify` is not used. It opens a socket for each report, which fails
/// when descriptors run out, and knows no abstract addresses (`@`).
pub struct Manager {
    socket: UnixDatagram,
    /// Time between two reports that the daemon serves. None: no report after the first.
    every: Option<Duration>,
}

impl Manager {
    /// Returns the manager that the environment names, if there is one.
    pub fn of_environment() -> io::Result<Option<Self>> {
        let Ok(name) = std::env::var("NOTIFY_SOCKET") else {
            return Ok(None);
        };
        let named = |error| io::Error::other(format!("NOTIFY_SOCKET={name}: {error}"));
        let address = match name.strip_prefix('@') {
            Some(name) => SocketAddr::from_abstract_name(name),
            None => SocketAddr::from_pathname(&name),
        };
        let socket = UnixDatagram::unbound()?;
        let connected = address.and_then(|address| socket.connect_addr(&address));
        connected.map_err(named)?;
        let number = |name| std::env::var(name).ok()?.parse::<u64>().ok();
        // Processes that the daemon starts may inherit these variables: they are only for WATCHDOG_PID.
        let ours = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let limit = number("WATCHDOG_USEC").filter(|_| ours);
        Ok(Some(Self {
            socket,
            // Half of the time after which the manager ends the process.
            every: limit.map(|limit| Duration::from_micros(limit / 2)),
        }))
    }

    fn tell(&self, what: &str) {
        // An error means that the manager is gone: nobody needs the report.
        let _ = self.socket.send(what.as_bytes());
    }

    /// Reports that the daemon serves, and from then on that it still does, as long as all I/O threads answer.
    pub fn serves(self: &Arc<Self>, server: &Arc<Server>) -> io::Result<()> {
        self.tell("READY=1");
        let Some(every) = self.every else {
            return Ok(());
        };
        let (manager, server) = (Arc::clone(self), Arc::downgrade(server));
        thread::start("elvis-manager", Some(256 << 10), move || {
            loop {
                std::thread::sleep(every);
                // Waits for each I/O thread.
                match server.upgrade().map(|server| server.stats()) {
                    Some(Ok(_)) => manager.tell("WATCHDOG=1"),
                    Some(Err(_)) => {}
                    None => return,
                }
            }
        })?;
        Ok(())
    }

    /// Reports that the daemon ends.
    pub fn ends(&self) {
        self.tell("STOPPING=1");
    }
}
