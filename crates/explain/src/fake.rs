//! Traces for tests: files as the plugin writes them, and made-up paths.

use crate::debug::Sites;
use crate::explained::Explained;
use crate::place::{Image, Kind, Machine, Role};
use crate::spread::Part;
use crate::sum::Measured;
use crate::symbols::Symbols;
use crate::trace::{Architecture, Insn, Path, Trace, What};

pub(crate) use ws_results::schema_check::valid;

/// Makes a function.
pub(crate) fn part(name: &str, module: Option<&str>, kind: Kind) -> Part {
    Part {
        name: name.to_owned(),
        module: module.map(str::to_owned),
        kind,
    }
}

/// Writes the file of a whole trace.
pub(crate) fn encode(trace: &Trace) -> Vec<u8> {
    write(trace, "3", trace.architecture.name(), "", 0)
}

/// Writes the file of a trace with this head.
pub(crate) fn write(
    trace: &Trace,
    version: &str,
    target: &str,
    failed: &str,
    dropped: u64,
) -> Vec<u8> {
    let mut file = format!("worldswitch-trace {version}\n{target}\n{failed}\n").into_bytes();
    number(&mut file, dropped);
    number(&mut file, u64::from(trace.has_accesses));
    number(&mut file, trace.insns.len() as u64);
    for insn in &trace.insns {
        file.extend(insn.address.to_le_bytes());
        file.extend(insn.location.to_le_bytes());
        file.push(insn.bytes().len() as u8);
        file.extend(insn.bytes());
    }
    number(&mut file, trace.paths.len() as u64);
    for path in &trace.paths {
        number(&mut file, path.insns.len() as u64);
        let mut before = 0;
        for insn in &path.insns {
            let now = i64::from(*insn) + 1;
            let difference = now - before;
            number(&mut file, (difference << 1 ^ difference >> 63) as u64);
            before = now;
        }
        number(&mut file, path.cuts.len() as u64);
        for cut in &path.cuts {
            number(&mut file, cut.at as u64);
            number(&mut file, cut.rest);
        }
        number(&mut file, path.accesses.len() as u64);
        let mut before = 0;
        for access in &path.accesses {
            let (kind, which) = match access.what {
                What::Number(number) => (0, number),
                What::Vmcb { offset, is_write } => (1 + u64::from(is_write), offset),
            };
            number(&mut file, (access.at - before) as u64);
            number(&mut file, kind);
            number(&mut file, u64::from(which));
            before = access.at;
        }
    }
    number(&mut file, trace.windows.len() as u64);
    for window in &trace.windows {
        number(&mut file, u64::from(*window));
    }
    file.extend(b"end\n");
    file
}

