//! How a turn ends: its diff is taken, its transcript and logs are written, and it is closed.

use std::{path::PathBuf, sync::Arc};

use muster_core::{
    Documents, EventOrder, EventQuery,
    run::{
        Ask, RunAggregate as Room, RunEvent,
        artifact::{ArtifactKind, WrittenFile},
        command::{CloseTurn, RetryHint},
        edge::Direction,
        handoff,
        id::{ArtifactId, RunId, TurnId},
        inbox::InboxItem,
        lookup::{self, Lookup},
        node::Node,
        record::{Phase, Run},
        turn::{NodeTurn, TurnReason, TurnStatus},
        view::{
            transcript::transcript,
            turns::{ListPage, text_so_far, turns},
        },
    },
};

use super::{artifacts::ArtifactDraft, driver::Whole, packs, reports, shared::RunsContext};

/// Page size and number of pages for a transcript.
const EVENTS_AT_ONCE: u32 = 1_000;
const EVENT_PAGES_MAX: usize = 20;
/// Turns that are checked for an overlap.
const TURNS_AT_ONCE: u32 = 200;

/// What its driver knows of a turn that ends.
pub(crate) struct TurnFinish {
    pub(crate) turn: TurnId,
    /// All output; without it, what the log has of it.
    pub(crate) text: Option<Whole>,
    /// Whether its process has exited.
    pub(crate) process_gone: bool,
    /// The end of standard error.
    pub(crate) stderr: Option<String>,
    /// The program's hint about a retry.
    pub(crate) retry: RetryHint,
}

impl TurnFinish {
    /// The end of a turn without a driver.
    pub(crate) fn of(turn: TurnId) -> Self {
        Self { turn, text: None, process_gone: true, stderr: None, retry: RetryHint::default() }
    }
}

struct TurnContext {
    run: Run,
    node: Node,
    turn: NodeTurn,
    items: Vec<InboxItem>,
    events: Vec<RunEvent>,
    text: String,
    overlap: Vec<TurnId>,
    gives_work: bool,
}

/// Records the end of a turn and closes it.
pub(crate) async fn close(shared: &Arc<RunsContext>, run: RunId, ending: TurnFinish) {
    if let Some(close) = closing(shared, run, ending).await {
        shared.report(run, Ask::CloseTurn(Box::new(close))).await;
    }
}

/// The result of a turn; `None` when it has ended already.
pub(crate) async fn closing(
    shared: &Arc<RunsContext>,
    run: RunId,
    ending: TurnFinish,
) -> Option<CloseTurn> {
    let turn = ending.turn;
    let reads_text = ending.text.is_none();
    let known = shared.view_large(run, move |docs| Ok(context(docs, turn, reads_text)?)).await;
    let context = match known {
        Ok(Some(context)) => context,
        Ok(None) => return None,
        Err(error) => {
            tracing::error!(%run, ?error, "could not close the turn");
            return None;
        }
    };
    let (text, file) = match ending.text {
        Some(whole) => (whole.text, whole.file),
        None => (context.text.clone(), None),
    };
    let mut close = CloseTurn {
        turn,
        text,
        diff: None,
        transcript: None,
        log: None,
        reports: Vec::new(),
        pack: None,
        retry: ending.retry,
        process_gone: ending.process_gone,
    };
    if context.turn.sent {
        close.diff = diff(shared, &context).await;
        let events: Vec<&RunEvent> = context.events.iter().collect();
        let items: Vec<&InboxItem> = context.items.iter().collect();
        let text = transcript(&context.turn, &items, &events, &close.text);
        close.transcript =
            write(shared, run, ArtifactKind::Transcript, ("transcript.md", &redacted(text)));
    }
    if let Some(file) = file {
        let file = write(shared, run, ArtifactKind::Transcript, ("message.txt", &redacted(file)));
        if let Some(file) = &file {
            let reference = muster_core::run::artifact::artifact_reference(file.id);
            close.text.push_str(&format!("\n[more was said than is shown: {reference}]"));
        }
        close.reports.extend(file);
    }
    let failed = context.turn.reason.map(TurnReason::status) == Some(TurnStatus::Failed);
    if let Some(stderr) = ending.stderr.filter(|_| failed) {
        close.log = write(shared, run, ArtifactKind::Log, ("provider.log", &redacted(stderr)));
    }
    if context.run.phase == Phase::DocsSync && context.run.docs_node_id == Some(context.node.id) {
        close.reports.extend(reports::docs_sync(shared, &context.run, &close));
    }
    if context.gives_work && context.turn.reason == Some(TurnReason::Done) {
        close.pack = packs::build(shared, run, context.node.id).await;
    }
    Some(close)
}

