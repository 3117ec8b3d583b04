//! The counters for Prometheus: text format 0.0.4 over HTTP, on loopback or a unix socket.

use crate::config::Endpoint;
use crate::net::uplink::UplinkCounts;
use crate::serve::{Server, Stats};
use crate::server::{self, Accepting, CoreStats, FrameCounts, QueueStats};
use prometheus::TextEncoder;
use prometheus::proto::MetricType::{self, COUNTER, GAUGE, SUMMARY};
use prometheus::proto::{Counter, Gauge, LabelPair, Metric, MetricFamily, Quantile, Summary};
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::Duration;

/// Longest request, in bytes, and most headers of one.
const LONGEST: usize = 16 << 10;
const HEADERS: usize = 64;
/// Time that a client may take to send a request.
const PATIENCE: Duration = Duration::from_secs(5);

/// A counter or gauge of each queue: its name, kind, help text and value.
type OfQueue = (
    &'static str,
    MetricType,
    &'static str,
    fn(&QueueStats) -> f64,
);

const OF_QUEUES: [OfQueue; 15] = [
    ("requests_total", COUNTER, "Requests served.", |q| {
        q.policy.requests as f64
    }),
    (
        "read_bytes_total",
        COUNTER,
        "Bytes read by the guest.",
        |q| q.read_bytes as f64,
    ),
    (
        "written_bytes_total",
        COUNTER,
        "Bytes written by the guest.",
        |q| q.written_bytes as f64,
    ),
    ("errors_total", COUNTER, "Requests that failed.", |q| {
        q.errors as f64
    }),
    (
        "unaligned_total",
        COUNTER,
        "Requests that failed because they were not of whole blocks.",
        |q| q.unaligned as f64,
    ),
    (
        "kicks_total",
        COUNTER,
        "Notifications from the driver.",
        |q| q.policy.kicks as f64,
    ),
    (
        "calls_total",
        COUNTER,
        "Notifications to the driver.",
        |q| q.calls as f64,
    ),
    (
        "calls_suppressed_total",
        COUNTER,
        "Times replies were published without a notification.",
        |q| q.calls_suppressed as f64,
    ),
    (
        "visits_total",
        COUNTER,
        "Visits that served requests.",
        |q| q.policy.visits as f64,
    ),
    (
        "empty_polls_total",
        COUNTER,
        "Visits that found no requests.",
        |q| q.policy.empty_polls as f64,
    ),
    (
        "stuck_exits_total",
        COUNTER,
        "Visits that ended early because another queue was stuck.",
        |q| q.policy.stuck_exits as f64,
    ),
    (
        "waits_for_rate_total",
        COUNTER,
        "Visits that found requests but a rate limit reached.",
        |q| q.policy.waits_for_rate as f64,
    ),
    (
        "serving_seconds_total",
        COUNTER,
        "Time that I/O threads spent on the queue.",
        |q| q.serving_ns as f64 / 1e9,
    ),
    ("polled", GAUGE, "Whether the queue is polled.", |q| {
        f64::from(u8::from(q.polled))
    }),
    (
        "faulty",
        GAUGE,
        "Whether service of the queue has ended because of an error.",
        |q| f64::from(u8::from(q.fault.is_some())),
    ),
];

/// A counter of each network device's queue: its name, help text and value.
type OfFrames = (&'static str, &'static str, fn(&FrameCounts) -> u64);

const OF_FRAMES: [OfFrames; 3] = [
    ("frames", "Frames sent or received.", |net| net.frames),
    (
        "flooded",
        "Sent frames for a group or an unknown address.",
        |net| net.flooded,
    ),
    ("signals", "Times frames woke the I/O thread.", |net| {
        net.signals
    }),
];

