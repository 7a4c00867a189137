//! Leases of outside hosts, for the server that lets them expire in time.

use muster_core::{
    Timestamp,
    session::{
        self, SessionCommand, SessionId,
        command::Unclaim,
        entity::{Lease, Session},
    },
};
use muster_store::CatalogueQuery;

use super::{SessionDesk, Told};

/// Every session of the store.
const ALL: CatalogueQuery = CatalogueQuery { kind: "session", below: None, limit: None };

impl SessionDesk<'_> {
    /// Every session that a host has claimed, with the time when its lease expires.
    pub fn leases(self) -> Told<Vec<(SessionId, Timestamp)>> {
        let found = self.0.engine().catalogue::<session::SessionAggregate>(&ALL)?;
        let lease = |(stream, document): (String, session::SessionDocument)| {
            let Session { lease: Some(Lease { expires_at, .. }), .. } = document.as_session()?
            else {
                return None;
            };
            Some((SessionId::of_stream(&stream)?, *expires_at))
        };
        Ok(found.into_iter().filter_map(lease).collect())
    }

    /// Ends a lease that has expired; refused while it counts.
    pub fn expire_lease(self, id: &SessionId) -> Told<()> {
        self.perform(id, SessionCommand::Unclaim(Unclaim::Expired)).map(drop)
    }
}
