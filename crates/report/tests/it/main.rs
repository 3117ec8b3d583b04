//! Tests of tables and pages by the crate's public interface, in one program to link only once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)]

mod apps;
mod explained;
mod external;
mod facts;
mod finding;
mod nested;
mod opening;
mod page;
mod place;
mod relative;
mod requests;
mod servers;
mod show;
mod stated;
mod suite;
mod support;
mod table;
