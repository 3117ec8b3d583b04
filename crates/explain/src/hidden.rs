//! Names of registers and fields that x86 code accesses and that its bytes do not say: MSRs, extended control
//! registers, fields of a VMCB or VMCS.

use crate::registers::Class;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Returns the class and name of the register of this number, for an instruction that accesses registers of `class`. An
/// MSR or a field of a VMCS that is in no table here is named by its number in hexadecimal.
pub fn register(class: Class, number: u32) -> (Class, String) {
    let of = |table: &HashMap<u32, &'static str>| table.get(&number).map(|name| (*name).to_owned());
    match class {
        Class::Control => (class, format!("XCR{number}")),
        Class::Virtualization => {
            let name = of(&VMCS_FIELDS);
            // Intel SDM vol. 3, 25.11.2.
            let class = match number >> 10 & 3 {
                0 => Class::VmcsControl,
                1 => Class::VmcsExit,
                2 => Class::VmcsGuest,
                _ => Class::VmcsHost,
            };
            (class, name.unwrap_or_else(|| format!("{number:#06x}")))
        }
        _ => {
            let name = of(&MSRS);
            (class, name.unwrap_or_else(|| format!("{number:#010x}")))
        }
    }
}

/// Returns the class and name of the field of a VMCB that has this offset. Bytes between fields are reserved.
pub fn field(offset: u32) -> (Class, String) {
    let before = FIELDS.partition_point(|field| field.offset <= offset);
    let field = before.checked_sub(1).map(|index| &FIELDS[index]);
    match field.filter(|field| offset - field.offset < field.bytes) {
        Some(field) => (field.class, field.name.to_owned()),
        None => (Class::VmcbControl, format!("reserved {offset:#05x}")),
    }
}

struct Field {
    offset: u32,
    bytes: u32,
    class: Class,
    name: &'static str,
}

static MSRS: LazyLock<HashMap<u32, &'static str>> = LazyLock::new(|| {
    let lines = include_str!("msrs.txt").lines();
    lines.filter_map(numbered).collect()
});

static VMCS_FIELDS: LazyLock<HashMap<u32, &'static str>> = LazyLock::new(|| {
    let lines = include_str!("vmcs.txt").lines();
    lines.filter_map(numbered).collect()
});

static FIELDS: LazyLock<Vec<Field>> = LazyLock::new(|| {
    let lines = include_str!("vmcb.txt").lines();
    lines.filter_map(vmcb).collect()
});

fn numbered(line: &'static str) -> Option<(u32, &'static str)> {
    let (number, name) = line.split_once(' ')?;
    Some((u32::from_str_radix(number, 16).ok()?, name))
}

fn vmcb(line: &'static str) -> Option<Field> {
    let mut words = line.splitn(4, ' ');
    Some(Field {
        offset: u32::from_str_radix(words.next()?, 16).ok()?,
        bytes: words.next()?.parse().ok()?,
        class: match words.next()? {
            "control" => Class::VmcbControl,
            "general" => Class::VmcbGeneral,
            "segment" => Class::VmcbSegment,
            "register" => Class::VmcbRegister,
            "debug" => Class::VmcbDebug,
            "msr" => Class::VmcbMsr,
            _ => return None,
        },
        name: words.next()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_registers_have_names_and_others_numbers() {
        let name = |class, number| register(class, number).1;
        assert_eq!(name(Class::Msr, 0xc000_0080), "EFER");
        assert_eq!(name(Class::Msr, 0xc001_0201), "PERF_CTR0");
        assert_eq!(name(Class::Msr, 0x48), "SPEC_CTRL");
        assert_eq!(name(Class::Msr, 0xc001_1030), "0xc0011030");
        assert_eq!(name(Class::Msr, 0x99), "0x00000099");
        assert_eq!(name(Class::Control, 0), "XCR0");
    }

    #[test]
    fn fields_of_a_vmcs_have_the_class_that_their_encoding_says() {
        let of = |number, class, name: &str| {
            assert_eq!(
                register(Class::Virtualization, number),
                (class, name.to_owned())
            );
        };
        of(0x4002, Class::VmcsControl, "PRIMARY_CONTROLS");
        of(0x4402, Class::VmcsExit, "EXIT_REASON");
        of(0x681e, Class::VmcsGuest, "RIP");
        of(0x6c16, Class::VmcsHost, "RIP");
        of(0x2011, Class::VmcsControl, "0x2011");
    }

    #[test]
    fn fields_are_found_by_any_of_their_bytes() {
        let of = |offset, class, name: &str| assert_eq!(field(offset), (class, name.to_owned()));
        of(0, Class::VmcbControl, "INTERCEPT_CR");
        of(3, Class::VmcbControl, "INTERCEPT_CR");
        of(0x18, Class::VmcbControl, "reserved 0x018");
        of(0x70, Class::VmcbControl, "EXITCODE");
        of(0xc0, Class::VmcbControl, "CLEAN_BITS");
        of(0xc4, Class::VmcbControl, "reserved 0x0c4");
        of(0xd3, Class::VmcbControl, "GUEST_INSTRUCTION_BYTES");
        of(0x418, Class::VmcbSegment, "CS base");
        of(0x41f, Class::VmcbSegment, "CS base");
        of(0x4cb, Class::VmcbGeneral, "CPL");
        of(0x550, Class::VmcbRegister, "CR3");
        of(0x578, Class::VmcbGeneral, "RIP");
        of(0x5f8, Class::VmcbGeneral, "RAX");
        of(0x608, Class::VmcbMsr, "LSTAR");
        of(0x670, Class::VmcbDebug, "DBGCTL");
        of(0xfff, Class::VmcbControl, "reserved 0xfff");
    }

    #[test]
    fn all_lines_of_the_tables_are_read_and_in_order() {
        let lines = |text: &'static str| text.lines().filter(|line| !line.starts_with('#'));
        let tables = [
            (include_str!("msrs.txt"), &MSRS),
            (include_str!("vmcs.txt"), &VMCS_FIELDS),
        ];
        for (text, table) in tables {
            let numbers: Vec<u32> = lines(text).map(|line| numbered(line).unwrap().0).collect();
            assert!(numbers.is_sorted_by(|a, b| a < b));
            assert_eq!(numbers.len(), table.len());
        }
        let mut end = 0;
        for line in lines(include_str!("vmcb.txt")) {
            let field = vmcb(line).unwrap();
            assert!(field.offset >= end, "{line}");
            end = field.offset + field.bytes;
        }
        assert!(end <= 4096);
    }
}
