use super::*;
use crate::explained::Explained;
use crate::fake;
use crate::render::Shown;
use proptest::prelude::*;

/// Of Bochs 2.7: a window of lab:kvm-intel's, and the beginning of one in which the fetch behind `call` left the guest.
const WINDOW: &str = "\
Tracing enabled for CPU0
(0).[5457379431] [0x0000029b5f93] 0008:000000000010ef93 (unk. ctxt): mfence                    ; 0faef0
(0).[5457379432] [0x0000029b5f96] 0008:000000000010ef96 (unk. ctxt): lfence                    ; 0faee8
(0).[5457379433] [0x0000029b5f99] 0008:000000000010ef99 (unk. ctxt): rdtsc                     ; 0f31
(0).[5457379434] [0x0000029b5f9b] 0008:000000000010ef9b (unk. ctxt): lfence                    ; 0faee8
(0).[5457379435] [0x0000029b5f9e] 0008:000000000010ef9e (unk. ctxt): shl rdx, 0x20             ; 48c1e220
(0).[5457379436] [0x0000029b5fa2] 0008:000000000010efa2 (unk. ctxt): or rax, rdx               ; 4809d0
(0).[5457379437] [0x0000029b5fa5] 0008:000000000010efa5 (unk. ctxt): mov r12, rax              ; 4989c4
(0).[5457379438] [0x0000029b5fa8] 0008:000000000010efa8 (unk. ctxt): call rbx                  ; ffd3
(0).[5457379439] [0x0000029b3700] 0008:0000000000110700 (unk. ctxt): xor eax, eax              ; 31c0
(0).[5457379440] [0x0000029b3702] 0008:0000000000110702 (unk. ctxt): ret                       ; c3
(0).[5457379441] [0x0000029b5faa] 0008:000000000010efaa (unk. ctxt): mov rbx, rax              ; 4889c3
(0).[5457379442] [0x0000029b5fad] 0008:000000000010efad (unk. ctxt): mfence                    ; 0faef0
(0).[5457379443] [0x0000029b5fb0] 0008:000000000010efb0 (unk. ctxt): lfence                    ; 0faee8
(0).[5457379444] [0x0000029b5fb3] 0008:000000000010efb3 (unk. ctxt): rdtsc                     ; 0f31
(0).[5457379445] [0x0000029b5fb5] 0008:000000000010efb5 (unk. ctxt): lfence                    ; 0faee8
(0).[5457379446] [0x0000029b5fb8] 0008:000000000010efb8 (unk. ctxt): xchg bx, bx               ; 6687db
Tracing disabled for CPU0
";
const CALL: &str = "\
Tracing enabled for CPU0
(0).[5457376618] [0x0000029b5f93] 0008:000000000010ef93 (unk. ctxt): mfence                    ; 0faef0
(0).[5457376625] [0x0000029b5fa8] 0008:000000000010efa8 (unk. ctxt): call rbx                  ; ffd3
(0).[5457376627] [0x00000592039e] 0010:ffffffffc039d39e (unk. ctxt): push rax                  ; 50
";
const REGISTERS: &str = "rax: 00000000_00000010\nr12: 00000000_00004402\n";
const VMREAD: &str = "(0).[5457376628] [0x000005923000] 0010:ffffffffc039e000 (unk. ctxt): vmread rax, r12 ; 440f78e0\n";
const MARK: &str = "(0).[5457376629] [0x0000029b5fb8] 0008:000000000010efb8 (unk. ctxt): xchg bx, bx               ; 6687db\n";
const CLOSED: &str = "Tracing disabled for CPU0\n";

fn of(text: &str) -> Result<Trace, TraceError> {
    read(text.as_bytes())
}

#[test]
fn windows_are_read_and_each_path_once() {
    let trace = of(&format!("{WINDOW}{WINDOW}end\n")).unwrap();
    assert_eq!(trace.recorder, Recorder::Debugger);
    assert_eq!((trace.windows, trace.paths.len()), (vec![0, 0], 1));
    let path = &trace.paths[0];
    assert_eq!((path.insns.len(), path.cuts.len()), (16, 0));
    let first = Insn::new(0x10_ef93, 0x29b_5f93, &[0x0f, 0xae, 0xf0]);
    assert_eq!(trace.insns[0], first);
    assert_eq!(trace.insns.len(), 16);
}

#[test]
fn what_the_clock_charged_and_nobody_executed_is_told() {
    let text = format!("{CALL}{REGISTERS}{VMREAD}{MARK}{CLOSED}end\n");
    let trace = of(&text).unwrap();
    let cuts = [Cut { at: 0, rest: 6 }, Cut { at: 1, rest: 1 }];
    assert_eq!(trace.paths[0].cuts, cuts);
}

