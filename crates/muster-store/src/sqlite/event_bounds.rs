//! The bounds of event queries: positions of the log as numbers of a stream.

use std::ops::Deref;

use muster_core::{EventOrder, EventQuery, LogPosition};
use rusqlite::params;

use super::{
    link::Link,
    listing::{self, EventBounds},
    view::View,
};
use crate::{StoreError, StoreSnapshot as _};

impl<L: Deref<Target = Link>> View<L> {
    /// The number of the stream's newest event up to a position; zero if there is none.
    fn number_at(&mut self, name: &str, stream: i64, position: u64) -> Result<u64, StoreError> {
        // Most positions in queries are those of the stream's own events.
        let sql = "SELECT seq FROM event WHERE global = ?1 AND stream = ?2";
        let bound = listing::above(Some(position));
        let own =
            self.one("looked up a position", sql, params![bound, stream], |row| row.get(0))?;
        if let Some(number) = own {
            return Ok(number);
        }
        let mut low = 0;
        let LogPosition { global, seq: mut high } = self.head(name)?;
        if position >= global {
            return Ok(high);
        }
        let sql = "SELECT global FROM event WHERE stream = ?1 AND seq = ?2";
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            let parameters = params![stream, middle];
            let at: Option<u64> =
                self.one("looked up a number", sql, parameters, |row| row.get(0))?;
            // Events that an ended stream no longer has came before the rest.
            match at {
                Some(at) if at > position => high = middle - 1,
                Some(_) | None => low = middle,
            }
        }
        Ok(low)
    }

    /// An event query's bounds: positions, or numbers of the stream where events are found by
    /// number.
    pub(super) fn bounds(
        &mut self,
        name: &str,
        stream: i64,
        query: &EventQuery,
    ) -> Result<EventBounds, StoreError> {
        let EventQuery { after, above, .. } = *query;
        if query.entity.is_some() || query.scope.is_some() {
            return Ok(EventBounds { after, above });
        }
        let after = match (after, query.order) {
            (None | Some(0), _) => after,
            (Some(after), EventOrder::OldestFirst) => Some(self.number_at(name, stream, after)?),
            (Some(after), EventOrder::NewestFirst) => {
                Some(self.number_at(name, stream, after - 1)? + 1)
            }
        };
        let above = if above == 0 { 0 } else { self.number_at(name, stream, above)? };
        Ok(EventBounds { after, above })
    }
}
