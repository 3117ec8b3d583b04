use super::*;
use crate::explained::Explained;
use crate::fake::{Hypercall, address, machine, trace};
use crate::place::Role;
use crate::symbols::Symbols;
use crate::tree::Tree;
use object::{Object, ObjectSection, ObjectSymbol};
use proptest::prelude::*;

/// Debug information of made-up code: what is at an instruction of a function.
fn sites(trace: &Trace, of: &[(&str, u64, &[&str], u32)]) -> Sites {
    let machine = machine();
    let mut sites = Sites::of(trace, &machine);
    let kernel = Piece {
        image: 1,
        module: None,
    };
    let site = |(name, offset, inlined, line): &(&str, u64, &[&str], u32)| {
        let inlined = inlined.iter().map(|name| Rc::from(*name)).collect();
        let line = Some((Rc::from("x.c"), *line));
        (address(name) + offset, Site { inlined, line })
    };
    let known = of.iter().map(site).collect();
    sites.known.insert(kernel, known);
    sites.names.insert("Linux".to_owned());
    sites
}

fn explain(samples: &[Hypercall], of: &[(&str, u64, &[&str], u32)]) -> Explained {
    let (trace, measured) = trace(samples);
    let sites = sites(&trace, of);
    Explained::of_without(&trace, &machine(), "test", &measured, &[], &sites).unwrap()
}

/// Lines `DEPTH NAME TOTAL OWN CALLS` of the tree.
fn lines(explained: &Explained) -> Vec<String> {
    let nodes = explained.tree.nodes.iter().enumerate();
    let line = |(index, node): (usize, &crate::tree::Node)| {
        let depth = explained.tree.chain(index as u32).count() - 1;
        let function = &explained.functions[node.function as usize];
        let name = &function.name;
        let calls = function.calls(node.calls);
        format!("{depth} {name} {} {} {calls}", node.total, node.own)
    };
    nodes.map(line).collect()
}

const EMULATED: Hypercall = Hypercall {
    emulated: 4,
    user_space: false,
    interrupts: 0,
};

#[test]
fn inlined_functions_are_between_a_function_and_what_they_call() {
    // svm_handle_exit: its calls of svm_skip_emulated_instruction are in a function that is inlined two deep.
    let handler: [(&str, u64, &[&str], u32); 4] = [
        ("svm_handle_exit", 0, &[], 10),
        ("svm_handle_exit", 1, &["outer"], 20),
        ("svm_handle_exit", 2, &["outer"], 20),
        ("svm_handle_exit", 3, &["outer", "inner"], 30),
    ];
    let explained = explain(&[EMULATED], &handler);
    let lines = lines(&explained);
    let at = lines
        .iter()
        .position(|line| line.starts_with("1 svm_handle_exit"));
    let wanted = [
        "1 svm_handle_exit 12 2 1",
        "2 outer 10 2 -",
        "3 inner 8 1 -",
        "4 svm_skip_emulated_instruction 7 2 1",
        "5 kvm_emulate_instruction 5 5 1",
    ];
    assert_eq!(lines[at.unwrap()..][..5], wanted);
    let line = |line| {
        let found = explained.lines.iter().find(|count| count.line == line);
        found.map(|count| {
            let function = &explained.functions[count.function as usize];
            (&*function.name, function.is_inlined, count.instructions)
        })
    };
    assert_eq!(line(10), Some(("svm_handle_exit", false, 1)));
    assert_eq!(line(20), Some(("outer", true, 2)));
    assert_eq!(line(30), Some(("inner", true, 1)));
    assert!(explained.to_folded().contains(";outer_[i];inner_[i] 1\n"));
    // It takes the mark from the name, and gives it another colour.
    assert!(
        explained
            .to_flame_graph()
            .unwrap()
            .contains("<title>inner (")
    );
    let text = explained.to_text(crate::render::Shown {
        least: 1,
        lines: true,
        ..crate::render::Shown::default()
    });
    assert!(
        text.contains("      -        inner [kernel, inlined]\n"),
        "{text}"
    );
    assert!(
        text.contains("        2  outer [kernel, inlined]\n        2    x.c:20\n"),
        "{text}"
    );
    assert!(
        text.contains("Inlined functions: those of Linux; no debug information of guest\n"),
        "{text}"
    );
}

