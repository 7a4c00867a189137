//! Checks: what a project declares that its work has to pass, and what a run of it proved.
//!
//! A person accepts the definitions of a project; the accepted form is identified by its digest, so
//! an edited `muster.toml` changes nothing until somebody has looked at it.
//!
//! ```text
//!   trust     a stream for each project: what a person accepted
//!   record    a run of a check, a document of its workspace: CHK-000001
//!   ledger    the verdicts of one check: which of them holds for which files
//! ```

pub mod definition;
pub mod ledger;
pub mod project;
pub mod record;
pub mod trust;
pub mod verdict;
