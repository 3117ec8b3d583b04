//! Student's t distribution, with fractional degrees of freedom: Student, "The Probable Error of a
//! Mean", Biometrika 6, 1908. By the incomplete beta function (NIST Digital Library of Mathematical
//! Functions, 8.17), to about 1e-12.

/// The two-sided p-value of `t`. `df` is above 0. 1 if either is NaN.
pub fn student_p(t: f64, df: f64) -> f64 {
    if t.is_nan() || df.is_nan() {
        return 1.0;
    }
    if t.is_infinite() {
        return 0.0;
    }
    incomplete_beta(df / (df + t * t), df / 2.0, 0.5).clamp(0.0, 1.0)
}

/// The t with the two-sided p-value `p`, which is above 0 and at most 1.
pub fn student_quantile(p: f64, df: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while student_p(high, df) > p && high < 1e12 {
        (low, high) = (high, 2.0 * high);
    }
    // Bisection, to about 1e-12 of the bracket.
    for _ in 0..40 {
        let middle = low + (high - low) / 2.0;
        if student_p(middle, df) > p {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// I_x(a, b) by the continued fraction DLMF 8.17.22, evaluated forwards (Thompson and Barnett,
/// "Coulomb and Bessel Functions of Complex Arguments and Order", J. Comput. Phys. 64, 1986).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges fast below the mean; 8.17.4 mirrors the rest.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let not_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let (mut fraction, mut above, mut below) = (1.0, 1.0, 0.0);
    for step in 1..500u32 {
        let m = f64::from(step / 2);
        let term = if step % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        below = 1.0 / not_zero(1.0 + term * below);
        above = not_zero(1.0 + term / above);
        let change: f64 = above * below;
        fraction *= change;
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    let ln_front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    ln_front.exp() / a / fraction
}

/// The logarithm of the gamma function for z > 0: Stirling's series, DLMF 5.11.1, for z >= 10, and the
/// recurrence below.
fn ln_gamma(z: f64) -> f64 {
    let (mut z, mut below) = (z, 0.0);
    while z < 10.0 {
        below += z.ln();
        z += 1.0;
    }
    let inverse = 1.0 / (z * z);
    let series = (1.0 / 12.0
        - inverse
            * (1.0 / 360.0
                - inverse * (1.0 / 1260.0 - inverse * (1.0 / 1680.0 - inverse / 1188.0))))
        / z;
    (z - 0.5) * z.ln() - z + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - below
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_chances() {
        // One degree of freedom is the Cauchy distribution: 1 - 2/pi atan t. Two: 1 - t / sqrt(t^2 + 2).
        assert!((student_p(1.0, 1.0) - 0.5).abs() < 1e-12);
        assert!((student_p(3.0, 2.0) - (1.0 - 3.0 / 11f64.sqrt())).abs() < 1e-12);
        // Fisher and Yates' table: 2.228 at 0.05 and 10.
        assert!((student_p(2.228_139, 10.0) - 0.05).abs() < 1e-6);
        assert_eq!(
            (student_p(0.0, 5.0), student_p(f64::INFINITY, 5.0)),
            (1.0, 0.0)
        );
        assert_eq!(student_p(f64::NAN, 5.0), 1.0);
    }

    #[test]
    fn known_quantiles() {
        for (p, df, t) in [
            (0.05, 10.0, 2.228),
            (0.001, 14.0, 4.140),
            (0.01, 1.0, 63.657),
            (0.05, 1e6, 1.960),
        ] {
            assert!((student_quantile(p, df) - t).abs() < 1e-3, "{p} {df}");
        }
    }

    proptest! {
        #[test]
        fn a_quantile_has_its_chance(p in 1e-9..1.0f64, df in 1.0..300.0f64) {
            let back = student_p(student_quantile(p, df), df);
            prop_assert!((back / p - 1.0).abs() < 1e-6, "{back}");
        }
    }
}
