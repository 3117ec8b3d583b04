//! A device: its socket, and the thread that answers the front-end on it.

use super::accept::Accepting;
use super::frontend::Frontend;
use super::iothread::IoThread;
use super::queue::Shared;
use crate::numa::{self, Topology};
use crate::storage::{Disk, Source};
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

/// Stack of a device's control thread; a thousand of them must be cheap.
const STACK: usize = 256 << 10;

/// How long a socket that somebody listens at is waited for: a process that was killed has its sockets
/// until the kernel has ended its requests.
const LINGER: Duration = Duration::from_secs(2);

/// What a device is to be.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceSpec {
    /// Its name, unique.
    pub name: String,
    /// Where front-ends connect.
    pub socket: PathBuf,
    /// What its disk is made of.
    pub source: Source,
    /// Whether writes fail.
    pub readonly: bool,
    /// How many queues it offers.
    pub queues: u16,
    /// Its weight among the devices of its I/O thread.
    pub weight: u32,
    /// Its limits.
    pub limit: RateLimit,
    /// What the guest sees as its serial number, at most 20 bytes.
    pub serial: String,
}

/// What the control thread and the device's owner share.
struct State {
    stop: AtomicBool,
    wake: OwnedFd,
    stream: Mutex<Option<UnixStream>>,
    /// Held while it is moved, which waits for its requests in flight, and while a connection begins: locked
    /// before all others.
    moving: Mutex<()>,
    /// Who serves it. This and the next are never locked for long.
    thread: Mutex<Arc<IoThread>>,
    /// Of the connection that there is. It is locked itself while a message is answered, which may wait for
    /// requests in flight: who only looks does not wait for that.
    frontend: Mutex<Option<Arc<Mutex<Frontend>>>>,
    /// Where its driver's memory was when that was last looked at.
    node: Mutex<Option<u32>>,
    connected: AtomicBool,
}

/// A device that front-ends can connect to, one at a time. Dropping it ends it ([`Device::end`]) and closes its
/// disk.
pub struct Device {
    spec: DeviceSpec,
    shared: Arc<Shared>,
    state: Arc<State>,
    control: Mutex<Option<JoinHandle<()>>>,
}

