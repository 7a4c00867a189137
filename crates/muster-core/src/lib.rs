//! The pure domain of Muster.
//!
//! Every room decides what a command means for the loaded documents and records it in events.
//! Nothing in this crate reads a clock, a file, the environment or a random number, and nothing
//! waits: time is passed in as a value ([`Env`]), ids come from counters in the documents, and a
//! document that is not loaded is requested by returning [`Need`] instead of fetching it.

pub mod access;
mod aggregate;
pub mod answers;
mod author;
pub mod budget;
pub mod checks;
mod compact;
mod connection;
pub mod ctree;
mod cursor;
pub mod display_switches;
mod documents;
mod draft;
mod json;
pub mod plan_files;
pub mod redact;
mod replay;
pub mod run;
pub mod schema;
mod search;
pub mod session;
pub mod tasks;
pub mod text;
mod time;
pub mod todo;
pub mod watched;

pub use aggregate::{
    Address, Aggregate, CallFacts, Env, EventStamp, Index, LogPosition, Mark, Recorded, Subject,
    WorkRefusal,
};
pub use author::{AUTHOR_NAME_CHARS_MAX, Author, AuthorKind, AuthorSurface};
pub use compact::{Compact, WholeText};
pub use connection::ConnectionId;
pub use cursor::PageCursor;
pub use documents::{
    Documents, EventChoice, EventOrder, EventQuery, ListOrder, ListQuery, Need, RankBound, Shown,
    Slice, Survey, SurveyResult, Unloaded,
};
pub use draft::Draft;
pub use json::{AnyObject, Json, field, fields, is_deeper_than, text_of};
pub use replay::Replay;
pub use search::{
    EventStrings, FIELD_SEPARATOR, MatchGrade, SearchTopic, SearchWords, TextCondition,
    searched_text,
};
pub use time::Timestamp;
