//! The table of system registers and the constants of calls, parsed from neve's `registers.h`. The header is compiled
//! in, so that neve's emulation, its macros and this patcher can't disagree.

use ws_explain::a64::Encoding;

const SOURCE: &str = include_str!("../../../neve/cpu/registers.h");

/// Kind of a register to a guest hypervisor; `registers.h` describes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nest {
    Direct,
    Control,
    Vm,
    Redirect,
    RedirectVhe,
    Cached,
    Translated,
    Gic,
    Timer,
    Pmu,
    Debug,
    Auxiliary,
    Trap,
}

impl Nest {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "DIRECT" => Self::Direct,
            "CONTROL" => Self::Control,
            "VM" => Self::Vm,
            "REDIRECT" => Self::Redirect,
            "REDIRECT_VHE" => Self::RedirectVhe,
            "CACHED" => Self::Cached,
            "TRANSLATED" => Self::Translated,
            "GIC" => Self::Gic,
            "TIMER" => Self::Timer,
            "PMU" => Self::Pmu,
            "DEBUG" => Self::Debug,
            "AUXILIARY" => Self::Auxiliary,
            "TRAP" => Self::Trap,
            _ => return None,
        })
    }
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// Name of the register, such as `HCR_EL2`.
    pub name: &'static str,
    /// Index of the register in the table, which a call contains.
    pub number: u16,
    pub encoding: Encoding,
    pub nest: Nest,
    /// Offset of the register in the deferred page, in bytes.
    pub offset: u16,
}

/// The table, and the constants of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registers {
    pub rows: Vec<Register>,
    /// The bit that is set in the immediate of every call.
    pub mark: u16,
    write: u16,
    number_shift: u16,
    tlbi: u16,
    /// The whole immediate of the call for ERET.
    pub eret: u16,
}

/// `registers.h` does not have the expected form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("neve/cpu/registers.h: {0}")]
pub struct TableError(String);

impl Registers {
    /// Parses the table that was compiled in.
    pub fn load() -> Result<Self, TableError> {
        Self::parse(SOURCE)
    }

    /// Parses neve's table. A register's number is the place of its row, as in neve.
    fn parse(source: &'static str) -> Result<Self, TableError> {
        let behind = number_in(source, "#define REGISTER_OFFSET(", "(page) :")?;
        let table = source
            .split_once("#define REGISTERS(ROW)")
            .ok_or_else(|| TableError("it has no REGISTERS(ROW)".into()))?
            .1;
        let mut rows = Vec::new();
        let is_heading = |line: &&str| line.trim_start().starts_with("/*");
        for line in table.lines().skip(1).filter(|line| !is_heading(line)) {
            let Some(row) = line.trim_start().strip_prefix("ROW(") else {
                break;
            };
            let number = u16::try_from(rows.len()).unwrap_or(u16::MAX);
            let row = row
                .rsplit_once(')')
                .and_then(|(fields, _)| Self::row(fields, number, behind));
            rows.push(row.ok_or_else(|| TableError(format!("what is {line:?}?")))?);
        }
        if rows.is_empty() {
            return Err(TableError("its table is empty".into()));
        }
        let constant = |name: &str| number_in(source, &format!("#define {name} "), "");
        Ok(Self {
            rows,
            mark: constant("CALL_MARK")?,
            write: constant("CALL_WRITE")?,
            number_shift: constant("CALL_NUMBER")?,
            tlbi: constant("CALL_TLBI")?,
            eret: constant("CALL_ERET")?,
        })
    }

    /// Parses `name, op0, op1, CRn, CRm, op2, class, mask, nest, page`.
    fn row(fields: &'static str, number: u16, behind: u16) -> Option<Register> {
        let fields: Vec<&str> = fields.split(',').map(str::trim).collect();
        let [name, op0, op1, n, m, op2, _class, _mask, nest, page] = fields[..] else {
            return None;
        };
        let page = integer(page)?;
        Some(Register {
            name,
            number,
            encoding: Encoding {
                op0: op0.parse().ok()?,
                op1: op1.parse().ok()?,
                n: n.parse().ok()?,
                m: m.parse().ok()?,
                op2: op2.parse().ok()?,
            },
            nest: Nest::of(nest)?,
            offset: if page == 0 { behind + 8 * number } else { page },
        })
    }

    /// The row of a register. The names with which a VHE hypervisor accesses its VM's registers (`SCTLR_EL12`,
    /// `CNTV_CTL_EL02`) select the VM's row, as in `register_find()` of neve.
    pub fn find(&self, encoding: Encoding) -> Option<&Register> {
        let op1 = match encoding {
            Encoding {
                op1: 5, n: 14, m, ..
            } if m != 1 => 3,
            Encoding { op1: 5, .. } => 0,
            Encoding { op1, .. } => op1,
        };
        let encoding = Encoding { op1, ..encoding };
        self.rows.iter().find(|row| row.encoding == encoding)
    }

