//! The part of a view that reports that showing something moved the focus there (TASKS-FOC-2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tasks::id::EntityId;

/// The keys of a view that moved the focus; a view that did not has neither.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FocusRestored {
    /// Always true.
    pub focus_restored: bool,
    /// Where the focus was.
    pub focus_previous: Option<EntityId>,
}

impl FocusRestored {
    /// The focus moved away from here.
    pub fn away_from(focus_previous: Option<EntityId>) -> Self {
        Self { focus_restored: true, focus_previous }
    }
}
