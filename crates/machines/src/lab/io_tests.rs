//! Tests of the devices whose requests are measured: what is told to whom.

use super::*;
use crate::lab::network::Network;
use crate::lab::vm::{self, Whole};
use proptest::prelude::*;
use ws_lab::lab::Lab;
use ws_results::RowFacts;

/// The devices of the tree's own machine.
fn io(elvis: Result<Elvis, String>) -> Io {
    io_of("kvm-linux", elvis)
}

fn io_of(recipe: &str, elvis: Result<Elvis, String>) -> Io {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab");
    let lab = Lab::open(&[folder.into()]).unwrap();
    let io = lab.recipe(recipe, None).unwrap().vm.unwrap().io;
    let io = io.unwrap();
    Io {
        cpus: io.cpus,
        depths: io.depths,
        repeat: io.repeat,
        devices: io.devices,
        elvis,
    }
}

fn with_elvis() -> Io {
    io(Ok(Elvis::new(b"program".to_vec())))
}

fn words(io: &IoVm<'_>) -> String {
    words_of(Some(io), None)
}

fn words_of(io: Option<&IoVm<'_>>, network: Option<&Network<'_>>) -> String {
    let whole = Whole {
        executor: crate::lab::vm::LAB,
        architecture: ws_lab::sets::Architecture::X86_64,
        program: "/usr/bin/q",
        vcpus: 1,
        queues: 1,
        has_placed_threads: true,
        memory_mib: 512,
        root: "/dev/pmem0",
        root_bytes: 4096,
        kernel: "/k",
        initrd: "/i",
        parameters: "quiet",
        settings: &[],
        io,
        network,
        disk: None,
        is_second: false,
    };
    vm::vm(&whole).join(" ")
}

#[test]
fn rows_repeat_their_requests() {
    let mut io = with_elvis();
    let requests =
        |io: &Io| -> Vec<u64> { io.rows().iter().map(|row| row.min_iterations).collect() };
    let once = requests(&io);
    io.repeat = 10;
    let ten_times: Vec<u64> = once.iter().map(|requests| requests * 10).collect();
    assert_eq!(requests(&io), ten_times);
}

#[test]
fn each_device_has_a_row_for_each_load() {
    let rows = with_elvis().rows();
    let names: Vec<&str> = rows.iter().map(|row| &*row.name).collect();
    assert_eq!(names.len(), 28);
    assert_eq!(
        &names[12..16],
        [
            "io-elvis-d1",
            "io-elvis-d8",
            "io-elvis-d1-busy",
            "io-elvis-d8-busy"
        ]
    );
    for row in &rows {
        assert_eq!((row.cpus, row.host_cpus, &*row.category), (1, 3, "io"));
        assert_eq!(row.work.as_deref(), Some("request"));
        assert!(!row.vm.is_empty() && row.missing.is_none());
    }
    let mut digests: Vec<&str> = rows.iter().map(|row| &*row.digest).collect();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), 28);
}

/// The row in a result of a version that wrote no facts.
fn without_facts(row: &BenchmarkRow) -> ws_results::Row {
    ws_results::Row {
        work: row.work.clone(),
        ..ws_results::Row::new(&row.name, &row.category)
    }
}

#[test]
fn names_of_all_devices_have_their_facts_too() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab");
    let lab = Lab::open(&[folder.into()]).unwrap();
    let mut machines = 0;
    for recipe in lab.recipes().unwrap() {
        let vm = lab.recipe(&recipe, None).unwrap().vm;
        if vm.is_none_or(|vm| vm.io.is_none()) {
            continue;
        }
        machines += 1;
        for row in io_of(&recipe, Err("there is no elvis".into())).rows() {
            let io = row.facts.io.as_ref().unwrap();
            assert_eq!(row.name, io.name());
            assert_eq!(row.facts, RowFacts::named(&without_facts(&row)));
        }
    }
    assert!(machines > 1);
}

proptest! {
    #[test]
    fn a_name_of_any_device_has_its_facts_too(
        name in "[a-z][a-z0-9-]{0,20}", depths in prop::collection::vec(any::<u32>(), 1..4),
    ) {
        let mut io = with_elvis();
        io.depths = depths;
        io.devices.truncate(1);
        io.devices[0].name = name;
        for row in io.rows() {
            prop_assert_eq!(&row.facts, &RowFacts::named(&without_facts(&row)));
        }
    }
}

#[test]
fn only_rows_of_elvis_depend_on_it() {
    let (with, other) = (
        with_elvis().rows(),
        io(Ok(Elvis::new(b"other".to_vec()))).rows(),
    );
    let without = io(Err("there is no elvis".into())).rows();
    for ((row, other), without) in with.iter().zip(&other).zip(&without) {
        let is_its = row.name.starts_with("io-elvis");
        assert_eq!(row.digest != other.digest, is_its, "{}", row.name);
        let why = is_its.then(|| "there is no elvis".to_owned());
        assert_eq!(without.missing, why);
    }
}

