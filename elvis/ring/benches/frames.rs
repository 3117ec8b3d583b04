//! Cost of the ring for a network's frames, split and packed, from take to publish.
//!
//! `cargo bench -p elvis-ring --bench frames [-- [--once] CASE]`. Frames that a driver sends, and buffers that it gives
//! for received ones, 32 at a time, in one descriptor each; packed ones in a ring whose progress is kept. It is
//! compared with [`raw`], which trusts the driver, and a ring whose progress is kept with one whose is not, in turns
//! ([`timed`]).

#![allow(clippy::unwrap_used)]

mod raw;
mod requests;
mod timed;

use elvis_ring::driver::Driver;
use elvis_ring::{Chain, Mapping, Ring, Span, progress};
use requests::{Received, Request, Sent};
use std::sync::Arc;
use timed::{
    DEPTH, SIZE, Submit, compare, device, measure, memfd, request, rings, visit, with_raw,
};

/// The device of a network, which keeps how far a packed ring got.
fn keeping(driver: &Driver) -> Ring {
    let bytes = progress::bytes(SIZE);
    let mapping = Arc::new(Mapping::new(&memfd(bytes), bytes).unwrap());
    let (mut ring, record) = (device(driver), Span::new(&mapping, 0, bytes).unwrap());
    let kept = ring.keep(record, &driver.addresses(), driver.start());
    kept.unwrap();
    ring
}

/// Sends frames.
fn send(driver: &mut Driver) {
    requests::send(driver, DEPTH);
}

/// Gives buffers for received frames.
fn receive(driver: &mut Driver) {
    requests::receive(driver, DEPTH);
}

/// The cases of frames of one kind.
fn frames<R: Request>(prefix: &str, kind: &str, packed: bool, submit: Submit) {
    let mut chain = Chain::new();
    let mut kept = rings(1, packed, keeping);
    measure(&format!("{prefix}{kind}"), |wanted| {
        let serve = |ring: &mut Ring| visit::<R>(ring, &mut chain);
        request(&mut kept, submit, serve, wanted)
    });
    with_raw::<R>(&format!("{prefix}raw/{kind}"), packed, keeping, submit);
    if !packed {
        return;
    }
    let (mut forgets, mut other) = (rings(1, packed, device), Chain::new());
    compare(
        (&format!("{prefix}kept/{kind}"), "kept", "not kept"),
        |wanted| {
            let serve = |ring: &mut Ring| visit::<R>(ring, &mut chain);
            request(&mut kept, submit, serve, wanted)
        },
        |wanted| {
            let serve = |ring: &mut Ring| visit::<R>(ring, &mut other);
            request(&mut forgets, submit, serve, wanted)
        },
    );
}

fn main() {
    for (prefix, packed) in [("", false), ("packed/", true)] {
        frames::<Sent>(prefix, "sent", packed, send);
        frames::<Received>(prefix, "received", packed, receive);
    }
}
