//! Known answers: for each keyword, documents that are valid and documents that are not.

#![allow(clippy::unwrap_used, clippy::too_many_lines)]

use super::*;
use serde_json::json;

/// The folder of the project's schemas.
const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

#[test]
fn each_keyword_has_its_known_answers() {
    let cases = [
        (json!(true), json!([null, 1, "x"]), json!([])),
        (json!(false), json!([]), json!([null, 1, {}])),
        (
            json!({"type": "null"}),
            json!([null]),
            json!([0, false, "", [], {}]),
        ),
        (
            json!({"type": "boolean"}),
            json!([true, false]),
            json!([0, null, "true"]),
        ),
        (
            json!({"type": "string"}),
            json!(["", "x"]),
            json!([1, null, ["x"]]),
        ),
        (json!({"type": "array"}), json!([[], [1]]), json!([{}, "x"])),
        (
            json!({"type": "object"}),
            json!([{}, {"a": 1}]),
            json!([[], null]),
        ),
        (
            json!({"type": "number"}),
            json!([1, -1, 1.5]),
            json!(["1", null]),
        ),
        (
            json!({"type": "integer"}),
            json!([1, -1, 1.0, u64::MAX]),
            json!([1.5, "1"]),
        ),
        (
            json!({"type": ["integer", "null"], "minimum": 0, "format": "uint64"}),
            json!([0, 7, null]),
            json!([-1, 0.5, "x", []]),
        ),
        (
            json!({"minimum": 2}),
            json!([2, 3.5, "x", null]),
            json!([1, 1.9, -2]),
        ),
        (
            json!({"const": "x"}),
            json!(["x"]),
            json!(["y", null, ["x"]]),
        ),
        (
            json!({"items": {"type": "string"}, "minItems": 1, "maxItems": 2}),
            json!([["a"], ["a", "b"], "no array", {}]),
            json!([[], ["a", "b", "c"], [1], ["a", null]]),
        ),
        (
            json!({"properties": {"a": {"type": "string"}, "b": true}, "required": ["a"]}),
            json!([{"a": ""}, {"a": "", "b": 1, "c": 2}, "no object"]),
            json!([{}, {"b": 1}, {"a": 1}, {"a": null}]),
        ),
        (
            json!({"properties": {"a": true}, "additionalProperties": {"type": "integer"}}),
            json!([{}, {"a": "x", "b": 1}]),
            json!([{"b": "x"}, {"a": 1, "b": 1, "c": null}]),
        ),
        (
            json!({"additionalProperties": false}),
            json!([{}, []]),
            json!([{"a": null}]),
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            json!(["x", null]),
            json!([1, []]),
        ),
        (
            json!({"oneOf": [{"type": "number"}, {"minimum": 5}]}),
            json!([4, "x"]),
            json!([5, 6.5]),
        ),
        (
            json!({"$defs": {"even": {"oneOf": [{"const": 2}, {"const": 4}]}},
                "items": {"$ref": "#/$defs/even", "description": "x"}, "type": "array"}),
            json!([[], [2, 4]]),
            json!([[3], [2, 5], 2]),
        ),
        // Keywords beside a reference still apply.
        (
            json!({"maximum": 255, "default": 0}),
            json!([255, -1, "x"]),
            json!([256, 255.5]),
        ),
        (
            json!({"$defs": {"n": {"type": "integer"}}, "$ref": "#/$defs/n", "minimum": 3}),
            json!([3]),
            json!([2, 3.5, "x"]),
        ),
    ];
    for (schema, right, wrong) in &cases {
        let schema = Schema::of(schema);
        for document in list(right) {
            assert_eq!(schema.check(document), Ok(()), "{schema:?}");
        }
        for document in list(wrong) {
            assert!(!schema.is_valid(document), "{document} by {schema:?}");
        }
    }
}

#[test]
fn it_is_said_where_a_document_is_wrong() {
    let schema = json!({"properties": {"a": {"items": {"type": "string"}}}, "required": ["a"]});
    let said = |document| Schema::of(&schema).check(&document).unwrap_err();
    assert_eq!(
        said(json!({"a": ["x", 1]})),
        r#"/a/1: 1 is not type "string""#
    );
    assert_eq!(said(json!({})), r#": lacks "a""#);
}

#[test]
fn what_is_not_known_is_refused_wherever_it_stands() {
    for unknown in [
        json!({"pattern": "^x"}),
        json!({"enum": ["a"]}),
        json!({"format": "date-time"}),
        json!({"type": "float"}),
        json!({"type": ["string", "float"]}),
        json!({"anyOf": []}),
        json!({"$ref": "other.json"}),
        json!({"$ref": "#/$defs/none"}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#"}),
        json!({"required": [1]}),
        json!("no schema"),
    ] {
        for schema in [
            unknown.clone(),
            json!({"$defs": {"x": unknown}}),
            json!({"properties": {"x": {"items": unknown}}}),
            json!({"oneOf": [true, {"additionalProperties": unknown}]}),
        ] {
            let known = std::panic::catch_unwind(|| Schema::of(&schema).root.is_null());
            assert!(known.is_err(), "{schema}");
        }
    }
}

/// Only checks that the schemas in `docs/` are supported. The tests of the crates that write such
/// documents check that damaged values are refused.
#[test]
fn the_schemas_of_the_book_are_known() {
    let mut known = 0;
    for entry in std::fs::read_dir(DOCS).unwrap() {
        let path = entry.unwrap().path();
        let name = path.display();
        if !name.to_string().ends_with("-schema.json") {
            continue;
        }
        known += 1;
        let text = std::fs::read_to_string(&path).unwrap();
        let schema: Value = serde_json::from_str(&text).unwrap();
        assert!(!Schema::of(&schema).is_valid(&json!({})), "{name}");
        assert!(!Schema::of(&schema).is_valid(&json!([])), "{name}");
    }
    assert_eq!(known, 26);
}
