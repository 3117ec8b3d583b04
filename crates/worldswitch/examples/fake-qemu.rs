//! A fake QEMU for the tests of the runner: it imitates a guest whose benchmarks misbehave as their
//! names say.
//!
//! `FAKE_STATE` names a folder in which it notes its process id (`pid-N`), and what has happened
//! before, because some benchmarks misbehave only once. With `FAKE_MODE=silent` it sends no record,
//! with `FAKE_MODE=third-hangs` the second benchmark of the third launch hangs.
//!
//! All records of a benchmark that behaves are one write: either all of them have arrived or none, so
//! no time limit can end it, however busy the host is.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;
use ws_machines::counter;
use ws_records::{BenchResult, CheckVerdict, Encoder, Nonce};

mod fake;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.iter().any(|word| word == "--version") {
        println!("QEMU emulator version 9.9.9 (a fake)");
        return Ok(());
    }
    if arguments.iter().any(|word| word == "help") {
        println!("pc max EPYC");
        return Ok(());
    }
    let after = |option: &str| {
        let at = arguments.iter().position(|word| word == option);
        at.and_then(|at| arguments.get(at + 1))
            .map_or("", String::as_str)
    };
    let state = PathBuf::from(std::env::var("FAKE_STATE")?);
    std::fs::write(state.join(format!("pid-{}", std::process::id())), "")?;
    let mode = std::env::var("FAKE_MODE").unwrap_or_default();
    if mode == "silent" {
        println!("BIOS: nothing to boot \x1b[31m<b>");
        eprintln!("fake-qemu: could not load the kernel");
        std::process::exit(1);
    }
    let mut guest = Guest::new(after("-append"), after("-smp"), state)?;
    guest.hello()?;
    guest.flush()?;
    for (index, name) in guest.names.clone().iter().enumerate() {
        if mode == "third-hangs" && index == 1 && guest.launches()? == 3 {
            guest.hang()?;
        }
        guest.bench(name)?;
        guest.flush()?;
    }
    guest.say("bye", r#"{"status":"ok"}"#)?;
    guest.flush()
}

struct Guest {
    names: Vec<String>,
    unit: String,
    external: bool,
    /// The member `seed` of its `hello`, if the command line has one.
    seed: String,
    vcpus: u32,
    nonce: Nonce,
    encoder: Encoder,
    state: PathBuf,
    /// Output that is not yet written.
    said: Vec<u8>,
}

