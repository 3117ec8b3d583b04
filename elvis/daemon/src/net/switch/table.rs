//! The ports that addresses are behind: a learning table of fixed size that all I/O threads read and write without
//! locks. An entry is one word, so no reader sees half of one. Two writers at the same time may lose one of two new
//! entries, which the next frame brings back.
//!
//! No port can remove others' entries: an entry is replaced only when it is old, and each port has a greatest number of
//! entries.

use crate::net::Mac;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Most ports of a switch.
pub const PORTS: usize = 1024;
/// Most addresses behind one port.
pub const PORT_ADDRESSES: u32 = 256;
/// Most addresses behind an uplink: a network of the host may have many. A quarter of the table, so that there is room
/// for the addresses of all other ports.
pub const UPLINK_ADDRESSES: u32 = (WAYS * BUCKETS / 4) as u32;
/// Time after which an entry is forgotten, in seconds since its address last sent.
pub const AGE_S: u32 = 300;

/// Number of entries with the same hash.
const WAYS: usize = 8;
const BUCKETS: usize = 2048;
/// Value of `seen` of an entry that is never forgotten.
const PINNED: u32 = u32::MAX;

/// Knowledge that the table gained from a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Learned {
    /// Nothing new.
    Known,
    /// The address is new.
    New,
    /// The address is behind another port now.
    Moved,
    /// The address is pinned to another port: drop the frame.
    Foreign,
    /// Nothing, as the port has too many addresses already, or its place in the table is full. Frames for the address
    /// go to all ports.
    Full,
}

/// Table of addresses.
pub struct Table {
    seed: u64,
    /// Addresses, each with its port plus 1 in the upper 16 bits; 0: free.
    words: Box<[AtomicU64]>,
    /// Times at which addresses last sent, in seconds of the switch.
    seen: Box<[AtomicU32]>,
    /// Number of each port's addresses, and time at which its old ones were last counted out.
    counts: Box<[AtomicU32]>,
    swept_s: Box<[AtomicU32]>,
}

