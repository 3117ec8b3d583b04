//! Workload of a row: the work of the timed side, and of the other side meanwhile.

use std::collections::BTreeMap;
use toml::{Table, Value};
use ws_cpus::list;
use ws_lab::workload::With;
use ws_machines::applications::{HOST_DISK, HOST_DISK_MIB, vm_disk_mib};
use ws_results::RowFacts;
use ws_results::place::{PlaceKind, PlaceRow, Side, Where};

/// Shell functions that all workloads read, and the name of their file.
const SHELL: &str = include_str!("place.sh");
const SHELL_FILE: &str = "place.sh";

/// Addresses of the host, of the second VM, and of a side itself.
const HOST_ADDRESS: &str = "10.0.0.1";
const SECOND_ADDRESS: &str = "10.0.0.3";
const OWN_ADDRESS: &str = "127.0.0.1";
/// Path of the VM's disk in the VM.
const VM_DISK: &str = "/dev/vda";
const MIB: u64 = 1 << 20;
/// Passes over a disk: from its page cache, and from the disk itself.
const CACHED_TIMES: u64 = 16;
const BUFFERED_TIMES: u64 = 2;
/// Passes of the side that is not timed: more than the timed side needs.
const AGAIN_TIMES: u64 = 1_000_000;

/// The number of vCPUs of the VM in which a row is measured: as many as there are CPUs for their threads, at most two.
/// If only the host works, the VM has one.
pub fn vcpus(row: &PlaceRow) -> u32 {
    let spot = match &row.where_ {
        Where::Alone { .. } if row.side == Side::Host => return 1,
        Where::Alone { spot, .. } => spot,
        Where::Both(places) => &places.vm,
    };
    match list::parse(&spot.work) {
        Some(cpus) if cpus.len() > 1 => 2,
        _ => 1,
    }
}

/// A side's part in a kind of work.
struct Work {
    unit: &'static str,
    units: u64,
    command: String,
    /// Command for the side that is not timed, if it differs: a program that starts slowly goes on instead of starting
    /// again.
    beside: Option<String>,
    /// Shell command that succeeds after the work.
    proof: String,
    /// Address that the work sends to.
    to: Option<&'static str>,
}

impl Work {
    /// Shell command that repeats the work.
    fn again(&self) -> String {
        format!("again '{}'", self.beside.as_ref().unwrap_or(&self.command))
    }
}

/// Work of one side: a fixed amount, about half a second of it. A VM of an emulator does less.
fn work(kind: PlaceKind, side: Side, is_emulator: bool) -> Work {
    let is_guest = side == Side::Guest;
    let amount = |full: u64, emulated: u64| match is_guest && is_emulator {
        true => emulated,
        false => full,
    };
    match kind {
        PlaceKind::NetSelf
        | PlaceKind::NetHost
        | PlaceKind::NetGuest
        | PlaceKind::TripHost
        | PlaceKind::TripGuest => sent(kind, side, is_emulator),
        PlaceKind::DiskBuffered => disk(false, is_guest, is_emulator),
        PlaceKind::DiskCached => disk(true, is_guest, is_emulator),
        PlaceKind::Cpu => {
            let units = amount(6000, 300);
            Work {
                unit: "event",
                units,
                command: format!(
                    "sysbench cpu --cpu-max-prime=2000 --events={units} --time=0 --threads=1 run"
                ),
                beside: None,
                proof: format!("grep -q 'total number of events: *{units}$' /tmp/out"),
                to: None,
            }
        }
        PlaceKind::Memory => {
            let units = amount(4096, 1024);
            Work {
                unit: "MiB",
                units,
                command: format!(
                    "sysbench memory --memory-block-size=64K --memory-total-size={units}M --time=0 --threads=1 run"
                ),
                beside: None,
                proof: format!("grep -q '^Total operations: {} ' /tmp/out", units * 16),
                to: None,
            }
        }
    }
}

