use super::*;
use crate::a64::{NOP, RET};
use crate::image::Range;
use proptest::prelude::*;

const MRS_HCR: u32 = 0xd53c_1109; // mrs x9, hcr_el2
const MSR_HCR: u32 = 0xd51c_1109;
const MSR_VBAR: u32 = 0xd51c_c000;
const ERET: u32 = 0xd69f_03e0;
const CURRENT_EL: u32 = 0xd538_4249;

/// The address of the test's image.
const BASE: u64 = 0x4020_0000;
/// The file offset of its text, which follows the header and one program header.
const TEXT: usize = 64 + 56;

const NAMES: &[u8] = b"\0.text\0.veneers\0.deferred\0.symtab\0.strtab\0";

/// A small ELF file: .text with mapping symbols, .veneers, .deferred.
struct Elf {
    text: Vec<u32>,
    /// Name, word of .text.
    marks: Vec<(&'static str, u64)>,
    veneer_bytes: u64,
    /// p_flags of the segment: 4 read, 2 write, 1 execute.
    flags: u32,
    machine: u16,
    kind: u16,
}

impl Elf {
    fn of(text: &[u32]) -> Self {
        Self {
            text: text.to_vec(),
            marks: vec![("$x", 0)],
            veneer_bytes: 512,
            flags: 5,
            machine: 183,
            kind: 2,
        }
    }

