//! The end of a machine with the user's kernel: only a power-off is a success.

use crate::launch::state::{BELOW, GUEST};
use ws_machines::machine::Witness;
use ws_records::{Decoder, Expect, Item, Kind, Nonce, Record};

/// Reads a console, and reports at its end what went wrong.
#[derive(Debug)]
pub struct Ending {
    witness: Option<Witness>,
    decoder: Decoder,
    /// The first `bye` of a monitor or hypervisor whose status is not `ok`: its reason and status.
    bad: Option<String>,
    /// Whether the console has shown the witness.
    is_seen: bool,
}

impl Ending {
    /// Makes a reader for a machine with this witness, whose guest has this command line.
    pub fn new(witness: Option<Witness>, command_line: &str) -> Self {
        // The last valid nonce counts, as for monitors.
        let mut nonces = command_line.split(' ').filter_map(|word| {
            let nonce = word.strip_prefix("nonce=")?;
            nonce.parse().ok()
        });
        Self {
            witness,
            decoder: Decoder::new(Expect::Exact(nonces.next_back().unwrap_or(Nonce(0)))),
            bad: None,
            is_seen: false,
        }
    }

    /// Takes the next bytes of the console.
    pub fn feed(&mut self, bytes: &[u8]) {
        let items = self.decoder.feed(bytes);
        self.look(items);
    }

    fn look(&mut self, items: Vec<Item>) {
        for item in items {
            match (item, self.witness) {
                (Item::Record(record), _) => self.hear(&record),
                (Item::Console(text), Some(Witness::Console(sign))) => {
                    let sign = sign.as_bytes();
                    self.is_seen |= text.windows(sign.len()).any(|part| part == sign);
                }
                (Item::Console(_) | Item::Mark(_), _) => {}
            }
        }
    }

    fn hear(&mut self, record: &Record) {
        let Kind::Bye(bye) = &record.kind else {
            return;
        };
        // All other sources are monitors or hypervisors.
        if record.source == GUEST {
            return;
        }
        self.is_seen |= self.witness == Some(Witness::Bye) && record.source != BELOW;
        if bye.status != "ok" && self.bad.is_none() {
            let why = record.object.get("why").and_then(|why| why.as_str());
            let why = why.unwrap_or("it failed");
            self.bad = Some(format!("{why} (status {})", bye.status));
        }
    }

    /// Returns what went wrong, if anything; called after the end. `complaints`: the machine's standard error.
    pub fn amiss(mut self, complaints: &str) -> Option<String> {
        let rest = self.decoder.finish();
        self.look(rest);
        if self.bad.is_some() {
            return self.bad;
        }
        let why = match self.witness {
            None => return None,
            Some(Witness::Complaint(sign)) if complaints.contains(sign) => return None,
            Some(Witness::Bye | Witness::Console(_)) if self.is_seen => return None,
            Some(Witness::Bye) => {
                "the monitor did not report how the kernel ended: the console shows why"
            }
            Some(Witness::Complaint(_) | Witness::Console(_)) => {
                "the kernel did not power the machine off: it was reset, as after a triple fault, or never ran"
            }
        };
        Some(why.to_owned())
    }
}

/// The machine's standard error, without the lines that are its witness.
pub fn without_witness(witness: Option<Witness>, complaints: &str) -> String {
    let Some(Witness::Complaint(sign)) = witness else {
        return complaints.to_owned();
    };
    let lines: Vec<&str> = complaints
        .lines()
        .filter(|line| !line.contains(sign))
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ws_records::Encoder;

    const SIGN: &str = "shutdown reason=6";

    fn say(source: &str, nonce: u64, objects: &[&str]) -> Vec<u8> {
        let mut encoder = Encoder::new(source, Nonce(nonce)).unwrap();
        let lines = objects.iter().map(|object| {
            let object: serde_json::Value = serde_json::from_str(object).unwrap();
            let kind = object["kind"].as_str().unwrap().to_owned();
            encoder.line(&kind, &object).unwrap()
        });
        lines.collect::<Vec<_>>().concat()
    }

    const HELLO: &str = r#"{"kind":"hello","protocol":1,"arch":"x86_64","unit":"insns","cpus":1}"#;
    const OK: &str = r#"{"kind":"bye","status":"ok","why":"the guest powered off"}"#;
    const FAULT: &str = r#"{"kind":"bye","status":"reset","why":"triple fault on vCPU 0"}"#;

    fn amiss(witness: Witness, words: &str, console: &[&[u8]], complaints: &str) -> Option<String> {
        let mut ending = Ending::new(Some(witness), words);
        for part in console {
            ending.feed(part);
        }
        ending.amiss(complaints)
    }

    #[test]
    fn a_bye_of_who_runs_the_kernel_decides() {
        let bye = Witness::Bye;
        let monitor = |nonce, last| say("vmm", nonce, &[HELLO, last]);
        assert_eq!(amiss(bye, "quiet", &[&monitor(0, OK)], ""), None);
        let words = "nonce=wrong! nonce=1 nonce=2 nonce=";
        assert_eq!(amiss(bye, words, &[&monitor(2, OK)], ""), None);
        assert!(amiss(bye, words, &[&monitor(1, OK)], "").is_some());
        let why = amiss(bye, "", &[&monitor(0, FAULT)], "").unwrap();
        assert_eq!(why, "triple fault on vCPU 0 (status reset)");
        // The kernel's own records are not the monitor's.
        let own = say("guest", 0, &[HELLO, OK]);
        for console in [&b"vmm: /guest.elf: it is no ELF file\n"[..], b"", &own] {
            let why = amiss(bye, "", &[console], "").unwrap();
            assert!(why.contains("console shows why"), "{why}");
        }
    }

    #[test]
    fn of_a_machine_in_the_machine_the_inner_end_decides() {
        let outer = |last: &[&str]| say("l0", 0, &[&[HELLO], last].concat());
        let (begin, end) = (outer(&[]), &outer(&[OK])[outer(&[]).len()..]);
        let both = |inner: &[u8]| amiss(Witness::Bye, "", &[&begin, inner, end], "");
        let monitor = |last| say("vmm", 0, &[HELLO, last]);
        assert_eq!(both(&monitor(OK)), None);
        assert!(both(&monitor(FAULT)).is_some());
        assert!(both(b"vmm: it is no arm64 Image\n").is_some());
    }

    #[test]
    fn an_emulator_that_was_not_asked_for_a_power_off_was_reset() {
        let complaint = Witness::Complaint(SIGN);
        assert_eq!(amiss(complaint, "", &[], "shutdown reason=6"), None);
        let why = amiss(complaint, "", &[SIGN.as_bytes()], "shutdown reason=4").unwrap();
        assert!(why.contains("triple fault"), "{why}");
        let console = Witness::Console(SIGN);
        assert_eq!(
            amiss(console, "", &[b"x\nshutdown ", b"reason=6\r\n"], ""),
            None
        );
        assert!(amiss(console, "", &[b"x\n"], SIGN).is_some());
        assert_eq!(
            without_witness(Some(complaint), "a\nshutdown reason=6\nb"),
            "a\nb"
        );
    }
}
