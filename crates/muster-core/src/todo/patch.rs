//! A change of some fields of one item.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ItemId, TodoItem, TodoMetadata, TodoPriority, TodoStatus};

/// New values for fields of the item with this id; what is left out stays (TD-20).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TodoPatch {
    /// The item it is about.
    pub id: ItemId,
    /// Its title, trimmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// How far it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TodoStatus>,
    /// The word the status was given as, when that is another one. Only beside a status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_status: Option<String>,
    /// Urgency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<TodoPriority>,
    /// What takes the place of the whole metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TodoMetadata>,
}

impl TodoPatch {
    /// Whether it changes no field at all.
    pub fn is_empty(&self) -> bool {
        self.title.is_none()
            && self.status.is_none()
            && self.priority.is_none()
            && self.metadata.is_none()
    }

    /// Puts the new values into an item.
    pub(super) fn apply(&self, item: &mut TodoItem) {
        if let Some(title) = &self.title {
            item.title.clone_from(title);
        }
        if let Some(status) = self.status {
            // A word of its own belongs to the status it came with.
            item.status = status;
            item.raw_status.clone_from(&self.raw_status);
        }
        if let Some(priority) = &self.priority {
            item.priority = Some(priority.clone());
        }
        if let Some(metadata) = &self.metadata {
            item.metadata = Some(metadata.clone());
        }
    }
}
