//! What a finding is, and the report that holds them. `docs/doctor.md` describes both.

use schemars::JsonSchema;
use serde::Serialize;

/// The version of the report that this crate makes.
pub const SCHEMA: &str = "worldswitch-doctor/1";

/// All that was found out about a host.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// Always `worldswitch-doctor/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// Which host it is.
    pub host: Host,
    /// The gravest severity among the findings.
    pub worst: Severity,
    /// In the order of their groups. The same ids on every host.
    pub findings: Vec<Finding>,
}

/// Which host was looked at. Empty text where it does not tell.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Host {
    /// Kernel release.
    pub kernel: String,
    /// CPU model name.
    pub cpu: String,
    /// CPUs online.
    pub cpus: u32,
    /// Whether this is a container: a PID namespace other than the kernel's first.
    pub container: bool,
    /// Whether whoever asked may change the kernel's settings.
    pub administrator: bool,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// As it should be.
    Ok,
    /// Worth knowing: part of what is measured, or it can't be told.
    Note,
    /// It adds noise to what is measured in time, or shifts it.
    Warning,
    /// A platform can't be used, or its figures would not mean what they say.
    Problem,
}

/// What it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Programs and images that a run needs.
    Tools,
    /// `/dev/kvm` and what is behind it.
    Kvm,
    /// The CPUs and how they are run.
    Processor,
    /// What else goes on, on this host and below it.
    Host,
    /// Memory.
    Memory,
}

/// Which platforms it concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Concerns {
    /// All that boot a guest here.
    All,
    /// Those that measure time on this host.
    Time,
    /// Those that run on this host's KVM.
    Kvm,
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// Stable name, as `processor.governor`.
    pub id: &'static str,
    pub group: Group,
    pub severity: Severity,
    pub concerns: Concerns,
    /// What was looked at, for people.
    pub title: &'static str,
    /// What was found, for people.
    pub found: String,
    /// Why it matters to a measurement: one sentence.
    pub why: &'static str,
    /// What to do about it; null where nothing need be done, or nothing can.
    pub cure: Option<Cure>,
}

/// What to do about a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cure {
    /// In words, with how long it lasts or when it takes effect.
    pub advice: String,
    /// As a shell command for whoever asked, with `sudo` where they need it; null where there
    /// is none.
    pub command: Option<String>,
    /// Whether it can be done from here.
    pub here: Here,
    /// Why not from here; null where it can be.
    pub obstacle: Option<String>,
}

/// Whether a cure can be carried out where the doctor was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Here {
    /// By whoever asked.
    Yes,
    /// By root.
    Root,
    /// Not from here.
    No,
}

impl Report {
    /// What is not as it should be for who measures time here, or on this host's KVM as well. Not
    /// what a run lacks: it says that itself.
    pub fn disturbing(&self, kvm: bool) -> impl Iterator<Item = &Finding> {
        self.findings
            .iter()
            .filter(|finding| finding.severity > Severity::Ok && finding.group != Group::Tools)
            .filter(move |finding| kvm || finding.concerns != Concerns::Kvm)
    }
}

impl Severity {
    /// As the JSON form has it.
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
    /// Something that anybody can do here.
    pub fn yes(advice: &str, command: &str) -> Self {
        Self {
            advice: advice.to_owned(),
            command: Some(command.to_owned()),
            here: Here::Yes,
            obstacle: None,
        }
    }

    /// Something that is not done with a command here, and why.
    pub fn no(advice: &str, obstacle: &str) -> Self {
        Self {
            advice: advice.to_owned(),
            command: None,
            here: Here::No,
            obstacle: Some(obstacle.to_owned()),
        }
    }
}

/// A topic: what its findings have in common, whatever was found.
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
