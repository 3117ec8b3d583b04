//! Address of a server: `postgresql://...`, with libpq's variables and password file for the parts that it leaves out.
//! Pure but for the password file.

use super::tls::{Mode, Tls};
use crate::Error;
use postgres::Config;
use postgres::config::Host;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

const SCHEMES: [&str; 2] = ["postgresql://", "postgres://"];

/// How long a connection may take, unless `connect_timeout` or PGCONNECT_TIMEOUT says otherwise.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long data may go unconfirmed before the connection counts as lost.
const LOST: Duration = Duration::from_secs(30);

/// Folder of the socket of Debian's server.
const SOCKETS: &str = "/var/run/postgresql";

/// The address of a database. It is shown without its password.
#[derive(Clone)]
pub struct Address {
    pub(super) config: Config,
    pub(super) tls: Tls,
}

/// A variable of the environment.
type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Address {
    /// Tells whether a text is meant as an address.
    pub fn is_one(text: &str) -> bool {
        SCHEMES.iter().any(|scheme| text.starts_with(scheme))
    }

    /// Reads an address; parts that it leaves out come from PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE, PGSSLMODE,
    /// PGSSLROOTCERT, PGCONNECT_TIMEOUT, and from the password file (PGPASSFILE, `~/.pgpass`).
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::parse_with(text, &|name| {
            std::env::var(name).ok().filter(|value| !value.is_empty())
        })
    }

    pub(super) fn parse_with(text: &str, variable: Variable<'_>) -> Result<Self, Error> {
        let port = variable("PGPORT").map(|port| match port.parse::<u16>() {
            Ok(_) => Ok(port),
            Err(_) => Err(wrong(format!("PGPORT={port} is not a port number"))),
        });
        let port = port.transpose()?;
        let (mut config, tls) = read(&with_port(text, port.as_deref().unwrap_or("5432")))?;
        fill(&mut config, variable).map_err(wrong)?;
        let value = |own: Option<String>, name: &str| own.or_else(|| variable(name));
        let mode = value(tls.mode, "PGSSLMODE");
        let mode = mode.map_or(Ok(Mode::Prefer), |mode| Mode::parse(&mode));
        let home = variable("HOME").map(PathBuf::from);
        let tls = Tls {
            mode: mode.map_err(wrong)?,
            root: value(tls.root, "PGSSLROOTCERT").map(PathBuf::from),
            home: home.clone(),
        };
        config.ssl_mode(tls.mode.of_client());
        let mut address = Self { config, tls };
        // Last, because host, port, database and user select a line of the password file.
        if address.config.get_password().is_none() {
            let file = variable("PGPASSFILE").map(PathBuf::from);
            let file = file.or_else(|| Some(home?.join(".pgpass")));
            if let Some(password) = file.map_or(Ok(None), |file| address.kept_password(&file))? {
                address.config.password(password);
            }
        }
        Ok(address)
    }

    /// Tells whether the text itself has a password.
    pub fn has_password(text: &str) -> Result<bool, Error> {
        let (config, _) = read(text)?;
        Ok(config.get_password().is_some())
    }

    /// The role that connects.
    pub(super) fn user(&self) -> &str {
        self.config.get_user().unwrap_or_default()
    }

    pub(super) fn database(&self) -> &str {
        self.config.get_dbname().unwrap_or_default()
    }

    fn port(&self) -> u16 {
        self.config.get_ports().first().copied().unwrap_or(5432)
    }

    /// The host, or the folder of its socket.
    fn host(&self) -> String {
        match self.config.get_hosts().first() {
            Some(Host::Tcp(name)) => name.clone(),
            Some(Host::Unix(folder)) => folder.display().to_string(),
            None => String::new(),
        }
    }

    /// Finds the password in libpq's file: `HOST:PORT:DATABASE:USER:PASSWORD` on each line, `*` for any.
    fn kept_password(&self, file: &Path) -> Result<Option<String>, Error> {
        use std::os::unix::fs::PermissionsExt;
        let wrong = |why: String| Error::File {
            path: file.to_owned(),
            why,
        };
        let Ok(facts) = std::fs::metadata(file) else {
            return Ok(None);
        };
        if facts.is_file() && facts.permissions().mode() & 0o077 != 0 {
            return Err(wrong(
                "others may read the passwords in it: chmod 600 it".into(),
            ));
        }
        let text = std::fs::read_to_string(file).map_err(|cause| wrong(cause.to_string()))?;
        let host = self.host();
        let host = match host.as_str() {
            SOCKETS => "localhost",
            other => other,
        };
        let port = self.port().to_string();
        let wanted = [host, &port, self.database(), self.user()];
        Ok(text.lines().find_map(|line| password(line, wanted)))
    }
}

