//! The commands, one file each.

pub(crate) mod backup;
pub(crate) mod call;
pub(crate) mod compact;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod handoff;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod mcp;
pub(crate) mod openapi;
pub(crate) mod providers;
pub(crate) mod reference;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod serve;
pub(crate) mod session;
pub(crate) mod sessions;
pub(crate) mod setup;
pub(crate) mod status;
pub(crate) mod tasks;
pub(crate) mod todo;
pub(crate) mod worktrees;
