//! Kernel modules for tests: ELF files that have only the parts that are read.

/// A module of these entries of its section .modinfo, for an ELF machine.
pub fn module(machine: u16, entries: &[&str]) -> Vec<u8> {
    const HEADER: usize = 64;
    const NAMES: &[u8] = b"\0.modinfo\0.shstrtab\0";
    let info: Vec<u8> = entries
        .iter()
        .flat_map(|entry| [entry.as_bytes(), b"\0"].concat())
        .collect();
    let names_at = HEADER + info.len();
    let sections_at = (names_at + NAMES.len()).next_multiple_of(8);
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x01\0".to_vec();
    file.extend(machine.to_le_bytes());
    file.extend(1u32.to_le_bytes());
    file.extend([0; 16]);
    file.extend((sections_at as u64).to_le_bytes());
    file.extend([0; 4]);
    // The header's size, no program headers, three section headers of 64 bytes, the last has their names.
    for half in [HEADER, 0, 0, 64, 3, 2] {
        file.extend(u16::try_from(half).unwrap().to_le_bytes());
    }
    file.extend(&info);
    file.extend(NAMES);
    file.resize(sections_at, 0);
    let mut section = |name: u32, kind: u32, at: usize, bytes: usize| {
        file.extend(name.to_le_bytes());
        file.extend(kind.to_le_bytes());
        file.extend([0; 16]);
        file.extend((at as u64).to_le_bytes());
        file.extend((bytes as u64).to_le_bytes());
        file.extend([0; 24]);
    };
    section(0, 0, 0, 0);
    section(1, 1, HEADER, info.len());
    section(10, 3, names_at, NAMES.len());
    file
}

/// A module for x86_64 of this release that needs others. It has the parameters of KVM's modules.
pub fn needing(depends: &str, release: &str) -> Vec<u8> {
    let depends = format!("depends={depends}");
    let magic = format!("vermagic={release} SMP preempt mod_unload ");
    let parameters = ["parmtype=npt:bool", "parmtype=halt_poll_ns:uint"];
    module(
        62,
        &[&["license=GPL", &*depends, &magic], &parameters[..]].concat(),
    )
}
