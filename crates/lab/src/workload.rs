//! Workloads (`workloads/NAME.toml`): commands for a shell that an application benchmark runs in a whole Linux, each
//! with a fixed number of units of work.

use crate::lab::LabError;
use crate::recipe::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;

/// Side of the measured system on which a workload's `run` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// Beside the measured system: `run` is a client of servers in it.
    Client,
    /// In the measured system, with all that `run` needs.
    Inside,
}

impl Place {
    /// Word of the side in a workload's file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Inside => "inside",
        }
    }
}

/// Part of a machine beside its VM, for a workload. Only VMs of a host have such parts, not those of the lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum With {
    /// A disk on each side: /lab/host.disk, and the VM's /dev/vda.
    Disk,
    /// A second VM, 10.0.0.3, whose netserver answers.
    SecondVm,
}

impl With {
    /// All parts.
    pub const ALL: [Self; 2] = [Self::Disk, Self::SecondVm];

    /// Word of the part in a workload's file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::SecondVm => "second-vm",
        }
    }
}

/// A workload that is measured twice: with all interrupts of its network card on one vCPU, and with interrupts on all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interrupts {
    /// Name of the work that both do: `apache`.
    pub of: String,
    pub on: Interrupted,
}

/// The vCPUs that are interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interrupted {
    One,
    Spread,
}

/// A workload. Each command is one line for `sh -c`; `$SERVER` is the measured system's address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Workload {
    pub name: String,
    /// Description of the workload, in one line.
    pub summary: String,
    /// Name of the unit of work, in the singular: `transaction`.
    pub unit: String,
    /// Number of units that one `run` does.
    pub units: u64,
    pub place: Place,
    /// Number of CPUs of the measured system; with more than one it is a VM.
    pub vcpus: u32,
    /// Part of the machine beside the VM that the workload needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with: Option<With>,
    /// Whether the units are transactions of one byte each way, which are split into steps.
    pub steps: bool,
    /// Bytes of data that a unit sends over the network, without headers: for the cost model. 0: little data, or not
    /// known.
    pub bytes: u64,
    /// Whether the workload is an operation of a kernel that lmbench measures, and no application. Only views use it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub primitive: bool,
    /// Interrupted vCPUs, if another workload does the same work with other interrupts. Only views use them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupts: Option<Interrupts>,
    /// Texts that the commands find in /lab/workloads, by name: a program to be compiled, or a program's settings.
    pub files: BTreeMap<String, String>,
    /// Runs in the measured system before all else, not measured.
    pub prepare: Option<String>,
    /// Starts servers in the measured system, and returns when they answer.
    pub serve: Option<String>,
    /// Starts on the side of clients what runs there beside the work: another server, or other work. The command
    /// returns at once. The programs that it started end with the row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
    /// Does the work of `$UNITS` units: once to warm up, then measured ([`Self::shorter`]).
    pub run: String,
    /// Runs after `run`, on the same side; `run`'s output is in /tmp/out. Exit status 0 proves that the work was done.
    pub proof: Option<String>,
    /// Other commands for a measured system of several CPUs, for workloads whose own commands use one CPU only.
    #[serde(skip_serializing_if = "SeveralCpus::is_empty")]
    pub several_cpus: SeveralCpus,
}

/// Commands in place of a workload's own. `$CPUS` is the number of CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SeveralCpus {
    #[serde(skip_serializing_if = "Option::is_none")]
    serve: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<String>,
}

impl SeveralCpus {
    fn is_empty(&self) -> bool {
        self.serve.is_none() && self.run.is_none()
    }
}

