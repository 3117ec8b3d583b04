//! The network of a VM's workloads on a machine with a CPU for what serves it, as ELVIS (2013) compares it.

use super::io::{Elvis, Io, elvis_command, give_card, pins};
use ws_lab::recipe::Served;

/// The network card's TAP device, which the host's agent makes (`lab/agent/network.c`), and its address.
pub const TAP: &str = "tap0";
pub const MAC: &str = "52:54:00:00:00:01";

/// The socket of what serves it by vhost-user.
pub const SOCKET: &str = "/run/io/net.socket";

/// Why other workloads are not measured there.
const NO_NETWORK: &str = "it does not use the network of a VM with one CPU: lab:kvm-linux has it";

/// Who serves the network, and the CPUs.
#[derive(Clone, Copy, Debug)]
pub struct Network<'a> {
    io: &'a Io,
    pub served: Served,
}

impl<'a> Network<'a> {
    /// On the CPUs of these devices.
    pub fn new(io: &'a Io, served: Served) -> Self {
        Self { io, served }
    }

    /// The machine's CPUs.
    pub fn cpus(&self) -> u32 {
        self.io.cpus
    }

    /// The program, if it serves it.
    pub fn elvis(&self) -> Option<&'a Elvis> {
        let elvis = self.io.elvis.as_ref().ok();
        elvis.filter(|_| self.served.is_elvis())
    }

    /// Why a workload can't be measured.
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
