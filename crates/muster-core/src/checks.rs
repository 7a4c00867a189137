//! Checks: what a project declares that its work has to pass, and what a run of it proved.
//!
//! A person accepts the definitions of a project; the accepted form is identified by its digest, so
//! an edited `muster.toml` changes nothing until somebody has looked at it.

pub mod definition;
pub mod trust;
pub mod verdict;
