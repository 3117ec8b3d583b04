//! Views go by what a machine is, not by its name: every machine of the lab under another name gives the same views.

use crate::page::page;
use crate::support::{measured, result};
use serde_json::{Value, json};
use ws_analysis::model::{ModelOptions, fit};
use ws_report::{Apps, Nested, NestedApps, Options, Traffics, is_baseline, reference, table};
use ws_results::{Facts, HostView, ResultFile, Role, Row, System};

const X86: [&str; 12] = [
    "native",
    "kvm",
    "kvm@6.12",
    "kvm-shadow",
    "qemu-kvm",
    "kvm-svm-nested",
    "xen",
    "xen-hvm",
    "linux",
    "kvm-linux",
    "kvm-svm-nested-linux",
    "xen-linux",
];
const VARIANTS: [&str; 6] = [
    "native+memory=256",
    "linux+cpus=4",
    "kvm-linux+cpus=4",
    "kvm-linux+net=vhost",
    "kvm-vfio-linux",
    "xen-linux@apart",
];
const BOCHS: [&str; 8] = [
    "intel-native",
    "kvm-intel",
    "kvm-intel-shadow",
    "kvm-intel-nested",
    "kvm-intel-nested+vmcs-shadowing=0",
    "kvm-intel-smp",
    "kvm-intel-linux",
    "amd-native",
];
const ARM: [&str; 22] = [
    "arm-native",
    "arm-native@el2",
    "kvm-vhe",
    "kvm-nvhe",
    "kvm-protected",
    "kvm-assigned",
    "kvm-vel2",
    "kvm-nested",
    "arm-xen",
    "neve",
    "neve+policy=kvm-4.10",
    "neve+policy=kvm-4.10+vhe=1",
    "neve-nested@nv+policy=kvm-4.10",
    "neve-nested@neve+policy=kvm-4.10",
    "neve-nested@nv2",
    "arm-linux",
    "kvm-vhe-linux",
    "kvm-nvhe-linux",
    "kvm-nested-linux",
    "neve-linux@nv",
    "neve-linux@nv2",
    "arm-xen-linux",
];

/// One cost for each platform, so that ratios tell which machine a view related to which.
fn rows(cost: u64, linux: bool, native: bool) -> Vec<Row> {
    let row = |name: &str, category: &str, cost: u64| {
        measured(name, category, "insns", &[&[cost], &[cost]])
    };
    if !linux {
        let mut rows = vec![
            row("in", "io", cost),
            row("set-cr3", "privileged", cost + 1),
        ];
        if !native {
            let of_guests = ["hypercall", "mmio-write-eventfd", "ipi-running"];
            rows.extend(of_guests.map(|name| row(name, "exception", cost + 2)));
        }
        return rows;
    }
    ["kernbench", "memcached", "tcp-rr"]
        .map(|name| {
            let counts = |names: [&str; 2]| names.map(|name| (name.to_owned(), 50)).into();
            let steps = [("send-to-recv", 60), ("recv-to-send", cost * 4)];
            let mut row = row(name, "application", cost * 1000);
            row.work = Some("unit".into());
            row.host.push(HostView {
                boot: 1,
                operations: Some(10),
                reasons: counts(["hlt", "npf"]),
                kvm: (!native).then(|| counts(["exits", "irq_injections"])),
                below: (!native).then(|| counts(["exits", "irq_exits"])),
                steps: steps.map(|(name, ticks)| (name.to_owned(), ticks)).into(),
                ..HostView::default()
            });
            row
        })
        .into()
}

/// A result as older versions wrote it, without facts.
fn older(name: &str, position: u32) -> ResultFile {
    let platform = format!("lab:{name}");
    let facts = Facts::named(&platform);
    let conditions = match () {
        () if BOCHS.contains(&name) => {
            let cpu = if name.starts_with("amd") {
                "amd"
            } else {
                "intel"
            };
            json!({"unit": "insns", "arch": "x86_64", "emulator": "bochs 2.7", "emulator_cpu": cpu})
        }
        () if ARM.contains(&name) => json!({"unit": "insns", "arch": "aarch64"}),
        () => json!({"unit": "insns", "arch": "x86_64"}),
    };
    let cost = u64::from(position) + 7;
    let linux = facts.system == Some(System::Linux);
    let rows = rows(cost, linux, facts.role == Some(Role::Native));
    let mut result = result(&platform, 2, conditions, rows);
    result.position = Some(position);
    if name.starts_with("neve") && !linux {
        let policy = if name.contains("kvm-4.10") {
            "kvm-4.10"
        } else {
            "lean"
        };
        let subject = &mut result.identity.subject;
        subject.insert("hypervisor_policy".into(), json!(policy));
    }
    result
}

/// The same by a recipe of one's own: its letters are those thirteen places on, so that it is as long.
fn renamed(result: &ResultFile) -> ResultFile {
    let mut renamed = result.clone();
    renamed.identity.facts = Facts::named(&result.platform);
    renamed.platform = turned(&result.platform);
    let subject = &mut renamed.identity.subject;
    subject.insert("platform".into(), json!(renamed.platform));
    assert!(Facts::named(&renamed.platform).is_empty());
    renamed
}

