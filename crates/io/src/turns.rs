//! Turns of servers that poll. A server that was started for a measurement is ended after it, but a peer runs on. A
//! peer that polls on the I/O CPU would take half of it from each other server. So peers can be stopped (SIGSTOP)
//! during another server's turn.

use crate::server::Server;
use rustix::net::sockopt::socket_peercred;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal, test_kill_process,
};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Processes of a peer, which are stopped except during its turn.
struct Stopped {
    server: String,
    processes: Vec<OwnedFd>,
}

impl Stopped {
    fn tell(&self, signal: Signal) {
        for process in &self.processes {
            // The client of a process that has ended finds it missing.
            let _ = pidfd_send_signal(process, signal);
        }
    }
}

/// Peers that are stopped except during their turns. Dropping this lets them go on.
pub struct Turns(Vec<Stopped>);

/// Turn of a server, until this is dropped.
pub struct Turn<'a>(Option<&'a Stopped>);

/// Finds the process that listens at this socket.
fn listens(socket: &Path) -> io::Result<OwnedFd> {
    let pid = socket_peercred(UnixStream::connect(socket)?)?.pid;
    // systemd makes the sockets of its services: such a socket belongs to process 1, not to the server.
    if pid == Pid::INIT || pid == getpid() {
        let why = format!(
            "process {} made the socket, not the server",
            pid.as_raw_pid()
        );
        return Err(io::Error::other(why));
    }
    test_kill_process(pid)?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

impl Turns {
    /// Stops these peers, each named once; other servers are left alone.
    ///
    /// # Errors
    /// The process that listens at a socket can't be found, or must not be signalled.
    pub fn of<'a>(servers: impl IntoIterator<Item = &'a Server>) -> io::Result<Self> {
        let mut turns = Self(Vec::new());
        for server in servers {
            let Server::Peer { name, sockets } = server else {
                continue;
            };
            let processes = sockets.iter().map(|socket| {
                let named = |error| {
                    let path = socket.display();
                    io::Error::other(format!("can't stop {name} at {path}: {error}"))
                };
                listens(socket).map_err(named)
            });
            let stopped = Stopped {
                server: name.clone(),
                processes: processes.collect::<io::Result<_>>()?,
            };
            stopped.tell(Signal::STOP);
            turns.0.push(stopped);
        }
        Ok(turns)
    }

    /// Lets a stopped server go on for its turn.
    pub fn begin(&self, server: &Server) -> Turn<'_> {
        let name = server.to_string();
        let stopped = self.0.iter().find(|stopped| stopped.server == name);
        if let Some(stopped) = stopped {
            stopped.tell(Signal::CONT);
        }
        Turn(stopped)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(stopped) = self.0 {
            stopped.tell(Signal::STOP);
        }
    }
}

impl Drop for Turns {
    fn drop(&mut self) {
        for stopped in &self.0 {
            stopped.tell(Signal::CONT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::peer;
    use std::os::unix::net::UnixListener;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    /// Waits until the process is in this state.
    fn is(child: &Child, state: char) -> bool {
        let end = Instant::now() + Duration::from_secs(20);
        let path = format!("/proc/{}/stat", child.id());
        loop {
            let stat = std::fs::read_to_string(&path).unwrap();
            if stat.rsplit_once(") ").unwrap().1.starts_with(state) {
                return true;
            }
            if Instant::now() > end {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Socket at which the program of these tests listens, if it is the peer of another.
    const SOCKET: &str = "WORLDSWITCH_TEST_PEER";

    /// No test of its own: the process that is stopped.
    #[test]
    fn listener() {
        if let Some(path) = std::env::var_os(SOCKET) {
            let _listener = UnixListener::bind(path).unwrap();
            std::thread::sleep(Duration::from_secs(60));
        }
    }

    #[test]
    fn a_peer_is_stopped_but_for_its_turn() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("peer");
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "turns::tests::listener"])
            .env(SOCKET, &path)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        while UnixStream::connect(&path).is_err() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        let server = peer(&format!("x={}", path.display())).unwrap();
        let other = "elvis".parse().unwrap();
        {
            let turns = Turns::of([&other, &server]).unwrap();
            assert!(is(&child, 'T'));
            drop(turns.begin(&other));
            let turn = turns.begin(&server);
            assert!(is(&child, 'S'));
            drop(turn);
            assert!(is(&child, 'T'));
        }
        assert!(is(&child, 'S'));
        child.kill().unwrap();
        child.wait().unwrap();
        // Nobody listens.
        let error = Turns::of([&server]).err().unwrap().to_string();
        assert!(error.contains("can't stop x at"), "{error}");
        // This process would stop itself.
        std::fs::remove_file(&path).unwrap();
        let _listener = UnixListener::bind(&path).unwrap();
        let error = Turns::of([&server]).err().unwrap().to_string();
        assert!(error.contains("made the socket, not the server"), "{error}");
    }
}
