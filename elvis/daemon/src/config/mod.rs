//! The configuration: reads and checks it before anything starts.

mod device;
mod endpoint;
mod uplink;

use crate::confine::User;
use crate::logs;
use crate::net::UplinkSpec;
use crate::server::DeviceSpec;
use device::RawDevice;
pub use device::{change_limit, device_argument, device_from_json, limits_argument, weight};
use elvis_policy::simulation::Mode;
use elvis_policy::{Params, ParamsError, PlacementParams};
pub use endpoint::Endpoint;
use serde::Deserialize;
use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use uplink::RawUplink;
pub use uplink::uplink_argument;
use ws_cpus::Cpus;
use ws_cpus::list::{self, Set};

/// Configuration of `elvis serve`.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Mode by which devices are served.
    pub mode: Mode,
    /// CPUs for I/O threads; empty: one unbound thread.
    pub io_cores: Vec<usize>,
    /// Path of the socket to which `elvis ctl` connects.
    pub control: Option<PathBuf>,
    /// Folder in memory in which network devices record the progress of packed rings; None: beside their sockets.
    pub state: Option<PathBuf>,
    /// Address at which the counters can be read.
    pub metrics: Option<Endpoint>,
    /// User to become once disks and sockets are open.
    pub user: Option<User>,
    /// Whether to allow only the system calls that serving needs.
    pub seccomp: bool,
    /// Least important messages that are written.
    pub log_level: logs::Level,
    /// The policy's constants.
    pub params: Params,
    /// Constants of the placement: whether and how to use only as many I/O cores as the load needs, and move devices
    /// between them.
    pub placement: PlacementParams,
    /// Whether to derive the polling window from this host's wake-up cost.
    pub derive_window: bool,
    /// Whether to use threads instead of io_uring for files.
    pub threads_only: bool,
    /// The uplinks of switches.
    pub uplinks: Vec<UplinkSpec>,
    /// The devices to start with.
    pub devices: Vec<DeviceSpec>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mode: Mode::Elvis,
            io_cores: Vec::new(),
            control: None,
            state: None,
            metrics: None,
            user: None,
            seccomp: true,
            log_level: logs::Level::default(),
            params: Params::default(),
            placement: PlacementParams::default(),
            derive_window: true,
            threads_only: false,
            uplinks: Vec::new(),
            devices: Vec::new(),
        }
    }
}

/// An error in a configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{where_}: {key}: {why}")]
pub struct ConfigError {
    /// The file, and the line if known.
    pub where_: String,
    /// The key.
    pub key: String,
    /// Description of the error.
    pub why: String,
}

/// The contents of the file, not yet checked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawConfig {
    mode: Option<Mode>,
    io_cores: Option<Vec<usize>>,
    control: Option<PathBuf>,
    state: Option<PathBuf>,
    metrics: Option<Spanned<String>>,
    user: Option<Spanned<String>>,
    seccomp: Option<bool>,
    #[serde(default)]
    log_level: logs::Level,
    #[serde(default)]
    threads_only: bool,
    policy: Option<Spanned<Params>>,
    placement: Option<Spanned<PlacementParams>>,
    #[serde(default)]
    uplink: Vec<RawUplink>,
    #[serde(default)]
    device: Vec<RawDevice>,
}

/// Returns a CPU's number as the kernel has it.
pub(crate) fn number(cpu: usize) -> u32 {
    u32::try_from(cpu).unwrap_or(u32::MAX)
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())]
        .iter()
        .filter(|&&byte| byte == b'\n')
        .count()
        + 1
}

