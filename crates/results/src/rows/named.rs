//! Facts of rows by name, for results of versions that wrote none. No other code takes a row's name apart.

use super::{APPLICATION, Application, IO, Interrupted, Interrupts, IoRow, RowFacts};
use crate::Row;
use crate::place::{PREFIX, PlaceKind, PlaceRow, Places, Side, Spot, Where};

/// Beginnings of names of workloads that lmbench measures.
const PRIMITIVES: [&str; 5] = ["context-switch-", "pipe", "fork-exit", "mmap", "page-fault"];

/// The facts; none of a name that has none.
pub(super) fn facts(row: &Row) -> RowFacts {
    let name = &*row.benchmark;
    if let Some(placement) = placement(name) {
        return placement.into();
    }
    match &*row.category {
        APPLICATION => application(name).into(),
        // Loads of servers on this host have no unit of work.
        IO if row.work.is_some() => io(name).map(RowFacts::from).unwrap_or_default(),
        _ => RowFacts::default(),
    }
}

fn io(name: &str) -> Option<IoRow> {
    let name = name.strip_prefix("io-")?;
    let (name, busy) = match name.strip_suffix("-busy") {
        Some(name) => (name, true),
        None => (name, false),
    };
    let (device, depth) = name.rsplit_once("-d")?;
    let is_number = !depth.is_empty() && depth.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !device.is_empty()).then_some(IoRow {
        device: device.to_owned(),
        depth: depth.parse().ok()?,
        busy,
    })
}

fn application(name: &str) -> Application {
    let interrupts = Interrupted::ALL.into_iter().find_map(|on| {
        Some(Interrupts {
            of: name.strip_suffix(on.end())?.to_owned(),
            on,
        })
    });
    Application {
        primitive: PRIMITIVES.iter().any(|begin| name.starts_with(begin)),
        interrupts,
    }
}

/// Parses the name of a placement: `place-KIND-SIDE-alone-CPUS` or `place-KIND-SIDE-both-HOST-VM`.
fn placement(name: &str) -> Option<PlaceRow> {
    let rest = name.strip_prefix(PREFIX)?;
    let of_kind = |kind: PlaceKind| {
        let rest = rest.strip_prefix(kind.word())?.strip_prefix('-')?;
        Some((kind, rest))
    };
    let (kind, rest) = PlaceKind::ALL.into_iter().find_map(of_kind)?;
    let words: Vec<&str> = rest.split('-').collect();
    let (side, words) = words.split_first()?;
    let where_ = match words {
        ["alone", at] => Where::Alone {
            spot: spot(at)?,
            receiver: None,
        },
        ["alone", at, receiver] => Where::Alone {
            spot: spot(at)?,
            receiver: Some(cpus(receiver)?),
        },
        ["both", host, vm] => Where::Both(Places {
            host: spot(host)?,
            vm: spot(vm)?,
        }),
        _ => return None,
    };
    let sides = [Side::Host, Side::Guest];
    Some(PlaceRow {
        kind,
        side: sides.into_iter().find(|known| known.word() == *side)?,
        where_,
    })
}

fn spot(word: &str) -> Option<Spot> {
    let (work, serve) = match word.split_once('x') {
        None => (word, None),
        Some((work, serve)) => (work, Some(cpus(serve)?)),
    };
    let work = cpus(work)?;
    Some(Spot { work, serve })
}

