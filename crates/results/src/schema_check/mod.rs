//! Validates documents against the schemas in `docs/`, for tests of several crates.
//!
//! Supports JSON Schema, draft 2020-12, as far as schemars writes it: complete implementations depend
//! on some fifty other crates. A schema with an unsupported keyword, format or reference is refused
//! before any document is checked, so nothing unsupported counts as valid.

use serde_json::{Map, Value};
use std::sync::LazyLock;

/// Reads JSON that must be valid by `docs/NAME-schema.json` of this source tree.
///
/// # Panics
/// If the text is not JSON, or not valid by the schema.
#[track_caller]
pub fn valid(text: &str, name: &str) -> Value {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
    let schema = std::fs::read_to_string(format!("{docs}/{name}-schema.json")).ok();
    let schema = schema.and_then(|schema| serde_json::from_str(&schema).ok());
    let value = serde_json::from_str(text).ok();
    let (Some(schema), Some(value)) = (schema, value) else {
        panic!("there is no schema {name}, or this is not JSON: {text}")
    };
    let checked = Schema::of(&schema).check(&value);
    assert_eq!(checked, Ok(()), "{text}");
    value
}

/// Supported formats, which need no check of their own: `type`, `minimum` and `maximum` cover them.
const FORMATS: [&str; 6] = ["int64", "uint", "uint8", "uint32", "uint64", "double"];

/// A schema with supported keywords only.
#[derive(Clone, Copy, Debug)]
pub struct Schema<'a> {
    root: &'a Value,
}

impl<'a> Schema<'a> {
    /// Wraps a schema after a check that all of it is supported.
    ///
    /// # Panics
    /// If the schema uses anything unsupported.
    pub fn of(root: &'a Value) -> Self {
        let schema = Self { root };
        schema.know(root);
        schema
    }

    /// Validates the document. The error is the first place where the document is not valid, and why.
    pub fn check(&self, document: &Value) -> Result<(), String> {
        self.holds(self.root, document, "")
    }

    /// Whether the document is valid.
    pub fn is_valid(&self, document: &Value) -> bool {
        self.check(document).is_ok()
    }

    /// Panics at a keyword that is not supported: to skip one would accept wrong documents.
    fn know(&self, schema: &Value) {
        let Value::Object(keywords) = schema else {
            assert!(schema.is_boolean(), "not a schema: {schema}");
            return;
        };
        for (keyword, value) in keywords {
            let known = match keyword.as_str() {
                "$schema" => value == "https://json-schema.org/draft/2020-12/schema",
                "title" | "description" => value.is_string(),
                "const" | "default" => true,
                "format" => FORMATS.iter().any(|format| value == format),
                "minimum" | "maximum" => value.is_number(),
                "minItems" | "maxItems" => value.is_u64(),
                "type" => types(value).all(|name| is_of(&Value::Null, name).is_some()),
                "required" => list(value).iter().all(Value::is_string),
                "$ref" => self.referred(value).is_some(),
                "items" | "additionalProperties" => {
                    self.know(value);
                    true
                }
                "anyOf" | "oneOf" => {
                    list(value).iter().for_each(|one| self.know(one));
                    !list(value).is_empty()
                }
                "$defs" | "properties" => {
                    object(value).values().for_each(|one| self.know(one));
                    value.is_object()
                }
                _ => false,
            };
            assert!(known, "not supported: \"{keyword}\": {value}");
        }
    }

    fn referred(&self, reference: &Value) -> Option<&'a Value> {
        self.root.pointer(reference.as_str()?.strip_prefix('#')?)
    }

    fn holds(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        if schema == &Value::Bool(false) {
            return Err(format!("{at}: not allowed"));
        }
        for (keyword, wanted) in object(schema) {
            self.keyword(keyword, wanted, object(schema), value, at)?;
        }
        Ok(())
    }

    fn keyword(
        &self,
        keyword: &str,
        wanted: &Value,
        schema: &Map<String, Value>,
        value: &Value,
        at: &str,
    ) -> Result<(), String> {
        let fulfilled = |yes: bool| match yes {
            true => Ok(()),
            false => Err(format!("{at}: {value} is not {keyword} {wanted}")),
        };
        let count = value.as_array().map(|items| items.len() as u64);
        match keyword {
            "type" => fulfilled(types(wanted).any(|name| is_of(value, name) == Some(true))),
            "const" => fulfilled(value == wanted),
            "minimum" => fulfilled(value.as_f64() >= wanted.as_f64() || !value.is_number()),
            "maximum" => fulfilled(value.as_f64() <= wanted.as_f64() || !value.is_number()),
            "minItems" => fulfilled(count.is_none_or(|count| Some(count) >= wanted.as_u64())),
            "maxItems" => fulfilled(count.is_none_or(|count| Some(count) <= wanted.as_u64())),
            "$ref" => {
                let referred = self.referred(wanted).unwrap_or(&Value::Bool(false));
                self.holds(referred, value, at)
            }
            "anyOf" => fulfilled(self.fulfilled(wanted, value, at) >= 1),
            "oneOf" => fulfilled(self.fulfilled(wanted, value, at) == 1),
            "required" => {
                let lacks = |name: &&Value| {
                    value.is_object() && name.as_str().is_some_and(|n| value.get(n).is_none())
                };
                match list(wanted).iter().find(lacks) {
                    Some(name) => Err(format!("{at}: lacks {name}")),
                    None => Ok(()),
                }
            }
            "properties" => object(wanted).iter().try_for_each(|(name, schema)| {
                let property = value.as_object().and_then(|all| all.get(name));
                property.map_or(Ok(()), |p| self.holds(schema, p, &format!("{at}/{name}")))
            }),
            "additionalProperties" => {
                let named = schema.get("properties").map(object);
                object(value)
                    .iter()
                    .filter(|(name, _)| !named.is_some_and(|named| named.contains_key(*name)))
                    .try_for_each(|(name, p)| self.holds(wanted, p, &format!("{at}/{name}")))
            }
            "items" => (0..)
                .zip(list(value))
                .try_for_each(|(i, item): (u32, _)| self.holds(wanted, item, &format!("{at}/{i}"))),
            // Titles, descriptions, defaults, formats and definitions; everything else was refused before.
            _ => Ok(()),
        }
    }

    fn fulfilled(&self, schemas: &Value, value: &Value, at: &str) -> usize {
        let holds = |schema: &&Value| self.holds(schema, value, at).is_ok();
        list(schemas).iter().filter(holds).count()
    }
}

/// Whether a value is of the type; `None` if there is no such type.
fn is_of(value: &Value, name: &str) -> Option<bool> {
    Some(match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        // 1.0 is an integer.
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => return None,
    })
}

/// Names in a keyword `type`, which has one name or an array of them.
fn types(value: &Value) -> impl Iterator<Item = &str> {
    let names = match value {
        Value::Array(names) => names.as_slice(),
        one => std::slice::from_ref(one),
    };
    names.iter().map(|name| name.as_str().unwrap_or_default())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The members of an object; none of anything else.
fn object(value: &Value) -> &Map<String, Value> {
    static NONE: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    value.as_object().unwrap_or(&NONE)
}

#[cfg(test)]
mod tests;
