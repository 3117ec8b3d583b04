//! Tests of what only a server has. They need one: tests/e2e/postgres.bats starts it and names it.

use crate::server::{STEPS, Server, Step};
use crate::{Error, Place, Store};
use std::sync::atomic::{AtomicU32, Ordering};

/// A new database of the tests' server; none without one.
pub(super) fn database() -> Option<Place> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let admin = std::env::var("WORLDSWITCH_TEST_DB").ok()?;
    let name = format!(
        "t{}_{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    );
    let mut client = postgres::Client::connect(&admin, postgres::NoTls).unwrap();
    client
        .batch_execute(&format!("CREATE DATABASE {name}"))
        .unwrap();
    let (front, _) = admin.rsplit_once('/').unwrap();
    Some(Place::parse(&format!("{front}/{name}")).unwrap())
}

#[test]
fn older_tables_are_migrated_when_their_owner_says_so() {
    let Some(Place::Server(address)) = database() else {
        return;
    };
    drop(Store::create(&Place::Server(address.clone())).unwrap());
    let next = [
        STEPS[0],
        STEPS[1],
        (4, "ALTER TABLE runs ADD COLUMN colour TEXT"),
    ];
    let broken: [Step; 4] = [
        next[0],
        next[1],
        next[2],
        (5, "ALTER TABLE nowhere ADD COLUMN x TEXT"),
    ];
    let error = Server::open_as(&address, true, &next).unwrap_err();
    let Error::Older {
        found: 3,
        known: 4,
        owner,
        ..
    } = &error
    else {
        panic!("{error}");
    };
    assert_eq!(owner, "owner");
    // A step that fails undoes those before it.
    assert!(Server::migrated_to(&address, &broken).is_err());
    assert!(Server::open_as(&address, false, STEPS).is_ok());
    assert_eq!(Server::migrated_to(&address, &next).unwrap(), (3, 4));
    assert_eq!(Server::migrated_to(&address, &next).unwrap(), (4, 4));
    assert!(Server::open_as(&address, false, &next).is_ok());
    let error = Server::open_as(&address, false, STEPS).unwrap_err();
    assert!(matches!(error, Error::Newer { found: 4, .. }), "{error}");
}
