//! Checks: a project declares them, this runs them and says what they prove.
//!
//! ```text
//!   muster.toml ─► definitions ─► run in the project ─► output, report ─► verdict
//!                                   │            │
//!                        digest of the files   and again: a verdict is bound to what it ran on
//! ```

mod globs;
mod head;
mod output;
mod programs;
pub mod project;
pub mod proposal;
mod results;
mod runner;
mod tree;

pub use programs::ProgramRecord;
pub use runner::{
    CheckOrder, CheckOutcome, CheckProgress, CheckRunError, CheckRunner, OutputRecord, TreeState,
};
pub use tree::TreeError;
pub(crate) use tree::is_repository;
