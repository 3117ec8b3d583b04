//! Cores and the threads that run on them: whose turn it is, and each core's use of its time.
//!
//! A thread does its work in bursts. Only the thread's owner knows the purpose of a burst and its successor
//! ([`super::world`]). Time is in ticks: instructions of the lab, or cycles.

use serde::Serialize;

/// Kind of a burst, for the account of a core's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The guest's own code.
    Guest,
    /// Exits, entries, interrupts: the hypervisor's work on the guest's core.
    Exit,
    /// Requests, and all else a server does for them.
    Serve,
    /// Looks at queues in vain.
    Poll,
    /// Switches from one thread to another.
    Switch,
    /// A guest that has nothing to do, and does not halt.
    Spin,
}

/// Use of a core's time, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spent {
    pub guest: u64,
    pub exit: u64,
    pub serve: u64,
    pub poll: u64,
    pub switch: u64,
    pub spin: u64,
    pub idle: u64,
}

impl Spent {
    fn of(&mut self, kind: Kind) -> &mut u64 {
        match kind {
            Kind::Guest => &mut self.guest,
            Kind::Exit => &mut self.exit,
            Kind::Serve => &mut self.serve,
            Kind::Poll => &mut self.poll,
            Kind::Switch => &mut self.switch,
            Kind::Spin => &mut self.spin,
        }
    }

    /// Returns all time but idle time.
    #[must_use]
    pub fn busy(&self) -> u64 {
        self.guest + self.exit + self.serve + self.poll + self.switch + self.spin
    }

    /// Returns the time spent since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            guest: self.guest - before.guest,
            exit: self.exit - before.exit,
            serve: self.serve - before.serve,
            poll: self.poll - before.poll,
            switch: self.switch - before.switch,
            spin: self.spin - before.spin,
            idle: self.idle - before.idle,
        }
    }
}

/// A piece of a thread's work, at the end of which `then` happens.
#[derive(Clone, Copy, Debug)]
pub struct Burst<T> {
    pub ticks: u64,
    pub kind: Kind,
    pub then: T,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Blocked,
    /// Waits for a core.
    Ready,
    On(usize),
}

#[derive(Clone, Debug)]
pub struct Thread {
    pub state: State,
    /// Only core that the thread may run on.
    pub bound: Option<usize>,
    /// Core that the thread ran on last.
    last: usize,
    /// Time that the thread ran, as the scheduler counts it.
    ran: u64,
}

pub struct Core<T> {
    pub thread: Option<usize>,
    /// Thread that ran before, whose data is in the caches.
    before: Option<usize>,
    pub burst: Option<Burst<T>>,
    slice_end: u64,
    pub spent: Spent,
}

/// Constants by which the operating system's scheduler shares cores, in ticks.
#[derive(Clone, Copy, Debug)]
pub struct Sharing {
    /// Cost of a switch to another thread, with that of caches which hold the data of another one.
    pub switch: u64,
    /// Time that a thread runs while others wait.
    pub slice: u64,
    /// Lead in running time at which a thread is preempted by one that wakes up.
    pub preempt: u64,
}

/// All cores with their threads.
pub struct Cores<T> {
    pub now: u64,
    pub all: Vec<Core<T>>,
    pub threads: Vec<Thread>,
    /// Core whose turn it is, if only one runs at a time, as in the lab.
    pub turn: Option<usize>,
    sharing: Sharing,
}

impl<T: Copy> Cores<T> {
    pub fn new(count: usize, in_turns: bool, sharing: Sharing) -> Self {
        let core = |_| Core {
            thread: None,
            before: None,
            burst: None,
            slice_end: 0,
            spent: Spent::default(),
        };
        Self {
            now: 0,
            all: (0..count).map(core).collect(),
            threads: Vec::new(),
            turn: in_turns.then_some(0),
            sharing,
        }
    }

    /// Adds a thread, which is ready; returns its number.
    pub fn add(&mut self, bound: Option<usize>) -> usize {
        let number = self.threads.len();
        self.threads.push(Thread {
            state: State::Ready,
            bound,
            last: bound.unwrap_or(number % self.all.len()),
            ran: 0,
        });
        number
    }

    /// Makes a thread ready that is blocked. True if it was.
    pub fn wake(&mut self, thread: usize) -> bool {
        if self.threads[thread].state != State::Blocked {
            return false;
        }
        let runnable = self.threads.iter().filter(|it| it.state != State::Blocked);
        let least = runnable.map(|it| it.ran).min().unwrap_or(0);
        let credit = self.sharing.slice / 2;
        let it = &mut self.threads[thread];
        it.ran = it.ran.max(least.saturating_sub(credit));
        it.state = State::Ready;
        if self.idle_for(thread).is_none() {
            self.preempt_for(thread);
        }
        true
    }

