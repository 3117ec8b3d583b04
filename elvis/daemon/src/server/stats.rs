//! Counters. An I/O thread sends copies of them on request.

use crate::storage::CountedBuffers;
use elvis_policy::{CoreCounters, QueueCounters};
use hdrhistogram::Histogram;
use serde::Serialize;

/// Latencies of requests, from taking the request to its reply.
#[derive(Debug, Clone)]
pub struct Latency {
    histogram: Option<Histogram<u64>>,
    sum_ns: u64,
    count: u64,
}

impl Default for Latency {
    /// An empty histogram: two digits, up to a minute.
    fn default() -> Self {
        Self {
            histogram: Histogram::new_with_bounds(1, 60_000_000_000, 2).ok(),
            sum_ns: 0,
            count: 0,
        }
    }
}

impl Latency {
    /// Adds `times` requests with this latency.
    pub fn record(&mut self, ns: u64, times: u64) {
        self.sum_ns = self.sum_ns.saturating_add(ns.saturating_mul(times));
        self.count += times;
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record_n(ns.max(1), times);
        }
    }

    fn quantile(&self, quantile: f64) -> u64 {
        self.histogram
            .as_ref()
            .map_or(0, |histogram| histogram.value_at_quantile(quantile))
    }
}

/// Counters of a network device's queue.
#[derive(Debug, Clone, Default, Serialize)]
pub struct FrameCounts {
    /// Frames that the driver sent or got; a segment to be split counts once.
    pub frames: u64,
    /// Sent frames for a group or an unknown station, which went to each port that may be it.
    pub flooded: u64,
    /// Number of times that arrived frames woke the I/O thread.
    pub signals: u64,
    /// Sent frames that were dropped: malformed, or with offloads that were not negotiated.
    pub malformed: u64,
    /// Sent frames that were dropped: the sender's address is another port's, or no station's.
    pub foreign: u64,
    /// Frames that the interface did not take, or could not give.
    pub unsent: u64,
    /// Frames for the driver that were dropped: too many waited already.
    pub full: u64,
    /// Frames for the driver that were dropped: they do not fit its buffers.
    pub too_long: u64,
    /// Segments for the driver that were dropped: there were too few buffers.
    pub no_buffers: u64,
}

/// Counters of a queue that are not the policy's, and those that the policy had on earlier I/O threads.
#[derive(Debug, Clone, Default)]
pub struct Counted {
    /// The policy's counters from earlier I/O threads.
    pub before: QueueCounters,
    /// Bytes read by the guest.
    pub read_bytes: u64,
    /// Bytes written by the guest.
    pub written_bytes: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Failed requests that were not of whole blocks.
    pub unaligned: u64,
    /// Notifications to the driver.
    pub calls: u64,
    /// Number of times that replies were published without a notification.
    pub calls_suppressed: u64,
    /// Time that I/O threads spent on the queue, in ns.
    pub serving_ns: u64,
    pub latency: Latency,
    /// Counters of frames, of a network device's queue.
    pub frames: Option<FrameCounts>,
}

impl Counted {
    /// Returns a copy, with the policy's current counters added.
    #[must_use]
    pub fn stats(&self, device: u64, queue: u16, now: &QueueCounters, polled: bool) -> QueueStats {
        QueueStats {
            device,
            queue,
            polled,
            policy: self.before.plus(now),
            read_bytes: self.read_bytes,
            written_bytes: self.written_bytes,
            errors: self.errors,
            unaligned: self.unaligned,
            calls: self.calls,
            calls_suppressed: self.calls_suppressed,
            serving_ns: self.serving_ns,
            latency_p50_ns: self.latency.quantile(0.5),
            latency_p99_ns: self.latency.quantile(0.99),
            latency_p999_ns: self.latency.quantile(0.999),
            latency_sum_ns: self.latency.sum_ns,
            latency_count: self.latency.count,
            net: self.frames.clone(),
            fault: None,
        }
    }
}

/// Queue in the output of `elvis ctl stats`.
#[derive(Debug, Clone, Serialize)]
pub struct QueueStats {
    /// The device's number.
    #[serde(skip)]
    pub device: u64,
    /// The queue's number in its device.
    pub queue: u16,
    /// Whether the queue is polled now.
    pub polled: bool,
    /// The policy's counters.
    #[serde(flatten)]
    pub policy: QueueCounters,
    /// Bytes read by the guest.
    pub read_bytes: u64,
    /// Bytes written by the guest.
    pub written_bytes: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Failed requests that were not of whole blocks.
    pub unaligned: u64,
    /// Notifications to the driver.
    pub calls: u64,
    /// Number of times that replies were published without a notification, as the driver did not want one.
    pub calls_suppressed: u64,
    /// Time that I/O threads spent on the queue, in ns.
    pub serving_ns: u64,
    /// Median latency, from taking a request to its reply, in ns.
    pub latency_p50_ns: u64,
    /// 99th percentile of latency, in ns.
    pub latency_p99_ns: u64,
    /// 99.9th percentile of latency, in ns.
    pub latency_p999_ns: u64,
    /// All latencies together, in ns.
    #[serde(skip)]
    pub latency_sum_ns: u64,
    /// Number of requests with a latency.
    #[serde(skip)]
    pub latency_count: u64,
    /// Counters of frames, of a network device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub net: Option<FrameCounts>,
    /// Error that ended the queue's service.
    pub fault: Option<String>,
}

/// I/O thread in the output of `elvis ctl stats`.
#[derive(Debug, Clone, Serialize)]
pub struct CoreStats {
    /// CPUs that the thread is bound to; empty: any.
    pub cpus: Vec<usize>,
    /// The engine for file requests.
    pub engine: &'static str,
    /// Drivers' memory that is registered, and so pinned.
    pub registered_buffers: CountedBuffers,
    /// The policy's counters.
    #[serde(flatten)]
    pub policy: CoreCounters,
    /// Time of visits that served requests, in ns.
    pub serving_ns: u64,
    /// Time asleep, in ns.
    pub asleep_ns: u64,
    /// Time awake without serving: polling and checking for events, in ns.
    pub polling_ns: u64,
    /// Queues that the thread serves.
    #[serde(skip)]
    pub queues: Vec<QueueStats>,
}
