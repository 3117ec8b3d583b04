//! The counters for Prometheus: text format 0.0.4 over HTTP, on loopback or a unix socket.

use crate::serve::{Server, Stats};
use crate::server::{self, Accepting, CoreStats, QueueStats};
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// Longest request, in bytes.
const LONGEST: u64 = 16 << 10;
/// How long a client may take to send a request.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where the counters can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A port of the loopback interface.
    Loopback(SocketAddr),
    /// A unix socket.
    Socket(PathBuf),
}

/// `127.0.0.1:PORT`, `[::1]:PORT`, or a path with a `/`.
impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains('/') {
            return Ok(Self::Socket(text.into()));
        }
        match text.parse::<SocketAddr>() {
            Ok(address) if address.ip().is_loopback() => Ok(Self::Loopback(address)),
            Ok(address) => Err(format!(
                "{address} is not on the loopback interface; use 127.0.0.1:PORT or a unix socket"
            )),
            Err(_) => Err(format!(
                "{text:?} is not 127.0.0.1:PORT or the path of a unix socket"
            )),
        }
    }
}

/// A counter or gauge of each queue: its name, kind, help text and value.
type OfQueue = (
    &'static str,
    &'static str,
    &'static str,
    fn(&QueueStats) -> f64,
);

const OF_QUEUES: [OfQueue; 13] = [
    ("requests_total", "counter", "Requests served.", |q| {
        q.policy.requests as f64
    }),
    (
        "read_bytes_total",
        "counter",
        "Bytes read by the guest.",
        |q| q.read_bytes as f64,
    ),
    (
        "written_bytes_total",
        "counter",
        "Bytes written by the guest.",
        |q| q.written_bytes as f64,
    ),
    ("errors_total", "counter", "Requests that failed.", |q| {
        q.errors as f64
    }),
    (
        "kicks_total",
        "counter",
        "Notifications from the driver.",
        |q| q.policy.kicks as f64,
    ),
    (
        "calls_total",
        "counter",
        "Notifications to the driver.",
        |q| q.calls as f64,
    ),
    (
        "calls_suppressed_total",
        "counter",
        "Times replies were published without a notification.",
        |q| q.calls_suppressed as f64,
    ),
    (
        "visits_total",
        "counter",
        "Visits that served requests.",
        |q| q.policy.visits as f64,
    ),
    (
        "empty_polls_total",
        "counter",
        "Visits that found no requests.",
        |q| q.policy.empty_polls as f64,
    ),
    (
        "stuck_exits_total",
        "counter",
        "Visits that ended early because another queue was stuck.",
        |q| q.policy.stuck_exits as f64,
    ),
    (
        "waits_for_rate_total",
        "counter",
        "Visits that found requests but a rate limit reached.",
        |q| q.policy.waits_for_rate as f64,
    ),
    ("polled", "gauge", "Whether the queue is polled.", |q| {
        f64::from(u8::from(q.polled))
    }),
    (
        "faulty",
        "gauge",
        "Whether service of the queue has ended because of an error.",
        |q| f64::from(u8::from(q.fault.is_some())),
    ),
];

/// A counter of each I/O thread: its name, help text and value.
type OfCore = (&'static str, &'static str, fn(&CoreStats) -> f64);

const OF_CORES: [OfCore; 3] = [
    (
        "serving_seconds_total",
        "Time of visits that served requests.",
        |core| core.serving_ns as f64 / 1e9,
    ),
    (
        "polling_seconds_total",
        "Time awake without serving.",
        |core| core.polling_ns as f64 / 1e9,
    ),
    ("asleep_seconds_total", "Time asleep.", |core| {
        core.asleep_ns as f64 / 1e9
    }),
];

