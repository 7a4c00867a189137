//! The list of sessions: the newest first, page by page.

use std::{fmt, path::Path, str::FromStr};

use muster_core::session::{
    self, SessionAggregate, SessionId, SessionRejection,
    entity::{Session, SessionStatus},
    view::SessionObject,
};

use super::{SessionDesk, SessionFault, Told};
use crate::catalogue::{self, CataloguePlace};

/// Sessions that are looked at together when any number of them is wanted.
const PAGE_SESSIONS: u32 = 500;

/// What is wanted of the list. What is left out does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionsRequest {
    pub status: Option<SessionStatus>,
    /// Only sessions of this folder.
    pub workspace: Option<String>,
    /// Only sessions whose metadata have all of these values. Numbers, booleans and the rest are
    /// compared as JSON.
    pub metadata: Vec<(String, String)>,
    pub behind: Option<SessionCursor>,
    /// At most this many.
    pub limit: Option<u32>,
}

/// A place in the list: when a session was created, and its id. It stays a place when sessions are
/// created or deleted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionCursor {
    created_at_ms: u64,
    id: SessionId,
}

impl fmt::Display for SessionCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.created_at_ms, self.id)
    }
}

impl FromStr for SessionCursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (created_at_ms, id) = text.split_once('.').ok_or(())?;
        let created_at_ms = created_at_ms.parse().map_err(|_| ())?;
        Ok(Self { created_at_ms, id: SessionId::of(id).ok_or(())? })
    }
}

impl CataloguePlace for SessionCursor {
    fn number(&self) -> u64 {
        self.created_at_ms
    }
}

/// A part of the list.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionPage {
    pub sessions: Vec<SessionObject>,
    /// Where the next page begins, if there is one.
    pub next: Option<SessionCursor>,
}

impl SessionDesk<'_> {
    /// The sessions that are asked for, newest first.
    pub fn list(self, request: &SessionsRequest) -> Told<SessionPage> {
        let wanted = request.limit.map_or(usize::MAX, |limit| limit as usize);
        let about = request.limit.unwrap_or(PAGE_SESSIONS).saturating_add(1);
        let mut behind = request.behind.clone();
        let mut sessions: Vec<(SessionCursor, SessionObject)> = Vec::new();
        while sessions.len() <= wanted {
            let page = (behind.as_ref(), about);
            let engine = self.0.engine();
            let found = catalogue::next::<SessionAggregate, _>(engine, "session", page, place)?;
            let Some((last, _)) = found.last() else { break };
            behind = Some(last.clone());
            for (place, document) in &found {
                let session = document.as_session().filter(|session| request.wants(session));
                let Some(session) = session else { continue };
                let object = self.listed(&place.id, session)?;
                sessions.extend(object.map(|object| (place.clone(), object)));
            }
        }
        let has_more = sessions.len() > wanted;
        sessions.truncate(wanted);
        let next = sessions.last().filter(|_| has_more).map(|(place, _)| place.clone());
        Ok(SessionPage { sessions: sessions.into_iter().map(|(_, object)| object).collect(), next })
    }

    /// A session as the list shows it; nothing if it was deleted just now.
    fn listed(self, id: &SessionId, session: &Session) -> Told<Option<SessionObject>> {
        // Todo lists are documents of their own. The session has the numbers of its main list, and
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
    let created_at_ms = u64::try_from(document.as_session()?.created_at.0).unwrap_or(0);
    Some(SessionCursor { created_at_ms, id: SessionId::of_stream(stream)? })
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
        self.status.is_none_or(|status| status == session.status)
            && self.workspace.as_deref().is_none_or(|wanted| folder == Some(Path::new(wanted)))
            && self.metadata.iter().all(has)
    }
}