/// Work of a network: a stream of data, or round trips.
fn sent(kind: PlaceKind, side: Side, is_emulator: bool) -> Work {
    let to = match (kind, side) {
        (PlaceKind::NetGuest | PlaceKind::TripGuest, _) => SECOND_ADDRESS,
        (PlaceKind::NetHost | PlaceKind::TripHost, Side::Guest) => HOST_ADDRESS,
        _ => OWN_ADDRESS,
    };
    // The second VM is slow under an emulator too.
    let slow = is_emulator && (side == Side::Guest || to == SECOND_ADDRESS);
    if matches!(kind, PlaceKind::TripHost | PlaceKind::TripGuest) {
        let trips = match (slow, to) {
            (true, SECOND_ADDRESS) => 500,
            (true, _) => 1000,
            (false, OWN_ADDRESS) => 10_000,
            (false, _) => 4000,
        };
        let test = ("TCP_RR", trips, "LOCAL_RECV_CALLS");
        return netperf(to, "round trip", trips, test);
    }
    let units = match (slow, to) {
        (true, _) => 16,
        (false, OWN_ADDRESS) => 1024,
        (false, _) => 512,
    };
    let test = ("TCP_STREAM", units * MIB, "LOCAL_BYTES_SENT");
    netperf(to, "MiB", units, test)
}

/// netperf's test to an address, its amount, and the key by which netperf reports that amount.
fn netperf(
    to: &'static str,
    unit: &'static str,
    units: u64,
    (test, amount, key): (&str, u64, &str),
) -> Work {
    Work {
        unit,
        units,
        command: format!("netperf -4 -H {to} -t {test} -l -{amount} -P 0 -- -k {key}"),
        beside: None,
        proof: format!("grep -qx {key}={amount} /tmp/out"),
        to: Some(to),
    }
}

/// Work of a disk. Reads from the page cache are repeated so often that waiting for a CPU is a small part.
fn disk(is_cached: bool, is_guest: bool, is_emulator: bool) -> Work {
    let (file, mib) = match is_guest {
        true => (VM_DISK, vm_disk_mib(is_emulator)),
        false => (HOST_DISK, HOST_DISK_MIB),
    };
    let times = match is_cached {
        // An emulated VM copies as slowly as it reads a disk.
        _ if is_guest && is_emulator => 1,
        true => CACHED_TIMES,
        false => BUFFERED_TIMES,
    };
    let read = |times: u64| {
        let invalidate = u8::from(!is_cached);
        format!("read_disk {file} {mib} {times} {invalidate}")
    };
    Work {
        unit: "MiB",
        units: mib * times,
        command: read(times),
        beside: Some(read(AGAIN_TIMES)),
        proof: format!(
            "grep -qx 'read {} KiB' /tmp/out && grep -qx 'took [0-9]* ns' /tmp/out",
            mib * times * 1024
        ),
        to: None,
    }
}

/// CPUs of a row's parts, and the work of each side.
struct Cast<'a> {
    row: &'a PlaceRow,
    sender: &'a str,
    receiver: &'a str,
    vcpu: &'a str,
    /// CPUs of the other threads of the VM's program.
    io: &'a str,
    both: bool,
    host: Work,
    guest: Work,
}

impl<'a> Cast<'a> {
    /// Chooses the CPUs of each program of a row. A side that does not work has all CPUs.
    fn of(row: &'a PlaceRow, is_emulator: bool, all: &'a str) -> Self {
        let [host, guest] = [Side::Host, Side::Guest].map(|side| work(row.kind, side, is_emulator));
        let cast = Self {
            row,
            sender: all,
            receiver: all,
            vcpu: all,
            io: all,
            both: false,
            host,
            guest,
        };
        match &row.where_ {
            Where::Alone { spot, receiver } if row.side == Side::Guest => Self {
                receiver: receiver.as_deref().unwrap_or(all),
                vcpu: &spot.work,
                io: spot.server(),
                ..cast
            },
            Where::Alone { spot, .. } => Self {
                sender: &spot.work,
                receiver: row.kind.receiver(spot).unwrap_or(all),
                ..cast
            },
            Where::Both(places) => Self {
                sender: &places.host.work,
                receiver: row.kind.receiver(&places.host).unwrap_or(all),
                vcpu: &places.vm.work,
                io: places.vm.server(),
                both: true,
                ..cast
            },
        }
    }

    fn is_guest(&self) -> bool {
        self.row.side == Side::Guest
    }

    /// Whether this side works, and sends to this address.
    fn sends(&self, side: Side, address: &str) -> bool {
        let work = match side {
            Side::Host => &self.host,
            Side::Guest => &self.guest,
        };
        (self.both || self.row.side == side) && work.to == Some(address)
    }

    /// Commands that the VM runs beside the timed work.
    fn in_vm(&self) -> Vec<String> {
        let mut commands = Vec::new();
        if self.sends(Side::Guest, OWN_ADDRESS) {
            // The server runs on any of the VM's CPUs.
            let last = vcpus(self.row) - 1;
            commands.push(format!("serve 0-{last}"));
        }
        if self.both && !self.is_guest() {
            commands.push(self.guest.again());
        }
        commands
    }

