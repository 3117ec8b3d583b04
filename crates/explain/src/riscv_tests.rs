//! A made-up machine of RISC-V: the exits of its guest, from recording to sum.

use crate::explained::Explained;
use crate::phases::Phase;
use crate::place::{Image, Kind, Machine, Role};
use crate::registers::Class;
use crate::sum::Measured;
use crate::symbols::Symbols;
use crate::trace::{Architecture, Cut, Insn, Path, Recorder, Trace};

const FUNCTION_BYTES: u64 = 0x100;
const GUEST: [&str; 3] = ["timed_call", "test_run", "test_control"];
const KERNEL: [&str; 5] = [
    "handle_exception",
    "ret_from_exception",
    "do_irq",
    "do_trap_ecall_u",
    "sbi_ecall",
];
const MODULE: [&str; 7] = [
    "__kvm_riscv_switch_to",
    "kvm_arch_vcpu_ioctl_run",
    "kvm_riscv_vcpu_exit",
    "kvm_riscv_vcpu_mmio_store",
    "kvm_vcpu_ioctl",
    "kvm_riscv_vcpu_sbi_ecall",
    "kvm_riscv_vcpu_virtual_insn",
];
const PROGRAM: [&str; 2] = ["main", "ioctl"];
/// Modules are below the kernel.
const IMAGES: [(u64, &[&str], &str); 4] = [
    (0x8020_0000, &GUEST, ""),
    (0xffff_ffff_0200_0000, &MODULE, " [kvm]"),
    (0xffff_ffff_8000_0000, &KERNEL, ""),
    (0x1_0000, &PROGRAM, ""),
];
/// In OpenSBI.
const FIRMWARE: u64 = 0x8000_0490;

fn address(name: &str) -> u64 {
    let own = |(base, names, _): &(u64, &[&str], &str)| {
        let index = names.iter().position(|of| *of == name)?;
        Some(base + index as u64 * FUNCTION_BYTES)
    };
    IMAGES.iter().find_map(own).unwrap()
}

fn machine() -> Machine {
    let symbols = |images: &[usize]| {
        let (mut list, mut before) = (String::new(), 0);
        for (base, names, module) in images.iter().map(|index| IMAGES[*index]) {
            for (index, name) in names.iter().enumerate() {
                let address = base + index as u64 * FUNCTION_BYTES;
                list += &format!("{:x} T {name}{module}\n", address - before);
                before = address;
            }
        }
        Symbols::of_kernel(&list).unwrap()
    };
    let image = |name: &str, role, images: &[usize]| Image {
        name: name.to_owned(),
        role,
        symbols: symbols(images),
        bias: 0,
        code: None,
    };
    Machine {
        name: "lab:fake".to_owned(),
        hypervisors: 1,
        images: vec![
            image("guest", Role::Guest, &[0]),
            image("Linux", Role::Linux, &[1, 2]),
            image("vmm", Role::Program, &[3]),
        ],
    }
}

const ECALL: u32 = 0x0000_0073;
const SRET: u32 = 0x1020_0073;
const MRET: u32 = 0x3020_0073;
const MARK: u32 = 0x000f_8f93;
const RET: u32 = 0x8082;
const NOP: u32 = 0x0001;
/// sb a3, 0(a2).
const STORE: u32 = 0x00d6_0023;

/// Writes a path, instruction by instruction.
#[derive(Default)]
struct Script {
    insns: Vec<Insn>,
    path: Path,
    at: u64,
    returns: Vec<u64>,
}

impl Script {
    /// An instruction of four bytes, or two if it is compressed.
    fn insn(&mut self, word: u32) -> &mut Self {
        let bytes = word.to_le_bytes();
        let size = if word & 3 == 3 { 4 } else { 2 };
        let insn = Insn::new(self.at, self.at, &bytes[..size]);
        let known = self.insns.iter().position(|known| *known == insn);
        let index = known.unwrap_or_else(|| {
            self.insns.push(insn);
            self.insns.len() - 1
        });
        self.path.insns.push(index as u32);
        self.at = insn.next();
        self
    }

    fn goes_to(&mut self, address: u64) -> &mut Self {
        self.at = address;
        self
    }

    fn at(&mut self, name: &str, offset: u64) -> &mut Self {
        self.goes_to(address(name) + offset)
    }

    fn plain(&mut self, count: usize) -> &mut Self {
        for _ in 0..count {
            self.insn(NOP);
        }
        self
    }

    /// A far call: AUIPC and JALR.
    fn call(&mut self, name: &str) -> &mut Self {
        let offset = address(name).wrapping_sub(self.at) as u32;
        let high = offset.wrapping_add(0x800) & 0xffff_f000;
        self.insn(0x17 | 1 << 7 | high);
        self.insn(0x67 | 1 << 7 | 1 << 15 | (offset.wrapping_sub(high) & 0xfff) << 20);
        self.returns.push(self.at);
        self.at(name, 0)
    }

