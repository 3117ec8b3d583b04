//! Cost of the ring, split and packed: a look at an empty ring, and a request from take to publish.
//!
//! `cargo bench -p elvis-ring --bench ring [-- [--once] CASE]`. Requests are those of a block device: header, 4 KiB and
//! status, 32 at a time, in three descriptors of the ring or of an indirect table. The last cases compare it with
//! [`raw`], which trusts the driver, in turns ([`timed`]).

#![allow(clippy::unwrap_used, clippy::too_many_lines)]

mod raw;
mod requests;
mod timed;

use elvis_ring::driver::Driver;
use elvis_ring::{Chain, Ring};
use requests::Block;
use std::hint::black_box;
use std::time::{Duration, Instant};
use timed::{DEPTH, Pair, Submit, device, measure, request, rings, visit, with_raw};

/// Looks at each of the rings, all empty, `wanted` times.
fn look(rings: &mut [Pair<Ring>], wanted: u64) -> Duration {
    let start = Instant::now();
    for _ in 0..wanted {
        for (_, ring) in &mut *rings {
            black_box(ring.look().unwrap().pending);
        }
    }
    start.elapsed() / u32::try_from(rings.len()).unwrap()
}

/// The buffers of request `slot`.
fn buffers(slot: u64) -> [(u64, u32, bool); 3] {
    [
        (0x1f_0000 + slot * 32, 16, false),
        (0x20_0000 + slot * 4096, 4096, true),
        (0x1f_8000 + slot, 1, true),
    ]
}

/// Makes requests, each of three descriptors.
fn submit(driver: &mut Driver) {
    for slot in 0..u64::from(DEPTH) {
        driver.submit(&buffers(slot));
    }
}

/// Makes requests, each of one descriptor and an indirect table of three.
fn submit_indirect(driver: &mut Driver) {
    for slot in 0..DEPTH {
        let table = 0x1e_0000 + u64::from(slot) * 64;
        driver.write_table(table, &buffers(slot.into())).unwrap();
        driver.submit_indirect(table, 48);
    }
}

/// All cases of one layout.
fn cases(prefix: &str, packed: bool) {
    let mut chain = Chain::new();
    for count in [1, 16, 64] {
        let mut rings = rings(count, packed, device);
        measure(&format!("{prefix}look/{count}"), |wanted| {
            look(&mut rings, wanted)
        });
        measure(&format!("{prefix}request/{count}"), |wanted| {
            let serve = |ring: &mut Ring| visit::<Block>(ring, &mut chain);
            request(&mut rings, submit, serve, wanted)
        });
    }
    let kinds: [(&str, Submit); 2] = [("direct", submit), ("indirect", submit_indirect)];
    for (kind, submit) in kinds {
        let mut checked = rings(1, packed, device);
        if kind == "indirect" {
            measure(&format!("{prefix}request/indirect"), |wanted| {
                let serve = |ring: &mut Ring| visit::<Block>(ring, &mut chain);
                request(&mut checked, submit, serve, wanted)
            });
        }
        with_raw::<Block>(&format!("{prefix}raw/{kind}"), packed, device, submit);
    }
}

fn main() {
    cases("", false);
    cases("packed/", true);
}
