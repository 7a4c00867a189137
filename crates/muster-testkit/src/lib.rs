//! Parts that only tests use. Nothing that is shipped depends on this crate.

pub mod conformance;
pub mod faults;
pub mod fuzz;
pub mod generate;
pub mod model;
#[expect(clippy::unwrap_used, reason = "a test cannot go on without its database server")]
pub mod postgres_server;
#[cfg(test)]
mod redaction_speed;
pub mod server;
pub mod sessions;
pub mod settings;
pub mod vectors;
