//! The back-end of one SQLite file.

mod schema;

pub(crate) use schema::VERSION;

use crate::database::{Columns, Database, Value};
use crate::{Error, Right};
use rusqlite::types::{ToSqlOutput, Value as Theirs, ValueRef};
use rusqlite::{Connection, OpenFlags, ToSql, params_from_iter};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long to wait while another program writes.
const PATIENCE: Duration = Duration::from_secs(10);

/// An open file.
#[derive(Debug)]
pub(crate) struct Sqlite {
    path: PathBuf,
    name: String,
    db: Connection,
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(Theirs::Null),
            Self::Bool(value) => (*value).into(),
            Self::Int(number) => (*number).into(),
            Self::Real(number) => (*number).into(),
            Self::Text(text) => text.as_str().into(),
        })
    }
}

fn value(found: ValueRef<'_>) -> rusqlite::Result<Value> {
    Ok(match found {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(_) | ValueRef::Blob(_) => Value::Text(found.as_str()?.to_owned()),
    })
}

impl Sqlite {
    /// Opens a history; `create`: makes its folder and an empty one if there is none.
    pub fn open(path: &Path, create: bool) -> Result<Self, Error> {
        if !create && !path.exists() {
            return Err(Error::NotThere(path.display().to_string()));
        }
        if let Some(folder) = path.parent().filter(|_| create) {
            std::fs::create_dir_all(folder).map_err(|cause| Error::Folder {
                path: path.to_owned(),
                cause,
            })?;
        }
        let failed = |cause| Error::Sqlite {
            path: path.to_owned(),
            cause,
        };
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        flags.set(OpenFlags::SQLITE_OPEN_CREATE, create);
        let mut db = Connection::open_with_flags(path, flags).map_err(failed)?;
        db.busy_timeout(PATIENCE).map_err(failed)?;
        // The migration rebuilds tables that others refer to.
        db.pragma_update(None, "foreign_keys", false)
            .map_err(failed)?;
        schema::prepare(&mut db, path, create)?;
        db.pragma_update(None, "foreign_keys", true)
            .map_err(failed)?;
        Ok(Self {
            name: path.display().to_string(),
            path: path.to_owned(),
            db,
        })
    }

    fn failed(&self) -> impl Fn(rusqlite::Error) -> Error + use<> {
        let path = self.path.clone();
        move |cause| Error::Sqlite {
            path: path.clone(),
            cause,
        }
    }
}

impl Database for Sqlite {
    fn name(&self) -> &str {
        &self.name
    }

    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Columns>, Error> {
        let failed = self.failed();
        let mut statement = self.db.prepare_cached(sql).map_err(&failed)?;
        let columns = statement.column_count();
        let mut rows = statement.query(params_from_iter(values)).map_err(&failed)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next().map_err(&failed)? {
            let read = (0..columns).map(|index| value(row.get_ref(index)?));
            let read = read.collect::<rusqlite::Result<_>>().map_err(&failed)?;
            all.push(Columns::new(read, &self.name));
        }
        Ok(all)
    }

    fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, Error> {
        let failed = self.failed();
        let mut statement = self.db.prepare_cached(sql).map_err(&failed)?;
        let changed = statement.execute(params_from_iter(values));
        Ok(changed.map_err(&failed)? as u64)
    }

    /// Begins a transaction; one that writes takes the write lock first. SQLite does not let a transaction that has
    /// read wait for the lock.
    fn begin(&mut self, write: bool) -> Result<(), Error> {
        let sql = if write { "BEGIN IMMEDIATE" } else { "BEGIN" };
        self.db.execute_batch(sql).map_err(self.failed())
    }

    fn commit(&mut self) -> Result<(), Error> {
        self.db.execute_batch("COMMIT").map_err(self.failed())
    }

    fn roll_back(&mut self) {
        let _ = self.db.execute_batch("ROLLBACK");
    }

    fn last_id(&mut self) -> Result<i64, Error> {
        let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'runs'";
        let mut rows = self.query(sql, &[])?;
        rows.first_mut().map_or(Ok(0), Columns::int)
    }

    fn set_last_id(&mut self, id: i64) -> Result<(), Error> {
        schema::set_last_id(&self.db, id).map_err(self.failed())
    }

    fn analyze(&mut self) -> Result<(), Error> {
        self.db.execute_batch("ANALYZE").map_err(self.failed())
    }

    fn grant(&mut self, _right: Right, _roles: &[String]) -> Result<(), Error> {
        Err(Error::NoRoles(self.name.clone()))
    }
}
