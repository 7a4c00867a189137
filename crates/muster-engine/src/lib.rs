//! The engine: the one path from a decision in the core to the durable log.
//!
//! [`Engine::execute`] runs a piece of pure work inside a write transaction and answers only when
//! it is durable; [`Engine::transact`] does so over several streams; [`Engine::read`] runs one
//! against a consistent view; [`Engine::subscribe`] follows a stream, [`Engine::follow`] does so
//! for many at once. Rules are not here (core), SQL is not here (store), and no transport is known.

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
