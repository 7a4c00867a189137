//! The list of sessions: newest first, page by page.

use std::path::Path;

use muster_core::session::{
    self, SessionAggregate, SessionId, SessionRejection,
    entity::{Session, SessionStatus},
    view::SessionObject,
};

use super::{SessionDesk, SessionFault, Told};
use crate::catalogue::{self, StreamCursor};

/// Sessions that are read at once when there is no limit.
const PAGE_SESSIONS: u32 = 500;

/// The filter of the list; absent fields match everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionsRequest {
    pub status: Option<SessionStatus>,
    /// Only sessions of this folder.
    pub workspace: Option<String>,
    /// Only sessions whose metadata has all of these values. Numbers, booleans and the rest are
    /// compared as JSON.
    pub metadata: Vec<(String, String)>,
    /// Only sessions that this named token made.
    pub made_by: Option<String>,
    pub after: Option<SessionCursor>,
    /// At most this many.
    pub limit: Option<u32>,
}

/// A place in the list: when a session was created, and its id.
pub type SessionCursor = StreamCursor<SessionId>;

/// A part of the list.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionPage {
    pub sessions: Vec<SessionObject>,
    /// Where the next page begins, if there is one.
    pub next: Option<SessionCursor>,
}

impl SessionDesk<'_> {
    /// The matching sessions, newest first.
    pub fn list(self, request: &SessionsRequest) -> Told<SessionPage> {
        let wanted = request.limit.map_or(usize::MAX, |limit| limit as usize);
        let about = request.limit.unwrap_or(PAGE_SESSIONS).saturating_add(1);
        let mut after = request.after.clone();
        let mut sessions: Vec<(SessionCursor, SessionObject)> = Vec::new();
        while sessions.len() <= wanted {
            let page = (after.as_ref(), about);
            let engine = self.0.engine();
            let found = catalogue::next::<SessionAggregate, _>(engine, "session", page, place)?;
            let Some((last, _)) = found.last() else { break };
            after = Some(last.clone());
            for (place, document) in &found {
                let session = document.as_session().filter(|session| request.wants(session));
                let Some(session) = session else { continue };
                let object = self.listed(&place.of, session)?;
                sessions.extend(object.map(|object| (place.clone(), object)));
            }
        }
        let has_more = sessions.len() > wanted;
        sessions.truncate(wanted);
        let next = sessions.last().filter(|_| has_more).map(|(place, _)| place.clone());
        Ok(SessionPage { sessions: sessions.into_iter().map(|(_, object)| object).collect(), next })
    }

    /// A session as the list shows it; `None` if it was just deleted.
    fn listed(self, id: &SessionId, session: &Session) -> Told<Option<SessionObject>> {
        // Todo lists are documents of their own. The session has the counts of its main list, and
        // few sessions have another one.
        if session.scopes == 0 {
            return Ok(Some(SessionObject::of(id, session, session.todos)));
        }
        match self.show(id) {
            Ok(object) => Ok(Some(object)),
            Err(SessionFault::Refused(rejection))
                if *rejection == SessionRejection::SessionEnded =>
            {
                Ok(None)
            }
            Err(fault) => Err(fault),
        }
    }
}

fn place(stream: &str, document: &session::SessionDocument) -> Option<SessionCursor> {
    let at = u64::try_from(document.as_session()?.created_at.0).unwrap_or(0);
    Some(SessionCursor { at, of: SessionId::of_stream(stream)? })
}

impl SessionsRequest {
    fn wants(&self, session: &Session) -> bool {
        let folder = session.workspace.as_deref().map(Path::new);
        let has = |(key, wanted): &(String, String)| {
            let value = session.metadata.as_ref().and_then(|metadata| metadata.get(key));
            value.is_some_and(|value| match value.as_str() {
                Some(text) => text == wanted,
                None => serde_json::to_string(value).is_ok_and(|text| text == *wanted),
            })
        };
        self.made_by.as_ref().is_none_or(|name| session.made_by.as_ref() == Some(name))
            && self.status.is_none_or(|status| status == session.status)
            && self.workspace.as_deref().is_none_or(|wanted| folder == Some(Path::new(wanted)))
            && self.metadata.iter().all(has)
    }
}
