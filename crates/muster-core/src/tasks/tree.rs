//! A task's steps, kept in path order.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::{entity::StepSums, id::StepId, path::StepPath, step::Step, view::brief::StepLines};
use crate::Timestamp;

/// The tree of steps as a list in pre-order. Copies share the steps that they have in common, so
/// that changing one step of a large task does not copy the others.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StepTree {
    steps: Vec<Arc<Step>>,
    /// Ordinal of the next root step; never goes back (TASKS-PATH-2).
    next_root: u32,
    #[serde(skip)]
    known: KnownOfSteps,
}

/// What was computed from the steps, until one of them changes. Every write of a task needs it, and
/// computing it walks through all steps a dozen times.
#[derive(Clone, Debug, Default)]
struct KnownOfSteps {
    sums: OnceLock<StepSums>,
    lines: OnceLock<Arc<StepLines>>,
}

impl PartialEq for StepTree {
    fn eq(&self, other: &Self) -> bool {
        self.steps == other.steps && self.next_root == other.next_root
    }
}

impl StepTree {
    /// Sums over all steps.
    pub(super) fn sums(&self) -> &StepSums {
        self.known.sums.get_or_init(|| StepSums::of(self))
    }

    /// What briefs show of the steps.
    pub(super) fn lines(&self, compute: impl FnOnce() -> StepLines) -> &Arc<StepLines> {
        self.known.lines.get_or_init(|| Arc::new(compute()))
    }

    /// Counts a note on a step. Nothing that is known of the steps depends on notes.
    pub(super) fn count_note(&mut self, path: &StepPath, notes: u32, at: Timestamp) {
        if let Ok(place) = self.position(path) {
            let step = Arc::make_mut(&mut self.steps[place]);
            step.notes = notes;
            step.updated_at = at;
        }
    }

    /// The steps in groups of this size.
    pub(super) fn groups(&self, size: usize) -> impl Iterator<Item = &[Arc<Step>]> {
        self.steps.chunks(size)
    }

    /// All steps in path order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Step> {
        self.steps.iter().map(|step| &**step)
    }

    /// All steps, for changing; their paths stay as they are.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Step> {
        self.known = KnownOfSteps::default();
        self.steps.iter_mut().map(Arc::make_mut)
    }

    /// Number of steps, children included.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub fn at(&self, path: &StepPath) -> Option<&Step> {
        self.position(path).ok().map(|at| &*self.steps[at])
    }

    /// The step at a path, for changing.
    pub fn at_mut(&mut self, path: &StepPath) -> Option<&mut Step> {
        self.known = KnownOfSteps::default();
        self.position(path).ok().map(|at| Arc::make_mut(&mut self.steps[at]))
    }

    pub fn by_id(&self, id: StepId) -> Option<&Step> {
        self.iter().find(|step| step.id == id)
    }

    /// Ordinal that the next child of `parent` will get.
    pub fn next_ordinal(&self, parent: Option<&StepPath>) -> u32 {
        match parent {
            None => self.next_root,
            Some(path) => self.at(path).map_or(0, |step| step.next_child),
        }
    }

    /// Adds a step at its path and advances the counter of its parent.
    pub fn insert(&mut self, step: Step) {
        let next = self.next_ordinal(step.path.parent().as_ref()) + 1;
        match step.path.parent() {
            None => self.next_root = next,
            Some(parent) => {
                if let Some(parent) = self.at_mut(&parent) {
                    parent.next_child = next;
                }
            }
        }
        self.put_back(step);
    }

    /// Puts a removed step back at its path, whose ordinal was never given to another one.
    pub fn put_back(&mut self, step: Step) {
        self.known = KnownOfSteps::default();
        match self.position(&step.path) {
            Ok(taken) => unreachable!("ordinals are never reused: {}", self.steps[taken].path),
            Err(place) => self.steps.insert(place, Arc::new(step)),
        }
    }

    /// Removes a step and everything below it; returns how many were removed.
    pub fn remove(&mut self, path: &StepPath) -> usize {
        let before = self.steps.len();
        self.known = KnownOfSteps::default();
        self.steps.retain(|step| step.path != *path && !step.path.is_below(path));
        before - self.steps.len()
    }

    /// Steps at and below a path, in order.
    pub fn subtree<'a>(&'a self, path: &'a StepPath) -> impl Iterator<Item = &'a Step> {
        self.iter().filter(move |step| step.path == *path || step.path.is_below(path))
    }

    /// Open direct children of a step.
    pub fn open_children<'a>(&'a self, parent: &'a StepPath) -> impl Iterator<Item = &'a Step> {
        let below = match self.position(parent) {
            Ok(at) => &self.steps[at + 1..],
            Err(_) => &[],
        };
        let below = below.iter().map(|step| &**step);
        let below = below.take_while(|step| step.path.is_below(parent));
        below.filter(|step| step.path.is_child_of(parent) && !step.is_closed())
    }

    /// The first open step, children before their parent, siblings by ordinal (TASKS-ORD-2).
    ///
    /// In pre-order, a subtree is contiguous. Walking down from the first open root, the answer is
    /// the first open child's answer, or the step itself when no child is open. A closed step has
    /// no open child (TASKS-STATE-3), so only open steps need walking into.
    pub fn first_open(&self) -> Option<&Step> {
        let mut found = self.iter().find(|step| !step.is_closed())?;
        while let Some(child) = self.open_children(&found.path).next() {
            found = child;
        }
        Some(found)
    }

    fn position(&self, path: &StepPath) -> Result<usize, usize> {
        self.steps.binary_search_by(|step| step.path.cmp(path))
    }
}
