//! Tests of what a launch asks of a whole Linux.

use super::*;
use crate::lab::cpus::System;
use ws_lab::lab::Lab;
use ws_lab::workload::SeveralCpus;
use ws_results::{APPLICATION, RowFacts};

fn workload(name: &str, file: &str) -> Workload {
    Workload {
        name: name.into(),
        summary: "s".into(),
        unit: "u".into(),
        units: 7,
        place: Place::Client,
        vcpus: 1,
        with: None,
        steps: false,
        bytes: 0,
        primitive: false,
        interrupts: None,
        files: [(file.to_owned(), "int a;\n\n  b\n".to_owned())].into(),
        prepare: None,
        serve: None,
        beside: None,
        run: "work".into(),
        proof: None,
        several_cpus: SeveralCpus::default(),
    }
}

fn whole() -> Whole {
    Whole {
        xen: None,
        architecture: Architecture::X86_64,
        kernel: "/k/vmlinuz".into(),
        parameters: "quiet".into(),
        files: vec![Entry::file("init", "the agent")],
        modules: vec!["module=/a.ko".into()],
        root: "/r/image".into(),
        root_bytes: 2 << 20,
        emulator: EmulatorKind::Qemu,
        workloads: vec![workload("one", "1.c"), workload("two", "2.c")],
        cpus: None,
        vm: None,
        below: None,
    }
}

fn launched(words: &str) -> Launched<'_> {
    Launched {
        words,
        vm: "",
        vcpus: 1,
        host_cpus: 1,
        memory_mib: 512,
        host_memory_mib: 512,
        executor: vm::LAB,
        root: NVDIMM,
        disk: None,
    }
}

#[test]
fn only_what_was_selected_enters_the_machine() {
    for words in ["bench=^(two)$ nonce=1", "rows=two nonce=1"] {
        assert_eq!(
            whole().asked(launched(words)),
            format!(
                "append={words}\nfile=2.c\ntext=int a;\ntext=\ntext=  b\nworkload=two\nunits=7\nplace=client\nrun=work\n"
            )
        );
    }
    let all = whole().asked(launched("nonce=1"));
    assert!(all.contains("workload=one\n") && all.contains("file=2.c\n"));
}

/// What the tree's workloads say for views is what older results have by name.
#[test]
fn names_of_all_workloads_have_their_facts_too() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab");
    let lab = Lab::open(&[folder.into()]).unwrap();
    let (mut primitives, mut interrupted) = (0, 0);
    for name in lab.workloads().unwrap() {
        let row = row(&lab.workload(&name).unwrap(), None);
        let old = ws_results::Row::new(&row.name, APPLICATION);
        assert_eq!(row.facts, RowFacts::named(&old), "{name}");
        let application = row.facts.application.unwrap();
        primitives += usize::from(application.primitive);
        if let Some(interrupts) = application.interrupts {
            assert_eq!(interrupts.name(), name);
            interrupted += 1;
        }
    }
    assert_eq!((primitives, interrupted), (9, 4));
}

#[test]
fn a_machine_is_the_same_whatever_is_asked_of_it() {
    let machine = |words| whole().machine(launched(words)).unwrap();
    assert_eq!(machine("rows=one nonce=1"), machine("rows=two nonce=2"));
    // Where the machine does not stop, the launch is a file of it.
    let files = whole().files(launched("rows=one")).unwrap();
    assert!(files.iter().any(|file| file.path == LAUNCH));
}

#[test]
fn a_machine_of_several_cpus_has_their_row_alone_and_places_its_clients() {
    let mut whole = whole();
    whole.cpus = Some(Cpus {
        count: 4,
        system: System::Native,
    });
    // One has a number of vCPUs of its own, which no machine without a VM has.
    let [first, second] = &mut whole.workloads[..] else {
        panic!("two")
    };
    *first = first.clone().on(4);
    second.vcpus = 2;
    let rows = whole.rows();
    let [row] = &rows[..] else {
        panic!("{}", rows.len())
    };
    assert_eq!((&*row.name, row.cpus, row.host_cpus), ("one", 4, 5));
    let config = |host_cpus: u32| {
        let launched = Launched {
            host_cpus,
            ..launched("nonce=1")
        };
        let files = whole.machine(launched).unwrap();
        let config = files.into_iter().find(|file| file.path == CONFIG);
        match config.unwrap().content {
            crate::initramfs::Content::Bytes(bytes) => String::from_utf8(bytes).unwrap(),
            _ => panic!("no file"),
        }
    };
    assert!(config(5).ends_with("role=native\npin=0 clients\n"));
    assert!(config(4).ends_with("role=native\n"));
}
