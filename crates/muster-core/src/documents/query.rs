//! Queries of a stream: lists of documents and slices of events.

use std::collections::BTreeMap;

use crate::{Address, Aggregate, Index, Mark, Recorded};

/// A list of documents of one kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListQuery {
    /// Kind of document.
    pub kind: &'static str,
    /// Only documents inside this one; without it, those that are [`Mark::Listed`].
    pub parent: Option<String>,
    /// Only documents with one of these statuses; empty means any.
    pub statuses: Vec<&'static str>,
    /// Only documents that carry the mark.
    pub mark: Option<Mark>,
    /// Only documents with such a rank.
    pub rank: Option<RankBound>,
    /// Only documents after this sort number in the chosen order.
    pub after: Option<u64>,
    /// Sort order.
    pub order: ListOrder,
    /// At most this many; `None` means all.
    pub limit: Option<u32>,
}

impl ListQuery {
    /// All documents of a kind, by sort number.
    pub fn of(kind: &'static str) -> Self {
        Self {
            kind,
            parent: None,
            statuses: Vec::new(),
            mark: None,
            rank: None,
            after: None,
            order: ListOrder::Ascending,
            limit: None,
        }
    }

    /// Whether a document with this address and index belongs to the list.
    pub fn admits(&self, address: &Address, index: &Index) -> bool {
        self.kind == address.kind
            && match &self.parent {
                Some(parent) => *parent == index.parent,
                None => index.marks & Mark::Listed as u8 != 0,
            }
            && (self.statuses.is_empty()
                || self.statuses.iter().any(|status| *status == index.status))
            && self.mark.is_none_or(|mark| index.marks & mark as u8 != 0)
            && self.rank.is_none_or(|bound| bound.admits(index))
            && self.order.admits(self.after, index)
    }
}

/// A bound for ranks; documents without a rank are outside of every one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RankBound {
    /// Higher than this.
    Above(u32),
    /// This or lower.
    UpTo(u32),
}

impl RankBound {
    fn admits(self, index: &Index) -> bool {
        index.rank.is_some_and(|rank| match self {
            Self::Above(bound) => rank > bound,
            Self::UpTo(bound) => rank <= bound,
        })
    }
}

/// A page of a list that is filtered by more than columns. The loader walks the whole list, keeps
/// the page and counts the rest, so that memory stays proportional to the page.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Survey<F> {
    /// The list, without limit.
    pub list: ListQuery,
    /// Only documents that pass this.
    pub filter: F,
    /// The page starts after this sort number.
    pub after: u64,
    /// Documents on the page.
    pub limit: u32,
}

/// The outcome of a [`Survey`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SurveyResult<K> {
    /// All matching documents by status, whatever the page.
    pub counts: BTreeMap<String, u64>,
    pub page: Vec<K>,
}

/// Sort order of a list of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListOrder {
    /// Lowest sort number first.
    Ascending,
    /// Highest sort number first.
    Descending,
    /// Lowest rank first, then lowest sort number; unranked documents are left out.
    Rank,
    /// The reverse of that.
    RankDescending,
}

impl ListOrder {
    fn admits(self, after: Option<u64>, index: &Index) -> bool {
        match self {
            Self::Ascending => after.is_none_or(|after| index.ord > after),
            Self::Descending => after.is_none_or(|after| index.ord < after),
            Self::Rank | Self::RankDescending => index.rank.is_some(),
        }
    }

    pub(super) fn sort_key(self, index: &Index) -> (u64, u64) {
        match self {
            Self::Ascending => (index.ord, 0),
            Self::Descending => (u64::MAX - index.ord, 0),
            Self::Rank => (index.rank.map_or(u64::MAX, u64::from), index.ord),
            Self::RankDescending => {
                (u64::MAX - index.rank.map_or(0, u64::from), u64::MAX - index.ord)
            }
        }
    }
}

/// A slice of one stream's events that have a subject.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventQuery {
    /// Only events of this entity.
    pub entity: Option<String>,
    /// Only events shown on this container's timeline.
    pub scope: Option<String>,
    /// Only these events.
    pub choice: EventChoice,
    /// Only events after this global position in the chosen order.
    pub after: Option<u64>,
    /// Only events with a higher global position, in either order: where to stop looking for
    /// events that are rare.
    pub above: u64,
    /// Sort order.
    pub order: EventOrder,
    /// At most this many.
    pub limit: u32,
}

impl EventQuery {
    /// Events of a whole stream.
    pub fn of(order: EventOrder, limit: u32) -> Self {
        Self {
            entity: None,
            scope: None,
            choice: EventChoice::All,
            after: None,
            above: 0,
            order,
            limit,
        }
    }

    /// The newest events of an entity, newest first.
    pub fn newest_of(entity: String, limit: u32) -> Self {
        Self { entity: Some(entity), ..Self::of(EventOrder::NewestFirst, limit) }
    }

    /// Whether an event belongs to the slice.
    pub(crate) fn admits<A: Aggregate>(&self, recorded: &Recorded<A::Event>) -> bool {
        let Some(subject) = A::subject(&recorded.event) else { return false };
        let in_range = self.after.is_none_or(|after| match self.order {
            EventOrder::OldestFirst => recorded.global > after,
            EventOrder::NewestFirst => recorded.global < after,
        });
        let chosen = match self.choice {
            EventChoice::All => true,
            EventChoice::Kind(kind) => A::event_type(&recorded.event) == kind,
            EventChoice::Intended => recorded.intent.is_some(),
        };
        in_range
            && chosen
            && recorded.global > self.above
            && self.entity.as_ref().is_none_or(|entity| *entity == subject.entity)
            && self.scope.as_ref().is_none_or(|scope| *scope == subject.scope)
    }
}

/// Which events of a slice are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventChoice {
    All,
    /// Events with this name.
    Kind(&'static str),
    /// Events that head an operation.
    Intended,
}

/// Sort order of a slice of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventOrder {
    /// In commit order.
    OldestFirst,
    /// Against commit order.
    NewestFirst,
}
