//! The SQLite file's tables, the check that a file is a history, and the way from older versions. `docs/history.md`
//! describes the tables.

use crate::Error;
use crate::by_kernel;
use crate::kept::Kept;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use std::path::Path;
use ws_results::ResultFile;

/// The application ID in the SQLite header (PRAGMA application_id): "wswi".
const APPLICATION: i64 = 0x7773_7769;

/// The version of the tables (PRAGMA user_version).
pub(crate) const VERSION: i64 = 3;

/// The tables of version 2.
const TABLES: &str = "
CREATE TABLE runs (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    created   TEXT NOT NULL,
    platform  TEXT NOT NULL,
    host      TEXT NOT NULL,
    judged_on TEXT NOT NULL,
    kernel    TEXT,
    tool      TEXT NOT NULL,
    command   TEXT NOT NULL,
    cell      TEXT,
    digest    TEXT NOT NULL UNIQUE,
    result    TEXT NOT NULL
) STRICT;
CREATE INDEX runs_by_date ON runs (created, id);
CREATE INDEX runs_by_platform ON runs (platform, judged_on, created, id);
CREATE INDEX runs_by_host ON runs (platform, host, created, id);
CREATE INDEX runs_by_cell ON runs (cell, id) WHERE cell IS NOT NULL;
CREATE TABLE figures (
    run       INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    benchmark TEXT NOT NULL,
    unit      TEXT NOT NULL,
    value     REAL NOT NULL,
    boots     INTEGER NOT NULL,
    exact     INTEGER,
    PRIMARY KEY (run, benchmark)
) STRICT, WITHOUT ROWID;
CREATE INDEX figures_by_benchmark ON figures (benchmark, run);
CREATE TABLE pins (
    platform  TEXT NOT NULL,
    judged_on TEXT NOT NULL,
    run       INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    PRIMARY KEY (platform, judged_on)
) STRICT, WITHOUT ROWID;
CREATE INDEX pins_by_run ON pins (run);
";

/// Statements that make version 3 from version 2.
const FROM_2: &str = by_kernel::INDEX;

/// Checks that the file is a history of a known version; creates the tables in a new file, and brings older ones to
/// this version. Two programs may do this at once, so it is done in a transaction that takes the write lock first and
/// checks again.
pub(super) fn prepare(db: &mut Connection, path: &Path, create: bool) -> Result<(), Error> {
    let failed = |cause: rusqlite::Error| match cause.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => Error::Foreign(path.display().to_string()),
        _ => Error::Sqlite {
            path: path.to_owned(),
            cause,
        },
    };
    // In one transaction: another program may create the tables between two reads.
    let found = version(&*db.transaction().map_err(failed)?, path, create, failed)?;
    if found == VERSION {
        return Ok(());
    }
    let write = db
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(failed)?;
    match version(&write, path, create, failed)? {
        VERSION => {}
        0 => {
            create_tables(&write).map_err(failed)?;
            write
                .pragma_update(None, "application_id", APPLICATION)
                .map_err(failed)?;
        }
        1 => from_1(&write, failed)?,
        2 => write.execute_batch(FROM_2).map_err(failed)?,
        found => {
            return Err(Error::NoWay {
                place: path.display().to_string(),
                found,
                known: VERSION,
            });
        }
    }
    write
        .pragma_update(None, "user_version", VERSION)
        .map_err(failed)?;
    write.commit().map_err(failed)
}

fn create_tables(db: &Connection) -> rusqlite::Result<()> {
    db.execute_batch(TABLES)?;
    db.execute_batch(FROM_2)
}

