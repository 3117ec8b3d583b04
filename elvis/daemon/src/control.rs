//! The control socket: each connection sends a line of JSON and gets a line of JSON.
//!
//! `{"do":"list"}`, `{"do":"stats"}`, `{"do":"add","device":{...}}`, `{"do":"remove","name":"..."}`,
//! `{"do":"move","name":"...","thread":N}`, `{"do":"resize","name":"..."}`,
//! `{"do":"weight","name":"...","weight":N}`, `{"do":"limit","name":"...","limits":{"bytes_per_s":N}}` (null: no
//! limit), `{"do":"drain"}`. A reply has `"ok"`: true, with `"devices"`, `"stats"` or `"resized"` if requested, or false
//! with an `"error"`.

use crate::config::device_from_json;
use crate::serve::Server;
use crate::server::{self, Accepting};
use crate::thread;
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Stack of a client's thread.
const STACK: usize = 256 << 10;
/// Longest request, in bytes.
const LONGEST: u64 = 64 << 10;
/// Time that a client may take to send a request.
const PATIENCE: Duration = Duration::from_secs(5);

/// Answers one request. True: the server must end after the reply.
#[must_use]
pub fn answer(server: &Server, request: &str) -> (Value, bool) {
    let (reply, end) = match serde_json::from_str::<Value>(request) {
        Ok(request) => carry_out(server, request),
        Err(error) => (Err(format!("the request is not JSON: {error}")), false),
    };
    (
        reply.unwrap_or_else(|error| json!({ "ok": false, "error": error })),
        end,
    )
}

fn carry_out(server: &Server, mut request: Value) -> (Result<Value, String>, bool) {
    let said = |done: io::Result<()>| {
        done.map(|()| json!({ "ok": true }))
            .map_err(|e| e.to_string())
    };
    let reply = match request["do"].as_str() {
        Some("list") => {
            // One list for users: an uplink is an entry of its own kind.
            let devices = server.list().into_iter().map(|device| json!(device));
            let uplinks = server
                .list_uplinks()
                .into_iter()
                .map(|uplink| json!(uplink));
            let all: Vec<Value> = devices.chain(uplinks).collect();
            Ok(json!({ "ok": true, "devices": all }))
        }
        Some("stats") => server
            .stats()
            .map(|stats| json!({ "ok": true, "stats": stats }))
            .map_err(|error| error.to_string()),
        Some("add") => {
            device_from_json(request["device"].take()).and_then(|spec| said(server.add(spec)))
        }
        Some("remove") => match request["name"].as_str() {
            Some(name) => said(server.remove(name)),
            None => Err("remove requires a name".to_owned()),
        },
        Some("move") => match (request["name"].as_str(), request["thread"].as_u64()) {
            (Some(name), Some(thread)) => {
                let thread = usize::try_from(thread).unwrap_or(usize::MAX);
                said(server.move_device(name, thread))
            }
            _ => Err("move requires a name and a thread".to_owned()),
        },
        Some("resize") => match request["name"].as_str() {
            Some(name) => server
                .resize(name)
                .map(|resized| json!({ "ok": true, "resized": resized }))
                .map_err(|error| error.to_string()),
            None => Err("resize requires a name".to_owned()),
        },
        Some("weight") => match (request["name"].as_str(), request["weight"].as_u64()) {
            (Some(name), Some(weight)) => said(server.set_weight(name, weight)),
            _ => Err("weight requires a name and a weight".to_owned()),
        },
        Some("limit") => match request["name"].as_str() {
            Some(name) => said(server.set_limit(name, &request["limits"])),
            None => Err("limit requires a name".to_owned()),
        },
        Some("drain") => {
            server.drain();
            return (Ok(json!({ "ok": true })), true);
        }
        _ => Err(
            "\"do\" must be one of list, stats, add, remove, move, resize, weight, limit, drain"
                .to_owned(),
        ),
    };
    (reply, false)
}

/// Listens at a path to which only this user may connect.
///
/// # Errors
///
/// The socket can't be made, or another process listens there.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let listener = server::listen(path).map_err(named)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(named)?;
    Ok(listener)
}

/// Answers clients until the process exits, each in its own thread, as a request may wait for a disk.
/// Calls `ended` when a client ended the server.
pub fn run(
    listener: &UnixListener,
    server: &Arc<Server>,
    ended: impl Fn() + Clone + Send + 'static,
) {
    let mut accepting = Accepting::default();
    for stream in listener.incoming() {
        let stream = match stream {
            Ok(stream) => stream,
            Err(error) => {
                std::thread::sleep(accepting.failed("the control socket", &error));
                continue;
            }
        };
        accepting.worked();
        let (server, ended) = (Arc::clone(server), ended.clone());
        let started = thread::start("elvis-ctl-client", Some(STACK), move || {
            // Reads and writes time out; errors affect only this client.
            if let Ok(true) = one_client(&stream, &server) {
                ended();
            }
        });
        if let Err(error) = started {
            log::warn!("can't answer a client of the control socket: {error}");
        }
    }
}

fn one_client(stream: &UnixStream, server: &Server) -> io::Result<bool> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST)).read_line(&mut line)?;
    let (reply, end) = answer(server, &line);
    let mut stream = stream;
    // After "drain" the server ends even if the client is gone.
    let sent = writeln!(stream, "{reply}");
    if end { Ok(true) } else { sent.map(|()| false) }
}

/// Sends one request, and returns the reply.
///
/// # Errors
///
/// No server listens there, or the reply is not JSON.
pub fn ask(path: &Path, request: &Value) -> io::Result<Value> {
    let named = |error: io::Error| {
        io::Error::new(
            error.kind(),
            format!(
                "{}: {error}; does \"elvis serve --control\" run?",
                path.display()
            ),
        )
    };
    let mut stream = UnixStream::connect(path).map_err(named)?;
    writeln!(stream, "{request}")?;
    let mut reply = String::new();
    BufReader::new(stream).read_line(&mut reply)?;
    serde_json::from_str(&reply).map_err(|error| io::Error::other(format!("bad reply: {error}")))
}