/// A workload's file. The positions are for messages.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadFile {
    summary: Spanned<String>,
    unit: Spanned<String>,
    units: Spanned<u64>,
    place: Place,
    vcpus: Option<Spanned<u32>>,
    with: Option<With>,
    steps: Option<Spanned<bool>>,
    bytes: Option<Spanned<u64>>,
    #[serde(default)]
    primitive: bool,
    interrupts: Option<Interrupts>,
    #[serde(default)]
    files: Vec<Spanned<String>>,
    prepare: Option<Spanned<String>>,
    serve: Option<Spanned<String>>,
    beside: Option<Spanned<String>>,
    run: Spanned<String>,
    proof: Option<Spanned<String>>,
    #[serde(default)]
    several_cpus: SeveralCpusPart,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeveralCpusPart {
    serve: Option<Spanned<String>>,
    run: Option<Spanned<String>>,
}

/// The limit on a command's length, in bytes: a machine's agent reads it as one line.
const COMMAND_BYTES: usize = 4000;

/// The greatest number of units.
const UNITS: u64 = 1_000_000_000;

/// The greatest number of bytes that a unit sends.
const BYTES: u64 = 1 << 30;

/// The shorter run has this part of the units, so that it adds little to the noise of a figure.
const SHORTER: u64 = 10;

/// The greatest number of CPUs of the measured system.
const VCPUS: u32 = 2;

impl Workload {
    /// Reads a workload's file. `find` returns the text of a file beside workloads, if there is one. An error has its
    /// line.
    pub(crate) fn parse(
        name: &str,
        text: &str,
        path: &Path,
        find: &dyn Fn(&str) -> Result<Option<String>, LabError>,
    ) -> Result<Self, LabError> {
        let file: WorkloadFile = toml::from_str(text).map_err(|e| LabError::toml(path, &e))?;
        let wrong = |(place, what): (Range<usize>, String)| {
            let before = text.get(..place.start).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            LabError::Toml {
                path: path.to_owned(),
                text: format!("line {line}: {what}"),
            }
        };
        file.check().map_err(wrong)?;
        let mut files = BTreeMap::new();
        for file in &file.files {
            let found = find(file.get_ref())?;
            let none = || wrong((file.span(), format!("there is no file {}", file.get_ref())));
            files.insert(file.get_ref().clone(), found.ok_or_else(none)?);
        }
        Ok(Self {
            name: name.to_owned(),
            summary: file.summary.into_inner(),
            unit: file.unit.into_inner(),
            units: file.units.into_inner(),
            place: file.place,
            vcpus: file.vcpus.map_or(1, Spanned::into_inner),
            with: file.with,
            steps: file.steps.is_some_and(Spanned::into_inner),
            bytes: file.bytes.map_or(0, Spanned::into_inner),
            primitive: file.primitive,
            interrupts: file.interrupts,
            files,
            prepare: file.prepare.map(Spanned::into_inner),
            serve: file.serve.map(Spanned::into_inner),
            beside: file.beside.map(Spanned::into_inner),
            run: file.run.into_inner(),
            proof: file.proof.map(Spanned::into_inner),
            several_cpus: SeveralCpus {
                serve: file.several_cpus.serve.map(Spanned::into_inner),
                run: file.several_cpus.run.map(Spanned::into_inner),
            },
        })
    }

    /// Adapts the workload to a measured system of several CPUs. A workload with a number of vCPUs of its own stays as
    /// it is.
    #[must_use]
    pub fn on(mut self, cpus: u32) -> Self {
        if self.vcpus > 1 {
            return self;
        }
        let number = cpus.to_string();
        let commands = std::mem::take(&mut self.several_cpus);
        let [serve, run] =
            [commands.serve, commands.run].map(|it| it.map(|it| it.replace("$CPUS", &number)));
        self.vcpus = cpus;
        self.serve = serve.or(self.serve);
        self.run = run.unwrap_or(self.run);
        self
    }

    /// Number of units of the shorter run, which is subtracted from the measured run, as both start and end the same
    /// programs. 0 if there is none, as `run` does not use `$UNITS`.
    pub fn shorter(&self) -> u64 {
        match self.run.contains("UNITS") && self.units > 1 {
            true => (self.units / SHORTER).max(1),
            false => 0,
        }
    }

