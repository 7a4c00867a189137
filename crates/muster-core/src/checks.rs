//! Checks: what a project declares that its work has to pass, and what a run of it proved.
//!
//! A person accepts the definitions of a project; the accepted form is identified by its digest, so
//! an edited `muster.toml` changes nothing until a person has looked at it.
//!
//! ```text
//!   trust      a stream for each project: what a person accepted
//!   difference a definition in lines, and how two of them differ
//!   record     a run of a check, a document of its workspace: CHK-000001
//!   ledger     the verdicts of one check: which of them holds for which files
//!   statement  a run as an in-toto test result
//!   finding    what about a pass looks like a way around the check
//!   protected  files whose change a person has to look at
//! ```

pub mod changes;
pub mod definition;
pub mod difference;
pub mod finding;
pub mod ledger;
pub mod project;
pub mod protected;
pub mod record;
pub mod statement;
pub mod trust;
pub mod verdict;
