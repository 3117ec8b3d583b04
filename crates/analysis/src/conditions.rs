//! Finds the conditions in which two results or rows differ.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A field that should agree and does not.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Unlike {
    /// Name of the field.
    pub field: String,
    /// The guest's value, if it has the field.
    pub guest: Option<Value>,
    /// The baseline's value, if it has the field.
    pub baseline: Option<Value>,
}

impl Unlike {
    /// Describes the field: `cpu ("a" here, "b" there)`; only the name if the values are long. Not escaped.
    pub fn describe(&self) -> String {
        let side = |value: &Option<Value>| match value {
            None => "nothing".to_owned(),
            Some(value) => value.to_string(),
        };
        let (here, there) = (side(&self.guest), side(&self.baseline));
        if here.len() + there.len() > 80 {
            return self.field.clone();
        }
        format!("{} ({here} here, {there} there)", self.field)
    }
}

/// Lists the fields that differ, by name, without those in `allow`. A field that only one side has counts as different.
pub fn unlike(
    guest: &BTreeMap<String, Value>,
    baseline: &BTreeMap<String, Value>,
    allow: &[String],
) -> Vec<Unlike> {
    let fields: BTreeSet<&String> = guest.keys().chain(baseline.keys()).collect();
    fields
        .into_iter()
        .filter(|field| !allow.contains(field) && guest.get(*field) != baseline.get(*field))
        .map(|field| Unlike {
            field: field.clone(),
            guest: guest.get(field).cloned(),
            baseline: baseline.get(field).cloned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn differences_are_named_and_can_be_allowed() {
        let map = |value: Value| value.as_object().unwrap().clone().into_iter().collect();
        let a = map(json!({"cpu": "max", "unit": "insns", "ws_bytes": 4096}));
        let b = map(json!({"cpu": "max", "unit": "ns"}));
        let fields = |allow: &[&str]| -> Vec<String> {
            let allow: Vec<_> = allow.iter().map(|&field| field.to_owned()).collect();
            unlike(&a, &b, &allow)
                .into_iter()
                .map(|unlike| unlike.field)
                .collect()
        };
        assert_eq!(fields(&[]), ["unit", "ws_bytes"]);
        assert_eq!(fields(&["unit"]), ["ws_bytes"]);
        assert_eq!(unlike(&a, &b, &[])[1].baseline, None);
        assert_eq!(unlike(&a, &a, &[]), []);
    }
}