    /// SHA-256, in hexadecimal, over all that decides the workload's work: not its summary, the bytes that it states, or
    /// what only views use.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        let (units, place) = (self.units.to_string(), self.place.word());
        let (vcpus, steps) = (self.vcpus.to_string(), self.steps.to_string());
        let fields = [
            &*self.name,
            &self.unit,
            &units,
            place,
            &vcpus,
            &steps,
            &self.run,
        ];
        let commands = [&self.prepare, &self.serve, &self.proof];
        let commands = commands.map(|command| command.as_deref().unwrap_or_default());
        let files = self.files.iter();
        let files = files.flat_map(|(name, text)| [&**name, text]);
        for field in fields.into_iter().chain(commands).chain(files) {
            // No field contains a zero byte.
            hash.update(field);
            hash.update([0]);
        }
        // Workloads without these fields keep the digest that they had before the fields existed.
        if let Some(beside) = &self.beside {
            hash.update("beside ");
            hash.update(beside);
        }
        if let Some(with) = self.with {
            hash.update("with ");
            hash.update(with.word());
        }
        hex(&hash.finalize())
    }
}

/// The longest name of a workload.
pub const NAME_BYTES: usize = 64;

/// Whether a text can be a workload's name.
pub(crate) fn is_name(name: &str) -> bool {
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_first = |c: char| good(c) && c != '-';
    (1..=NAME_BYTES).contains(&name.len()) && name.chars().all(good) && name.starts_with(is_first)
}

/// Whether a text can be the name of a workload's file: the name must not be a path.
fn is_file_name(name: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (1..=40).contains(&name.len()) && name.chars().all(good) && !name.starts_with('.')
}

