//! Todo lists, their history (HB-16), and the snapshots that a new connection gets (TS-4).

use schemars::JsonSchema;
use serde::Serialize;

use super::{Docs, Shown};
use crate::{
    ListOrder, ListQuery, Timestamp, WorkRefusal,
    session::{
        SessionDocument, SessionId, SessionKey, SessionRejection, entity::HistoryEntry,
        limits::HISTORY_ENTRIES_MAX, lookup, receipt::TodoSource,
    },
    tasks::id::StepId,
    todo::{ItemId, Op, ScopeKey, SnapshotResult, TodoCounts, TodoItem, TodoScope, ToolStatus},
};

/// The todo lists of a session.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[schemars(rename = "TodoLists")]
pub struct SessionTodos {
    pub session_id: SessionId,
    /// The last event that they contain.
    pub seq: u64,
    /// The lists in their order.
    pub scopes: Vec<ScopeView>,
}

/// A todo list.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ScopeView {
    /// Its stable name.
    #[serde(rename = "scopeKey")]
    pub scope_key: ScopeKey,
    /// The text shown for it.
    #[serde(rename = "scopeLabel")]
    pub scope_label: String,
    pub revision: i64,
    /// The list.
    pub items: Vec<TodoItem>,
    /// How many items have which status.
    pub counts: TodoCounts,
    /// When it changed last.
    #[schemars(with = "u64")]
    pub updated_at_ms: Timestamp,
    /// With which event.
    pub updated_seq: u64,
}

/// What the todo tool reads (TT-3).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct TodoList {
    /// The titles in order.
    pub items: Vec<String>,
    /// The same items with what is known about them.
    pub todos: Vec<TodoLine>,
    /// The revision; 0 if nothing was ever stored.
    pub revision: i64,
}

/// An item in the words of the todo tool (EASE-TODO-1).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct TodoLine {
    pub id: ItemId,
    /// What is to be done.
    pub content: String,
    pub status: ToolStatus,
    /// How it reads while it is being worked on.
    #[serde(rename = "activeForm", skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// The step that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_id: Option<StepId>,
}

/// Which part of a history is wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TodoHistoryPage {
    /// The list.
    pub scope: ScopeKey,
    pub limit: u32,
    /// Only revisions below this one.
    pub before: Option<i64>,
}

/// A part of a list's history, newest first.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct TodoHistory {
    pub session_id: SessionId,
    /// The list.
    #[serde(rename = "scopeKey")]
    pub scope_key: ScopeKey,
    /// One entry per used revision.
    pub entries: Vec<EntryView>,
    /// Whether there are older ones.
    pub has_more: bool,
}

/// A list after one revision.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct EntryView {
    pub revision: i64,
    /// Number of the event.
    pub seq: u64,
    /// When it was accepted.
    #[schemars(with = "u64")]
    pub timestamp_ms: Timestamp,
    pub source: TodoSource,
    /// What was done.
    pub op: Op,
    /// The list after it.
    pub items: Vec<TodoItem>,
}

/// A snapshot of every known list, and the last event that they contain.
#[derive(Clone, PartialEq, Debug)]
pub struct Snapshots {
    /// In the order of the lists.
    pub lists: Vec<SnapshotResult>,
    /// The last event.
    pub as_of_seq: u64,
}

/// All known lists, or the requested one.
pub fn todos(docs: &Docs, id: &SessionId, scope: Option<&ScopeKey>) -> Shown<SessionTodos> {
    let seq = lookup::session(docs)?.last_seq;
    let scopes = match scope {
        None => lookup::scopes(docs)?.into_iter().map(ScopeView::of).collect(),
        Some(key) => vec![ScopeView::of(known(docs, key)?)],
    };
    Ok(SessionTodos { session_id: id.clone(), seq, scopes })
}

