//! Writes an explained operation as JSON and reads it: reports and comparisons use earlier ones.

use crate::explained::{Explained, SCHEMA};

/// Limit of each number. No operation takes as many instructions; sums of such numbers do not overflow.
const MOST: u64 = 1 << 40;

/// Reasons why text is not an explained operation.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// The text is no JSON, or has other fields.
    #[error("this is not an explained operation: {0}")]
    Json(#[from] serde_json::Error),
    /// The text is of another version.
    #[error("the explained operation has schema {0:?}, and this version reads only {SCHEMA:?}")]
    Schema(String),
    /// The parts contradict each other.
    #[error("the explained operation is damaged: {0}")]
    Damaged(String),
}

impl Explained {
    /// Returns the operation as JSON, with [`SCHEMA`].
    pub fn to_json(&self) -> Result<String, JsonError> {
        Ok(serde_json::to_string_pretty(self)?)
    }

    /// Reads the JSON of `to_json`.
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
        match explained.greatest() > MOST {
            true => Err(JsonError::Damaged(format!("a number is above {MOST}"))),
            false
                if explained
                    .lines
                    .iter()
                    .any(|line| line.function as usize >= functions) =>
            {
                Err(JsonError::Damaged("a line has no function".to_owned()))
            }
            false => Ok(explained),
        }
    }

    /// Returns the greatest number in the operation, without its sign.
    fn greatest(&self) -> u64 {
        let nodes = self.tree.nodes.iter();
        let nodes = nodes.flat_map(|node| [node.calls, node.own, node.total]);
        let lines = self.lines.iter().map(|line| line.instructions);
        let registers = self.registers.iter().map(|count| count.accesses);
        let registers = registers.flat_map(|accesses| [accesses.reads, accesses.writes]);
        let traps = self.traps.iter();
        let traps = traps.flat_map(|trap| [trap.count, trap.instructions]);
        let phases = self.phases.iter().map(|count| count.instructions);
        let added = self.added.iter();
        let added = added.flat_map(|added| [added.instructions, added.control]);
        let left_out = self.left_out.iter();
        let left_out = left_out.flat_map(|left_out| [left_out.instructions, left_out.control]);
        let because = self
            .others
            .iter()
            .filter_map(|other| other.because.as_ref());
        let because = because.map(|because| because.instructions);
        let sums = self.others.iter().map(|other| other.sum).chain([self.sum]);
        let sums = sums
            .flat_map(|sum| [sum.attributed, sum.guest, sum.measured, sum.intercepted])
            .chain([self.control])
            .map(i64::unsigned_abs);
        let all = nodes
            .chain(lines)
            .chain(registers)
            .chain(traps)
            .chain(phases);
        let all = all.chain(added).chain(left_out).chain(because).chain(sums);
        all.max().unwrap_or(0)
    }
}