/// The counters as text. Device names contain no characters that a label must escape.
#[must_use]
pub fn text(stats: &Stats) -> String {
    let mut text = String::new();
    // Writing to a string can't fail.
    for (name, kind, help, of) in OF_QUEUES {
        let _ = writeln!(text, "# HELP elvis_queue_{name} {help}");
        let _ = writeln!(text, "# TYPE elvis_queue_{name} {kind}");
        for (device, queues) in &stats.devices {
            for queue in queues {
                let (number, value) = (queue.queue, of(queue));
                let _ = writeln!(
                    text,
                    "elvis_queue_{name}{{device=\"{device}\",queue=\"{number}\"}} {value}"
                );
            }
        }
    }
    let _ = writeln!(
        text,
        "# HELP elvis_queue_latency_seconds Time from taking a request to its reply.\n\
         # TYPE elvis_queue_latency_seconds summary"
    );
    for (device, queues) in &stats.devices {
        for queue in queues {
            let quantiles = [
                ("0.5", queue.latency_p50_ns),
                ("0.99", queue.latency_p99_ns),
                ("0.999", queue.latency_p999_ns),
            ];
            for (quantile, ns) in quantiles {
                let (number, seconds) = (queue.queue, ns as f64 / 1e9);
                let _ = writeln!(
                    text,
                    "elvis_queue_latency_seconds{{device=\"{device}\",queue=\"{number}\",quantile=\"{quantile}\"}} {seconds}"
                );
            }
        }
    }
    for (name, help, of) in OF_CORES {
        let _ = writeln!(text, "# HELP elvis_thread_{name} {help}");
        let _ = writeln!(text, "# TYPE elvis_thread_{name} counter");
        for (number, core) in stats.cores.iter().enumerate() {
            let _ = writeln!(
                text,
                "elvis_thread_{name}{{thread=\"{number}\"}} {}",
                of(core)
            );
        }
    }
    if let Some(placement) = &stats.placement {
        let done = [
            ("opened", "I/O threads opened.", placement.opened),
            ("released", "I/O threads released.", placement.released),
            ("moves", "Devices moved.", placement.moves),
        ];
        for (name, help, count) in done {
            let _ = writeln!(
                text,
                "# HELP elvis_placement_{name}_total {help}\n\
                 # TYPE elvis_placement_{name}_total counter\n\
                 elvis_placement_{name}_total {count}"
            );
        }
        let _ = writeln!(
            text,
            "# HELP elvis_thread_open Whether the I/O thread is in use.\n\
             # TYPE elvis_thread_open gauge"
        );
        for (number, open) in placement.open.iter().enumerate() {
            let open = u8::from(*open);
            let _ = writeln!(text, "elvis_thread_open{{thread=\"{number}\"}} {open}");
        }
    }
    text
}

/// A listening socket.
pub enum Listener {
    /// A TCP port.
    Tcp(TcpListener),
    /// A unix socket.
    Unix(UnixListener),
}

/// Listens at an endpoint.
///
/// # Errors
///
/// The port or the socket can't be opened.
pub fn listen(endpoint: &Endpoint) -> io::Result<Listener> {
    match endpoint {
        Endpoint::Loopback(address) => TcpListener::bind(address)
            .map(Listener::Tcp)
            .map_err(|error| io::Error::new(error.kind(), format!("{address}: {error}"))),
        Endpoint::Socket(path) => server::listen(path)
            .map(Listener::Unix)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
    }
}

/// Answers clients one after another until the process exits.
pub fn run(listener: &Listener, server: &Arc<Server>) {
    let mut accepting = Accepting::default();
    loop {
        let taken = match listener {
            Listener::Tcp(listener) => listener.accept().map(|(stream, _)| {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                answer(&stream, &stream, server)
            }),
            Listener::Unix(listener) => listener.accept().map(|(stream, _)| {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                answer(&stream, &stream, server)
            }),
        };
        match taken {
            // Errors of a client's own connection are ignored.
            Ok(_) => accepting.worked(),
            Err(error) => std::thread::sleep(accepting.failed("the metrics", &error)),
        }
    }
}

fn answer(from: impl Read, mut to: impl Write, server: &Server) -> io::Result<()> {
    let mut lines = BufReader::new(from.take(LONGEST)).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    // Headers are ignored; an empty line ends the request.
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let mut words = request.split_whitespace();
    let (status, body) = match (words.next(), words.next()) {
        (Some("GET"), Some("/metrics" | "/")) => match server.stats() {
            Ok(stats) => ("200 OK", text(&stats)),
            Err(error) => ("503 Service Unavailable", format!("{error}\n")),
        },
        (Some("GET"), Some(_)) => ("404 Not Found", "use /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "use GET\n".to_owned()),
    };
    write!(
        to,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_near() {
        assert!(matches!(
            "127.0.0.1:9100".parse(),
            Ok(Endpoint::Loopback(_))
        ));
        assert!(matches!("[::1]:9100".parse(), Ok(Endpoint::Loopback(_))));
        assert!(matches!("/run/m".parse(), Ok(Endpoint::Socket(_))));
        for wrong in ["", "9100", "0.0.0.0:9100", "192.0.2.1:80", "localhost"] {
            assert!(wrong.parse::<Endpoint>().is_err(), "{wrong}");
        }
    }
}
