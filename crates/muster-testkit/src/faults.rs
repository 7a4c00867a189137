//! A disk that fails on purpose, as a file system for SQLite.
//!
//! ```text
//!   store ── SQLite ── vfs (the only unsafe code) ── machine: files, locks, shared memory, faults
//!                                                       │
//!                                                      file: what is cached, what is durable
//! ```
//!
//! It lives in memory and is driven by one seed, so that a failure can be played again. Power can
//! be cut after any number of changes: what was not synced is then kept, dropped or torn, sector by
//! sector. Single calls can fail the way disks and kernels fail. What it deliberately does not do:
//! corrupt what was synced.

mod chance;
mod file;
mod locks;
mod machine;
#[cfg(test)]
mod tests;
#[expect(
    unsafe_code,
    reason = "a file system for SQLite is a table of C functions; none can be registered safely"
)]
mod vfs;

pub use chance::Chance;
pub use machine::{Fault, FaultKind, Lasting};
pub use vfs::FaultDisk;