#[test]
fn a_difference_has_inlined_functions_if_both_sides_have_them() {
    let inlined: [(&str, u64, &[&str], u32); 1] = [("svm_handle_exit", 1, &["helper"], 1)];
    let with = explain(&[EMULATED], &inlined);
    let called = explain(
        &[Hypercall {
            interrupts: 1,
            ..EMULATED
        }],
        &[],
    );
    let difference = crate::diff::Difference::of(&with, &called).unwrap();
    assert_eq!(difference.sum(), difference.measured);
    let text = difference.to_text(1);
    assert!(text.contains("inlined > 1  helper: longer"), "{text}");
    let mut without = called;
    without.debug.clear();
    let difference = crate::diff::Difference::of(&with, &without).unwrap();
    assert_eq!(difference.sum(), difference.measured);
    let text = difference.to_text(1);
    assert!(text.contains("0 > 1  helper: gained"), "{text}");
    let own = difference
        .functions
        .iter()
        .map(|function| function.before.inlined);
    assert_eq!(own.sum::<u64>(), 0);
}

/// The test's own file: its code, its debug information, and a trace of one of its functions.
fn own() -> (Vec<u8>, Trace, Machine) {
    let file = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let elf = Elf::parse(&*file).unwrap();
    let function = elf
        .symbols()
        .find(|symbol| {
            symbol
                .name()
                .is_ok_and(|name| name.contains("rejects_nothing"))
        })
        .unwrap();
    let text = elf.section_by_name(".text").unwrap();
    let offset = (function.address() - text.address()) as usize;
    let code = &text.data().unwrap()[offset..];
    let insns = (0..64u64).map(|at| {
        let bytes = &code[at as usize..][..1];
        crate::trace::Insn::new(function.address() + at, 0, bytes)
    });
    let trace = Trace {
        architecture: crate::trace::Architecture::X86_64,
        insns: insns.collect(),
        recorder: crate::trace::Recorder::Plugin,
        has_accesses: true,
        paths: vec![],
        windows: vec![],
    };
    let machine = Machine {
        name: "lab:own".to_owned(),
        hypervisors: 1,
        images: crate::place::Image::of_elf("own", Role::Program, &file, &trace).unwrap(),
    };
    (file, trace, machine)
}

/// A function to look up: unlike its neighbours it is not generic, and is called.
#[inline(never)]
fn rejects_nothing(value: u64) -> u64 {
    value.rotate_left(3) ^ value
}

#[test]
fn a_program_s_own_debug_information_is_read_and_another_build_s_is_refused() {
    assert_ne!(std::hint::black_box(rejects_nothing(1)), 0);
    let (file, trace, machine) = own();
    let piece = Piece {
        image: 0,
        module: None,
    };
    let mut sites = Sites::of(&trace, &machine);
    assert_eq!(sites.pieces(), BTreeSet::from([piece.clone()]));
    sites.read(&machine, &piece, &file).unwrap();
    let (path, line) = sites.get(0).and_then(|site| site.line.clone()).unwrap();
    assert!(path.ends_with("tests.rs"), "{path}");
    let source = include_str!("tests.rs").lines();
    let wanted = source
        .clone()
        .position(|line| line.starts_with("fn rejects_nothing"));
    assert_eq!(line as usize, wanted.unwrap() + 1);
    // Code that differs by a byte.
    let elf = Elf::parse(&*file).unwrap();
    let (start, _) = elf.section_by_name(".text").unwrap().file_range().unwrap();
    let mut other = file.clone();
    other[start as usize] ^= 1;
    let error = sites.read(&machine, &piece, &other).unwrap_err();
    assert_eq!(error, DebugError::Other("its code differs".to_owned()));
    let error = sites.read(&machine, &piece, b"no ELF file").unwrap_err();
    assert!(matches!(error, DebugError::Elf(_)), "{error}");
}

/// The test's own file as the kernel of a machine that says these symbols.
fn as_kernel(file: &[u8], list: &str) -> Result<(), DebugError> {
    let elf = Elf::parse(file).map_err(|error| DebugError::Elf(error.to_string()))?;
    fit::kernel(&elf, &Symbols::of_kernel(list).unwrap()).map(drop)
}

