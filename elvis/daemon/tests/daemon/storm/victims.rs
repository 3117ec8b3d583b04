//! The devices that behave well. Their progress is measured so that other programs on the host do not change it: see
//! [`Clock`].

use crate::client::{memfd, until};
use crate::raw::Raw;
use elvis_ring::Memory;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use vmm_sys_util::eventfd::EventFd;

/// Time of the I/O thread. This clock stops while the thread waits for a CPU, as the host runs another program there. It
/// goes on while the thread waits for anything else.
pub struct Clock {
    /// Its CPU time, and how long it waited for a CPU so far.
    schedstat: File,
    start: Instant,
}

impl Clock {
    /// The clock of a daemon's only I/O thread.
    pub fn new(daemon: u32) -> Self {
        let tasks = format!("/proc/{daemon}/task");
        let schedstat = until("an I/O thread", || {
            std::fs::read_dir(&tasks).unwrap().find_map(|task| {
                let task = task.ok()?.path();
                let name = std::fs::read_to_string(task.join("comm")).ok()?;
                name.starts_with("elvis-io")
                    .then(|| File::open(task.join("schedstat")).unwrap())
            })
        });
        let start = Instant::now();
        Self { schedstat, start }
    }

    /// Wall time, and the time in which the thread waited for a CPU, up to when it last ran.
    fn look(&self) -> (u64, u64) {
        let mut text = [0; 64];
        let bytes = self.schedstat.read_at(&mut text, 0).unwrap();
        let text = std::str::from_utf8(&text[..bytes]).unwrap();
        let waited = text.split_whitespace().nth(1).unwrap();
        (self.wall_ns(), waited.parse().unwrap())
    }

    fn wall_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }
}

/// I/O time of each request of a busy disk: its service time.
pub const REQUEST_NS: u64 = 20_000;
/// Requests in a busy disk's ring: enough for 0.6 s, so that it does not run dry when this process is stopped.
const BACKLOG: u16 = 32_768;
/// Addresses of their common header, table of descriptors, status and data, and of the ring.
const HEADER: u64 = 0;
const TABLE: u64 = 0x100;
const STATUS: u64 = 0x200;
const DATA: u64 = 0x1000;
const RING: u64 = 0x2000;

/// A disk whose ring is always full. Each of its requests takes [`REQUEST_NS`] of the I/O thread.
pub struct Busy {
    raw: Raw,
}

impl Busy {
    pub fn connect(socket: &Path) -> Self {
        let kick = EventFd::new(0).unwrap();
        let mut raw = Raw::in_memory(socket, memfd(4 << 20), RING, BACKLOG, kick);
        // A read of the first sector, for all requests.
        let table = [(HEADER, 16, false), (DATA, 512, true), (STATUS, 1, true)];
        raw.driver.write_table(TABLE, &table).unwrap();
        raw.start(0);
        let mut busy = Self { raw };
        busy.fill(BACKLOG.into());
        busy
    }

    fn fill(&mut self, requests: u64) {
        for _ in 0..requests {
            self.raw.driver.submit_indirect(TABLE, 48).unwrap();
        }
        self.raw.kick();
    }

    /// Makes as many new requests as were served.
    pub fn go_on(&mut self) {
        let mut served = 0;
        while self.raw.driver.reply().is_some() {
            served += 1;
        }
        self.fill(served);
    }

    /// The memory of its ring, and the address of the used ring, in which the device counts requests that it has served.
    fn counter(&self) -> (Arc<Memory>, u64) {
        let driver = &self.raw.driver;
        (Arc::clone(driver.memory()), driver.addresses().used)
    }
}

/// A moment at which the I/O thread ran.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moment {
    /// The thread's time.
    pub now_ns: u64,
    /// Requests of the busy disks that were served, modulo 2^16.
    pub served: [u16; 2],
}

/// A disk with one request at a time, and a pause after it. A thread makes them.
pub struct Quick {
    seen: Arc<Seen>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Seen {
    /// How long each request waited, on the I/O thread's clock, in ns.
    waits: Mutex<Vec<u64>>,
    /// The last moment at which the I/O thread certainly ran, and how many there were.
    moment: Mutex<(Moment, u64)>,
    stop: AtomicBool,
}

/// A moment so soon after a reply is one at which the I/O thread ran, in ns.
const SOON_NS: u64 = 20_000;

impl Quick {
    pub fn start(socket: &Path, clock: Clock, busy: &[Busy; 2]) -> Self {
        let seen = Arc::new(Seen::default());
        let (raw, its) = (Raw::connect(socket), Arc::clone(&seen));
        let mut driver = Requests {
            raw,
            clock,
            counters: busy.each_ref().map(Busy::counter),
        };
        driver.raw.start(0);
        let thread = std::thread::spawn(move || {
            while !its.stop.load(Ordering::Relaxed) {
                let Some((wait_ns, moment)) = driver.one(&its.stop) else {
                    return;
                };
                its.waits.lock().unwrap().push(wait_ns);
                if let Some(moment) = moment {
                    let (last, count) = &mut *its.moment.lock().unwrap();
                    *last = moment;
                    *count += 1;
                }
                std::thread::sleep(Duration::from_micros(50));
            }
        });
        Self {
            seen,
            thread: Some(thread),
        }
    }

    /// The next moment.
    pub fn moment(&self) -> Moment {
        let before = self.seen.moment.lock().unwrap().1;
        until("a quick request", || {
            assert!(self.thread.as_ref().is_some_and(|it| !it.is_finished()));
            let (moment, count) = *self.seen.moment.lock().unwrap();
            (count > before).then_some(moment)
        })
    }

    /// The last moment's time.
    pub fn now_ns(&self) -> u64 {
        self.seen.moment.lock().unwrap().0.now_ns
    }

    /// The waits since the last call.
    pub fn waits(&self) -> Vec<u64> {
        std::mem::take(&mut self.seen.waits.lock().unwrap())
    }
}

/// The driver of a quick disk.
struct Requests {
    raw: Raw,
    clock: Clock,
    counters: [(Arc<Memory>, u64); 2],
}

impl Requests {
    /// Makes one request. Returns how long it waited at least, on the I/O thread's clock, in ns, and the moment of its
    /// reply. If this thread did not run at the reply, the wait ends at its last look before it, and the moment is not
    /// known. None: `stop` is set.
    fn one(&mut self, stop: &AtomicBool) -> Option<(u64, Option<Moment>)> {
        let (start_ns, waited_ns) = self.clock.look();
        self.raw.submit_write(0, 0, 7).unwrap();
        self.raw.kick();
        let mut last_ns = start_ns;
        loop {
            let now_ns = self.clock.wall_ns();
            if self.raw.driver.reply().is_some() {
                break;
            }
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            last_ns = now_ns;
            std::hint::spin_loop();
        }
        let (now_ns, all_waited_ns) = self.clock.look();
        let served = self.counters.each_ref().map(|(memory, used)| {
            let index = memory.span(used + 2, 2).unwrap();
            u16::from_le(index.load_u16(0, Ordering::Relaxed))
        });
        let known = self.clock.wall_ns() - last_ns < SOON_NS;
        let moment = known.then(|| Moment {
            now_ns: now_ns.wrapping_sub(all_waited_ns),
            served,
        });
        let wait_ns = (last_ns - start_ns).saturating_sub(all_waited_ns - waited_ns);
        Some((wait_ns, moment))
    }
}

impl Drop for Quick {
    fn drop(&mut self) {
        self.seen.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
