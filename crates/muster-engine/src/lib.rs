//! The engine: the one path from a decision in the core to the durable log.
//!
//! [`Engine::execute`] runs pure work inside a write transaction and returns only when it is
//! durable; [`Engine::transact`] does so over several streams; [`Engine::read`] runs one against a
//! consistent view; [`Engine::follow`] follows a stream, for any number of
//! readers. Rules live in the core, SQL in the store, transports in the surfaces.

mod cache;
mod clock;
pub mod doctor;
mod engine;
mod feed;
mod growth;
mod large;
mod load;
pub mod log_index;
mod multi_stream;
mod reply;
mod rows;
mod share;
pub mod survey;
#[cfg(test)]
mod tests;
pub mod transfer;
mod trees;
mod writer;

pub use clock::{Clock, FixedClock, SystemClock};
pub use engine::{Engine, ExecuteError, StoreFailure, WorkOutcome};
pub use feed::{Batch, Encode, Encoded, Follower, News};
pub use growth::GrowthListener;
pub use multi_stream::MultiStreamTransaction;
pub use reply::PendingOutcome;
