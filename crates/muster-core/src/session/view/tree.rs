//! The summary of the tree, right at any moment (HB-13), and its text within a budget (HB-15).

use serde::Serialize;

use super::{Docs, Shown};
use crate::{
    ctree::{Sections, tree::Compiled},
    session::{compile, lookup},
};

/// The five sections, all there.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Ctrees {
    /// The sections.
    #[serde(flatten)]
    pub sections: Sections,
    /// The last event that they contain.
    pub seq: u64,
}

/// The summary, with the session's own text compiled for it.
pub fn ctrees(docs: &Docs) -> Shown<Ctrees> {
    let session = lookup::session(docs)?;
    let sections = compile::sections(docs, session)?;
    Ok(Ctrees { sections, seq: session.last_seq })
}

/// The tree as text; nodes that were left out are counted, not named. Its cost is of the order of
/// the budget, whatever the size of the tree.
pub fn compiled(docs: &Docs, max_chars: Option<u64>) -> Shown<Compiled> {
    let session = lookup::session(docs)?;
    Ok(compile::compile(docs, session, max_chars.unwrap_or(session.tree.max_chars))?)
}
