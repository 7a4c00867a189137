//! The section that describes one node (CM-5): a score of an older node is never combined with the
//! id of a newer one, in whatever order the updates come.
//!
//! ```text
//!   seq   1         4         6         7
//!         node a    node b    score     node b
//!         └ floor   └ start             └ newest
//! ```
//!
//! What is not above the floor belongs to another node and is forgotten. Updates without an id
//! belong to the node that was there at their time. They are kept separately, because a late update
//! can move its start back.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Object, Rank, Slots, offer_key};

/// The keys of the node that is there.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct LastNodeSection {
    node: Option<Described>,
    /// Keys of updates without an id.
    loose: Slots,
    /// Everything below is about another node, or was cleared.
    floor: Option<Rank>,
}

#[derive(Clone, PartialEq, Debug)]
struct Described {
    id: Value,
    /// Ranks of all updates with this id; the first is its start.
    ranks: BTreeSet<Rank>,
    keys: Slots,
}

impl LastNodeSection {
    /// Takes an update over.
    pub(super) fn merge(&mut self, rank: Rank, update: Option<&Value>) {
        if self.floor.is_some_and(|floor| rank < floor) {
            return;
        }
        match update {
            Some(Value::Null) => self.forget_until(rank),
            Some(Value::Object(update)) => match update.get("id") {
                Some(Value::Null) => self.forget_until(rank),
                Some(id) => self.describe(rank, id, update),
                None => {
                    for (key, value) in update {
                        offer_key(&mut self.loose, key, rank, value);
                    }
                }
            },
            None | Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            }
        }
    }

    fn describe(&mut self, rank: Rank, id: &Value, update: &Object) {
        let other = self.node.as_ref().filter(|node| node.id != *id);
        let newest = other.and_then(|node| node.ranks.last().copied());
        match newest {
            Some(newest) if rank < newest => return self.forget_until(rank),
            // Also what is as new as the update: the later of two equals wins.
            Some(newest) => {
                self.forget_until(newest);
                self.node = None;
            }
            None => {}
        }
        let (ranks, keys) = Default::default();
        let node = self.node.get_or_insert_with(|| Described { id: id.clone(), ranks, keys });
        node.ranks.insert(rank);
        for (key, value) in update.iter().filter(|(key, _)| *key != "id") {
            offer_key(&mut node.keys, key, rank, value);
        }
    }

    /// Drops everything up to this rank permanently.
    fn forget_until(&mut self, rank: Rank) {
        self.floor = self.floor.max(Some(rank));
        self.loose.retain(|_, slot| slot.rank > rank);
        if let Some(node) = &mut self.node {
            node.keys.retain(|_, slot| slot.rank > rank);
            node.ranks.retain(|known| *known > rank);
        }
        self.node.take_if(|node| node.ranks.is_empty());
    }

    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        let Some(node) = &self.node else { return self.loose.get(key)?.value.as_ref() };
        if key == "id" {
            return Some(&node.id);
        }
        let start = node.ranks.first();
        let loose = self.loose.get(key).filter(|slot| Some(&slot.rank) >= start);
        let named = node.keys.get(key);
        let newest = match (named, loose) {
            (Some(named), Some(loose)) if loose.rank > named.rank => Some(loose),
            (named, loose) => named.or(loose),
        };
        newest?.value.as_ref()
    }

    /// All keys that have a value, if there are any.
    pub(super) fn object(&self) -> Option<Object> {
        let named = self.node.iter().flat_map(|node| node.keys.keys());
        let id = "id".to_owned();
        let keys: BTreeSet<&String> = named.chain(self.loose.keys()).chain([&id]).collect();
        let values = keys.into_iter().filter_map(|key| Some((key.clone(), self.get(key)?.clone())));
        let object: Object = values.collect();
        (!object.is_empty()).then_some(object)
    }
}
