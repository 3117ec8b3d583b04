//! Many tests at once: Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian
//! Journal of Statistics 6, 1979. It holds whatever the dependence between the tests, and rows of one
//! boot do depend on each other.

/// For each p-value the least level at which it still counts, so that the chance of one false alarm
/// or more among all of them is no greater than that level. Each is at least its p-value, at most 1.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least = 0.0f64;
    for (done, &index) in order.iter().enumerate() {
        let left = (p_values.len() - done) as f64;
        least = least.max((p_values[index] * left).min(1.0));
        adjusted[index] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_adjustments() {
        // R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (ours, known) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((ours - known).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[0.5, 0.9]), [1.0, 1.0]);
        assert_eq!(holm(&[0.02]), [0.02]);
        assert_eq!(holm(&[]), []);
    }

    proptest! {
        #[test]
        fn adjusting_raises_and_keeps_the_order(p in prop::collection::vec(0.0..1.0, 1..30)) {
            let adjusted = holm(&p);
            for i in 0..p.len() {
                prop_assert!(p[i] <= adjusted[i] && adjusted[i] <= 1.0);
                for j in 0..p.len() {
                    prop_assert!(p[i] > p[j] || adjusted[i] <= adjusted[j]);
                }
            }
        }
    }
}