/// A reason to drop frames, and how many were dropped.
type Dropped = (&'static str, fn(&FrameCounts) -> u64);

const DROPPED: [Dropped; 6] = [
    ("malformed", |net| net.malformed),
    ("foreign", |net| net.foreign),
    ("unsent", |net| net.unsent),
    ("full", |net| net.full),
    ("too_long", |net| net.too_long),
    ("no_buffers", |net| net.no_buffers),
];

/// A counter of each uplink: its name, its labels, help text and value.
type OfUplink = (
    &'static str,
    (&'static str, &'static str),
    &'static str,
    fn(&UplinkCounts) -> u64,
);

/// Counters of one name are together.
const OF_UPLINKS: [OfUplink; 7] = [
    ("frames", ("direction", "sent"), FRAMES, |uplink| {
        uplink.sent
    }),
    ("frames", ("direction", "received"), FRAMES, |uplink| {
        uplink.received
    }),
    ("bytes", ("direction", "sent"), BYTES, |uplink| {
        uplink.sent_bytes
    }),
    ("bytes", ("direction", "received"), BYTES, |uplink| {
        uplink.received_bytes
    }),
    ("dropped", ("reason", "unsent"), DROPS, |uplink| {
        uplink.unsent
    }),
    ("dropped", ("reason", "foreign"), DROPS, |uplink| {
        uplink.foreign
    }),
    (
        "failed",
        ("direction", "received"),
        "Errors instead of frames from the host.",
        |uplink| uplink.failed,
    ),
];
const FRAMES: &str = "Frames to or from the host.";
const BYTES: &str = "Bytes to or from the host.";
const DROPS: &str = "Frames dropped, by reason.";

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

/// Returns the counters as text.
///
/// # Errors
///
/// Prometheus does not take a name, which would be a fault of this program.
pub fn text(stats: &Stats) -> io::Result<String> {
    let families = [
        of_queues(stats),
        of_frames(stats),
        of_uplinks(stats),
        of_threads(stats),
        of_placement(stats),
    ];
    // A family without a metric is none to the encoder.
    let mut families = families.concat();
    families.retain(|family| !family.get_metric().is_empty());
    TextEncoder::new()
        .encode_to_string(&families)
        .map_err(io::Error::other)
}

fn of_queues(stats: &Stats) -> Vec<MetricFamily> {
    let each = |metric: &dyn Fn(&QueueStats) -> Metric| -> Vec<Metric> {
        let of_device = |(device, queues): (&String, &Vec<QueueStats>)| {
            let of_queue = |queue: &QueueStats| {
                let number = queue.queue.to_string();
                labelled(metric(queue), &[("device", device), ("queue", &number)])
            };
            queues.iter().map(of_queue).collect::<Vec<Metric>>()
        };
        stats.devices.iter().flat_map(of_device).collect()
    };
    let mut families: Vec<MetricFamily> = OF_QUEUES
        .iter()
        .map(|(name, kind, help, of)| {
            let metrics = each(&|queue| metric(*kind, of(queue)));
            family(&format!("elvis_queue_{name}"), *kind, help, metrics)
        })
        .collect();
    families.push(family(
        "elvis_queue_latency_seconds",
        SUMMARY,
        "Time from taking a request to its reply.",
        each(&latency),
    ));
    families
}

/// Returns the metrics of network devices, by queue.
fn of_frames(stats: &Stats) -> Vec<MetricFamily> {
    let each = |of: &dyn Fn(&FrameCounts) -> u64, reason: Option<&str>| -> Vec<Metric> {
        let mut metrics = Vec::new();
        for (device, queues) in &stats.devices {
            for (queue, net) in queues
                .iter()
                .filter_map(|queue| Some((queue, queue.net.as_ref()?)))
            {
                let number = queue.queue.to_string();
                let mut labels = vec![("device", device.as_str()), ("queue", &number)];
                labels.extend(reason.map(|reason| ("reason", reason)));
                metrics.push(labelled(metric(COUNTER, of(net) as f64), &labels));
            }
        }
        metrics
    };
    let mut families: Vec<MetricFamily> = OF_FRAMES
        .iter()
        .map(|(name, help, of)| {
            let name = format!("elvis_net_{name}_total");
            family(&name, COUNTER, help, each(of, None))
        })
        .collect();
    let dropped = DROPPED
        .iter()
        .flat_map(|(reason, of)| each(of, Some(reason)));
    families.push(family(
        "elvis_net_dropped_total",
        COUNTER,
        "Frames dropped, by reason.",
        dropped.collect(),
    ));
    families
}

fn of_uplinks(stats: &Stats) -> Vec<MetricFamily> {
    let one_name = |all: &[OfUplink]| {
        let of = |(_, label, _, of): &OfUplink| {
            let each = stats.uplinks.iter().map(move |(name, uplink)| {
                let value = metric(COUNTER, of(uplink) as f64);
                labelled(value, &[("uplink", name.as_str()), *label])
            });
            each.collect::<Vec<Metric>>()
        };
        let (name, _, help, _) = all[0];
        let name = format!("elvis_uplink_{name}_total");
        family(&name, COUNTER, help, all.iter().flat_map(of).collect())
    };
    let by_name = OF_UPLINKS.chunk_by(|one, other| one.0 == other.0);
    by_name.map(one_name).collect()
}

fn latency(queue: &QueueStats) -> Metric {
    let quantiles = [
        (0.5, queue.latency_p50_ns),
        (0.99, queue.latency_p99_ns),
        (0.999, queue.latency_p999_ns),
    ];
    let quantiles = quantiles.map(|(share, ns)| {
        let mut quantile = Quantile::default();
        quantile.set_quantile(share);
        quantile.set_value(ns as f64 / 1e9);
        quantile
    });
    let mut summary = Summary::default();
    summary.set_quantile(quantiles.to_vec());
    summary.set_sample_count(queue.latency_count);
    summary.set_sample_sum(queue.latency_sum_ns as f64 / 1e9);
    let mut metric = Metric::default();
    metric.set_summary(summary);
    metric
}

fn of_threads(stats: &Stats) -> Vec<MetricFamily> {
    let of_core = |(name, help, of): &OfCore| {
        let each = stats.cores.iter().enumerate();
        let metrics = each.map(|(number, core)| of_thread(number, metric(COUNTER, of(core))));
        let name = format!("elvis_thread_{name}");
        family(&name, COUNTER, help, metrics.collect())
    };
    OF_CORES.iter().map(of_core).collect()
}

fn of_placement(stats: &Stats) -> Vec<MetricFamily> {
    let Some(placement) = &stats.placement else {
        return Vec::new();
    };
    let counts = [
        ("opened", "I/O threads opened.", placement.opened),
        ("released", "I/O threads released.", placement.released),
        ("moves", "Devices moved.", placement.moves),
    ];
    let mut families: Vec<MetricFamily> = counts
        .iter()
        .map(|(name, help, count)| {
            let name = format!("elvis_placement_{name}_total");
            family(&name, COUNTER, help, vec![metric(COUNTER, *count as f64)])
        })
        .collect();
    let each = placement.open.iter().enumerate();
    let open =
        each.map(|(number, open)| of_thread(number, metric(GAUGE, f64::from(u8::from(*open)))));
    families.push(family(
        "elvis_thread_open",
        GAUGE,
        "Whether the I/O thread is in use.",
        open.collect(),
    ));
    families
}

fn family(name: &str, kind: MetricType, help: &str, metrics: Vec<Metric>) -> MetricFamily {
    let mut family = MetricFamily::default();
    family.set_name(name.to_owned());
    family.set_help(help.to_owned());
    family.set_field_type(kind);
    family.set_metric(metrics);
    family
}

fn metric(kind: MetricType, value: f64) -> Metric {
    let mut metric = Metric::default();
    if kind == COUNTER {
        let mut counter = Counter::default();
        counter.set_value(value);
        metric.set_counter(counter);
    } else {
        let mut gauge = Gauge::default();
        gauge.set_value(value);
        metric.set_gauge(gauge);
    }
    metric
}

fn of_thread(number: usize, metric: Metric) -> Metric {
    labelled(metric, &[("thread", &number.to_string())])
}

fn labelled(mut metric: Metric, labels: &[(&str, &str)]) -> Metric {
    let pair = |(name, value): &(&str, &str)| {
        let mut pair = LabelPair::default();
        pair.set_name((*name).to_owned());
        pair.set_value((*value).to_owned());
        pair
    };
    metric.set_label(labels.iter().map(pair).collect());
    metric
}

/// A listening socket.
pub enum Listener {
    /// A TCP port.
    Tcp(TcpListener),
    /// A unix socket.
    Unix(UnixListener),
}

/// Listens at an endpoint.
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

/// Reads a request up to the end of its headers: its method and path; None if it is no HTTP request.
fn request(mut from: impl Read) -> io::Result<Option<(String, String)>> {
    let mut bytes = Vec::new();
    let mut part = [0; 1024];
    while bytes.len() < LONGEST {
        let count = from.read(&mut part)?;
        bytes.extend_from_slice(&part[..count]);
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&bytes) {
            Ok(httparse::Status::Partial) if count > 0 => {}
            Ok(httparse::Status::Complete(_)) => {
                let word = |word: Option<&str>| word.unwrap_or_default().to_owned();
                return Ok(Some((word(request.method), word(request.path))));
            }
            _ => break,
        }
    }
    Ok(None)
}

