//! Translates the client library's errors into words with a cure.

use super::address::{Address, cause};
use super::schema::SCHEMA;
use crate::Error;
use postgres::error::{DbError, SqlState};

/// Makes the error of a failed connection.
pub(super) fn of_connection(address: &Address, error: &postgres::Error) -> Error {
    let (user, database) = (address.user(), address.database());
    let what = match error.as_db_error() {
        Some(said) => match *said.code() {
            SqlState::INVALID_PASSWORD => format!("the password of {user} is wrong"),
            SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
                format!("the server does not let {user} in: {}", said.message())
            }
            SqlState::INVALID_CATALOG_NAME => {
                format!("there is no database {database}: make it with createdb {database}")
            }
            SqlState::CANNOT_CONNECT_NOW | SqlState::TOO_MANY_CONNECTIONS => {
                format!("try again later: {}", said.message())
            }
            _ => said_by_server(said, user),
        },
        None => match cause(error).as_str() {
            "password missing" => format!(
                "{user} needs a password: set PGPASSWORD, or write it into ~/.pgpass as HOST:PORT:DATABASE:USER:PASSWORD"
            ),
            why => format!(
                "can't connect ({why}): check that the server runs there and accepts such connections"
            ),
        },
    };
    Error::Server {
        place: address.to_string(),
        what,
    }
}

/// Makes the error of a failed statement.
pub(super) fn of_statement(name: &str, user: &str, error: &postgres::Error) -> Error {
    let what = match error.as_db_error() {
        Some(said) => said_by_server(said, user),
        None => format!(
            "the connection was lost ({}); unfinished work was undone: try again",
            cause(error)
        ),
    };
    Error::Server {
        place: name.to_owned(),
        what,
    }
}

/// Makes the error of a statement that the server would neither refuse nor carry out.
pub(super) fn not_allowed(name: &str, user: &str, why: &str) -> Error {
    Error::Server {
        place: name.to_owned(),
        what: may_not(user, why),
    }
}

fn may_not(user: &str, why: &str) -> String {
    format!(
        "{user} may not do this ({why}): the owner of the schema {SCHEMA} can allow it with history grant"
    )
}

fn said_by_server(said: &DbError, user: &str) -> String {
    let message = said.message();
    match *said.code() {
        SqlState::INSUFFICIENT_PRIVILEGE => may_not(user, message),
        SqlState::DISK_FULL => {
            format!("the server's disk is full, so nothing was kept: {message}")
        }
        SqlState::LOCK_NOT_AVAILABLE => {
            format!("another program has been writing for half a minute: try again ({message})")
        }
        SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN | SqlState::CANNOT_CONNECT_NOW => {
            format!("the server is going down; unfinished work was undone: try again ({message})")
        }
        _ => match said.detail() {
            Some(detail) => format!("{message} ({detail})"),
            None => message.to_owned(),
        },
    }
}
