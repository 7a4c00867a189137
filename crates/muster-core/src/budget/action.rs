//! The ways to make a view smaller.

use serde_json::{Map, Value};

use super::measure::{entry_size, separators, size, text_size};
use crate::text;

/// Which end of a list loses elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutEnd {
    /// Removes the first element first: for lists from old to new.
    Oldest,
    /// The last element goes first.
    Last,
}

/// Keeps pagination correct while a list loses elements (TASKS-BUD-5): gets the view's root object
/// and the last element still shown, and returns how many characters it saved (negative: added).
pub type PageCounter = Box<dyn Fn(&mut Map<String, Value>, Option<&Value>, usize) -> isize>;

/// One action. Paths are dotted; `*` means every element of a list.
#[derive(Clone, Copy)]
pub struct BudgetAction {
    pub(super) at: &'static str,
    also_at: Option<&'static str>,
    change: Change,
}

#[derive(Clone, Copy)]
enum Change {
    /// Shorten a string.
    Cut(usize),
    /// Remove a key.
    Drop,
    /// Remove several keys in one action.
    DropKeys(&'static [&'static str]),
    /// Keep only these keys.
    Keep(&'static [&'static str]),
    /// Remove elements one by one until `keep` are left.
    Pop { end: CutEnd, keep: usize },
    /// Whatever else a view needs.
    Other(fn(&mut Value) -> isize),
    /// Remove keys of the view itself.
    DropRoot(&'static [&'static str]),
    /// Change the elements of a list, one action each.
    Each { end: CutEnd, change: fn(&mut Value) -> isize },
}

impl BudgetAction {
    const fn new(at: &'static str, change: Change) -> Self {
        Self { at, also_at: None, change }
    }

    /// Keeps the first `max - 1` characters and `…` of a longer text.
    pub const fn cut(at: &'static str, max: usize) -> Self {
        Self::new(at, Change::Cut(max))
    }

    /// Removes the key at the end of the path.
    pub const fn drop(at: &'static str) -> Self {
        Self::new(at, Change::Drop)
    }

    /// Removes several keys of the object at the path, as one action.
    pub const fn drop_keys(at: &'static str, keys: &'static [&'static str]) -> Self {
        Self::new(at, Change::DropKeys(keys))
    }

    /// Leaves only the named keys of the object at the path.
    pub const fn keep(at: &'static str, keys: &'static [&'static str]) -> Self {
        Self::new(at, Change::Keep(keys))
    }

    /// Removes elements of the list at the path, one action each, until `keep` are left.
    pub const fn pop(at: &'static str, end: CutEnd, keep: usize) -> Self {
        Self::new(at, Change::Pop { end, keep })
    }

    /// A change of the value at the path that returns how many characters it saved.
    pub const fn other(at: &'static str, change: fn(&mut Value) -> isize) -> Self {
        Self::new(at, Change::Other(change))
    }

    /// A change of each element of a list, from one end, one action each.
    pub const fn each(at: &'static str, end: CutEnd, change: fn(&mut Value) -> isize) -> Self {
        Self::new(at, Change::Each { end, change })
    }

    /// Removes several keys of the view itself, as one action.
    pub const fn drop_root(keys: &'static [&'static str]) -> Self {
        Self::new("", Change::DropRoot(keys))
    }

    /// The same action in a second place: both count as one.
    pub const fn also(self, at: &'static str) -> Self {
        Self { also_at: Some(at), ..self }
    }

    /// Whether it represents one action per element of a list.
    pub(super) fn is_repeated(&self) -> bool {
        matches!(self.change, Change::Pop { .. } | Change::Each { .. })
    }

    /// The fields that it would cut of a view: the first two components, or just the first inside
    /// `target` and `steps` (TASKS-BUD-4).
    pub(super) fn fields(&self, root: &Value) -> Vec<String> {
        if let Change::DropRoot(keys) = self.change {
            let present = keys.iter().filter(|key| root.get(key).is_some());
            return present.map(|key| (*key).to_owned()).collect();
        }
        self.places().map(field).collect()
    }

    fn places(&self) -> impl Iterator<Item = &'static str> {
        [self.at].into_iter().chain(self.also_at)
    }

    /// Applies it and returns the new size; popping stops as soon as the view fits.
    pub(super) fn apply(
        &self,
        root: &mut Value,
        (used, max): (usize, usize),
        page: Option<&PageCounter>,
    ) -> usize {
        if let Change::Pop { end, keep } = self.change {
            return pop(root, self.at, &Popping { end, keep, page, max }, used);
        }
        if let Change::Each { end, change } = self.change {
            return change_each(root, self.at, end, change, (used, max));
        }
        if let (Change::DropRoot(keys), Value::Object(map)) = (&self.change, &mut *root) {
            let saved = keep_only(map, |key| !keys.contains(&key));
            return used.saturating_add_signed(-saved);
        }
        let mut saved = 0;
        for at in self.places() {
            visit(root, at, &mut |place| saved += self.change.apply(place));
        }
        used.saturating_add_signed(-saved)
    }
}

fn field(at: &str) -> String {
    let mut parts = at.split('.').filter(|part| *part != "*");
    let first = parts.next().unwrap_or_default();
    match parts.next() {
        Some(second) if first != "target" && first != "steps" => format!("{first}.{second}"),
        Some(_) | None => first.to_owned(),
    }
}

/// Where a change applies: the object and the key at the end of a path.
struct Place<'a> {
    parent: &'a mut Map<String, Value>,
    key: &'a str,
}

