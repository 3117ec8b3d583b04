//! The rules by which an instruction of a guest hypervisor is rewritten. They are those of neve's macros
//! (`accessors.h`), and depend on the register's nest.

use crate::a64::{Instruction, R31};
use crate::registers::{Nest, Registers};
use serde::Serialize;
use ws_explain::a64::Encoding;

/// The mechanism for which the image is patched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// Calls only (section 4).
    Pv,
    /// The paper's NEVE: the deferred page, EL1's registers, and calls (section 6.4).
    Neve,
}

/// Use of a register by an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    Read,
    Write,
    /// No register is accessed: ERET, a TLBI.
    Execute,
}

/// Replacement of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Becomes {
    /// `hvc` with this immediate.
    Call(u16),
    /// A load from the deferred page at this offset, or a store to it.
    Page(u16),
    /// An access to this register of EL1.
    Redirect(Encoding),
    /// A constant: CurrentEL is EL2.
    Constant(u16),
    /// NOP: a read into XZR.
    Nothing,
    /// An undefined instruction: an access to the register that holds the deferred page's address.
    Undefined,
}

/// The verdict on one instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Not a hypervisor instruction, or one that does the same at virtual EL2 as at EL1.
    Common,
    /// A hypervisor instruction that is right as it is, and the reason.
    Stays {
        name: String,
        access: Access,
        why: &'static str,
    },
    /// An instruction that is to be rewritten.
    Changes {
        name: String,
        access: Access,
        rt: u8,
        to: Becomes,
    },
    /// An instruction that can't be rewritten, and the reason.
    Refused { name: String, why: &'static str },
}

const CURRENT_EL: Encoding = Encoding {
    op0: 3,
    op1: 0,
    n: 4,
    m: 2,
    op2: 2,
};
const PAN: Encoding = Encoding {
    op0: 3,
    op1: 0,
    n: 4,
    m: 2,
    op2: 3,
};
/// EL2 in CurrentEL.
const AT_EL2: u16 = 2 << 2;

const TRAPS: &str = "traps on any CPU";
const UNDEFINED: &str = "undefined at virtual EL2 as at EL1: no row in the table";
const SETS_PAN: &str = "it sets PAN, which must stay clear: EL2's writable pages are EL0's too";
const NOT_VHE: &str = "a name that only a VHE hypervisor uses: add --vhe for such a hypervisor";

/// The rules, for a table of registers, a target and a kind of hypervisor.
pub struct Rules<'a> {
    pub table: &'a Registers,
    pub target: Target,
    /// Whether the hypervisor runs with HCR_EL2.E2H: EL1's names access its own registers, EL12's names its VM's.
    pub vhe: bool,
}

