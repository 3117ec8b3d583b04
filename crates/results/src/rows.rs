//! Categories of rows, and the names of I/O rows: `io-DEVICE-dDEPTH`, with `-busy` at the end if the vCPU never halts.

use schemars::JsonSchema;
use serde::Serialize;

/// The category of workloads.
pub const APPLICATION: &str = "application";

/// The category of a VM's devices. Other rows have it too: ports of a guest, loads of servers on this host.
pub const IO: &str = "io";

/// A row of a VM's device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IoRow {
    /// The device's name in the recipe: `storage-daemon`.
    pub device: String,
    /// Requests outstanding at a time.
    pub depth: u32,
    /// Whether another process keeps the vCPU from halting while it waits.
    pub busy: bool,
}

/// Kinds of the lab's devices with their servers, by name. A device of the user's own recipe is not here.
const SERVED: [(&str, &str); 8] = [
    ("qemu", "virtio-blk, QEMU's main loop"),
    ("iothread", "virtio-blk, QEMU's iothread"),
    ("storage-daemon", "virtio-blk, qemu-storage-daemon"),
    ("elvis", "virtio-blk, elvis"),
    ("qemu-net", "virtio-net, QEMU's main loop"),
    ("vhost", "virtio-net, vhost-net"),
    ("elvis-net", "virtio-net, elvis"),
    ("assigned", "a card of its own, by VFIO"),
];

impl IoRow {
    /// Parses the name of a row; `None` if it is not the row of a VM's device.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.strip_prefix("io-")?;
        let (name, busy) = match name.strip_suffix("-busy") {
            Some(name) => (name, true),
            None => (name, false),
        };
        let (device, depth) = name.rsplit_once("-d")?;
        let is_number = !depth.is_empty() && depth.bytes().all(|byte| byte.is_ascii_digit());
        (is_number && !device.is_empty()).then_some(Self {
            device: device.to_owned(),
            depth: depth.parse().ok()?,
            busy,
        })
    }

    /// The row's name, as [`IoRow::parse`] reads it.
    pub fn name(&self) -> String {
        let busy = if self.busy { "-busy" } else { "" };
        format!("io-{}-d{}{busy}", self.device, self.depth)
    }

    /// Returns the device's kind and its server; empty if only its recipe knows.
    pub fn served(&self) -> &'static str {
        let of = SERVED.iter().find(|(device, _)| *device == self.device);
        of.map_or("", |(_, served)| served)
    }

    /// Returns the vCPU's state while it waits: `busy` or `sleeps`.
    pub fn vcpu(&self) -> &'static str {
        if self.busy { "busy" } else { "sleeps" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_says_device_depth_and_vcpu() {
        let row = |device: &str, depth, busy| {
            Some(IoRow {
                device: device.to_owned(),
                depth,
                busy,
            })
        };
        assert_eq!(IoRow::parse("io-qemu-d1"), row("qemu", 1, false));
        let parsed = IoRow::parse("io-storage-daemon-d8-busy");
        assert_eq!(parsed, row("storage-daemon", 8, true));
        assert_eq!(IoRow::parse("io-a-d2-d16"), row("a-d2", 16, false));
        for name in ["io-qemu-d1", "io-storage-daemon-d8-busy"] {
            assert_eq!(IoRow::parse(name).unwrap().name(), name);
        }
        for other in [
            "io-latency-out-woken",
            "io-latency-in-d",
            "io--d1",
            "io-qemu-d+1",
            "io-qemu-d99999999999",
            "in",
            "io-",
            "scaling-1",
        ] {
            assert_eq!(IoRow::parse(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in any::<String>(), more in "(io-)?[-a-z0-9]{0,20}(-busy)?") {
            let _ = (IoRow::parse(&text), IoRow::parse(&more));
        }
    }
}
