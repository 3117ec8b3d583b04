//! Tests of what only a server has. They need one: tests/e2e/postgres.bats starts it and names it.

use crate::Place;
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