#[test]
fn what_the_main_loop_serves_has_a_vm_of_its_own() {
    let io = with_elvis();
    let names = |vm: &str| -> Vec<String> {
        let vm = io.of(vm).unwrap();
        vm.placed()
            .map(|placed| placed.device.name.clone())
            .collect()
    };
    assert_eq!(names("qemu"), ["qemu"]);
    assert_eq!(names("qemu-net"), ["qemu-net"]);
    assert_eq!(
        names("shared"),
        ["iothread", "storage-daemon", "elvis", "vhost", "elvis-net"]
    );
    assert!(io.of("").is_none() && io.of("elvis").is_none());
    let io = io_without_elvis();
    let shared = io.of("shared").unwrap();
    assert!(shared.elvis().is_none());
    assert!(!words(&shared).contains("elvis"));
    assert!(!shared.host_lines().concat().contains("elvis"));
}

fn io_without_elvis() -> Io {
    io(Err("there is none".into()))
}

#[test]
fn qemu_has_the_other_end_of_what_the_agents_are_told() {
    let io = with_elvis();
    let shared = io.of("shared").unwrap();
    let (words, host) = (words(&shared), shared.host_lines().join("\n"));
    let (guest, rows) = (
        shared.guest_lines().join("\n"),
        shared.benchmark_lines().join("\n"),
    );
    for part in [
        "-machine pc,nvdimm=on,memory-backend=ram",
        "-object memory-backend-memfd,id=ram,size=512M,share=on -name vm,debug-threads=on",
        "-object iothread,id=io0 -blockdev driver=file,filename=/run/io/iothread,node-name=io-iothread,aio=threads -device virtio-blk-pci,drive=io-iothread,iothread=io0,num-queues=1,addr=11",
        "-chardev socket,id=io-elvis,path=/run/io/elvis.socket -device vhost-user-blk-pci,chardev=io-elvis,num-queues=1,addr=13",
        "-netdev tap,id=io-vhost,ifname=io5,script=no,downscript=no,vhost=on -device virtio-net-pci,netdev=io-vhost,mac=52:54:00:00:01:05,romfile=,addr=15",
        "-chardev socket,id=io-elvis-net,path=/run/io/elvis-net.socket -netdev vhost-user,id=io-elvis-net,chardev=io-elvis-net -device virtio-net-pci,netdev=io-elvis-net,mac=52:54:00:00:01:06,romfile=,addr=16",
    ] {
        assert!(words.contains(part), "{part} is not in {words}");
    }
    for part in [
        "server=2 /lab/elvis serve --io-cores 2 --control /run/io/elvis.control --blk /run/io/elvis.socket=/run/io/elvis --net /run/io/elvis-net.socket=tap:io6\n",
        "\nsocket=/run/io/storage-daemon.socket\nsocket=/run/io/elvis.socket\nsocket=/run/io/elvis-net.socket\n",
        "ip tuntap add dev io5 mode tap;",
        "ip tuntap add dev io6 mode tap;",
        "ip address add 10.1.5.1/24 dev io5; ip link set io5 up; ip neighbour add 10.1.5.2 lladdr 52:54:00:00:01:05",
        "\npin=1 CPU 0/KVM\npin=2 IO io0\npin=2 vhost-",
    ] {
        assert!(host.contains(part), "{part} is not in {host}");
    }
    for part in [
        "disk=$(ls /sys/bus/pci/devices/0000:00:13.0/virtio*/block); ln -s /dev/$disk /run/elvis",
        "nic=$(ls /sys/bus/pci/devices/0000:00:15.0/virtio*/net); ip address add 10.1.5.2/24 dev $nic;",
    ] {
        assert!(guest.contains(part), "{part} is not in {guest}");
    }
    for part in [
        "workload=io-elvis-d8-busy\nunits=600\nplace=inside\nrequests=disk /run/elvis 8 busy",
        "workload=io-elvis-net-d8\nunits=600\nplace=inside\nrequests=net 10.1.6.1 8",
        "workload=io-vhost-d1\nunits=300\nplace=inside\nrequests=net 10.1.5.1 1",
    ] {
        assert!(rows.contains(part), "{part} is not in {rows}");
    }
}

#[test]
fn on_two_cpus_what_serves_has_qemu_s() {
    let io = io_of("kvm-intel-linux", Ok(Elvis::new(b"program".to_vec())));
    let host = io.of("shared").unwrap().host_lines().join("\n");
    for part in [
        "server=0 /lab/elvis serve --io-cores 0 ",
        "\npin=1 CPU 0/KVM\npin=0 IO io0",
    ] {
        assert!(host.contains(part), "{part} is not in {host}");
    }
}

