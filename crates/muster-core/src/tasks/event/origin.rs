//! The fact that something was imported.

use serde::{Deserialize, Serialize};

use super::EntityRef;
use crate::tasks::{
    id::EntityKind,
    origin::{FreeMeta, ItemOrigin},
    path::StepPath,
};

/// An import has noted where a plan or task and its steps came from.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OriginNoted {
    /// The plan or task.
    pub subject: EntityRef,
    pub origin: ItemOrigin,
    /// What the source said of it and no field holds; all of it from now on.
    #[serde(default, skip_serializing_if = "FreeMeta::is_empty")]
    pub meta: FreeMeta,
    /// The same of its steps, as far as they are new or changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepOrigin>,
}

/// Where a step came from.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepOrigin {
    pub path: StepPath,
    pub origin: ItemOrigin,
    #[serde(default, skip_serializing_if = "FreeMeta::is_empty")]
    pub meta: FreeMeta,
}

impl OriginNoted {
    /// Whether it is about a plan or a task.
    pub fn kind(&self) -> EntityKind {
        self.subject.id.kind()
    }
}
