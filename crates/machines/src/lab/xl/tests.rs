use super::*;

fn text(entry: &Entry) -> String {
    match &entry.content {
        Content::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Content::Folder(_) => panic!("a folder"),
        Content::Link(to) => format!("link to {to}"),
    }
}

#[test]
fn a_domain_has_a_disk_and_a_card_only_with_a_linux() {
    let settings = ["type=\"hvm\"".to_owned()];
    let mut domain = Domain {
        vcpus: 1,
        memory_mib: 512,
        kernel: "guest.elf",
        parameters: Some("a=b c"),
        linux: None,
        settings: &settings,
    };
    let configuration = domain.configuration();
    assert_eq!(configuration.path, "domain.cfg");
    assert_eq!(
        text(&configuration),
        "name=\"vm\"\nvcpus=1\nmemory=512\nkernel=\"/guest.elf\"\n\
         on_crash=\"destroy\"\non_reboot=\"destroy\"\ncmdline=\"a=b c\"\ntype=\"hvm\"\n"
    );
    domain.linux = Some(Of {
        initrd: "initrd",
        root: "/dev/pmem0",
    });
    let configuration = text(&domain.configuration());
    for line in [
        "ramdisk=\"/initrd\"",
        "disk=[\"format=raw,vdev=xvda,access=r,target=/dev/pmem0\"]",
        "vif=[\"mac=52:54:00:00:00:01,bridge=br0\"]",
        "type=\"hvm\"",
    ] {
        assert!(configuration.lines().any(|own| own == line), "{line}");
    }
}

#[test]
fn a_dom0_that_only_runs_the_tool_stack_starts_it_with_the_launch_s_domain() {
    let dom0 = Dom0 {
        xen: Xen {
            hypervisor: PathBuf::new(),
            parameters: String::new(),
        },
        linux: Linux {
            kernel: PathBuf::new(),
            parameters: String::new(),
            files: vec![Entry::file("init", "#!")],
            monitor: super::super::payload::LinuxMonitor::Qemu(Vec::new()),
            lines: vec!["module=/xenfs.ko".into()],
            nested: None,
        },
        settings: vec!["type=\"hvm\"".into()],
    };
    let archive = |parameters| dom0.initramfs(2, 300, parameters).unwrap();
    let launch = archive(Some("rows=in"));
    let launch = String::from_utf8_lossy(&launch);
    for part in [
        "module=/xenfs.ko\nword=/usr/bin/busybox\nword=sh\nword=/start\nword=cmdline=\"rows=in\"\n",
        "vcpus=2\nmemory=300\nkernel=\"/guest.elf\"\non_crash",
    ] {
        assert!(launch.contains(part), "{part}");
    }
    let machine = archive(None);
    let machine = String::from_utf8_lossy(&machine);
    assert!(machine.contains("module=/xenfs.ko\n") && !machine.contains("word="));
}