    fn ret(&mut self) -> &mut Self {
        self.insn(RET);
        self.at = self.returns.pop().unwrap_or(self.at);
        self
    }

    fn jump(&mut self, name: &str) -> &mut Self {
        let offset = address(name).wrapping_sub(self.at) as u32;
        assert!(offset < 0x800, "only the simplest encoding");
        self.insn(0x6f | offset << 20).at(name, 0)
    }

    /// An interrupt of the host, after which an instruction at `back` is executed.
    fn interrupt(&mut self, back: u64) -> &mut Self {
        let returns = std::mem::take(&mut self.returns);
        self.at("handle_exception", 0)
            .plain(4)
            .call("do_irq")
            .plain(6)
            .ret();
        self.jump("ret_from_exception").plain(3).insn(SRET);
        self.returns = returns;
        self.goes_to(back)
    }

    /// KVM after an exit; `body` is its handler.
    fn exit(&mut self, body: impl FnOnce(&mut Self)) -> &mut Self {
        self.at("__kvm_riscv_switch_to", 0x42)
            .insn(0x1400_1073) // csrw sscratch, zero
            .insn(0x00a5_3023) // sd a0, 0(a0)
            .insn(RET);
        self.at("kvm_arch_vcpu_ioctl_run", 0x20)
            .call("kvm_riscv_vcpu_exit")
            .plain(5);
        body(self);
        self.ret()
    }

    /// KVM from there to the guest.
    fn enter(&mut self, back: u64) -> &mut Self {
        self.plain(7).call("__kvm_riscv_switch_to");
        self.returns.clear();
        self.insn(0x0005_3503) // ld a0, 0(a0)
            .insn(0x6005_1073) // csrw hstatus, a0
            .insn(SRET)
            .goes_to(back)
    }

    /// A hypercall.
    fn hypercall(&mut self, body: impl FnOnce(&mut Self)) -> &mut Self {
        let back = self.insn(ECALL).at;
        self.exit(body).enter(back)
    }

    fn window(&mut self, name: &str, body: impl FnOnce(&mut Self)) -> (Path, u64) {
        self.path = Path::default();
        self.at("timed_call", 0).insn(MARK).call(name);
        body(self);
        self.ret().insn(MARK);
        let path = std::mem::take(&mut self.path);
        // The marks, the call and the return are in both loops, and not in the measure.
        let measured = path.insns.len() as u64 - 5;
        (path, measured)
    }
}

/// A trace of two windows, control and run.
fn trace(script: Script, paths: Vec<Path>) -> Trace {
    Trace {
        architecture: Architecture::Riscv64,
        recorder: Recorder::Plugin,
        has_accesses: false,
        insns: script.insns,
        paths,
        windows: vec![0, 1],
    }
}

/// Explains a loop of this body, of whose instructions the clock does not charge some.
fn explained(uncharged: u64, body: impl Fn(&mut Script)) -> Explained {
    explained_on(&machine(), uncharged, body)
}

fn explained_on(machine: &Machine, uncharged: u64, body: impl Fn(&mut Script)) -> Explained {
    let mut script = Script::default();
    let (control, control_ticks) = script.window("test_control", |script| _ = script.plain(3));
    let (run, run_ticks) = script.window("test_run", |script| {
        script.plain(2);
        body(script);
        script.returns = vec![address("timed_call") + 12];
        script.plain(1);
    });
    let trace = trace(script, vec![control, run]);
    let measured = Measured {
        run: vec![run_ticks - uncharged],
        control: vec![control_ticks],
    };
    Explained::of(&trace, machine, "test", &measured).unwrap()
}

/// Each node outside of the guest as `DEPTH NAME calls/own/total`.
fn tree(explained: &Explained) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open: Vec<(u32, usize)> = explained
        .tree
        .roots
        .iter()
        .rev()
        .map(|root| (*root, 0))
        .collect();
    while let Some((index, depth)) = open.pop() {
        let node = &explained.tree.nodes[index as usize];
        let function = &explained.functions[node.function as usize];
        if function.kind != Kind::Guest {
            lines.push(format!(
                "{depth} {} {}/{}/{}",
                function.name, node.calls, node.own, node.total
            ));
        }
        open.extend(node.children.iter().rev().map(|child| (*child, depth + 1)));
    }
    lines
}

fn phase(explained: &Explained, phase: Phase) -> u64 {
    let mut phases = explained.phases.iter();
    phases
        .find(|count| count.phase == phase)
        .map_or(0, |count| count.instructions)
}

