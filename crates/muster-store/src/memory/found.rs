//! Searches in memory: every string is read.

use std::sync::Arc;

use super::{State, stream::Document};
use crate::{
    EventRow, FoundDocument, LogCursor, LogEnd, LogPlace, Numbering, StreamEvent, StringsQuery,
};

/// Characters of the shortest string that finds something, as in an index of three characters.
const STRING_CHARS_MIN: usize = 3;

fn admits(query: &StringsQuery<'_>, stream: &str, text: &str) -> bool {
    !query.strings.is_empty()
        && query.stream.is_none_or(|wanted| wanted == stream)
        && query
            .strings
            .iter()
            .all(|string| string.chars().count() >= STRING_CHARS_MIN && text.contains(string))
}

impl State {
    pub(super) fn found_events(&self, query: &StringsQuery<'_>) -> Vec<LogPlace> {
        let mut found: Vec<(i64, &String, &Arc<EventRow>)> = Vec::new();
        for (name, stream) in &self.streams {
            let said = |seq: u64| {
                let text = self.said.get(&(name.clone(), seq));
                text.is_some_and(|text| admits(query, name, text))
            };
            let events = stream.events.iter().filter(|event| said(event.seq));
            found.extend(events.map(|event| (self.age(event), name, event)));
        }
        found.sort_by_key(|(age, ..)| std::cmp::Reverse(*age));
        found.truncate(query.limit as usize);
        let place = |(_, stream, event): (i64, &String, &Arc<EventRow>)| LogPlace {
            stream: stream.clone(),
            seq: event.seq,
            global: event.global,
        };
        found.into_iter().map(place).collect()
    }

    pub(super) fn found_documents(&self, query: &StringsQuery<'_>) -> Vec<FoundDocument> {
        let mut found: Vec<(&String, &Document)> = Vec::new();
        for (name, stream) in &self.streams {
            let searched = |document: &&Document| {
                let text = document.searched.as_ref();
                text.is_some_and(|text| admits(query, name, text))
            };
            let documents = stream.documents.values().filter(searched);
            found.extend(documents.map(|document| (name, document)));
        }
        found.sort_by_key(|(_, document)| std::cmp::Reverse(document.born));
        found.truncate(query.limit as usize);
        let row = |(stream, document): (&String, &Document)| FoundDocument {
            stream: stream.clone(),
            address: document.row.address.clone(),
            searched: document.searched.as_deref().unwrap_or_default().to_owned(),
        };
        found.into_iter().map(row).collect()
    }

    /// The number up to which events of a stream are indexed.
    pub(super) fn indexed_of(&self, stream: &str) -> u64 {
        self.indexed.get(stream).copied().unwrap_or(0)
    }

    /// Events that are not, each with its stream.
    pub(super) fn unindexed_places(&self) -> impl Iterator<Item = (&String, &Arc<EventRow>)> {
        self.streams.iter().flat_map(move |(name, stream)| {
            let indexed = self.indexed_of(name);
            let newer = stream.events.iter().filter(move |event| event.seq > indexed);
            newer.map(move |event| (name, event))
        })
    }

    /// By position in one log, else by time.
    fn age(&self, event: &EventRow) -> i64 {
        match self.numbering {
            Numbering::OneLog => event.global.cast_signed(),
            Numbering::PerStream => event.at.0,
        }
    }

    pub(super) fn unindexed_events(&self, end: LogEnd, limit: usize) -> Vec<StreamEvent> {
        let mut found: Vec<_> = self.unindexed_places().collect();
        found.sort_by_key(|(_, event)| self.age(event));
        match end {
            LogEnd::Oldest => found.truncate(limit),
            LogEnd::Newest => drop(found.drain(..found.len().saturating_sub(limit))),
        }
        let row = |(stream, event): (&String, &Arc<EventRow>)| StreamEvent {
            stream: stream.clone(),
            event: EventRow::clone(event),
        };
        found.into_iter().map(row).collect()
    }

    /// Events of all streams after so many of them, in the order in which they were written; those
    /// that went with the end of their stream are left out.
    pub(super) fn events_after(
        &self,
        count: u64,
    ) -> impl Iterator<Item = (LogCursor, StreamEvent)> {
        let places = self.order.iter().zip(1..).skip(usize::try_from(count).unwrap_or(usize::MAX));
        places.filter_map(|((name, seq), number)| {
            let stream = self.streams.get(&**name)?;
            let event = stream.events.iter().find(|event| event.seq == *seq)?;
            let event = EventRow::clone(event);
            Some((LogCursor::at(number), StreamEvent { stream: name.to_string(), event }))
        })
    }
}
