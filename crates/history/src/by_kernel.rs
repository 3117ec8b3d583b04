//! The figures of each kernel's newest runs.

use crate::database::Columns;
use crate::filter::{Filter, Wanted};
use crate::{Error, Store};

/// The index that the query of these figures reads.
pub(crate) const INDEX: &str = "CREATE INDEX runs_by_kernel ON runs (platform, judged_on, kernel, created, id) WHERE kernel IS NOT NULL";

/// A benchmark's figure in a run of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelFigure {
    /// The run's number.
    pub run: i64,
    pub platform: String,
    /// The host that measured, on time; else empty.
    pub host: String,
    /// The kernel under test.
    pub kernel: String,
    /// Start of the first run of this platform and kernel; on time, of this host.
    pub first: String,
    /// The benchmark.
    pub benchmark: String,
    /// The unit of `value`.
    pub unit: String,
    /// The cost of one operation.
    pub value: f64,
}

impl Store {
    /// Returns all figures of the newest `most` runs of each platform and kernel; on time, also of each host. The
    /// newest run is first; the figures of a run are together.
    pub fn by_kernel(&mut self, filter: Filter<'_>, most: i64) -> Result<Vec<KernelFigure>, Error> {
        let mut wanted = Wanted::of(filter);
        let conditions = wanted.conditions(" AND ");
        wanted.values.push(most.into());
        // Without a host in the filter the index has all that is read of the runs, so no result is touched.
        let sql = format!(
            "SELECT recent.id, recent.platform, recent.judged_on, recent.kernel, recent.first,
                 figures.benchmark, figures.unit, figures.value
             FROM (
                 SELECT id, platform, judged_on, kernel, created,
                     min(created) OVER (PARTITION BY platform, judged_on, kernel) AS first,
                     row_number() OVER (
                         PARTITION BY platform, judged_on, kernel ORDER BY created DESC, id DESC
                     ) AS place
                 FROM runs WHERE kernel IS NOT NULL{conditions}
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
                first: row.text()?,
                benchmark: row.text()?,
                unit: row.text()?,
                value: row.real()?,
            })
        };
        rows.into_iter().map(figure).collect()
    }
}
