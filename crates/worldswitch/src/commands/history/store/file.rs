//! The operations on a history file.

use super::schema::prepare;
use super::{Error, kernel};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, TransactionBehavior, params};
use std::path::{Path, PathBuf};
use std::time::Duration;
use ws_analysis::Summary;
use ws_results::ResultFile;

/// How long to wait while another program writes.
const PATIENCE: Duration = Duration::from_secs(10);

/// An open history.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    db: Connection,
}

/// A run of one platform in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its number, never used twice.
    pub id: i64,
    /// When it started, RFC 3339, UTC.
    pub created: String,
    /// Its platform.
    pub platform: String,
    /// The kernel under test, if the result names one.
    pub kernel: Option<String>,
    /// The program that measured.
    pub tool: String,
    /// The command line.
    pub command: String,
    /// Whether it is the baseline of newer runs of its platform.
    pub pinned: bool,
}

/// The result of [`Store::add`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Added {
    /// The run's number.
    pub id: i64,
    /// False if the history had the same result before.
    pub new: bool,
}

/// A benchmark's figure in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The run.
    pub run: Run,
    /// The unit of `value`.
    pub unit: String,
    /// The cost of one operation: `ws_analysis::Summary::value`.
    pub value: f64,
    /// The number of boots that it is computed from.
    pub boots: u32,
    /// For the unit `insns`: whether all boots gave the same samples.
    pub exact: Option<bool>,
}

/// A pinned run and the newest of its platform.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The pinned one.
    pub pinned: (Run, ResultFile),
    /// The newest run after it; none if it is the newest.
    pub newest: Option<(Run, ResultFile)>,
}

impl Store {
    /// Opens an existing history.
    ///
    /// # Errors
    /// The file does not exist, is something else, or has a newer version.
    pub fn open(path: &Path) -> Result<Self, Error> {
        if !path.exists() {
            return Err(Error::NotThere(path.to_owned()));
        }
        Self::connect(path, false)
    }