#[test]
fn a_kernel_s_functions_must_be_where_the_machine_says() {
    let (file, trace, _) = own();
    let elf = Elf::parse(&*file).unwrap();
    let address = trace.insns[0].address;
    let mut symbols = elf.symbols();
    let name = symbols.find(|symbol| symbol.address() == address).unwrap();
    let name = name.name().unwrap();
    as_kernel(&file, &format!("{address:x} t {name}\n")).unwrap();
    let error = as_kernel(&file, &format!("{address:x} t {name}\n10 T other\n")).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("other is not at") && text.contains("0 more of 2"),
        "{text}"
    );
    let error = fit::module(&elf, &Symbols::of_kernel("1 t x [kvm]\n").unwrap(), "kvm");
    let text = error.unwrap_err().to_string();
    assert!(text.contains("it is not a module"), "{text}");
}

/// A made-up module: tests/module.c by `gcc -O2 -g1 -c` (12.2), the same by `objcopy --compress-debug-sections`, and by
/// `riscv64-linux-gnu-gcc` with the same options.
const MODULES: [&str; 4] = [
    include_str!("tests/module.hex"),
    include_str!("tests/zlib.hex"),
    include_str!("tests/zstd.hex"),
    include_str!("tests/riscv64.hex"),
];
const X86_MODULES: usize = 3;