/// A text with all names of lab machines turned: twice gives the text.
fn turned(text: &str) -> String {
    let mut parts = text.split("lab:");
    let mut out = parts.next().unwrap().to_owned();
    for part in parts {
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let end = part.find(|c| !is_name(c)).unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        let turn = |c: char| match c {
            'a'..='m' => char::from(c as u8 + 13),
            'n'..='z' => char::from(c as u8 - 13),
            _ => c,
        };
        out += "lab:";
        out.extend(name.chars().map(turn));
        out += rest;
    }
    out
}

/// All views of these results, and which machine is a baseline.
fn views(results: &[ResultFile]) -> Vec<(String, String)> {
    let reference = reference::load().unwrap();
    let plain = || table(results, &Options::default()).unwrap();
    let suite = |name: &str| plain().as_suite(&reference.suite(name), &reference);
    let apps = Apps::of(results, &reference, &Traffics::new());
    let nested = Nested::of(results, &reference);
    let long = NestedApps::of(results, &reference);
    let mut views = vec![
        ("run".to_owned(), plain().to_json().unwrap()),
        (
            "hyperbench".to_owned(),
            suite("hyperbench").to_json().unwrap(),
        ),
        ("neve".to_owned(), suite("neve2017").to_json().unwrap()),
        ("apps".to_owned(), apps.to_json().unwrap()),
        ("apps, text".to_owned(), apps.to_terminal()),
        ("nested".to_owned(), nested.to_json().unwrap()),
        ("nested apps".to_owned(), long.to_json().unwrap()),
        ("page".to_owned(), page(results)),
    ];
    for guest in results {
        let natives = results.iter().filter(|result| is_baseline(result, None));
        for native in natives {
            let (guest, native) = (std::slice::from_ref(guest), std::slice::from_ref(native));
            let model = fit(guest, native, &ModelOptions::default());
            let text = match model {
                Ok(model) => serde_json::to_string(&model).unwrap(),
                Err(why) => why.to_string(),
            };
            views.push((format!("model of {}", guest[0].platform), text));
        }
    }
    views
}

#[test]
fn a_machine_under_another_name_gives_the_same_views() {
    let sets: [Vec<&str>; 4] = [
        X86.into(),
        [&X86[..], &VARIANTS].concat(),
        BOCHS.into(),
        ARM.into(),
    ];
    for names in sets {
        let results: Vec<ResultFile> = (1..).zip(names).map(|(at, name)| older(name, at)).collect();
        let own: Vec<ResultFile> = results.iter().map(renamed).collect();
        for ((name, older), (_, own)) in views(&results).into_iter().zip(views(&own)) {
            let own = turned(&own);
            let at = older.bytes().zip(own.bytes()).position(|(a, b)| a != b);
            let around = |text: &str| {
                let from = at.unwrap_or(text.len()).saturating_sub(200);
                String::from_utf8_lossy(&text.as_bytes()[from..])
                    .chars()
                    .take(400)
                    .collect::<String>()
            };
            assert!(
                older == own,
                "{name}: {}\n----\n{}",
                around(&older),
                around(&own)
            );
        }
    }
}

#[test]
fn published_numbers_beside_machines_are_in_the_papers() {
    let reference = reference::load().unwrap();
    let names = [&X86[..], &VARIANTS, &BOCHS, &ARM].concat();
    let facts = names
        .iter()
        .map(|name| Facts::named(&format!("lab:{name}")));
    let published: Vec<_> = facts.flat_map(|facts| facts.published).collect();
    assert!(published.len() > 20);
    assert!(
        published.iter().all(|of| reference.has(of)),
        "{published:?}"
    );
}

/// A user's recipes that extend `native` and `kvm`.
#[test]
fn recipes_of_one_s_own_have_the_column_added() {
    let own = |name: &str, of: &str, at| {
        let mut result = older(of, at);
        result.identity.facts = Facts::named(&result.platform);
        result.platform = name.into();
        result
    };
    let results = [own("lab:bare", "native", 1), own("lab:mykvm", "kvm", 2)];
    let table = table(&results, &Options::default()).unwrap();
    let baselines: Vec<_> = table.columns.iter().map(|column| column.baseline).collect();
    assert_eq!(baselines, [Some(0), Some(0)]);
    let cell = table.rows[0].cells[1].as_ref().unwrap();
    assert_eq!((&*table.rows[0].benchmark, cell.added), ("in", Some(1.0)));
}

#[test]
fn facts_are_read_as_they_are_written_and_absent_ones_are_those_of_the_name() {
    let mut result = older("kvm", 1);
    let text = serde_json::to_value(&result).unwrap();
    assert_eq!(text["identity"].get("facts"), None);
    assert_eq!(*result.facts(), Facts::named("lab:kvm"));
    result.identity.facts = Facts::named("lab:kvm-intel-nested");
    let text: Value = serde_json::to_value(&result).unwrap();
    assert_eq!(text["identity"]["facts"]["role"], "nested-vm");
    let read: ResultFile = serde_json::from_value(text).unwrap();
    assert_eq!(read, result);
    assert!(read.facts().is_nested());
}