#[test]
fn a_hypercall_is_charged_in_full() {
    let one = explained(0, |script| {
        script.hypercall(|script| _ = script.call("kvm_riscv_vcpu_sbi_ecall").plain(4).ret());
    });
    let wanted = [
        "0 __kvm_riscv_switch_to 1/3/3",
        "0 kvm_arch_vcpu_ioctl_run 1/11/27",
        "1 kvm_riscv_vcpu_exit 1/8/13",
        "2 kvm_riscv_vcpu_sbi_ecall 1/5/5",
        "1 __kvm_riscv_switch_to 1/3/3",
    ];
    assert_eq!(tree(&one), wanted);
    let sum = one.sum;
    assert_eq!((sum.attributed, sum.guest, sum.intercepted), (30, 1, 0));
    let trap = &one.traps[0];
    assert_eq!((&*trap.cause, trap.instructions), ("ECALL", 30));
    let wanted = [(Phase::Exit, 5), (Phase::Handling, 13), (Phase::Entry, 12)];
    assert_eq!(wanted.map(|(of, _)| (of, phase(&one, of))), wanted);
    let registers = one.registers.iter().map(|count| {
        let accesses = count.accesses;
        (
            count.class,
            &*count.register,
            accesses.reads,
            accesses.writes,
        )
    });
    let wanted = [
        (Class::General, "x1-x31", 1, 0),
        (Class::General, "x1-x31", 0, 1),
        (Class::Supervisor, "sscratch", 0, 1),
        (Class::HypervisorExtension, "hstatus", 0, 1),
    ];
    assert_eq!(registers.collect::<Vec<_>>(), wanted);
    let mut functions = one.functions.iter();
    let exit = functions.find(|function| function.name == "kvm_riscv_vcpu_exit");
    assert_eq!(exit.unwrap().kind, Kind::Hypervisor);
}

#[test]
fn a_store_to_a_device_goes_to_user_space_and_is_not_charged() {
    let one = explained(1, |script| {
        let back = script.insn(STORE).at;
        script.exit(|script| _ = script.call("kvm_riscv_vcpu_mmio_store").plain(4).ret());
        script.plain(2).insn(RET).at("kvm_vcpu_ioctl", 8).insn(RET);
        script.at("do_trap_ecall_u", 0x10).insn(RET);
        script.at("ret_from_exception", 8).plain(2).insn(SRET);
        script
            .at("ioctl", 6)
            .insn(RET)
            .at("main", 0x20)
            .call("ioctl")
            .plain(1)
            .insn(ECALL);
        script
            .at("handle_exception", 0)
            .plain(3)
            .call("do_trap_ecall_u");
        script
            .call("kvm_vcpu_ioctl")
            .call("kvm_arch_vcpu_ioctl_run")
            .enter(back);
    });
    assert_eq!(one.sum.intercepted, 1);
    assert_eq!(one.traps[0].cause, "memory access, interrupt");
    let tree = tree(&one);
    let wanted = [
        "0 main 1/2/25",
        "1 ioctl 1/2/23",
        "2 handle_exception 1/5/21",
        "3 do_trap_ecall_u 1/2/16",
        "4 kvm_vcpu_ioctl 1/2/14",
        "5 kvm_arch_vcpu_ioctl_run 1/9/12",
        "6 __kvm_riscv_switch_to 1/3/3",
    ];
    assert_eq!(tree[tree.len() - wanted.len()..], wanted);
    assert_eq!(phase(&one, Phase::UserSpace), 22);
}

#[test]
fn an_interrupt_is_below_what_it_interrupts_and_is_charged() {
    let one = explained(0, |script| {
        script.hypercall(|script| {
            // Before the interrupts a load, a write of a CSR and a return were executed.
            let back = script.insn(0x6588).at;
            script.interrupt(back).insn(0x1001_7073);
            let back = script.at;
            script.interrupt(back);
            script.call("kvm_riscv_vcpu_sbi_ecall").plain(2).insn(RET);
            let back = script.returns.pop().unwrap();
            script.interrupt(back);
        });
    });
    assert_eq!(one.sum.intercepted, 0);
    let wanted = [
        "0 __kvm_riscv_switch_to 1/3/3",
        "0 kvm_arch_vcpu_ioctl_run 1/11/81",
        "1 kvm_riscv_vcpu_exit 1/10/67",
        "2 handle_exception 2/14/36",
        "3 do_irq 2/14/14",
        "3 ret_from_exception 2/8/8",
        "2 kvm_riscv_vcpu_sbi_ecall 1/3/21",
        "3 handle_exception 1/7/18",
        "4 do_irq 1/7/7",
        "4 ret_from_exception 1/4/4",
        "1 __kvm_riscv_switch_to 1/3/3",
    ];
    assert_eq!(tree(&one), wanted);
}