    /// Opens a history; creates its folder and an empty history if there is none.
    ///
    /// # Errors
    /// The file is something else, has a newer version, or can't be created.
    pub fn create(path: &Path) -> Result<Self, Error> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|cause| Error::Folder {
                path: path.to_owned(),
                cause,
            })?;
        }
        Self::connect(path, true)
    }

    fn connect(path: &Path, create: bool) -> Result<Self, Error> {
        let failed = |cause| Error::Sqlite {
            path: path.to_owned(),
            cause,
        };
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        flags.set(OpenFlags::SQLITE_OPEN_CREATE, create);
        let mut db = Connection::open_with_flags(path, flags).map_err(failed)?;
        db.busy_timeout(PATIENCE).map_err(failed)?;
        prepare(&mut db, path, create)?;
        db.pragma_update(None, "foreign_keys", true)
            .map_err(failed)?;
        Ok(Store {
            path: path.to_owned(),
            db,
        })
    }

    fn failed(&self) -> impl Fn(rusqlite::Error) -> Error + '_ {
        |cause| Error::Sqlite {
            path: self.path.clone(),
            cause,
        }
    }

    /// Adds a result, unless the history has it already.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn add(&mut self, result: &ResultFile) -> Result<Added, Error> {
        let text = serde_json::to_string(result)?;
        let path = self.path.clone();
        let failed = |cause| Error::Sqlite {
            path: path.clone(),
            cause,
        };
        // Takes the write lock first: SQLite does not let a transaction that has read wait for it.
        let write = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        let known = write
            .query_row("SELECT id FROM runs WHERE result = ?1", [&text], |row| {
                row.get(0)
            })
            .optional()
            .map_err(failed)?;
        if let Some(id) = known {
            return Ok(Added { id, new: false });
        }
        write
            .execute(
                "INSERT INTO runs (created, platform, kernel, tool, command, result)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    result.created,
                    result.platform,
                    kernel(result),
                    result.tool,
                    result.command.join(" "),
                    text
                ],
            )
            .map_err(failed)?;
        let id = write.last_insert_rowid();
        let perturbed = result.perturbed();
        for row in &result.rows {
            let Some(summary) = Summary::cost(row, &perturbed) else {
                continue;
            };
            write
                .execute(
                    "INSERT INTO figures (run, benchmark, unit, value, boots, exact)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    params![
                        id,
                        row.benchmark,
                        summary.unit,
                        summary.value,
                        u32::try_from(summary.boots.len()).unwrap_or(u32::MAX),
                        summary.exact
                    ],
                )
                .map_err(failed)?;
        }
        write.commit().map_err(failed)?;
        Ok(Added { id, new: true })
    }

    /// All runs, or those of a platform and its variants; the oldest first.
    ///
    /// # Errors
    /// The file can't be read.
    pub fn runs(&self, platform: Option<&str>) -> Result<Vec<Run>, Error> {
        let sql = format!("SELECT {RUN} FROM {RUNS} ORDER BY runs.created, runs.id");
        let mut query = self.db.prepare(&sql).map_err(self.failed())?;
        let runs = query
            .query_map([], |row| run(row, 0))
            .map_err(self.failed())?;
        let runs: Vec<Run> = runs.collect::<Result<_, _>>().map_err(self.failed())?;
        Ok(runs
            .into_iter()
            .filter(|run| platform.is_none_or(|wanted| is_of(&run.platform, wanted)))
            .collect())
    }

    /// One run.
    ///
    /// # Errors
    /// There is no such run, or the file can't be read.
    pub fn run(&self, id: i64) -> Result<Run, Error> {
        let sql = format!("SELECT {RUN} FROM {RUNS} WHERE runs.id = ?1");
        self.db
            .query_row(&sql, [id], |row| run(row, 0))
            .optional()
            .map_err(self.failed())?
            .ok_or(Error::NoRun(id))
    }

    /// The whole result of a run.
    ///
    /// # Errors
    /// There is no such run, or it is damaged.
    pub fn result(&self, id: i64) -> Result<ResultFile, Error> {
        let text: Option<String> = self
            .db
            .query_row("SELECT result FROM runs WHERE id = ?1", [id], |row| {
                row.get(0)
            })
            .optional()
            .map_err(self.failed())?;
        let text = text.ok_or(Error::NoRun(id))?;
        serde_json::from_str(&text).map_err(|cause| Error::Damaged { run: id, cause })
    }

    /// A benchmark's figures in all runs, or in those of a platform and its variants; the oldest
    /// first.
    ///
    /// # Errors
    /// The file can't be read.
    pub fn points(&self, benchmark: &str, platform: Option<&str>) -> Result<Vec<Point>, Error> {
        let sql = format!(
            "SELECT figures.unit, figures.value, figures.boots, figures.exact, {RUN}
             FROM {RUNS} JOIN figures ON figures.run = runs.id
             WHERE figures.benchmark = ?1 ORDER BY runs.created, runs.id"
        );
        let mut query = self.db.prepare(&sql).map_err(self.failed())?;
        let point = |row: &Row| {
            Ok(Point {
                unit: row.get(0)?,
                value: row.get(1)?,
                boots: row.get(2)?,
                exact: row.get(3)?,
                run: run(row, 4)?,
            })
        };
        let points = query.query_map([benchmark], point).map_err(self.failed())?;
        let points: Vec<Point> = points.collect::<Result<_, _>>().map_err(self.failed())?;
        Ok(points
            .into_iter()
            .filter(|point| platform.is_none_or(|wanted| is_of(&point.run.platform, wanted)))
            .collect())
    }

    /// The names of all benchmarks that have a figure, sorted.
    ///
    /// # Errors
    /// The file can't be read.
    pub fn benchmarks(&self) -> Result<Vec<String>, Error> {
        let sql = "SELECT DISTINCT benchmark FROM figures ORDER BY benchmark";
        let mut query = self.db.prepare(sql).map_err(self.failed())?;
        let names = query
            .query_map([], |row| row.get(0))
            .map_err(self.failed())?;
        names.collect::<Result<_, _>>().map_err(self.failed())
    }

    /// Pins a run: makes it the baseline of newer runs of its platform, instead of the one before.
    ///
    /// # Errors
    /// There is no such run, or the file can't be written.
    pub fn pin(&mut self, id: i64) -> Result<Run, Error> {
        let run = self.run(id)?;
        self.db
            .execute(
                "INSERT INTO pins (platform, run) VALUES (?1, ?2)
                 ON CONFLICT (platform) DO UPDATE SET run = excluded.run",
                params![run.platform, id],
            )
            .map_err(self.failed())?;
        Ok(run)
    }

    /// Removes a run, its figures and its pin.
    ///
    /// # Errors
    /// There is no such run, or the file can't be written.
    pub fn remove(&mut self, id: i64) -> Result<Run, Error> {
        let run = self.run(id)?;
        self.db
            .execute("DELETE FROM runs WHERE id = ?1", [id])
            .map_err(self.failed())?;
        Ok(run)
    }

    /// Whether a platform has a pinned run.
    ///
    /// # Errors
    /// The file can't be read.
    pub fn has_pin(&self, platform: &str) -> Result<bool, Error> {
        let sql = "SELECT EXISTS (SELECT 1 FROM pins WHERE platform = ?1)";
        self.db
            .query_row(sql, [platform], |row| row.get(0))
            .map_err(self.failed())
    }

    /// The pinned runs of all platforms, or of a platform and its variants, each with the newest run
    /// of its platform that started after it (or at the same time, and was added after it).
    ///
    /// # Errors
    /// The file can't be read, or a result in it is damaged.
    pub fn pairs(&self, platform: Option<&str>) -> Result<Vec<Pair>, Error> {
        let runs = self.runs(platform)?;
        let with = |run: &Run| Ok::<_, Error>((run.clone(), self.result(run.id)?));
        let mut pairs = Vec::new();
        for pinned in runs.iter().filter(|run| run.pinned) {
            let key = |run: &Run| (run.created.clone(), run.id);
            let newest = runs
                .iter()
                .filter(|run| run.platform == pinned.platform && key(run) > key(pinned))
                .max_by_key(|run| key(run));
            pairs.push(Pair {
                pinned: with(pinned)?,
                newest: newest.map(with).transpose()?,
            });
        }
        Ok(pairs)
    }
}

/// Whether a platform is the wanted one, perhaps with a variant (`@`) or options (`+`).
fn is_of(platform: &str, wanted: &str) -> bool {
    platform
        .strip_prefix(wanted)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['@', '+']))
}

/// The columns of a [`Run`], and the tables that have them.
const RUN: &str = "runs.id, runs.created, runs.platform, runs.kernel, runs.tool, runs.command, \
    pins.run IS NOT NULL";
const RUNS: &str = "runs LEFT JOIN pins ON pins.run = runs.id";

fn run(row: &Row, first: usize) -> rusqlite::Result<Run> {
    Ok(Run {
        id: row.get(first)?,
        created: row.get(first + 1)?,
        platform: row.get(first + 2)?,
        kernel: row.get(first + 3)?,
        tool: row.get(first + 4)?,
        command: row.get(first + 5)?,
        pinned: row.get(first + 6)?,
    })
}
