//! The engine: the one path from a decision in the core to the durable log.
//!
//! [`Engine::execute`] runs pure work inside a write transaction and returns only when it is
//! durable; [`Engine::transact`] does so over several streams; [`Engine::read`] runs one against a
//! consistent view; [`Engine::subscribe`] follows a stream, [`Engine::follow`] does so for many
//! readers. Rules live in the core, SQL in the store, transports in the surfaces.

mod cache;
mod clock;
pub mod doctor;
mod engine;
mod feed;
mod large;
mod load;
mod multi_stream;
mod notifier;
mod share;
mod subscribe;
#[cfg(test)]
mod tests;
pub mod transfer;
mod trees;
mod writer;

pub use clock::{Clock, FixedClock, SystemClock};
pub use engine::{Engine, ExecuteError, StoreFailure};
pub use feed::{Batch, Encode, Encoded, Follower, News};
pub use multi_stream::MultiStreamTransaction;
pub use notifier::Grown;
pub use subscribe::{LAG_EVENTS_MAX, StreamUpdate, Subscription};
