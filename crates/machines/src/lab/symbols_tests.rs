//! Tests of symbols: what is read of a console, and what a machine gets to boot for them.

use super::*;
use crate::emulator::Emulator;
use crate::lab::payload::Payload;
use crate::lab::whole::Whole;
use crate::shipped::Shipped;
use proptest::prelude::*;
use std::path::Path;
use ws_lab::lab::Lab;
use ws_lab::sets::Architecture;

const LINES: &str = "ffffffff81000000 T _stext\n40 t do_it\n3f000000 t svm_handle_exit [kvm_amd]\n";

/// What `lab/init` prints of these lines.
fn text(lines: &str) -> String {
    let count = lines.lines().count();
    let sum = crc32fast::hash(lines.as_bytes());
    format!("@symbols begin\n{lines}@symbols end {count} {sum:08x}\n")
}

#[test]
fn symbols_are_found_among_what_else_a_console_has() {
    let console = format!("[    0.1] kernel\n{}[    9.9] reboot: off\n", text(LINES));
    let console = console.replace('\n', "\r\n");
    assert_eq!(block(console.as_bytes()), Ok(text(LINES)));
    // What the cache has is read in the same way.
    assert_eq!(block(text(LINES).as_bytes()), Ok(text(LINES)));
}

#[test]
fn symbols_that_were_cut_or_changed_are_refused() {
    let whole = text(LINES);
    for end in whole.find('f').unwrap()..whole.len() {
        assert_eq!(block(&whole.as_bytes()[..end]), Err(Damage::Cut), "{end}");
    }
    assert_eq!(block(b"[    0.1] kernel\n"), Err(Damage::None));
    let changed = whole.replace("do_it", "do_at");
    assert_eq!(block(changed.as_bytes()), Err(Damage::Sum));
    let more = whole.replace("40 t do_it", "[    1.0] a message\n40 t do_it");
    let damage = block(more.as_bytes()).unwrap_err();
    assert_eq!(damage, Damage::Count { said: 3, came: 4 });
    let words = SymbolsError::Damaged(damage).to_string();
    assert!(
        words.contains("says 3 symbols, and 4 came") && words.contains("quiet"),
        "{words}"
    );
    for last in ["", "3", "x 0", "3 x", "-1 0"] {
        let wrong = format!("@symbols begin\n{LINES}@symbols end {last}\n");
        assert_eq!(block(wrong.as_bytes()), Err(Damage::Sum), "{last}");
    }
}

proptest! {
    #[test]
    fn no_console_is_taken_for_symbols_that_it_has_not(
        bytes in proptest::collection::vec(any::<u8>(), 0..64),
        at in 0usize..100,
        flip in 1u8..,
    ) {
        prop_assert_eq!(block(&bytes), Err(Damage::None));
        let mut changed = text(LINES).into_bytes();
        let at = at % changed.len();
        changed[at] ^= flip;
        // A changed case of the sum's digits, or a changed first line, changes no symbol.
        if let Ok(found) = block(&changed) {
            prop_assert!(found.contains(LINES), "{at} {flip}");
        }
        let mut around = bytes.clone();
        around.push(b'\n');
        around.extend(text(LINES).bytes());
        around.extend(bytes);
        prop_assert_eq!(block(&around), Ok(text(LINES)));
    }
}

#[test]
fn the_reason_of_the_first_process_is_repeated() {
    let console = b"[    0.1] kernel\r\ninit: no symbols: the kernel has no /proc/kallsyms\r\n\r\n";
    let why = "no symbols: the kernel has no /proc/kallsyms";
    assert_eq!(refusal(console).as_deref(), Some(why));
    assert_eq!(refusal(b"init\n initrd: x\n"), None);
    assert_eq!(last_line(console), format!("init: {why}"));
    assert_eq!(last_line(b"\n \n"), "none");
}

/// The initramfs as text.
fn packed(payload: &Payload) -> String {
    let bytes = initramfs(&payload.properties().linux.unwrap(), b"the first process").unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn the_machine_boots_its_modules_and_nothing_else() {
    let modules = ["module=/kvm.ko a=1".to_owned(), "module=/kvm-amd.ko".into()];
    let files = vec![
        Entry::file("guest.elf", *b"the guest"),
        payload::init(b"the monitor".to_vec()),
        Entry::file("kvm.ko", *b"first module"),
        Entry::file("kvm-amd.ko", *b"second module"),
    ];
    let linux = Payload::Linux(Linux {
        kernel: "/k/vmlinuz".into(),
        parameters: "quiet".into(),
        files: files.clone(),
        monitor: LinuxMonitor::Vmm { is_flat: false },
        lines: modules.iter().cloned().chain(["el2".into()]).collect(),
        nested: None,
    });
    let whole = Payload::Whole(Box::new(Whole {
        xen: None,
        architecture: Architecture::X86_64,
        kernel: "/k/vmlinuz".into(),
        parameters: "quiet".into(),
        files,
        modules: modules.into(),
        root: "/r/image".into(),
        root_bytes: 2 << 20,
        emulator: ws_lab::recipe::EmulatorKind::Qemu,
        workloads: Vec::new(),
        cpus: None,
        vm: None,
        below: None,
    }));
    let packed = [linux, whole].map(|payload| packed(&payload));
    assert_eq!(packed[0], packed[1]);
    for part in [
        "the first process",
        "first module",
        "second module",
        "init.conf",
        "module=/kvm.ko a=1\nmodule=/kvm-amd.ko\nsymbols\n",
    ] {
        assert!(packed[0].contains(part), "{part}");
    }
    for part in ["the monitor", "the guest", "el2"] {
        assert!(!packed[0].contains(part), "{part}");
    }
}

#[test]
fn symbols_of_xen_are_as_a_linux_prints_its_own() {
    let symbol = |address, name: &str| XenSymbol {
        address,
        kind: 't',
        name: name.into(),
    };
    let all = as_text(&[symbol(0x1000, "a.c#b"), symbol(0x1040, "c")]);
    assert_eq!(all, text("1000 t a.c#b\n40 t c\n"));
    assert_eq!(block(all.as_bytes()), Ok(all));
}

#[test]
fn a_machine_without_linux_has_none() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = fake(folder.path(), b"kernel", "exit 1");
    settings.payload = Payload::Guest;
    let error = symbols(settings, &resources(folder.path()), &|| false).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("neither a Linux"), "{error}");
}

