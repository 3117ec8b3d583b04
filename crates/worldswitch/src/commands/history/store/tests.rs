//! Tests of the store, also on files that are something else.

use super::file::Added;
use super::*;
use serde_json::json;
use std::path::PathBuf;
use ws_results::*;

/// A result whose benchmark `in` costs `value` instructions; `out` failed.
fn result(platform: &str, created: &str, value: u64) -> ResultFile {
    let samples = |boot| Samples {
        boot,
        iterations: 1,
        run: vec![value + 10; 3],
        control: vec![10; 3],
        ..Samples::default()
    };
    let row = |benchmark: &str, status| Row {
        benchmark: benchmark.into(),
        category: "io".into(),
        work: None,
        status,
        reason: None,
        outcomes: vec![],
        conditions: Default::default(),
        exact: Some(true),
        metrics: vec![Metric {
            name: "cost".into(),
            unit: "insns".into(),
            boots: vec![samples(1), samples(2)],
        }],
        host: vec![],
    };
    let subject = json!({"host_kernel": "5.10", "kernel": "6.12"});
    ResultFile {
        schema: SCHEMA.into(),
        created: created.into(),
        tool: "worldswitch 0.1.0".into(),
        command: vec!["worldswitch".into(), "run".into()],
        platform: platform.into(),
        identity: Identity {
            subject: subject.as_object().unwrap().clone().into_iter().collect(),
            conditions: Default::default(),
        },
        disturbances: None,
        interrupted: false,
        boots: vec![],
        rows: vec![row("in", Status::Ok), row("out", Status::Failed)],
    }
}

fn at(dir: &tempfile::TempDir) -> PathBuf {
    dir.path().join("deep/er/history.sqlite")
}

#[test]
fn an_added_result_is_kept_whole_and_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::create(&at(&dir)).unwrap();
    let first = result("lab:kvm@6.12", "2026-01-02T00:00:00Z", 3022);
    let added = store.add(&first).unwrap();
    assert!(added.new);
    assert_eq!(
        store.add(&first).unwrap(),
        Added {
            id: added.id,
            new: false
        }
    );
    drop(store);

    let mut store = Store::open(&at(&dir)).unwrap();
    assert_eq!(store.result(added.id).unwrap(), first);
    store
        .add(&result("lab:kvm", "2026-01-01T00:00:00Z", 3000))
        .unwrap();
    store
        .add(&result("lab:kvm-shadow", "2026-01-03T00:00:00Z", 9))
        .unwrap();
    let names = |platform: Option<&str>| -> Vec<String> {
        let runs = store.runs(platform).unwrap().into_iter();
        runs.map(|run| run.platform).collect()
    };
    assert_eq!(names(None), ["lab:kvm", "lab:kvm@6.12", "lab:kvm-shadow"]);
    assert_eq!(names(Some("lab:kvm")), ["lab:kvm", "lab:kvm@6.12"]);
    let points = store.points("in", Some("lab:kvm")).unwrap();
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    assert_eq!(values, [3000.0, 3022.0], "oldest first");
    assert_eq!((points[0].boots, points[0].exact), (2, Some(true)));
    assert_eq!(
        points[0].run.kernel.as_deref(),
        Some("6.12"),
        "not the host's"
    );
    assert_eq!(store.points("out", None).unwrap(), [], "its check failed");
    assert_eq!(store.benchmarks().unwrap(), ["in"]);
}

#[test]
fn the_newest_run_is_paired_with_the_pinned_one_of_its_platform() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::create(&at(&dir)).unwrap();
    let mut add = |platform: &str, day: u32, value| {
        let created = format!("2026-01-{day:02}T00:00:00Z");
        store.add(&result(platform, &created, value)).unwrap().id
    };
    let old = add("lab:kvm", 1, 3000);
    let newest = add("lab:kvm", 9, 3022);
    add("lab:kvm", 5, 3001);
    let alone = add("lab:xen", 3, 2594);
    add("lab:native", 4, 1);
    assert_eq!(store.pairs(None).unwrap(), []);
    store.pin(old).unwrap();
    store.pin(alone).unwrap();
    let ids: Vec<_> = store
        .pairs(None)
        .unwrap()
        .iter()
        .map(|pair| {
            (
                pair.pinned.0.id,
                pair.newest.as_ref().map(|newest| newest.0.id),
            )
        })
        .collect();
    assert_eq!(ids, [(old, Some(newest)), (alone, None)]);
    store.pin(newest).unwrap();
    assert_eq!(
        store.pairs(None).unwrap().len(),
        2,
        "a platform has one pin"
    );
    assert!(store.has_pin("lab:kvm").unwrap() && !store.has_pin("lab:native").unwrap());
    let of_xen = store.pairs(Some("lab:xen")).unwrap();
    assert_eq!((of_xen.len(), of_xen[0].pinned.0.id), (1, alone));
    assert!(store.run(newest).unwrap().pinned && !store.run(old).unwrap().pinned);
}

