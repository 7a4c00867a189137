//! Todo lists of nodes (RUNS-TIE-2). A node's list is scope `main` of its session; its program's
//! own plans go to scope `plan`. The node shows the first, or the second while the first was never
//! written.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use muster_core::{
    Documents, Draft, Unloaded, field,
    run::{
        Ask,
        id::{NodeId, RunId},
        node::{NodeTodo, NodeTodoStatus},
    },
    session::{
        SessionAggregate, SessionCommand, SessionId,
        body::TOOL_RESULT,
        command::{Record, RecordOrigin},
        lookup, perform,
    },
    todo::{ScopeKey, TodoItem, TodoStatus},
};
use serde::Serialize;
use serde_json::Map;

use super::shared::RunsContext;
use muster_engine::GrowthListener;

/// Scope of a program's own plan, and the tool whose result publishes it.
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
    /// Records that a session belongs to a node.
    pub(crate) fn know(&self, session: &SessionId, run: RunId, node: NodeId) {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lists.entry(session.stream()).or_insert_with(|| Shown { run, node, todos: Vec::new() });
    }

    /// The sessions of matching runs and nodes.
    pub(crate) fn sessions(&self, is_meant: impl Fn(RunId, NodeId) -> bool) -> Vec<SessionId> {
        let lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let meant = lists.iter().filter(|(_, shown)| is_meant(shown.run, shown.node));
        meant.filter_map(|(stream, _)| SessionId::of_stream(stream)).collect()
    }

    fn knows(&self, stream: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains_key(stream)
    }

    /// Stores what a session shows now; returns the node that has to be updated, if it differs.
    fn differs(&self, stream: &str, todos: &[NodeTodo]) -> Option<(RunId, NodeId)> {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = lists.get_mut(stream).filter(|shown| shown.todos != todos)?;
        shown.todos = todos.to_vec();
        Some((shown.run, shown.node))
    }
}

/// Updates the lists of nodes whenever those of their sessions change.
pub(crate) async fn show(shared: Arc<RunsContext>, mut news: GrowthListener) {
    let mut closing = shared.closing.subscribe();
    loop {
        let grown = tokio::select! {
            grown = news.next() => grown,
            _ = closing.wait_for(|closing| *closing) => return,
        };
        for stream in grown.into_keys().filter(|stream| shared.lists.knows(stream)) {
            show_one(&shared, stream).await;
        }
    }
}

async fn show_one(shared: &Arc<RunsContext>, stream: String) {
    let reader = Arc::clone(shared);
    let read = stream.clone();
    let view = move || reader.engine.read::<SessionAggregate, _>(&read, |docs| Ok(list(docs)?));
    let Ok(Ok(Some(todos))) = crate::background::blocking(view).await else { return };
    if let Some((run, node)) = shared.lists.differs(&stream, &todos) {
        shared.report(run, Ask::ShowTodos { node, todos }).await;
    }
}

/// The list that a node shows; none while neither was written.
fn list(
    docs: &Documents<SessionAggregate>,
) -> Result<Option<Vec<NodeTodo>>, Unloaded<SessionAggregate>> {
    let main = lookup::scope(docs, &ScopeKey::main())?;
    let shown = match (main, ScopeKey::of(PLAN)) {
        (Some(main), _) => Some(main),
        (None, Some(plan)) => lookup::scope(docs, &plan)?,
        (None, None) => None,
    };
    Ok(shown.map(|scope| scope.items.iter().filter_map(todo).collect()))
}

fn todo(item: &TodoItem) -> Option<NodeTodo> {
    let status = match item.status {
        TodoStatus::Todo | TodoStatus::Blocked => NodeTodoStatus::Pending,
        TodoStatus::InProgress => NodeTodoStatus::InProgress,
        TodoStatus::Done => NodeTodoStatus::Completed,
        TodoStatus::Canceled => return None,
    };
    let content = item.title.clone();
    Some(NodeTodo { active_form: content.clone(), content, status })
}

/// Stores a program's plan, in its own list.
pub(crate) async fn plan(shared: &Arc<RunsContext>, session: SessionId, items: &[NodeTodo]) {
    let items: Vec<PlanItem> = items
        .iter()
        .enumerate()
        .map(|(at, item)| {
            let status = match item.status {
                NodeTodoStatus::Pending => TodoStatus::Todo,
                NodeTodoStatus::InProgress => TodoStatus::InProgress,
                NodeTodoStatus::Completed => TodoStatus::Done,
            };
            PlanItem { id: format!("plan-{}", at + 1), title: item.content.clone(), status }
        })
        .collect();
    let shared = Arc::clone(shared);
    let execute = move || {
        let work = move |draft: &mut Draft<'_, SessionAggregate>| {
            perform(draft, &plan_result(draft.documents(), &items)?).map(drop)
        };
        shared.engine.execute::<SessionAggregate, _>(session.stream(), work)
    };
    match crate::background::blocking(execute).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(?error, "could not store the program's plan"),
        Err(error) => tracing::warn!(%error, "could not store the program's plan"),
    }
}

/// A line of a plan, as readers of todo lists take it.
#[derive(Serialize)]
struct PlanItem {
    id: String,
    title: String,
    status: TodoStatus,
}

/// The plan as the result of a tool, which readers of todo lists look at.
fn plan_result(
    docs: &Documents<SessionAggregate>,
    items: &[PlanItem],
) -> Result<SessionCommand, Unloaded<SessionAggregate>> {
    let scope = match ScopeKey::of(PLAN) {
        Some(key) => lookup::scope(docs, &key)?,
        None => None,
    };
    let revision = scope.map_or(0, |scope| scope.revision).saturating_add(1);
    let plural = if items.len() == 1 { "" } else { "s" };
    let todo = Map::from_iter([
        field("op", "replace"),
        field("scopeKey", PLAN),
        field("scopeLabel", PLAN),
        field("items", items),
    ]);
    let body = Map::from_iter([
        field("call_id", &format!("todo:{PLAN}:{revision}")),
        field("tool", PLAN),
        field("status", "ok"),
        field("error", &false),
        field("success", &true),
        field("message", &format!("{} item{plural}", items.len())),
        field("todo", &todo),
    ]);
    Ok(SessionCommand::Record(Box::new(Record::of(RecordOrigin::Server, TOOL_RESULT, body))))
}
