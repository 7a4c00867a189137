//! Operations: one typed request, one typed response and one registry row each.
//!
//! Every surface (MCP, REST, CLI) is generated from the [`Registry`]; none of them knows an operation by
//! name. No transport is known here: a call takes JSON and answers an [`Envelope`].

mod app;
mod envelope;
pub mod reference;
mod registry;
mod toolset;

pub use app::{App, AppOptions};
pub use envelope::{ApiError, Envelope, ErrorCode, Priority, Suggestion, Warning, WarningCode};
pub use registry::{Effect, Registry, Row};
pub use toolset::Toolset;