fn number(mac: Mac) -> u64 {
    let [a, b, c, d, e, f] = mac;
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

fn word(mac: Mac, port: u16) -> u64 {
    number(mac) | (u64::from(port) + 1) << 48
}

/// Returns the port of a word that is not free.
fn port_of(word: u64) -> u16 {
    ((word >> 48) as u16).wrapping_sub(1)
}

fn zeros<T: Default>(count: usize) -> Box<[T]> {
    (0..count).map(|_| T::default()).collect()
}

impl Default for Table {
    fn default() -> Self {
        Self {
            // The seed is unknown to senders, who could otherwise fill one bucket on purpose.
            seed: RandomState::new().hash_one(0) | 1,
            words: zeros(WAYS * BUCKETS),
            seen: zeros(WAYS * BUCKETS),
            counts: zeros(PORTS),
            swept_s: zeros(PORTS),
        }
    }
}

impl Table {
    fn bucket(&self, mac: Mac) -> std::ops::Range<usize> {
        let mixed = (number(mac) ^ self.seed).wrapping_mul(self.seed);
        let mixed = (mixed ^ mixed >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let at = (mixed >> 40) as usize % BUCKETS * WAYS;
        at..at + WAYS
    }

    fn old(&self, at: usize, now_s: u32) -> bool {
        let seen_s = self.seen[at].load(Ordering::Relaxed);
        seen_s != PINNED && now_s.saturating_sub(seen_s) > AGE_S
    }

    /// Returns the port that an address is behind.
    #[must_use]
    pub fn find(&self, mac: Mac, now_s: u32) -> Option<u16> {
        let wanted = number(mac);
        self.bucket(mac).find_map(|at| {
            let word = self.words[at].load(Ordering::Relaxed);
            let found = word << 16 >> 16 == wanted && word != 0 && !self.old(at, now_s);
            found.then(|| port_of(word))
        })
    }

    /// Notes that an address sent through a port of a device.
    pub fn learn(&self, mac: Mac, port: u16, now_s: u32) -> Learned {
        self.learn_up_to(PORT_ADDRESSES, mac, port, now_s)
    }

    /// Notes that an address sent through a port that may have `most` addresses.
    pub fn learn_up_to(&self, most: u32, mac: Mac, port: u16, now_s: u32) -> Learned {
        let (wanted, new) = (number(mac), word(mac, port));
        let (mut empty, mut old) = (None, None);
        for at in self.bucket(mac) {
            let word = self.words[at].load(Ordering::Relaxed);
            if word == new {
                let seen = &self.seen[at];
                let seen_s = seen.load(Ordering::Relaxed);
                if seen_s != now_s && seen_s != PINNED {
                    seen.store(now_s, Ordering::Relaxed);
                }
                return Learned::Known;
            }
            if word != 0 && word << 16 >> 16 == wanted {
                if self.seen[at].load(Ordering::Relaxed) == PINNED {
                    return Learned::Foreign;
                }
                return match self.replace(most, at, word, new, now_s) {
                    true => Learned::Moved,
                    false => Learned::Full,
                };
            }
            if word == 0 {
                empty.get_or_insert((at, word));
            } else if self.old(at, now_s) {
                old.get_or_insert((at, word));
            }
        }
        // For a pin every entry that is not pinned is old.
        match empty.or(old) {
            Some((at, word)) if self.replace(most, at, word, new, now_s) => Learned::New,
            _ => Learned::Full,
        }
    }

    /// Replaces an entry, if the port of the new one may have more. Changes the ports' counts too.
    fn replace(&self, most: u32, at: usize, mut old: u64, new: u64, seen_s: u32) -> bool {
        let port = port_of(new);
        let Some(count) = self.counts.get(usize::from(port)) else {
            return false;
        };
        if count.load(Ordering::Relaxed) >= most {
            self.sweep(port, seen_s);
            if count.load(Ordering::Relaxed) >= most {
                return false;
            }
            // The entry may have been one of the port's old entries.
            if self.words[at].load(Ordering::Relaxed) == 0 {
                old = 0;
            }
        }
        let relaxed = Ordering::Relaxed;
        if self.words[at]
            .compare_exchange(old, new, relaxed, relaxed)
            .is_err()
        {
            return false;
        }
        self.seen[at].store(seen_s, relaxed);
        count.fetch_add(1, relaxed);
        self.gone(old);
        true
    }

    /// Counts an entry that was replaced out of its port's number.
    fn gone(&self, word: u64) {
        if word != 0 {
            if let Some(count) = self.counts.get(usize::from(port_of(word))) {
                count.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Frees a port's old entries, at most once a second.
    fn sweep(&self, port: u16, now_s: u32) {
        let swept_s = &self.swept_s[usize::from(port)];
        if now_s != PINNED && swept_s.swap(now_s, Ordering::Relaxed) != now_s {
            self.free(port, |at| self.old(at, now_s));
        }
    }

    /// Frees a port's entries for which `which` holds.
    fn free(&self, port: u16, which: impl Fn(usize) -> bool) {
        for at in 0..self.words.len() {
            let word = self.words[at].load(Ordering::Relaxed);
            let its = word != 0 && port_of(word) == port && which(at);
            let relaxed = Ordering::Relaxed;
            if its
                && self.words[at]
                    .compare_exchange(word, 0, relaxed, relaxed)
                    .is_ok()
            {
                self.gone(word);
            }
        }
    }

    /// Pins an address to a port. No other port can take the address. In a full bucket it displaces an address that is not
    /// pinned. False: all addresses of the bucket are pinned, or this address is pinned to another port.
    #[must_use]
    pub fn pin(&self, mac: Mac, port: u16) -> bool {
        matches!(self.learn(mac, port, PINNED), Learned::New | Learned::Moved)
    }

    /// Forgets all addresses of a port from which no frame comes any more.
    pub fn forget(&self, port: u16) {
        self.free(port, |_| true);
    }

    /// Returns the number of addresses, old ones too.
    #[must_use]
    pub fn addresses(&self) -> u32 {
        self.counts
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn mac(number: u32) -> Mac {
        let [a, b, c, d] = number.to_be_bytes();
        [2, 0, a, b, c, d]
    }

    #[test]
    fn addresses_are_learned_move_and_are_forgotten() {
        let table = Table::default();
        assert_eq!(table.find(mac(1), 0), None);
        assert_eq!(table.learn(mac(1), 7, 0), Learned::New);
        assert_eq!(table.learn(mac(1), 7, 5), Learned::Known);
        assert_eq!(table.find(mac(1), 5 + AGE_S), Some(7));
        assert_eq!(table.find(mac(1), 6 + AGE_S), None);
        assert_eq!(table.learn(mac(1), 8, 7), Learned::Moved);
        assert_eq!((table.find(mac(1), 8), table.addresses()), (Some(8), 1));
        table.forget(8);
        assert_eq!((table.find(mac(1), 8), table.addresses()), (None, 0));
    }

    #[test]
    fn a_pinned_address_displaces_nobody_while_there_is_room() {
        // A fixed seed: some seeds fill a place of the table.
        let table = Table {
            seed: 0x5eed_5eed_5eed_5eed | 1,
            ..Table::default()
        };
        let learned = (0..2000).map(|number| (mac(number), (number / 250) as u16));
        let learned: Vec<(Mac, u16)> = learned
            .filter(|(mac, port)| table.learn(*mac, *port, 0) == Learned::New)
            .collect();
        assert!(learned.len() > 1900);
        assert!((0..200).all(|number| table.pin(mac(5000 + number), 9)));
        let is_there = |(mac, port): &(Mac, u16)| table.find(*mac, 0) == Some(*port);
        assert!(learned.iter().all(is_there));
    }

    #[test]
    fn a_pinned_address_stays() {
        let table = Table::default();
        assert!(table.pin(mac(1), 7));
        assert_eq!(table.learn(mac(1), 8, 0), Learned::Foreign);
        assert!(!table.pin(mac(1), 8));
        assert_eq!(table.learn(mac(1), 7, 0), Learned::Known);
        assert_eq!(table.find(mac(1), PINNED - 1), Some(7));
        table.forget(7);
        assert_eq!(table.learn(mac(1), 8, 0), Learned::New);
    }

    #[test]
    fn a_port_that_claims_many_addresses_displaces_nobody() {
        let table = Table::default();
        for number in 0..100 {
            assert_eq!(table.learn(mac(number), 1, 0), Learned::New);
        }
        let learned = (1000..1_000_000)
            .step_by(7)
            .filter(|&number| table.learn(mac(number), 2, 1) == Learned::New);
        let learned = learned.count() as u32;
        assert!(
            (PORT_ADDRESSES * 9 / 10..=PORT_ADDRESSES).contains(&learned),
            "{learned}"
        );
        assert!((0..100).all(|number| table.find(mac(number), 1) == Some(1)));
        // Nor does it take theirs while it has too many.
        assert_eq!(table.learn(mac(5), 2, 1), Learned::Full);
        assert_eq!(table.find(mac(5), 1), Some(1));
        // What it claimed long ago makes place for what it claims now.
        assert_eq!(table.learn(mac(5_000_000), 2, 2 + AGE_S), Learned::New);
    }

    #[test]
    fn threads_learn_at_the_same_time() {
        let table = Table::default();
        std::thread::scope(|scope| {
            for port in 0..2u16 {
                let table = &table;
                scope.spawn(move || {
                    for round in 0..20_000u32 {
                        table.learn(mac(round % 200), port, 0);
                        let found = table.find(mac(round % 200), 0);
                        assert!(found.is_none_or(|port| port < 2));
                    }
                });
            }
        });
        for port in 0..2 {
            table.forget(port);
        }
        assert_eq!(table.addresses(), 0, "every entry is counted once");
    }

    proptest! {
        /// A table with few addresses is a map with ages.
        #[test]
        fn it_is_a_map(steps in prop::collection::vec((0u32..40, 0u16..5, 0u32..200, 0u8..20), 1..300)) {
            let (table, mut map, mut now_s) = (Table::default(), HashMap::<u32, (u16, u32)>::new(), 0);
            for (number, port, pause, kind) in steps {
                now_s += if kind == 0 { pause } else { 0 };
                if kind == 1 {
                    table.forget(port);
                    map.retain(|_, (its, _)| *its != port);
                    continue;
                }
                let before = map.insert(number, (port, now_s));
                let live = |&(_, seen): &(u16, u32)| now_s - seen <= AGE_S;
                let learned = table.learn(mac(number), port, now_s);
                match before {
                    Some(entry) if live(&entry) && entry.0 == port => prop_assert_eq!(learned, Learned::Known),
                    Some(entry) if live(&entry) => prop_assert_eq!(learned, Learned::Moved),
                    // An old entry may still be there.
                    _ => prop_assert!(!matches!(learned, Learned::Full | Learned::Foreign)),
                }
                for other in 0..40 {
                    let wanted = map.get(&other).filter(|entry| live(entry)).map(|&(port, _)| port);
                    prop_assert_eq!(table.find(mac(other), now_s), wanted);
                }
            }
        }
    }
}
