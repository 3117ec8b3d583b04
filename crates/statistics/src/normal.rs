//! The normal distribution, for planning only: how many values would be enough. No verdict uses it.

/// The value that a standard normal variable exceeds with chance `p`, for p from 1e-12 to 0.5. To
/// 4.5e-4: Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.2.23.
fn upper_quantile(p: f64) -> f64 {
    let t = (-2.0 * p.clamp(1e-12, 0.5).ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    t - above / below
}

/// The chance with which a planned experiment finds what is there.
const POWER: f64 = 0.9;

/// How many values a side a rank-sum test at the two-sided `level` needs to find a shift of
/// `distance` nine times in ten, where the values' standard deviation is `deviation`: the formula of
/// the t-test over the efficiency of ranks, 3/pi (Lehmann, "Nonparametrics", 1975, section 2.4).
pub fn needed_to_differ(level: f64, distance: f64, deviation: f64) -> f64 {
    let z = upper_quantile(level / 2.0) + upper_quantile(1.0 - POWER);
    2.0 * (z * deviation / distance).powi(2) * std::f64::consts::PI / 3.0
}

/// How many values a side it takes until the interval of two medians' difference, at this two-sided
/// `level`, is nine times in ten no wider than `distance` to either side: the same, with a median's
/// efficiency, 2/pi.
pub fn needed_to_agree(level: f64, distance: f64, deviation: f64) -> f64 {
    let z = upper_quantile(level / 2.0) + upper_quantile(1.0 - POWER);
    2.0 * (z * deviation / distance).powi(2) * std::f64::consts::PI / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_quantiles() {
        for (p, z) in [
            (0.5, 0.0),
            (0.1, 1.281_55),
            (0.025, 1.959_96),
            (0.0005, 3.290_53),
        ] {
            assert!((upper_quantile(p) - z).abs() < 1e-3, "{p}");
        }
    }

    #[test]
    fn known_sizes() {
        // R: power.t.test(delta = 1, sd = 1, sig.level = 0.05, power = 0.9)$n is 22.02; the normal
        // formula 21.01, over 3/pi 22.0.
        let n = needed_to_differ(0.05, 1.0, 1.0);
        assert!((n - 22.0).abs() < 0.05, "{n}");
        assert!((needed_to_agree(0.05, 1.0, 1.0) / n - 1.5).abs() < 1e-9);
    }
}
