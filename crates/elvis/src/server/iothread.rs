//! A handle on an I/O thread, and what can be asked of it.
//!
//! The thread owns what it serves; others talk to it by messages only.

use super::core::Core;
use super::queue::Queue;
use super::stats::CoreStats;
use elvis_policy::Params;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// How an I/O thread is to be.
#[derive(Debug, Clone)]
pub struct IoThreadSpec {
    /// The policy's constants.
    pub params: Params,
    /// The CPUs that it may run on; none is any.
    pub cpus: Vec<usize>,
    /// Use threads for files even where io_uring is allowed.
    pub threads_only: bool,
}

/// What others ask of an I/O thread.
pub(super) enum Order {
    /// Serve a queue from now on.
    Attach(Box<Queue>),
    /// Take no more requests from a queue, and give it back when its last has ended.
    Detach {
        device: u64,
        index: u16,
        back: Sender<Box<Queue>>,
    },
    /// Use another descriptor for calls.
    Call {
        device: u64,
        index: u16,
        call: Option<OwnedFd>,
    },
    /// Say what was counted.
    Stats(Sender<CoreStats>),
    /// End.
    Stop,
}

/// A handle on an I/O thread. The thread ends when it is dropped; queues that are still attached
/// are dropped with their requests in flight waited for.
pub struct IoThread {
    orders: Sender<Order>,
    wake: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl IoThread {
    /// Starts one.
    ///
    /// # Errors
    ///
    /// The thread, its descriptors or its place on the CPU can't be had.
    pub fn start(spec: &IoThreadSpec) -> io::Result<Self> {
        let (orders, receiver) = channel();
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (spec, wakes) = (spec.clone(), Arc::clone(&wake));
        let (ready, started) = channel();
        let name = match spec.cpus[..] {
            [cpu] => format!("elvis-io-{cpu}"),
            _ => "elvis-io".to_owned(),
        };
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            match Core::new(&spec, receiver, wakes) {
                Ok(mut core) => {
                    let _ = ready.send(Ok(()));
                    core.run();
                }
                Err(error) => drop(ready.send(Err(error))),
            }
        })?;
        let ended = || io::Error::other("the I/O thread ended while it started");
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
        // EAGAIN is a counter that is full: it is readable then.
        let _ = rustix::io::write(&*self.wake, &1u64.to_ne_bytes());
        Ok(())
    }

    /// Hands over a queue.
    ///
    /// # Errors
    ///
    /// The thread has ended.
    pub fn attach(&self, queue: Box<Queue>) -> io::Result<()> {
        self.order(Order::Attach(queue))
    }

    /// Takes a queue back, when all requests that it had taken have ended.
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

    /// Gives a queue another descriptor for calls.
    ///
    /// # Errors
    ///
    /// The thread has ended.
    pub fn set_call(&self, device: u64, index: u16, call: Option<OwnedFd>) -> io::Result<()> {
        self.order(Order::Call {
            device,
            index,
            call,
        })
    }

    /// What it has counted.
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
                eprintln!("elvis: an I/O thread ended by a panic");
            }
        }
    }
}
