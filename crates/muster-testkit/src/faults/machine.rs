//! The machine around the disk: names, open handles, locks, shared memory, and which call fails.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    chance::Chance,
    file::File,
    locks::{Holder, Locks, Slots},
};

/// A failure to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The first call that may fail, counted from when the fault was armed; the first one is 1.
    pub call: u64,
    /// How it fails.
    pub kind: FaultKind,
    /// Whether it stays.
    pub lasting: Lasting,
}

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Any call: input or output error.
    Broken,
    /// A write: no space is left; a part of it may have been written.
    Full,
    /// A sync: the disk did not take everything, and the rest is forgotten.
    SyncFailed,
}

/// Whether a failure stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    /// One call fails.
    Once,
    /// Every such call fails from then on, until the power is cycled.
    Always,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Open,
    Delete,
    Look,
    Read,
    Write,
    Truncate,
    Sync,
    Map,
}

/// Why a call did not do what it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// Input or output error.
    Broken,
    /// No space.
    Full,
    /// There is no such file.
    Missing,
}

/// An open handle: who it is, and which file it is for.
pub(super) struct Handle {
    pub(super) holder: Holder,
    node: Arc<Mutex<Node>>,
}

impl Handle {
    /// The file; code that needs the machine's state too locks that first.
    pub(super) fn node(&self) -> MutexGuard<'_, Node> {
        lock(&self.node)
    }
}

/// A file with everything that hangs on it while it is open.
#[derive(Default)]
pub(super) struct Node {
    pub(super) file: File,
    pub(super) locks: Locks,
    pub(super) slots: Slots,
    /// Shared memory in regions; their addresses stay as long as anybody has them mapped.
    regions: Vec<Box<[u64]>>,
    mapped_by: BTreeSet<Holder>,
}

impl Node {
    /// The region with this number; made if `extend` says so.
    pub(super) fn region(
        &mut self,
        holder: Holder,
        number: usize,
        bytes: usize,
        extend: bool,
    ) -> Option<*mut u64> {
        while extend && self.regions.len() <= number {
            self.regions.push(vec![0; bytes / size_of::<u64>()].into_boxed_slice());
        }
        self.mapped_by.insert(holder);
        self.regions.get_mut(number).map(|region| region.as_mut_ptr())
    }

    /// A handle no longer uses the shared memory; the last one to say so frees it.
    pub(super) fn unmap(&mut self, holder: Holder) {
        self.mapped_by.remove(&holder);
        self.slots.forget(holder);
        if self.mapped_by.is_empty() {
            self.regions.clear();
        }
    }
}

/// The machine's state; all handles of one disk share it.
pub(super) struct Machine {
    state: Mutex<State>,
}

struct State {
    chance: Chance,
    names: BTreeMap<String, Arc<Mutex<Node>>>,
    /// Files that were deleted without their folder being synced: they may come back.
    ghosts: BTreeMap<String, File>,
    holders: Holder,
    calls: u64,
    changes: u64,
    power_until: Option<u64>,
    fault: Option<Fault>,
    fired: u64,
}

