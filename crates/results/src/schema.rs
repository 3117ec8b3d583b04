//! The JSON Schema of result files, generated from the types of this crate.

use crate::ResultFile;

/// The schema (draft 2020-12), the content of `docs/result-schema.json`.
pub fn schema() -> String {
    let mut text = format!("{:#}", schemars::schema_for!(ResultFile).to_value());
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample;
    use serde_json::{Value, json};

    const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/result-schema.json");

    /// `WS_BLESS=1 cargo test -p ws-results` regenerates the file after the types have changed.
    #[test]
    fn the_committed_schema_is_that_of_the_types() {
        if std::env::var_os("WS_BLESS").is_some() {
            std::fs::write(COMMITTED, schema()).unwrap();
        }
        let committed = std::fs::read_to_string(COMMITTED).unwrap();
        assert!(
            committed == schema(),
            "docs/result-schema.json is out of date: run this test with WS_BLESS=1"
        );
    }

    fn valid(value: &Value) -> bool {
        let schema: Value = serde_json::from_str(&schema()).unwrap();
        crate::schema_check::Schema::of(&schema).is_valid(value)
    }

    #[test]
    fn what_we_write_is_valid() {
        assert!(valid(&serde_json::to_value(sample()).unwrap()));
    }

    #[test]
    fn spoiled_results_are_not() {
        let spoils: [(&str, Value); 6] = [
            ("/schema", json!("worldswitch-result/2")),
            ("/platform", json!(7)),
            ("/rows/0/status", json!("fine")),
            ("/rows/0/metrics/0/boots/0/run/1", json!(-1)),
            ("/rows/0/metrics/0/boots/0/run/1", json!(1.5)),
            ("/boots/0/launches/0/end", json!(null)),
        ];
        for (place, spoil) in spoils {
            let mut value = serde_json::to_value(sample()).unwrap();
            *value.pointer_mut(place).unwrap() = spoil;
            assert!(!valid(&value), "{place}");
        }
        let mut value = serde_json::to_value(sample()).unwrap();
        value.as_object_mut().unwrap().remove("rows");
        assert!(!valid(&value), "rows removed");
    }

    /// Checks the example in `docs/results.md`, so that the page stays up to date.
    #[test]
    fn the_example_in_the_book_is_a_result_file() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results.md");
        let page = std::fs::read_to_string(page).unwrap();
        let example = page
            .split("```json\n")
            .nth(1)
            .unwrap()
            .split("```")
            .next()
            .unwrap();
        let value: Value = serde_json::from_str(example).unwrap();
        assert!(valid(&value));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("example.json");
        std::fs::write(&path, example).unwrap();
        crate::read_file(&path).unwrap();
    }
}
