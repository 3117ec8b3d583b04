//! The daemon: starts the server, and waits for its end.
//!
//! The main thread only waits. Operations that may block at the start (a disk that does not answer, a lock that another
//! process has) are in a thread of their own, so that a signal ends the daemon at any time.

use crate::config::{Config, Endpoint};
use crate::manager::Manager;
use crate::net::Link;
use crate::serve::Server;
use crate::{confine, control, metrics, thread};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use ws_cpus::Cpus;

/// Time for which the daemon, at its end, waits until an unfinished start is undone.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// Threads without which devices are not served; the name's beginning.
const VITAL: [&str; 3] = ["elvis-io", "elvis-file", "elvis-uplink"];

/// Event of the daemon.
enum Event {
    /// The start has ended: all sockets and disks are open, or the error.
    Started(io::Result<Listening>),
    /// SIGINT or SIGTERM.
    Signal,
    /// `elvis ctl drain`.
    Drained,
    /// A thread of this name panicked.
    Lost(String),
}

/// Sockets that are open but not yet served when the server has started.
struct Listening {
    control: Option<UnixListener>,
    metrics: Option<metrics::Listener>,
}

/// Server and sockets that exist so far.
#[derive(Default)]
struct Made {
    server: OnceLock<Arc<Server>>,
    /// Sockets other than devices'.
    sockets: Mutex<Vec<PathBuf>>,
    /// Whether the daemon ends: no more is to be made.
    ends: AtomicBool,
}

/// Serves until a signal or `elvis ctl drain`.
///
/// # Errors
///
/// Something can't be started, or a thread that the daemon needs has panicked.
pub fn serve(config: &Config) -> io::Result<()> {
    let (events, happened) = channel();
    watch_panics(events.clone());
    watch_signals(events.clone())?;
    let manager = Manager::of_environment()?.map(Arc::new);
    let made = Arc::new(Made::default());
    {
        let (config, made, events) = (config.clone(), Arc::clone(&made), events.clone());
        thread::start("elvis-start", None, move || {
            let started = start(&config, &made);
            // The main thread may have ended.
            let _ = events.send(Event::Started(started));
        })?;
    }
    let mut is_starting = true;
    let done = loop {
        match happened.recv().map_err(io::Error::other)? {
            Event::Started(started) => {
                is_starting = false;
                let runs = started.and_then(|listening| run(config, &made, listening, &events));
                let told = |()| match (&manager, made.server.get()) {
                    (Some(manager), Some(server)) => manager.serves(server),
                    _ => Ok(()),
                };
                let runs = runs.and_then(told);
                if runs.is_err() {
                    break runs;
                }
            }
            Event::Signal => {
                log::info!("exits when requests in flight are done");
                break Ok(());
            }
            Event::Drained => break Ok(()),
            Event::Lost(name) if ends(&name, is_starting) => {
                made.remove_sockets();
                // The devices can't be ended in order.
                std::mem::forget(made);
                return Err(io::Error::other(format!("the thread {name} panicked")));
            }
            Event::Lost(_) => {}
        }
    };
    if let Some(manager) = &manager {
        manager.ends();
    }
    made.end(is_starting, &happened);
    done
}

/// Whether the daemon ends if this thread panics.
fn ends(name: &str, is_starting: bool) -> bool {
    is_starting || VITAL.iter().any(|vital| name.starts_with(vital))
}

/// Opens all sockets and disks.
fn start(config: &Config, made: &Made) -> io::Result<Listening> {
    let control = config.control.as_deref().map(|path| {
        let listener = control::listen(path)?;
        made.sockets().push(path.to_owned());
        Ok::<_, io::Error>(listener)
    });
    let metrics = config.metrics.as_ref().map(|endpoint| {
        let listener = metrics::listen(endpoint)?;
        if let Endpoint::Socket(path) = endpoint {
            made.sockets().push(path.clone());
        }
        Ok::<_, io::Error>(listener)
    });
    let listening = Listening {
        control: control.transpose()?,
        metrics: metrics.transpose()?,
    };
    let server = Arc::new(Server::without_devices(config)?);
    // The server is known from here on: a signal during the start ends the devices that exist.
    let server = made.server.get_or_init(|| server);
    for spec in &config.uplinks {
        server.add_uplink(spec.clone(), Link::open_uplink)?;
    }
    for spec in &config.devices {
        if made.ends.load(Ordering::SeqCst) {
            break;
        }
        server.add(spec.clone())?;
    }
    Ok(listening)
}

