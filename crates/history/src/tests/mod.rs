//! Tests of the store.

mod copies;
mod server;
mod sqlite;

use super::*;
use serde_json::json;
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
        facts: Default::default(),
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
        position: None,
        identity: Identity {
            subject: subject.as_object().unwrap().clone().into_iter().collect(),
            conditions: Default::default(),
            ..Identity::default()
        },
        disturbances: None,
        interrupted: false,
        boots: vec![],
        rows: vec![row("in", Status::Ok), row("out", Status::Failed)],
    }
}

/// Runs a test on a new file, and on a new database if WORLDSWITCH_TEST_DB names a server (tests/e2e/postgres.bats).
fn each(test: impl Fn(&Place)) {
    let dir = tempfile::tempdir().unwrap();
    test(&Place::File(dir.path().join("deep/er/history.sqlite")));
    if let Some(place) = server::database() {
        test(&place);
    }
}

fn of(platform: Option<&str>) -> Filter<'_> {
    Filter {
        platform,
        host: None,
    }
}

/// Results of versions that wrote no facts of rows are known by their bytes, and views find their rows.
#[test]
fn an_older_result_is_kept_once_and_its_rows_have_their_facts() {
    each(|place| {
        let mut older = result("lab:kvm-linux", "2026-01-02T00:00:00Z", 3022);
        older.rows[0].benchmark = "place-cpu-guest-alone-0".into();
        older.rows[0].category = "application".into();
        older.rows.truncate(1);
        older.rows[0].metrics.clear();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("older.json");
        std::fs::write(&path, serde_json::to_string(&older).unwrap()).unwrap();
        let read = ws_results::read_file(&path).unwrap();
        let mut store = Store::create(place).unwrap();
        let added = store.add(&older).unwrap();
        assert_eq!(
            store.add(&read).unwrap(),
            Added {
                id: added.id,
                new: false
            }
        );
        let kept = store.result(added.id).unwrap();
        assert!(kept.rows[0].facts.is_empty() && kept.rows[0].facts().placement.is_some());
    });
}

#[test]
fn an_added_result_is_kept_whole_and_once() {
    each(kept_whole_and_once);
}

fn kept_whole_and_once(place: &Place) {
    let mut store = Store::create(place).unwrap();
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

    let mut store = Store::open(place).unwrap();
    assert_eq!(store.result(added.id).unwrap(), first);
    store
        .add(&result("lab:kvm", "2026-01-01T00:00:00Z", 3000))
        .unwrap();
    store
        .add(&result("lab:kvm-shadow", "2026-01-03T00:00:00Z", 9))
        .unwrap();
    let mut names = |platform: Option<&str>| -> Vec<String> {
        let runs = store.runs(of(platform)).unwrap().into_iter();
        runs.map(|run| run.platform).collect()
    };
    assert_eq!(names(None), ["lab:kvm", "lab:kvm@6.12", "lab:kvm-shadow"]);
    assert_eq!(names(Some("lab:kvm")), ["lab:kvm", "lab:kvm@6.12"]);
    let points = store.points("in", of(Some("lab:kvm"))).unwrap();
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    assert_eq!(values, [3000.0, 3022.0], "oldest first");
    assert_eq!((points[0].boots, points[0].exact), (2, Some(true)));
    assert_eq!(
        points[0].run.kernel.as_deref(),
        Some("6.12"),
        "not the host's"
    );
    assert_eq!(
        store.points("out", of(None)).unwrap(),
        [],
        "its check failed"
    );
    assert_eq!(store.benchmarks().unwrap(), ["in"]);
}

#[test]
fn the_newest_run_is_paired_with_the_pinned_one_of_its_platform() {
    each(paired);
}

fn paired(place: &Place) {
    let mut store = Store::create(place).unwrap();
    let mut add = |platform: &str, day: u32, value| {
        let created = format!("2026-01-{day:02}T00:00:00Z");
        store.add(&result(platform, &created, value)).unwrap().id
    };
    let old = add("lab:kvm", 1, 3000);
    let newest = add("lab:kvm", 9, 3022);
    add("lab:kvm", 5, 3001);
    let alone = add("lab:xen", 3, 2594);
    add("lab:native", 4, 1);
    assert_eq!(store.pairs(of(None)).unwrap(), []);
    store.pin(old).unwrap();
    store.pin(alone).unwrap();
    let ids: Vec<_> = store
        .pairs(of(None))
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
        store.pairs(of(None)).unwrap().len(),
        2,
        "a platform has one pin"
    );
    assert_eq!(store.pin_first(old).unwrap(), None, "it has one");
    let of_xen = store.pairs(of(Some("lab:xen"))).unwrap();
    assert_eq!((of_xen.len(), of_xen[0].pinned.0.id), (1, alone));
    assert!(store.run(newest).unwrap().pinned && !store.run(old).unwrap().pinned);
}