/// The version of a history's tables; 0 is an empty file.
fn version(
    db: &Connection,
    path: &Path,
    create: bool,
    failed: impl Fn(rusqlite::Error) -> Error,
) -> Result<i64, Error> {
    let number = |name: &str| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let application = number("application_id").map_err(&failed)?;
    let found = number("user_version").map_err(&failed)?;
    if application == APPLICATION {
        return match found {
            found if found > VERSION => Err(Error::Newer {
                place: path.display().to_string(),
                found,
                known: VERSION,
            }),
            found => Ok(found),
        };
    }
    let count = "SELECT count(*) FROM sqlite_schema";
    let tables: i64 = db.query_row(count, [], |row| row.get(0)).map_err(&failed)?;
    match application == 0 && tables == 0 && create {
        true => Ok(0),
        false => Err(Error::Foreign(path.display().to_string())),
    }
}

/// Migrates from version 1, which had no digest and no host: all is computed anew from the results.
fn from_1(db: &Transaction<'_>, failed: impl Fn(rusqlite::Error) -> Error) -> Result<(), Error> {
    // New runs must not get the numbers of removed runs, which only the old table's sequence knows.
    let last = "SELECT seq FROM sqlite_sequence WHERE name = 'runs'";
    let last = db
        .query_row(last, [], |row| row.get::<_, i64>(0))
        .optional();
    let last = last.map_err(&failed)?;
    db.execute_batch(
        "ALTER TABLE runs RENAME TO old_runs; ALTER TABLE pins RENAME TO old_pins;
         DROP TABLE figures; DROP INDEX runs_by_platform;",
    )
    .map_err(&failed)?;
    create_tables(db).map_err(&failed)?;
    let mut runs = db
        .prepare("SELECT id, result FROM old_runs ORDER BY id")
        .map_err(&failed)?;
    let mut rows = runs.query([]).map_err(&failed)?;
    while let Some(row) = rows.next().map_err(&failed)? {
        let id: i64 = row.get(0).map_err(&failed)?;
        let text: String = row.get(1).map_err(&failed)?;
        let result: ResultFile =
            serde_json::from_str(&text).map_err(|cause| Error::Damaged { run: id, cause })?;
        keep(db, id, &result, text).map_err(&failed)??;
    }
    drop(rows);
    drop(runs);
    db.execute_batch(
        "INSERT INTO pins (platform, judged_on, run)
             SELECT runs.platform, runs.judged_on, runs.id
             FROM old_pins JOIN runs ON runs.id = old_pins.run;
         DROP TABLE old_pins; DROP TABLE old_runs;",
    )
    .map_err(&failed)?;
    set_last_id(db, last.unwrap_or(0)).map_err(&failed)
}

/// Writes a run of version 1 and its figures into the new tables. `text` is the stored text, byte for byte.
fn keep(
    db: &Transaction<'_>,
    id: i64,
    result: &ResultFile,
    text: String,
) -> rusqlite::Result<Result<(), Error>> {
    let kept = match Kept::of(result) {
        Ok(kept) => Kept::with_text(kept, text),
        Err(error) => return Ok(Err(error)),
    };
    db.prepare_cached(
        "INSERT INTO runs (id, created, platform, host, judged_on, kernel, tool, command, cell, digest, result)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?
    .execute(params![
        id,
        result.created,
        result.platform,
        kept.host,
        kept.judged_on,
        kept.kernel,
        result.tool,
        kept.command,
        kept.cell,
        kept.digest,
        kept.text
    ])?;
    let mut insert = db.prepare_cached(
        "INSERT INTO figures (run, benchmark, unit, value, boots, exact)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for figure in kept.figures {
        insert.execute(params![
            id,
            figure.benchmark,
            figure.unit,
            figure.value,
            figure.boots,
            figure.exact
        ])?;
    }
    Ok(Ok(()))
}

/// Makes new runs get greater numbers than `id`.
pub(super) fn set_last_id(db: &Connection, id: i64) -> rusqlite::Result<()> {
    let changed = db.execute(
        "UPDATE sqlite_sequence SET seq = max(seq, ?1) WHERE name = 'runs'",
        [id],
    )?;
    if changed == 0 {
        let sql = "INSERT INTO sqlite_sequence (name, seq) VALUES ('runs', ?1)";
        db.execute(sql, [id])?;
    }
    Ok(())
}