/// Drops privileges, starts to answer clients, and logs how devices are served.
fn run(
    config: &Config,
    made: &Made,
    listening: Listening,
    events: &Sender<Event>,
) -> io::Result<()> {
    let Some(server) = made.server.get() else {
        return Err(io::Error::other("there is no server"));
    };
    confine(config)?;
    if let Some(listener) = listening.control {
        let (server, events) = (Arc::clone(server), events.clone());
        let ended = move || drop(events.send(Event::Drained));
        let work = move || control::run(&listener, &server, ended);
        thread::start("elvis-ctl", None, work)?;
    }
    if let Some(listener) = listening.metrics {
        let server = Arc::clone(server);
        let work = move || metrics::run(&listener, &server);
        thread::start("elvis-metrics", None, work)?;
    }
    say(config, server);
    Ok(())
}

/// Drops privileges and system calls that serving does not need, after all sockets and disks are open.
fn confine(config: &Config) -> io::Result<()> {
    if let Some(user) = config.user {
        confine::become_user(user)?;
    } else if rustix::process::geteuid().is_root() {
        log::warn!("runs as root; use --user NAME to drop privileges");
    }
    if config.seccomp {
        confine::filter().map_err(|error| {
            let why =
                format!("can't filter system calls; use --no-seccomp to serve without: {error}");
            io::Error::new(error.kind(), why)
        })?;
    }
    Ok(())
}

fn say(config: &Config, server: &Server) {
    let params = server.params();
    log::info!(
        "{}, mode {}, {}",
        match config.devices.len() {
            1 => "1 device".to_owned(),
            devices => format!("{devices} devices"),
        },
        config.mode.name(),
        match params.polling {
            true => format!(
                "polling above {} notifications/s, until idle for {} us",
                1_000_000_000 / params.poll_on_gap_ns,
                params.poll_off_idle_ns / 1000
            ),
            false => "no polling".to_owned(),
        }
    );
    if let Some(nodes) = server.placed_on_nodes() {
        log::info!(
            "uses as many of {} I/O cores as the load needs; {}",
            config.io_cores.len(),
            match nodes {
                1 => "one NUMA node".to_owned(),
                _ => format!("{nodes} NUMA nodes, busy devices on the node of their memory"),
            }
        );
    }
    if let Some(kinds) = config.kinds_of_cores(&Cpus::here()) {
        log::warn!(
            "I/O cores are of several kinds, so a device's speed depends on its I/O thread: {kinds}"
        );
    }
}

impl Made {
    fn sockets(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all devices after their requests in flight, and removes all sockets.
    fn end(&self, is_starting: bool, happened: &Receiver<Event>) {
        self.ends.store(true, Ordering::SeqCst);
        let close = || self.server.get().map(|server| server.close());
        close();
        if is_starting {
            // The wait has a limit: a disk may not answer.
            while let Ok(event) = happened.recv_timeout(LAST_WAIT) {
                if matches!(event, Event::Started(_)) {
                    break;
                }
            }
            // The server may have been made meanwhile.
            close();
        }
        self.remove_sockets();
    }

    fn remove_sockets(&self) {
        for path in self.sockets().drain(..) {
            let _ = std::fs::remove_file::<&Path>(&path);
        }
    }
}

/// Reports signals from now on.
fn watch_signals(events: Sender<Event>) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::start("elvis-signals", Some(128 << 10), move || {
        for _ in signals.forever() {
            let _ = events.send(Event::Signal);
        }
    })?;
    Ok(())
}

/// Reports each thread that panics from now on, in the log and to the main thread.
fn watch_panics(events: Sender<Event>) {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("without a name").to_owned();
        log::error!("the thread {name} {info}");
        // Only the usual message has a backtrace.
        if std::env::var_os("RUST_BACKTRACE").is_some() {
            usual(info);
        }
        let _ = events.send(Event::Lost(name));
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_the_daemon_while_it_starts_and_later_where_devices_are_not_served_any_more() {
        let (events, happened) = channel();
        watch_panics(events);
        for (name, later) in [
            ("elvis-start", false),
            ("elvis-io", true),
            ("elvis-io-3", true),
            ("elvis-file-0", true),
            ("elvis-uplink", true),
            ("elvis-placer", false),
            ("elvis-control", false),
            ("elvis-ctl", false),
            ("elvis-metrics", false),
        ] {
            let lost = thread::start(name, None, || panic!("this is a test")).unwrap();
            assert!(lost.join().is_err());
            // Other tests may panic meanwhile.
            let is_it = |event: Event| matches!(event, Event::Lost(other) if other == name);
            let limit = Duration::from_secs(60);
            while !is_it(happened.recv_timeout(limit).expect("nobody hears of it")) {}
            assert_eq!(
                (ends(name, true), ends(name, false)),
                (true, later),
                "{name}"
            );
        }
        // The default hook again: it prints why a later test of this process fails.
        drop(std::panic::take_hook());
    }
}
