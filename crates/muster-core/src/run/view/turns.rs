//! Turns, inputs and artifacts in pages; the text of a turn as far as the log has it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Documents, EventOrder, EventQuery, ListOrder, ListQuery,
    run::{
        RunAggregate, RunDocument, RunFact,
        artifact::{Artifact, ArtifactKind},
        id::{ItemId, NodeId, RunId, TurnId},
        inbox::InboxItem,
        lookup::{self, Found, Lookup},
        turn::{NodeTurn, PromptKind},
    },
};

type Docs = Documents<RunAggregate>;

/// Page size while events are read.
const EVENTS_AT_ONCE: u32 = 1_000;
const TURNS_AT_ONCE: u32 = 200;

/// A page of a list, newest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListPage {
    /// Only entries with a lower number.
    pub below: Option<u64>,
    /// At most this many.
    pub limit: u32,
}

impl ListPage {
    fn query(self, kind: &'static str, parent: Option<NodeId>) -> ListQuery {
        ListQuery {
            parent: parent.map(|node| node.to_string()),
            after: self.below,
            order: ListOrder::Descending,
            limit: Some(self.limit),
            ..ListQuery::of(kind)
        }
    }
}

/// Turns of a run or of one node, newest first; the number of the last one leads to the next page.
pub fn turns(docs: &Docs, node: Option<NodeId>, page: ListPage) -> Lookup<Vec<&NodeTurn>> {
    let documents = docs.list(&page.query("turn", node))?;
    Ok(documents.into_iter().filter_map(RunDocument::as_turn).collect())
}

/// Artifacts of a run or of one node, newest first.
pub fn artifacts(
    docs: &Docs,
    node: Option<NodeId>,
    kind: Option<ArtifactKind>,
    page: ListPage,
) -> Lookup<Vec<&Artifact>> {
    let statuses = kind.map(ArtifactKind::name).into_iter().collect();
    let query = ListQuery { statuses, ..page.query("artifact", node) };
    Ok(docs.list(&query)?.into_iter().filter_map(RunDocument::as_artifact).collect())
}

/// A queued input with what it holds, as the inbox shows it.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ItemView {
    /// Its run.
    pub run_id: RunId,
    /// The message or envelope.
    pub ref_id: ItemId,
    /// The input.
    #[serde(flatten)]
    pub item: InboxItem,
}

/// The inputs of a node that failed and wait for a person, then those that are queued.
pub fn inbox(docs: &Docs, node: NodeId) -> Found<Vec<ItemView>> {
    let run_id = lookup::run(docs)?.id;
    lookup::node(docs, node)?;
    let mut shown = lookup::failed_inputs(docs, node)?;
    shown.extend(lookup::queued(docs, node, None)?);
    let view = |item: &&InboxItem| ItemView { run_id, ref_id: item.id, item: (*item).clone() };
    Ok(shown.iter().map(view).collect())
}

/// All text that the log has of a turn, which is the output of a turn that was cut off.
pub fn text_so_far(docs: &Docs, turn: &NodeTurn) -> Lookup<String> {
    let mut text = String::new();
    let mut query = EventQuery {
        // The turn alone: with the node, all events of the node would be scanned.
        scope: Some(turn.id.to_string()),
        ..EventQuery::of(EventOrder::OldestFirst, EVENTS_AT_ONCE)
    };
    loop {
        let events = docs.events(&query)?;
        for recorded in events.iter() {
            if let RunFact::TextStreamed(delta) = &recorded.event.fact {
                text.push_str(&delta.delta);
            }
        }
        match events.last() {
            Some(last) if events.len() == EVENTS_AT_ONCE as usize => {
                query.after = Some(last.global);
            }
            Some(_) | None => return Ok(text),
        }
    }
}

/// The turns whose prompts the provider of a node knows now, oldest first: the last full one and
/// those after it (RUNS-PROMPT-7).
pub fn turns_known_to_provider(docs: &Docs, node: NodeId) -> Found<Vec<TurnId>> {
    let Some(last) = lookup::node(docs, node)?.told_turn_id else { return Ok(Vec::new()) };
    let newest = lookup::turn(docs, last)?.number;
    let mut known = Vec::new();
    let mut page = ListPage { below: Some(newest + 1), limit: TURNS_AT_ONCE };
    loop {
        let turns = turns(docs, Some(node), page)?;
        for turn in turns.iter().filter(|turn| turn.sent) {
            known.push(turn.id);
            if turn.prompt_kind == PromptKind::Full {
                known.reverse();
                return Ok(known);
            }
        }
        match turns.last() {
            Some(last) if turns.len() == TURNS_AT_ONCE as usize => page.below = Some(last.number),
            Some(_) | None => {
                known.reverse();
                return Ok(known);
            }
        }
    }
}
