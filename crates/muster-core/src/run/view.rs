//! Read models of a run: pure functions of the loaded documents. The cost is proportional to the
//! result, whatever the history is.
//!
//! | asked for | function |
//! |---|---|
//! | the run | [`snapshot::snapshot`] |
//! | its events | stored rows through [`history::wire`], chosen by [`history::RunPageRequest`] |
//! | its turns, artifacts, and the inbox of a node | [`turns`] |
//! | words in all of it | [`search::SearchWords`], event by event |
//! | its outcome | [`ending`] |
//! | what waits for a person | [`attention`], over the catalogued documents of all runs |

pub mod attention;
pub mod ending;
pub mod history;
pub mod search;
pub mod snapshot;
pub mod transcript;
pub mod turns;