impl Guest {
    fn new(command_line: &str, vcpus: &str, state: PathBuf) -> Result<Self, Failure> {
        let word = |key: &str| fake::word(command_line, key);
        let nonce: Nonce = word("nonce").parse()?;
        Ok(Self {
            names: fake::names(command_line),
            unit: word("unit").to_owned(),
            external: word("external") == "1",
            seed: match word("seed") {
                "" => String::new(),
                seed => format!(r#","seed":{seed}"#),
            },
            vcpus: vcpus.parse()?,
            nonce,
            encoder: Encoder::new("guest", nonce)?,
            state,
            said: Vec::new(),
        })
    }

    fn write(&mut self, bytes: &[u8]) {
        self.said.extend(bytes);
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let mut stdout = std::fs::File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
        stdout.write_all(&self.said)?;
        self.said.clear();
        Ok(())
    }

    /// How many fake QEMUs were started, this one included.
    fn launches(&self) -> Result<usize, Failure> {
        let mut count = 0;
        for entry in std::fs::read_dir(&self.state)? {
            count += usize::from(entry?.file_name().to_string_lossy().starts_with("pid-"));
        }
        Ok(count)
    }

    /// Writes all output, then creates the file `hangs` and hangs.
    fn hang(&mut self) -> Result<(), Failure> {
        self.flush()?;
        std::fs::write(self.state.join("hangs"), "")?;
        std::thread::sleep(Duration::from_secs(600));
        Ok(())
    }

    fn say(&mut self, kind: &str, json: &str) -> Result<(), Failure> {
        let value: serde_json::Value = serde_json::from_str(json)?;
        let line = self.encoder.line(kind, &value)?;
        self.write(&line);
        Ok(())
    }

    fn hello(&mut self) -> Result<(), Failure> {
        let (unit, vcpus, selected) = (self.unit.clone(), self.vcpus, self.names.len());
        self.say(
            "hello",
            &format!(
                r#"{{"protocol":1,"guest":"fake","arch":"x86_64","boot":"pvh","unit":"{unit}","cpus":{vcpus},"cpu":"fake","clock":"tsc","clock_hz":1000000000,"clock_hz_from":"pit","selected":{selected},"unknown":[]{}}}"#,
                self.seed
            ),
        )
    }

    /// How often `what` happened before, in all fakes: 0 on the first call. Two that ask at once get
    /// different answers.
    fn times(&self, what: &str) -> Result<u64, Failure> {
        let mut before = 0;
        while let Err(error) = File::create_new(self.state.join(format!("{what}-{before}"))) {
            if error.kind() != ErrorKind::AlreadyExists {
                return Err(error.into());
            }
            before += 1;
        }
        Ok(before)
    }

    fn result(&mut self, name: &str, cost: u64, check: CheckVerdict) -> Result<Vec<u8>, Failure> {
        let lines = self.encoder.result(&BenchResult {
            bench: name.to_owned(),
            iterations: 10,
            cpus: self.vcpus,
            page_bytes: None,
            ws_bytes: None,
            port: None,
            check,
            note: "as it was written".to_owned(),
            lead: self.external.then_some(0),
            unmarked: name
                .starts_with("unmarked")
                .then(|| "it is too quick".to_owned()),
            run: vec![100 + 10 * cost; 8],
            control: vec![100; 8],
        })?;
        Ok(lines.concat())
    }

    /// Sends marks of 8 samples, with control batches of 2 ms and run batches of 6 ms. Benchmarks
    /// `together...` send two marks at once in the second sample. For each mark, the file `marks-NAME`
    /// gets two readings of the host's counter, before and after the mark arrived.
    fn marks(&mut self, name: &str) -> Result<(), Failure> {
        let mut times = String::new();
        self.heard()?;
        for sample in 0..8 {
            for (begin, ms) in [(1, 2), (2, 6)] {
                if sample == 1 && name.starts_with("together") {
                    self.write(&[begin, 3]);
                    self.heard()?;
                    continue;
                }
                for mark in [begin, 3] {
                    let before = counter::read();
                    self.write(&[mark]);
                    self.heard()?;
                    times += &format!("{before} {}\n", counter::read());
                    if mark == begin {
                        std::thread::sleep(Duration::from_millis(ms));
                    }
                }
            }
        }
        Ok(std::fs::write(
            self.state.join(format!("marks-{name}")),
            times,
        )?)
    }

    /// Writes the output, and waits until the runner's console thread has read it, taken the time, and
    /// sleeps in its next read.
    fn heard(&mut self) -> Result<(), Failure> {
        self.flush()?;
        let runner = rustix::process::getppid().ok_or("an orphan")?;
        while rustix::io::ioctl_fionread(std::io::stdout())? > 0 {
            std::thread::sleep(Duration::from_micros(200));
        }
        let threads = format!("/proc/{}/task", runner.as_raw_nonzero());
        for thread in std::fs::read_dir(threads)? {
            let stat = thread?.path().join("stat");
            let is_awake = || {
                let stat = std::fs::read_to_string(&stat).unwrap_or_default();
                stat.contains(" (console) ") && !stat.contains(" (console) S ")
            };
            while is_awake() {
                std::thread::sleep(Duration::from_micros(200));
            }
        }
        Ok(())
    }

    #[allow(clippy::too_many_lines)] // one arm for each kind of row
    fn bench(&mut self, name: &str) -> Result<(), Failure> {
        self.say("begin", &format!(r#"{{"bench":"{name}","index":0}}"#))?;
        if self.external && !name.starts_with("unmarked") && !name.starts_with("silent") {
            self.marks(name)?;
        }
        match name.split('-').next().unwrap_or("") {
            "dies" => {
                self.flush()?;
                std::process::exit(1)
            }
            "killed" => {
                self.flush()?;
                std::process::abort()
            }
            "hangs" => self.hang()?,
            "floods" => loop {
                self.write(&[b'x'; 65536]);
                self.flush()?;
            },
            "restarts" => {
                self.encoder = Encoder::new("guest", self.nonce)?;
                self.hello()?;
                self.hang()?;
            }
            "faults" => self.say(
                "fault",
                &format!(
                    r##"{{"bench":"{name}","phase":"run","vector":13,"name":"#GP","error":0,"address":0,"ip":1}}"##
                ),
            )?,
            "skips" => self.say(
                "skip",
                &format!(r#"{{"bench":"{name}","reason":"not \u001b[31mhere <script>"}}"#),
            )?,
            "lost" => {
                let mut line = self.result(name, 5, CheckVerdict::Proved)?;
                let once = name.contains("once") && self.times(name)? > 0;
                if !once {
                    // Change one digit of the samples, so that the CRC is wrong.
                    let at = line.len() - 10;
                    line[at] ^= 1;
                }
                self.write(&line);
            }
            "fails" => {
                let line = self.result(name, 5, CheckVerdict::Failed)?;
                self.write(&line);
            }
            "unsteady" => {
                let cost = 5 + self.times(name)?;
                let line = self.result(name, cost, CheckVerdict::Proved)?;
                self.write(&line);
            }
            "garbage" => {
                let line = self.result(name, 5, CheckVerdict::Proved)?;
                self.write(b"@ws1 00000000 guest 0 0 2 {}\n\xff\xfe@ws1 \x1b[2J");
                self.write(&line);
            }
            _ => {
                let line = self.result(name, 5, CheckVerdict::Unproven)?;
                self.write(&line);
            }
        }
        self.say("end", &format!(r#"{{"bench":"{name}"}}"#))
    }
}