#[test]
fn a_perturbed_boot_is_in_no_figure() {
    each(perturbed);
}

fn perturbed(place: &Place) {
    let mut store = Store::create(place).unwrap();
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
    let point = &store.points("in", of(None)).unwrap()[0];
    assert_eq!((point.value, point.boots), (3000.0, boots));
}

#[test]
fn of_each_kernel_the_newest_runs_are_read() {
    each(|place| {
        let mut store = Store::create(place).unwrap();
        let mut add = |platform: &str, host: &str, kernel: Option<&str>, day: u32, value| {
            let mut result = result(platform, &format!("2026-01-{day:02}T00:00:00Z"), value);
            let identity = &mut result.identity;
            identity.subject.clear();
            identity.subject.insert("host".into(), json!(host));
            if let Some(kernel) = kernel {
                identity.subject.insert("kernel".into(), json!(kernel));
            }
            // On counts any host's runs are of one line.
            if platform.starts_with("lab:") {
                identity.conditions.insert("unit".into(), json!("insns"));
            }
            store.add(&result).unwrap();
        };
        for day in 1..=4 {
            add(
                "lab:kvm",
                &format!("n{day}"),
                Some("6.1"),
                day,
                u64::from(day),
            );
            add(
                "kvm",
                &format!("n{}", day % 2),
                Some("6.1"),
                day,
                10 + u64::from(day),
            );
        }
        add("lab:kvm@6.12", "n1", Some("6.12"), 5, 50);
        add("lab:xen", "n1", None, 6, 60);
        let mut read = |most, filter: Filter<'_>| -> Vec<(String, String, f64)> {
            let figures = store.by_kernel(filter, most).unwrap();
            assert!(figures.iter().all(|one| one.benchmark == "in"));
            let seen = figures.into_iter();
            seen.map(|one| (one.platform, one.host, one.value))
                .collect()
        };
        let lines = |read: &[(String, String, f64)], platform: &str| -> Vec<(String, f64)> {
            let of = read.iter().filter(|one| one.0 == platform);
            of.map(|one| (one.1.clone(), one.2)).collect()
        };
        let own = |host: &str, value: f64| (host.to_owned(), value);
        let all = read(2, Filter::default());
        assert_eq!(all.len(), 7, "none without a kernel");
        assert_eq!(lines(&all, "lab:kvm"), [own("", 4.0), own("", 3.0)]);
        let kvm = [
            own("n0", 14.0),
            own("n1", 13.0),
            own("n0", 12.0),
            own("n1", 11.0),
        ];
        assert_eq!(lines(&all, "kvm"), kvm);
        assert_eq!(read(1, of(Some("lab:kvm"))).len(), 2, "with its variants");
        let of_n1 = Filter {
            host: Some("n1"),
            ..Filter::default()
        };
        assert_eq!(read(1, of_n1).len(), 3);
        // The first run counts also where it is none of the newest.
        let of_kvm = store.by_kernel(of(Some("kvm")), 1).unwrap();
        let first = of_kvm.iter().map(|one| (&*one.host, &one.first[..10]));
        let first: Vec<(&str, &str)> = first.collect();
        assert_eq!(first, [("n0", "2026-01-02"), ("n1", "2026-01-01")]);
    });
}

#[test]
fn removing_a_run_removes_its_figures_and_its_pin() {
    each(removed);
}

