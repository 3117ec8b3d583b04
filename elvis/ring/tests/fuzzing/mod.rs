//! Runs a fuzz target for `FUZZ_SECONDS` (1) and counts its executions; a failing input is shrunk and
//! printed. The tests of crate elvis include this file too.

use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};
use std::io::Write;
use std::time::{Duration, Instant};

/// Runs a target until its time is over, at least one batch of `batch` executions, and `between` after
/// each batch.
pub fn fuzz<S: Strategy>(
    name: &str,
    batch: u32,
    inputs: S,
    target: impl Fn(S::Value),
    between: impl Fn(),
) {
    let seconds = std::env::var("FUZZ_SECONDS").map_or(1, |text| text.parse().unwrap());
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut executions = 0u64;
    while executions == 0 || Instant::now() < end {
        let mut runner = TestRunner::new(ProptestConfig {
            cases: batch,
            failure_persistence: None,
            max_shrink_iters: 4 * batch,
            ..ProptestConfig::default()
        });
        let ran = runner.run(&inputs, |input| {
            target(input);
            Ok(())
        });
        if let Err(TestError::Fail(why, input)) = ran {
            panic!("{name}: {why}: {input:?}");
        }
        ran.unwrap();
        between();
        executions += u64::from(batch);
    }
    // Not by println!, whose output the test harness captures.
    let _ = writeln!(
        std::io::stdout(),
        "{name}: {executions} executions in {seconds} s"
    );
}
