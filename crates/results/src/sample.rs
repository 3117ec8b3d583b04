//! The sample result that the tests of this crate write, read and damage.

use crate::*;
use serde_json::json;

/// Two boots of `lab:native`: one row measured, one skipped.
pub(crate) fn sample() -> ResultFile {
    let launch = |nonce: &str| Launch {
        hello: Some(json!({"kind": "hello", "protocol": 1, "arch": "x86_64", "unit": "insns"})),
        first_record_ms: Some(212),
        wall_ms: 1843,
        end_detail: "the guest said bye".into(),
        ..Launch::ended(nonce, vec!["sgdt".into(), "hypercall".into()])
    };
    let samples = |boot| Samples {
        boot,
        launch: 0,
        iterations: 1000,
        run: vec![17_010, 17_010, 17_010],
        control: vec![3_010, 3_010, 3_010],
        ..Samples::default()
    };
    let outcome = |boot, status, reason: Option<&str>, check| Outcome {
        boot,
        status,
        reason: reason.map(Into::into),
        check,
        external: None,
    };
    let proved = || {
        Some(Check {
            verdict: Verdict::Proved,
            note: "the stored base and limit are the GDT's own".into(),
        })
    };
    let refused = "hypercall=none: no hypervisor is known here";
    let object =
        |value: serde_json::Value| value.as_object().unwrap().clone().into_iter().collect();
    ResultFile {
        schema: SCHEMA.into(),
        created: "2026-01-31T12:00:00Z".into(),
        tool: "worldswitch 0.1.0".into(),
        command: ["worldswitch", "run", "--on", "lab:native"]
            .map(Into::into)
            .into(),
        platform: "lab:native".into(),
        position: None,
        identity: Identity {
            subject: object(json!({"platform": "lab:native"})),
            conditions: object(json!({"unit": "insns", "emulator": "qemu 10.0.2"})),
            facts: Facts::named("lab:native"),
        },
        disturbances: Some(vec![Disturbance {
            id: "processor.governor".into(),
            severity: "warning".into(),
            title: "frequency governor".into(),
            found: "powersave".into(),
            why: "A clock that moves moves what is measured by it.".into(),
        }]),
        interrupted: false,
        boots: vec![
            Boot {
                boot: 1,
                launches: vec![launch("5eed0001")],
                perturbed: None,
            },
            Boot {
                boot: 2,
                launches: vec![launch("5eed0002")],
                perturbed: None,
            },
        ],
        rows: vec![
            Row {
                benchmark: "sgdt".into(),
                category: "unprivileged".into(),
                work: None,
                facts: RowFacts::default(),
                status: Status::Ok,
                reason: None,
                outcomes: vec![
                    outcome(1, Status::Ok, None, proved()),
                    outcome(2, Status::Ok, None, proved()),
                ],
                conditions: object(json!({"vcpus": 1, "digest": "0badc0de"})),
                exact: Some(true),
                metrics: vec![Metric {
                    name: "cost".into(),
                    unit: "insns".into(),
                    boots: vec![samples(1), samples(2)],
                }],
                host: vec![],
            },
            Row {
                benchmark: "hypercall".into(),
                category: "exception".into(),
                work: None,
                facts: RowFacts::default(),
                status: Status::Skip,
                reason: Some(refused.into()),
                outcomes: vec![
                    outcome(1, Status::Skip, Some(refused), None),
                    outcome(2, Status::Skip, Some(refused), None),
                ],
                conditions: object(json!({"vcpus": 1, "digest": "0ddba11"})),
                exact: None,
                metrics: vec![],
                host: vec![],
            },
        ],
    }
}