    /// Returns an idle core for a thread: its last one if possible.
    fn idle_for(&self, thread: usize) -> Option<usize> {
        let it = &self.threads[thread];
        let idle = |&core: &usize| {
            self.all[core].thread.is_none() && it.bound.is_none_or(|bound| bound == core)
        };
        Some(it.last)
            .filter(idle)
            .or_else(|| (0..self.all.len()).find(idle))
    }

    /// Ends the slice of the thread that ran longest, if it is far enough ahead.
    fn preempt_for(&mut self, thread: usize) {
        let (ran, bound) = (self.threads[thread].ran, self.threads[thread].bound);
        let may = (0..self.all.len()).filter(|&core| bound.is_none_or(|bound| bound == core));
        let ran_on = |core: usize| {
            let running = self.all[core].thread?;
            // A thread that is bound to its core can't go elsewhere, but it can wait.
            Some((self.threads[running].ran, core))
        };
        if let Some((most, core)) = may.filter_map(ran_on).max() {
            if most > ran + self.sharing.preempt {
                self.all[core].slice_end = self.now;
            }
        }
    }

    pub fn block(&mut self, core: usize) {
        if let Some(thread) = self.all[core].thread.take() {
            self.threads[thread].state = State::Blocked;
            self.all[core].before = Some(thread);
        }
    }

    /// Returns the ready thread that ran least and may run on a core.
    fn least_run(&self, core: usize) -> Option<usize> {
        let ready = || {
            self.threads.iter().enumerate().filter(|(_, it)| {
                it.state == State::Ready && it.bound.is_none_or(|bound| bound == core)
            })
        };
        let least = ready().min_by_key(|(number, it)| (it.last != core, it.ran, *number));
        // A thread goes to its last core first, if that is idle: other cores leave the thread alone.
        least
            .filter(|(_, it)| {
                it.last == core || self.all[it.last].thread.is_some() || it.bound.is_some()
            })
            .or_else(|| ready().min_by_key(|(number, it)| (it.ran, *number)))
            .map(|(number, _)| number)
    }

    /// Gives a core a thread if it has none, or another one at the end of a slice. True if a thread
    /// began that is not the one before: it pays for the switch.
    pub fn schedule(&mut self, core: usize) -> bool {
        if let Some(running) = self.all[core].thread {
            if self.now < self.all[core].slice_end {
                return false;
            }
            self.all[core].slice_end = self.now + self.sharing.slice;
            let waits = self.least_run(core);
            if waits.is_none_or(|next| self.threads[next].ran >= self.threads[running].ran) {
                return false;
            }
            self.threads[running].state = State::Ready;
            self.all[core].before = Some(running);
            self.all[core].thread = None;
        }
        let Some(next) = self.least_run(core) else {
            return false;
        };
        self.threads[next].state = State::On(core);
        self.threads[next].last = core;
        self.all[core].thread = Some(next);
        self.all[core].slice_end = self.now + self.sharing.slice;
        self.all[core].before.is_some_and(|before| before != next)
    }

    pub fn switch_ticks(&self) -> u64 {
        self.sharing.switch
    }

    /// Whether a core makes progress now: each with a burst does, or only the one whose turn it is.
    fn is_running(&self, core: usize) -> bool {
        self.all[core].burst.is_some() && self.turn.is_none_or(|turn| turn == core)
    }

    /// Returns the ticks until the first burst ends.
    pub fn until_end(&self) -> Option<u64> {
        let running = (0..self.all.len()).filter(|&core| self.is_running(core));
        running
            .filter_map(|core| self.all[core].burst.as_ref().map(|burst| burst.ticks))
            .min()
    }

    /// Lets time pass. No burst may end before.
    pub fn advance(&mut self, ticks: u64) {
        for core in 0..self.all.len() {
            let runs = self.is_running(core);
            let it = &mut self.all[core];
            match &mut it.burst {
                Some(burst) if runs => {
                    burst.ticks -= ticks;
                    *it.spent.of(burst.kind) += ticks;
                    if let Some(thread) = it.thread {
                        self.threads[thread].ran += ticks;
                    }
                }
                _ => it.spent.idle += ticks,
            }
        }
        self.now += ticks;
    }

    /// Returns a core whose burst has ended, with the burst's `then`.
    pub fn ended(&mut self) -> Option<(usize, T)> {
        let core = (0..self.all.len()).find(|&core| {
            self.is_running(core)
                && self.all[core]
                    .burst
                    .as_ref()
                    .is_some_and(|it| it.ticks == 0)
        })?;
        let burst = self.all[core].burst.take()?;
        Some((core, burst.then))
    }
}
