//! What is counted, and how it leaves the I/O thread: as a copy, on demand, by message.

use crate::storage::CountedBuffers;
use elvis_policy::{CoreCounters, QueueCounters};
use hdrhistogram::Histogram;
use serde::Serialize;

/// Latencies of requests, from taken to replied.
#[derive(Debug, Clone)]
pub struct Latency {
    histogram: Option<Histogram<u64>>,
    sum_ns: u64,
    count: u64,
}

impl Default for Latency {
    /// Nothing measured yet. Two digits, up to a minute.
    fn default() -> Self {
        Self {
            histogram: Histogram::new_with_bounds(1, 60_000_000_000, 2).ok(),
            sum_ns: 0,
            count: 0,
        }
    }
}

impl Latency {
    /// Adds as many that took the same time.
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

/// Counters of a queue that the policy does not keep.
#[derive(Debug, Clone, Default)]
pub struct Counted {
    /// Of earlier stays on I/O threads.
    pub before: QueueCounters,
    /// Bytes read by the guest.
    pub read_bytes: u64,
    /// Bytes written by the guest.
    pub written_bytes: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Notifications to the driver.
    pub calls: u64,
    /// Replies published without one.
    pub calls_suppressed: u64,
    /// From taken to replied.
    pub latency: Latency,
}

impl Counted {
    /// A copy to hand out, with what the policy counts now.
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
            calls: self.calls,
            calls_suppressed: self.calls_suppressed,
            latency_p50_ns: self.latency.quantile(0.5),
            latency_p99_ns: self.latency.quantile(0.99),
            latency_p999_ns: self.latency.quantile(0.999),
            latency_sum_ns: self.latency.sum_ns,
            latency_count: self.latency.count,
            fault: None,
        }
    }
}

/// One queue, as `elvis ctl stats` shows it.
#[derive(Debug, Clone, Serialize)]
pub struct QueueStats {
    /// The device's number.
    #[serde(skip)]
    pub device: u64,
    /// The queue's number in its device.
    pub queue: u16,
    /// Whether it is polled now.
    pub polled: bool,
    /// What the policy counts.
    #[serde(flatten)]
    pub policy: QueueCounters,
    /// Bytes read by the guest.
    pub read_bytes: u64,
    /// Bytes written by the guest.
    pub written_bytes: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Notifications to the driver.
    pub calls: u64,
    /// Replies published without one, as the driver did not want it.
    pub calls_suppressed: u64,
    /// Half of the requests took at most this, from taken to replied, in ns.
    pub latency_p50_ns: u64,
    /// 99 % took at most this, in ns.
    pub latency_p99_ns: u64,
    /// 99.9 % took at most this, in ns.
    pub latency_p999_ns: u64,
    /// All latencies together, in ns.
    #[serde(skip)]
    pub latency_sum_ns: u64,
    /// How many there were.
    #[serde(skip)]
    pub latency_count: u64,
    /// Why it is served no longer.
    pub fault: Option<String>,
}

/// One I/O thread, as `elvis ctl stats` shows it.
#[derive(Debug, Clone, Serialize)]
pub struct CoreStats {
    /// The CPUs that it is bound to; none is any.
    pub cpus: Vec<usize>,
    /// What carries out requests to files.
    pub engine: &'static str,
    /// Drivers' memory that it has pinned.
    pub registered_buffers: CountedBuffers,
    /// What the policy counts.
    #[serde(flatten)]
    pub policy: CoreCounters,
    /// Time spent on visits that found something, in ns.
    pub serving_ns: u64,
    /// Time asleep, in ns.
    pub asleep_ns: u64,
    /// Time awake without serving: polling and looking for events, in ns.
    pub polling_ns: u64,
    /// Its queues.
    #[serde(skip)]
    pub queues: Vec<QueueStats>,
}