impl Rules<'_> {
    /// Judges one instruction.
    pub fn judge(&self, instruction: Instruction) -> Verdict {
        match instruction {
            Instruction::Other => Verdict::Common,
            Instruction::Eret => Verdict::Changes {
                name: "ERET".into(),
                access: Access::Execute,
                rt: R31,
                to: Becomes::Call(self.table.eret),
            },
            Instruction::EretAuthenticated => Verdict::Refused {
                name: "ERETAA".into(),
                why: "there is no call for an ERET with pointer authentication",
            },
            Instruction::Hvc(immediate) if immediate & self.table.mark != 0 => Verdict::Refused {
                name: format!("HVC #{immediate:#x}"),
                why: "the image makes calls already: was it patched before, or built with PARAVIRT?",
            },
            Instruction::Hvc(_) => Verdict::Common,
            Instruction::SetPan(set) if set == 0 || self.vhe => Verdict::Common,
            Instruction::SetPan(_) => Verdict::Refused {
                name: "PAN".into(),
                why: SETS_PAN,
            },
            Instruction::System { encoding, rt } => self.system(encoding, rt),
            Instruction::Register {
                encoding,
                rt,
                write,
            } => self.register(encoding, rt, write),
        }
    }

    fn system(&self, encoding: Encoding, rt: u8) -> Verdict {
        let Encoding { op1, n, m, op2, .. } = encoding;
        let access = Access::Execute;
        match (op1, n, m) {
            (_, 8 | 9, _) => match self.table.call_tlbi(op1, m, op2, rt) {
                Some(call) if n == 8 => Verdict::Changes {
                    name: format!("TLBI {op1}, C{m}, {op2}"),
                    access,
                    rt,
                    to: Becomes::Call(call),
                },
                _ => Verdict::Refused {
                    name: format!("SYS #{op1}, C{n}, C{m}, #{op2}"),
                    why: "there is no call for this TLBI",
                },
            },
            (4, 7, 8) => Verdict::Stays {
                name: format!("AT {op1}, C{m}, {op2}"),
                access,
                why: UNDEFINED,
            },
            (0, 7, 8 | 9) if !self.vhe => Verdict::Refused {
                name: format!("AT {op1}, C{m}, {op2}"),
                why: "at EL1 it would use the hypervisor's own tables, and there is no call for it",
            },
            _ => Verdict::Common,
        }
    }

    fn register(&self, encoding: Encoding, rt: u8, write: bool) -> Verdict {
        let access = if write { Access::Write } else { Access::Read };
        let changes = |name: &str, to| Verdict::Changes {
            name: name.into(),
            access,
            rt,
            to,
        };
        if encoding == CURRENT_EL && !write {
            return changes("CurrentEL", current_el(rt));
        }
        let refused = |name: String, why| Verdict::Refused { name, why };
        if encoding == PAN && write && !self.vhe {
            return refused("PAN".into(), SETS_PAN);
        }
        let of_hypervisors = matches!(encoding.op1, 4 | 5);
        let Some(row) = self.table.find(encoding) else {
            return match of_hypervisors {
                true => Verdict::Stays {
                    name: encoding.to_string(),
                    access,
                    why: UNDEFINED,
                },
                false => Verdict::Common,
            };
        };
        if encoding.op1 == 5 && !self.vhe {
            return refused(format!("{}, op1 5", row.name), NOT_VHE);
        }
        let call = Becomes::Call(self.table.call(row, write, rt));
        // A veneer loads the page's address into the register first, so the register can't be XZR.
        let page = match (write, rt) {
            (false, R31) => Becomes::Nothing,
            _ => Becomes::Page(row.offset),
        };
        let cached = if write { call } else { page };
        let redirect = Becomes::Redirect(Encoding { op1: 0, ..encoding });
        let neve = self.target == Target::Neve;
        let own = self.vhe && !of_hypervisors;
        let to = match row.nest {
            Nest::Direct => return Verdict::Common,
            // TTBR1_EL1 is an exception: a write would overwrite the page's address.
            Nest::Vm if own && neve && row.name == "TTBR1_EL1" => Becomes::Undefined,
            Nest::Vm if own => return Verdict::Common,
            Nest::Timer if !of_hypervisors => return Verdict::Common,
            Nest::Pmu | Nest::Debug | Nest::Auxiliary if !neve => {
                return Verdict::Stays {
                    name: row.name.into(),
                    access,
                    why: TRAPS,
                };
            }
            Nest::RedirectVhe if neve && row.name == "TTBR1_EL2" => Becomes::Undefined,
            Nest::Vm | Nest::Control | Nest::Pmu | Nest::Auxiliary if neve => page,
            Nest::Redirect | Nest::RedirectVhe if neve => redirect,
            Nest::Translated if neve && self.vhe => redirect,
            Nest::Cached | Nest::Gic | Nest::Translated | Nest::Debug if neve => cached,
            _ => call,
        };
        changes(row.name, to)
    }
}

