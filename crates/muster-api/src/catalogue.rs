//! Lists over all streams of a room, page by page: the highest number first.

use muster_core::Aggregate;
use muster_engine::Engine;
use muster_store::{CatalogueQuery, StoreError};

/// Where a document is in such a list: by a number, and among equal numbers by something that never
/// changes. A page begins behind a place whatever was added or removed since.
pub(crate) trait CataloguePlace: Ord + Clone {
    /// The number that the store sorts by.
    fn number(&self) -> u64;
}

/// The next documents behind a place, about this many. Documents with the same number are never
/// cut in two, because the store does not know their order among each other.
pub(crate) fn next<A: Aggregate, P: CataloguePlace>(
    engine: &Engine,
    kind: &'static str,
    (behind, about): (Option<&P>, u32),
    place: impl Fn(&str, &A::Document) -> Option<P>,
) -> Result<Vec<(P, A::Document)>, StoreError> {
    let below = behind.map(|place| place.number().saturating_add(1));
    let mut limit = about;
    loop {
        let found = engine.catalogue::<A>(&CatalogueQuery { kind, below, limit: Some(limit) })?;
        let is_full = found.len() as u64 == u64::from(limit);
        let placed = found.into_iter();
        let placed = placed.filter_map(|(stream, document)| {
            let place = place(&stream, &document)?;
            Some((place, document))
        });
        let mut placed: Vec<(P, A::Document)> = placed.collect();
        if let Some(last) = placed.last().map(|(place, _)| place.number()).filter(|_| is_full) {
            placed.retain(|(place, _)| place.number() != last);
        }
        placed.retain(|(place, _)| behind.is_none_or(|behind| place < behind));
        placed.sort_by(|(a, _), (b, _)| b.cmp(a));
        if !placed.is_empty() || !is_full {
            return Ok(placed);
        }
        limit = limit.saturating_mul(2);
    }
}
