//! Changes a valid value a little: the result is wrong in one place and right in the others.

use serde_json::{Map, Value};

use super::{
    Chance,
    oddities::{odd_number, odd_text, odd_value, pick},
};

/// Changes of one value.
const CHANGES_MAX: u64 = 3;
/// Elements that a list grows by.
const GROWTH_MAX: u64 = 300;
/// Levels that a value is wrapped in.
const DEPTH_MAX: u64 = 140;

/// Changes values, with parts of other valid ones at times.
pub struct Mutator<'a> {
    chance: &'a mut Chance,
    donors: &'a [Value],
}

impl<'a> Mutator<'a> {
    /// Takes parts from the donors, which must not be none.
    pub fn new(chance: &'a mut Chance, donors: &'a [Value]) -> Self {
        Self { chance, donors }
    }

    /// Changes a value in some places; one in four stays as it is.
    pub fn vary(&mut self, value: &mut Value) {
        for _ in 0..self.chance.below(CHANGES_MAX + 1) {
            let place = self.chance.below(size(value));
            self.change(part_mut(value, &mut { place }));
        }
    }

    fn change(&mut self, part: &mut Value) {
        match self.chance.below(9) {
            0 => *part = odd_value(self.chance),
            1 => *part = self.donated(),
            2 => self.drop_member(part),
            3 => self.rename(part),
            4 => self.grow(part),
            5 if self.chance.one_in(3) => self.wrap(part),
            6 => *part = Value::Null,
            _ => self.distort(part),
        }
    }

    /// A part of another value.
    fn donated(&mut self) -> Value {
        let donor = pick(self.chance, self.donors);
        let mut place = self.chance.below(size(donor));
        part(donor, &mut place).cloned().unwrap_or_default()
    }

    fn key_of(&mut self, members: &Map<String, Value>) -> Option<String> {
        let at = self.chance.below(members.len().max(1) as u64) as usize;
        members.keys().nth(at).cloned()
    }

    fn drop_member(&mut self, part: &mut Value) {
        match part {
            Value::Object(members) => {
                if let Some(key) = self.key_of(members) {
                    members.shift_remove(&key);
                }
            }
            Value::Array(items) if !items.is_empty() => {
                items.remove(self.chance.below(items.len() as u64) as usize);
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => *part = Value::Null,
        }
    }

    fn rename(&mut self, part: &mut Value) {
        let Value::Object(members) = part else { return self.distort(part) };
        let Some(key) = self.key_of(members) else { return };
        let Some(value) = members.shift_remove(&key) else { return };
        let name = match self.chance.below(4) {
            0 => odd_text(self.chance),
            1 => key.to_uppercase(),
            2 => key.chars().skip(1).collect(),
            _ => format!("{key}s"),
        };
        members.insert(name, value);
    }

    fn grow(&mut self, part: &mut Value) {
        let copies = if self.chance.one_in(6) { self.chance.below(GROWTH_MAX) } else { 1 };
        match part {
            Value::Array(items) => {
                let item = match items.first() {
                    Some(item) if self.chance.one_in(2) => item.clone(),
                    _ => odd_value(self.chance),
                };
                items.extend(std::iter::repeat_n(item, copies as usize));
            }
            Value::Object(members) => {
                for _ in 0..copies {
                    members.insert(odd_text(self.chance), odd_value(self.chance));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                *part = Value::Array(vec![part.clone(); copies as usize]);
            }
        }
    }

    fn wrap(&mut self, part: &mut Value) {
        for level in 0..self.chance.below(DEPTH_MAX) {
            let inner = part.take();
            *part = match level % 2 {
                0 => Value::Array(vec![inner]),
                _ => Value::Object(Map::from_iter([("a".to_owned(), inner)])),
            };
        }
    }

    /// Another value of the same type.
    fn distort(&mut self, part: &mut Value) {
        *part = match part {
            Value::Number(_) => odd_number(self.chance),
            Value::String(text) if self.chance.one_in(2) => {
                format!("{text}{}", odd_text(self.chance)).into()
            }
            Value::String(_) => odd_text(self.chance).into(),
            Value::Bool(yes) => (!*yes).into(),
            Value::Null | Value::Array(_) | Value::Object(_) => odd_value(self.chance),
        };
    }
}

/// Number of values in a value, itself among them.
fn size(value: &Value) -> u64 {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<u64>(),
        Value::Object(members) => 1 + members.values().map(size).sum::<u64>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

fn part<'v>(value: &'v Value, place: &mut u64) -> Option<&'v Value> {
    if *place == 0 {
        return Some(value);
    }
    *place -= 1;
    match value {
        Value::Array(items) => items.iter().find_map(|item| part(item, place)),
        Value::Object(members) => members.values().find_map(|member| part(member, place)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// The part at a place, or the last one before it.
fn part_mut<'v>(value: &'v mut Value, place: &mut u64) -> &'v mut Value {
    if *place == 0 {
        return value;
    }
    *place -= 1;
    let mut inside: Box<dyn Iterator<Item = &'v mut Value>> = match value {
        Value::Array(items) => Box::new(items.iter_mut()),
        Value::Object(members) => Box::new(members.values_mut()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return value,
    };
    let found = inside.find(|inner| {
        let size = size(inner);
        let here = *place < size;
        *place -= if here { 0 } else { size };
        here
    });
    found.map_or_else(|| unreachable!("the place is inside"), |inner| part_mut(inner, place))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::{Chance, Mutator, part_mut, size};

    #[test]
    fn every_part_can_be_found() {
        let mut value = json!({"a": [1, {"b": 2}], "c": "d"});
        assert_eq!(size(&value), 6);
        let parts: Vec<String> =
            (0..6).map(|place| part_mut(&mut value, &mut { place }).to_string()).collect();
        assert_eq!(parts[1..], ["[1,{\"b\":2}]", "1", "{\"b\":2}", "2", "\"d\""]);
    }

    #[test]
    fn a_seed_gives_one_value_and_seeds_give_many() {
        let seed = json!({"title": "T", "steps": [{"title": "S", "tests": ["t"]}], "n": 3});
        let varied = |number: u64| {
            let mut value = seed.clone();
            Mutator::new(&mut Chance::new(number), std::slice::from_ref(&seed)).vary(&mut value);
            value.to_string()
        };
        let all: BTreeSet<String> = (0..200).map(varied).collect();
        assert!(all.len() > 100, "{}", all.len());
        assert!(all.contains(&seed.to_string()));
        assert_eq!(varied(7), varied(7));
    }
}
