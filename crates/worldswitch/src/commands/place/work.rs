//! The workload of a row: what the timed side does, and what the other side does meanwhile.

use toml::{Table, Value};
use ws_report::{PlaceKind, PlaceRow, Side, Where};

/// The host's address for its VM.
const HOST_ADDRESS: &str = "10.0.0.1";
const OWN_ADDRESS: &str = "127.0.0.1";
const MIB: u64 = 1 << 20;

/// A side's part in a kind of work.
struct Work {
    unit: &'static str,
    units: u64,
    command: String,
    /// Holds after it.
    proof: String,
    /// Its own netserver answers.
    serves_itself: bool,
}

/// A fixed amount of work, about half a second of it; an emulator does less.
fn work(kind: PlaceKind, side: Side, is_emulator: bool) -> Work {
    let is_guest = side == Side::Guest;
    let amount = |full: u64, emulated: u64| match is_guest && is_emulator {
        true => emulated,
        false => full,
    };
    let to = match (kind, side) {
        (PlaceKind::NetHost | PlaceKind::RoundTrip, Side::Guest) => HOST_ADDRESS,
        _ => OWN_ADDRESS,
    };
    match kind {
        PlaceKind::NetSelf | PlaceKind::NetHost => {
            let units = match (kind, side) {
                (PlaceKind::NetHost, Side::Guest) => amount(512, 16),
                _ => amount(1024, 16),
            };
            let (bytes, key) = (units * MIB, "LOCAL_BYTES_SENT");
            netperf(to, "MiB", units, ("TCP_STREAM", bytes, key))
        }
        PlaceKind::RoundTrip => {
            let units = match side {
                Side::Host => 10_000,
                Side::Guest => amount(4000, 1000),
            };
            netperf(
                to,
                "round trip",
                units,
                ("TCP_RR", units, "LOCAL_RECV_CALLS"),
            )
        }
        PlaceKind::Cpu => {
            let units = amount(6000, 300);
            Work {
                unit: "event",
                units,
                command: format!(
                    "sysbench cpu --cpu-max-prime=2000 --events={units} --time=0 --threads=1 run"
                ),
                proof: format!("grep -q 'total number of events: *{units}$' /tmp/out"),
                serves_itself: false,
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
                proof: format!("grep -q '^Total operations: {} ' /tmp/out", units * 16),
                serves_itself: false,
            }
        }
    }
}

/// netperf's test to an address, its amount, and the key by which it says what it did.
fn netperf(
    to: &str,
    unit: &'static str,
    units: u64,
    (test, amount, key): (&str, u64, &str),
) -> Work {
    Work {
        unit,
        units,
        command: format!("netperf -4 -H {to} -t {test} -l -{amount} -P 0 -- -k {key}"),
        proof: format!("grep -qx {key}={amount} /tmp/out"),
        serves_itself: to == OWN_ADDRESS,
    }
}

/// A shell's words that put all that follows on these CPUs.
fn here(cpus: &str) -> String {
    format!("busybox taskset -pc {cpus} $$ >/dev/null")
}

/// ... that put all threads of the VM's program there.
fn vm(cpus: &str) -> String {
    format!("busybox taskset -apc {cpus} $(busybox pidof qemu-system-x86_64) >/dev/null")
}

/// ... that start a server and wait until it answers.
fn server() -> String {
    format!(
        "(netserver -D -4 >/dev/null 2>&1 &); timeout 60 sh -c \
         'until netperf -4 -H {OWN_ADDRESS} -l -1 >/dev/null 2>&1; do sleep 0.1; done'"
    )
}

/// ... that do a work again and again.
fn again(work: &Work) -> String {
    format!(
        "(while :; do {} || sleep 0.1; done >/dev/null 2>&1 &)",
        work.command
    )
}

