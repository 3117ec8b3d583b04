//! A trial as text, in a cover letter, and as Markdown.

use super::*;
use crate::guilty::Guilty;
use crate::trial::Side;
use ws_analysis::{Outcome, Verdict};
use ws_explain::diff::Change;

fn row(benchmark: &str, base: f64, head: f64, verdict: Verdict) -> TrialRow {
    TrialRow {
        benchmark: benchmark.to_owned(),
        measures: None,
        unit: "insns".to_owned(),
        base,
        head,
        added: head - base,
        percent: Some(100.0 * (head - base) / base),
        verdict,
        why: None,
        functions: Vec::new(),
        more_functions: 0,
        calls: Vec::new(),
        recorded_on: None,
        unexplained: None,
    }
}

fn guilty(function: &str, change: Change, own: i64) -> Guilty {
    Guilty {
        function: function.to_owned(),
        level: 0,
        change,
        own,
        caller: None,
        file: None,
        line: None,
    }
}

/// A row with two functions, a row without, and a machine of which nothing was compared.
fn trial() -> Trial {
    let called = Guilty {
        caller: Some("vcpu_run".to_owned()),
        file: Some("arch/x86/kvm/x86.c".to_owned()),
        line: Some(11),
        ..guilty("kvm_new", Change::Gained, 1200)
    };
    let worse = TrialRow {
        functions: vec![called, guilty("svm_vcpu_run", Change::Shorter, -8)],
        more_functions: 2,
        ..row("cpuid", 10_000.0, 11_190.0, Verdict::Worse)
    };
    let better = TrialRow {
        unexplained: Some("no | recorder".to_owned()),
        ..row("cold_access", 100.0, 98.5, Verdict::Better)
    };
    let kvm = Machine {
        machine: "lab:kvm".to_owned(),
        architecture: Some("x86_64".to_owned()),
        rows: vec![worse, better],
        unchanged: vec!["in".to_owned(), "out".to_owned()],
        ..Machine::default()
    };
    let none = Machine {
        machine: "lab:xen".to_owned(),
        not_compared: vec!["HEAD has no result there".to_owned()],
        ..Machine::default()
    };
    let side = |name: &str| Side {
        name: name.to_owned(),
        about: None,
    };
    Trial {
        schema: crate::TRIAL_SCHEMA.to_owned(),
        outcome: Outcome::Regression,
        sentence: "HEAD against HEAD~: 1 of 4 figures cost more.".to_owned(),
        base: side("HEAD~"),
        head: side("HEAD"),
        machines: vec![kvm, none],
        over_budget: Vec::new(),
    }
}

#[test]
fn functions_stand_below_their_row() {
    let wanted = "\
HEAD against HEAD~: 1 of 4 figures cost more.

lab:kvm
  benchmark    before   after  change
  cpuid        10,000  11,190  +1,190  +11.9 %  WORSE
       +1,200  kvm_new (arch/x86/kvm/x86.c:11): gained, called by vcpu_run
           -8  svm_vcpu_run: shorter
      2 more functions changed
  cold_access     100   98.50   -1.50   -1.5 %  better
      functions not known: no | recorder
  no change: in, out

lab:xen
  not compared: HEAD has no result there
";
    assert_eq!(trial().to_text(), wanted);
}

#[test]
fn a_cover_letter_has_only_figures() {
    let names = BTreeMap::from([("cpuid".to_owned(), "x86, arm".to_owned())]);
    let wanted = "
For a cover letter:

  lab:kvm, in instructions (worldswitch):
                 before   after
    x86          10,000  11,190  +11.9 %
    cold_access     100   98.50   -1.5 %
    no change: 2

  lab:xen, in instructions (worldswitch):
      before  after
    no change: 0
";
    assert_eq!(trial().cover_letter(&names), wanted);
}

#[test]
fn a_comment_has_functions_in_their_cell() {
    let wanted = "\
**HEAD against HEAD\\~: 1 of 4 figures cost more.**

| lab:kvm, instructions | before | after | change |  | functions |
|---|---:|---:|---:|---:|---|
| cpuid | 10,000 | 11,190 | +1,190 | +11.9 % WORSE | `kvm_new` +1,200 called by vcpu\\_run (arch/x86/kvm/x86.c:11)<br>`svm_vcpu_run` -8<br>2 more functions changed |
| cold\\_access | 100 | 98.50 | -1.50 | -1.5 % better | functions not known: no \\| recorder |

<details><summary>What did not change</summary>

lab:kvm: in, out

lab:xen: not compared: HEAD has no result there

</details>
";
    assert_eq!(trial().to_markdown(""), wanted);
}