fn module(index: usize) -> Vec<u8> {
    let digits: Vec<u8> = MODULES[index]
        .bytes()
        .filter(u8::is_ascii_hexdigit)
        .collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// Where a machine loaded its two sections.
const LOADED: &str = "ffffffffc0001000 t handle [kvm]\n20 T second [kvm]\n7fe0 T other [kvm]\n";
const HANDLE: u64 = 0xffff_ffff_c000_1000;
const OTHER: u64 = HANDLE + 0x8000;

/// What a module's file says of its instructions, where the machine has these symbols.
fn placed(file: &[u8], list: &str) -> Result<HashMap<u64, Site>, DebugError> {
    let addresses = [
        HANDLE,
        HANDLE + 9,
        HANDLE + 0xf,
        HANDLE + 0x12,
        OTHER,
        OTHER + 7,
    ];
    placed_at(file, list, addresses)
}

fn placed_at(
    file: &[u8],
    list: &str,
    addresses: [u64; 6],
) -> Result<HashMap<u64, Site>, DebugError> {
    let elf = Elf::parse(file).map_err(|error| DebugError::Elf(error.to_string()))?;
    let bases = fit::module(&elf, &Symbols::of_kernel(list).unwrap(), "kvm")?;
    dwarf::sites(&elf, &bases, &addresses.into())
}

#[test]
fn a_module_s_places_are_where_its_sections_were_loaded_compressed_or_not() {
    let site = |names: &[&str], line| Site {
        inlined: names.iter().map(|name| Rc::from(*name)).collect(),
        line: Some((Rc::from("module.c"), line)),
    };
    for index in 0..X86_MODULES {
        let sites = placed(&module(index), LOADED).unwrap();
        assert_eq!(sites[&HANDLE], site(&[], 13));
        assert_eq!(sites[&(HANDLE + 9)], site(&["middle", "leaf"], 4));
        assert_eq!(sites[&(HANDLE + 0xf)], site(&["middle"], 9));
        assert_eq!(sites[&(HANDLE + 0x12)], site(&[], 14));
        assert_eq!(sites[&OTHER], site(&["leaf"], 4));
    }
}

#[test]
fn a_module_of_riscv_has_its_distances_made_of_two_relocations() {
    let site = |names: &[&str], line| Site {
        inlined: names.iter().map(|name| Rc::from(*name)).collect(),
        line: Some((Rc::from("module.c"), line)),
    };
    let loaded = LOADED.replace("\n20 T", "\n1a T").replace("7fe0", "7fe6");
    let known = [
        (HANDLE, site(&[], 13)),
        (HANDLE + 4, site(&["middle", "leaf"], 4)),
        (HANDLE + 8, site(&["middle"], 8)),
        (HANDLE + 0x12, site(&["middle"], 9)),
        (HANDLE + 0x16, site(&[], 14)),
        (OTHER + 8, site(&["leaf"], 4)),
    ];
    let addresses = known.clone().map(|(address, _)| address);
    let sites = placed_at(&module(X86_MODULES), &loaded, addresses).unwrap();
    assert_eq!(sites, HashMap::from(known));
}

#[test]
fn a_module_of_another_build_is_refused() {
    let says = |file: &[u8], list: &str| placed(file, list).unwrap_err().to_string();
    let missing = says(&module(0), "1000 t handle [kvm]\n10 t gone [kvm]\n");
    assert!(missing.contains("gone is not in it"), "{missing}");
    let moved = "1000 t handle [kvm]\n30 T second [kvm]\n8000 T other [kvm]\n";
    let moved = says(&module(0), moved);
    assert!(moved.contains("bytes further apart"), "{moved}");
    let error = as_kernel(&module(0), "1000 t handle\n").unwrap_err();
    assert!(error.to_string().contains("it is a module"), "{error}");
    let stripped = {
        let mut file = module(0);
        while let Some(at) = file.windows(7).position(|name| name == b".debug_") {
            file[at + 1] = b'x';
        }
        file
    };
    assert_eq!(placed(&stripped, LOADED).unwrap_err(), DebugError::None);
    let file = module(0);
    for length in 0..file.len() {
        assert!(placed(&file[..length], LOADED).is_err(), "{length}");
    }
}

#[test]
fn paths_begin_where_the_source_does() {
    let below = |path, folder| dwarf::below(path, Some(folder));
    let build = "debian/build/build_amd64_none";
    assert_eq!(
        below("debian/build/build_amd64_none/./kvm/x.c", build),
        "kvm/x.c"
    );
    assert_eq!(
        below("/b/linux-6.1/kvm/x.S", "/b/linux-6.1/debian/build"),
        "kvm/x.S"
    );
    assert_eq!(below("/b/neve/../common/x.c", "/b/neve"), "common/x.c");
    assert_eq!(below("x.c", "x.c"), "x.c");
    assert_eq!(below("../../x.c", ""), "../../x.c");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// A damaged or truncated file is an error or gives other places, and never more.
    #[test]
    fn no_file_makes_it_stumble(
        which in 0..MODULES.len(),
        cut in prop_oneof![4 => Just(usize::MAX), 1 => 0usize..6000],
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let mut file = module(which);
        for (at, byte) in damage {
            let at = at.index(file.len());
            file[at] = byte;
        }
        file.truncate(cut);
        if let Ok(sites) = placed(&file, LOADED) {
            prop_assert!(sites.len() <= 6);
        }
        if let Ok(elf) = Elf::parse(&*file) {
            // Also where nothing says that it fits.
            let all: BTreeSet<u64> = (0..20).collect();
            let _ = dwarf::sites(&elf, &fit::Bases::new(), &all);
        }
    }

    /// However instructions are inlined, each stays one, and calls stay calls.
    #[test]
    fn counts_add_up(depths in prop::collection::vec(0usize..4, 0..40), emulated in 0usize..30) {
        let samples = [Hypercall { emulated, ..EMULATED }];
        let names = ["a", "b", "c", "d"];
        let chosen: Vec<(&str, u64, &[&str], u32)> = depths
            .iter()
            .enumerate()
            .map(|(at, depth)| ("kvm_emulate_instruction", at as u64, &names[..*depth], at as u32))
            .collect();
        let (plain, inlined) = (explain(&samples, &[]), explain(&samples, &chosen));
        let sum = |tree: &Tree, of: fn(&crate::tree::Node) -> u64| tree.nodes.iter().map(of).sum::<u64>();
        prop_assert_eq!(sum(&plain.tree, |node| node.own), sum(&inlined.tree, |node| node.own));
        prop_assert_eq!(sum(&plain.tree, |node| node.calls), sum(&inlined.tree, |node| node.calls));
        let folded = fold(&inlined.tree, &inlined.functions, |_| false);
        let parts = |explained: &Explained, tree: &Tree| {
            let mut parts: Vec<_> = crate::per_function::counts(tree)
                .into_iter()
                .filter(|count| count.own + count.calls > 0)
                .map(|count| {
                    let name = explained.functions[count.function as usize].name.clone();
                    (name, count.own, count.total, count.calls)
                })
                .collect();
            parts.sort();
            parts
        };
        prop_assert_eq!(parts(&plain, &plain.tree), parts(&inlined, &folded));
        let text = inlined.to_json().unwrap();
        prop_assert_eq!(Explained::from_json(&text).unwrap(), inlined);
    }
}
