//! The interface of a back-end: statements with values, and transactions.

use crate::Error;

/// A value of a statement or of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Real(f64),
    Text(String),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, T::into)
    }
}

/// The values of a row, taken from left to right.
#[derive(Debug)]
pub(crate) struct Columns {
    values: std::vec::IntoIter<Value>,
    /// The history's name, for errors.
    place: String,
}

impl Columns {
    pub fn new(values: Vec<Value>, place: &str) -> Self {
        Self {
            values: values.into_iter(),
            place: place.to_owned(),
        }
    }

    pub fn value(&mut self) -> Value {
        self.values.next().unwrap_or(Value::Null)
    }

    fn wrong<T>(&self, found: &Value) -> Result<T, Error> {
        Err(Error::Column {
            place: self.place.clone(),
            found: format!("{found:?}"),
        })
    }

    pub fn text(&mut self) -> Result<String, Error> {
        match self.value() {
            Value::Text(text) => Ok(text),
            other => self.wrong(&other),
        }
    }

    pub fn maybe_text(&mut self) -> Result<Option<String>, Error> {
        match self.value() {
            Value::Null => Ok(None),
            Value::Text(text) => Ok(Some(text)),
            other => self.wrong(&other),
        }
    }

    pub fn int(&mut self) -> Result<i64, Error> {
        match self.value() {
            Value::Int(number) => Ok(number),
            other => self.wrong(&other),
        }
    }

    pub fn real(&mut self) -> Result<f64, Error> {
        match self.value() {
            Value::Real(number) => Ok(number),
            Value::Int(number) => Ok(number as f64),
            other => self.wrong(&other),
        }
    }

    /// Takes a boolean. SQLite has no boolean values: there they are 0 and 1.
    pub fn maybe_bool(&mut self) -> Result<Option<bool>, Error> {
        match self.value() {
            Value::Null => Ok(None),
            Value::Bool(value) => Ok(Some(value)),
            Value::Int(number) => Ok(Some(number != 0)),
            other => self.wrong(&other),
        }
    }

    pub fn bool(&mut self) -> Result<bool, Error> {
        Ok(self.maybe_bool()?.unwrap_or(false))
    }
}

/// A back-end. Parameters are `$1`, `$2` and so on, each first used in this order: so SQLite and PostgreSQL read the
/// same statements.
pub(crate) trait Database: std::fmt::Debug {
    /// The history's name in messages: a path, or an address without its password.
    fn name(&self) -> &str;

    /// The rows of a query.
    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Columns>, Error>;

    /// Runs one statement; returns how many rows it changed.
    fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, Error>;

    /// Begins a transaction that sees one state of the history. `write`: the transaction may also change it.
    fn begin(&mut self, write: bool) -> Result<(), Error>;

    fn commit(&mut self) -> Result<(), Error>;

    /// Undoes all since [`Self::begin`]. A failure needs no report: a lost connection undoes everything as well.
    fn roll_back(&mut self);

    /// Returns the greatest number that a run ever had, even if that run was removed.
    fn last_id(&mut self) -> Result<i64, Error>;

    /// Makes new runs get greater numbers than `id`.
    fn set_last_id(&mut self, id: i64) -> Result<(), Error>;

    /// Updates the statistics that queries are planned with, after many rows were added.
    fn analyze(&mut self) -> Result<(), Error>;

    /// Gives roles of the server this right and no other.
    fn grant(&mut self, right: crate::Right, roles: &[String]) -> Result<(), Error>;
}

/// Runs `work` in a transaction: all of its changes take effect, or none.
pub(crate) fn transaction<D: Database + ?Sized, T>(
    db: &mut D,
    write: bool,
    work: impl FnOnce(&mut D) -> Result<T, Error>,
) -> Result<T, Error> {
    db.begin(write)?;
    let done = work(db).and_then(|done| {
        db.commit()?;
        Ok(done)
    });
    if done.is_err() {
        db.roll_back();
    }
    done
}
