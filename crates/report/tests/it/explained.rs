//! Tests of the view of explained operations.

use crate::page::section;
use crate::support::render;
use serde_json::{Value, json};
use ws_explain::explained::Explained;
use ws_explain::render::Shown;
use ws_report::page::Report;

/// An operation of two hypervisors, whose callee has `name`.
fn explained(name: &str) -> Explained {
    let function = |name: &str, level: u8, kind: &str| json!({"name": name, "image": "", "level": level, "kind": kind});
    let node = |function: u32, parent: Option<u32>, own: u64, total: u64| json!({"function": function, "parent": parent, "calls": 1, "own": own, "total": total});
    let sum = json!({"attributed": 1040, "guest": 1, "measured": 1040, "intercepted": 1});
    let value: Value = json!({
        "schema": "worldswitch-explain/1", "platform": "lab:kvm", "benchmark": "hypercall", "architecture": "x86_64",
        "hypervisors": 2, "samples": 3, "windows": 2, "sum": sum, "control": 0, "accessing": {}, "returns": 0,
        "functions": [function("outer", 0, "hypervisor"), function(name, 1, "kernel"), function("few", 1, "user"),
            function("loop", 2, "guest")],
        "tree": {"nodes": [node(3, None, 1, 1), node(0, None, 40, 1040), node(1, Some(1), 995, 1000), node(2, Some(2), 5, 5)]},
        "phases": [{"phase": "exit", "instructions": 40}, {"phase": "handling", "instructions": 1000}],
        "registers": [{"class": "el1", "register": "SCTLR_EL1", "phase": "exit", "reads": 2, "writes": 0},
            {"class": "el1", "register": "TCR_EL1", "phase": "exit", "reads": 1, "writes": 0}],
        "traps": [{"from": 2, "to": 0, "cause": "hvc", "count": 1, "instructions": 1040}],
        "added": [{"name": "nrips", "why": "it lacks it", "instructions": 40}],
        "others": [{"windows": 1, "sum": sum, "because": {"function": "tick", "is_new": true, "instructions": 7}}],
    });
    Explained::from_json(&value.to_string()).unwrap()
}

fn page(explained: Vec<Explained>) -> String {
    let report = Report {
        explained,
        ..Report::default()
    };
    render(&report).unwrap()
}

#[test]
fn all_parts_are_shown() {
    let page = page(vec![explained("inner")]);
    assert!(page.contains("<h1>hypercall on lab:kvm: 1,040 instructions"));
    let section = section(&page, "explained");
    for part in [
        "The emulator adds 40 of these",
        "aria-label=\"flame graph of hypercall on lab:kvm",
        "<title>inner [L1 kernel]: 1,000 instructions, 995 of its own, calls: 1</title>",
        "<b>1,000</b><b>995</b><b>1</b><span>inner [L1 kernel]</span>",
        "2 calls of fewer than 10 instructions are not shown: 6 in all.",
        "1 sample of 3, with tick: 7 instructions",
        "<th scope=\"row\">handling</th><td class=\"value\">1,000</td><td class=\"value\">96 %</td>",
        "L2 to L0: hvc",
        "<th scope=\"row\">EL1 system</th><td class=\"value\">3/0</td>",
        "EL1 system: TCR_EL1",
        "QEMU before 9.1 shows a plugin neither registers nor addresses",
        "Sum: 1,040 attributed + 1 of the guest&#39;s own = 1,040 measured",
    ] {
        let part = part.replace("&#39;", "'");
        assert!(section.contains(&part), "{part}\n{section}");
    }
    assert!(!section.contains("\\n"));
    // As many folds end as begin.
    let count = |what: &str| section.matches(what).count();
    assert_eq!(count("<details"), count("</details>"));
}

#[test]
fn of_several_vcpus_text_and_page_say_that_they_take_turns() {
    let mut one = explained("inner");
    let said = "of 2 vCPUs, which take turns";
    let texts = |one: &Explained| [one.to_text(Shown::default()), page(vec![one.clone()])];
    assert!(texts(&one).iter().all(|text| !text.contains(said)));
    one.vcpus = 2;
    assert!(texts(&one).iter().all(|text| text.contains(said)));
}

#[test]
fn without_an_explanation_there_is_no_such_view() {
    assert!(!page(Vec::new()).contains("explained"));
}

#[test]
fn names_are_escaped() {
    let page = page(vec![explained("</title><script>alert(1)</script>\u{202e}")]);
    assert!(!page.contains("<script>alert") && !page.contains('\u{202e}'));
}

#[test]
fn a_deep_tree_is_shown() {
    let mut deep = explained("inner");
    let text = deep.to_json().unwrap();
    let mut value: Value = serde_json::from_str(&text).unwrap();
    let node = |index: u32| json!({"function": 1, "parent": index.checked_sub(1), "calls": 1, "own": 0, "total": 100});
    value["tree"]["nodes"] = (0..20_000).map(node).collect();
    deep = Explained::from_json(&value.to_string()).unwrap();
    let page = page(vec![deep]);
    assert_eq!(page.matches("<span>inner").count(), 20_000);
}
