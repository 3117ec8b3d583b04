//! Copies between histories lose nothing.

use super::{each, result};
use crate::database::Value;
use crate::{Place, Store};
use proptest::prelude::*;

/// Everything in a history, but the numbers if these may differ.
fn content(store: &mut Store, numbers: bool) -> Vec<Vec<Value>> {
    let number = if numbers { "runs.id" } else { "0" };
    let tables = [
        format!(
            "SELECT {number}, created, platform, host, judged_on, kernel, tool, command, cell, digest, result
             FROM runs ORDER BY id"
        ),
        format!(
            "SELECT {number}, benchmark, unit, value, boots, CASE WHEN exact THEN 1 ELSE 0 END, exact IS NULL
             FROM figures JOIN runs ON runs.id = run ORDER BY run, benchmark"
        ),
        format!(
            "SELECT {number}, pins.platform, pins.judged_on FROM pins JOIN runs ON runs.id = run
             ORDER BY pins.platform, pins.judged_on"
        ),
    ];
    let mut all = Vec::new();
    for sql in tables {
        let columns = sql.split(" FROM").next().unwrap().split(',').count();
        for mut row in store.db.query(&sql, &[]).unwrap() {
            let plain = |value| match value {
                Value::Bool(value) => Value::Int(value.into()),
                other => other,
            };
            all.push((0..columns).map(|_| plain(row.value())).collect());
        }
    }
    all
}

/// A history of some runs, of which some are pinned and some removed.
fn filled(place: &Place, runs: &[(String, u64, u8)]) -> Store {
    let mut store = Store::create(place).unwrap();
    for (index, (name, value, fate)) in runs.iter().enumerate() {
        let mut result = result(name, &format!("2026-01-01T00:00:{:02}Z", index % 7), *value);
        result.command.push(name.clone());
        result.rows[0].benchmark.push_str(name);
        let host = ["", "a", name][usize::from(fate % 3)];
        result.identity.subject.insert("host".into(), host.into());
        let Ok(added) = store.add(&result) else {
            continue;
        };
        match fate % 4 {
            0 => drop(store.pin(added.id).unwrap()),
            1 => drop(store.remove(added.id).unwrap()),
            _ => {}
        }
    }
    store
}

fn next_number(store: &mut Store) -> i64 {
    store
        .add(&result("next", "2026-01-02T00:00:00Z", 1))
        .unwrap()
        .id
}

fn runs() -> impl Strategy<Value = Vec<(String, u64, u8)>> {
    let name = prop_oneof!["[a-c]{1,2}", "\\PC{1,12}", any::<String>()];
    prop::collection::vec((name, 0..5000_u64, any::<u8>()), 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 16))]

    /// There and back, through every back-end: the same content, the same numbers, the same next one.
    #[test]
    fn a_copy_is_the_same(runs in runs()) {
        each(|middle| {
            let dir = tempfile::tempdir().unwrap();
            let file = |name| Place::File(dir.path().join(name));
            let mut first = filled(&file("first"), &runs);
            let mut second = Store::create(middle).unwrap();
            let mut third = Store::create(&file("third")).unwrap();
            assert!(first.copy_to(&mut second).unwrap().same_numbers);
            second.copy_to(&mut third).unwrap();
            let all = content(&mut first, true);
            assert_eq!(content(&mut second, true), all);
            assert_eq!(content(&mut third, true), all);
            // Again is nothing new.
            let again = first.copy_to(&mut second).unwrap();
            assert_eq!((again.new, again.pins), (0, 0));
            assert_eq!(content(&mut second, true), all);
            let numbers = [&mut first, &mut second, &mut third].map(next_number);
            assert!(numbers.iter().all(|number| *number == numbers[0]), "{numbers:?}");
        });
    }

    /// Into a history with runs of its own: these and their pins stay, the others follow in their order.
    #[test]
    fn a_copy_adds_to_what_is_there(ours in runs(), theirs in runs()) {
        each(|place| {
            let dir = tempfile::tempdir().unwrap();
            let mut from = filled(&Place::File(dir.path().join("from")), &theirs);
            let mut to = filled(place, &ours);
            let before = content(&mut to, true);
            let copied = from.copy_to(&mut to).unwrap();
            let after = content(&mut to, true);
            assert!(before.iter().all(|row| after.contains(row)));
            assert_eq!(from.runs(Default::default()).unwrap().len() as u64, copied.new + copied.known);
            // In the order of the other.
            let digests = |store: &mut Store, sql: &str| -> Vec<String> {
                let rows = store.db.query(sql, &[]).unwrap();
                rows.into_iter().map(|mut row| row.text().unwrap()).collect()
            };
            let all = digests(&mut from, "SELECT digest FROM runs ORDER BY id");
            let here = digests(&mut to, "SELECT digest FROM runs ORDER BY id");
            let new = &here[here.len() - usize::try_from(copied.new).unwrap()..];
            let mut rest = all.iter();
            assert!(new.iter().all(|digest| rest.any(|other| other == digest)));
        });
    }
}

#[test]
fn a_history_is_not_copied_to_itself() {
    each(|place| {
        let [mut one, mut same] = [(); 2].map(|()| Store::create(place).unwrap());
        assert!(one.copy_to(&mut same).is_err());
    });
}