#[test]
fn a_network_of_workloads_is_what_serves_it() {
    let io = with_elvis();
    let network = |served| {
        let network = Network::new(&io, served);
        let host = network.host_lines().join("\n");
        (words_of(None, Some(&network)), host)
    };
    let shared = "-machine pc,nvdimm=on,memory-backend=ram";
    let card = "-device virtio-net-pci,netdev=net,mac=52:54:00:00:00:01,romfile= ";
    let tap = "-netdev tap,id=net,ifname=tap0,script=no,downscript=no,vhost=";
    for (served, vhost, pins) in [
        (Served::VhostNet, "on", "pin=1 CPU 0/KVM\npin=2 vhost-"),
        (Served::MainLoop, "off", "pin=1 CPU 0/KVM"),
    ] {
        let (words, host) = network(served);
        for part in [shared, card, &format!("{tap}{vhost}")] {
            assert!(words.contains(part), "{part} is not in {words}");
        }
        assert_eq!(host, pins);
    }
    for (served, mode) in [
        (Served::Elvis, ""),
        (Served::ElvisFineGrained, " --mode fine-grained"),
    ] {
        let (words, host) = network(served);
        let user =
            "-chardev socket,id=net,path=/run/io/net.socket -netdev vhost-user,id=net,chardev=net";
        for part in [shared, card, user] {
            assert!(words.contains(part), "{part} is not in {words}");
        }
        assert!(
            host.contains(&format!("server=2 /lab/elvis serve --io-cores 2{mode} ")),
            "{host}"
        );
        assert!(host.contains(" --net /run/io/net.socket=tap:tap0\nsocket=/run/io/net.socket\n"));
    }
    assert!(!words_of(None, None).contains("memory-backend=ram"));
    let network = Network::new(&io, Served::Elvis);
    assert_eq!((network.cpus(), network.missing(true)), (3, None));
    assert!(
        network
            .missing(false)
            .unwrap()
            .contains("lab:kvm-linux has it")
    );
    let without = io_without_elvis();
    let network = Network::new(&without, Served::Elvis);
    assert_eq!(network.missing(true).unwrap(), "there is none");
    assert!(network.elvis().is_none());
}

#[test]
fn a_card_is_given_to_a_vm_of_its_own() {
    let io = io_of("kvm-vfio-linux", Ok(Elvis::new(b"program".to_vec())));
    let vm = io.of("assigned").unwrap();
    let (words, host) = (words(&vm), vm.host_lines().join("\n"));
    let guest = vm.guest_lines().join("\n");
    assert!(
        words.ends_with("-device vfio-pci,host=0000:00:1e.0,rombar=0,addr=13"),
        "{words}"
    );
    for part in [
        "echo vfio-pci >devices/0000:00:1e.0/driver_override",
        "nic=$(ls devices/0000:00:1d.0/net); ip link set $nic address 52:54:00:00:02:01",
        "ip neighbour add 10.1.3.2 lladdr 52:54:00:00:00:01 dev $nic",
    ] {
        assert!(host.contains(part), "{part} is not in {host}");
    }
    assert!(
        guest.contains("nic=$(ls /sys/bus/pci/devices/0000:00:13.0/net);"),
        "{guest}"
    );
    assert!(
        guest.contains("busybox ping -A -q -c 2048 10.1.3.1"),
        "{guest}"
    );
    assert!(vm.elvis().is_none());
    let network = Network::new(&io, Served::Assigned);
    let (words, host) = (
        words_of(None, Some(&network)),
        network.host_lines().join("\n"),
    );
    assert!(
        words.contains(" -device vfio-pci,host=0000:00:1e.0,rombar=0 "),
        "{words}"
    );
    // Memory that nobody else maps, which Linux makes of huge pages.
    assert!(
        !words.contains("netdev") && !words.contains("memfd"),
        "{words}"
    );
    assert!(words.contains("debug-threads=on"), "{words}");
    assert!(
        host.ends_with("ip link set $nic master br0 up\npin=1 CPU 0/KVM"),
        "{host}"
    );
}

#[test]
fn a_machine_has_the_cards_that_it_gives_away() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab");
    let lab = Lab::open(&[folder.into()]).unwrap();
    let recipe = lab.recipe("kvm-vfio-linux", None).unwrap();
    let flags = recipe.emulator.flags.iter().flat_map(|flag| &flag.words);
    let flags = flags.cloned().collect::<Vec<_>>().join(" ");
    for (card, mac) in [(VM_CARD, VM_CARD_MAC), (HOST_CARD, HOST_MAC)] {
        let slot = card.split([':', '.']).nth(2).unwrap();
        assert!(
            flags.contains(&format!("mac={mac},addr=0x{slot},")),
            "{flags}"
        );
    }
}