pub(crate) fn redacted(text: String) -> String {
    muster_core::redact::text(&text).unwrap_or(text)
}

/// Writes a file; a failure is logged, not fatal.
pub(crate) fn write(
    shared: &RunsContext,
    run: RunId,
    kind: ArtifactKind,
    (name, content): (&str, &str),
) -> Option<WrittenFile> {
    let draft = ArtifactDraft { kind, name, content: content.as_bytes(), diff: None };
    match shared.files.write(run, ArtifactId(shared.fresh()), draft) {
        Ok(file) => Some(file),
        Err(error) => {
            tracing::error!(%run, %error, name, "could not write a file of the run");
            None
        }
    }
}

async fn diff(shared: &Arc<RunsContext>, context: &TurnContext) -> Option<WrittenFile> {
    let run = context.run.id;
    let workdir = PathBuf::from(&context.node.workdir);
    let before = context.turn.tree.as_deref();
    let mut diff = shared.shadows.diff(shared, run, &workdir, before).await;
    diff.metadata.shared = !context.overlap.is_empty();
    diff.metadata.overlap_turns.clone_from(&context.overlap);
    let content = diff.content.as_bytes();
    let kind = ArtifactKind::Diff;
    let name = "diff.patch";
    let metadata = Some(diff.metadata);
    let draft = ArtifactDraft { kind, name, content, diff: metadata };
    match shared.files.write(run, ArtifactId(shared.fresh()), draft) {
        Ok(file) => Some(file),
        Err(error) => {
            tracing::error!(%run, %error, "could not write the diff");
            None
        }
    }
}

fn context(docs: &Documents<Room>, id: TurnId, reads_text: bool) -> Lookup<Option<TurnContext>> {
    let turn = lookup::find_turn(docs, id)?.filter(|turn| turn.is_live());
    let (Some(run), Some(turn)) = (lookup::find_run(docs)?, turn) else { return Ok(None) };
    let Some(node) = lookup::find_node(docs, turn.node_id)? else { return Ok(None) };
    let mut items = Vec::new();
    for taken in &turn.consumed {
        items.extend(lookup::find_item(docs, taken.id)?.cloned());
    }
    let gives_work =
        handoff::due(docs, turn)?.iter().any(|(_, way)| way.direction == Direction::Task);
    Ok(Some(TurnContext {
        run: run.clone(),
        node: node.clone(),
        items,
        events: events(docs, turn)?,
        text: if reads_text { text_so_far(docs, turn)? } else { String::new() },
        overlap: overlap(docs, turn, node)?,
        gives_work,
        turn: turn.clone(),
    }))
}

/// Events of a turn, oldest first. The query names only the turn: one that also names the node
/// would scan all events of the node.
fn events(docs: &Documents<Room>, turn: &NodeTurn) -> Lookup<Vec<RunEvent>> {
    let mut query = EventQuery {
        scope: Some(turn.id.to_string()),
        ..EventQuery::of(EventOrder::OldestFirst, EVENTS_AT_ONCE)
    };
    let mut found = Vec::new();
    for _ in 0..EVENT_PAGES_MAX {
        let page = docs.events(&query)?;
        // What the turn sent to others belongs to them.
        let own = page.iter().filter(|recorded| recorded.event.node_id == Some(turn.node_id));
        found.extend(own.map(|recorded| recorded.event.clone()));
        match page.last() {
            Some(last) if page.len() == EVENTS_AT_ONCE as usize => query.after = Some(last.global),
            Some(_) | None => break,
        }
    }
    Ok(found)
}

/// Turns of other nodes that ran in the same directory at the same time (RUNS-DIFF-6).
fn overlap(docs: &Documents<Room>, turn: &NodeTurn, node: &Node) -> Lookup<Vec<TurnId>> {
    let mut found = Vec::new();
    for other in turns(docs, None, ListPage { below: None, limit: TURNS_AT_ONCE })? {
        let together = other.ended_at.is_none_or(|ended| ended > turn.started_at);
        if other.node_id == turn.node_id || !together || !other.sent {
            continue;
        }
        let there = lookup::find_node(docs, other.node_id)?;
        if there.is_none_or(|there| there.workdir == node.workdir) {
            found.push(other.id);
        }
    }
    found.reverse();
    Ok(found)
}
