//! The back-end of a database on a PostgreSQL server.

mod address;
mod right;
mod schema;
mod tls;
mod wrong;

pub use address::Address;
pub use right::Right;

use crate::Error;
use crate::database::{Columns, Database, Value, transaction};
use postgres::types::{FromSql, IsNull, ToSql, Type, private::BytesMut, to_sql_checked};
use postgres::{Client, Statement};
use schema::SCHEMA;
pub(crate) use schema::{STEPS, Step};
use std::collections::HashMap;
use std::error::Error as Any;
use std::sync::mpsc;
use std::time::Duration;

/// Settings of each session: the schema of its tables, and how long it waits for others that write.
const SESSION: &str = "SET search_path = worldswitch; SET lock_timeout = '30s'";

/// An open connection.
pub(crate) struct Server {
    client: Client,
    name: String,
    user: String,
    /// Statements that the server has seen.
    prepared: HashMap<String, Statement>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.name)
    }
}

impl ToSql for Value {
    fn to_sql(&self, to: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Any + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Bool(value) => value.to_sql(to, out),
            Self::Int(number) => number.to_sql(to, out),
            Self::Real(number) => number.to_sql(to, out),
            Self::Text(text) => text.to_sql(to, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(from: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Any + Sync + Send>> {
        Ok(match *from {
            Type::BOOL => Self::Bool(bool::from_sql(from, raw)?),
            Type::INT8 => Self::Int(i64::from_sql(from, raw)?),
            Type::INT4 => Self::Int(i32::from_sql(from, raw)?.into()),
            Type::FLOAT8 => Self::Real(f64::from_sql(from, raw)?),
            _ => Self::Text(String::from_sql(from, raw)?),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Any + Sync + Send>> {
        Ok(Self::Null)
    }

    fn accepts(of: &Type) -> bool {
        matches!(
            *of,
            Type::BOOL
                | Type::INT4
                | Type::INT8
                | Type::FLOAT8
                | Type::TEXT
                | Type::VARCHAR
                | Type::NAME
        )
    }
}

impl Server {
    /// Connects to a history; `create`: makes an empty one if there is none.
    pub fn open(address: &Address, create: bool) -> Result<Self, Error> {
        Self::open_as(address, create, STEPS)
    }

    pub(crate) fn open_as(address: &Address, create: bool, steps: &[Step]) -> Result<Self, Error> {
        let mut server = Self::connect(address)?;
        let known = steps.last().map_or(0, |step| step.0);
        match server.version()? {
            None if create => {
                server.upgrade(steps)?;
            }
            None => return Err(Error::NotThere(server.name)),
            Some(found) if found > known => {
                return Err(Error::Newer {
                    place: server.name,
                    found,
                    known,
                });
            }
            Some(found) if found < known => {
                return Err(Error::Older {
                    owner: server.owner()?,
                    place: server.name,
                    found,
                    known,
                });
            }
            Some(_) => {}
        }
        Ok(server)
    }

    /// Brings the tables to this program's version; returns the versions before and after.
    pub fn migrated(address: &Address) -> Result<(i64, i64), Error> {
        Self::migrated_to(address, STEPS)
    }

    pub(crate) fn migrated_to(address: &Address, steps: &[Step]) -> Result<(i64, i64), Error> {
        let mut server = Self::connect(address)?;
        if server.version()?.is_none() {
            return Err(Error::NotThere(server.name));
        }
        let found = server.upgrade(steps)?;
        Ok((found, steps.last().map_or(found, |step| step.0)))
    }

    /// Connects on another thread, because the client library limits only a part of a connection's time. The thread
    /// ends with the program if the server never answers.
    fn connect(address: &Address) -> Result<Self, Error> {
        let name = address.to_string();
        let tls = address.tls.connector()?;
        let patience = address.config.get_connect_timeout().copied();
        let patience = patience.unwrap_or(Duration::MAX);
        let (config, (send, receive)) = (address.config.clone(), mpsc::channel());
        std::thread::spawn(move || drop(send.send(config.connect(tls))));
        let connected = receive.recv_timeout(patience).map_err(|_| Error::Server {
            place: name.clone(),
            what: format!(
                "no answer within {} s: check the address and the server",
                patience.as_secs()
            ),
        })?;
        let client = connected.map_err(|error| wrong::of_connection(address, &error))?;
        let mut server = Self {
            client,
            name,
            user: address.user().to_owned(),
            prepared: HashMap::new(),
        };
        server.batch(SESSION)?;
        Ok(server)
    }

    fn failed(&self, error: &postgres::Error) -> Error {
        wrong::of_statement(&self.name, &self.user, error)
    }

    fn batch(&mut self, sql: &str) -> Result<(), Error> {
        self.client
            .batch_execute(sql)
            .map_err(|error| self.failed(&error))
    }

    /// Returns the version of the tables; none without a schema. A schema without the version's table is somebody
    /// else's.
    fn version(&mut self) -> Result<Option<i64>, Error> {
        let sql = "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1),
             EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = 'version')";
        let mut rows = self.query(sql, &[SCHEMA.into()])?;
        let mut there =
            || Ok::<_, Error>(rows.first_mut().map(Columns::bool).transpose()? == Some(true));
        match (there()?, there()?) {
            (false, _) => Ok(None),
            (true, false) => Err(Error::Foreign(format!("schema {SCHEMA} of {}", self.name))),
            (true, true) => {
                let mut rows = self.query("SELECT version FROM worldswitch.version", &[])?;
                let version = rows.first_mut().map(Columns::int).transpose()?;
                Ok(Some(version.unwrap_or_default()))
            }
        }
    }

    fn owner(&mut self) -> Result<String, Error> {
        let sql =
            "SELECT tableowner FROM pg_tables WHERE schemaname = $1 AND tablename = 'version'";
        let mut rows = self.query(sql, &[SCHEMA.into()])?;
        rows.first_mut().map_or(Ok(String::new()), Columns::text)
    }

    /// Makes the missing steps, all or none; one program at a time. Returns the version before.
    fn upgrade(&mut self, steps: &[Step]) -> Result<i64, Error> {
        transaction(self, true, |server| server.upgrade_inside(steps))
    }

    fn upgrade_inside(&mut self, steps: &[Step]) -> Result<i64, Error> {
        // Locked before the version is read: another program may be upgrading.
        let sql = "SELECT pg_advisory_xact_lock(hashtextextended('worldswitch tables', 0)) IS NULL";
        self.query(sql, &[])?;
        let known = steps.last().map_or(0, |step| step.0);
        let found = match self.version()? {
            None => {
                self.batch(&format!("CREATE SCHEMA {SCHEMA}"))?;
                0
            }
            Some(found) => found,
        };
        if found > known {
            return Err(Error::Newer {
                place: self.name.clone(),
                found,
                known,
            });
        }
        if found != 0 && steps.first().is_some_and(|first| found < first.0) {
            return Err(Error::NoWay {
                place: self.name.clone(),
                found,
                known,
            });
        }
        for (version, sql) in steps.iter().filter(|step| step.0 > found) {
            self.batch(sql)?;
            let sql = "UPDATE version SET version = $1";
            self.execute(sql, &[(*version).into()])?;
        }
        Ok(found)
    }

    fn prepared(&mut self, sql: &str) -> Result<Statement, Error> {
        if let Some(known) = self.prepared.get(sql) {
            return Ok(known.clone());
        }
        let statement = self.client.prepare(sql);
        let statement = statement.map_err(|error| self.failed(&error))?;
        self.prepared.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

fn parameters(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as _).collect()
}

impl Database for Server {
    fn name(&self) -> &str {
        &self.name
    }

    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Columns>, Error> {
        let statement = self.prepared(sql)?;
        let rows = self.client.query(&statement, &parameters(values));
        let rows = rows.map_err(|error| self.failed(&error))?;
        let read = |row: &postgres::Row| {
            let values = (0..row.len()).map(|index| row.try_get(index));
            let values = values.collect::<Result<_, _>>();
            Ok(Columns::new(
                values.map_err(|error| self.failed(&error))?,
                &self.name,
            ))
        };
        rows.iter().map(read).collect()
    }

    fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, Error> {
        let statement = self.prepared(sql)?;
        let changed = self.client.execute(&statement, &parameters(values));
        changed.map_err(|error| self.failed(&error))
    }

    fn begin(&mut self, write: bool) -> Result<(), Error> {
        self.batch(match write {
            true => "BEGIN",
            false => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        })
    }

    fn commit(&mut self) -> Result<(), Error> {
        self.batch("COMMIT")
    }

    fn roll_back(&mut self) {
        let _ = self.client.batch_execute("ROLLBACK");
    }

    fn last_id(&mut self) -> Result<i64, Error> {
        let sql =
            "SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('runs', 'id')), 0)";
        let mut rows = self.query(sql, &[])?;
        rows.first_mut().map_or(Ok(0), Columns::int)
    }

    fn set_last_id(&mut self, id: i64) -> Result<(), Error> {
        if id <= self.last_id()? {
            return Ok(());
        }
        let sql = "SELECT setval(pg_get_serial_sequence('runs', 'id'), $1)";
        self.query(sql, &[id.into()])?;
        Ok(())
    }

    fn analyze(&mut self) -> Result<(), Error> {
        self.batch("ANALYZE runs, figures, pins")
    }

    fn grant(&mut self, right: Right, roles: &[String]) -> Result<(), Error> {
        // To a role that is not the owner the server gives a warning and no error.
        let owner = self.owner()?;
        let mut may = self.query("SELECT pg_has_role($1, 'USAGE')", &[owner.as_str().into()])?;
        if !may.first_mut().map_or(Ok(false), Columns::bool)? {
            let why = format!("the tables belong to {owner}");
            return Err(wrong::not_allowed(&self.name, &self.user, &why));
        }
        for role in roles {
            for statement in right.statements(role) {
                self.batch(&statement)?;
            }
        }
        Ok(())
    }
}
