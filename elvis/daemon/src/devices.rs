//! The devices of a server, which its placer looks at too.

use crate::server::Device;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// All devices of a server.
#[derive(Default)]
pub(crate) struct Devices {
    pub(crate) by_name: BTreeMap<String, Arc<Device>>,
    /// Names of devices that are being started.
    pub(crate) starting: BTreeSet<String>,
    /// Number of devices started so far.
    pub(crate) started: usize,
    /// Whether no more are taken, as the server ends.
    pub(crate) closed: bool,
}
