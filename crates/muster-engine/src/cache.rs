//! Decoded documents, kept by version.
//!
//! Nothing here can be stale: an entry is used only when the store, read in the same snapshot as
//! everything else, reports the version that was decoded. Versions are positions in the log, and a
//! position is never used again once it is committed; so nothing is cached here before its
//! transaction commits.

use std::{
    any::Any,
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use muster_core::{Address, Aggregate};
use muster_store::DocumentRow;

/// Limit of cached documents, measured by the length of their text. Every agent has a process of
/// its own, so memory counts there.
const KEPT_BYTES_MAX: usize = 1024 * 1024;
/// The same in a process that serves many callers.
const SERVED_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The documents of one process, whatever their type.
pub(crate) struct Cache {
    generations: Mutex<Generations>,
    bytes_max: usize,
}

impl Default for Cache {
    fn default() -> Self {
        Self { generations: Mutex::default(), bytes_max: KEPT_BYTES_MAX }
    }
}

/// Two generations. When the recent one is full it becomes the old one, and entries of the previous
/// old one that were not used since are dropped.
#[derive(Default)]
struct Generations {
    lately: Kept,
    before: Kept,
    lately_bytes: usize,
}

type Kept = HashMap<String, HashMap<Address, Entry>>;

#[derive(Clone)]
struct Entry {
    version: u64,
    bytes: usize,
    document: Arc<dyn Any + Send + Sync>,
}

impl Cache {
    /// The cache of a process that serves many callers.
    pub(crate) fn for_many_callers() -> Self {
        Self { bytes_max: SERVED_BYTES_MAX, ..Self::default() }
    }

    /// The document as of this version, if it is kept.
    pub(crate) fn get<A: Aggregate>(
        &self,
        stream: &str,
        address: &Address,
        version: u64,
    ) -> Option<Arc<A::Document>> {
        let entry = self.lock().find(stream, address, (version, self.bytes_max))?;
        entry.document.downcast().ok()
    }

    /// The document in the newest version that is kept.
    pub(crate) fn newest<A: Aggregate>(
        &self,
        stream: &str,
        address: &Address,
    ) -> Option<(u64, Arc<A::Document>)> {
        let entry = self.lock().newest(stream, address, self.bytes_max)?;
        Some((entry.version, entry.document.downcast().ok()?))
    }

    /// Caches the decoded document of a committed row, which has about this many bytes.
    pub(crate) fn keep<A: Aggregate>(
        &self,
        stream: &str,
        row: &DocumentRow,
        bytes: usize,
        document: Arc<A::Document>,
    ) {
        let entry = Entry { version: row.version, bytes, document };
        self.lock().insert(stream, row.address.clone(), (entry, self.bytes_max));
    }

    /// Entries are moved in and out whole, so a panic elsewhere cannot leave them half changed.
    fn lock(&self) -> MutexGuard<'_, Generations> {
        self.generations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generations {
    fn newest(&mut self, stream: &str, address: &Address, bytes_max: usize) -> Option<Entry> {
        if let Some(entry) = self.lately.get(stream).and_then(|kept| kept.get(address)) {
            return Some(entry.clone());
        }
        let (address, entry) = self.before.get_mut(stream)?.remove_entry(address)?;
        self.insert(stream, address, (entry.clone(), bytes_max));
        Some(entry)
    }

    fn find(
        &mut self,
        stream: &str,
        address: &Address,
        (version, bytes_max): (u64, usize),
    ) -> Option<Entry> {
        if let Some(entry) = self.lately.get(stream).and_then(|kept| kept.get(address)) {
            return (entry.version == version).then(|| entry.clone());
        }
        let (address, entry) = self.before.get_mut(stream)?.remove_entry(address)?;
        if entry.version != version {
            return None;
        }
        self.insert(stream, address, (entry.clone(), bytes_max));
        Some(entry)
    }

    fn insert(&mut self, stream: &str, address: Address, (entry, bytes_max): (Entry, usize)) {
        if self.lately_bytes > bytes_max / 2 {
            self.before = std::mem::take(&mut self.lately);
            self.lately_bytes = 0;
        }
        self.lately_bytes += entry.bytes;
        if !self.lately.contains_key(stream) {
            self.lately.insert(stream.to_owned(), HashMap::new());
        }
        let kept = self.lately.get_mut(stream).unwrap_or_else(|| unreachable!("inserted above"));
        if let Some(replaced) = kept.insert(address, entry) {
            self.lately_bytes -= replaced.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use muster_core::{
        Address, Index,
        tasks::{TaskAggregate, TaskDocument, entity::Workspace},
    };

    use super::{Cache, DocumentRow, KEPT_BYTES_MAX};

    const STREAM: &str = "workspace/acme";

    fn address(number: usize) -> Address {
        Address { kind: "task".into(), name: format!("TASK-{number:03}") }
    }

    fn keep(cache: &Cache, number: usize, version: u64, bytes: usize) {
        let document = Arc::new(TaskDocument::Workspace(Workspace::default()));
        let index = Index::default();
        let body = " ".repeat(bytes);
        let row = DocumentRow { address: address(number), index, version, body };
        cache.keep::<TaskAggregate>(STREAM, &row, bytes, document);
    }

    fn has(cache: &Cache, number: usize, version: u64) -> bool {
        cache.get::<TaskAggregate>(STREAM, &address(number), version).is_some()
    }

    #[test]
    fn a_document_is_found_by_its_version_only() {
        let cache = Cache::default();
        keep(&cache, 1, 7, 10);
        assert!(has(&cache, 1, 7));
        assert!(!has(&cache, 1, 6) && !has(&cache, 1, 8) && !has(&cache, 2, 7));
        keep(&cache, 1, 8, 10);
        assert!(has(&cache, 1, 8) && !has(&cache, 1, 7));
        assert!(cache.get::<TaskAggregate>("workspace/other", &address(1), 8).is_none());
    }

    #[test]
    fn what_nobody_uses_is_dropped_when_room_is_needed() {
        let cache = Cache::default();
        let bytes = KEPT_BYTES_MAX / 100;
        keep(&cache, 0, 1, bytes);
        keep(&cache, 1, 1, bytes);
        for number in 2..1_000 {
            keep(&cache, number, 1, bytes);
            assert!(has(&cache, 0, 1), "it is used all the time");
        }
        assert!(!has(&cache, 1, 1));
        let kept = (0..1_000).filter(|number| has(&cache, *number, 1)).count();
        assert!((25..=102).contains(&kept), "{kept} documents of 1 % each are kept");
    }
}
