//! Finding documents, or the rejection that they do not exist.

use super::{
    SessionAggregate, SessionDocument, SessionKey, SessionRejection,
    entity::{HistoryEntry, Session, Standing, StoredNode},
    watched::WaitingSession,
};
use crate::{
    Documents, ListQuery, Unloaded, WorkRefusal,
    ctree::{NodeId, TreeNode},
    todo::{ScopeKey, TodoScope},
    watched::AgentProcess,
};

type Docs = Documents<SessionAggregate>;

/// The session, or what is left of it; none if it never existed.
pub fn standing(docs: &Docs) -> Result<Option<&Standing>, Unloaded<SessionAggregate>> {
    match docs.get(&SessionKey::Session)? {
        Some(SessionDocument::Session(standing)) => Ok(Some(standing)),
        Some(other) => unreachable!("a session is kept under its key, not {other:?}"),
        None => Ok(None),
    }
}

/// The session, if it lives.
pub fn session(docs: &Docs) -> Result<&Session, WorkRefusal<SessionAggregate>> {
    match standing(docs)? {
        Some(Standing::Open(session)) => Ok(session),
        Some(Standing::Ended { .. }) => Err(WorkRefusal::rejected(SessionRejection::SessionEnded)),
        None => Err(WorkRefusal::rejected(SessionRejection::UnknownSession)),
    }
}

/// A todo list, if an update of it was ever accepted.
pub fn scope<'d>(
    docs: &'d Docs,
    key: &ScopeKey,
) -> Result<Option<&'d TodoScope>, Unloaded<SessionAggregate>> {
    match docs.get(&SessionKey::Scope(key.clone()))? {
        Some(SessionDocument::Scope(scope)) => Ok(Some(scope)),
        Some(other) => unreachable!("a list is kept under its key, not {other:?}"),
        None => Ok(None),
    }
}

/// The todo lists in their order.
pub fn scopes(docs: &Docs) -> Result<Vec<&TodoScope>, Unloaded<SessionAggregate>> {
    let found = docs.list(&ListQuery::of("scope"))?.into_iter();
    Ok(found.filter_map(SessionDocument::as_scope).collect())
}

/// A node and its short text.
pub fn stored_node<'d>(
    docs: &'d Docs,
    id: &NodeId,
) -> Result<Option<&'d StoredNode>, Unloaded<SessionAggregate>> {
    Ok(docs.get(&SessionKey::Node(id.clone()))?.and_then(SessionDocument::as_node))
}

pub fn node<'d>(
    docs: &'d Docs,
    id: &NodeId,
) -> Result<Option<&'d TreeNode>, Unloaded<SessionAggregate>> {
    Ok(stored_node(docs, id)?.map(|stored| &stored.node))
}

/// The text of a node, wherever it is kept.
pub fn text<'d>(
    docs: &'d Docs,
    stored: &'d StoredNode,
) -> Result<&'d str, Unloaded<SessionAggregate>> {
    if stored.text.is_some() || stored.node.body_chars == 0 {
        return Ok(stored.text.as_deref().unwrap_or_default());
    }
    match docs.get(&SessionKey::Text(stored.node.id.clone()))? {
        Some(SessionDocument::Text(body)) => Ok(&body.text),
        other => unreachable!("{} has text, not {other:?}", stored.node.id),
    }
}

impl SessionDocument {
    /// The todo list it is, if it is one.
    pub fn as_scope(&self) -> Option<&TodoScope> {
        if let Self::Scope(scope) = self { Some(scope) } else { None }
    }

    /// The entry of a history it is, if it is one.
    pub fn as_entry(&self) -> Option<&HistoryEntry> {
        if let Self::Entry(entry) = self { Some(entry) } else { None }
    }

    /// The node it is, if it is one.
    pub fn as_node(&self) -> Option<&StoredNode> {
        if let Self::Node(node) = self { Some(node) } else { None }
    }

    /// What an agent waits for, if it is that.
    pub fn as_waiting(&self) -> Option<&WaitingSession> {
        if let Self::Waiting(waiting) = self { Some(waiting) } else { None }
    }

    /// The process of an agent, if it is that.
    pub fn as_process(&self) -> Option<AgentProcess> {
        if let Self::Process(process) = self { Some(*process) } else { None }
    }

    /// The session it is, if it is one that lives.
    pub fn as_session(&self) -> Option<&Session> {
        if let Self::Session(Standing::Open(session)) = self { Some(session) } else { None }
    }
}