fn number(to: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// Functions of a made-up machine, 0x100 bytes apart.
const GUEST: [&str; 4] = ["timed_call", "idle_run", "test_run", "test_control"];
const KERNEL: [&str; 12] = [
    "svm_vcpu_run",
    "kvm_arch_vcpu_ioctl_run",
    "svm_handle_exit",
    "svm_skip_emulated_instruction",
    "kvm_emulate_instruction",
    "kvm_vcpu_ioctl",
    "entry_SYSCALL_64",
    "asm_exc_page_fault",
    "asm_sysvec_apic_timer_interrupt",
    "__x86_indirect_thunk_rax",
    "helper",
    "other",
];
const PROGRAM: [&str; 2] = ["main", "ioctl"];

const FUNCTION_BYTES: u64 = 0x100;
const IMAGES: [(u64, &[&str]); 3] = [
    (0x10_0000, &GUEST),
    (0xffff_ffff_8100_0000, &KERNEL),
    (0x20_0000, &PROGRAM),
];

/// Returns the address of a function of the made-up machine.
pub(crate) fn address(name: &str) -> u64 {
    let own = |(base, names): &(u64, &[&str])| {
        let index = names.iter().position(|of| *of == name)?;
        Some(base + index as u64 * FUNCTION_BYTES)
    };
    IMAGES.iter().find_map(own).unwrap()
}

/// A made-up x86 machine with these functions, and `test_control`, in one level.
pub(crate) fn machine() -> Machine {
    let symbols = |(base, names): &(u64, &[&str])| {
        let mut list = String::new();
        for (index, name) in names.iter().enumerate() {
            let delta = if index == 0 { *base } else { FUNCTION_BYTES };
            list += &format!("{delta:x} T {name}\n");
        }
        Symbols::of_kernel(&list).unwrap()
    };
    let image = |name: &str, role, index: usize| Image {
        name: name.to_owned(),
        role,
        symbols: symbols(&IMAGES[index]),
        bias: 0,
        code: None,
    };
    Machine {
        name: "lab:fake".to_owned(),
        hypervisors: 1,
        images: vec![
            image("guest", Role::Guest, 0),
            image("Linux", Role::Linux, 1),
            image("vmm", Role::Program, 2),
        ],
    }
}

/// Writes a path, instruction by instruction.
#[derive(Default)]
pub(crate) struct Script {
    pub insns: Vec<Insn>,
    pub path: Vec<u32>,
    at: u64,
    returns: Vec<u64>,
}

impl Script {
    /// An instruction of these bytes at the current address.
    pub fn insn(&mut self, bytes: &[u8]) -> &mut Self {
        let insn = Insn::new(self.at, self.at, bytes);
        let known = self.insns.iter().position(|known| *known == insn);
        let index = known.unwrap_or_else(|| {
            self.insns.push(insn);
            self.insns.len() - 1
        });
        self.path.push(index as u32);
        self.at = insn.next();
        self
    }

    /// Goes on elsewhere, as an exception makes it.
    pub fn at(&mut self, name: &str, offset: u64) -> &mut Self {
        self.at = address(name) + offset;
        self
    }

    /// NOPs.
    pub fn plain(&mut self, count: usize) -> &mut Self {
        for _ in 0..count {
            self.insn(&[0x90]);
        }
        self
    }

    pub fn call(&mut self, name: &str) -> &mut Self {
        let offset = address(name).wrapping_sub(self.at + 5) as u32;
        let [a, b, c, d] = offset.to_le_bytes();
        self.insn(&[0xe8, a, b, c, d]);
        self.returns.push(self.at);
        self.at(name, 0)
    }

    /// An indirect call, over a thunk: two instructions more.
    pub fn call_thunk(&mut self, name: &str) -> &mut Self {
        self.call("__x86_indirect_thunk_rax")
            .plain(1)
            .insn(&[0xc3])
            .at(name, 0)
    }

    pub fn jump(&mut self, name: &str, offset: u64) -> &mut Self {
        let distance = (address(name) + offset).wrapping_sub(self.at + 5) as u32;
        let [a, b, c, d] = distance.to_le_bytes();
        self.insn(&[0xe9, a, b, c, d]).at(name, offset)
    }

    pub fn ret(&mut self) -> &mut Self {
        self.insn(&[0xc3]);
        self.at = self.returns.pop().unwrap_or(self.at);
        self
    }

    /// IRET or SYSRET to an address.
    pub fn back(&mut self, name: &str, offset: u64) -> &mut Self {
        self.insn(&[0x48, 0xcf]).at(name, offset)
    }
}

/// Options of a hypercall of the made-up machine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hypercall {
    /// Instructions of the emulation that steps over the guest's.
    pub emulated: usize,
    /// Whether it goes to the monitor's process and back.
    pub user_space: bool,
    /// Ticks of the timer while it is handled.
    pub interrupts: usize,
}

/// Instructions of the harness that are in a window and not in the guest's measure.
const HARNESS: u64 = 4;

