//! HyperBench's cost model, fitted from measured results (SIGMETRICS 2019, section 3).
//!
//! A guest's results and a native machine's give each benchmark's added cost, which is what one event
//! of its term costs. Several results of one guest with different iteration counts give the operator
//! between count and cost; several page sizes tell building page tables from walking them. Event
//! counts of a workload then give its predicted virtualization time ([`predict`]).

mod fit;
mod kvm;
mod measured;
mod operator;
mod predict;
mod separate;
mod terms;

pub use fit::{Model, ModelError, ModelOptions, RowCost, TermCost, fit};
pub use kvm::{HostEvents, host_events};
pub use operator::{Operator, OperatorKind, OperatorPoint};
pub use predict::{ComponentTotal, EventTotal, PredictError, Prediction, Whole, predict};
pub use separate::{PageCosts, Separation};
pub use terms::{Component, Paging, TERMS, Term, term_of};

#[cfg(test)]
mod tests;
