//! A fake KVM monitor for the tests of the runner: it never opens /dev/kvm. It imitates a guest and the
//! monitor's counts, right or wrong, as the names of the benchmarks say.
//!
//! `FAKE_STATE` names a folder in which it notes its process id (`pid-N`) and the guest's command
//! line. `FAKE_KVM` is what its probe finds: `hardware`, `software`, `denied`, `absent`, `nonsense`
//! or `hangs`. As in fake-qemu, a benchmark that behaves is one write.

use serde_json::{Value, json};
use std::io::Write;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;
use ws_records::{BenchResult, CheckVerdict, Encoder, Nonce};

mod fake;

type Failure = Box<dyn std::error::Error>;

const OPERATIONS: u64 = 40;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    let has = |option: &str| arguments.iter().any(|word| word == option);
    if has("--version") {
        println!("vmm 9.9");
        return Ok(());
    }
    if has("--probe") {
        return probe(&std::env::var("FAKE_KVM").unwrap_or_default());
    }
    let after = |option: &str| {
        let at = arguments.iter().position(|word| word == option);
        at.and_then(|at| arguments.get(at + 1))
            .map_or("", String::as_str)
    };
    let state = PathBuf::from(std::env::var("FAKE_STATE")?);
    std::fs::write(
        state.join(format!("pid-{}", std::process::id())),
        after("--append"),
    )?;
    Machine::new(after("--append"), after("--cpus"), after("--pin"))?.run()
}

fn probe(kvm: &str) -> Result<(), Failure> {
    let no = |reason: &str| json!({"usable": false, "reason": reason, "software": true});
    let answer = match kvm {
        "software" => json!({"usable": true, "exit_ns": 8000, "software": true}),
        "denied" => no("no permission to open /dev/kvm: join the group that owns it"),
        "absent" => no("there is no /dev/kvm: load the module"),
        "nonsense" => json!(["what is a probe?"]),
        "hangs" => {
            std::thread::sleep(Duration::from_secs(600));
            json!({})
        }
        _ => json!({"usable": true, "reason": null, "exit_ns": 900, "software": false, "api": 12}),
    };
    println!("{answer}");
    Ok(())
}

struct Machine {
    names: Vec<String>,
    vcpus: u32,
    pins: Vec<i64>,
    guest: Encoder,
    monitor: Encoder,
    unit: String,
    /// Output that is not yet written.
    said: Vec<u8>,
}

impl Machine {
    fn new(command_line: &str, vcpus: &str, pins: &str) -> Result<Self, Failure> {
        let word = |key: &str| fake::word(command_line, key);
        let nonce: Nonce = word("nonce").parse()?;
        Ok(Self {
            names: fake::names(command_line),
            vcpus: vcpus.parse()?,
            pins: pins.split(',').flat_map(str::parse).collect(),
            guest: Encoder::new("guest", nonce)?,
            monitor: Encoder::new("vmm", nonce)?,
            unit: word("unit").to_owned(),
            said: Vec::new(),
        })
    }

    fn run(&mut self) -> Result<(), Failure> {
        let (unit, vcpus) = (self.unit.clone(), self.vcpus);
        let hello = json!({"protocol": 1, "arch": "x86_64", "unit": unit, "cpus": vcpus});
        self.monitor("hello", &hello)?;
        self.guest("hello", &hello)?;
        self.flush()?;
        for name in self.names.clone() {
            self.bench(&name)?;
            self.flush()?;
        }
        self.guest("bye", &json!({"status": "ok"}))?;
        self.monitor(
            "bye",
            &json!({"status": "ok", "why": "the guest powered off"}),
        )?;
        self.flush()
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let mut stdout = std::fs::File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
        stdout.write_all(&self.said)?;
        self.said.clear();
        Ok(())
    }

    fn guest(&mut self, kind: &str, value: &Value) -> Result<(), Failure> {
        self.said.extend(self.guest.line(kind, value)?);
        Ok(())
    }

    fn monitor(&mut self, kind: &str, value: &Value) -> Result<(), Failure> {
        self.said.extend(self.monitor.line(kind, value)?);
        Ok(())
    }

    fn bench(&mut self, name: &str) -> Result<(), Failure> {
        self.guest("begin", &json!({"bench": name, "index": 0}))?;
        match name.split('-').next().unwrap_or("") {
            "killed" => {
                self.flush()?;
                std::process::abort()
            }
            "hangs" => {
                self.flush()?;
                std::thread::sleep(Duration::from_secs(600));
            }
            "resets" => {
                self.flush()?;
                eprintln!("vmm: triple fault on vCPU 0 at rip 0x100000");
                std::process::exit(10);
            }
            "unemulated" => {
                self.flush()?;
                eprintln!(
                    "vmm: KVM internal error 1 on vCPU 0: an instruction that KVM can't emulate, bytes 0f 02"
                );
                std::process::exit(11);
            }
            "floods" => loop {
                self.said.extend([b'x'; 65536]);
                self.flush()?;
            },
            _ => {}
        }
        if let Some(counts) = self.counts(name) {
            self.monitor("exits", &counts)?;
        }
        let lines = self.guest.result(&BenchResult {
            bench: name.to_owned(),
            iterations: 10,
            cpus: self.vcpus,
            page_bytes: None,
            ws_bytes: None,
            port: None,
            check: CheckVerdict::Unproven,
            lead: None,
            unmarked: None,
            note: "only the host can see it".to_owned(),
            run: vec![2000; 4],
            control: vec![1000; 4],
        })?;
        self.said.extend(lines.concat());
        self.guest("end", &json!({"bench": name}))
    }

    /// The counts of a benchmark of the suite: correct, but one operation of `out` is missing. The vCPU
    /// is on the CPU that it is pinned to, except in `in`.
    fn counts(&self, name: &str) -> Option<Value> {
        let n = OPERATIONS;
        let mut places = self.pins.clone();
        if name == "in" {
            places.iter_mut().for_each(|cpu| *cpu += 1);
        }
        let counts = match name {
            "hypercall" => json!({"kvm": {"exits": n + 3, "hypercalls": n, "irq_exits": 3}}),
            "cold-memory-access" => json!({"pages_before": 100, "pages_after": 100 + n}),
            "in" => json!({"returns": {"io": n}}),
            "out" => json!({"returns": {"io": n - 1}}),
            "garbled" => json!({"returns": ["not", "an", "object"]}),
            "sgdt" => json!({"kvm": {}}),
            _ => return None,
        };
        let mut all = json!({"bench": name, "operations": n, "host_cpus": places, "moves": 0});
        if let (Value::Object(all), Value::Object(counts)) = (&mut all, counts) {
            all.extend(counts);
        }
        Some(all)
    }
}
