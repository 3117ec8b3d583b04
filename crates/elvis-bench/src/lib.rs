//! Empty: this package has only benches, see `cargo bench -p elvis-bench`. They are not in elvis and
//! elvis-ring so that only they need criterion.
