//! A section whose keys are merged one by one (CM-1 to CM-4).

use serde_json::Value;

use super::{Object, Rank, Slots, offer_key};

/// The keys of a section, and when it was cleared last.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Section {
    keys: Slots,
    cleared: Option<Rank>,
}

impl Section {
    /// Merges an update. A missing section changes nothing, null clears, anything but an object is
    /// ignored.
    pub(super) fn merge(&mut self, rank: Rank, update: Option<&Value>) {
        if self.cleared.is_some_and(|cleared| rank < cleared) {
            return;
        }
        match update {
            Some(Value::Null) => {
                self.cleared = Some(rank);
                self.keys.retain(|_, slot| slot.rank > rank);
            }
            Some(Value::Object(update)) => {
                for (key, value) in update {
                    offer_key(&mut self.keys, key, rank, value);
                }
            }
            None | Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            }
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.keys.get(key)?.value.as_ref()
    }

    /// All keys that have a value, if there are any.
    pub(super) fn object(&self) -> Option<Object> {
        let values =
            self.keys.iter().filter_map(|(key, slot)| Some((key.clone(), slot.value.clone()?)));
        let object: Object = values.collect();
        (!object.is_empty()).then_some(object)
    }
}
