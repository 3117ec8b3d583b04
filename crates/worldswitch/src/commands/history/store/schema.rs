//! The SQLite file's tables, and the check that a file is a history. `docs/history.md` describes it.

use super::Error;
use rusqlite::{Connection, TransactionBehavior};
use std::path::Path;

/// The application ID in the SQLite header (PRAGMA application_id): "wswi".
const APPLICATION: i64 = 0x7773_7769;

/// The version of the tables (PRAGMA user_version).
const VERSION: i64 = 1;

const TABLES: &str = "
CREATE TABLE runs (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    created  TEXT NOT NULL,
    platform TEXT NOT NULL,
    kernel   TEXT,
    tool     TEXT NOT NULL,
    command  TEXT NOT NULL,
    result   TEXT NOT NULL UNIQUE
) STRICT;
CREATE INDEX runs_by_platform ON runs (platform, created);
CREATE TABLE figures (
    run       INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    benchmark TEXT NOT NULL,
    unit      TEXT NOT NULL,
    value     REAL NOT NULL,
    boots     INTEGER NOT NULL,
    exact     INTEGER,
    PRIMARY KEY (benchmark, run)
) STRICT, WITHOUT ROWID;
CREATE TABLE pins (
    platform TEXT PRIMARY KEY,
    run      INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
";

/// Checks that the file is a history of a known version; creates the tables in a new file. Two
/// programs may do this at once, so the tables are created in a transaction that takes the write
/// lock first and checks again.
pub(crate) fn prepare(db: &mut Connection, path: &Path, create: bool) -> Result<(), Error> {
    let failed = |cause: rusqlite::Error| match cause.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => Error::Foreign(path.to_owned()),
        _ => Error::Sqlite {
            path: path.to_owned(),
            cause,
        },
    };
    let number = |db: &Connection, name: &str| {
        db.pragma_query_value(None, name, |row| row.get::<_, i64>(0))
            .map_err(failed)
    };
    let check = |db: &Connection| {
        let (application, version) = (number(db, "application_id")?, number(db, "user_version")?);
        match (application, version) {
            (APPLICATION, found) if found > VERSION => Err(Error::Newer {
                path: path.to_owned(),
                found,
                known: VERSION,
            }),
            (APPLICATION, _) => Ok(true),
            _ => {
                let count = "SELECT count(*) FROM sqlite_schema";
                let tables: i64 = db.query_row(count, [], |row| row.get(0)).map_err(failed)?;
                let empty = application == 0 && tables == 0 && create;
                empty
                    .then_some(false)
                    .ok_or_else(|| Error::Foreign(path.to_owned()))
            }
        }
    };
    // In one transaction: another program may create the tables between two reads.
    let ours = check(&*db.transaction().map_err(failed)?)?;
    if ours {
        return Ok(());
    }
    let write = db
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(failed)?;
    if !check(&write)? {
        write.execute_batch(TABLES).map_err(failed)?;
        write
            .pragma_update(None, "application_id", APPLICATION)
            .map_err(failed)?;
        write
            .pragma_update(None, "user_version", VERSION)
            .map_err(failed)?;
    }
    write.commit().map_err(failed)
}
