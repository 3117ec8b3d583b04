//! Tests of what a launch asks of a whole Linux.

use super::*;

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
        files: [(file.to_owned(), "int a;\n\n  b\n".to_owned())].into(),
        prepare: None,
        serve: None,
        beside: None,
        run: "work".into(),
        proof: None,
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
        vm: None,
        below: None,
    }
}

fn launched(words: &str) -> Launched<'_> {
    Launched {
        words,
        vm: "",
        vcpus: 1,
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

#[test]
fn a_machine_is_the_same_whatever_is_asked_of_it() {
    let machine = |words| whole().machine(launched(words)).unwrap();
    assert_eq!(machine("rows=one nonce=1"), machine("rows=two nonce=2"));
    // Where the machine does not stop, the launch is a file of it.
    let files = whole().files(launched("rows=one")).unwrap();
    assert!(files.iter().any(|file| file.path == LAUNCH));
}
