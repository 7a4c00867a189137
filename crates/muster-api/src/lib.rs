//! Operations: one typed request, one typed response and one registry row each.
//!
//! Every surface (MCP, REST, CLI) is generated from the [`Registry`]; none of them knows an
//! operation by name. No transport is known here: a call takes JSON and answers an [`Envelope`].

mod app;
mod arguments;
mod call;
mod catalogue;
mod echo;
mod envelope;
pub mod explain;
mod fingerprint;
mod inspection;
pub mod reference;
mod refusals;
mod registry;
mod request;
pub mod runs;
mod schema;
mod sessions;
mod suggest;
mod tasks;
#[cfg(test)]
mod tests;
mod todos;
mod toolset;

pub use app::{App, AppOptions, Status, WorkspaceStatus};
pub use arguments::ARGUMENTS_DEPTH_MAX;
pub use echo::{shorten_value, shorten_words};
pub use envelope::{ApiError, Envelope, ErrorCode, Priority, Suggestion, Warning, WarningCode};
pub use fingerprint::fingerprint;
pub use inspection::Inspection;
pub use muster_core::Json;
pub use muster_core::session::receipt::CallKey;
pub use muster_core::{Timestamp, tasks::id::WorkspaceId, text::echo};
pub use muster_runtime::{
    Batch, Clock, Follower, News, Subscription, SystemClock, Update,
    doctor::Report as DoctorReport, transfer::TransferError,
};
pub use muster_store::{Access, Description, StoreError};
pub use registry::{Effect, Registry, Row};
pub use sessions::{
    ConnectionMessages, CreatedSession, DroppedPage, DroppedRequest, InputFault, NodesPage,
    SaidInput, SessionCursor, SessionDesk, SessionFault, SessionPage, SessionsRequest, Stage, Told,
    TreeRequest,
};
pub use tasks::CALL_BYTES_MAX;
pub use todos::Binding;
pub use toolset::Toolset;