fn window(script: &mut Script, name: &str, body: impl FnOnce(&mut Script)) {
    script.path.clear();
    script
        .at("timed_call", 0)
        .insn(&[0x66, 0x87, 0xdb])
        .call(name);
    body(script);
    script.ret().insn(&[0x66, 0x87, 0xdb]);
}

fn hypercall(script: &mut Script, what: Hypercall) {
    let guest = std::mem::take(&mut script.returns);
    script
        .insn(&[0x0f, 0x01, 0xd9])
        .at("svm_vcpu_run", 3)
        .plain(20)
        .insn(&[0xc3]);
    script
        .at("kvm_arch_vcpu_ioctl_run", 0x20)
        .call("svm_handle_exit")
        .plain(3);
    for _ in 0..what.interrupts {
        script
            .at("asm_sysvec_apic_timer_interrupt", 0)
            .call("helper")
            .plain(9)
            .ret();
        script.back("svm_handle_exit", 3);
    }
    script.call("svm_skip_emulated_instruction");
    if what.emulated > 0 {
        script
            .call("kvm_emulate_instruction")
            .plain(what.emulated)
            .ret();
    }
    script.ret().ret().plain(2);
    if what.user_space {
        script
            .insn(&[0xc3])
            .at("kvm_vcpu_ioctl", 8)
            .insn(&[0xc3])
            .at("entry_SYSCALL_64", 8)
            .back("ioctl", 2);
        script
            .insn(&[0xc3])
            .at("main", 5)
            .call("ioctl")
            .insn(&[0x0f, 0x05])
            .at("entry_SYSCALL_64", 0);
        script
            .call("kvm_vcpu_ioctl")
            .call("kvm_arch_vcpu_ioctl_run")
            .plain(2);
    }
    script
        .call("svm_vcpu_run")
        .insn(&[0x0f, 0x01, 0xd8])
        .at("test_run", 4);
    script.returns = guest;
    script.plain(1);
}

/// A trace of a benchmark with these samples, and the guest's measurement.
pub(crate) fn trace(samples: &[Hypercall]) -> (Trace, Measured) {
    let mut script = Script::default();
    let mut trace = Trace {
        architecture: Architecture::X86_64,
        recorder: crate::trace::Recorder::Plugin,
        has_accesses: true,
        insns: Vec::new(),
        paths: Vec::new(),
        windows: Vec::new(),
    };
    let mut measured = Measured::default();
    let mut keep = |script: &Script| {
        let path = Path {
            insns: script.path.clone(),
            ..Path::default()
        };
        let known = trace.paths.iter().position(|known| *known == path);
        trace
            .windows
            .push(known.unwrap_or(trace.paths.len()) as u32);
        if known.is_none() {
            trace.paths.push(path);
        }
        script.path.len() as u64 - HARNESS
    };
    window(&mut script, "idle_run", |script| _ = script.plain(1));
    keep(&script);
    for sample in samples {
        window(&mut script, "test_control", |script| _ = script.plain(3));
        measured.control.push(keep(&script));
        window(&mut script, "test_run", |script| {
            hypercall(script.plain(1), *sample)
        });
        // The hypercall itself is recorded and not charged.
        measured.run.push(keep(&script) - 1);
        script.returns.clear();
    }
    trace.insns = script.insns;
    (trace, measured)
}

/// The explanation of hypercalls on [`machine`].
pub(crate) fn explained(samples: &[Hypercall]) -> Explained {
    let (trace, measured) = trace(samples);
    Explained::of(&trace, &machine(), "test", &measured).unwrap()
}

/// The explanation of hypercalls on [`machine`], without the additions due to the lack of NRIPS.
pub(crate) fn explained_without_nrips(samples: &[Hypercall]) -> Explained {
    let (trace, measured) = trace(samples);
    let names = ["nrips".to_owned()];
    Explained::of_without(
        &trace,
        &machine(),
        "test",
        &measured,
        &names,
        &Sites::default(),
    )
    .unwrap()
}