/// The file of a row's workload; `all` are all CPUs.
///
/// # Errors
/// Only by a bug in this program.
pub fn workload(row: &PlaceRow, is_emulator: bool, all: &str) -> Result<String, toml::ser::Error> {
    let [host, guest] = [Side::Host, Side::Guest].map(|side| work(row.kind, side, is_emulator));
    let is_guest = row.side == Side::Guest;
    let (host_cpus, vm_cpus, both) = match &row.where_ {
        Where::Alone(cpus) if is_guest => (all, &**cpus, false),
        Where::Alone(cpus) => (&**cpus, all, false),
        Where::Both(places) => (&*places.host, &*places.vm, true),
    };
    let mut serve = Vec::new();
    if guest.serves_itself && (is_guest || both) {
        serve.push(server());
    }
    if both && !is_guest {
        serve.push(again(&guest));
    }
    let mut beside = vec![vm(vm_cpus), here(host_cpus)];
    if host.serves_itself {
        beside.push(server());
    }
    if both && is_guest {
        beside.push(again(&host));
    }
    let timed = if is_guest { &guest } else { &host };
    let run = match is_guest {
        true => timed.command.clone(),
        false => format!("{} && {}", here(host_cpus), timed.command),
    };
    let summary = match both {
        true => format!(
            "{} with host on CPU {host_cpus}, VM on {vm_cpus}",
            row.kind.word()
        ),
        false => format!("{} of one side alone", row.kind.word()),
    };
    let place = if is_guest { "inside" } else { "client" };
    let mut file = Table::new();
    let mut put = |key: &str, value: Value| {
        file.insert(key.to_owned(), value);
    };
    put("summary", summary.into());
    put("unit", timed.unit.into());
    put(
        "units",
        i64::try_from(timed.units).unwrap_or(i64::MAX).into(),
    );
    put("place", place.into());
    if !serve.is_empty() {
        put("serve", serve.join(" && ").into());
    }
    put("beside", beside.join(" && ").into());
    put("run", run.into());
    put("proof", timed.proof.clone().into());
    toml::to_string(&file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ws_report::Places;

    fn text(kind: PlaceKind, side: Side, where_: Where) -> Table {
        let row = PlaceRow { kind, side, where_ };
        toml::from_str(&workload(&row, true, "0-1").unwrap()).unwrap()
    }

    fn both() -> Where {
        Where::Both(Places {
            host: "0".into(),
            vm: "1".into(),
        })
    }

    #[test]
    fn the_other_side_works_only_if_both_do() {
        for kind in PlaceKind::ALL {
            let loops = |file: &Table, key: &str| {
                let text = file.get(key).and_then(Value::as_str);
                text.is_some_and(|text| text.contains("while :"))
            };
            let of_host = text(kind, Side::Host, both());
            assert!(loops(&of_host, "serve") && !loops(&of_host, "beside"));
            let of_guest = text(kind, Side::Guest, both());
            assert!(loops(&of_guest, "beside") && !loops(&of_guest, "serve"));
            for side in [Side::Host, Side::Guest] {
                let alone = text(kind, side, Where::Alone("1".into()));
                assert!(!loops(&alone, "serve") && !loops(&alone, "beside"));
            }
        }
    }

    #[test]
    fn both_sides_are_put_on_their_cpus() {
        let file = text(PlaceKind::Cpu, Side::Host, both());
        assert!(
            file["run"]
                .as_str()
                .unwrap()
                .starts_with("busybox taskset -pc 0 $$")
        );
        assert!(
            file["beside"]
                .as_str()
                .unwrap()
                .contains("-apc 1 $(busybox pidof")
        );
        let alone = text(PlaceKind::Cpu, Side::Guest, Where::Alone("1".into()));
        assert!(alone["beside"].as_str().unwrap().contains("-pc 0-1 $$"));
        assert_eq!(alone["place"].as_str(), Some("inside"));
        assert!(alone["run"].as_str().unwrap().starts_with("sysbench cpu"));
    }
}
