//! Searches in memory: every string is read.

use std::sync::Arc;

use super::{State, stream::Document};
use crate::{FoundDocument, LogEnd, LogPlace, StreamEvent, StringsQuery};

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
        let mut found: Vec<LogPlace> = Vec::new();
        for (name, stream) in &self.streams {
            let said = |global: &u64| {
                let text = self.said.get(global);
                text.is_some_and(|text| admits(query, name, text))
            };
            let events = stream.events.iter().filter(|event| said(&event.global));
            found.extend(events.map(|event| LogPlace {
                stream: name.clone(),
                seq: event.seq,
                global: event.global,
            }));
        }
        found.sort_by_key(|place| std::cmp::Reverse(place.global));
        found.truncate(query.limit as usize);
        found
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

    pub(super) fn unindexed_events(&self, end: LogEnd, limit: usize) -> Vec<StreamEvent> {
        let mut found = self.events_after(self.indexed);
        match end {
            LogEnd::Oldest => found.truncate(limit),
            LogEnd::Newest => drop(found.drain(..found.len().saturating_sub(limit))),
        }
        found
    }

    pub(super) fn events_after(&self, position: u64) -> Vec<StreamEvent> {
        let mut found = Vec::new();
        for (name, stream) in &self.streams {
            let newer = stream.events.iter().filter(|event| event.global > position);
            found.extend(newer.map(|event| (name, event)));
        }
        found.sort_by_key(|(_, event)| event.global);
        let row = |(stream, event): (&String, &Arc<crate::EventRow>)| StreamEvent {
            stream: stream.clone(),
            event: crate::EventRow::clone(event),
        };
        found.into_iter().map(row).collect()
    }
}
