//! Settles what an update leaves open: missing ids, duplicate ids, positions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{ItemId, ListChange, TodoEntry, TodoItem, TodoOperation, WrittenTodo};
use crate::text;

/// The change of a list by an operation.
pub(super) fn settle(present: &[TodoItem], operation: &TodoOperation) -> ListChange {
    match operation {
        TodoOperation::Replace(entries) => {
            ListChange::Replace { items: replaced(present, entries) }
        }
        TodoOperation::Clear => ListChange::Clear,
        TodoOperation::Patch(patches) => ListChange::Patch { patches: patches.clone() },
        TodoOperation::Upsert { entry, position } => upserted(present, entry, *position),
        TodoOperation::Delete(ids) => ListChange::Delete { ids: each_once(ids) },
    }
}

/// The list of these entries: known items keep what an entry leaves out (TT-10, EASE-TODO-1).
pub(super) fn written(present: &[TodoItem], entries: &[WrittenTodo]) -> ListChange {
    let named: BTreeSet<&ItemId> = entries.iter().filter_map(|entry| entry.id.as_ref()).collect();
    let by_id: BTreeMap<&ItemId, &TodoItem> = match named.is_empty() {
        true => BTreeMap::new(),
        false => present.iter().map(|item| (&item.id, item)).collect(),
    };
    let mut naming = Naming::over(present, named);
    let item = |entry: &WrittenTodo| match &entry.id {
        Some(id) => entry.item(id.clone(), by_id.get(id).copied()),
        None => match naming.take(&entry.title) {
            Some(known) => entry.item(known.id.clone(), Some(known)),
            None => entry.item(naming.make(&entry.title), None),
        },
    };
    ListChange::Replace { items: entries.iter().map(item).collect() }
}

/// One row per id: where it occurs first, as it occurs last (TD-18).
fn replaced(present: &[TodoItem], entries: &[TodoEntry]) -> Vec<TodoItem> {
    let written = entries.iter().filter_map(|entry| entry.id.as_ref()).collect();
    let mut naming = Naming::over(present, written);
    let mut items: Vec<TodoItem> = Vec::with_capacity(entries.len());
    let mut places: BTreeMap<ItemId, usize> = BTreeMap::new();
    for entry in entries {
        let item = entry.item(naming.id_of(entry));
        match places.get(&item.id).and_then(|at| items.get_mut(*at)) {
            Some(earlier) => *earlier = item,
            None => {
                places.insert(item.id.clone(), items.len());
                items.push(item);
            }
        }
    }
    items
}

/// The position is given only where it matters, and within the list (TD-21).
fn upserted(present: &[TodoItem], entry: &TodoEntry, position: Option<i64>) -> ListChange {
    let id = Naming::over(present, entry.id.iter().collect()).id_of(entry);
    let is_known = present.iter().any(|item| item.id == id);
    let within = |at: i64| usize::try_from(at.max(0)).unwrap_or(usize::MAX).min(present.len());
    let position = position.filter(|_| !is_known).map(within);
    ListChange::Upsert { item: entry.item(id), position }
}

fn each_once(ids: &[ItemId]) -> Vec<ItemId> {
    let mut seen = BTreeSet::new();
    ids.iter().filter(|id| seen.insert(*id)).cloned().collect()
}

/// Assigns ids to items without one (TD-17).
struct Naming<'a> {
    /// The present list.
    present: &'a [TodoItem],
    /// Ids that are written in the update.
    reserved: BTreeSet<&'a ItemId>,
    /// Items of the present list that can still be recognized, by folded title. Built on first use:
    /// a list with ids needs none.
    known: Option<BTreeMap<String, VecDeque<&'a TodoItem>>>,
    /// Ids of the present list, built at the same time.
    used: BTreeSet<&'a ItemId>,
    /// How many ids were tried per stem.
    tried: BTreeMap<String, u64>,
}

impl<'a> Naming<'a> {
    fn over(present: &'a [TodoItem], reserved: BTreeSet<&'a ItemId>) -> Self {
        let used = BTreeSet::new();
        let tried = BTreeMap::new();
        Self { present, reserved, known: None, used, tried }
    }

    fn id_of(&mut self, entry: &TodoEntry) -> ItemId {
        match &entry.id {
            Some(id) => id.clone(),
            None => match self.take(&entry.title) {
                Some(known) => known.id.clone(),
                None => self.make(&entry.title),
            },
        }
    }

    /// The first item with this title whose id is neither reserved nor taken; it is taken now.
    fn take(&mut self, title: &str) -> Option<&'a TodoItem> {
        let present = self.present;
        let reserved = &self.reserved;
        let used = &mut self.used;
        let known = self.known.get_or_insert_with(|| {
            let mut known: BTreeMap<String, VecDeque<&'a TodoItem>> = BTreeMap::new();
            for item in present {
                used.insert(&item.id);
                if !reserved.contains(&item.id) {
                    known.entry(text::fold(&item.title)).or_default().push_back(item);
                }
            }
            known
        });
        known.get_mut(&text::fold(title))?.pop_front()
    }

    /// A new id for this title, unlike every id of the present list and of the update.
    ///
    /// It comes from the title, so that readers that saw different parts of a history make the same
    /// one, and is long enough that no producer writes it by accident.
    fn make(&mut self, title: &str) -> ItemId {
        let stem = format!("t-{:016x}", fingerprint(&text::fold(title)));
        let tried = self.tried.entry(stem.clone()).or_default();
        loop {
            *tried += 1;
            let id = ItemId::made(match *tried {
                1 => stem.clone(),
                another => format!("{stem}-{another}"),
            });
            if !self.used.contains(&id) && !self.reserved.contains(&id) {
                return id;
            }
        }
    }
}

/// FNV-1a over the bytes of a string; collisions are resolved by numbering.
fn fingerprint(text: &str) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    text.bytes().fold(BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}
