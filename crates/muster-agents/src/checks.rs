//! Checks: a project declares them, this runs them and says what they prove.
//!
//! ```text
//!   muster.toml ─► definitions ─► run in the project ─► output, report ─► verdict
//!                                   │            │
//!                        digest of the files   and again: a verdict is bound to what it ran on
//! ```
//!
//! The runner knows processes and files, the service records what it does in the workspace.

mod changes;
mod clean;
mod directory;
mod encoding;
mod globs;
mod head;
mod look;
mod output;
mod programs;
pub mod project;
pub mod proposal;
mod protected;
mod results;
mod runner;
mod scoped;
mod service;
pub mod touch;
mod tree;
mod trees;
mod uncommitted;

pub use look::{ProjectLook, ProjectView};
pub use protected::{ProtectedText, ProtectedTexts};
pub(crate) use runner::{CheckOrder, CheckOutcome, CheckPurpose, RunProcesses};
pub use runner::{CheckRunError, CheckRunner};
pub use service::{
    CheckPhase, CheckService, CheckServiceError, CheckTicket, CheckWaiter, CheckWatch, CheckWish,
    OutputPiece, PROOF_LOG_DAYS_DEFAULT, ShownOutput,
};
pub use tree::TreeError;
pub(crate) use tree::is_repository;
pub use uncommitted::uncommitted_changes;
