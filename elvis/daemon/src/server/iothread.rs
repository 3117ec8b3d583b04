//! A handle on an I/O thread, and the orders that it accepts.
//!
//! The thread owns the queues that it serves; other threads only send it messages.

use super::core::Core;
use super::queue::Queue;
use super::stats::CoreStats;
use crate::thread;
use elvis_policy::{Limiter, Params};
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// Configuration of an I/O thread.
#[derive(Debug, Clone)]
pub struct IoThreadSpec {
    /// The policy's constants.
    pub params: Params,
    /// CPUs that the thread may run on; empty: any.
    pub cpus: Vec<usize>,
    /// Whether to use threads instead of io_uring for files.
    pub threads_only: bool,
}

/// An order to an I/O thread.
pub(super) enum Order {
    /// Serve a queue from now on.
    Attach(Box<Queue>),
    /// Take no more requests from a queue, and give it back when its last request has ended.
    Detach {
        device: u64,
        index: u16,
        back: Sender<Box<Queue>>,
    },
    /// Use this descriptor for calls.
    Call {
        device: u64,
        index: u16,
        call: Option<OwnedFd>,
    },
    /// Serve a device by this weight and these limits.
    Terms {
        device: u64,
        weight: u32,
        limiter: Limiter,
    },
    /// Send the counters.
    Stats(Sender<CoreStats>),
    /// End.
    Stop,
}

impl Order {
    /// Returns the number of the device for which the order is.
    pub(super) fn device(&self) -> Option<u64> {
        match self {
            Self::Attach(queue) => Some(queue.shared.number),
            Self::Detach { device, .. }
            | Self::Call { device, .. }
            | Self::Terms { device, .. } => Some(*device),
            Self::Stats(_) | Self::Stop => None,
        }
    }
}

