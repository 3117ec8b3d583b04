//! The comparison of two boots, as it is printed.

use super::difference::Difference;
use super::functions::Functions;
use schemars::JsonSchema;
use serde::Serialize;

/// Name and version of the JSON's schema.
pub const SCHEMA: &str = "worldswitch-diverge/1";

/// Two boots, and their differences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Diverged {
    /// Always `worldswitch-diverge/1`.
    pub schema: String,
    /// The machines, A and B: each boot's name, and its emulator if the user named one.
    pub boots: [String; 2],
    /// Number of instructions of each boot that were compared.
    pub executed: [u64; 2],
    /// The one CPU whose instructions were compared; nothing if all were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Whether the lengths of halts were compared, which needs an emulator that exports its clock.
    pub has_clock: bool,
    /// Whether the boots differ.
    pub differ: bool,
    /// The first difference, if the boots were compared by instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
    /// The functions that only one boot executes, if the boots were compared by functions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub functions: Option<Functions>,
}

impl Diverged {
    /// Returns the comparison as JSON.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Returns the comparison as text, with at most `most` of the functions that only one boot executes, for each boot.
    pub fn to_text(&self, most: usize) -> String {
        super::text::text(self, most)
    }
}