impl WorkloadFile {
    /// Checks the rules of a workload that its types do not enforce. The error has its position in the file.
    fn check(&self) -> Result<(), (Range<usize>, String)> {
        let texts = [("summary", &self.summary), ("unit", &self.unit)];
        for (key, text) in texts {
            if text.get_ref().trim().is_empty() || text.get_ref().contains(char::is_control) {
                return Err((text.span(), format!("{key} is not one line of text")));
            }
        }
        if !(1..=UNITS).contains(self.units.get_ref()) {
            return Err((self.units.span(), format!("units is not 1 to {UNITS}")));
        }
        if let Some(vcpus) = &self.vcpus {
            if !(1..=VCPUS).contains(vcpus.get_ref()) {
                return Err((vcpus.span(), format!("vcpus is not 1 to {VCPUS}")));
            }
        }
        let steps = self.steps.as_ref().filter(|steps| *steps.get_ref());
        if let Some(steps) = steps.filter(|_| self.place != Place::Client) {
            let what = "steps needs place = \"client\": only a client has transactions";
            return Err((steps.span(), what.into()));
        }
        if let Some(bytes) = &self.bytes {
            if self.place != Place::Client {
                let what = "bytes needs place = \"client\": only a client sends over the network";
                return Err((bytes.span(), what.into()));
            }
            if !(1..=BYTES).contains(bytes.get_ref()) {
                return Err((
                    bytes.span(),
                    format!("bytes is not 1 to {BYTES}: leave it out if no data is sent"),
                ));
            }
        }
        if let Some(file) = self.files.iter().find(|file| !is_file_name(file.get_ref())) {
            let what = "files: name files in this folder, with 1 to 40 letters, digits and -_.";
            return Err((file.span(), what.into()));
        }
        let commands = [
            ("prepare", self.prepare.as_ref()),
            ("serve", self.serve.as_ref()),
            ("beside", self.beside.as_ref()),
            ("run", Some(&self.run)),
            ("proof", self.proof.as_ref()),
            ("several_cpus.serve", self.several_cpus.serve.as_ref()),
            ("several_cpus.run", self.several_cpus.run.as_ref()),
        ];
        for (key, command) in commands {
            let Some(command) = command else { continue };
            let text = command.get_ref();
            let what = if text.trim().is_empty() {
                format!("{key} is empty")
            } else if text.contains(char::is_control) {
                format!("{key} is not one line; end its lines with '\\' in a text of \"\"\"")
            } else if text.len() > COMMAND_BYTES {
                format!("{key} is longer than {COMMAND_BYTES} bytes")
            } else {
                continue;
            };
            return Err((command.span(), what));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<Workload, String> {
        let find = |name: &str| Ok((name == "x.c").then(|| "int x;\n".to_owned()));
        let path = Path::new("lab/workloads/x.toml");
        let workload = Workload::parse("x", text, path, &find);
        workload.map_err(|e| e.to_string())
    }

    const LEAST: &str =
        "summary = \"s\"\nunit = \"request\"\nunits = 3\nplace = \"client\"\nrun = \"true\"\n";

    #[test]
    fn a_shorter_run_has_a_tenth_of_the_units() {
        let shorter = |units: u64, run: &str| {
            let text = format!(
                "summary = \"s\"\nunit = \"u\"\nunits = {units}\nplace = \"inside\"\nrun = \"{run}\"\n"
            );
            parse(&text).unwrap().shorter()
        };
        let all = [20, 9, 2, 1].map(|units| shorter(units, "work $((UNITS * 2))"));
        assert_eq!(all, [2, 1, 1, 0]);
        assert_eq!(shorter(20, "work 20"), 0);
    }

    #[test]
    fn a_workload_is_read() {
        let text = format!("{LEAST}serve = \"\"\"\\\n  a && \\\n  b\"\"\"\n");
        let workload = parse(&text).unwrap();
        assert_eq!(workload.serve.as_deref(), Some("a && b"));
        assert_eq!((workload.units, workload.place), (3, Place::Client));
        assert_eq!((workload.vcpus, workload.steps), (1, false));
        assert_eq!(workload.prepare, None);
        let workload = parse(&format!("{LEAST}vcpus = 2\nsteps = true\n")).unwrap();
        assert_eq!((workload.vcpus, workload.steps), (2, true));
        assert!(workload.files.is_empty());
        assert_eq!(workload.bytes, 0);
        let workload = parse(&format!("{LEAST}bytes = 4096\n")).unwrap();
        assert_eq!(workload.bytes, 4096);
        let workload = parse(&format!("{LEAST}files = [\"x.c\"]\n")).unwrap();
        assert_eq!(workload.files["x.c"], "int x;\n");
    }

    #[test]
    fn several_cpus_have_other_commands_and_another_digest() {
        let text = format!("{LEAST}serve = \"s\"\n");
        let several = "[several_cpus]\nrun = \"work -t $CPUS $((UNITS / $CPUS))\"\n";
        let (plain, both) = (
            parse(&text).unwrap(),
            parse(&format!("{text}{several}")).unwrap(),
        );
        // One CPU's figure stays comparable with those of before.
        assert_eq!(plain.digest(), both.digest());
        let on_four = both.clone().on(4);
        assert_eq!(on_four.run, "work -t 4 $((UNITS / 4))");
        assert_eq!((on_four.serve.as_deref(), on_four.vcpus), (Some("s"), 4));
        assert_ne!(on_four.digest(), both.digest());
        assert_ne!(plain.clone().on(4).digest(), plain.digest());
        // It says itself how many vCPUs it is about.
        let two = parse(&format!("{text}vcpus = 2\n{several}")).unwrap();
        assert_eq!(two.clone().on(4), two);
        let error = parse(&format!("{text}[several_cpus]\nserve = \" \"\n")).unwrap_err();
        assert!(error.contains("several_cpus.serve is empty"), "{error}");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (from, to, said) in [
            ("units = 3", "units = 0", "line 3: units is not 1 to"),
            ("units = 3", "units = -1", "line 3"),
            ("\"request\"", "\" \"", "line 2: unit is not one line"),
            ("\"client\"", "\"beside\"", "line 4"),
            ("\"true\"", "\"\"", "line 5: run is empty"),
            (
                "\"true\"",
                "\"a\\nb\"",
                "x.toml: line 5: run is not one line",
            ),
            ("run = \"true\"", "", "missing field `run`"),
            (
                "run =",
                "files = [\"x.c\", \"y.c\"]\nrun =",
                "line 5: there is no file y.c",
            ),
            (
                "run =",
                "files = [\"../x.c\"]\nrun =",
                "line 5: files: name files in",
            ),
            ("run =", "seconds = 5\nrun =", "line 5"),
            ("run =", "seconds = 5\nrun =", "seconds"),
            ("run =", "with = \"a dog\"\nrun =", "second-vm"),
            ("run =", "vcpus = 3\nrun =", "line 5: vcpus is not 1 to 2"),
            ("run =", "vcpus = 0\nrun =", "line 5: vcpus is not 1 to 2"),
            (
                "\"client\"",
                "\"inside\"\nsteps = true",
                "line 5: steps needs place",
            ),
            (
                "\"client\"",
                "\"inside\"\nbytes = 1",
                "line 5: bytes needs place",
            ),
            ("run =", "bytes = 0\nrun =", "line 5: bytes is not 1 to"),
            ("run =", "bytes = 2000000000\nrun =", "line 5: bytes is not"),
        ] {
            let error = parse(&LEAST.replace(from, to)).unwrap_err();
            assert!(error.contains(said), "{error}, not {said}");
        }
        let long = LEAST.replace("true", &"x".repeat(COMMAND_BYTES + 1));
        assert!(parse(&long).unwrap_err().contains("longer than"));
    }

    #[test]
    fn a_name_is_a_word() {
        for (name, is) in [
            ("tcp-rr", true),
            ("7zip", true),
            ("", false),
            ("-a", false),
            ("A", false),
            ("a_b", false),
            ("../a", false),
        ] {
            assert_eq!(is_name(name), is, "{name}");
        }
        assert!(is_name(&"a".repeat(64)) && !is_name(&"a".repeat(65)));
    }

    #[test]
    fn the_digest_is_of_all_but_the_summary_and_the_bytes() {
        let digest = |from: &str, to: &str| parse(&LEAST.replace(from, to)).unwrap().digest();
        let same = digest("", "");
        assert_eq!(digest("\"s\"", "\"another\""), same);
        assert_eq!(digest("run =", "bytes = 9\nrun ="), same);
        for (from, to) in [
            ("request", "call"),
            ("= 3", "= 4"),
            ("client", "inside"),
            ("true", "false"),
            ("run =", "proof = \"true\"\nrun ="),
            ("run =", "vcpus = 2\nrun ="),
            ("run =", "steps = true\nrun ="),
            ("run =", "files = [\"x.c\"]\nrun ="),
            ("run =", "beside = \"true\"\nrun ="),
            ("run =", "with = \"disk\"\nrun ="),
        ] {
            assert_ne!(digest(from, to), same, "{to}");
        }
        let with = |what: &str| digest("run =", &format!("with = \"{what}\"\nrun ="));
        assert_ne!(with("disk"), with("second-vm"));
        let key = |key: &str| digest("run =", &format!("{key} = \"a\"\nrun ="));
        assert_ne!(key("prepare"), key("serve"));
        assert_ne!(key("serve"), key("proof"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_stumble(text in "(?s).{0,200}", more in "[a-z= \"\n0-9]{0,60}") {
            let _ = parse(&text);
            let _ = parse(&format!("{LEAST}{more}"));
        }

        #[test]
        fn a_command_is_read_as_it_stands(command in "[ -~]{1,80}") {
            let value = toml::Value::String(command.clone());
            let read = parse(&LEAST.replace("\"true\"", &value.to_string()));
            match command.trim().is_empty() {
                true => prop_assert!(read.is_err()),
                false => prop_assert_eq!(read.unwrap().run, command),
            }
        }
    }
}