impl Machine {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            state: Mutex::new(State {
                chance: Chance::new(seed),
                names: BTreeMap::new(),
                ghosts: BTreeMap::new(),
                holders: 0,
                calls: 0,
                changes: 0,
                power_until: None,
                fault: None,
                fired: 0,
            }),
        }
    }

    /// Every change is made in one step under the lock, so a panic leaves nothing half done.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn cut_power_after(&self, changes: u64) {
        let mut state = self.state();
        state.power_until = Some(state.changes + changes);
    }

    pub(super) fn has_power(&self) -> bool {
        self.state().has_power()
    }

    pub(super) fn arm(&self, fault: Fault) {
        let mut state = self.state();
        state.fault = Some(fault);
        state.calls = 0;
        state.fired = 0;
    }

    pub(super) fn fired(&self) -> u64 {
        self.state().fired
    }

    pub(super) fn format(&self, seed: u64) {
        let mut state = self.state();
        state.chance = Chance::new(seed);
        state.names.clear();
        state.ghosts.clear();
        state.power_until = None;
        state.fault = None;
    }

    /// Takes a cut back: nothing of what was written is lost.
    pub(super) fn restore_power(&self) {
        self.state().power_until = None;
    }

    /// Turns the power off, if it still is on, and on again.
    pub(super) fn cycle_power(&self) {
        let mut state = self.state();
        let State { chance, names, ghosts, .. } = &mut *state;
        names.retain(|_, node| lock(node).file.lose_power(chance));
        for (name, mut ghost) in std::mem::take(ghosts) {
            if chance.one_in(2) && !names.contains_key(&name) && ghost.lose_power(chance) {
                let node = Node { file: ghost, ..Node::default() };
                names.insert(name, Arc::new(Mutex::new(node)));
            }
        }
        state.power_until = None;
        state.fault = None;
    }

    /// Opens a file; a file without a name belongs to its handle and ends with it.
    pub(super) fn open(&self, name: Option<&str>, create: bool) -> Result<Handle, Failure> {
        let mut state = self.state();
        state.admit(Call::Open)?;
        state.holders += 1;
        let holder = state.holders;
        let Some(name) = name else { return Ok(Handle { holder, node: Arc::default() }) };
        if let Some(node) = state.names.get(name) {
            return Ok(Handle { holder, node: Arc::clone(node) });
        }
        if !create {
            return Err(Failure::Missing);
        }
        let node: Arc<Mutex<Node>> = Arc::default();
        state.names.insert(name.to_owned(), Arc::clone(&node));
        Ok(Handle { holder, node })
    }

    pub(super) fn delete(&self, name: &str, sync_folder: bool) -> Result<(), Failure> {
        let mut state = self.state();
        state.admit(Call::Delete)?;
        let node = state.names.remove(name).ok_or(Failure::Missing)?;
        let file = lock(&node).file.clone();
        if sync_folder {
            state.ghosts.clear();
        } else if file.is_durable() {
            state.ghosts.insert(name.to_owned(), file);
        }
        Ok(())
    }

    pub(super) fn exists(&self, name: &str) -> Result<bool, Failure> {
        let mut state = self.state();
        state.admit(Call::Look)?;
        Ok(state.names.contains_key(name))
    }

    pub(super) fn admit(&self, call: Call) -> Result<(), Failure> {
        self.state().admit(call)
    }

    pub(super) fn write(&self, to: &Handle, offset: usize, bytes: &[u8]) -> Result<(), Failure> {
        let mut state = self.state();
        let admitted = state.admit(Call::Write);
        match admitted {
            Ok(()) => to.node().file.write(offset, bytes),
            Err(Failure::Full) => {
                let written = state.chance.below(bytes.len() as u64 + 1);
                let written = usize::try_from(written).unwrap_or(0);
                to.node().file.write(offset, &bytes[..written]);
            }
            Err(Failure::Broken | Failure::Missing) => {}
        }
        admitted
    }

    pub(super) fn sync(&self, handle: &Handle) -> Result<(), Failure> {
        let mut state = self.state();
        let admitted = state.admit(Call::Sync);
        let mut node = handle.node();
        match admitted {
            Ok(()) => {
                // As on Linux, syncing a new file makes its name durable and settles its folder.
                if !node.file.is_durable() {
                    state.ghosts.clear();
                }
                node.file.sync();
            }
            Err(_) if state.has_power() => node.file.fail_sync(&mut state.chance),
            Err(_) => {}
        }
        admitted
    }

    /// Bytes that differ from call to call but follow from the seed.
    pub(super) fn fill(&self, buffer: &mut [u8]) {
        let mut state = self.state();
        for byte in buffer {
            *byte = state.chance.draw().to_le_bytes()[0];
        }
    }
}

impl State {
    fn has_power(&self) -> bool {
        self.power_until.is_none_or(|until| self.changes < until)
    }

    /// Counts a call and says whether it works.
    fn admit(&mut self, call: Call) -> Result<(), Failure> {
        self.calls += 1;
        if !self.has_power() {
            return Err(Failure::Broken);
        }
        match call {
            Call::Open | Call::Delete | Call::Write | Call::Truncate | Call::Sync => {
                self.changes += 1;
            }
            Call::Look | Call::Read | Call::Map => {}
        }
        let Some(fault) = self.fault.filter(|fault| self.calls >= fault.call) else {
            return Ok(());
        };
        let failure = match (fault.kind, call) {
            (FaultKind::Broken, _) | (FaultKind::SyncFailed, Call::Sync) => Failure::Broken,
            (FaultKind::Full, Call::Write) => Failure::Full,
            (FaultKind::SyncFailed | FaultKind::Full, _) => return Ok(()),
        };
        self.fired += 1;
        if fault.lasting == Lasting::Once {
            self.fault = None;
        }
        Err(failure)
    }
}

/// Every change of a node is made in one step as well.
fn lock(node: &Mutex<Node>) -> MutexGuard<'_, Node> {
    node.lock().unwrap_or_else(PoisonError::into_inner)
}
