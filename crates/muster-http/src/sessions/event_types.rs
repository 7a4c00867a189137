//! Which stored events a reader of the stream wants, by their type.
//!
//! Messages of the connection itself are not events of the log and pass every filter: the greeting,
//! gaps, and the snapshots of todo lists, without which a reader could not recover.

use std::{borrow::Cow, collections::BTreeSet};

use axum::body::Bytes;
use muster_api::Batch;
use muster_core::{session::limits::TYPE_CHARS_MAX, text};
use serde::Deserialize;

use crate::{
    fault::Fault,
    request::{GivenParameter, Parameter},
    sse,
};

/// The wanted types; empty for all.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TypeFilter(BTreeSet<String>);

/// The part of a stored event that is checked.
#[derive(Deserialize)]
struct Typed<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

impl Parameter for TypeFilter {
    /// Comma-separated names. Unknown names are allowed, because outside
    /// programs choose their own.
    fn read(given: &GivenParameter<'_>) -> Result<Self, Fault> {
        let Some(types) = given.text() else { return Ok(Self::default()) };
        let names = types.split(',').map(text::trim);
        let is_bad = |name: &&str| name.is_empty() || text::chars(name) > TYPE_CHARS_MAX;
        if names.clone().any(|name| is_bad(&name)) {
            return Err(given.refused(format!(
                "it must be a comma-separated list of event types, \
                 each with 1 to {TYPE_CHARS_MAX} characters"
            )));
        }
        Ok(Self(names.map(str::to_owned).collect()))
    }
}

impl TypeFilter {
    /// The wanted events, one after the other. Without a filter, nothing is copied or checked.
    pub(super) fn pass(&self, batches: &[Batch]) -> Bytes {
        match batches {
            [only] if self.0.is_empty() => only.shared_bytes(),
            all if self.0.is_empty() => all.iter().flat_map(Batch::bytes).copied().collect(),
            some => {
                let frames = some.iter().flat_map(Batch::frames).map(|(_, frame)| frame);
                frames.filter(|frame| self.wants(frame)).flatten().copied().collect()
            }
        }
    }

    fn wants(&self, frame: &[u8]) -> bool {
        let typed =
            sse::data(frame).and_then(|data| serde_json::from_slice::<Typed<'_>>(data).ok());
        typed.is_some_and(|typed| self.0.contains(&*typed.kind))
    }
}
