//! The JSON Schema of the report, generated from the types of this crate.

use crate::Report;

/// The schema (draft 2020-12) as `docs/doctor-schema.json` holds it.
pub fn schema() -> String {
    let mut text = format!("{:#}", schemars::schema_for!(Report).to_value());
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts;
    use serde_json::{Value, json};

    const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

    /// After a change of the types, `WS_BLESS=1 cargo test -p ws-doctor` rewrites the file.
    #[test]
    fn the_committed_schema_is_that_of_the_types() {
        let path = format!("{DOCS}/doctor-schema.json");
        if std::env::var_os("WS_BLESS").is_some() {
            std::fs::write(&path, schema()).unwrap();
        }
        let committed = std::fs::read_to_string(path).unwrap();
        assert!(
            committed == schema(),
            "docs/doctor-schema.json is out of date: WS_BLESS=1"
        );
    }

    fn valid(value: &Value) -> bool {
        let schema: Value = serde_json::from_str(&schema()).unwrap();
        ws_results::schema_check::Schema::of(&schema).is_valid(value)
    }

    #[test]
    fn every_hosts_report_is_valid_and_a_spoiled_one_is_not() {
        for (name, host) in hosts::all() {
            let report = crate::examine(&host, &hosts::around());
            let good = serde_json::to_value(&report).unwrap();
            assert!(valid(&good), "{name}");
            let spoils = [
                ("/schema", json!("worldswitch-doctor/2")),
                ("/worst", json!("dreadful")),
                ("/findings/0/found", json!(1)),
                ("/findings/0/severity", json!(null)),
                ("/host/cpus", json!(-1)),
            ];
            for (place, spoil) in spoils {
                let mut bad = good.clone();
                *bad.pointer_mut(place).unwrap() = spoil;
                assert!(!valid(&bad), "{name} {place}");
            }
        }
    }

    /// Checks the page's example, and that its table has every finding.
    #[test]
    fn the_page_has_a_valid_example_and_every_finding() {
        let page = std::fs::read_to_string(format!("{DOCS}/doctor.md")).unwrap();
        let example = page.split("```json\n").nth(1).unwrap();
        let example = example.split("```").next().unwrap();
        assert!(valid(&serde_json::from_str(example).unwrap()));
        let report = crate::examine(&hosts::empty(), &hosts::around());
        for finding in report.findings {
            assert!(
                page.contains(&format!("| `{}` |", finding.id)),
                "{}",
                finding.id
            );
        }
    }
}
