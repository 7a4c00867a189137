//! Todo lists of nodes (RUNS-TIE-2). A node's list is scope `main` of its session; what its program
//! says of its own plans goes to scope `plan`. The node shows the first, or the second while the
//! first was never written.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use muster_core::{
    Documents, Draft,
    run::{
        Ask,
        id::{NodeId, RunId},
        node::{NodeTodo, TodoStatus},
    },
    session::{
        Command, SessionId, Sessions,
        command::{Author, Record},
        lookup, perform,
    },
    todo::{Item, ScopeKey, Status},
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::shared::Shared;
use crate::herald::Grown;

/// Type of the event that carries a program's own plan.
const PLAN: &str = "plan";

/// Which session belongs to which node, and what the node shows of it.
#[derive(Default)]
pub(crate) struct Lists(Mutex<BTreeMap<String, Shown>>);

struct Shown {
    run: RunId,
    node: NodeId,
    todos: Vec<NodeTodo>,
}

impl Lists {
    /// A session belongs to a node.
    pub(crate) fn know(&self, session: &SessionId, run: RunId, node: NodeId) {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = || Shown { run, node, todos: Vec::new() };
        lists.entry(session.stream()).or_insert_with(shown);
    }

    fn knows(&self, stream: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains_key(stream)
    }

    /// Keeps what a session shows now; the node that has to be told, if it is something else.
    fn differs(&self, stream: &str, todos: &[NodeTodo]) -> Option<(RunId, NodeId)> {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = lists.get_mut(stream).filter(|shown| shown.todos != todos)?;
        shown.todos = todos.to_vec();
        Some((shown.run, shown.node))
    }
}

/// Shows the lists of sessions at their nodes, whenever one changes.
pub(crate) async fn show(shared: Arc<Shared>, mut news: mpsc::UnboundedReceiver<Grown>) {
    let mut closing = shared.closing.subscribe();
    loop {
        let grown = tokio::select! {
            grown = news.recv() => grown,
            _ = closing.wait_for(|closing| *closing) => return,
        };
        let Some(Grown { stream, .. }) = grown else { return };
        if !shared.lists.knows(&stream) {
            continue;
        }
        let (reader, read) = (Arc::clone(&shared), stream.clone());
        let view = move || reader.engine.read::<Sessions, _>(&read, |docs| Ok(list(docs)?));
        let Ok(Ok(Some(todos))) = tokio::task::spawn_blocking(view).await else { continue };
        if let Some((run, node)) = shared.lists.differs(&stream, &todos) {
            shared.report(run, Ask::ShowTodos { node, todos }).await;
        }
    }
}

/// The list that a node shows; none while neither was written.
fn list(
    docs: &Documents<Sessions>,
) -> Result<Option<Vec<NodeTodo>>, muster_core::Unloaded<Sessions>> {
    let main = lookup::scope(docs, &ScopeKey::main())?;
    let shown = match (main, ScopeKey::of(PLAN)) {
        (Some(main), _) => Some(main),
        (None, Some(plan)) => lookup::scope(docs, &plan)?,
        (None, None) => None,
    };
    Ok(shown.map(|scope| scope.items.iter().filter_map(todo).collect()))
}

fn todo(item: &Item) -> Option<NodeTodo> {
    let status = match item.status {
        Status::Todo | Status::Blocked => TodoStatus::Pending,
        Status::InProgress => TodoStatus::InProgress,
        Status::Done => TodoStatus::Completed,
        Status::Canceled => return None,
    };
    let content = item.title.clone();
    Some(NodeTodo { active_form: content.clone(), content, status })
}

/// Keeps what a program says that it plans, in its own list.
pub(crate) async fn plan(shared: &Arc<Shared>, session: SessionId, items: &[NodeTodo]) {
    let items: Vec<Value> = items
        .iter()
        .enumerate()
        .map(|(at, item)| {
            let status = match item.status {
                TodoStatus::Pending => "todo",
                TodoStatus::InProgress => "in_progress",
                TodoStatus::Completed => "done",
            };
            json!({"id": format!("plan-{}", at + 1), "title": item.content, "status": status})
        })
        .collect();
    let update = json!({"op": "replace", "scopeKey": PLAN, "scopeLabel": PLAN, "items": items});
    let body = BTreeMap::from([("todo".to_owned(), update)]).into_iter().collect();
    let command = Command::Record(Box::new(Record::of(Author::Server, PLAN, body)));
    let shared = Arc::clone(shared);
    let execute = move || {
        let work = move |draft: &mut Draft<'_, Sessions>| perform(draft, &command).map(drop);
        shared.engine.execute::<Sessions, _>(session.stream(), work)
    };
    match tokio::task::spawn_blocking(execute).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(?error, "a plan was not kept"),
        Err(error) => tracing::warn!(%error, "a plan was not kept"),
    }
}
