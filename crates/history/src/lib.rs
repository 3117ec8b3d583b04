//! A store of runs.
