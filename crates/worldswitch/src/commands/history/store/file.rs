//! What is asked of the history's file.

use super::schema::prepare;
use super::{Error, kernel};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, TransactionBehavior, params};
use std::path::{Path, PathBuf};
use std::time::Duration;
use ws_analysis::Summary;
use ws_results::ResultFile;

/// How long to wait for another program that writes.
const PATIENCE: Duration = Duration::from_secs(10);

/// A history that is open.
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
    /// When it began, RFC 3339, UTC.
    pub created: String,
    /// Its platform.
    pub platform: String,
    /// The kernel under test, where the result names one.
    pub kernel: Option<String>,
    /// The program that measured.
    pub tool: String,
    /// The command line.
    pub command: String,
    /// Whether newer runs of the platform are judged against it.
    pub pinned: bool,
}

/// What adding a result did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Added {
    /// The run's number.
    pub id: i64,
    /// False where the same result was there before.
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
    /// How many boots it is from.
    pub boots: u32,
    /// On `insns`: whether all boots gave the same samples.
    pub exact: Option<bool>,
}

/// A pinned run and the newest of its platform.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The pinned one.
    pub pinned: (Run, ResultFile),
    /// The newest other one; absent where none is newer.
    pub newest: Option<(Run, ResultFile)>,
}

impl Store {
    /// Opens a history that is there.
    ///
    /// # Errors
    /// It is not there, is something else, or is of a newer version.
    pub fn open(path: &Path) -> Result<Self, Error> {
        if !path.exists() {
            return Err(Error::NotThere(path.to_owned()));
        }
        Self::connect(path, false)
    }

    /// Opens a history, or makes an empty one and its folder.
    ///
    /// # Errors
    /// As [`Store::open`], or it can't be made.
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

    /// Keeps a result, once.
    ///
    /// # Errors
    /// It can't be written.
    pub fn add(&mut self, result: &ResultFile) -> Result<Added, Error> {
        let text = serde_json::to_string(result)?;
        let path = self.path.clone();
        let failed = |cause| Error::Sqlite {
            path: path.clone(),
            cause,
        };
        // The lock first: a transaction that reads and then wants to write can't wait for another.
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

    /// All runs, or those of a platform and its variants, the oldest first.
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

    /// The result of a run, whole.
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

    /// A benchmark's figures over the runs of a platform and its variants, the oldest first.
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

    /// Makes a run the one that newer ones of its platform are judged against.
    ///
    /// # Errors
    /// There is no such run, or it can't be written.
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

    /// Takes a run out, and its pin.
    ///
    /// # Errors
    /// There is no such run, or it can't be written.
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

    /// Each pinned run, or those of a platform and its variants, with the newest of its platform that
    /// began after it, or was added after it.
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

/// Whether a platform is the wanted one, or it with a variant or options.
fn is_of(platform: &str, wanted: &str) -> bool {
    platform
        .strip_prefix(wanted)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['@', '+']))
}

/// The columns of a [`Run`], and where they come from.
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
