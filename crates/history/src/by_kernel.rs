//! The figures of each kernel's newest runs.

use crate::database::Columns;
use crate::filter::{Filter, Wanted};
use crate::{Error, Store};

/// A benchmark's figure in a run of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelFigure {
    /// The run's number.
    pub run: i64,
    /// Its platform.
    pub platform: String,
    /// On time the machine that measured, else nothing.
    pub host: String,
    /// The kernel under test.
    pub kernel: String,
    /// When the run started.
    pub created: String,
    /// The benchmark.
    pub benchmark: String,
    /// The unit of `value`.
    pub unit: String,
    /// The cost of one operation.
    pub value: f64,
}

impl Store {
    /// All figures of the newest runs of each platform and kernel, on time of each host: of so many runs each. The newest
    /// first.
    ///
    /// # Errors
    /// The history can't be read.
    pub fn by_kernel(&mut self, filter: Filter<'_>, most: i64) -> Result<Vec<KernelFigure>, Error> {
        let mut wanted = Wanted::of(filter);
        let conditions = wanted.conditions(" AND ");
        wanted.values.push(most.into());
        // Of the runs an index has all that is read, so a run's result is not touched.
        let sql = format!(
            "SELECT recent.id, recent.platform, recent.judged_on, recent.kernel, recent.created,
                 figures.benchmark, figures.unit, figures.value
             FROM (
                 SELECT id, platform, judged_on, kernel, created, row_number() OVER (
                     PARTITION BY platform, judged_on, kernel ORDER BY created DESC, id DESC
                 ) AS place FROM runs WHERE kernel IS NOT NULL{conditions}
             ) AS recent JOIN figures ON figures.run = recent.id
             WHERE recent.place <= ${} ORDER BY recent.created DESC, recent.id DESC",
            wanted.values.len()
        );
        let rows = self.db.query(&sql, &wanted.values)?;
        let figure = |mut row: Columns| {
            Ok(KernelFigure {
                run: row.int()?,
                platform: row.text()?,
                host: row.text()?,
                kernel: row.text()?,
                created: row.text()?,
                benchmark: row.text()?,
                unit: row.text()?,
                value: row.real()?,
            })
        };
        rows.into_iter().map(figure).collect()
    }
}
