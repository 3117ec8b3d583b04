//! Rights of a role of the server.

use super::schema::SCHEMA;

/// A right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Reads and nothing else.
    Read,
    /// Read, add results, and pin the first run of a platform; neither change nor remove.
    Add,
    /// Nothing.
    Nothing,
}

impl Right {
    /// The statements that give a role this right and take others from it.
    pub(super) fn statements(self, role: &str) -> Vec<String> {
        let role = format!("\"{}\"", role.replace('"', "\"\""));
        let mut all = vec![
            format!("REVOKE ALL ON ALL TABLES IN SCHEMA {SCHEMA} FROM {role}"),
            format!("REVOKE ALL ON ALL SEQUENCES IN SCHEMA {SCHEMA} FROM {role}"),
            format!("REVOKE ALL ON SCHEMA {SCHEMA} FROM {role}"),
        ];
        if self != Self::Nothing {
            all.push(format!("GRANT USAGE ON SCHEMA {SCHEMA} TO {role}"));
            // A copy continues the numbers of runs: the sequence says which were used.
            for what in ["TABLES", "SEQUENCES"] {
                all.push(format!(
                    "GRANT SELECT ON ALL {what} IN SCHEMA {SCHEMA} TO {role}"
                ));
            }
        }
        if self == Self::Add {
            all.push(format!(
                "GRANT INSERT ON {SCHEMA}.runs, {SCHEMA}.figures, {SCHEMA}.pins TO {role}"
            ));
        }
        all
    }
}
