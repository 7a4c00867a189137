//! The locks of one database file, as SQLite asks for them: five levels on the file, and shared or
//! exclusive slots on its shared memory.

use std::collections::BTreeMap;

/// Who holds a lock: the number of an open handle.
pub(super) type Holder = u64;

/// How much of a database file one handle has locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Shared,
    Reserved,
    Pending,
    Exclusive,
}

/// The locks on one file.
#[derive(Debug, Default)]
pub(super) struct Locks {
    levels: BTreeMap<Holder, Level>,
}

impl Locks {
    /// Raises a holder's lock; returns whether it was granted.
    pub(super) fn raise(&mut self, holder: Holder, wanted: Level) -> bool {
        if self.levels.get(&holder).is_some_and(|held| *held >= wanted) {
            return true;
        }
        let highest = self.others(holder).max();
        let granted = match wanted {
            Level::Shared => highest < Some(Level::Pending),
            Level::Reserved | Level::Pending => highest < Some(Level::Reserved),
            Level::Exclusive if highest == Some(Level::Shared) => {
                // No new holder is let in until the readers have left.
                self.levels.insert(holder, Level::Pending);
                false
            }
            Level::Exclusive => highest.is_none(),
        };
        if granted {
            self.levels.insert(holder, wanted);
        }
        granted
    }

    /// Lowers a holder's lock, to nothing if no level is left.
    pub(super) fn lower(&mut self, holder: Holder, left: Option<Level>) {
        match left {
            None => drop(self.levels.remove(&holder)),
            Some(level) => {
                if let Some(held) = self.levels.get_mut(&holder) {
                    *held = level.min(*held);
                }
            }
        }
    }

    /// Whether anybody prepares to write.
    pub(super) fn is_reserved(&self) -> bool {
        self.levels.values().any(|level| *level >= Level::Reserved)
    }

    fn others(&self, holder: Holder) -> impl Iterator<Item = Level> {
        self.levels.iter().filter(move |(other, _)| **other != holder).map(|(_, level)| *level)
    }
}

/// How a slot of the shared memory is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Shared,
    Exclusive,
}

/// Slots that SQLite uses.
const SLOTS: usize = 8;

/// The locks on one file's shared memory.
#[derive(Debug, Default)]
pub(super) struct Slots {
    holders: [BTreeMap<Holder, Exclusive>; SLOTS],
}

/// Whether a slot's holder wants it alone.
type Exclusive = bool;

impl Slots {
    /// Locks a run of slots, all or none; returns whether it was granted.
    pub(super) fn lock(&mut self, holder: Holder, first: usize, count: usize, mode: Mode) -> bool {
        let exclusive = mode == Mode::Exclusive;
        let run = first..(first + count).min(SLOTS);
        let refused = self.holders[run.clone()].iter().any(|slot| {
            slot.iter().any(|(other, alone)| *other != holder && (exclusive || *alone))
        });
        if !refused {
            for slot in &mut self.holders[run] {
                slot.insert(holder, exclusive);
            }
        }
        !refused
    }

    /// Unlocks a run of slots.
    pub(super) fn unlock(&mut self, holder: Holder, first: usize, count: usize) {
        for slot in &mut self.holders[first..(first + count).min(SLOTS)] {
            slot.remove(&holder);
        }
    }

    /// Unlocks everything a holder has.
    pub(super) fn forget(&mut self, holder: Holder) {
        self.unlock(holder, 0, SLOTS);
    }
}
