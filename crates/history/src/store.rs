//! The operations on a history: the same statements for each back-end.

use crate::database::{Columns, Database, Value, transaction};
use crate::filter::{Filter, Wanted};
use crate::kept::{Figure, Kept};
use crate::server::Server;
use crate::sqlite::{self, Sqlite};
use crate::{Error, Place, Right};
use ws_results::ResultFile;

/// An open history.
#[derive(Debug)]
pub struct Store {
    pub(crate) db: Box<dyn Database>,
}

/// A run of one platform in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Number of the run, never used twice.
    pub id: i64,
    /// Start of the run, RFC 3339, UTC.
    pub created: String,
    pub platform: String,
    /// The host that measured; empty if the result does not say.
    pub host: String,
    /// The host whose runs are compared with this run, on time. Empty on instructions: runs of all hosts are compared.
    pub judged_on: String,
    /// The kernel under test, if the result names one.
    pub kernel: Option<String>,
    /// The program that measured.
    pub tool: String,
    /// The command line.
    pub command: String,
    /// Whether newer runs of its platform are compared with it.
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
    /// Whether all boots gave the same samples; for the unit `insns`.
    pub exact: Option<bool>,
}

/// A pinned run and the newest run that is compared with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The pinned run and its result.
    pub pinned: (Run, ResultFile),
    /// The newest run after the pinned one; none if that is the newest.
    pub newest: Option<(Run, ResultFile)>,
}

impl Store {
    /// Opens an existing history.
    ///
    /// # Errors
    /// There is no history, the file is something else, or the tables have another version; or the server can't be
    /// reached or refuses.
    pub fn open(place: &Place) -> Result<Self, Error> {
        Self::connect(place, false)
    }

    /// Opens a history; makes an empty one if there is none.
    pub fn create(place: &Place) -> Result<Self, Error> {
        Self::connect(place, true)
    }

    fn connect(place: &Place, create: bool) -> Result<Self, Error> {
        let db: Box<dyn Database> = match place {
            Place::File(path) => Box::new(Sqlite::open(path, create)?),
            Place::Server(address) => Box::new(Server::open(address, create)?),
        };
        Ok(Self { db })
    }

    /// Brings a server's tables to this program's version. Returns the versions before and after. A file has one
    /// version, as opening it upgrades it.
    ///
    /// # Errors
    /// The tables are newer than this program, or the role may not change them.
    pub fn migrate(place: &Place) -> Result<(i64, i64), Error> {
        match place {
            Place::File(path) => {
                Sqlite::open(path, false)?;
                Ok((sqlite::VERSION, sqlite::VERSION))
            }
            Place::Server(address) => Server::migrated(address),
        }
    }

    /// Lets roles of the server read or add, and no more.
    ///
    /// # Errors
    /// The history is a file, a role does not exist, or the caller is not the owner.
    pub fn grant(&mut self, right: Right, roles: &[String]) -> Result<(), Error> {
        self.transaction(true, |db| db.grant(right, roles))
    }

    /// Runs `work` in a transaction: all of its changes take effect, or none.
    pub(crate) fn transaction<T>(
        &mut self,
        write: bool,
        work: impl FnOnce(&mut dyn Database) -> Result<T, Error>,
    ) -> Result<T, Error> {
        transaction(&mut *self.db, write, |db| work(db))
    }

    /// Adds a result, unless the history has it already.
    pub fn add(&mut self, result: &ResultFile) -> Result<Added, Error> {
        let kept = Kept::of(result)?;
        self.transaction(true, |db| add(db, result, &kept))
    }

    /// Adds results, all or none of them, but those that the history has already.
    pub fn add_all(&mut self, results: &[ResultFile]) -> Result<Vec<Added>, Error> {
        let kept: Vec<Kept> = results.iter().map(Kept::of).collect::<Result<_, _>>()?;
        self.transaction(true, |db| {
            let all = results.iter().zip(&kept);
            all.map(|(result, kept)| add(db, result, kept)).collect()
        })
    }

