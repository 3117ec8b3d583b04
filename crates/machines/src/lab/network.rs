//! The network of a VM's workloads on a machine with a CPU for its back-end, as in the comparison of ELVIS (2013).

use super::io::{Elvis, Io, elvis_command, give_card, pins};
use ws_lab::recipe::Served;

/// The network card's TAP device, which the host's agent makes (`lab/agent/network.c`), and its address.
pub const TAP: &str = "tap0";
pub const MAC: &str = "52:54:00:00:00:01";

/// The socket of a back-end by vhost-user.
pub const SOCKET: &str = "/run/io/net.socket";

/// Reason why other workloads are not measured there.
const NO_NETWORK: &str = "it does not use the network of a VM with one CPU: lab:kvm-linux has it";

/// The network's back-end, and the CPUs.
#[derive(Clone, Copy, Debug)]
pub struct Network<'a> {
    io: &'a Io,
    pub served: Served,
}

impl<'a> Network<'a> {
    /// Makes a network whose back-end runs on the CPUs of these devices.
    pub fn new(io: &'a Io, served: Served) -> Self {
        Self { io, served }
    }

    /// Number of the machine's CPUs.
    pub fn cpus(&self) -> u32 {
        self.io.cpus
    }

    /// elvis, if it serves the network.
    pub fn elvis(&self) -> Option<&'a Elvis> {
        let elvis = self.io.elvis.as_ref().ok();
        elvis.filter(|_| self.served.is_elvis())
    }

    /// Reason why a workload can't be measured.
    pub fn missing(&self, uses_network: bool) -> Option<String> {
        let missing = self.io.missing_for(self.served);
        missing.or_else(|| (!uses_network).then(|| NO_NETWORK.to_owned()))
    }

    /// The lines of the host's agent.
    pub fn host_lines(&self) -> Vec<String> {
        let cpu = self.io.serving_cpu();
        let device = format!("--net {SOCKET}=tap:{TAP}");
        let mut lines = Vec::new();
        if let Some(command) = elvis_command(self.served, cpu, &[device]) {
            lines.push("setup=mkdir -p /run/io".to_owned());
            lines.push(format!("server={cpu} {command}"));
            lines.push(format!("socket={SOCKET}"));
        }
        if self.served == Served::Assigned {
            let card = give_card();
            lines.push(format!(
                "setup=set -e; {card}; ip link set $nic master br0 up"
            ));
        }
        lines.extend(pins(cpu, |served| served == self.served));
        lines
    }
}