impl Config {
    /// Reads a configuration file.
    ///
    /// # Errors
    ///
    /// The first error: its line, its key, the reason.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| ConfigError {
            where_: file.clone(),
            key: "file".to_owned(),
            why: error.to_string(),
        })?;
        Self::parse(&file, &text)
    }

    /// Reads a configuration.
    ///
    /// # Errors
    ///
    /// As for [`Config::read`].
    pub fn parse(file: &str, text: &str) -> Result<Self, ConfigError> {
        let error = |span: Range<usize>, key: &str, why: String| ConfigError {
            where_: format!("{file}:{}", line_of(text, span.start)),
            key: key.to_owned(),
            why,
        };
        let constant = |span: Range<usize>, wrong: ParamsError| {
            let at = text.find(wrong.key).unwrap_or(span.start);
            let why = format!("{} is not allowed, must be {}", wrong.value, wrong.must);
            error(at..at, wrong.key, why)
        };
        let raw: RawConfig = toml::from_str(text).map_err(|wrong| {
            let span = wrong.span().unwrap_or(0..0);
            let line = text.lines().nth(line_of(text, span.start) - 1);
            let line = line.unwrap_or_default();
            let key = line.split('=').next().unwrap_or_default().trim().to_owned();
            error(span, &key, wrong.message().to_owned())
        })?;
        let table: toml::Table = toml::from_str(text).unwrap_or_default();
        let policy = table.get("policy").and_then(toml::Value::as_table);
        let given = |key| policy.is_some_and(|policy| policy.contains_key(key));
        let mut config = Self {
            mode: raw.mode.unwrap_or(Mode::Elvis),
            io_cores: raw.io_cores.unwrap_or_default(),
            control: raw.control,
            state: raw.state,
            derive_window: !given("poll_on_gap_ns") && !given("poll_off_idle_ns"),
            threads_only: raw.threads_only,
            seccomp: raw.seccomp.unwrap_or(true),
            log_level: raw.log_level,
            ..Self::default()
        };
        if let Some(metrics) = &raw.metrics {
            let parsed = metrics.get_ref().parse();
            config.metrics = Some(parsed.map_err(|why| error(metrics.span(), "metrics", why))?);
        }
        if let Some(user) = &raw.user {
            let found = User::find(user.get_ref());
            config.user = Some(found.map_err(|why| error(user.span(), "user", why))?);
        }
        if let Some(policy) = &raw.policy {
            config.params = *policy.get_ref();
            config
                .params
                .check()
                .map_err(|wrong| constant(policy.span(), wrong))?;
        }
        if let Some(placement) = &raw.placement {
            config.placement = *placement.get_ref();
            let checked = config.placement.check();
            checked.map_err(|wrong| constant(placement.span(), wrong))?;
        }
        config.add_raw(&raw.uplink, &raw.device, &error)?;
        Ok(config)
    }

    /// Adds the uplinks and the devices of a file; `error` makes an error with the place in the file.
    fn add_raw(
        &mut self,
        uplinks: &[RawUplink],
        devices: &[RawDevice],
        error: &dyn Fn(Range<usize>, &str, String) -> ConfigError,
    ) -> Result<(), ConfigError> {
        let invalid = |(span, key, why): device::Wrong| error(span, key, why);
        for uplink in uplinks {
            let added = self.add_uplink(uplink.check().map_err(invalid)?);
            added.map_err(|why| error(uplink.switch.span(), "uplink", why))?;
        }
        for device in devices {
            let spec = device.check().map_err(invalid)?;
            self.add(spec)
                .map_err(|why| error(device.socket.span(), "device", why))?;
        }
        Ok(())
    }

    /// Checks that I/O threads can be bound to the I/O cores.
    ///
    /// # Errors
    ///
    /// The first core that can't be used; the message says why, and which cores can be.
    pub fn check_cores(&self, host: &Cpus) -> Result<(), String> {
        self.io_cores.iter().try_for_each(|&cpu| {
            let checked = host.check(number(cpu));
            checked.map_err(|why| format!("CPU {cpu} can't be used: {why}"))
        })
    }

    /// Checks that no I/O core is named twice. The threads of one core would poll in turns.
    pub fn check_unlike_cores(&self) -> Result<(), String> {
        let mut seen = HashSet::new();
        match self.io_cores.iter().find(|&cpu| !seen.insert(cpu)) {
            Some(cpu) => Err(format!(
                "CPU {cpu} is named twice; each I/O core has one thread"
            )),
            None => Ok(()),
        }
    }

    /// Returns the kinds of the I/O cores, if they are of several.
    #[must_use]
    pub fn kinds_of_cores(&self, host: &Cpus) -> Option<String> {
        let cores: Set = self.io_cores.iter().map(|&cpu| number(cpu)).collect();
        let kinds = host.kinds_among(&cores);
        let each = kinds
            .iter()
            .map(|(kind, cpus)| format!("{} ({})", kind.name, list::show(cpus)));
        (kinds.len() > 1).then(|| each.collect::<Vec<_>>().join(", "))
    }

    /// Checks that automatic placement is possible in this mode on these cores.
    pub fn check_placement(&self) -> Result<(), String> {
        if !self.placement.automatic {
            return Ok(());
        }
        if !matches!(self.mode, Mode::Elvis | Mode::FineGrained) {
            let mode = self.mode.name();
            return Err(format!(
                "placement: in mode {mode} each device has its own thread; use mode elvis or fine-grained"
            ));
        }
        if self.io_cores.len() < 2 {
            return Err(
                "placement: requires at least two I/O cores (io_cores, --io-cores)".to_owned(),
            );
        }
        Ok(())
    }

    /// Adds an uplink.
    ///
    /// # Errors
    ///
    /// The tap or interface is another uplink's: frames would go round.
    pub fn add_uplink(&mut self, spec: UplinkSpec) -> Result<(), String> {
        if self.uplinks.iter().any(|other| other.link == spec.link) {
            return Err(format!("{} is named by two uplinks", spec.link.text()));
        }
        self.uplinks.push(spec);
        Ok(())
    }

    /// Adds a device.
    ///
    /// # Errors
    ///
    /// Another device has its name or its socket.
    pub fn add(&mut self, spec: DeviceSpec) -> Result<(), String> {
        let mut names = HashSet::new();
        for other in self.devices.iter().chain([&spec]) {
            if !names.insert(other.name.clone()) || (other != &spec && other.socket == spec.socket)
            {
                return Err(format!(
                    "two devices have the name {:?} or the same socket",
                    spec.name
                ));
            }
        }
        self.devices.push(spec);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::KindSpec;
    use crate::storage::Source;
    use proptest::prelude::*;

    fn wrong(text: &str) -> String {
        Config::parse("elvis.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn a_whole_file() {
        let text = r#"
mode = "fine-grained"
io_cores = [2, 3]
control = "/run/elvis.sock"
state = "/run/elvis"
log_level = "debug"
[policy]
max_work = 32
[[uplink]]
switch = "lan"
net = "interface:eth0"
vlan = 7
[[device]]
socket = "/run/vm1.sock"
image = "/var/lib/vm1.raw"
[[device]]
name = "scratch"
socket = "/run/vm2.sock"
image = "ram:1G"
readonly = true
queues = 4
weight = 3
requests_per_s = 1000
"#;
        let config = Config::parse("elvis.toml", text).unwrap();
        assert_eq!(
            (config.mode, &config.io_cores[..]),
            (Mode::FineGrained, &[2, 3][..])
        );
        assert_eq!((config.params.max_work, config.params.min_work), (32, 4));
        assert!(config.derive_window);
        assert_eq!(config.log_level, logs::Level::Debug);
        let [uplink] = &config.uplinks[..] else {
            panic!("no uplink");
        };
        assert_eq!(
            (uplink.name().as_str(), uplink.vlan),
            ("lan=interface:eth0", 7)
        );
        assert_eq!(config.state.as_deref(), Some(Path::new("/run/elvis")));
        assert_eq!(config.devices[0].name, "vm1");
        let scratch = &config.devices[1];
        let KindSpec::Blk(blk) = &scratch.kind else {
            panic!("not a block device");
        };
        assert_eq!(blk.source, Source::Ram { bytes: 1 << 30 });
        assert_eq!((blk.queues, scratch.weight, blk.readonly), (4, 3, true));
        assert_eq!(scratch.limit.requests_per_s, Some(1000));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        assert!(wrong("mode = \"best\"").starts_with("elvis.toml:1: mode: unknown variant"));
        assert!(wrong("\n\nspeed = 3\n").starts_with("elvis.toml:3: speed: unknown field"));
        assert!(wrong("[policy]\nmax_work = 1").starts_with("elvis.toml:2: max_work: 1 is not"));
        let device = "[[device]]\nsocket = \"/s\"\nimage = \"ram:1G\"\n";
        assert!(wrong(&format!("{device}weight = 0")).starts_with("elvis.toml:4: weight: 0"));
        assert!(wrong(&format!("{device}queues = 999")).starts_with("elvis.toml:4: queues: 999"));
        assert!(wrong(&format!("{device}{device}")).starts_with("elvis.toml:5: device: two"));
        assert!(
            wrong("[[device]]\nsocket = \"/s\"\nimage = \"ram:x\"")
                .starts_with("elvis.toml:3: image")
        );
        assert!(
            wrong(&format!("{device}service_ns = 5"))
                .starts_with("elvis.toml:4: service_ns: only a null disk")
        );
        assert!(wrong("[[device]]\nsocket = \"/s\"").starts_with("elvis.toml:2: image: missing"));
        let uplink = "[[uplink]]\nswitch = \"s\"\nnet = \"tap:t\"\n";
        assert!(wrong(&format!("{uplink}vlan = 4095")).starts_with("elvis.toml:4: vlan: 4095"));
        assert!(wrong(&format!("{uplink}{uplink}")).starts_with("elvis.toml:5: uplink: tap:t is"));
        assert!(wrong("log_level = \"loud\"").starts_with("elvis.toml:1: log_level: unknown"));
        let placement = "[placement]\nautomatic = true\n";
        assert!(
            wrong(&format!("{placement}high = 1.5")).starts_with("elvis.toml:3: high: 1.5 is not")
        );
        assert!(wrong(&format!("{placement}speed = 3")).starts_with("elvis.toml:3: speed"));
    }

    #[test]
    fn every_io_core_must_be_usable_and_named_once() {
        let host = Cpus::read(&|path| match path {
            "/sys/devices/system/cpu/present" => Some("0-7".to_owned()),
            "/sys/devices/system/cpu/online" => Some("0-5".to_owned()),
            "/proc/self/cgroup" => Some("0::/vms".to_owned()),
            "/sys/fs/cgroup/vms/cpuset.cpus.effective" => Some("0-3".to_owned()),
            // taskset is no limit: a thread may be bound elsewhere.
            "/proc/self/status" => Some("Cpus_allowed_list:\t0".to_owned()),
            "/sys/devices/cpu_core/cpus" => Some("0-1".to_owned()),
            "/sys/devices/cpu_atom/cpus" => Some("2-5".to_owned()),
            _ => None,
        });
        let on = |io_cores: &[usize]| Config {
            io_cores: io_cores.to_vec(),
            ..Config::default()
        };
        for cores in [&[][..], &[0], &[3, 1], &[0, 1, 2, 3]] {
            assert_eq!(on(cores).check_cores(&host), Ok(()), "{cores:?}");
            assert_eq!(on(cores).check_unlike_cores(), Ok(()), "{cores:?}");
        }
        for (cpu, why) in [
            (99, "there is no such CPU; use one of 0-3"),
            (usize::MAX, "there is no such CPU; use one of 0-3"),
            (6, "it is offline; use one of 0-3"),
            (
                4,
                "it is not in the cpuset of control group /vms; use one of 0-3",
            ),
        ] {
            for cores in [&[cpu][..], &[0, cpu], &[cpu, 99]] {
                let told = on(cores).check_cores(&host).unwrap_err();
                assert_eq!(told, format!("CPU {cpu} can't be used: {why}"));
            }
        }
        for cores in [&[0, 0][..], &[1, 2, 1]] {
            let told = on(cores).check_unlike_cores().unwrap_err();
            assert!(
                told.starts_with(&format!("CPU {} is named twice", cores[0])),
                "{told}"
            );
        }
        assert_eq!(on(&[0, 1]).kinds_of_cores(&host), None);
        let kinds = on(&[1, 2, 3]).kinds_of_cores(&host);
        assert_eq!(kinds.as_deref(), Some("performance (1), efficiency (2-3)"));
    }

    #[test]
    fn a_placement_needs_cores_and_a_mode() {
        let parsed = |text: &str| Config::parse("elvis.toml", text).unwrap();
        let text = "io_cores = [2, 3]\n[placement]\nautomatic = true\nfill = 0.5";
        let config = parsed(text);
        assert_eq!(config.placement.fill, 0.5);
        assert_eq!(config.check_placement(), Ok(()));
        assert!(!parsed(&text.replace("true", "false")).placement.automatic);
        let one = parsed(&text.replace("2, 3", "2")).check_placement();
        assert!(one.unwrap_err().contains("two I/O cores"));
        let own = parsed(&format!("mode = \"per-device\"\n{text}")).check_placement();
        assert!(own.unwrap_err().contains("mode per-device"));
    }

    proptest! {
        #[test]
        fn any_text_is_an_error_or_taken(text in "\\PC{0,200}", argument in "\\PC{0,60}") {
            let _ = Config::parse("f", &text);
            if let Ok(device) = device_argument(&argument) {
                let _ = device_from_json(device);
            }
        }
    }
}