impl Device {
    /// Opens the socket, and answers front-ends from then on.
    ///
    /// # Errors
    ///
    /// The socket can't be opened; what it says names it.
    pub fn start(spec: DeviceSpec, disk: Disk, thread: Arc<IoThread>) -> io::Result<Self> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let listener = listen(&spec.socket).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", spec.socket.display()))
        })?;
        let shared = Arc::new(Shared {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            name: spec.name.clone(),
            disk,
            readonly: spec.readonly,
            writeback: AtomicBool::new(true),
            serial: spec.serial.clone(),
            weight: spec.weight,
            limit: spec.limit,
            spent_ns: AtomicU64::new(0),
        });
        let state = Arc::new(State {
            stop: AtomicBool::new(false),
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            stream: Mutex::new(None),
            moving: Mutex::new(()),
            thread: Mutex::new(thread),
            frontend: Mutex::new(None),
            node: Mutex::new(None),
            connected: AtomicBool::new(false),
        });
        let control = {
            let (shared, state) = (Arc::clone(&shared), Arc::clone(&state));
            let queues = spec.queues;
            std::thread::Builder::new()
                .name("elvis-control".to_owned())
                .stack_size(STACK)
                .spawn(move || answer(&listener, &shared, &state, queues))?
        };
        Ok(Self {
            spec,
            shared,
            state,
            control: Mutex::new(Some(control)),
        })
    }

    /// What it is.
    #[must_use]
    pub fn spec(&self) -> &DeviceSpec {
        &self.spec
    }

    /// Its number in this process.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.shared.number
    }

    /// The size of its disk, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.shared.disk.bytes()
    }

    /// Whether a front-end is connected.
    #[must_use]
    pub fn connected(&self) -> bool {
        self.state.connected.load(Ordering::Relaxed)
    }

    /// Time that I/O threads spent on it so far, in ns.
    #[must_use]
    pub fn spent_ns(&self) -> u64 {
        self.shared.spent_ns.load(Ordering::Relaxed)
    }

    /// The node of its driver's memory; where that says nothing, the one that all CPUs are on which its
    /// front-end may use. None where it has no front-end, or one that is everywhere.
    #[must_use]
    pub fn node(&self, topology: &Topology) -> Option<u32> {
        let frontend = lock(&self.state.frontend).clone()?;
        let pages = match frontend.try_lock() {
            Ok(frontend) => frontend.pages(),
            Err(TryLockError::Poisoned(frontend)) => frontend.into_inner().pages(),
            // It answers a message.
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

    /// The thread that serves it.
    #[must_use]
    pub fn thread(&self) -> Arc<IoThread> {
        Arc::clone(&lock(&self.state.thread))
    }

    /// Has another thread serve it, when its requests in flight have ended; none is lost or made twice.
    ///
    /// # Errors
    ///
    /// One of the two threads has ended.
    pub fn move_to(&self, thread: Arc<IoThread>) -> io::Result<()> {
        let _moving = lock(&self.state.moving);
        if Arc::ptr_eq(&self.thread(), &thread) {
            return Ok(());
        }
        let frontend = lock(&self.state.frontend).clone();
        if let Some(frontend) = frontend {
            let moved = lock(&frontend).move_to(Arc::clone(&thread));
            moved.map_err(|error| io::Error::other(error.to_string()))?;
        }
        *lock(&self.state.thread) = thread;
        Ok(())
    }

    /// Ends its service: closes its socket and its connection, and waits for its requests in flight.
    pub fn end(&self) {
        self.state.stop.store(true, Ordering::SeqCst);
        let _ = rustix::io::write(&self.state.wake, &1u64.to_ne_bytes());
        let stream = lock(&self.state.stream);
        if let Some(stream) = &*stream {
            let _ = stream.shutdown(Shutdown::Both);
        }
        drop(stream);
        // Whoever ends it too waits here.
        if let Some(control) = lock(&self.control).take() {
            if control.join().is_err() {
                eprintln!(
                    "elvis: {}: its control thread ended by a panic",
                    self.spec.name
                );
            }
            let _ = std::fs::remove_file(&self.spec.socket);
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

/// Listens at a path. A socket that is left over from a process that ended is replaced; one that
/// somebody listens at is not.
///
/// # Errors
///
/// The socket can't be made, or something else is there.
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
                return in_use("there is a file that is no socket");
            }
            std::fs::remove_file(path)?;
        } else if Instant::now() > end {
            return in_use("somebody listens there; choose another path or stop that process");
        } else {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn answer(listener: &UnixListener, shared: &Arc<Shared>, state: &State, queues: u16) {
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
                // It may be told to end meanwhile, which is seen above.
                let pause = Timespec::try_from(pause).ok();
                let _ = poll(
                    &mut [PollFd::new(&state.wake, PollFlags::IN)],
                    pause.as_ref(),
                );
                continue;
            }
        };
        accepting.worked();
        let Ok(clone) = stream.try_clone() else {
            continue;
        };
        *lock(&state.stream) = Some(clone);
        if state.stop.load(Ordering::SeqCst) {
            return;
        }
        shared.writeback.store(true, Ordering::Relaxed);
        state.connected.store(true, Ordering::Relaxed);
        let frontend = {
            // Not moved between the two.
            let _moving = lock(&state.moving);
            let thread = Arc::clone(&lock(&state.thread));
            let frontend = Frontend::new(Arc::clone(shared), thread, queues);
            let frontend = Arc::new(Mutex::new(frontend));
            *lock(&state.frontend) = Some(Arc::clone(&frontend));
            frontend
        };
        let mut handler = BackendReqHandler::from_stream(stream, Arc::clone(&frontend));
        let error = loop {
            // What is refused is answered by its acknowledgement, if one was asked for. Without, a
            // front-end would go on as if all were well: so the connection ends in either case.
            if let Err(error) = handler.handle_request() {
                break error;
            }
        };
        if !matches!(error, Error::Disconnected) {
            eprintln!("elvis: {}: the connection is closed: {error}", shared.name);
        }
        drop(handler);
        *lock(&state.frontend) = None;
        lock(&frontend).stop();
        *lock(&state.stream) = None;
        state.connected.store(false, Ordering::Relaxed);
    }
}
