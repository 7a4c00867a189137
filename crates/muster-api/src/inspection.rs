//! A store opened for reading only: what `doctor` and `backup` work on.
//!
//! No engine is started over it, so nothing can write.

use std::{path::Path, sync::Arc};

use muster_core::{
    access::NamedTokens,
    answers::Answers,
    checks::trust::TrustedProjects,
    run::{RunAggregate, allow::AllowRules, layout::Layouts},
    session::SessionAggregate,
    tasks::TaskAggregate,
};
use muster_engine::doctor::DoctorReport;
use muster_store::{
    Damage, DatabaseUrl, Description, SqliteOptions, Store, StoreAccess, StoreError,
};

/// A store opened for reading only.
pub struct Inspection {
    store: Arc<dyn Store>,
}

impl Inspection {
    /// Opens the store of a directory or database; changes nothing.
    pub fn open(database: &DatabaseUrl, directory: &Path) -> Result<Self, StoreError> {
        let options = SqliteOptions { access: StoreAccess::Look, ..SqliteOptions::default() };
        Ok(Self { store: muster_store::open(database, directory, options)? })
    }

    /// Replays the log and compares it with the documents.
    pub fn report(&self) -> Result<DoctorReport, StoreError> {
        examine(&*self.store)
    }

    /// Copies the store to a new file while it stays in use.
    pub fn backup(&self, target: &Path) -> Result<(), StoreError> {
        self.store.backup(target)
    }

    /// Unused bytes of its file.
    pub fn spare_bytes(&self) -> Result<u64, StoreError> {
        self.store.spare_bytes()
    }

    /// The engine and version of the store, for people.
    pub fn describe(&self) -> Description {
        self.store.describe()
    }

    /// Whether the store has an older layout, which the next start migrates. Until then only its
    /// file and tables can be examined.
    pub fn is_older(&self) -> bool {
        is_older(&*self.store)
    }
}

fn is_older(store: &dyn Store) -> bool {
    store.describe().is_older
}

/// All damage that can be found in a store.
pub(crate) fn examine(store: &dyn Store) -> Result<DoctorReport, StoreError> {
    let mut report = DoctorReport::of(store)?;
    if is_older(store) {
        return Ok(report);
    }
    for add in [
        DoctorReport::add::<TaskAggregate>,
        DoctorReport::add::<SessionAggregate>,
        DoctorReport::add::<RunAggregate>,
        DoctorReport::add::<Layouts>,
        DoctorReport::add::<AllowRules>,
        DoctorReport::add::<TrustedProjects>,
        DoctorReport::add::<Answers>,
        DoctorReport::add::<NamedTokens>,
    ] {
        match add(&mut report, store) {
            Ok(()) => {}
            // A store that cannot even be read is a finding like others.
            Err(StoreError::Damaged { place, finding }) => {
                report.damage.push(Damage { place, finding });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(report)
}
