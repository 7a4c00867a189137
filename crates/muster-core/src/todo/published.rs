//! What the server sends: one strict form, the contract's names, no aliases, no nulls (TS-2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};

use super::{ListChange, ScopeKey};

/// A `todo` field as the server writes it.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Published {
    /// Number of the update inside its scope.
    pub revision: i64,
    /// Which list.
    pub scope_key: ScopeKey,
    /// The text shown for it.
    pub scope_label: String,
    /// What changes.
    #[serde(flatten)]
    pub change: ListChange,
}

impl Published {
    /// Names the tool call that made this change (TS-3).
    pub fn call_id(&self) -> String {
        format!("todo:{}:{}", self.scope_key, self.revision)
    }
}

/// Written by hand for the order of the keys: operation and revision come before a long list.
impl Serialize for Published {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("op", self.change.op().as_str())?;
        map.serialize_entry("revision", &self.revision)?;
        map.serialize_entry("scopeKey", &self.scope_key)?;
        map.serialize_entry("scopeLabel", &self.scope_label)?;
        match &self.change {
            ListChange::Replace { items } => map.serialize_entry("items", items)?,
            ListChange::Clear => {}
            ListChange::Patch { patches } => map.serialize_entry("patches", patches)?,
            ListChange::Upsert { item, position } => {
                map.serialize_entry("item", item)?;
                if let Some(position) = position {
                    map.serialize_entry("position", position)?;
                }
            }
            ListChange::Delete { ids } => map.serialize_entry("ids", ids)?,
        }
        map.end()
    }
}

/// Body of the event that brings a reader's list up to date on connect (TS-5). It names no tool:
/// terminal clients draw a row for every tool result without a known call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SnapshotResult {
    call_id: String,
    status: &'static str,
    error: bool,
    success: bool,
    todo: Published,
    as_of_seq: u64,
}

impl SnapshotResult {
    /// A synthetic result with the whole list.
    pub(super) fn of(todo: Published, as_of_seq: u64) -> Self {
        Self {
            call_id: format!("todo:snapshot:{}:{}", todo.scope_key, todo.revision),
            status: "ok",
            error: false,
            success: true,
            todo,
            as_of_seq,
        }
    }
}
