//! Tests of files: those that are something else, and those of older versions.

use super::{of, result};
use crate::{Error, Place, Store};
use rusqlite::Connection;

#[test]
fn a_file_that_is_no_history_is_refused_and_not_changed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    let place = Place::File(path.clone());
    assert!(matches!(Store::open(&place), Err(Error::NotThere(_))));
    assert!(!path.exists(), "open() does not create one");

    std::fs::write(
        &path,
        "{\"schema\": \"no database at all, but longer than a header\"}".repeat(20),
    )
    .unwrap();
    let before = std::fs::read(&path).unwrap();
    for opened in [Store::open(&place), Store::create(&place)] {
        assert!(matches!(opened, Err(Error::Foreign(_))), "{opened:?}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);

    let other = dir.path().join("other.sqlite");
    let db = Connection::open(&other).unwrap();
    db.execute_batch("CREATE TABLE somebody_elses (x)").unwrap();
    drop(db);
    let other = Place::File(other);
    for opened in [Store::open(&other), Store::create(&other)] {
        assert!(matches!(opened, Err(Error::Foreign(_))), "{opened:?}");
    }
}

/// The tables of version 1.
const VERSION_1: &str = "
PRAGMA application_id = 2004055913;
PRAGMA user_version = 1;
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

fn version_1(path: &std::path::Path) -> Connection {
    let db = Connection::open(path).unwrap();
    db.execute_batch(VERSION_1).unwrap();
    for (id, day) in [(3, 1), (4, 2), (9, 3)] {
        let result = result("lab:kvm", &format!("2026-01-0{day}T00:00:00Z"), 3000 + day);
        // Not as this version writes it: it stays so.
        let text = serde_json::to_string_pretty(&result).unwrap();
        db.execute(
            "INSERT INTO runs VALUES (?1, ?2, ?3, '6.12', ?4, 'worldswitch run', ?5)",
            rusqlite::params![id, result.created, result.platform, result.tool, text],
        )
        .unwrap();
        db.execute(
            "INSERT INTO figures VALUES (?1, 'in', 'insns', 7, 2, 1)",
            [id],
        )
        .unwrap();
    }
    db.execute("INSERT INTO pins VALUES ('lab:kvm', 4)", [])
        .unwrap();
    db.execute("DELETE FROM runs WHERE id = 9", []).unwrap();
    db
}

#[test]
fn a_file_of_version_1_is_brought_to_this_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("old.sqlite");
    drop(version_1(&path));
    let mut store = Store::open(&Place::File(path)).unwrap();
    let runs = store.runs(of(None)).unwrap();
    let facts: Vec<_> = runs.iter().map(|run| (run.id, run.pinned)).collect();
    assert_eq!(facts, [(3, false), (4, true)]);
    let values: Vec<f64> = store
        .points("in", of(None))
        .unwrap()
        .iter()
        .map(|p| p.value)
        .collect();
    assert_eq!(values, [3001.0, 3002.0], "computed anew");
    let mut rows = store
        .db
        .query("SELECT result FROM runs WHERE id = 3", &[])
        .unwrap();
    assert!(rows[0].text().unwrap().starts_with("{\n"), "byte for byte");
    let new = store
        .add(&result("lab:kvm", "2026-01-04T00:00:00Z", 1))
        .unwrap();
    assert_eq!(new.id, 10, "a number is never used twice");
}

/// Version 2 had all of version 3 but an index.
#[test]
fn a_file_of_version_2_is_brought_to_this_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("old.sqlite");
    let place = Place::File(path.clone());
    let run = result("lab:kvm", "2026-01-04T00:00:00Z", 1);
    let mut store = Store::create(&place).unwrap();
    store.add(&run).unwrap();
    drop(store);
    let db = Connection::open(&path).unwrap();
    let tables = |db: &Connection| -> String {
        let sql =
            "SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_schema ORDER BY name)";
        db.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    let new = tables(&db);
    db.execute_batch("DROP INDEX runs_by_kernel; PRAGMA user_version = 2")
        .unwrap();
    drop(db);
    assert!(!Store::open(&place).unwrap().add(&run).unwrap().new);
    let db = Connection::open(&path).unwrap();
    assert_eq!(tables(&db), new);
    let version = db.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
    assert_eq!(version.unwrap(), 3);
}

#[test]
fn a_file_of_version_1_with_a_damaged_run_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("old.sqlite");
    let db = version_1(&path);
    db.execute("UPDATE runs SET result = '{}' WHERE id = 4", [])
        .unwrap();
    drop(db);
    let error = Store::open(&Place::File(path.clone())).unwrap_err();
    assert!(matches!(error, Error::Damaged { run: 4, .. }), "{error}");
    let db = Connection::open(&path).unwrap();
    let version: i64 = db
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    let runs: i64 = db
        .query_row("SELECT count(*) FROM runs", [], |row| row.get(0))
        .unwrap();
    assert_eq!((version, runs), (1, 2));
}
