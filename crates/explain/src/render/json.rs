//! As JSON, and back: reports and comparisons read what was explained earlier.

use crate::explained::{Explained, SCHEMA};

/// Why text is not an explained operation.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// It is no JSON, or has other fields.
    #[error("this is not an explained operation: {0}")]
    Json(#[from] serde_json::Error),
    /// Another version's.
    #[error("the explained operation has schema {0:?}, and this version reads only {SCHEMA:?}")]
    Schema(String),
    /// Its parts contradict each other.
    #[error("the explained operation is damaged: {0}")]
    Damaged(String),
}

impl Explained {
    /// As JSON, with [`SCHEMA`].
    ///
    /// # Errors
    /// None that is known.
    pub fn to_json(&self) -> Result<String, JsonError> {
        Ok(serde_json::to_string_pretty(self)?)
    }

    /// Reads what `to_json` wrote.
    ///
    /// # Errors
    /// It is something else, of another version, or damaged.
    pub fn from_json(text: &str) -> Result<Self, JsonError> {
        #[derive(serde::Deserialize)]
        struct Versioned {
            schema: String,
        }
        let Versioned { schema } = serde_json::from_str(text)?;
        if schema != SCHEMA {
            return Err(JsonError::Schema(schema));
        }
        let mut explained: Self = serde_json::from_str(text)?;
        let functions = explained.functions.len();
        explained.tree.link(functions).map_err(JsonError::Damaged)?;
        Ok(explained)
    }
}