/// The session's own list as the todo tool shows it.
pub fn todo_read(docs: &Docs) -> Shown<TodoList> {
    lookup::session(docs)?;
    let Some(main) = lookup::scope(docs, &ScopeKey::main())? else {
        return Ok(TodoList::default());
    };
    Ok(TodoList::of(&main.items, main.revision))
}

/// The session's own list as it was after a revision.
pub fn todo_list_at(docs: &Docs, revision: i64) -> Shown<TodoList> {
    let entry = docs.get(&SessionKey::Entry(ScopeKey::main(), revision))?;
    let Some(entry) = entry.and_then(SessionDocument::as_entry) else {
        unreachable!("every used revision has an entry, also {revision}")
    };
    Ok(TodoList::of(&entry.items, revision))
}

/// A part of a list's history. The session's own list always has one, which may be empty.
pub fn history(docs: &Docs, id: &SessionId, page: &TodoHistoryPage) -> Shown<TodoHistory> {
    lookup::session(docs)?;
    if !page.scope.is_main() {
        known(docs, &page.scope)?;
    }
    let limit = page.limit.clamp(1, HISTORY_ENTRIES_MAX);
    let query = ListQuery {
        parent: Some(page.scope.to_string()),
        order: ListOrder::Descending,
        after: page.before.map(|before| u64::try_from(before).unwrap_or(0)),
        limit: Some(limit + 1),
        ..ListQuery::of("entry")
    };
    let found = docs.list(&query)?.into_iter().filter_map(SessionDocument::as_entry);
    let mut entries: Vec<EntryView> = found.map(EntryView::of).collect();
    let has_more = entries.len() > limit as usize;
    entries.truncate(limit as usize);
    Ok(TodoHistory { session_id: id.clone(), scope_key: page.scope.clone(), entries, has_more })
}

/// The start of a connection that is not a gapless resume.
pub fn snapshots(docs: &Docs) -> Shown<Snapshots> {
    let as_of_seq = lookup::session(docs)?.last_seq;
    let lists = lookup::scopes(docs)?.into_iter();
    Ok(Snapshots {
        lists: lists.map(|scope| scope.snapshot_result(as_of_seq)).collect(),
        as_of_seq,
    })
}

fn known<'d>(docs: &'d Docs, key: &ScopeKey) -> Shown<&'d TodoScope> {
    let unknown = || WorkRefusal::rejected(SessionRejection::UnknownScope { scope: key.clone() });
    lookup::scope(docs, key)?.ok_or_else(unknown)
}

impl TodoList {
    fn of(items: &[TodoItem], revision: i64) -> Self {
        let titles = items.iter().map(|item| item.title.clone()).collect();
        Self { items: titles, todos: items.iter().map(TodoLine::of).collect(), revision }
    }
}

impl TodoLine {
    fn of(item: &TodoItem) -> Self {
        Self {
            id: item.id.clone(),
            content: item.title.clone(),
            status: ToolStatus::of(item.status),
            active_form: item.active_form().map(str::to_owned),
            step_id: item.step(),
        }
    }

    /// Whether it is still to be done.
    pub fn is_open(&self) -> bool {
        match self.status {
            ToolStatus::Pending | ToolStatus::InProgress => true,
            ToolStatus::Completed | ToolStatus::Cancelled => false,
        }
    }
}

impl ScopeView {
    fn of(scope: &TodoScope) -> Self {
        Self {
            scope_key: scope.key.clone(),
            scope_label: scope.label.clone(),
            revision: scope.revision,
            items: scope.items.clone(),
            counts: scope.counts(),
            updated_at_ms: scope.updated_at,
            updated_seq: scope.updated_seq,
        }
    }
}

impl EntryView {
    fn of(entry: &HistoryEntry) -> Self {
        Self {
            revision: entry.revision,
            seq: entry.seq,
            timestamp_ms: entry.at,
            source: entry.source,
            op: entry.op,
            items: entry.items.clone(),
        }
    }
}
