//! Parts that only tests use. Nothing that is shipped depends on this crate.

pub mod conformance;
pub mod faults;
pub mod generate;
pub mod model;
pub mod server;
pub mod sessions;
pub mod settings;
pub mod vectors;
