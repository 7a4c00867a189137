//! Operations: one typed request, one typed response and one registry row each.
//!
//! The tools, routes and commands of the surfaces (MCP, REST, CLI) are generated from the
//! [`Registry`]. No transport is known here: a call takes JSON and returns an [`Envelope`].
//! Requests about sessions and runs are here too, without registry rows.

mod access;
mod app;
mod arguments;
mod audit;
mod call;
mod call_stage;
mod caller;
mod catalogue;
mod echo;
mod economy;
mod envelope;
pub mod explain;
pub mod find;
mod forms;
mod inspection;
mod projects;
mod protected;
pub mod reference;
mod refusals;
mod registry;
mod request;
pub mod runs;
mod schema;
mod sessions;
mod statements;
mod suggest;
mod tasks;
#[cfg(test)]
mod tests;
mod todos;
mod tokens;
mod toolset;
mod waivers;
mod watch;
pub mod work;

pub use muster_agents::{checkout, desktop, notify, watched};

pub mod checks {
    //! The checks of a project: its file, and running them.

    pub use muster_agents::checks::{
        CheckPhase, CheckService, CheckServiceError, CheckTicket, CheckWish,
        PROOF_LOG_DAYS_DEFAULT,
        project::{PROJECT_FILE, ProjectFile, additional_checks, find, read, text, watch_policy},
        proposal::{ProposedCheck, RepositoryFiles, propose},
    };
    pub use muster_core::checks::{record::CheckRecord, verdict::Verdict};
}

pub use app::{App, AppOptions, ServerStatus, WorkspaceStatus, unknown_operation};
pub use arguments::ARGUMENTS_DEPTH_MAX;
pub use audit::{AuditAnswer, AuditEntry};
pub use call_stage::{BlockingCall, CallStage, WritingCall, WrittenCall};
pub use caller::{Caller, new_connection, person_name};
pub use echo::{shorten_value, shorten_words};
pub use economy::AnswerEconomy;
pub use envelope::{
    ApiError, Envelope, ErrorCode, Suggestion, SuggestionPriority, Warning, WarningCode,
};
pub use inspection::Inspection;
pub use muster_core::access::{AccessRights, AccessRole, NamedToken, WorkspaceGlob};
pub use muster_core::answers::CallKey;
pub use muster_core::{Json, PageCursor};
pub use muster_core::{Timestamp, tasks::id::WorkspaceId, text::echo};
pub use muster_engine::{
    Batch, Clock, Encode, Encoded, Follower, GrowthListener, News, SystemClock,
    doctor::DoctorReport, transfer::TransferError,
};
pub use muster_store::{DatabaseUrl, Description, EventRow, LogCursor, StoreAccess, StoreError};
pub use projects::TrustError;
pub use protected::{ProtectedChanges, ProtectedDiff};
pub use registry::{OperationEffect, OperationRow, Registry, ResultSchema, derived_request_shapes};
pub use sessions::{
    ConnectionMessages, CreatedSession, DroppedPage, DroppedRequest, InputFault, NodesPage,
    ReportsFault, SaidInput, SessionCursor, SessionDesk, SessionFault, SessionPage,
    SessionsRequest, Told, TreeRequest, TreeStage, WorkspaceOfDirectory, malformed_words,
    refusal_words, session_event_text,
};
pub use tasks::{AgentStop, CALL_BYTES_MAX, Focus, UnprovenStep};
pub use todos::SessionBinding;
pub use tokens::{MadeToken, NewToken, TokenDesk, TokenFault, TokenRow, TokensAnswer};
pub use toolset::Toolset;
pub use waivers::{WaiverDecision, WaiverKind};
pub use watch::CallWatch;