/// The replacement of a read of CurrentEL.
fn current_el(rt: u8) -> Becomes {
    match rt {
        R31 => Becomes::Nothing,
        _ => Becomes::Constant(AT_EL2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(target: Target, vhe: bool, name: &str, op1: Option<u8>, write: bool) -> Verdict {
        let table = Registers::load().unwrap();
        let encoding = table.named(name).unwrap().encoding;
        let encoding = Encoding {
            op1: op1.unwrap_or(encoding.op1),
            ..encoding
        };
        let instruction = Instruction::Register {
            encoding,
            rt: 3,
            write,
        };
        Rules {
            table: &table,
            target,
            vhe,
        }
        .judge(instruction)
    }

    /// C (call), P (page) or R (redirect), as in accessors.h, for a read and a write; `-`: it stays.
    fn ways(target: Target, vhe: bool, name: &str, op1: Option<u8>) -> String {
        let way = |write| match judge(target, vhe, name, op1, write) {
            Verdict::Common | Verdict::Stays { .. } => '-',
            Verdict::Changes { to, .. } => match to {
                Becomes::Call(_) => 'C',
                Becomes::Page(_) => 'P',
                Becomes::Redirect(_) => 'R',
                other => panic!("{name}: {other:?}"),
            },
            other => panic!("{name}: {other:?}"),
        };
        [false, true].map(way).iter().collect()
    }

    #[test]
    fn each_nest_becomes_what_neves_macros_do() {
        use Target::{Neve, Pv};
        for (name, pv, neve, pv_vhe, neve_vhe) in [
            ("TPIDR_EL1", "--", "--", "--", "--"),
            ("HCR_EL2", "CC", "PP", "CC", "PP"),
            ("SP_EL1", "CC", "PP", "CC", "PP"),
            ("VBAR_EL1", "CC", "PP", "--", "--"),
            ("VBAR_EL2", "CC", "RR", "CC", "RR"),
            ("CPTR_EL2", "CC", "PC", "CC", "PC"),
            ("TCR_EL2", "CC", "PC", "CC", "RR"),
            ("ICH_HCR_EL2", "CC", "PC", "CC", "PC"),
            ("CNTV_CTL_EL0", "--", "--", "--", "--"),
            ("CNTHP_CTL_EL2", "CC", "CC", "CC", "CC"),
            ("PMUSERENR_EL0", "--", "PP", "--", "PP"),
            ("MDSCR_EL1", "--", "PC", "--", "PC"),
            ("ACTLR_EL1", "--", "PP", "--", "PP"),
            ("ICC_SRE_EL2", "CC", "CC", "CC", "CC"),
        ] {
            let got = [(Pv, false), (Neve, false), (Pv, true), (Neve, true)]
                .map(|(target, vhe)| ways(target, vhe, name, None));
            assert_eq!(got, [pv, neve, pv_vhe, neve_vhe], "{name}");
        }
        // The names of EL12 and EL02.
        for (name, pv, neve) in [
            ("VBAR_EL1", "CC", "PP"),
            ("TTBR1_EL1", "CC", "PP"),
            ("CNTV_CTL_EL0", "CC", "CC"),
            ("CNTKCTL_EL1", "CC", "CC"),
        ] {
            assert_eq!(ways(Pv, true, name, Some(5)), pv, "{name}");
            assert_eq!(ways(Neve, true, name, Some(5)), neve, "{name}");
            let refused = judge(Pv, false, name, Some(5), true);
            assert!(matches!(refused, Verdict::Refused { why: NOT_VHE, .. }));
        }
    }

    #[test]
    fn instructions_without_equivalent_are_refused() {
        let table = Registers::load().unwrap();
        let refuses = |target, vhe, word| {
            let rules = Rules {
                table: &table,
                target,
                vhe,
            };
            let verdict = rules.judge(crate::a64::decode(word));
            matches!(verdict, Verdict::Refused { .. })
        };
        let both = |word| refuses(Target::Pv, false, word) && refuses(Target::Neve, false, word);
        assert!(both(0xd69f_0bff), "eretaa");
        assert!(both(0xd410_0462), "hvc #0x8023");
        assert!(both(0xd500_419f), "msr pan, #1");
        assert!(both(0xd508_7802), "at s1e1r, x2");
        assert!(both(0xd50c_911f), "a TLBI with nXS");
    }

    #[test]
    fn accesses_to_the_register_of_the_pages_address_are_undefined() {
        let of = |target, vhe, name, op1| judge(target, vhe, name, op1, true);
        let is_undefined = |verdict| {
            let to = match verdict {
                Verdict::Changes { to, .. } => Some(to),
                _ => None,
            };
            to == Some(Becomes::Undefined)
        };
        assert!(is_undefined(of(Target::Neve, true, "TTBR1_EL1", None)));
        assert!(is_undefined(of(Target::Neve, false, "TTBR1_EL2", None)));
        assert!(
            !is_undefined(of(Target::Neve, false, "TTBR1_EL1", None)),
            "the VM's"
        );
        assert!(
            !is_undefined(of(Target::Neve, true, "TTBR1_EL1", Some(5))),
            "the VM's"
        );
        assert!(!is_undefined(of(Target::Pv, true, "TTBR1_EL1", None)));
    }

    #[test]
    fn reads_into_xzr_load_nothing() {
        let table = Registers::load().unwrap();
        for row in &table.rows {
            for op1 in [0, 4, 5] {
                for vhe in [false, true] {
                    let rules = Rules {
                        table: &table,
                        target: Target::Neve,
                        vhe,
                    };
                    let verdict = rules.judge(Instruction::Register {
                        encoding: Encoding {
                            op1,
                            ..row.encoding
                        },
                        rt: R31,
                        write: false,
                    });
                    let to = match verdict {
                        Verdict::Changes { to, .. } => to,
                        _ => continue,
                    };
                    assert!(!matches!(to, Becomes::Page(_)), "{}", row.name);
                }
            }
        }
    }
}