fn answer(from: impl Read, mut to: impl Write, server: &Server) -> io::Result<()> {
    let request = request(from)?;
    let words = request
        .as_ref()
        .map(|(method, path)| (method.as_str(), path.as_str()));
    let (status, body) = match words {
        Some(("GET", "/metrics" | "/")) => match server.stats().and_then(|stats| text(&stats)) {
            Ok(text) => ("200 OK", text),
            Err(error) => ("503 Service Unavailable", format!("{error}\n")),
        },
        Some(("GET", _)) => ("404 Not Found", "use /metrics\n".to_owned()),
        Some(_) => ("405 Method Not Allowed", "use GET\n".to_owned()),
        None => ("400 Bad Request", "no HTTP request\n".to_owned()),
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
    fn requests_end_with_their_headers() {
        let parsed = |bytes: &[u8]| request(bytes).unwrap();
        let get = Some(("GET".to_owned(), "/metrics".to_owned()));
        assert_eq!(parsed(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), get);
        assert_eq!(parsed(b"GET /metrics HTTP/1.1\r\nHost: x\r\n"), None);
        assert_eq!(parsed(b""), None);
        assert_eq!(parsed(b"\x00\xff\r\n\r\n"), None);
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS + 1));
        assert_eq!(parsed(many.as_bytes()), None);
        assert_eq!(parsed(&[b'a'; 2 * LONGEST]), None);
    }
}
