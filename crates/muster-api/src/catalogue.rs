//! Lists over all streams of a room, page by page: highest number first.

use muster_core::{Aggregate, PageCursor};
use muster_engine::Engine;
use muster_store::{CatalogueQuery, StoreError};

/// A place in such a list: a number that the store sorts by, and the id of the stream, which orders
/// equal numbers.
pub(crate) type StreamCursor<Id> = PageCursor<u64, Id>;

/// Documents with their places.
type Placed<A, Id> = Vec<(StreamCursor<Id>, <A as Aggregate>::Document)>;

/// The next documents after a position, about this many. Documents with the same number are never
/// separated, because the store does not know their order.
pub(crate) fn next<A: Aggregate, Id: Ord + Clone>(
    engine: &Engine,
    kind: &'static str,
    (after, about): (Option<&StreamCursor<Id>>, u32),
    place: impl Fn(&str, &A::Document) -> Option<StreamCursor<Id>>,
) -> Result<Placed<A, Id>, StoreError> {
    let below = after.map(|place| place.at.saturating_add(1));
    let mut limit = about;
    loop {
        let found = engine.catalogue::<A>(&CatalogueQuery { kind, below, limit: Some(limit) })?;
        let is_full = found.len() as u64 == u64::from(limit);
        let placed = found.into_iter();
        let placed = placed.filter_map(|(stream, document)| {
            let place = place(&stream, &document)?;
            Some((place, document))
        });
        let mut placed: Placed<A, Id> = placed.collect();
        if let Some(last) = placed.last().map(|(place, _)| place.at).filter(|_| is_full) {
            placed.retain(|(place, _)| place.at != last);
        }
        placed.retain(|(place, _)| after.is_none_or(|after| place < after));
        placed.sort_by(|(a, _), (b, _)| b.cmp(a));
        if !placed.is_empty() || !is_full {
            return Ok(placed);
        }
        limit = limit.saturating_mul(2);
    }
}
