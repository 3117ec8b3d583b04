//! What was found in two boots, as it is printed.

use super::difference::Difference;
use super::functions::Functions;
use schemars::JsonSchema;
use serde::Serialize;

/// Of the JSON.
pub const SCHEMA: &str = "worldswitch-diverge/1";

/// Two boots, and where they differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Diverged {
    /// [`SCHEMA`].
    pub schema: String,
    /// The machines, A and B: each boot's name, and its emulator if the user named one.
    pub boots: [String; 2],
    /// How many instructions of each were compared.
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
    /// As JSON.
    ///
    /// # Errors
    /// None that is known.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// As text; of functions that only one executes at most so many of each.
    pub fn to_text(&self, most: usize) -> String {
        super::text::text(self, most)
    }
}
