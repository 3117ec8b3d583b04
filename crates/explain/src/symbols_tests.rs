use super::*;
use proptest::prelude::*;

const KERNEL: &str = "@symbols begin\n\
    ffffffff81000000 T startup\n\
    0 t __local_alias\n\
    100 W weak\n\
    0 T strong\n\
    80 t cut.cold\n\
    fff80 T last\n\
    1000000 t svm_exit [kvm_amd]\n\
    16 t __svm_vcpu_run [kvm_amd]\n\
    @symbols end 8 00000000\n";

fn name(symbols: &Symbols, address: u64) -> Option<(&str, u64)> {
    let (index, offset) = symbols.find(address)?;
    Some((&symbols.get(index)?.name, offset))
}

#[test]
fn a_kernels_list_is_read() {
    let symbols = Symbols::of_kernel(KERNEL).unwrap();
    let at = |address| name(&symbols, address);
    assert_eq!(at(0xffff_ffff_8100_0000), Some(("startup", 0)));
    assert_eq!(at(0xffff_ffff_8100_0104), Some(("strong", 4)));
    assert_eq!(at(0xffff_ffff_8100_0181), Some(("cut", 1)));
    assert_eq!(at(0xffff_ffff_8210_0116), Some(("__svm_vcpu_run", 0)));
    assert_eq!(at(0x1000), None);
    assert_eq!(
        at(0xffff_ffff_8110_0100 + REACH_BYTES),
        None,
        "beyond the last one's reach"
    );
    let (module, _) = symbols.find(0xffff_ffff_8210_0100).unwrap();
    assert_eq!(
        symbols.get(module).unwrap().module.as_deref(),
        Some("kvm_amd")
    );
    assert_eq!(
        symbols.core(),
        0xffff_ffff_8100_0000..0xffff_ffff_8110_0100 + REACH_BYTES
    );
}

#[test]
fn a_function_is_not_named_for_its_section() {
    let list = "1000 T __softirqentry_text_end\n0 T __indirect_thunk_start\n0 t __x86_thunk\n10 T _stext\n";
    let symbols = Symbols::of_kernel(list).unwrap();
    assert_eq!(name(&symbols, 0x1001), Some(("__x86_thunk", 1)));
    assert_eq!(
        name(&symbols, 0x1010),
        Some(("_stext", 0)),
        "if it has no other name"
    );
}

#[test]
fn what_is_no_list_is_refused() {
    let says = |text: &str| Symbols::of_kernel(text).unwrap_err().to_string();
    assert!(says("").contains("stripped"));
    assert!(says("0 T a\n10 B data\n").contains("line 2"));
    for line in ["xyz T a", "0 T", "0 T a kvm", "0 T a [kvm] more", "nothing"] {
        assert!(says(line).contains("line 1"), "{line}");
    }
    assert!(Symbols::of_elf(b"\x7fELF").is_err());
}

#[test]
fn functions_of_an_elf_file_have_their_size() {
    let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let symbols = Symbols::of_elf(&own).unwrap();
    let index = symbols
        .sorted
        .iter()
        .position(|symbol| symbol.name == "main")
        .unwrap();
    let main = symbols.get(index).unwrap();
    assert_eq!(symbols.find(main.address + 1), Some((index, 1)));
    let end = main.end.unwrap();
    assert_ne!(symbols.find(end).map(|(index, _)| index), Some(index));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "([0-9a-f]{1,17} [tTwWx] [a-z.]{0,5}( \\[[a-z]\\])?\n|\\PC{0,20}\n){0,20}", address in any::<u64>()) {
        if let Ok(symbols) = Symbols::of_kernel(&text) {
            if let Some((index, offset)) = symbols.find(address) {
                prop_assert_eq!(symbols.get(index).unwrap().address + offset, address);
            }
        }
    }
}