/// A machine with this kernel, whose emulator is a shell that runs `script`.
fn fake(folder: &Path, kernel: &[u8], script: &str) -> Settings {
    let lab = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab");
    let recipe = Lab::open(&[lab.into()]).unwrap().recipe("kvm", None);
    let image = folder.join("vmlinuz");
    fs::write(&image, kernel).unwrap();
    Settings {
        launch_point: None,
        states: None,
        timers: None,
        recorder: None,
        recipe: recipe.unwrap(),
        emulator: Emulator {
            name: "qemu",
            program: "/bin/sh".into(),
            leading: vec!["-c".into(), script.into()],
            version: "10.0".into(),
            build: "QEMU emulator version 10.0".into(),
        },
        bochs: None,
        payload: Payload::Linux(Linux {
            kernel: image,
            parameters: "quiet nokaslr".into(),
            files: Vec::new(),
            monitor: LinuxMonitor::Vmm { is_flat: false },
            lines: Vec::new(),
            nested: None,
        }),
        guest: "/g/guest.elf".into(),
        is_own: true,
        initrd: None,
        memory_mib: 512,
        digest: "ab".into(),
        parts: Vec::new(),
    }
}

/// With a cache in `folder`.
fn resources(folder: &Path) -> Resources {
    let init = folder.join("init");
    fs::write(&init, "init").unwrap();
    Resources {
        shipped: [(Shipped::Init(Architecture::X86_64), Ok(init))].into(),
        lab: Some(Ok(crate::resources::LabFiles {
            lab: Lab::open(&[]).unwrap(),
            store: ws_lab::store::Store::at(folder.join("cache")),
        })),
        ..Resources::default()
    }
}

fn ask(folder: &Path, kernel: &[u8], script: &str) -> Result<Symbols, SymbolsError> {
    let go_on = || false;
    symbols(fake(folder, kernel, script), &resources(folder), &go_on)
}

#[test]
fn symbols_are_kept_for_the_same_machine() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let prints = format!("printf '{}'", text(LINES).replace('\n', "\\n"));
    let first = ask(folder, b"a", &prints).unwrap();
    assert_eq!(first.linux, Some(text(LINES)));
    assert!(first.not_kept.is_none(), "{:?}", first.not_kept);
    // A machine that prints nothing: what was kept is used, but not for another kernel.
    assert_eq!(
        ask(folder, b"a", "exit 1").unwrap().linux,
        Some(text(LINES))
    );
    assert!(ask(folder, b"b", "exit 1").is_err());
    // A damaged text is made anew.
    let kept: Vec<_> = fs::read_dir(folder.join("cache/symbols"))
        .unwrap()
        .collect();
    assert_eq!(kept.len(), 1);
    let path = kept[0].as_ref().unwrap().path();
    fs::write(&path, "@symbols begin\n").unwrap();
    assert!(ask(folder, b"a", "exit 1").is_err());
    assert_eq!(ask(folder, b"a", &prints).unwrap().linux, Some(text(LINES)));
    assert_eq!(fs::read_to_string(&path).unwrap(), text(LINES));
}

#[test]
fn a_cache_that_can_t_be_written_is_said_and_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("cache"), "a file").unwrap();
    let prints = format!("printf '{}'", text(LINES).replace('\n', "\\n"));
    let symbols = ask(folder, b"a", &prints).unwrap();
    assert_eq!(symbols.linux, Some(text(LINES)));
    let why = symbols.not_kept.unwrap().to_string();
    assert!(why.contains("can't keep symbols in"), "{why}");
}

#[test]
fn a_kernel_that_may_be_anywhere_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = fake(folder.path(), b"a", "exit 1");
    if let Payload::Linux(linux) = &mut settings.payload {
        linux.parameters = "quiet nokaslr=1".into();
    }
    let error = symbols(settings, &resources(folder.path()), &|| false).unwrap_err();
    assert!(
        error.to_string().contains("add the parameter nokaslr"),
        "{error}"
    );
}

#[test]
fn what_went_wrong_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let said = |script: &str| ask(folder.path(), b"a", script).unwrap_err().to_string();
    let refused = said("echo 'init: no symbols: the kernel has no /proc/kallsyms: build it'");
    assert!(
        refused.contains("no /proc/kallsyms: build it; debug information"),
        "{refused}"
    );
    let ended = said("echo Kernel panic; exit 3");
    assert!(
        ended.contains("status 3") && ended.ends_with("Kernel panic"),
        "{ended}"
    );
    let cut = said("echo '@symbols begin'; echo 1 t a");
    assert!(cut.contains("they have no end"), "{cut}");
    let flood = said("yes");
    assert!(flood.contains("16 MiB") && flood.ends_with('y'), "{flood}");
    let stop = || true;
    let settings = fake(folder.path(), b"a", "sleep 100");
    let stopped = symbols(settings, &resources(folder.path()), &stop);
    assert!(matches!(stopped, Err(SymbolsError::Stopped)), "{stopped:?}");
}
