//! Copies a history to another place, of either back-end, without loss.

use crate::database::{Columns, Database, Value};
use crate::store::{FIGURES, insert_many};
use crate::{Error, Store};

/// Runs that are read at a time: their results are in memory.
const AT_ONCE: i64 = 200;

/// Counts of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Runs that the other history had not.
    pub new: u64,
    /// Runs that it had.
    pub known: u64,
    /// Pins that the other history took over: pins of platforms for which it had none.
    pub pins: u64,
    /// Whether the numbers of the runs are the same: into an empty history they are.
    pub same_numbers: bool,
}

/// The columns of a run that are copied, besides its number.
const COLUMNS: &str =
    "created, platform, host, judged_on, kernel, tool, command, cell, digest, result";
/// Index of the digest in [`COLUMNS`].
const DIGEST: usize = 8;

impl Store {
    /// Copies all runs, figures and pins into another history, all or none, in their order and byte for byte. Runs and
    /// pins that the other history has are left as they are. Into an empty history runs keep their numbers.
    pub fn copy_to(&mut self, other: &mut Store) -> Result<Copied, Error> {
        if self.db.name() == other.db.name() {
            return Err(Error::Itself(self.db.name().to_owned()));
        }
        let copied =
            self.transaction(false, |from| other.transaction(true, |to| copy(from, to)))?;
        if copied.new > 0 {
            // Only the owner of a server's tables may analyze. A failure costs only speed.
            let _ = other.db.analyze();
        }
        Ok(copied)
    }
}

fn copy(from: &mut dyn Database, to: &mut dyn Database) -> Result<Copied, Error> {
    let empty = to.query("SELECT 1 FROM runs LIMIT 1", &[])?.is_empty() && to.last_id()? == 0;
    let mut copied = Copied {
        same_numbers: empty,
        ..Copied::default()
    };
    let sql = format!("SELECT id, {COLUMNS} FROM runs WHERE id > $1 ORDER BY id LIMIT {AT_ONCE}");
    let mut last = 0;
    loop {
        let rows = from.query(&sql, &[Value::Int(last)])?;
        if rows.is_empty() {
            break;
        }
        for mut row in rows {
            let id = row.int()?;
            last = id;
            let values = (0..COLUMNS.split(',').count()).map(|_| row.value());
            match copy_run(from, to, id, values.collect(), empty)? {
                true => copied.new += 1,
                false => copied.known += 1,
            }
        }
    }
    if empty {
        to.set_last_id(from.last_id()?)?;
    }
    copied.pins = copy_pins(from, to)?;
    Ok(copied)
}

/// Copies one run and its figures, unless the other history has it. `keep`: under the same number. Returns whether it
/// was copied.
fn copy_run(
    from: &mut dyn Database,
    to: &mut dyn Database,
    id: i64,
    values: Vec<Value>,
    keep: bool,
) -> Result<bool, Error> {
    let known = "SELECT id FROM runs WHERE digest = $1";
    if !to.query(known, &[values[DIGEST].clone()])?.is_empty() {
        return Ok(false);
    }
    let mut rows = match keep {
        true => {
            let sql = format!(
                "INSERT INTO runs (id, {COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING id"
            );
            to.query(&sql, &[vec![Value::Int(id)], values].concat())?
        }
        false => {
            let sql = format!(
                "INSERT INTO runs ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id"
            );
            to.query(&sql, &values)?
        }
    };
    let new = rows.first_mut().map_or(Ok(id), Columns::int)?;
    let sql = "SELECT benchmark, unit, value, boots, exact FROM figures WHERE run = $1
         ORDER BY benchmark";
    let figures = from.query(sql, &[Value::Int(id)])?;
    let figures = figures.into_iter().map(|mut row| {
        let [benchmark, unit, value, boots] = [(); 4].map(|()| row.value());
        let exact = row.maybe_bool()?.map_or(Value::Null, Value::Bool);
        Ok(vec![Value::Int(new), benchmark, unit, value, boots, exact])
    });
    insert_many(to, FIGURES, figures.collect::<Result<_, Error>>()?)?;
    Ok(true)
}

fn copy_pins(from: &mut dyn Database, to: &mut dyn Database) -> Result<u64, Error> {
    let sql = "SELECT pins.platform, pins.judged_on, runs.digest
         FROM pins JOIN runs ON runs.id = pins.run ORDER BY pins.platform, pins.judged_on";
    let mut copied = 0;
    for mut row in from.query(sql, &[])? {
        let values = [(); 3].map(|()| row.value());
        let sql = "INSERT INTO pins (platform, judged_on, run)
             SELECT $1, $2, id FROM runs WHERE digest = $3
             ON CONFLICT (platform, judged_on) DO NOTHING";
        copied += to.execute(sql, &values)?;
    }
    Ok(copied)
}
