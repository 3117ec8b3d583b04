//! Findings and the report that holds them, as `docs/doctor.md` describes them.

use schemars::JsonSchema;
use serde::Serialize;

/// The version of the report's format.
pub const SCHEMA: &str = "worldswitch-doctor/1";

/// The findings about one host.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// Always `worldswitch-doctor/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The host that was checked.
    pub host: Host,
    /// The worst severity among the findings.
    pub worst: Severity,
    /// Findings, ordered by group. Every host has the same ids.
    pub findings: Vec<Finding>,
}

/// The host that was checked. Unknown text is empty.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Host {
    /// Kernel release.
    pub kernel: String,
    /// CPU model name.
    pub cpu: String,
    /// CPUs online.
    pub cpus: u32,
    /// CPUs that this process can use.
    pub usable: u32,
    /// Whether this is a container: a PID namespace other than the kernel's first.
    pub container: bool,
    /// Whether the user may change the kernel's settings.
    pub administrator: bool,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The state is as it should be.
    Ok,
    /// The state is a part of the measurement, or unknown.
    Note,
    /// The state adds noise to measured times, or shifts them.
    Warning,
    /// A platform can't be used, or its figures would be misleading.
    Problem,
}

/// Area that a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Programs and images that a run needs.
    Tools,
    /// The KVM of this host: its device, hardware and settings.
    Kvm,
    /// The CPUs and their settings.
    Processor,
    /// Other load on this host, its clock, and a hypervisor below it.
    Host,
    /// Memory.
    Memory,
}

/// Platforms that a finding concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Concerns {
    /// All platforms that boot a guest on this host.
    All,
    /// Platforms that measure time on this host.
    Time,
    /// Platforms that run on this host's KVM.
    Kvm,
}

/// Outcome of one check.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// Stable name, such as `processor.governor`.
    pub id: &'static str,
    pub group: Group,
    pub severity: Severity,
    pub concerns: Concerns,
    /// Name of the check, for people.
    pub title: &'static str,
    /// State that the check found, for people.
    pub found: String,
    /// Why the state matters to a measurement: one sentence.
    pub why: &'static str,
    /// Cure of the state; null if nothing needs to be done, or nothing can be.
    pub cure: Option<Cure>,
}

/// Advice for a finding, with a command where there is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cure {
    /// Text for people, with how long the cure lasts or when it takes effect.
    pub advice: String,
    /// A shell command for the user, with `sudo` where needed; null if there is none.
    pub command: Option<String>,
    /// Who can apply the cure from here.
    pub here: Here,
    /// Why the cure can't be applied from here; null if it can be.
    pub obstacle: Option<String>,
}

/// Who can apply a cure where the doctor runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Here {
    /// The user.
    Yes,
    /// Root.
    Root,
    /// Nobody.
    No,
}

impl Report {
    /// Returns the findings other than `ok` that matter to a measurement of time on this host. With `kvm`, findings
    /// about its KVM are included. Group `tools` is left out: a run reports missing tools itself.
    pub fn disturbing(&self, kvm: bool) -> impl Iterator<Item = &Finding> {
        self.findings
            .iter()
            .filter(|finding| finding.severity > Severity::Ok && finding.group != Group::Tools)
            .filter(move |finding| kvm || finding.concerns != Concerns::Kvm)
    }
}

impl Severity {
    /// Returns the severity's name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Ok => "ok",
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Problem => "problem",
        }
    }
}

impl Cure {
    /// A cure that any user can apply here.
    pub fn yes(advice: &str, command: &str) -> Self {
        Self {
            advice: advice.to_owned(),
            command: Some(command.to_owned()),
            here: Here::Yes,
            obstacle: None,
        }
    }

    /// A cure that can't be applied from here, and why.
    pub fn no(advice: &str, obstacle: &str) -> Self {
        Self {
            advice: advice.to_owned(),
            command: None,
            here: Here::No,
            obstacle: Some(obstacle.to_owned()),
        }
    }
}

/// Parts of a check's finding that do not depend on the host.
#[derive(Clone, Copy, Debug)]
pub struct Topic {
    pub id: &'static str,
    pub group: Group,
    pub concerns: Concerns,
    pub title: &'static str,
    pub why: &'static str,
}

impl Topic {
    fn finding(&self, severity: Severity, found: impl Into<String>, cure: Option<Cure>) -> Finding {
        Finding {
            id: self.id,
            group: self.group,
            severity,
            concerns: self.concerns,
            title: self.title,
            found: found.into(),
            why: self.why,
            cure,
        }
    }

    pub fn ok(&self, found: impl Into<String>) -> Finding {
        self.finding(Severity::Ok, found, None)
    }

    pub fn note(&self, found: impl Into<String>, cure: Option<Cure>) -> Finding {
        self.finding(Severity::Note, found, cure)
    }

    pub fn warning(&self, found: impl Into<String>, cure: Option<Cure>) -> Finding {
        self.finding(Severity::Warning, found, cure)
    }

    pub fn problem(&self, found: impl Into<String>, cure: Option<Cure>) -> Finding {
        self.finding(Severity::Problem, found, cure)
    }
}