    /// Returns the runs of a cell, the first added first.
    pub fn of_cell(&mut self, cell: &str) -> Result<Vec<Run>, Error> {
        of_cell(&mut *self.db, cell)
    }

    /// Returns the wanted runs, the oldest first.
    pub fn runs(&mut self, filter: Filter<'_>) -> Result<Vec<Run>, Error> {
        let mut wanted = Wanted::of(filter);
        let sql = format!(
            "SELECT {RUN} FROM {RUNS}{} ORDER BY runs.created, runs.id",
            wanted.conditions(" WHERE ")
        );
        let rows = self.db.query(&sql, &wanted.values)?;
        rows.into_iter().map(|mut row| run(&mut row)).collect()
    }

    /// Returns the newest run of each platform and host among the wanted ones, by platform and host.
    pub fn newest(&mut self, filter: Filter<'_>) -> Result<Vec<Run>, Error> {
        let mut wanted = Wanted::of(filter);
        let conditions = wanted.conditions(" WHERE ");
        // The inner SELECT reads only columns of the index.
        let sql = format!(
            "SELECT {RUN} FROM {RUNS} WHERE runs.id IN (
                 SELECT max(runs.id) FROM runs JOIN (
                     SELECT platform, host, max(created) AS created FROM runs{conditions} GROUP BY platform, host
                 ) AS newest ON runs.platform = newest.platform AND runs.host = newest.host
                     AND runs.created = newest.created
                 GROUP BY runs.platform, runs.host
             ) ORDER BY runs.platform, runs.host"
        );
        let rows = self.db.query(&sql, &wanted.values)?;
        rows.into_iter().map(|mut row| run(&mut row)).collect()
    }

    /// Returns a run.
    ///
    /// # Errors
    /// [`Error::NoRun`] if there is no such run.
    pub fn run(&mut self, id: i64) -> Result<Run, Error> {
        let sql = format!("SELECT {RUN} FROM {RUNS} WHERE runs.id = $1");
        let mut rows = self.db.query(&sql, &[id.into()])?;
        rows.first_mut().map_or(Err(Error::NoRun(id)), run)
    }

    /// Returns the whole result of a run.
    ///
    /// # Errors
    /// [`Error::NoRun`] if there is no such run, [`Error::Damaged`] if its result can't be parsed.
    pub fn result(&mut self, id: i64) -> Result<ResultFile, Error> {
        let sql = "SELECT result FROM runs WHERE id = $1";
        let mut rows = self.db.query(sql, &[id.into()])?;
        let text = rows
            .first_mut()
            .map_or(Err(Error::NoRun(id)), Columns::text)?;
        serde_json::from_str(&text).map_err(|cause| Error::Damaged { run: id, cause })
    }

    /// Returns a benchmark's figures in the wanted runs, the oldest first.
    pub fn points(&mut self, benchmark: &str, filter: Filter<'_>) -> Result<Vec<Point>, Error> {
        let mut wanted = Wanted::of(filter);
        let place = wanted.place(benchmark);
        let sql = format!(
            "SELECT figures.unit, figures.value, figures.boots, figures.exact, {RUN}
             FROM figures JOIN runs ON runs.id = figures.run LEFT JOIN pins ON pins.run = runs.id
             WHERE figures.benchmark = {place}{} ORDER BY runs.created, runs.id",
            wanted.conditions(" AND ")
        );
        let rows = self.db.query(&sql, &wanted.values)?;
        let point = |mut row: Columns| {
            Ok(Point {
                unit: row.text()?,
                value: row.real()?,
                boots: u32::try_from(row.int()?).unwrap_or(u32::MAX),
                exact: row.maybe_bool()?,
                run: run(&mut row)?,
            })
        };
        rows.into_iter().map(point).collect()
    }

    /// Returns the names of all benchmarks that have a figure, sorted.
    pub fn benchmarks(&mut self) -> Result<Vec<String>, Error> {
        // Not DISTINCT, which would read every figure: one step in the index for each name.
        let sql = "WITH RECURSIVE names (name) AS (
                 SELECT min(benchmark) FROM figures
                 UNION ALL
                 SELECT (SELECT min(benchmark) FROM figures WHERE benchmark > name) FROM names
                 WHERE name IS NOT NULL
             ) SELECT name FROM names WHERE name IS NOT NULL ORDER BY name";
        let rows = self.db.query(sql, &[])?;
        rows.into_iter().map(|mut row| row.text()).collect()
    }

    /// Pins a run, instead of the pinned one: newer runs of its platform (on time, of its host too) are compared with
    /// it.
    ///
    /// # Errors
    /// [`Error::NoRun`] if there is no such run.
    pub fn pin(&mut self, id: i64) -> Result<Run, Error> {
        let run = self.run(id)?;
        let sql = "INSERT INTO pins (platform, judged_on, run) VALUES ($1, $2, $3)
             ON CONFLICT (platform, judged_on) DO UPDATE SET run = excluded.run";
        self.db.execute(sql, &pin(&run))?;
        Ok(run)
    }

    /// Pins a run, unless another is pinned already. Returns the run if it was pinned now. A role that may only add may
    /// do this.
    ///
    /// # Errors
    /// [`Error::NoRun`] if there is no such run.
    pub fn pin_first(&mut self, id: i64) -> Result<Option<Run>, Error> {
        let run = self.run(id)?;
        let sql = "INSERT INTO pins (platform, judged_on, run) VALUES ($1, $2, $3)
             ON CONFLICT (platform, judged_on) DO NOTHING";
        let pinned = self.db.execute(sql, &pin(&run))?;
        Ok((pinned > 0).then_some(run))
    }

    /// Removes a run, its figures and its pin.
    ///
    /// # Errors
    /// [`Error::NoRun`] if there is no such run.
    pub fn remove(&mut self, id: i64) -> Result<Run, Error> {
        let run = self.run(id)?;
        self.db
            .execute("DELETE FROM runs WHERE id = $1", &[id.into()])?;
        Ok(run)
    }

    /// Returns the pinned runs among the wanted ones, the oldest first. Each has the newest run that is compared with
    /// it: that started after it, or at the same time and was added after it.
    pub fn pairs(&mut self, filter: Filter<'_>) -> Result<Vec<Pair>, Error> {
        let mut wanted = Wanted::of(filter);
        let sql = format!(
            "SELECT {RUN} FROM pins JOIN runs ON runs.id = pins.run{} ORDER BY runs.created, runs.id",
            wanted.conditions(" WHERE ")
        );
        let rows = self.db.query(&sql, &wanted.values)?;
        let mut pairs = Vec::new();
        for mut row in rows {
            let pinned = run(&mut row)?;
            let newest = self.newest_after(&pinned)?;
            let newest = newest.map(|run| Ok::<_, Error>((self.result(run.id)?, run)));
            let newest = newest.transpose()?.map(|(result, run)| (run, result));
            pairs.push(Pair {
                pinned: (pinned.clone(), self.result(pinned.id)?),
                newest,
            });
        }
        Ok(pairs)
    }

    fn newest_after(&mut self, pinned: &Run) -> Result<Option<Run>, Error> {
        let sql = format!(
            "SELECT {RUN} FROM {RUNS} WHERE runs.platform = $1 AND runs.judged_on = $2
             AND (runs.created, runs.id) > ($3, $4) ORDER BY runs.created DESC, runs.id DESC LIMIT 1"
        );
        let values = [
            pinned.platform.as_str().into(),
            pinned.judged_on.as_str().into(),
            pinned.created.as_str().into(),
            pinned.id.into(),
        ];
        let mut rows = self.db.query(&sql, &values)?;
        rows.first_mut().map(run).transpose()
    }
}

