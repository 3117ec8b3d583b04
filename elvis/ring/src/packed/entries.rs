//! Requests that the device has taken from a packed ring. The device keeps this state itself, as the driver may reuse
//! buffer identifiers and overwrite descriptors at any time.
//!
//! A request has one entry. If requests are recorded for another process, it has one for each of its descriptors, as
//! the record has (see [`super::inflight`]). Free entries are a list.

/// Entry of a request or of the list. All fields but `next` are valid in a request's first entry, its head.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Entry {
    /// The driver's identifier of the buffer.
    pub(super) id: u16,
    /// Descriptors of the ring that the request has.
    pub(super) count: u16,
    /// Last entry of the request.
    pub(super) last: u16,
    /// Next entry of the same request or of the list; the number of entries after the last one.
    next: u16,
}

/// All entries of a ring, as many as it has descriptors.
#[derive(Debug)]
pub(super) struct Entries {
    all: Vec<Entry>,
    free: u16,
    /// Whether each descriptor of a request has an entry.
    tracked: bool,
    /// Heads of requests that have ended, and are not yet published.
    ended: Vec<u16>,
}

impl Entries {
    /// Free entries for a ring of this size.
    pub(super) fn new(size: u16) -> Self {
        let entry = |next| Entry {
            next,
            ..Entry::default()
        };
        Self {
            all: (1..=size).map(entry).collect(),
            free: 0,
            tracked: false,
            ended: Vec::with_capacity(size.into()),
        }
    }

    /// Returns the entries of a ring whose requests are recorded. The entries of `requests`, each in order, are not
    /// free.
    pub(super) fn tracked<'a>(size: u16, requests: impl Iterator<Item = &'a [u16]>) -> Self {
        let mut entries = Self {
            tracked: true,
            ..Self::new(size)
        };
        let mut is_free = vec![true; size.into()];
        for request in requests {
            for (place, &entry) in request.iter().enumerate() {
                is_free[usize::from(entry)] = false;
                entries.all[usize::from(entry)].next =
                    request.get(place + 1).map_or(size, |&it| it);
            }
        }
        entries.free = size;
        for entry in (0..size).rev().filter(|&entry| is_free[usize::from(entry)]) {
            entries.all[usize::from(entry)].next = entries.free;
            entries.free = entry;
        }
        entries
    }

    /// The first free entry; the number of entries if there is none.
    #[inline]
    pub(super) fn free(&self) -> u16 {
        self.free
    }

    /// The entry after this one.
    #[inline]
    pub(super) fn after(&self, entry: u16) -> u16 {
        self.of(entry).next
    }

    /// An entry.
    #[inline]
    pub(super) fn of(&self, entry: u16) -> Entry {
        self.all
            .get(usize::from(entry))
            .copied()
            .unwrap_or_default()
    }

    /// Describes a request by its head.
    pub(super) fn set(&mut self, head: u16, id: u16, count: u16, last: u16) {
        if let Some(entry) = self.all.get_mut(usize::from(head)) {
            (entry.id, entry.count, entry.last) = (id, count, last);
        }
    }

    /// Takes the first free entries for a request: if tracked up to `last`, else one, its head.
    #[inline]
    pub(super) fn take(&mut self, id: u16, count: u16, last: u16) {
        let head = self.free;
        let last = if self.tracked { last } else { head };
        self.set(head, id, count, last);
        self.free = self.after(last);
    }

    /// Puts a request's entries back into the list.
    #[inline]
    pub(super) fn give_back(&mut self, head: u16) {
        let last = self.of(head).last;
        if let Some(last) = self.all.get_mut(usize::from(last)) {
            last.next = std::mem::replace(&mut self.free, head);
        }
    }

    /// Notes that a request has ended. If it is recorded, its entries are free only once its reply is published.
    #[inline]
    pub(super) fn ended(&mut self, head: u16) {
        if self.tracked {
            self.ended.push(head);
        } else {
            self.give_back(head);
        }
    }

    /// Puts the entries of all ended requests back into the list.
    #[inline]
    pub(super) fn give_back_ended(&mut self) {
        for place in 0..self.ended.len() {
            self.give_back(self.ended[place]);
        }
    }

    /// Returns the heads of the requests that have ended.
    pub(super) fn all_ended(&self) -> &[u16] {
        &self.ended
    }

    /// Forgets the requests that have ended.
    #[inline]
    pub(super) fn forget_ended(&mut self) {
        self.ended.clear();
    }

    /// Returns the free entries, in the order of the list.
    pub(super) fn all_free(&self) -> impl Iterator<Item = u16> {
        let next = |&entry: &u16| Some(self.after(entry));
        let size = self.all.len();
        std::iter::successors(Some(self.free), next).take_while(move |&it| usize::from(it) < size)
    }
}
