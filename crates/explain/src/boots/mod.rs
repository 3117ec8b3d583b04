//! Two boots, and where they differ: by instructions while both machines run in step (`lockstep`, `difference`), or by
//! functions afterwards, if their code lies elsewhere (`functions`).

pub mod difference;
pub mod diverged;
pub mod functions;
pub mod lockstep;
mod placed;
pub mod stream;
mod text;
