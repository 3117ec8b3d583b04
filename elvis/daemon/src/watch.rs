//! `elvis ctl stats --watch`: a table of the changes since the last look.

use serde_json::Value;
use std::fmt::Write;
use ws_text::{Column, Sheet};

/// Returns the cells of one queue, from its values in two outputs of `stats`.
fn cells(device: &str, now: &Value, before: Option<&Value>, seconds: f64) -> [String; 9] {
    let count = |key: &str| {
        let at = |queue: &Value| queue[key].as_u64().unwrap_or(0);
        // Counters continue when a queue is set up again. A new device with the old name starts at 0,
        // and shows 0 once.
        at(now).saturating_sub(before.map_or(0, at)) as f64
    };
    let requests = count("requests");
    let of_requests = |key| count(key) / requests.max(1.0);
    let us = |key: &str| format!("{:.1}", now[key].as_f64().unwrap_or(0.0) / 1e3);
    let mib = (count("read_bytes") + count("written_bytes")) / f64::from(1 << 20);
    let state = match (&now["fault"], now["polled"].as_bool()) {
        (Value::String(_), _) => "faulty",
        (_, Some(true)) => "polled",
        _ => "kicked",
    };
    [
        device.to_owned(),
        now["queue"].as_u64().unwrap_or(0).to_string(),
        state.to_owned(),
        format!("{:.0}", requests / seconds),
        format!("{:.1}", mib / seconds),
        format!("{:.4}", of_requests("kicks")),
        format!("{:.4}", of_requests("calls")),
        us("latency_p50_ns"),
        us("latency_p99_ns"),
    ]
}

/// Writes a line for each uplink.
fn uplink_lines(text: &mut String, now: &Value, before: &Value, seconds: f64) {
    for (uplink, now) in now["uplinks"].as_object().into_iter().flatten() {
        let rate = |keys: &[&str]| {
            let at = |look: &Value, key| look[key].as_u64().unwrap_or(0);
            let before = &before["uplinks"][uplink];
            let each = keys.iter();
            let count: u64 = each
                .map(|key| at(now, key).saturating_sub(at(before, key)))
                .sum();
            count as f64 / seconds
        };
        // Writing to a string can't fail.
        let _ = writeln!(
            text,
            "uplink {uplink}: {:.0} frames/s sent, {:.0} received, {:.0} dropped",
            rate(&["sent"]),
            rate(&["received"]),
            rate(&["unsent", "foreign"]),
        );
    }
}

/// Returns the table of changes between two looks, `seconds` apart.
#[must_use]
pub fn table(now: &Value, before: &Value, seconds: f64) -> String {
    let empty = Vec::new();
    let number = |head, wide| Column::number(head).wide(wide).after(1);
    let mut sheet = Sheet::new([
        Column::text("device").wide(24),
        number("queue", 5),
        Column::text("state").wide(7).after(1),
        number("requests/s", 11),
        number("MiB/s", 8),
        number("kicks/req", 9),
        number("calls/req", 9),
        number("p50 us", 9),
        number("p99 us", 9),
    ]);
    for (device, queues) in now["devices"].as_object().into_iter().flatten() {
        let old = before["devices"][device].as_array().unwrap_or(&empty);
        for queue in queues.as_array().unwrap_or(&empty) {
            let old = old.iter().find(|old| old["queue"] == queue["queue"]);
            sheet.extend([cells(device, queue, old, seconds)]);
        }
        if queues.as_array().is_none_or(Vec::is_empty) {
            sheet.span([device.clone(), "-".to_owned(), "not running".to_owned()]);
        }
    }
    let mut text = sheet.to_terminal("");
    uplink_lines(&mut text, now, before, seconds);
    let old = before["cores"].as_array().unwrap_or(&empty);
    for (number, core) in now["cores"].as_array().unwrap_or(&empty).iter().enumerate() {
        let share = |key: &str| {
            let at = |core: &Value| core[key].as_u64().unwrap_or(0);
            let spent = at(core).saturating_sub(old.get(number).map_or(0, at));
            spent as f64 / 1e7 / seconds
        };
        let _ = writeln!(
            text,
            "thread {number}: {:.1} % serving, {:.1} % polling, {:.1} % asleep",
            share("serving_ns"),
            share("polling_ns"),
            share("asleep_ns"),
        );
    }
    if let Some(open) = now["placement"]["open"].as_array() {
        let count = |key: &str| {
            let at = |look: &Value| look["placement"][key].as_u64().unwrap_or(0);
            at(now).saturating_sub(at(before))
        };
        let _ = writeln!(
            text,
            "placement: {} of {} threads in use; {} opened, {} released, {} devices moved",
            open.iter()
                .filter(|open| open.as_bool() == Some(true))
                .count(),
            open.len(),
            count("opened"),
            count("released"),
            count("moves"),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rates_are_of_the_time_between() {
        let look = |requests: u64, kicks: u64, serving_ns: u64| {
            json!({
                "devices": { "vm1": [{ "queue": 0, "requests": requests, "kicks": kicks, "calls": 0,
                    "read_bytes": requests * 4096, "written_bytes": 0, "polled": true, "fault": null,
                    "latency_p50_ns": 2000, "latency_p99_ns": 9000 }], "vm2": [] },
                "uplinks": { "lan=tap:t": { "sent": requests, "received": 0, "unsent": kicks, "foreign": kicks } },
                "cores": [{ "serving_ns": serving_ns, "polling_ns": 0, "asleep_ns": 0 }],
            })
        };
        let text = table(
            &look(3000, 15, 2_000_000_000),
            &look(1000, 5, 1_000_000_000),
            2.0,
        );
        let words: Vec<_> = text.lines().nth(1).unwrap().split_whitespace().collect();
        assert_eq!(
            words,
            [
                "vm1", "0", "polled", "1000", "3.9", "0.0050", "0.0000", "2.0", "9.0"
            ]
        );
        assert!(text.contains("thread 0: 50.0 % serving"), "{text}");
        assert!(text.contains("vm2"), "{text}");
        let uplink = "uplink lan=tap:t: 1000 frames/s sent, 0 received, 10 dropped";
        assert!(text.contains(uplink), "{text}");
    }
}