impl Change {
    fn apply(&self, place: Place<'_>) -> isize {
        let Place { parent, key } = place;
        if matches!(self, Self::Drop) {
            return drop_key(parent, key);
        }
        let Some(value) = parent.get_mut(key) else { return 0 };
        match (self, value) {
            (Self::Cut(max), Value::String(string)) => cut(string, *max),
            (Self::DropKeys(keys), Value::Object(map)) => {
                keep_only(map, |key| !keys.contains(&key))
            }
            (Self::Keep(keys), Value::Object(map)) => keep_only(map, |key| keys.contains(&key)),
            (Self::Other(change), value) => change(value),
            _ => 0,
        }
    }
}

/// Removes a key and returns how many characters that saved.
pub fn drop_key(map: &mut Map<String, Value>, key: &str) -> isize {
    match map.shift_remove(key) {
        Some(value) => signed(entry_size(key, &value) + usize::from(!map.is_empty())),
        None => 0,
    }
}

/// Removes all keys but some and returns how many characters that saved. Removing them one by one
/// would move the rest of the object each time.
fn keep_only(map: &mut Map<String, Value>, keeps: impl Fn(&str) -> bool) -> isize {
    let commas = separators(map.len());
    let mut saved = 0;
    map.retain(|key, value| {
        let is_kept = keeps(key);
        if !is_kept {
            saved += entry_size(key, value);
        }
        is_kept
    });
    signed(saved + commas - separators(map.len()))
}

/// Calls `act` for the end of the path, once per element where the path has a `*`.
///
/// A path that ends in `*` names the elements themselves, which must be objects: they are handed
/// over one by one under the empty key, so that every change sees the same kind of place.
fn visit(value: &mut Value, path: &str, act: &mut dyn FnMut(Place<'_>)) {
    let (head, rest) = path.split_once('.').map_or((path, None), |(head, rest)| (head, Some(rest)));
    match (value, rest) {
        (Value::Array(items), Some(rest)) if head == "*" => {
            items.iter_mut().for_each(|item| visit(item, rest, act));
        }
        (Value::Array(items), None) if head == "*" => {
            for item in items {
                let mut holder = Map::from_iter([(String::new(), item.take())]);
                act(Place { parent: &mut holder, key: "" });
                *item = holder.remove("").unwrap_or(Value::Null);
            }
        }
        (Value::Object(map), Some(rest)) => {
            if let Some(next) = map.get_mut(head) {
                visit(next, rest, act);
            }
        }
        (Value::Object(map), None) => act(Place { parent: map, key: head }),
        _ => {}
    }
}

struct Popping<'a> {
    end: CutEnd,
    keep: usize,
    page: Option<&'a PageCounter>,
    max: usize,
}

/// Pops elements until the view fits or `keep` are left; a list that loses its head is reversed
/// once.
fn pop(root: &mut Value, at: &str, popping: &Popping<'_>, used: usize) -> usize {
    let Some(mut items) = take_list(root, at) else { return used };
    if popping.end == CutEnd::Oldest {
        items.reverse();
    }
    let mut used = used;
    while used > popping.max && items.len() > popping.keep {
        let Some(item) = items.pop() else { break };
        let mut saved = signed(size(&item) + usize::from(!items.is_empty()));
        if let (Some(page), Value::Object(map)) = (popping.page, &mut *root) {
            saved += page(map, items.last(), items.len());
        }
        used = used.saturating_add_signed(-saved);
    }
    if popping.end == CutEnd::Oldest {
        items.reverse();
    }
    visit(root, at, &mut |place| {
        if let Some(slot) = place.parent.get_mut(place.key) {
            *slot = Value::Array(std::mem::take(&mut items));
        }
    });
    used
}

/// Changes elements one by one from the given end until the view fits.
fn change_each(
    root: &mut Value,
    at: &str,
    end: CutEnd,
    change: fn(&mut Value) -> isize,
    (used, max): (usize, usize),
) -> usize {
    let mut used = used;
    visit(root, at, &mut |place| {
        let Some(Value::Array(items)) = place.parent.get_mut(place.key) else { return };
        let mut act = |item: &mut Value| {
            if used > max {
                used = used.saturating_add_signed(-change(item));
            }
        };
        match end {
            CutEnd::Oldest => items.iter_mut().for_each(&mut act),
            CutEnd::Last => items.iter_mut().rev().for_each(&mut act),
        }
    });
    used
}

fn take_list(root: &mut Value, at: &str) -> Option<Vec<Value>> {
    let mut found = None;
    visit(root, at, &mut |place| {
        if let Some(Value::Array(items)) = place.parent.get_mut(place.key) {
            found = Some(std::mem::take(items));
        }
    });
    found
}

/// Shortens a string as [`BudgetAction::cut`] does and returns how many characters that saved.
pub fn cut(string: &mut String, max: usize) -> isize {
    let short = text::cut(string, max);
    if short == *string {
        return 0;
    }
    let before = std::mem::replace(string, short);
    signed(text_size(&before)) - signed(text_size(string))
}

/// Replaces the value of a key and returns how many characters that saved.
pub fn replace(map: &mut Map<String, Value>, key: &str, value: impl Into<Value>) -> isize {
    let value = value.into();
    let after = signed(size(&value));
    match map.get_mut(key) {
        Some(slot) => {
            let before = signed(size(slot));
            *slot = value;
            before - after
        }
        None => 0,
    }
}

fn signed(size: usize) -> isize {
    isize::try_from(size).unwrap_or(isize::MAX)
}