    /// The row of that name.
    pub fn named(&self, name: &str) -> Option<&Register> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// The immediate of a call that reads a register into `x<rt>`, or writes it from there.
    pub fn call(&self, register: &Register, write: bool, rt: u8) -> u16 {
        let direction = if write { self.write } else { 0 };
        self.mark | direction | register.number << self.number_shift | u16::from(rt)
    }

    /// The immediate of the call that replaces a TLBI; `None` if there is no such call.
    pub fn call_tlbi(&self, op1: u8, m: u8, op2: u8, rt: u8) -> Option<u16> {
        if !matches!(op1, 0 | 4) || m > 7 {
            return None;
        }
        let number = self.tlbi + u16::from((op1 / 4) << 6 | m << 3 | op2);
        Some(self.mark | self.write | number << self.number_shift | u16::from(rt))
    }
}

/// The first number after the texts `after` and `then`, decimal or with 0x.
fn number_in(source: &str, after: &str, then: &str) -> Result<u16, TableError> {
    let found = || {
        let rest = source.split_once(after)?.1;
        let rest = rest.split_once(then)?.1.trim_start();
        integer(rest.split(|c: char| !c.is_ascii_alphanumeric()).next()?)
    };
    found().ok_or_else(|| TableError(format!("there is no number after {after:?}")))
}

fn integer(text: &str) -> Option<u16> {
    match text.strip_prefix("0x") {
        Some(hex) => u16::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn all_rows_of_the_source_are_read() {
        let table = Registers::load().unwrap();
        assert_eq!(table.rows.len(), SOURCE.matches("\tROW(").count());
        let encodings: BTreeSet<_> = table.rows.iter().map(|row| row.encoding).collect();
        let offsets: BTreeSet<_> = table.rows.iter().map(|row| row.offset).collect();
        assert_eq!(encodings.len(), table.rows.len());
        assert_eq!(offsets.len(), table.rows.len(), "two rows have one offset");
        assert!(
            table
                .rows
                .iter()
                .all(|row| row.offset % 8 == 0 && row.offset < 4096)
        );
        let hcr = table.named("HCR_EL2").unwrap();
        let place = (hcr.encoding.to_string(), hcr.nest, hcr.offset);
        assert_eq!(place, ("S3_4_C1_C1_0".into(), Nest::Control, 0x78));
        assert_eq!((table.mark, table.eret), (0x8000, 0xffff));
    }

    #[test]
    fn names_of_vhe_give_the_vms_register() {
        let table = Registers::load().unwrap();
        let name = |op1, n, m, op2| {
            let encoding = Encoding {
                op0: 3,
                op1,
                n,
                m,
                op2,
            };
            table.find(encoding).map(|row| row.name)
        };
        assert_eq!(name(5, 1, 0, 0), Some("SCTLR_EL1"));
        assert_eq!(name(5, 14, 3, 1), Some("CNTV_CTL_EL0"));
        assert_eq!(name(5, 14, 1, 0), Some("CNTKCTL_EL1"));
        assert_eq!(name(4, 1, 1, 0), Some("HCR_EL2"));
        assert_eq!(name(4, 15, 1, 4), None);
    }

    #[test]
    fn calls_contain_number_direction_and_register() {
        let table = Registers::load().unwrap();
        let vbar = table.named("VBAR_EL2").unwrap();
        assert_eq!(table.call(vbar, false, 7), 0x8000 | vbar.number << 5 | 7);
        assert_eq!(table.call(vbar, true, 31), 0xc000 | vbar.number << 5 | 31);
        // TLBI VMALLS12E1IS is op1 4, CRm 3, op2 6.
        assert_eq!(
            table.call_tlbi(4, 3, 6, 0),
            Some(0xc000 | (table.tlbi + (1 << 6 | 3 << 3 | 6)) << 5)
        );
        assert_eq!(table.call_tlbi(4, 9, 6, 0), None);
        assert_eq!(table.call_tlbi(3, 3, 6, 0), None);
    }

    #[test]
    fn another_form_of_the_table_is_an_error() {
        const OFFSET: &str = "#define REGISTER_OFFSET(page, number) ((page) ? (page) : 0x800";
        for (source, what) in [
            ("", "REGISTER_OFFSET"),
            (OFFSET, "REGISTERS"),
            (
                "#define REGISTER_OFFSET(page, number) ((page) ? (page) : 0x800\n#define REGISTERS(ROW) \\\n\tROW(A, 3, 0)",
                "what is",
            ),
        ] {
            let error = Registers::parse(source).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