#[test]
fn the_firmware_is_below_the_kernel_that_calls_it() {
    let one = explained(0, |script| {
        script.hypercall(|script| {
            let back = script.call("sbi_ecall").plain(1).insn(ECALL).at;
            // A call and a return inside.
            script.goes_to(FIRMWARE).plain(9).insn(0x9782);
            script.goes_to(FIRMWARE + 0x100).plain(2).insn(RET);
            script.goes_to(FIRMWARE + 20).plain(1).insn(MRET);
            script.goes_to(back).plain(1).ret();
        });
    });
    let tree = tree(&one);
    assert_eq!(tree[3..5], ["2 sbi_ecall 1/4/19", "3 OpenSBI 1/15/15"]);
    let sentence = one.sentence();
    assert!(sentence.contains("15 in the firmware"), "{sentence}");
    assert_eq!(one.sum.intercepted, 0);
}

#[test]
fn the_firmware_takes_an_interrupt_of_the_guest_unseen() {
    fn firmware(script: &mut Script) {
        let back = script.at;
        script.goes_to(FIRMWARE).plain(5).insn(MRET).goes_to(back);
    }
    let one = explained(0, |script| {
        firmware(script);
        firmware(script.hypercall(|_| ()));
        firmware(script.plain(1));
        firmware(script.plain(1));
        script.hypercall(|_| ());
    });
    let wanted = [
        "0 OpenSBI 1/6/6",
        "0 __kvm_riscv_switch_to 1/3/3",
        "0 kvm_arch_vcpu_ioctl_run 2/22/61",
        "1 kvm_riscv_vcpu_exit 2/12/12",
        "1 __kvm_riscv_switch_to 2/9/27",
        "2 OpenSBI 3/18/18",
    ];
    assert_eq!(tree(&one), wanted);
    assert_eq!(one.sum.intercepted, 0);
}

#[test]
fn the_firmware_serves_a_guest_without_a_hypervisor() {
    let mut machine = machine();
    machine.hypervisors = 0;
    machine.images.truncate(1);
    let one = explained_on(&machine, 0, |script| {
        for _ in 0..2 {
            // A call, and an interrupt just after an instruction.
            let back = script.insn(ECALL).at;
            script.goes_to(FIRMWARE).plain(5).insn(MRET).goes_to(back);
            let back = script.plain(1).at;
            script.goes_to(FIRMWARE).plain(3).insn(MRET).goes_to(back);
        }
    });
    assert_eq!(tree(&one), ["0 OpenSBI 4/20/20"]);
    assert_eq!(one.sum.intercepted, 0);
}

#[test]
fn a_block_that_a_fault_left_is_charged_until_there() {
    let mut script = Script::default();
    let (control, control_ticks) = script.window("test_control", |script| _ = script.plain(3));
    let (mut run, run_ticks) = script.window("test_run", |script| {
        let back = script.plain(2).at;
        script.insn(STORE).exit(|_| ()).enter(back);
        script.insn(STORE).plain(1);
        script.returns = vec![address("timed_call") + 12];
    });
    // Mark, call, two instructions, the store.
    run.cuts.push(Cut { at: 5, rest: 2 });
    let trace = trace(script, vec![control, run]);
    let explain = |run: u64| {
        let measured = Measured {
            run: vec![run],
            control: vec![control_ticks],
        };
        Explained::of(&trace, &machine(), "test", &measured)
    };
    assert_eq!(explain(run_ticks - 1).unwrap().sum.intercepted, 1);
    assert!(explain(run_ticks).is_err() && explain(run_ticks - 2).is_err());
}

#[test]
fn a_halt_is_charged_with_the_rest_of_its_block() {
    const WFI: u32 = 0x1050_0073;
    let mut script = Script::default();
    let (control, control_ticks) = script.window("test_control", |script| _ = script.plain(3));
    let mut halts = Vec::new();
    let (mut run, run_ticks) = script.window("test_run", |script| {
        // The guest's is trapped, and the host halts.
        let back = script.plain(2).insn(WFI).at;
        halts.push(script.path.insns.len() - 1);
        script.exit(|script| {
            script
                .call("kvm_riscv_vcpu_virtual_insn")
                .plain(1)
                .insn(WFI);
            halts.push(script.path.insns.len() - 1);
            script.plain(2).ret();
        });
        script.enter(back).plain(1);
        script.returns = vec![address("timed_call") + 12];
    });
    let rests = halts.into_iter().zip([3, 5]);
    run.cuts = rests.map(|(at, rest)| Cut { at, rest }).collect();
    let trace = trace(script, vec![control, run]);
    // One is not charged, and five are that nobody executed.
    let measured = Measured {
        run: vec![run_ticks - 1 + 5],
        control: vec![control_ticks],
    };
    let one = Explained::of(&trace, &machine(), "test", &measured).unwrap();
    assert_eq!(one.sum.intercepted, -4);
}