/// A handle on an I/O thread. Dropping it ends the thread, which first waits for the requests in
/// flight of queues still attached.
pub struct IoThread {
    orders: Sender<Order>,
    wake: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl IoThread {
    /// Starts an I/O thread.
    pub fn start(spec: &IoThreadSpec) -> io::Result<Self> {
        let (orders, receiver) = channel();
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (spec, wakes) = (spec.clone(), Arc::clone(&wake));
        let (ready, started) = channel();
        let name = match spec.cpus[..] {
            [cpu] => format!("elvis-io-{cpu}"),
            _ => "elvis-io".to_owned(),
        };
        let thread = thread::start(&name, None, move || {
            match Core::new(&spec, receiver, wakes) {
                Ok(mut core) => {
                    let _ = ready.send(Ok(()));
                    core.run();
                }
                Err(error) => drop(ready.send(Err(error))),
            }
        })?;
        let ended = || io::Error::other("the I/O thread panicked while it started");
        started.recv().map_err(|_| ended())??;
        Ok(Self {
            orders,
            wake,
            thread: Some(thread),
        })
    }

    fn order(&self, order: Order) -> io::Result<()> {
        self.orders
            .send(order)
            .map_err(|_| io::Error::other("an I/O thread has ended"))?;
        // EAGAIN: the counter is full, so the eventfd is readable already.
        let _ = rustix::io::write(&*self.wake, &1u64.to_ne_bytes());
        Ok(())
    }

    /// Hands over a queue.
    pub fn attach(&self, queue: Box<Queue>) -> io::Result<()> {
        self.order(Order::Attach(queue))
    }

    /// Takes a queue back, after its requests in flight.
    ///
    /// # Errors
    ///
    /// The thread has ended, or does not have this queue.
    pub fn detach(&self, device: u64, index: u16) -> io::Result<Box<Queue>> {
        let (back, queue) = channel();
        self.order(Order::Detach {
            device,
            index,
            back,
        })?;
        queue
            .recv()
            .map_err(|_| io::Error::other("an I/O thread does not have this queue"))
    }

    /// Sets a queue's descriptor for calls.
    pub fn set_call(&self, device: u64, index: u16, call: Option<OwnedFd>) -> io::Result<()> {
        self.order(Order::Call {
            device,
            index,
            call,
        })
    }

    /// Serves a device by this weight and these limits, if the thread serves the device.
    pub fn set_terms(&self, device: u64, weight: u32, limiter: Limiter) -> io::Result<()> {
        self.order(Order::Terms {
            device,
            weight,
            limiter,
        })
    }

    /// Returns the thread's counters.
    ///
    /// # Errors
    ///
    /// The thread has ended.
    pub fn stats(&self) -> io::Result<CoreStats> {
        let (sender, stats) = channel();
        self.order(Order::Stats(sender))?;
        stats
            .recv()
            .map_err(|_| io::Error::other("an I/O thread has ended"))
    }
}

impl Drop for IoThread {
    fn drop(&mut self) {
        let _ = self.order(Order::Stop);
        if let Some(thread) = self.thread.take() {
            if thread.join().is_err() {
                log::error!("an I/O thread panicked");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::kind::{BlkSpec, Kind};
    use crate::server::queue::{Kick, Terms};
    use crate::server::stats::Counted;
    use crate::storage::{Blocks, Disk, Source};
    use elvis_policy::RateLimit;
    use elvis_ring::Ring;
    use elvis_ring::driver::Driver;
    use rustix::fs::{MemfdFlags, memfd_create};
    use std::fs::File;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::mpsc::{Receiver, TryRecvError};
    use std::time::{Duration, Instant};

    const LIMIT: Duration = Duration::from_secs(60);
    const MEMORY: u64 = 1 << 20;
    /// Addresses of the request's header, data and status.
    const PLACES: [u64; 3] = [0x8000, 0x9000, 0xa000];

    /// Returns a disk that completes a read when data are written to the other end of this pipe.
    fn told(by: OwnedFd) -> Disk {
        Disk::given(File::from(by), MEMORY, Blocks::SECTORS, true).unwrap()
    }

    fn queue(disk: Disk, driver: &Driver) -> Box<Queue> {
        let blk = BlkSpec {
            source: Source::Ram { bytes: MEMORY },
            readonly: false,
            queues: 1,
            serial: String::new(),
        };
        let shared = crate::server::queue::Shared {
            number: 1,
            name: "a".to_owned(),
            kind: Kind::Blk(blk.with(disk)),
            rings: None,
            channel: crate::server::channel::Channel::default(),
            terms: Mutex::new(Terms::new(1, RateLimit::default(), false)),
            spent_ns: AtomicU64::new(0),
            starts: Default::default(),
            rests_until_ns: AtomicU64::new(0),
        };
        Box::new(Queue {
            shared: Arc::new(shared),
            index: 0,
            features: 0,
            ring: Ring::new(16, &driver.addresses(), driver.memory(), 0, true).unwrap(),
            kick: Kick::Eventfd(eventfd(0, EventfdFlags::CLOEXEC).unwrap()),
            call: None,
            err: None,
            fault: None,
            polled: false,
            counted: Counted::default(),
        })
    }

    /// A request for 512 bytes of a pipe, which an I/O thread has taken and that can't end yet.
    struct Waiting {
        thread: IoThread,
        driver: Driver,
        head: Option<u16>,
        writer: OwnedFd,
        _memory: File,
    }

    impl Waiting {
        /// Returns None, and prints that, if this process may not use io_uring. The thread pool reads with an offset,
        /// which a pipe does not support.
        fn new() -> Option<Self> {
            let spec = IoThreadSpec {
                params: Params::default(),
                cpus: Vec::new(),
                threads_only: false,
            };
            let thread = IoThread::start(&spec).unwrap();
            if thread.stats().unwrap().engine != "io_uring" {
                println!("skipped: this process may not use io_uring");
                return None;
            }
            let memory = File::from(memfd_create("iothread-test", MemfdFlags::CLOEXEC).unwrap());
            memory.set_len(MEMORY).unwrap();
            let mut driver = Driver::new(&memory, 16, true).unwrap();
            let (reader, writer) = rustix::pipe::pipe().unwrap();
            let [header, data, status] = PLACES;
            let head = driver.submit(&[(header, 16, false), (data, 512, true), (status, 1, true)]);
            thread.attach(queue(told(reader), &driver)).unwrap();
            let end = Instant::now() + LIMIT;
            while thread.stats().unwrap().queues[0].policy.requests == 0 {
                assert!(Instant::now() < end, "the request is not taken");
            }
            Some(Self {
                thread,
                driver,
                head,
                writer,
                _memory: memory,
            })
        }

        fn detach(&self) -> Receiver<Box<Queue>> {
            let (back, given) = channel();
            let (device, index) = (1, 0);
            let order = Order::Detach {
                device,
                index,
                back,
            };
            self.thread.order(order).unwrap();
            given
        }

        /// Gives the pipe the rest of the 512 bytes, which ends the request, and checks what arrived.
        fn end(&mut self, bytes: usize, given: &Receiver<Box<Queue>>) {
            rustix::io::write(&self.writer, &[7; 512][..bytes]).unwrap();
            assert_eq!(given.recv_timeout(LIMIT).unwrap().ring.next(), 1);
            assert_eq!(self.driver.reply(), Some((self.head.unwrap(), 513)));
            let span = self.driver.memory().span(PLACES[1], 512).unwrap();
            assert!((0..512).all(|at| span.load_u8(at, Ordering::Relaxed) == 7));
        }
    }

    /// The end of a connection, a change of memory and a move depend on this.
    #[test]
    fn a_queue_is_given_back_when_its_last_request_has_ended_and_not_before() {
        let Some(mut waiting) = Waiting::new() else {
            return;
        };
        let given = waiting.detach();
        // The thread answers this after it has handled the Detach as far as it can.
        let stats = waiting.thread.stats().unwrap();
        assert_eq!(given.try_recv().map(drop), Err(TryRecvError::Empty));
        assert_eq!(waiting.driver.reply(), None);
        let buffers = stats.registered_buffers;
        assert!(buffers.refused.is_some() || buffers.bytes == MEMORY);
        waiting.end(512, &given);
        let after = waiting.thread.stats().unwrap();
        assert_eq!(after.registered_buffers.bytes, 0);
    }

    /// Checks that the rest of a request is submitted after a part has arrived, although no visit to its queue comes
    /// any more that would start it. A front-end waits for the end of this.
    #[test]
    fn the_rest_of_a_request_is_started_after_its_queue_is_taken_back() {
        let Some(mut waiting) = Waiting::new() else {
            return;
        };
        let given = waiting.detach();
        waiting.thread.stats().unwrap();
        rustix::io::write(&waiting.writer, &[7; 100]).unwrap();
        let end = Instant::now() + LIMIT;
        while rustix::io::ioctl_fionread(&waiting.writer).unwrap() > 0 {
            assert!(Instant::now() < end, "the part is not read");
        }
        waiting.end(412, &given);
    }
}