/// Returns the last field of a line whose first four are the wanted ones. `\` quotes the next character.
fn password(line: &str, wanted: [&str; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if character == ':' && fields.len() <= wanted.len() {
            fields.push(String::new());
        } else if let Some(field) = fields.last_mut() {
            match character {
                '\\' => field.extend(characters.next()),
                other => field.push(other),
            }
        }
    }
    let password = fields.get(wanted.len())?.clone();
    let is_it = |(field, wanted): (&String, &&str)| field == "*" || field == wanted;
    fields.iter().zip(&wanted).all(is_it).then_some(password)
}

/// Makes an error of a wrong address. The error never has the address, which may have a password.
fn wrong(what: String) -> Error {
    Error::Address(format!(
        "the address of the database is wrong: {what}; it has the form postgresql://USER@HOST:PORT/DATABASE"
    ))
}

/// Reads the address itself, without the environment.
fn read(text: &str) -> Result<(Config, SaidOfTls), Error> {
    if !Address::is_one(text) {
        return Err(wrong("it does not begin with postgresql://".into()));
    }
    let (plain, tls) = split_tls(text);
    let config = Config::from_str(&plain).map_err(|error| wrong(cause(&error)))?;
    Ok((config, tls))
}

/// Options of TLS in an address, for which the client library has other names.
#[derive(Default)]
struct SaidOfTls {
    mode: Option<String>,
    root: Option<String>,
}

/// Adds the port to an address that has a host without one: the client library would take 5432.
fn with_port(text: &str, port: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    // A colon in brackets is part of an IPv6 address.
    let after = host.rsplit_once(']').map_or(host, |(_, after)| after);
    match host.is_empty() || after.contains(':') {
        true => text.to_owned(),
        false => format!("{scheme}://{authority}:{port}{rest}"),
    }
}

/// Takes `sslmode` and `sslrootcert` out of the address.
fn split_tls(text: &str) -> (String, SaidOfTls) {
    let mut said = SaidOfTls::default();
    let Some((front, query)) = text.split_once('?') else {
        return (text.to_owned(), said);
    };
    let mut rest = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("sslmode", mode)) => said.mode = Some(decoded(mode)),
            Some(("sslrootcert", file)) => said.root = Some(decoded(file)),
            _ => rest.push(pair),
        }
    }
    match rest.is_empty() {
        true => (front.to_owned(), said),
        false => (format!("{front}?{}", rest.join("&")), said),
    }
}

