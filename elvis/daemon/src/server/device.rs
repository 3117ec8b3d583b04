//! A device: its socket, and the control thread that answers the front-end.

use super::accept::Accepting;
use super::channel::{Channel, Notice};
use super::frontend::{Frontend, answer_own};
use super::iothread::IoThread;
use super::kind::{Kind, KindSpec};
use super::queue::{Shared, Terms};
use super::ringfile::RingFile;
use super::threads::Threads;
use crate::numa::{self, Topology};
use crate::thread;
use elvis_policy::RateLimit;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::net::sockopt::socket_peercred;
use rustix::thread::{CpuSet, sched_getaffinity};
use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use vhost::vhost_user::{BackendReqHandler, Error};

/// Stack of a device's control thread. Small, as there may be a thousand.
const STACK: usize = 256 << 10;

/// Time to wait for a socket that is in use: a killed process keeps its sockets until the kernel has ended its
/// requests.
const LINGER: Duration = Duration::from_secs(2);

/// Configuration of a device.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceSpec {
    /// Name of the device, unique.
    pub name: String,
    /// Path of the socket to which front-ends connect.
    pub socket: PathBuf,
    /// Kind of the device, with its disk or network.
    pub kind: KindSpec,
    /// Weight among the devices of each of its I/O threads, at first.
    pub weight: u32,
    /// Limits of the device, at first.
    pub limit: RateLimit,
    /// Whether the device's queues are spread over all I/O threads.
    pub spread: bool,
}

/// State shared by the control thread and the device's owner.
struct State {
    stop: AtomicBool,
    wake: OwnedFd,
    stream: Mutex<Option<UnixStream>>,
    /// Lock that is held during a move, which waits for requests in flight, and while a connection starts. It is locked
    /// before all others.
    moving: Mutex<()>,
    /// I/O threads that serve the device. This lock and the next are never held for long.
    threads: Mutex<Threads>,
    /// Connection, if there is one. The inner lock is held while a message is answered, which may wait for requests in
    /// flight; readers must not wait for it.
    frontend: Mutex<Option<Arc<Mutex<Frontend>>>>,
    /// NUMA node of the driver's memory at the last look.
    node: Mutex<Option<u32>>,
    connected: AtomicBool,
}

/// Socket that is removed again if its device does not start.
struct Socket(Option<PathBuf>);