    /// Commands that the host runs beside the timed work; they put each part on its CPUs.
    fn on_host(&self) -> Vec<String> {
        let (sender, receiver) = (self.sender, self.receiver);
        let mut commands = vec![
            format!("vm 1 {} {}", self.vcpu, self.io),
            format!("here {sender}"),
        ];
        if self.row.kind.has_second_vm() {
            commands.push(format!("vm 2 {receiver} {receiver}"));
            commands.push(format!("answers {SECOND_ADDRESS}"));
        }
        if self.sends(Side::Host, OWN_ADDRESS) || self.sends(Side::Guest, HOST_ADDRESS) {
            commands.push(format!("serve {receiver}"));
        }
        if self.both && self.is_guest() {
            commands.push(self.host.again());
        }
        commands
    }

    fn summary(&self) -> String {
        let kind = self.row.kind.word();
        match self.both {
            true => format!(
                "{kind} with sender on CPU {}, receiver {}, vCPU {}, I/O {}",
                self.sender, self.receiver, self.vcpu, self.io
            ),
            false => format!("{kind} of one side alone"),
        }
    }
}

/// Writes the file of a row's workload; `all` are all CPUs.
fn workload(row: &PlaceRow, is_emulator: bool, all: &str) -> Result<String, toml::ser::Error> {
    let cast = Cast::of(row, is_emulator, all);
    let (timed, place, run) = match cast.is_guest() {
        true => (&cast.guest, "inside", cast.guest.command.clone()),
        false => {
            let run = format!("here {} && {}", cast.sender, cast.host.command);
            (&cast.host, "client", run)
        }
    };
    let told = |commands: &[String]| {
        let commands = commands.join(" && ");
        format!(". /lab/workloads/{SHELL_FILE}; {commands}")
    };
    let with = match row.kind {
        kind if kind.has_disk() => Some(With::Disk),
        kind if kind.has_second_vm() => Some(With::SecondVm),
        _ => None,
    };
    let units = i64::try_from(timed.units).unwrap_or(i64::MAX);
    let in_vm = Some(cast.in_vm()).filter(|commands| !commands.is_empty());
    let vcpus = vcpus(row);
    let lines: [(&str, Option<Value>); 11] = [
        ("summary", Some(cast.summary().into())),
        ("unit", Some(timed.unit.into())),
        ("units", Some(units.into())),
        ("place", Some(place.into())),
        ("vcpus", (vcpus > 1).then(|| i64::from(vcpus).into())),
        ("with", with.map(|with| with.word().into())),
        ("files", Some(vec![SHELL_FILE].into())),
        ("serve", in_vm.map(|commands| told(&commands).into())),
        ("beside", Some(told(&cast.on_host()).into())),
        ("run", Some(told(&[run]).into())),
        ("proof", Some(timed.proof.clone().into())),
    ];
    let lines = lines.into_iter();
    let file = lines.filter_map(|(key, value)| Some((key.to_owned(), value?)));
    toml::to_string(&file.collect::<Table>())
}

/// Writes the workloads of these rows, and the shell functions beside them, by file name. `all`: the CPUs that may be
/// used.
pub fn workloads(
    rows: &[PlaceRow],
    is_emulator: bool,
    all: &str,
) -> Result<BTreeMap<String, String>, toml::ser::Error> {
    let of = |row: &PlaceRow| {
        Ok((
            format!("{}.toml", row.name()),
            workload(row, is_emulator, all)?,
        ))
    };
    let shell = (SHELL_FILE.to_owned(), SHELL.to_owned());
    rows.iter().map(of).chain([Ok(shell)]).collect()
}