    /// The file: header, program header, .text, .veneers, symbols, names, section headers.
    fn bytes(&self) -> Vec<u8> {
        let text = 4 * self.text.len() as u64;
        let code = TEXT as u64;
        let symbols = (code + text + self.veneer_bytes).next_multiple_of(8);
        let mut names = NAMES.to_vec();
        let mut table = vec![0; 24];
        for (name, word) in &self.marks {
            table.extend((names.len() as u32).to_le_bytes());
            table.extend([0, 0, 1, 0]); // local, no type, section 1
            table.extend((BASE + 4 * word).to_le_bytes());
            table.extend(0u64.to_le_bytes());
            names.extend(name.as_bytes());
            names.push(0);
        }
        names.resize(names.len().next_multiple_of(8), 0);
        let strings = symbols + table.len() as u64;
        let sections = strings + names.len() as u64;
        let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        file.extend(self.kind.to_le_bytes());
        file.extend(self.machine.to_le_bytes());
        file.extend(1u32.to_le_bytes());
        file.extend([BASE, 64, sections].map(u64::to_le_bytes).concat());
        file.extend(0u32.to_le_bytes());
        file.extend([64u16, 56, 1, 64, 6, 5].map(u16::to_le_bytes).concat());
        file.extend([1, self.flags].map(u32::to_le_bytes).concat());
        let length = text + self.veneer_bytes;
        let segment = [code, BASE, BASE, length, length, 8];
        file.extend(segment.map(u64::to_le_bytes).concat());
        file.extend(self.text.iter().flat_map(|word| word.to_le_bytes()));
        file.resize(symbols as usize, 0);
        file.extend(table);
        file.extend(&names);
        let room = (BASE + text, code + text, self.veneer_bytes);
        // name, type, flags, address, offset, size, link, size of an entry
        for (name, kind, flags, address, offset, size, link, entry) in [
            ("\0", 0u32, 0u64, 0, 0, 0, 0u32, 0u64),
            (".text", 1, 6, BASE, code, text, 0, 0),
            (".veneers", 1, 6, room.0, room.1, room.2, 0, 0),
            (".deferred", 8, 3, BASE + 0x10000, 0, 2 * 4096, 0, 0),
            (".symtab", 2, 0, 0, symbols, strings - symbols, 5, 24),
            (".strtab", 3, 0, 0, strings, sections - strings, 0, 0),
        ] {
            let mut all = NAMES.windows(name.len());
            let at = all.position(|w| w == name.as_bytes()).unwrap();
            file.extend([at as u32, kind].map(u32::to_le_bytes).concat());
            file.extend(
                [flags, address, offset, size]
                    .map(u64::to_le_bytes)
                    .concat(),
            );
            file.extend([link, 0].map(u32::to_le_bytes).concat());
            file.extend([4, entry].map(u64::to_le_bytes).concat());
        }
        file
    }
}

fn options(target: Target) -> Options {
    Options {
        target,
        vhe: false,
        outline: Outline::default(),
    }
}

fn words(bytes: &[u8], from: usize, count: usize) -> Vec<u32> {
    bytes[from..from + 4 * count]
        .chunks_exact(4)
        .map(word_at)
        .collect()
}

#[test]
fn for_pv_each_instruction_becomes_a_call_or_a_constant() {
    let elf = Elf::of(&[MRS_HCR, NOP, MSR_VBAR, CURRENT_EL, ERET, RET]);
    let (patched, report) = patch(&elf.bytes(), &options(Target::Pv)).unwrap();
    let table = Registers::load().unwrap();
    let row = |name| table.named(name).unwrap();
    let expected = [
        a64::hvc(table.call(row("HCR_EL2"), false, 9)),
        NOP,
        a64::hvc(table.call(row("VBAR_EL2"), true, 0)),
        a64::movz(9, 8),
        a64::hvc(0xffff),
        RET,
    ];
    assert_eq!(words(&patched, TEXT, 6), expected);
    assert_eq!((report.code_bytes, report.veneer_bytes), (24, 0));
    let changed = report.changed.iter();
    let names: Vec<_> = changed
        .map(|c| (c.register.as_str(), c.places.len()))
        .collect();
    let expected = [
        ("CurrentEL", 1),
        ("ERET", 1),
        ("HCR_EL2", 1),
        ("VBAR_EL2", 1),
    ];
    assert_eq!(names, expected);
    assert_eq!(report.changed[2].places, [Place(BASE)]);
}

#[test]
fn for_neve_veneers_load_from_and_store_to_the_page() {
    let bytes = Elf::of(&[MRS_HCR, MSR_HCR, MSR_VBAR, RET]).bytes();
    let (patched, report) = patch(&bytes, &options(Target::Neve)).unwrap();
    let code = words(&patched, TEXT, 4);
    let room = BASE + 16;
    assert_eq!(code[0], a64::branch(BASE, room + 14 * 4).unwrap());
    let second = room + (14 + 8) * 4;
    assert_eq!(code[1], a64::branch(BASE + 4, second).unwrap());
    assert_eq!(code[2], MSR_VBAR & !(7 << 16), "VBAR_EL1");
    let veneers = words(&patched, TEXT + 16, 32);
    assert!(veneers.contains(&a64::ldr(9, 9, 0x78)));
    assert!(veneers.contains(&a64::str(9, 16, 0x78)));
    assert_eq!(report.veneer_bytes, 4 * 32);
    assert_eq!(&patched[..TEXT], &bytes[..TEXT], "the headers");
}

#[test]
fn data_is_not_changed() {
    let mut elf = Elf::of(&[ERET, MRS_HCR, MRS_HCR]);
    elf.marks = vec![("$x.1", 0), ("$d.2", 1), ("$x", 2)];
    let (patched, report) = patch(&elf.bytes(), &options(Target::Pv)).unwrap();
    let code = words(&patched, TEXT, 3);
    assert_eq!(code[1], MRS_HCR);
    assert_ne!(code[2], MRS_HCR);
    assert_eq!((report.in_data, report.code_bytes), (1, 8));
}

fn refusal(bytes: &[u8], target: Target) -> String {
    patch(bytes, &options(target)).unwrap_err().to_string()
}

#[test]
fn images_whose_code_is_not_proven_are_refused() {
    let refused = |change: fn(&mut Elf), what: &str| {
        let mut elf = Elf::of(&[ERET, NOP, MRS_HCR]);
        change(&mut elf);
        let text = refusal(&elf.bytes(), Target::Pv);
        assert!(text.contains(what), "{text}");
    };
    refused(
        |elf| elf.marks = vec![("$x", 1)],
        "1 of its instructions can't be rewritten:\n0x40200000: ERET: ",
    );
    refused(|elf| elf.marks.clear(), "stripped");
    refused(
        |elf| elf.marks = vec![("$x", 700)],
        "outside of its section",
    );
    refused(|elf| elf.flags = 7, "written and executed");
    refused(|elf| elf.flags = 4, "not in an executable segment");
    refused(|elf| elf.machine = 62, "X86_64");
    refused(|elf| elf.kind = 1, "link it first");
    refused(|elf| elf.text = vec![NOP], "no hypervisor instruction");
    assert!(refusal(b"\x7fELF", Target::Pv).contains("not an ELF file for AArch64"));
    assert!(refusal(b"MZ", Target::Pv).contains("--code"));
}

#[test]
fn a_patched_image_is_refused_the_second_time() {
    let bytes = Elf::of(&[MRS_HCR, MSR_VBAR]).bytes();
    let again = |target| {
        let (patched, _) = patch(&bytes, &options(target)).unwrap();
        refusal(&patched, target)
    };
    assert!(again(Target::Pv).contains("makes calls already"));
    // The EL1 register in the rewritten instruction looks like the VM's, so only the room shows it.
    assert!(again(Target::Neve).contains("room for veneers is not empty"));
}

#[test]
fn too_little_room_is_an_error_with_the_size_needed() {
    let mut elf = Elf::of(&[MRS_HCR]);
    elf.veneer_bytes = 64;
    let text = refusal(&elf.bytes(), Target::Neve);
    let expected = "88 bytes of veneers, and .veneers has 64";
    assert!(text.contains(expected), "{text}");
    assert!(patch(&elf.bytes(), &options(Target::Pv)).is_ok(), "no need");
}

#[test]
fn a_raw_image_is_patched_in_the_given_ranges() {
    let all = [MRS_HCR, ERET, ERET, NOP];
    let bytes: Vec<u8> = all.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut raw = options(Target::Pv);
    let range = |start, end| Range::new(start, end).unwrap();
    raw.outline.code = vec![range(0, 4), range(8, 12)];
    let (patched, report) = patch(&bytes, &raw).unwrap();
    assert_eq!(words(&patched, 0, 4)[1..], [ERET, a64::hvc(0xffff), NOP]);
    let places: Vec<_> = report.changed.iter().map(|c| c.places.clone()).collect();
    assert_eq!(places, [[Place(8)], [Place(0)]], "ERET, HCR_EL2");
    for (code, what) in [
        (range(0, 6), "whole instructions"),
        (range(12, 20), "beyond the end of the file"),
        (range(8, 16), "overlaps"),
    ] {
        raw.outline.code = vec![range(8, 12), code];
        let text = patch(&bytes, &raw).unwrap_err().to_string();
        assert!(text.contains(what), "{text}");
    }
    let elf = Elf::of(&[ERET]).bytes();
    let text = patch(&elf, &raw).unwrap_err().to_string();
    assert!(text.contains("marks its own code"), "{text}");
}

fn target(neve: bool) -> Target {
    if neve { Target::Neve } else { Target::Pv }
}

proptest! {
    /// Any damaged file is either refused, or patched without a change of its length.
    #[test]
    fn damaged_files(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<Option<prop::sample::Index>>(),
        neve: bool,
    ) {
        let mut bytes = Elf::of(&[MRS_HCR, MSR_HCR, ERET, RET]).bytes();
        for (at, to) in changes {
            let at = at.index(bytes.len());
            bytes[at] = to;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok((patched, _)) = patch(&bytes, &options(target(neve))) {
            prop_assert_eq!(patched.len(), bytes.len());
        }
    }

    /// Only the sites and the room change. Afterwards no hypervisor instruction is left, except calls and,
    /// for neve, accesses of EL1's registers instead of EL2's.
    #[test]
    fn only_sites_and_the_room_change(
        code in prop::collection::vec(prop_oneof![
            any::<u32>(),
            Just(MRS_HCR),
            Just(MSR_HCR),
            Just(ERET),
            (0u32..1 << 22).prop_map(|low| 0xd500_0000 | low),
        ], 1..40),
        neve: bool,
        vhe: bool,
    ) {
        let mut elf = Elf::of(&code);
        elf.veneer_bytes = 4096;
        let bytes = elf.bytes();
        let options = Options { vhe, ..options(target(neve)) };
        let Ok((patched, report)) = patch(&bytes, &options) else { return Ok(()) };
        let places = report.changed.iter().flat_map(|c| &c.places);
        let sites: Vec<u64> = places.map(|place| place.0).collect();
        let table = Registers::load().unwrap();
        let rules = Rules { table: &table, target: options.target, vhe };
        let after = words(&patched, TEXT, code.len());
        for (number, (&before, after)) in code.iter().zip(after).enumerate() {
            let is_site = sites.contains(&(BASE + 4 * number as u64));
            prop_assert!(is_site || before == after);
            let is_call = matches!(a64::decode(after), a64::Instruction::Hvc(i) if i & table.mark != 0);
            let verdict = rules.judge(a64::decode(after));
            let again = matches!(verdict, Verdict::Changes { .. } | Verdict::Refused { .. });
            prop_assert!(neve || is_call || !again);
        }
        let behind = TEXT + 4 * code.len() + 4096;
        prop_assert_eq!(&bytes[behind..], &patched[behind..]);
    }
}
