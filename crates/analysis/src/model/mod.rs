//! HyperBench's cost model, fitted from measured results (SIGMETRICS 2019, section 3).
//!
//! The results of a guest and of a native machine give each benchmark's added cost: the cost of one
//! event of its term. Results of one guest with different iteration counts give the operator between
//! count and cost; different page sizes separate building page tables from walking them. From the event
//! counts of a workload the model then predicts its virtualization time ([`predict`]).

mod fit;
mod kvm;
mod measured;
mod operator;
mod predict;
mod separate;
mod terms;
mod workload;

pub use fit::{Model, ModelError, ModelOptions, RowCost, TermCost, fit};
pub use kvm::{HostEvents, host_events};
pub use operator::{Operator, OperatorKind, OperatorPoint};
pub use predict::{ComponentTotal, EventTotal, PredictError, Prediction, Whole, predict};
pub use separate::{PageCosts, Separation};
pub use terms::{Component, TERMS, Term, term_of};
pub use workload::{Given, Time, Workload};

#[cfg(test)]
mod tests;