fn removed(place: &Place) {
    let mut store = Store::create(place).unwrap();
    let id = store
        .add(&result("lab:kvm", "2026-01-01T00:00:00Z", 1))
        .unwrap()
        .id;
    store.pin(id).unwrap();
    store.remove(id).unwrap();
    assert_eq!(store.points("in", of(None)).unwrap(), []);
    assert_eq!(store.pairs(of(None)).unwrap(), []);
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
fn a_newer_version_is_refused() {
    each(|place| {
        let mut store = Store::create(place).unwrap();
        match place {
            Place::File(path) => {
                drop(store);
                let db = rusqlite::Connection::open(path).unwrap();
                db.pragma_update(None, "user_version", 7).unwrap();
            }
            Place::Server(_) => {
                store
                    .db
                    .execute("UPDATE version SET version = 7", &[])
                    .unwrap();
            }
        }
        let migrated = Store::migrate(place).map(|_| ());
        for error in [
            Store::open(place).map(|_| ()),
            Store::create(place).map(|_| ()),
            migrated,
        ] {
            let error = error.unwrap_err();
            assert!(matches!(error, Error::Newer { found: 7, .. }), "{error}");
            assert!(error.to_string().contains("use a newer worldswitch"));
        }
    });
}

#[test]
fn a_damaged_result_is_an_error_that_names_the_run() {
    each(|place| {
        let mut store = Store::create(place).unwrap();
        let added = store.add(&result("lab:kvm", "2026-01-01T00:00:00Z", 1));
        let id = added.unwrap().id;
        let sql = "UPDATE runs SET result = '{\"schema\": 1}'";
        store.db.execute(sql, &[]).unwrap();
        let error = store.result(id).unwrap_err();
        assert!(
            matches!(error, Error::Damaged { run, .. } if run == id),
            "{error}"
        );
        assert_eq!(store.runs(of(None)).unwrap().len(), 1, "the rest is listed");
    });
}

#[test]
fn several_programs_may_add_at_once_and_the_same_is_kept_once() {
    each(|place| {
        std::thread::scope(|scope| {
            for writer in 0..4 {
                scope.spawn(move || {
                    let mut store = Store::create(place).unwrap();
                    for day in 1..=5 {
                        let created = format!("2026-0{}-{day:02}T00:00:00Z", writer + 1);
                        assert!(store.add(&result("lab:kvm", &created, day)).unwrap().new);
                        store
                            .add(&result("lab:xen", "2026-01-01T00:00:00Z", day))
                            .unwrap();
                    }
                });
            }
        });
        let mut store = Store::open(place).unwrap();
        assert_eq!(store.runs(of(Some("lab:kvm"))).unwrap().len(), 20);
        assert_eq!(store.runs(of(Some("lab:xen"))).unwrap().len(), 5);
        assert_eq!(store.points("in", of(None)).unwrap().len(), 25);
    });
}

#[test]
fn the_runs_of_a_cell_are_found_in_the_order_in_which_they_were_added() {
    each(|place| {
        let mut store = Store::create(place).unwrap();
        let mut add = |day: u32| {
            let mut result = result("lab:kvm", &format!("2026-01-0{day}T00:00:00Z"), 1);
            let subject = &mut result.identity.subject;
            subject.insert("machine_digest".into(), json!("ab"));
            subject.insert("guest_image_sha256".into(), json!("cd"));
            let conditions = &mut result.identity.conditions;
            conditions.insert("unit".into(), json!("insns"));
            store.add(&result).unwrap().id
        };
        let ids = [add(2), add(1)];
        // What is timed has no cell.
        store
            .add(&result("kvm", "2026-01-01T00:00:00Z", 1))
            .unwrap();
        let mut found = |benchmarks: &[&'static str]| -> Vec<i64> {
            let cell = cell("ab", Some("cd"), benchmarks.iter().copied());
            let runs = store.of_cell(&cell).unwrap();
            runs.iter().map(|run| run.id).collect()
        };
        assert_eq!(found(&["in", "out"]), ids);
        assert!(found(&["in"]).is_empty());
    });
}

#[test]
fn on_time_each_host_has_its_own_pin() {
    each(|place| {
        let mut store = Store::create(place).unwrap();
        let mut add = |host: &str, day: u32| {
            let mut result = result("kvm", &format!("2026-01-0{day}T00:00:00Z"), 1);
            result.identity.subject.insert("host".into(), json!(host));
            store.add(&result).unwrap().id
        };
        let [a, b, newest] = [add("a", 1), add("b", 2), add("a", 3)];
        for id in [a, b] {
            assert!(store.pin_first(id).unwrap().is_some());
        }
        let pairs = store.pairs(of(None)).unwrap();
        let newer = |index: usize| pairs[index].newest.as_ref().map(|(run, _)| run.id);
        assert_eq!([newer(0), newer(1)], [Some(newest), None]);
        let of_b = Filter {
            host: Some("b"),
            ..Filter::default()
        };
        assert_eq!(store.pairs(of_b).unwrap().len(), 1);
        assert_eq!(store.runs(of_b).unwrap()[0].id, b);
    });
}

#[test]
fn what_no_database_can_keep_is_refused() {
    each(|place| {
        let mut store = Store::create(place).unwrap();
        let error = store
            .add(&result("a\0b", "2026-01-01T00:00:00Z", 1))
            .unwrap_err();
        assert!(matches!(error, Error::Nul("platform")), "{error}");
        assert!(store.runs(of(None)).unwrap().is_empty());
    });
}