#[test]
fn a_perturbed_boot_is_in_no_figure() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::create(&at(&dir)).unwrap();
    let mut result = result("lab:kvm", "2026-01-01T00:00:00Z", 3000);
    result.boots.push(Boot {
        boot: 77,
        launches: vec![],
        perturbed: Some(Perturbation {
            pad: Some(17),
            memory_mib: None,
        }),
    });
    let samples = &mut result.rows[0].metrics[0].boots;
    let mut moved = samples[0].clone();
    moved.boot = 77;
    moved.run.iter_mut().for_each(|ticks| *ticks = 1);
    samples.extend([moved.clone(), moved]);
    let boots = u32::try_from(samples.len()).unwrap() - 2;
    store.add(&result).unwrap();
    let point = &store.points("in", None).unwrap()[0];
    assert_eq!((point.value, point.boots), (3000.0, boots));
}

#[test]
fn removing_a_run_removes_its_figures_and_its_pin() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::create(&at(&dir)).unwrap();
    let id = store
        .add(&result("lab:kvm", "2026-01-01T00:00:00Z", 1))
        .unwrap()
        .id;
    store.pin(id).unwrap();
    store.remove(id).unwrap();
    assert_eq!(store.points("in", None).unwrap(), []);
    assert_eq!(store.pairs(None).unwrap(), []);
    for error in [store.remove(id).unwrap_err(), store.pin(id).unwrap_err()] {
        assert!(
            matches!(error, Error::NoRun(missing) if missing == id),
            "{error}"
        );
    }
    let again = store
        .add(&result("lab:kvm", "2026-01-01T00:00:00Z", 1))
        .unwrap();
    assert!(again.new && again.id > id, "a number is never used twice");
}

#[test]
fn a_file_that_is_no_history_is_refused_and_not_changed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    assert!(matches!(Store::open(&path), Err(Error::NotThere(_))));
    assert!(!path.exists(), "open() does not create one");

    std::fs::write(
        &path,
        "{\"schema\": \"no database at all, but longer than a header\"}".repeat(20),
    )
    .unwrap();
    let before = std::fs::read(&path).unwrap();
    for opened in [Store::open(&path), Store::create(&path)] {
        assert!(matches!(opened, Err(Error::Foreign(_))), "{opened:?}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);

    let other = dir.path().join("other.sqlite");
    let db = rusqlite::Connection::open(&other).unwrap();
    db.execute_batch("CREATE TABLE somebody_elses (x)").unwrap();
    drop(db);
    for opened in [Store::open(&other), Store::create(&other)] {
        assert!(matches!(opened, Err(Error::Foreign(_))), "{opened:?}");
    }
}

#[test]
fn a_newer_version_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(Store::create(&at(&dir)).unwrap());
    let db = rusqlite::Connection::open(at(&dir)).unwrap();
    db.pragma_update(None, "user_version", 7).unwrap();
    drop(db);
    let error = Store::open(&at(&dir)).unwrap_err();
    assert!(matches!(error, Error::Newer { found: 7, .. }), "{error}");
    assert!(error.to_string().contains("use a newer one"));
}

#[test]
fn a_damaged_result_is_an_error_that_names_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::create(&at(&dir)).unwrap();
    let id = store
        .add(&result("lab:kvm", "2026-01-01T00:00:00Z", 1))
        .unwrap()
        .id;
    let db = rusqlite::Connection::open(at(&dir)).unwrap();
    db.execute("UPDATE runs SET result = '{\"schema\": 1}'", [])
        .unwrap();
    let error = store.result(id).unwrap_err();
    assert!(
        matches!(error, Error::Damaged { run, .. } if run == id),
        "{error}"
    );
    assert_eq!(store.runs(None).unwrap().len(), 1, "the rest can be listed");
}

#[test]
fn several_programs_may_add_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = at(&dir);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let path = &path;
            scope.spawn(move || {
                let mut store = Store::create(path).unwrap();
                for day in 1..=5 {
                    let created = format!("2026-0{}-{day:02}T00:00:00Z", writer + 1);
                    assert!(store.add(&result("lab:kvm", &created, day)).unwrap().new);
                }
            });
        }
    });
    assert_eq!(Store::open(&path).unwrap().runs(None).unwrap().len(), 20);
}
