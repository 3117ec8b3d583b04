//! Tests of the page of `worldswitch run io`: servers of block devices.

use crate::page::{opening, page, section};
use crate::support::{house, measured, result};
use serde_json::json;
use ws_results::ResultFile;

/// A server's rows of an experiment of `worldswitch run io`: two steps, each with a round of `requests` in 1 ms.
fn server(name: &str, requests: [u64; 2]) -> ResultFile {
    let rows = [1u64, 14]
        .into_iter()
        .zip(requests)
        .map(|(step, requests)| {
            let mut row = measured(&format!("ablation-{step}"), "io", "ns", &[&[1_000_000]]);
            row.metrics[0].boots[0].iterations = requests;
            let conditions = json!({"experiment": "ablation", "step": step, "role": ""});
            row.conditions = serde_json::from_value(conditions).unwrap();
            row
        });
    result(name, 1, json!({"unit": "ns"}), rows.collect())
}

#[test]
fn figures_of_block_io_have_a_curve_for_each_server() {
    let results = [
        server("elvis@per-device", [100, 200]),
        server("elvis", [150, 600]),
    ];
    let whole = page(&results);
    let sentence =
        "With 14 devices elvis serves 600,000 requests/s, 3.00x those of elvis@per-device.";
    assert!(opening(&whole).contains(sentence), "{}", opening(&whole));
    let io = section(&whole, "io");
    // Throughput, and throughput relative to the Baseline: nothing else was measured here.
    assert_eq!(io.matches("class=\"curve\"").count(), 4);
    assert_eq!(io.matches("<use href=\"#k1\" x=").count(), 4);
    assert!(io.contains("elvis, 14: 600,000; least 600,000, greatest 600,000"));
    assert!(io.contains("elvis, 14: 3.00; least 3.00, greatest 3.00"));
    assert!(io.contains("ELVIS, Figure 8"));
    // Without the Baseline there is no relative throughput.
    let alone = page(&results[1..]);
    let alone = section(&alone, "io").matches("class=\"curve\"");
    assert_eq!(alone.count(), 1);
    assert!(!page(&house()).contains("id=\"io\""));
}
