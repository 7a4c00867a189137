//! One file, twice: as the operating system shows it and as the disk would keep it.

use std::collections::BTreeSet;

use super::chance::Chance;

/// What a disk writes whole or, if the power fails at that moment, not.
const SECTOR_BYTES: usize = 512;

/// A file and what of it would survive.
#[derive(Clone, Debug, Default)]
pub(super) struct File {
    cached: Vec<u8>,
    durable: Vec<u8>,
    /// Whether the file's name is on the disk; a new file can vanish until it has been synced once.
    named: bool,
    /// Sectors changed since they were last synced.
    dirty: BTreeSet<usize>,
    /// The shortest length that the file was cut to since the last sync.
    cut: Option<usize>,
}

impl File {
    pub(super) fn len(&self) -> usize {
        self.cached.len()
    }

    pub(super) fn is_durable(&self) -> bool {
        self.named
    }

    /// Reads as much as there is; the answer says how much that was.
    pub(super) fn read(&self, offset: usize, buffer: &mut [u8]) -> usize {
        let end = self.cached.len().min(offset + buffer.len());
        let Some(found) = self.cached.get(offset..end) else { return 0 };
        buffer[..found.len()].copy_from_slice(found);
        found.len()
    }

    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let end = offset + bytes.len();
        // A gap that the write leaves before it is new as well.
        let first = offset.min(self.cached.len());
        if self.cached.len() < end {
            self.cached.resize(end, 0);
        }
        self.cached[offset..end].copy_from_slice(bytes);
        self.dirty.extend(first / SECTOR_BYTES..=(end - 1) / SECTOR_BYTES);
    }

    pub(super) fn truncate(&mut self, length: usize) {
        if length >= self.cached.len() {
            return;
        }
        self.cached.truncate(length);
        self.cut = Some(self.cut.map_or(length, |cut| cut.min(length)));
        self.dirty.retain(|sector| sector * SECTOR_BYTES < length);
    }

    /// Brings everything that changed to the disk.
    pub(super) fn sync(&mut self) {
        self.named = true;
        if let Some(cut) = self.cut.take() {
            self.durable.truncate(cut);
        }
        for sector in std::mem::take(&mut self.dirty) {
            self.keep(sector, SECTOR_BYTES);
        }
        self.durable.resize(self.cached.len(), 0);
    }

    /// A sync that fails: some sectors arrive, and the others are never written unless they change
    /// again, because the operating system now believes that they are clean.
    pub(super) fn fail_sync(&mut self, chance: &mut Chance) {
        for sector in std::mem::take(&mut self.dirty) {
            if chance.one_in(2) {
                self.keep(sector, SECTOR_BYTES);
            }
        }
    }

    /// The power fails: whatever was not synced is kept, dropped or torn. Answers whether the file
    /// is still there.
    pub(super) fn lose_power(&mut self, chance: &mut Chance) -> bool {
        if !self.named && chance.one_in(2) {
            return false;
        }
        if let Some(cut) = self.cut.take()
            && chance.one_in(2)
        {
            self.durable.truncate(cut);
        }
        // Mostly mixed, but also everything or nothing, which a mix would hardly ever be.
        let mood = chance.below(4);
        for sector in std::mem::take(&mut self.dirty) {
            match (mood, chance.below(8)) {
                (0, _) | (2.., 0..=2) => {}
                (1, _) | (2.., 3..=6) => self.keep(sector, SECTOR_BYTES),
                (2.., _) => {
                    let torn = chance.below(SECTOR_BYTES as u64);
                    self.keep(sector, usize::try_from(torn).unwrap_or(0));
                }
            }
        }
        self.named = true;
        self.cached.clone_from(&self.durable);
        true
    }

    /// Copies the first bytes of a sector to the disk.
    fn keep(&mut self, sector: usize, bytes: usize) {
        let start = sector * SECTOR_BYTES;
        let end = (start + bytes).min(self.cached.len());
        if start >= end {
            return;
        }
        if self.durable.len() < end {
            self.durable.resize(end, 0);
        }
        self.durable[start..end].copy_from_slice(&self.cached[start..end]);
    }
}
