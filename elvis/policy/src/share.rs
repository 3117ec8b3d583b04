//! A device's share of its I/O core, by weight.
//!
//! Time is divided into rounds. In each round a device may use its quantum, which is proportional
//! to its weight. A device that has used it waits until no other has both requests and quantum
//! left; then the next round starts. So no device waits for one without work (the core is never
//! idle while there is work), and a device that uses less than its share never waits for a new
//! round. A request may overdraw the quantum; the debt is subtracted from the next quanta.

/// Greatest weight of a device; the least is 1.
pub const MAX_WEIGHT: u32 = 10_000;

/// Quanta are counted in this fraction of a unit of work, so that the quantum of a small weight is
/// not rounded to zero.
const PARTS: i64 = 16_384;

/// The state of one device.
#[derive(Debug, Clone)]
pub struct Share {
    pub weight: u32,
    credit: i64,
    round: u64,
}

impl Share {
    pub fn new(weight: u32, round: u64) -> Self {
        Self {
            weight: weight.clamp(1, MAX_WEIGHT),
            credit: 0,
            round: round.wrapping_sub(1),
        }
    }

    pub fn set_weight(&mut self, weight: u32) {
        self.weight = weight.clamp(1, MAX_WEIGHT);
    }

    fn quantum(&self, max_work: u32, heaviest: u32) -> i64 {
        let parts = i64::from(max_work) * PARTS * i64::from(self.weight);
        (parts / i64::from(heaviest.max(self.weight))).max(1)
    }

    /// Adds the quanta of the rounds since the last call. An unused quantum is lost, so that an idle
    /// device can't save up.
    pub fn enter(&mut self, round: u64, max_work: u32, heaviest: u32) {
        let rounds = i64::try_from(round.wrapping_sub(self.round)).unwrap_or(i64::MAX);
        if rounds == 0 {
            return;
        }
        let quantum = self.quantum(max_work, heaviest);
        self.credit = self
            .credit
            .saturating_add(quantum.saturating_mul(rounds))
            .min(quantum);
        self.round = round;
    }

    /// Whole units that the device may start in this round; 0 if it must wait.
    pub fn units(&self) -> u32 {
        u32::try_from((self.credit + PARTS - 1).max(0) / PARTS).unwrap_or(u32::MAX)
    }

    /// Rounds until it may be served again, at least 1.
    pub fn rounds_to_wait(&self, max_work: u32, heaviest: u32) -> u64 {
        let quantum = self.quantum(max_work, heaviest);
        let rounds = (1 - self.credit).max(1).saturating_add(quantum - 1) / quantum;
        rounds.unsigned_abs().max(1)
    }

    /// Charges time, a unit for each `unit_ns`.
    pub fn charge_time(&mut self, ns: u64, unit_ns: u64) {
        let parts = i64::try_from(ns).unwrap_or(i64::MAX).saturating_mul(PARTS);
        let unit_ns = i64::try_from(unit_ns).unwrap_or(i64::MAX).max(1);
        self.credit = self.credit.saturating_sub(parts / unit_ns);
    }

    pub fn charge(&mut self, units: u32) {
        self.credit = self.credit.saturating_sub(i64::from(units) * PARTS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_new_device_has_its_quantum_in_the_round_it_came() {
        let mut share = Share::new(1, 7);
        share.enter(7, 64, 1);
        assert_eq!(share.units(), 64);
        share.charge(64);
        assert_eq!(share.units(), 0);
        assert_eq!(share.rounds_to_wait(64, 1), 1);
    }

    proptest! {
        /// A device may be served after exactly as many rounds as it was told to wait.
        #[test]
        fn the_wait_is_exact(weight in 1u32..=MAX_WEIGHT, heaviest in 1u32..=MAX_WEIGHT, debt in 1u32..100_000, max_work in 1u32..1000) {
            let heaviest = heaviest.max(weight);
            let mut share = Share::new(weight, 1);
            share.enter(1, max_work, heaviest);
            let used = share.units() + debt;
            share.charge(used);
            let wait = share.rounds_to_wait(max_work, heaviest);
            let mut early = share.clone();
            early.enter(wait, max_work, heaviest);
            prop_assert_eq!(early.units(), 0);
            share.enter(1 + wait, max_work, heaviest);
            prop_assert!(share.units() > 0);
        }

        #[test]
        fn nothing_is_saved_up(idle in 1u64..u64::MAX / 2, weight in 1u32..=MAX_WEIGHT) {
            let mut share = Share::new(weight, 0);
            share.enter(idle, 64, weight);
            prop_assert_eq!(share.units(), 64);
        }
    }
}
