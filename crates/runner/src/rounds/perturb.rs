//! Perturbed boots: variations that should not matter, made on purpose.
//!
//! Exact counts still depend on where code and data lie and where in a batch a timer ticks. A few boots that differ
//! only in this show how far a figure moves.

use ws_results::Perturbation;

/// Passes of the empty loop in the first perturbed boot, and the factor from each boot to the next:
/// far apart, and not round numbers of ticks.
const PAD_FIRST: u64 = 17;
const PAD_FACTOR: u64 = 3;

/// Memory that each perturbed boot has more than the one before.
const MEMORY_STEP_MIB: u64 = 48;

/// Makes the perturbation of perturbed boot `index`, from 0: another padding, and another memory size if the machine
/// (`memory_mib`) can have one. Both change at once, so that a single boot tests both.
pub fn perturbation(index: u32, memory_mib: Option<u64>) -> Perturbation {
    Perturbation {
        // The padding is constant after 8 steps, below the guest's limit.
        pad: Some(PAD_FIRST * PAD_FACTOR.pow(index.min(8))),
        memory_mib: memory_mib.map(|mib| mib + MEMORY_STEP_MIB * (u64::from(index) + 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_and_memory_never_repeat() {
        let all: Vec<_> = (0..3).map(|index| perturbation(index, Some(512))).collect();
        let both: Vec<_> = all
            .iter()
            .map(|p| (p.pad.unwrap(), p.memory_mib.unwrap()))
            .collect();
        assert_eq!(both, [(17, 560), (51, 608), (153, 656)]);
    }

    #[test]
    fn a_machine_whose_memory_is_given_is_padded_only() {
        assert!((0..20).all(|index| perturbation(index, None).memory_mib.is_none()));
        assert!((0..100).all(|index| perturbation(index, None).pad.is_some_and(|p| p < 1_000_000)));
    }
}