#[test]
fn numbers_of_registers_come_from_registers() {
    let text = |registers: &str| format!("{CALL}{registers}{VMREAD}{MARK}{CLOSED}end\n");
    let trace = of(&text(REGISTERS)).unwrap();
    let what = What::Number(0x4402);
    assert_eq!(trace.paths[0].accesses, [Accessed { at: 3, what }]);
    assert!(trace.has_accesses && trace.has_fields());
    let trace = of(&text("")).unwrap();
    assert!(!trace.has_accesses, "they were not said");
    let svm = text(REGISTERS).replace("; 50\n", "; 0f01d8\n");
    let trace = of(&svm).unwrap();
    assert!(trace.has_accesses && !trace.has_fields(), "memory is not");
}

#[test]
fn a_window_that_an_exception_ended_is_none() {
    let opener = WINDOW.replace(
        "0x0000029b5fb8] 0008:000000000010efb8",
        "0x29b5f90] 0008:000000000010ef90",
    );
    assert_eq!(of(&format!("{opener}end\n")), Err(TraceError::Dropped(1)));
}

#[test]
fn bad_text_is_refused_with_the_reason() {
    let cut = |what| Err(TraceError::Cut(what));
    assert_eq!(of(""), cut("the debugger's words"));
    assert_eq!(of(WINDOW), cut("the debugger's words"));
    assert_eq!(of(&format!("{CALL}end\n")), cut("a window"));
    assert!(matches!(of("too long\n"), Err(TraceError::NotWhole(_))));
    let other = WINDOW.replace("10ef93", "20ef93");
    let backwards = WINDOW.replace("5457379432", "5457379431");
    let bad = [
        (format!("{CALL}{WINDOW}"), "a window begins in another one"),
        (CLOSED.into(), "none began"),
        (format!("{CALL}{CLOSED}"), "does not end at a mark"),
        (
            format!("Tracing enabled for CPU0\n{CLOSED}"),
            "no instruction",
        ),
        (format!("{WINDOW}{other}"), "between different marks"),
        (backwards, "the clock goes from 5457379431 to 5457379431"),
        (
            WINDOW.replace("0008:000000000010ef93", "f000:ef93"),
            "can't parse an instruction",
        ),
        (
            WINDOW.replace("; ffd3", "; ffd"),
            "can't parse an instruction",
        ),
        (
            WINDOW.replace("[5457379440]", "[x]"),
            "can't parse an instruction",
        ),
        (
            format!("{CALL}(0).[5] ??? (physical address not available)\n"),
            "can't parse an instruction",
        ),
    ];
    for (text, reason) in bad {
        let error = of(&format!("{text}end\n")).unwrap_err().to_string();
        assert!(error.contains(reason), "{reason}: {error}");
    }
}

/// Says a trace as the debugger does; behind each VMMCALL the clock is charged for so many ticks more.
fn said(trace: &Trace, more: u64) -> String {
    let mut text = String::new();
    let mut time = 1;
    for window in &trace.windows {
        text += "Tracing enabled for CPU0\n";
        for insn in trace.path(*window).skip(1) {
            let (location, address) = (insn.location, insn.address);
            text +=
                &format!("(0).[{time}] [0x{location:012x}] 0008:{address:016x} (unk. ctxt): ; ");
            for byte in insn.bytes() {
                text += &format!("{byte:02x}");
            }
            text += "\n";
            let is_call = insn.bytes() == [0x0f, 0x01, 0xd9];
            time += 1 + more * u64::from(is_call);
        }
        text += CLOSED;
    }
    text + "end\n"
}

#[test]
fn each_instruction_that_begins_is_charged() {
    let (trace, mut measured) = fake::trace(&[fake::Hypercall::default(); 2]);
    let explain = |more, measured: &_| {
        let trace = of(&said(&trace, more)).unwrap();
        Explained::of(&trace, &fake::machine(), "test", measured)
    };
    assert!(explain(0, &measured).is_err(), "QEMU's clock");
    measured.run.iter_mut().for_each(|ticks| *ticks += 1);
    let explained = explain(0, &measured).unwrap();
    assert_eq!(explained.sum.intercepted, 0);
    assert!(explain(3, &measured).is_err());
    measured.run.iter_mut().for_each(|ticks| *ticks += 3);
    let explained = explain(3, &measured).unwrap();
    assert_eq!(explained.sum.intercepted, -3);
    let text = explained.to_text(Shown::default());
    assert!(
        text.contains("- 3 charged by the clock and not executed"),
        "{text}"
    );
    assert!(
        text.contains("Fields of the VMCB are not counted: Bochs"),
        "{text}"
    );
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(0|\\(0\\)|\\.|\\[|\\]|x|:| |;|\n|Tracing enabled for |Tracing disabled for |rcx: |_|6687db|end){0,60}") {
        let _ = of(&text);
    }

    #[test]
    fn a_damaged_trace_does_no_harm(at in 0usize..WINDOW.len(), byte in any::<u8>()) {
        let mut text = format!("{WINDOW}{CALL}{REGISTERS}{VMREAD}{MARK}{CLOSED}end\n").into_bytes();
        text[at] = byte;
        let _ = read(&*text);
    }
}
