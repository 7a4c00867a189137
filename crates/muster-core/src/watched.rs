//! The watched room: what the hooks of an agent report about a session that a person started.
//!
//! ```text
//!   JSON of a hook ──read──► AgentReport ──under──► what may leave the hook
//!                              facts                  │
//!                                                     └─ SessionCommand::Watch ──► events, list
//! ```
//!
//! Agents change their JSON often, so reading it is generous: what is unknown or malformed is left
//! out, and nothing is ever refused. One projection serves all programs: their differences end
//! here, and the session room knows only facts.
//!
//! Not here: reading standard input, files of reports, and the events of a session.

mod hooks;
mod lists;
mod opencode;
mod policy;
mod report;
mod tools;

pub use policy::WatchPolicy;
pub use report::{
    AgentProcess, AgentReport, CalledTool, ReportFact, ReturnedTool, WaitReason, WatchedProgram,
};

/// The scope of the list that an agent keeps itself.
pub const PLAN_SCOPE: &str = "plan";
