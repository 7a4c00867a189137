//! The pure domain of Muster.
//!
//! Every room decides what a command means for the documents it is shown and says so in events.
//! Nothing in this crate reads a clock, a file, the environment or a random number, and nothing
//! waits: time comes in as a value ([`Env`]), ids come from counters in the documents, and a
//! document that is not at hand is asked for by returning [`Need`] instead of fetching it.

mod aggregate;
pub mod answers;
pub mod budget;
mod compact;
pub mod ctree;
pub mod display_switches;
mod documents;
mod draft;
mod json;
pub mod redact;
mod replay;
pub mod run;
pub mod session;
pub mod tasks;
pub mod text;
mod time;
pub mod todo;

pub use aggregate::{
    Address, Aggregate, Env, Index, LogPosition, Mark, Recorded, Subject, WorkRefusal,
};
pub use compact::{Compact, WholeText};
pub use documents::{
    Documents, EventOrder, EventQuery, ListOrder, ListQuery, Need, RankBound, Shown, Slice, Survey,
    SurveyResult, Unloaded,
};
pub use draft::Draft;
pub use json::{Json, is_deeper_than, text_of};
pub use replay::Replay;
pub use time::Timestamp;