/// A list of CPUs as the kernel writes it, of a word of a name.
fn cpus(word: &str) -> Option<String> {
    let text = word.replace("and", ",").replace("to", "-");
    let good = |c: char| c.is_ascii_digit() || c == ',' || c == '-';
    (!text.is_empty() && text.chars().all(good)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(name: &str, category: &str, work: Option<&str>) -> Row {
        Row {
            work: work.map(str::to_owned),
            ..Row::new(name, category)
        }
    }

    fn of_io(name: &str) -> RowFacts {
        facts(&row(name, IO, Some("request")))
    }

    fn of_application(name: &str) -> RowFacts {
        facts(&row(name, APPLICATION, Some("request")))
    }

    #[test]
    fn a_device_s_name_says_device_depth_and_vcpu() {
        let known = |device: &str, depth, busy| {
            RowFacts::from(IoRow {
                device: device.to_owned(),
                depth,
                busy,
            })
        };
        assert_eq!(of_io("io-qemu-d1"), known("qemu", 1, false));
        let busy = of_io("io-storage-daemon-d8-busy");
        assert_eq!(busy, known("storage-daemon", 8, true));
        assert_eq!(of_io("io-a-d2-d16"), known("a-d2", 16, false));
        for other in [
            "io-latency-out-woken",
            "io-latency-in-d",
            "io--d1",
            "io-qemu-d+1",
            "io-qemu-d99999999999",
            "in",
            "io-",
            "scaling-1",
        ] {
            assert!(of_io(other).is_empty(), "{other}");
        }
    }

    #[test]
    fn names_alone_make_no_device() {
        for (category, work) in [
            (IO, None),
            ("exception", Some("request")),
            ("unknown", None),
        ] {
            assert!(facts(&row("io-qemu-d1", category, work)).is_empty());
        }
        // A workload of this name is a workload.
        let known = RowFacts::from(Application::default());
        assert_eq!(of_application("io-qemu-d1"), known);
        assert!(facts(&row("apache-interrupts-one", IO, None)).is_empty());
    }

    #[test]
    fn a_workload_s_name_says_what_is_interrupted_and_what_lmbench_has() {
        let known = |name: &str| of_application(name).application.unwrap();
        let interrupts = |name: &str| known(name).interrupts.map(|it| (it.of, it.on));
        let apache = |on| Some(("apache".to_owned(), on));
        assert_eq!(
            interrupts("apache-interrupts-one"),
            apache(Interrupted::One)
        );
        assert_eq!(
            interrupts("apache-interrupts-spread"),
            apache(Interrupted::Spread)
        );
        assert_eq!((interrupts("apache"), interrupts("x-one")), (None, None));
        for on in [Interrupted::One, Interrupted::Spread] {
            let of = "memcached".to_owned();
            let told = Interrupts { of, on };
            assert_eq!(known(&told.name()).interrupts, Some(told));
        }
        for primitive in ["context-switch-2p-0k", "pipe-alone", "mmap", "page-fault"] {
            assert!(known(primitive).primitive, "{primitive}");
        }
        for other in ["fork-exec", "apache", "tcp-rr"] {
            assert!(!known(other).primitive, "{other}");
        }
    }

    #[test]
    fn a_placement_s_name_says_kind_side_and_cpus() {
        let places = Places {
            host: Spot::of("0-1"),
            vm: Spot::apart("0,2", "1"),
        };
        let both = PlaceRow::both(PlaceKind::Cpu, Side::Guest, &places);
        assert_eq!(
            of_application("place-cpu-guest-both-0to1-0and2x1"),
            both.into()
        );
        let alone = PlaceRow::alone(PlaceKind::NetHost, Side::Guest, &places);
        let name = "place-net-host-guest-alone-0and2x1-0to1";
        assert_eq!(of_application(name), alone.clone().into());
        assert_eq!(facts(&row(name, "unknown", None)), alone.into());
        for other in [
            "tcp-rr",
            "place-tape-host-alone-0",
            "place-cpu-host-alone-",
            "place-cpu-host-alone-0x",
            "place-cpu-host-both-0",
            "place-cpu-both-both-0-1",
            "place-cpu-host-alone-x",
        ] {
            assert_eq!(of_application(other).placement, None, "{other}");
        }
    }

    fn list() -> impl Strategy<Value = String> {
        "[0-9]{1,3}(-[0-9]{1,3})?(,[0-9]{1,3}(-[0-9]{1,3})?){0,3}"
    }

    fn any_spot() -> impl Strategy<Value = Spot> {
        (list(), prop::option::of(list())).prop_map(|(work, serve)| Spot { work, serve })
    }

    proptest! {
        #[test]
        fn a_device_s_facts_are_those_of_its_name(
            device in "[a-z][a-z0-9-]{0,20}", depth: u32, busy: bool,
        ) {
            let row = IoRow { device, depth, busy };
            prop_assert_eq!(of_io(&row.name()), row.into());
        }

        #[test]
        fn a_placement_s_facts_are_those_of_its_name(
            kind in prop::sample::select(&PlaceKind::ALL),
            side in prop::sample::select(&[Side::Host, Side::Guest]),
            (host, vm) in (any_spot(), any_spot()),
        ) {
            let places = Places { host, vm };
            for row in [PlaceRow::alone(kind, side, &places), PlaceRow::both(kind, side, &places)] {
                let facts = RowFacts::from(row.clone());
                prop_assert_eq!(of_application(&row.name()), facts.clone());
                // As files have them, of each kind and side.
                let written = serde_json::to_value(&facts).unwrap();
                prop_assert_eq!(&written["placement"]["kind"], kind.word());
                prop_assert_eq!(serde_json::from_value::<RowFacts>(written).unwrap(), facts);
            }
        }

        #[test]
        fn any_text_is_read(
            text in any::<String>(),
            more in "(io|place)-(cpu|net-host)?[-a-z0-9]{0,20}(-busy)?",
        ) {
            for name in [&text, &more] {
                let _ = (of_io(name), of_application(name));
            }
        }
    }
}