/// Returns the facts of these rows, by the names of their workloads.
pub fn facts(rows: &[PlaceRow]) -> BTreeMap<String, RowFacts> {
    let of = |row: &PlaceRow| (row.name(), row.clone().into());
    rows.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ws_results::place::{Places, Spot};

    fn text(row: &PlaceRow) -> Table {
        toml::from_str(&workload(row, true, "0-1").unwrap()).unwrap()
    }

    fn places() -> Places {
        Places {
            host: Spot::apart("0", "2"),
            vm: Spot::apart("1", "3"),
        }
    }

    fn line<'a>(file: &'a Table, key: &str) -> &'a str {
        file.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    #[test]
    fn the_other_side_works_only_if_both_do() {
        for kind in PlaceKind::ALL {
            let loops = |file: &Table, key: &str| line(file, key).contains("again ");
            let of_host = text(&PlaceRow::both(kind, Side::Host, &places()));
            assert!(loops(&of_host, "serve") && !loops(&of_host, "beside"));
            let of_guest = text(&PlaceRow::both(kind, Side::Guest, &places()));
            assert!(loops(&of_guest, "beside") && !loops(&of_guest, "serve"));
            for side in [Side::Host, Side::Guest] {
                let alone = text(&PlaceRow::alone(kind, side, &places()));
                assert!(!loops(&alone, "serve") && !loops(&alone, "beside"));
            }
        }
    }

    #[test]
    fn a_vm_has_as_many_vcpus_as_its_threads_have_cpus() {
        let of = |vm: &str, side, row: fn(PlaceKind, Side, &Places) -> PlaceRow| {
            let places = Places {
                host: Spot::of("0-1"),
                vm: Spot::of(vm),
            };
            text(&row(PlaceKind::NetSelf, side, &places))
                .get("vcpus")
                .and_then(Value::as_integer)
        };
        assert_eq!(of("0-1", Side::Guest, PlaceRow::both), Some(2));
        assert_eq!(of("0-1", Side::Host, PlaceRow::both), Some(2));
        assert_eq!(of("0,2-3", Side::Guest, PlaceRow::alone), Some(2));
        assert_eq!(of("0-1", Side::Host, PlaceRow::alone), None);
        assert_eq!(of("1", Side::Guest, PlaceRow::both), None);
    }

    #[test]
    fn each_part_is_put_on_its_cpus() {
        let file = text(&PlaceRow::both(PlaceKind::NetHost, Side::Host, &places()));
        assert!(line(&file, "run").contains("; here 0 && netperf -4 -H 127.0.0.1 "));
        let beside = line(&file, "beside");
        assert!(
            beside.contains("; vm 1 1 3 && here 0 && serve 2"),
            "{beside}"
        );
        assert!(line(&file, "serve").contains("again 'netperf -4 -H 10.0.0.1 "));
        let alone = text(&PlaceRow::alone(PlaceKind::NetHost, Side::Guest, &places()));
        assert!(line(&alone, "beside").contains("; vm 1 1 3 && here 0-1 && serve 2"));
        assert_eq!(line(&alone, "place"), "inside");
        // A second VM is everywhere unless it is put apart.
        let file = text(&PlaceRow::both(
            PlaceKind::TripGuest,
            Side::Guest,
            &places(),
        ));
        assert!(line(&file, "beside").contains(" && vm 2 2 2 && answers 10.0.0.3 && again "));
        assert_eq!(line(&file, "with"), "second-vm");
        let same = Places {
            host: Spot::of("0"),
            vm: Spot::of("1"),
        };
        let file = text(&PlaceRow::both(PlaceKind::NetGuest, Side::Host, &same));
        assert!(line(&file, "beside").contains("; vm 1 1 1 && here 0 && vm 2 0-1 0-1 && "));
    }

    #[test]
    fn disks_are_read_and_the_reading_is_proved() {
        let places = Places {
            host: Spot::of("0"),
            ..places()
        };
        let file = text(&PlaceRow::both(
            PlaceKind::DiskBuffered,
            Side::Guest,
            &places,
        ));
        assert!(line(&file, "run").ends_with("; read_disk /dev/vda 64 1 1"));
        // fio starts slowly, so that the other side's goes on.
        let again = " && again 'read_disk /lab/host.disk 256 1000000 1'";
        assert!(line(&file, "beside").ends_with(again));
        assert!(line(&file, "proof").starts_with("grep -qx 'read 65536 KiB' /tmp/out && "));
        assert_eq!(
            (line(&file, "with"), &file["units"]),
            ("disk", &Value::Integer(64))
        );
        let cached = text(&PlaceRow::both(PlaceKind::DiskCached, Side::Guest, &places));
        assert!(line(&cached, "run").ends_with("; read_disk /dev/vda 64 1 0"));
        let again = " && again 'read_disk /lab/host.disk 256 1000000 0'";
        assert!(line(&cached, "beside").ends_with(again));
        let cached = text(&PlaceRow::both(PlaceKind::DiskCached, Side::Host, &places));
        assert!(line(&cached, "run").ends_with(" read_disk /lab/host.disk 256 16 0"));
        assert_eq!(cached["units"], Value::Integer(4096));
    }
}
