//! A settled change: every item has its id, and nothing is ambiguous.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ItemId, TodoItem, TodoPatch};

/// The five operations.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Op {
    /// The whole list.
    Replace,
    /// The empty list.
    Clear,
    /// Some fields of some items.
    Patch,
    /// One item.
    Upsert,
    /// Some items less.
    Delete,
}

impl Op {
    /// The operation of a word, aliases included (TD-3).
    pub fn of_word(word: &str) -> Option<Self> {
        match word {
            "replace" | "snapshot" => Some(Self::Replace),
            "clear" | "reset" => Some(Self::Clear),
            "patch" | "update" => Some(Self::Patch),
            "upsert" | "add" => Some(Self::Upsert),
            "delete" | "remove" => Some(Self::Delete),
            _ => None,
        }
    }

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Replace => "replace",
            Self::Clear => "clear",
            Self::Patch => "patch",
            Self::Upsert => "upsert",
            Self::Delete => "delete",
        }
    }

    /// Whether the list afterwards does not depend on the list before.
    pub const fn is_whole(self) -> bool {
        matches!(self, Self::Replace | Self::Clear)
    }
}

/// What happens to a list, ready to be applied and to be sent.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum ListChange {
    /// The list becomes these items.
    Replace {
        /// The list, each id once.
        items: Vec<TodoItem>,
    },
    /// The list becomes empty.
    Clear,
    /// Fields of items change.
    Patch {
        /// What changes, in order.
        patches: Vec<TodoPatch>,
    },
    /// An item is put in, or takes the place of the one with its id.
    Upsert {
        /// The item.
        item: TodoItem,
        /// Where a new item goes, when not to the end.
        position: Option<usize>,
    },
    /// Items go.
    Delete {
        /// Their ids, each once.
        ids: Vec<ItemId>,
    },
}

impl ListChange {
    /// Its name.
    pub fn op(&self) -> Op {
        match self {
            Self::Replace { .. } => Op::Replace,
            Self::Clear => Op::Clear,
            Self::Patch { .. } => Op::Patch,
            Self::Upsert { .. } => Op::Upsert,
            Self::Delete { .. } => Op::Delete,
        }
    }

    /// Changes a list.
    pub fn apply(&self, items: &mut Vec<TodoItem>) {
        match self {
            Self::Replace { items: given } => items.clone_from(given),
            Self::Clear => items.clear(),
            Self::Patch { patches } => patch(items, patches),
            Self::Upsert { item, position } => upsert(items, item, *position),
            Self::Delete { ids } => {
                let gone: BTreeSet<&ItemId> = ids.iter().collect();
                items.retain(|item| !gone.contains(&item.id));
            }
        }
    }
}

/// Applies patches in order; an id that is not there changes nothing (TD-20).
fn patch(items: &mut [TodoItem], patches: &[TodoPatch]) {
    let wanted: BTreeSet<&ItemId> = patches.iter().map(|patch| &patch.id).collect();
    // Computed once, because a list and its patches may both be long.
    let places: BTreeMap<ItemId, usize> = items
        .iter()
        .enumerate()
        .filter(|(_, item)| wanted.contains(&item.id))
        .map(|(at, item)| (item.id.clone(), at))
        .collect();
    for patch in patches {
        if let Some(item) = places.get(&patch.id).and_then(|at| items.get_mut(*at)) {
            patch.apply(item);
        }
    }
}

/// A known id is replaced whole and keeps its place, whatever the position (TD-21).
fn upsert(items: &mut Vec<TodoItem>, item: &TodoItem, position: Option<usize>) {
    match items.iter_mut().find(|known| known.id == item.id) {
        Some(known) => known.clone_from(item),
        None => {
            let at = position.unwrap_or(items.len()).min(items.len());
            items.insert(at, item.clone());
        }
    }
}