/// Decodes `%2F` and the like to the bytes that they stand for. All other text stays.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = (first == b'%').then(|| after.get(..2)).flatten();
        let code =
            code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        match code {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Fills in the parts that the address leaves out, from the environment.
fn fill(config: &mut Config, variable: Variable<'_>) -> Result<(), String> {
    if config.get_hosts().is_empty() {
        match variable("PGHOST") {
            Some(host) => config.host(&host),
            None if Path::new(SOCKETS).is_dir() => config.host_path(SOCKETS),
            None => config.host("localhost"),
        };
    }
    if config.get_hosts().len() > 1 {
        return Err("it names more than one host".into());
    }
    if config.get_ports().is_empty() {
        if let Some(port) = variable("PGPORT") {
            let port = port
                .parse()
                .map_err(|_| format!("PGPORT={port} is not a port number"))?;
            config.port(port);
        }
    }
    if config.get_user().is_none() {
        let user = variable("PGUSER").or_else(|| variable("USER"));
        let user = user.ok_or("it names no user, and neither PGUSER nor USER is set")?;
        config.user(&user);
    }
    // After the user, whose name is the default.
    if config.get_dbname().is_none() {
        let user = config.get_user().unwrap_or_default().to_owned();
        config.dbname(&variable("PGDATABASE").unwrap_or(user));
    }
    if config.get_password().is_none() {
        if let Some(password) = variable("PGPASSWORD") {
            config.password(password);
        }
    }
    if config.get_connect_timeout().is_none() {
        let seconds = variable("PGCONNECT_TIMEOUT").map(|seconds| {
            let wrong = |_| format!("PGCONNECT_TIMEOUT={seconds} is not a number of seconds");
            seconds.parse().map_err(wrong)
        });
        config.connect_timeout(seconds.transpose()?.map_or(PATIENCE, Duration::from_secs));
    }
    if config.get_application_name().is_none() {
        config.application_name("worldswitch");
    }
    config.tcp_user_timeout(LOST).keepalives_idle(LOST);
    Ok(())
}

/// Returns the innermost cause of an error, without the words that the client library puts before it.
pub(super) fn cause(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(next) = last.source() {
        last = next;
    }
    last.to_string()
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.host();
        let (user, database, port) = (self.user(), self.database(), self.port());
        match host.starts_with('/') {
            true => write!(out, "database {database} of {host}:{port} as {user}"),
            false => write!(out, "postgresql://{user}@{host}:{port}/{database}"),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str, variables: &[(&str, &str)]) -> Result<Address, String> {
        let variable = |name: &str| {
            let mut all = variables.iter();
            all.find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        };
        Address::parse_with(text, &variable).map_err(|error| error.to_string())
    }

    #[test]
    fn what_the_address_leaves_out_is_in_the_environment() {
        let variables = [
            ("PGHOST", "db"),
            ("PGPORT", "6000"),
            ("PGUSER", "ada"),
            ("PGDATABASE", "lab"),
            ("PGPASSWORD", "secret"),
            ("PGSSLMODE", "verify-full"),
            ("PGSSLROOTCERT", "/ca.pem"),
        ];
        let address = parsed("postgresql://", &variables).unwrap();
        assert_eq!(address.to_string(), "postgresql://ada@db:6000/lab");
        assert_eq!(address.config.get_password(), Some(&b"secret"[..]));
        assert_eq!(address.tls.mode, Mode::VerifyFull);
        assert_eq!(address.tls.root, Some("/ca.pem".into()));
        let own = "postgres://bob:own@here:1/x?sslmode=disable&connect_timeout=3&sslrootcert=a%2Fb";
        let address = parsed(own, &variables).unwrap();
        assert_eq!(address.to_string(), "postgresql://bob@here:1/x");
        assert_eq!(address.config.get_password(), Some(&b"own"[..]));
        assert_eq!(address.tls.mode, Mode::Disable);
        assert_eq!(address.tls.root, Some("a/b".into()));
        assert_eq!(
            address.config.get_connect_timeout(),
            Some(&Duration::from_secs(3))
        );
        let port = parsed("postgresql://[::1]/x", &variables).unwrap();
        assert_eq!(port.config.get_ports(), [6000]);
        let socket = parsed("postgresql:///lab?host=/run/x", &variables[2..3]).unwrap();
        assert_eq!(socket.to_string(), "database lab of /run/x:5432 as ada");
    }

    #[test]
    fn a_wrong_address_is_refused_and_its_password_not_shown() {
        for (text, why) in [
            ("mysql://x", "does not begin with postgresql://"),
            ("postgresql://a:secret@h:port/d", "the address"),
            ("postgresql://a:secret@h/d?colour=blue", "colour"),
            ("postgresql://a:secret@h/d?sslmode=allow", "allow"),
            ("postgresql://a:secret@h,i/d", "more than one host"),
        ] {
            let error = parsed(text, &[]).unwrap_err();
            assert!(error.contains(why) && !error.contains("secret"), "{error}");
        }
        assert!(
            parsed("postgresql://h/d", &[])
                .unwrap_err()
                .contains("PGUSER")
        );
        let error = parsed("postgresql://a@h/d", &[("PGPORT", "x")]).unwrap_err();
        assert!(error.contains("PGPORT=x is not a port number"), "{error}");
    }

    #[test]
    fn a_password_is_seen_wherever_the_address_has_it() {
        for (text, has) in [
            (
                "postgresql://u@h:1/d?connect_timeout=3&sslmode=require",
                false,
            ),
            // Of the password's own letters, but no password.
            (
                "postgresql://u@h/password=p?application_name=password%3Dp",
                false,
            ),
            ("postgresql://u:p@h/d", true),
            ("postgresql://u@h/d?port=1&password=p", true),
            ("postgresql://u@h/d?pass%77ord=p", true),
        ] {
            assert_eq!(Address::has_password(text).ok(), Some(has), "{text}");
        }
        for text in [
            "mysql://u:p@h/d",
            "h.sqlite",
            "postgresql://u@h/d?sslpassword=p",
        ] {
            assert!(Address::has_password(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_password_is_found_in_the_file() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pass");
        let lines = "# of the lab\nother:*:*:*:no\nh:5432:d:a:with\\:colon\n*:*:*:*:any\n";
        std::fs::write(&file, lines).unwrap();
        let mode = |mode| std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
        let variables = [("PGPASSFILE", file.to_str().unwrap())];
        let of = |text: &str| {
            let address = parsed(text, &variables).unwrap();
            String::from_utf8(address.config.get_password().unwrap().to_vec()).unwrap()
        };
        mode(0o600);
        assert_eq!(of("postgresql://a@h/d"), "with:colon");
        assert_eq!(of("postgresql://b@h/d"), "any");
        assert_eq!(of("postgresql://b:own@h/d"), "own");
        mode(0o644);
        let error = parsed("postgresql://a@h/d", &variables).unwrap_err();
        assert!(error.ends_with("chmod 600 it"), "{error}");
    }
}
