//! Lists over all streams of a room, page by page: the highest number first.

use std::{fmt, str::FromStr};

use muster_core::Aggregate;
use muster_engine::Engine;
use muster_store::{CatalogueQuery, StoreError};

/// A place in such a list: a number that the store sorts by, and the id of the stream, which orders
/// equal numbers. A page begins after a place, whatever was added or removed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PageCursor<Id> {
    pub(crate) number: u64,
    pub(crate) id: Id,
}

impl<Id: fmt::Display> fmt::Display for PageCursor<Id> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.number, self.id)
    }
}

impl<Id: FromStr> FromStr for PageCursor<Id> {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (number, id) = text.split_once('.').ok_or(())?;
        Ok(Self { number: number.parse().map_err(|_| ())?, id: id.parse().map_err(|_| ())? })
    }
}

/// Documents with their places.
type Placed<A, Id> = Vec<(PageCursor<Id>, <A as Aggregate>::Document)>;

/// The next documents after a place, about this many. Documents with the same number are never
/// cut in two, because the store does not know their order among each other.
pub(crate) fn next<A: Aggregate, Id: Ord + Clone>(
    engine: &Engine,
    kind: &'static str,
    (behind, about): (Option<&PageCursor<Id>>, u32),
    place: impl Fn(&str, &A::Document) -> Option<PageCursor<Id>>,
) -> Result<Placed<A, Id>, StoreError> {
    let below = behind.map(|place| place.number.saturating_add(1));
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
        if let Some(last) = placed.last().map(|(place, _)| place.number).filter(|_| is_full) {
            placed.retain(|(place, _)| place.number != last);
        }
        placed.retain(|(place, _)| behind.is_none_or(|behind| place < behind));
        placed.sort_by(|(a, _), (b, _)| b.cmp(a));
        if !placed.is_empty() || !is_full {
            return Ok(placed);
        }
        limit = limit.saturating_mul(2);
    }
}
