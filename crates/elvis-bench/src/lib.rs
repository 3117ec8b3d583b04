//! Nothing: this package is its benches, `cargo bench -p elvis-bench`. They stand apart from elvis and
//! elvis-ring so that nobody builds criterion who does not run them.
