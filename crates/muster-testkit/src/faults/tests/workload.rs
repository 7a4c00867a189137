//! What the store is put through, and the ledger of what it promised.
//!
//! Every event says which attempt wrote it and what it did to which document, so that afterwards
//! the log can be held against the promises, and the documents against the log.

use std::{borrow::Cow, collections::BTreeMap, path::Path};

use muster_core::{Address, Index, Subject, Timestamp};
use muster_store::{
    Append, DocumentChange, DocumentRow, EventRow, SqliteOptions, SqliteStore, Store, StoreError,
    Synchronous,
};

use crate::faults::{Chance, FaultDisk};

const STREAMS: [&str; 3] = ["workspace/acme", "session/one", "run/one"];

/// When the writer reports to its caller that a write is safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acknowledge {
    /// When the commit has succeeded.
    AfterCommit,
    /// Too early, as a control.
    BeforeCommit,
}

/// A store on a failing disk, with its ledger.
pub(super) struct Bench {
    pub(super) disk: FaultDisk,
    home: tempfile::TempDir,
    synchronous: Synchronous,
    pub(super) acknowledge: Acknowledge,
    pub(super) chance: Chance,
    attempts: u64,
    /// Which attempt was promised to stand at which position.
    promised: BTreeMap<u64, u64>,
    pub(super) tally: Tally,
}

/// What came of it all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) acknowledged: u64,
    pub(super) refused: u64,
    pub(super) refused_as_full: u64,
    pub(super) verified: u64,
    /// Acknowledged events that were not there afterwards.
    pub(super) lost: u64,
    /// Times that the store contradicted itself.
    pub(super) corrupt: u64,
}

impl Bench {
    pub(super) fn new(seed: u64, synchronous: Synchronous, acknowledge: Acknowledge) -> Self {
        Self {
            disk: FaultDisk::new(seed),
            home: tempfile::tempdir().unwrap(),
            synchronous,
            acknowledge,
            chance: Chance::new(seed ^ 0xC0FF_EE00),
            attempts: 0,
            promised: BTreeMap::new(),
            tally: Tally::default(),
        }
    }

    /// An empty disk and an empty ledger.
    pub(super) fn start_over(&mut self, seed: u64) {
        self.disk.format(seed);
        self.chance = Chance::new(seed ^ 0xC0FF_EE00);
        self.promised.clear();
    }

    pub(super) fn open(&self) -> Result<SqliteStore, StoreError> {
        let options = SqliteOptions {
            vfs: Some(self.disk.vfs()),
            synchronous: self.synchronous,
            ..SqliteOptions::default()
        };
        SqliteStore::open(self.directory(), options)
    }

    fn directory(&self) -> &Path {
        self.home.path()
    }

    /// One transaction, sometimes followed by what else a store does all day.
    pub(super) fn step(&mut self, store: &SqliteStore) -> Result<(), StoreError> {
        let outcome = self.attempt(store);
        match &outcome {
            Ok(()) => {}
            Err(StoreError::Full { .. }) => {
                self.tally.refused += 1;
                self.tally.refused_as_full += 1;
            }
            Err(_) => self.tally.refused += 1,
        }
        outcome?;
        match self.chance.below(16) {
            0 => store.rest(),
            1 => store.position().map(drop),
            2 => store.snapshot()?.documents(STREAMS[0]).map(drop),
            _ => Ok(()),
        }
    }

    fn attempt(&mut self, store: &SqliteStore) -> Result<(), StoreError> {
        self.attempts += 1;
        let attempt = self.attempts;
        let mut transaction = store.begin()?;
        let mut positions = Vec::new();
        for _ in 0..=self.chance.below(3) {
            let stream = STREAMS[usize::try_from(self.chance.below(3)).unwrap()];
            let head = transaction.head(stream)?;
            let mut events = Vec::new();
            let mut documents = Vec::new();
            for number in 1..=self.chance.below(3) + 1 {
                let global = head.global + number;
                let (event, document) = self.event(attempt, global, head.seq + number);
                positions.push(global);
                events.push(event);
                documents.push(document);
            }
            transaction.append(&Append { stream, events: &events, documents: &documents })?;
        }
        if self.acknowledge == Acknowledge::BeforeCommit {
            self.promise(attempt, &positions);
        }
        transaction.commit()?;
        if self.acknowledge == Acknowledge::AfterCommit {
            self.promise(attempt, &positions);
        }
        Ok(())
    }

    fn promise(&mut self, attempt: u64, positions: &[u64]) {
        self.tally.acknowledged += positions.len() as u64;
        self.promised.extend(positions.iter().map(|position| (*position, attempt)));
    }

    fn event(&mut self, attempt: u64, global: u64, seq: u64) -> (EventRow, DocumentChange) {
        let name = format!("TASK-{}", self.chance.below(12));
        let action = if self.chance.one_in(6) { "remove" } else { "put" };
        let padding = match self.chance.below(10) {
            0 => self.chance.below(9_000),
            _ => self.chance.below(300),
        };
        let padding = "x".repeat(usize::try_from(padding).unwrap());
        let event = EventRow {
            global,
            seq,
            at: Timestamp(0),
            kind: action.to_owned(),
            subject: Some(Subject { entity: name.clone(), scope: String::new() }),
            body: format!("{attempt} {padding}"),
            shown: None,
            by: None,
            intent: None,
        };
        let address = Address { kind: Cow::Borrowed("task"), name };
        if action == "remove" {
            return (event, DocumentChange::Remove(address));
        }
        let index = Index { ord: self.chance.below(4), ..Index::default() };
        let body = event.body.clone();
        (event, DocumentChange::Put(DocumentRow { address, index, version: global, body }, None))
    }

    /// Opens the store on a disk that works again and holds it against the ledger; what is there is
    /// the ledger from then on.
    pub(super) fn verify(&mut self) {
        self.tally.verified += 1;
        let store = self.open().unwrap();
        if !store.check().unwrap().is_empty() {
            self.tally.corrupt += 1;
        }
        let mut view = store.snapshot().unwrap();
        let mut found: BTreeMap<u64, u64> = BTreeMap::new();
        for stream in STREAMS {
            let events = view.tail(stream, 0, u32::MAX).unwrap();
            let documents = view.documents(stream).unwrap();
            if replayed(&events) != shown(&documents) {
                self.tally.corrupt += 1;
            }
            for event in events {
                let attempt = event.body.split(' ').next().unwrap().parse().unwrap();
                found.insert(event.global, attempt);
            }
        }
        let kept = |(position, attempt): &(&u64, &u64)| found.get(*position) == Some(*attempt);
        self.tally.lost += self.promised.iter().filter(|promise| !kept(promise)).count() as u64;
        self.promised = found;
    }
}

/// The documents that the events of a stream add up to: name, version and body.
fn replayed(events: &[EventRow]) -> Vec<(String, u64, String)> {
    let mut documents = BTreeMap::new();
    for event in events {
        let name = event.subject.as_ref().unwrap().entity.clone();
        match event.kind.as_str() {
            "put" => drop(documents.insert(name, (event.global, event.body.clone()))),
            _ => drop(documents.remove(&name)),
        }
    }
    documents.into_iter().map(|(name, (version, body))| (name, version, body)).collect()
}

fn shown(documents: &[DocumentRow]) -> Vec<(String, u64, String)> {
    let shown = |row: &DocumentRow| (row.address.name.clone(), row.version, row.body.clone());
    documents.iter().map(shown).collect()
}