fn pin(run: &Run) -> [Value; 3] {
    [
        run.platform.as_str().into(),
        run.judged_on.as_str().into(),
        run.id.into(),
    ]
}

fn of_cell(db: &mut dyn Database, cell: &str) -> Result<Vec<Run>, Error> {
    let sql = format!("SELECT {RUN} FROM {RUNS} WHERE runs.cell = $1 ORDER BY runs.id");
    let rows = db.query(&sql, &[cell.into()])?;
    rows.into_iter().map(|mut row| run(&mut row)).collect()
}

fn add(db: &mut dyn Database, result: &ResultFile, kept: &Kept) -> Result<Added, Error> {
    let sql = "SELECT id FROM runs WHERE digest = $1";
    let mut rows = db.query(sql, &[kept.digest.as_str().into()])?;
    if let Some(row) = rows.first_mut() {
        return Ok(Added {
            id: row.int()?,
            new: false,
        });
    }
    let sql = "INSERT INTO runs
             (created, platform, host, judged_on, kernel, tool, command, cell, digest, result)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT (digest) DO NOTHING RETURNING id";
    let values = [
        result.created.as_str().into(),
        result.platform.as_str().into(),
        kept.host.as_str().into(),
        kept.judged_on.as_str().into(),
        kept.kernel.as_deref().into(),
        result.tool.as_str().into(),
        kept.command.as_str().into(),
        kept.cell.as_deref().into(),
        kept.digest.as_str().into(),
        kept.text.as_str().into(),
    ];
    let mut rows = db.query(sql, &values)?;
    let Some(row) = rows.first_mut() else {
        // Another program added it meanwhile, and may have removed it again.
        return add(db, result, kept);
    };
    let id = row.int()?;
    let values = kept
        .figures
        .iter()
        .map(|figure| figure.values(id))
        .collect();
    insert_many(db, FIGURES, values)?;
    Ok(Added { id, new: true })
}