impl Drop for Socket {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Device. One front-end at a time can connect. Dropping the device ends it ([`Device::end`]) and closes its disk or
/// network.
pub struct Device {
    spec: DeviceSpec,
    shared: Arc<Shared>,
    state: Arc<State>,
    control: Mutex<Option<JoinHandle<()>>>,
}

impl Device {
    /// Opens the socket, and starts to answer front-ends. A network device keeps a file in the folder `state`, or
    /// beside its socket. It works without that file, but then has no packed rings.
    ///
    /// # Errors
    ///
    /// The socket can't be opened; the message names it.
    pub fn start(
        spec: DeviceSpec,
        kind: Kind,
        threads: Threads,
        state: Option<&Path>,
    ) -> io::Result<Self> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let listener = listen(&spec.socket).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", spec.socket.display()))
        })?;
        // From here on a failure removes the socket: nobody would answer there.
        let mut made = Socket(Some(spec.socket.clone()));
        let rings = kind.in_order().then(|| ring_file(&spec, &kind, state));
        let shared = Arc::new(Shared {
            rings: rings.flatten(),
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            name: spec.name.clone(),
            kind,
            channel: Channel::default(),
            terms: Mutex::new(Terms::new(spec.weight, spec.limit, spec.spread)),
            spent_ns: AtomicU64::new(0),
            starts: Default::default(),
            rests_until_ns: AtomicU64::new(0),
        });
        let state = Arc::new(State {
            stop: AtomicBool::new(false),
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            stream: Mutex::new(None),
            moving: Mutex::new(()),
            threads: Mutex::new(threads),
            frontend: Mutex::new(None),
            node: Mutex::new(None),
            connected: AtomicBool::new(false),
        });
        let control = {
            let (shared, state) = (Arc::clone(&shared), Arc::clone(&state));
            let work = move || answer(&listener, &shared, &state);
            thread::start("elvis-control", Some(STACK), work)?
        };
        made.0 = None;
        Ok(Self {
            spec,
            shared,
            state,
            control: Mutex::new(Some(control)),
        })
    }

    /// Returns the device's configuration.
    #[must_use]
    pub fn spec(&self) -> &DeviceSpec {
        &self.spec
    }

    /// Returns the device's number in this process.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.shared.number
    }

    /// Returns the device's kind.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.shared.kind
    }

    /// Whether a front-end is connected.
    #[must_use]
    pub fn connected(&self) -> bool {
        self.state.connected.load(Ordering::Relaxed)
    }

    /// Tells the front-end that the configuration space has changed. Never waits.
    pub fn config_changed(&self) -> Notice {
        match self.connected() {
            true => self.shared.channel.config_changed(),
            false => Notice::NoFrontend,
        }
    }

    /// Returns the device's weight and its limits.
    #[must_use]
    pub fn terms(&self) -> (u32, RateLimit) {
        let terms = self.shared.terms();
        (terms.weight, terms.limit)
    }

    /// Changes the device's weight and its limits on these I/O threads. They have to be all threads that may serve the
    /// device, as it may be moved meanwhile.
    pub fn change_terms(
        &self,
        threads: &[Arc<IoThread>],
        change: impl FnOnce(&mut u32, &mut RateLimit) -> io::Result<()>,
    ) -> io::Result<()> {
        // The lock is held until all threads have the terms, so that two changes do not mix.
        let mut terms = self.shared.terms();
        let (mut weight, mut limit) = (terms.weight, terms.limit);
        change(&mut weight, &mut limit)?;
        *terms = Terms::new(weight, limit, self.spec.spread);
        self.shared.kind.limited(limit);
        for thread in threads {
            thread.set_terms(self.number(), weight, terms.limiter.clone())?;
        }
        Ok(())
    }

    /// Returns the time that I/O threads spent on the device so far, in ns.
    #[must_use]
    pub fn spent_ns(&self) -> u64 {
        self.shared.spent_ns.load(Ordering::Relaxed)
    }

    /// Returns the NUMA node of the driver's memory; if that is unknown, the node of all CPUs that the front-end may
    /// use. None if both are unknown, or without a front-end.
    #[must_use]
    pub fn node(&self, topology: &Topology) -> Option<u32> {
        let frontend = lock(&self.state.frontend).clone()?;
        let pages = match frontend.try_lock() {
            Ok(frontend) => frontend.pages(),
            Err(TryLockError::Poisoned(frontend)) => frontend.into_inner().pages(),
            // The control thread is answering a message: return the last known node.
            Err(TryLockError::WouldBlock) => return *lock(&self.state.node),
        };
        let node = numa::node_of_memory(&pages).or_else(|| {
            let credentials = socket_peercred(lock(&self.state.stream).as_ref()?).ok()?;
            let allowed = sched_getaffinity(Some(credentials.pid)).ok()?;
            topology.node_of_all((0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)))
        });
        *lock(&self.state.node) = node;
        node
    }

    /// Returns the I/O threads that serve the device.
    #[must_use]
    pub fn threads(&self) -> Threads {
        lock(&self.state.threads).clone()
    }

    /// Moves the device to other I/O threads, after its requests in flight. No request is lost or run twice.
    ///
    /// # Errors
    ///
    /// One of the threads has ended.
    pub fn move_to(&self, threads: Threads) -> io::Result<()> {
        let _moving = lock(&self.state.moving);
        if self.threads() == threads {
            return Ok(());
        }
        let frontend = lock(&self.state.frontend).clone();
        if let Some(frontend) = frontend {
            let moved = lock(&frontend).move_to(threads.clone());
            moved.map_err(|error| io::Error::other(error.to_string()))?;
        }
        *lock(&self.state.threads) = threads;
        Ok(())
    }

    /// Ends the device: closes its socket and its connection, and waits for its requests in flight.
    pub fn end(&self) {
        self.state.stop.store(true, Ordering::SeqCst);
        let _ = rustix::io::write(&self.state.wake, &1u64.to_ne_bytes());
        let stream = lock(&self.state.stream);
        if let Some(stream) = &*stream {
            let _ = stream.shutdown(Shutdown::Both);
        }
        drop(stream);
        // A second caller of `end` waits here.
        if let Some(control) = lock(&self.control).take() {
            if control.join().is_err() {
                log::error!("{}: its control thread panicked", self.spec.name);
            }
            let _ = std::fs::remove_file(&self.spec.socket);
            if let Some(rings) = &self.shared.rings {
                rings.end();
            }
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.end();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens the file in which a device records the progress of its packed rings. None: there can't be one.
fn ring_file(spec: &DeviceSpec, kind: &Kind, state: Option<&Path>) -> Option<RingFile> {
    let path = RingFile::path(state, &spec.name, &spec.socket);
    let opened = RingFile::open(path.clone(), kind.queues());
    let say = |error: &io::Error| {
        log::warn!(
            "{}: packed rings are not offered, as it can't keep {}: {error}",
            spec.name,
            path.display()
        );
    };
    opened.inspect_err(say).ok()
}

/// Listens at a path. A stale socket is replaced, but not one at which a process still listens.
///
/// # Errors
///
/// The socket can't be made, or the path is in use.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    let in_use = |why| Err(io::Error::new(io::ErrorKind::AddrInUse, why));
    let end = Instant::now() + LINGER;
    loop {
        match UnixListener::bind(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            other => return other,
        }
        if UnixStream::connect(path).is_err() {
            if !std::fs::symlink_metadata(path)?.file_type().is_socket() {
                return in_use("a file that is not a socket is in the way");
            }
            std::fs::remove_file(path)?;
        } else if Instant::now() > end {
            return in_use("another process listens there; stop it or choose another path");
        } else {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn answer(listener: &UnixListener, shared: &Arc<Shared>, state: &State) {
    let mut accepting = Accepting::default();
    loop {
        let mut fds = [
            PollFd::new(listener, PollFlags::IN),
            PollFd::new(&state.wake, PollFlags::IN),
        ];
        let ready = poll(&mut fds, None);
        if state.stop.load(Ordering::SeqCst) {
            return;
        }
        if ready.is_err() || fds[0].revents().is_empty() {
            continue;
        }
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) => {
                let pause = accepting.failed(&shared.name, &error);
                // Wake up early if the device must end, which is checked above.
                let pause = Timespec::try_from(pause).ok();
                let _ = poll(
                    &mut [PollFd::new(&state.wake, PollFlags::IN)],
                    pause.as_ref(),
                );
                continue;
            }
        };
        accepting.worked();
        let (Ok(clone), Ok(peeked)) = (stream.try_clone(), stream.try_clone()) else {
            continue;
        };
        log::debug!("{}: a front-end connects", shared.name);
        *lock(&state.stream) = Some(clone);
        // `end` sets `stop` before it looks at the stream: it closes this one, or is seen here.
        if state.stop.load(Ordering::SeqCst) {
            return;
        }
        shared.kind.reset();
        state.connected.store(true, Ordering::Relaxed);
        let frontend = {
            // No move while the threads are read and the front-end is set.
            let _moving = lock(&state.moving);
            let threads = lock(&state.threads).clone();
            let frontend = Frontend::new(Arc::clone(shared), threads);
            let frontend = Arc::new(Mutex::new(frontend));
            *lock(&state.frontend) = Some(Arc::clone(&frontend));
            frontend
        };
        let error = messages(stream, &peeked, &frontend);
        shared.channel.close();
        if !matches!(error, Error::Disconnected) {
            log::warn!("{}: closed the connection: {error}", shared.name);
        }
        log::debug!("{}: its front-end has gone", shared.name);
        *lock(&state.frontend) = None;
        lock(&frontend).stop();
        *lock(&state.stream) = None;
        state.connected.store(false, Ordering::Relaxed);
    }
}

/// Returns when there is a message, or the connection has ended.
fn wait_for_message(stream: &UnixStream) {
    let mut fds = [PollFd::new(stream, PollFlags::IN)];
    let _ = rustix::io::retry_on_intr(|| poll(&mut fds, None));
}

/// Answers a front-end's messages until its connection ends; `peeked` is the same connection. Returns why it
/// ended.
fn messages(stream: UnixStream, peeked: &UnixStream, frontend: &Arc<Mutex<Frontend>>) -> Error {
    let mut handler = BackendReqHandler::from_stream(stream, Arc::clone(frontend));
    loop {
        wait_for_message(peeked);
        lock(frontend).heard();
        match answer_own(peeked, frontend) {
            Ok(true) => continue,
            Ok(false) => {}
            Err(error) => return Error::ReqHandlerError(error),
        }
        // A front-end learns of an error from the reply only if it requested one. Otherwise it would
        // continue as if nothing had failed, so an error always ends the connection.
        let handled = handler.handle_request();
        if let Err(error) = handled.and_then(|()| lock(frontend).not_refused()) {
            // `heard` is not called if the answer could not be sent: the record of a ring that was stopped stays.
            return error;
        }
    }
}
