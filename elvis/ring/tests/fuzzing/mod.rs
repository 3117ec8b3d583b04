//! A target run for as long as `FUZZ_SECONDS` says (1); what was executed is counted, and a finding is
//! shrunk and printed. The tests of crate elvis include this file too.

use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};
use std::io::Write;
use std::time::{Duration, Instant};

/// Runs a target until its time is over, and `between` after each `batch` of executions, of which there is one at
/// least.
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
    // Not by println!, which the harness keeps to itself.
    let _ = writeln!(
        std::io::stdout(),
        "{name}: {executions} executions in {seconds} s"
    );
}