/// The table of figures with its columns, in the order of [`Figure::values`].
pub(crate) const FIGURES: &str = "figures (run, benchmark, unit, value, boots, exact)";

impl Figure {
    fn values(&self, run: i64) -> Vec<Value> {
        vec![
            run.into(),
            self.benchmark.as_str().into(),
            self.unit.as_str().into(),
            Value::Real(self.value),
            self.boots.into(),
            self.exact.map_or(Value::Null, Value::Bool),
        ]
    }
}

/// Most values of one statement: SQLite takes 32,766, PostgreSQL 65,535.
const MOST_VALUES: usize = 2_000;

/// Inserts rows, many with one statement: each statement is a round trip to the server.
pub(crate) fn insert_many(
    db: &mut dyn Database,
    table: &str,
    rows: Vec<Vec<Value>>,
) -> Result<(), Error> {
    let Some(columns) = rows.first().map(Vec::len) else {
        return Ok(());
    };
    let mut rows = rows.into_iter().peekable();
    while rows.peek().is_some() {
        let some: Vec<Vec<Value>> = rows.by_ref().take(MOST_VALUES / columns).collect();
        let mut next = 0;
        let mut row = || {
            let places = (0..columns).map(|_| {
                next += 1;
                format!("${next}")
            });
            format!("({})", places.collect::<Vec<_>>().join(", "))
        };
        let places: Vec<String> = some.iter().map(|_| row()).collect();
        let sql = format!("INSERT INTO {table} VALUES {}", places.join(", "));
        db.execute(&sql, &some.concat())?;
    }
    Ok(())
}

/// The columns of a [`Run`], and the tables that have them.
const RUN: &str = "runs.id, runs.created, runs.platform, runs.host, runs.judged_on, runs.kernel, \
    runs.tool, runs.command, pins.run IS NOT NULL";
const RUNS: &str = "runs LEFT JOIN pins ON pins.run = runs.id";

fn run(row: &mut Columns) -> Result<Run, Error> {
    Ok(Run {
        id: row.int()?,
        created: row.text()?,
        platform: row.text()?,
        host: row.text()?,
        judged_on: row.text()?,
        kernel: row.maybe_text()?,
        tool: row.text()?,
        command: row.text()?,
        pinned: row.bool()?,
    })
}
