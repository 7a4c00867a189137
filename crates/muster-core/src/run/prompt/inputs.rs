//! Inputs, each between two fences that its text cannot imitate (RUNS-PROMPT-2).

use super::{Detail, Form, View};
use crate::{
    run::{
        artifact::{Reference, artifact_reference},
        inbox::{HandoffEnvelope, InboxContent, InboxItem, ItemKind},
        lookup::{self, Lookup},
        turn::{Consumed, NodeTurn, Trigger},
    },
    text::{chars, cut},
};

const INPUT_CHARS_MAX: usize = 32_000;
const INPUT_HEAD_CHARS: usize = 24_000;
const STRUCTURED_CHARS_MAX: usize = 4_000;
const PACK_CHARS_MAX: usize = 2_000;
/// Hexadecimal digits of a fence.
const FENCE_BITS: u128 = 0xFFFF_FFFF;

/// Inputs that fit: all, or the redelivered ones and the first waiting one.
pub(super) fn chosen<'v, 'a>(
    view: &'v View<'a>,
    detail: Detail,
) -> &'v [(Consumed, &'a InboxItem)] {
    let again = view.inputs.iter().filter(|(taken, _)| taken.redelivered).count();
    let end = if detail.all_inputs { view.inputs.len() } else { again.max(1) };
    &view.inputs[..end.min(view.inputs.len())]
}

/// The inputs, after a note on why the turn begins.
pub(super) fn render(
    view: &View<'_>,
    inputs: &[(Consumed, &InboxItem)],
    detail: Detail,
    form: Form,
) -> Lookup<String> {
    let typed = |item: &InboxItem| match form {
        Form::Typed => view.source.originals.get(&item.id),
        Form::Kept => None,
    };
    let fence = format!("{:08x}", view.source.turn.0 & FENCE_BITS);
    let mut texts: Vec<String> = note(view)?.into_iter().collect();
    for (at, (taken, item)) in inputs.iter().enumerate() {
        let header = header(view, at + 1, taken, item)?;
        let body = match &item.content {
            InboxContent::Message(message) => {
                shortened(view, item, typed(item).unwrap_or(&message.content))
            }
            InboxContent::Envelope(envelope) => handoff(view, item, envelope, detail)?,
        };
        texts.push(format!("{header}\n----- {fence}\n{body}\n----- {fence}"));
    }
    Ok(texts.join("\n\n"))
}

fn header(view: &View<'_>, number: usize, taken: &Consumed, item: &InboxItem) -> Lookup<String> {
    let sender = match &item.content {
        InboxContent::Envelope(envelope) => {
            match lookup::find_node(view.docs, envelope.from_node_id)? {
                Some(node) => format!("from {} ({})", node.label, node.id),
                None if envelope.from_node_id.is_runtime() => "from Muster".to_owned(),
                None => format!("from a deleted node ({})", envelope.from_node_id),
            }
        }
        InboxContent::Message(_) => match item.kind {
            ItemKind::Message => "from the user".to_owned(),
            ItemKind::Handoff | ItemKind::ToolResult | ItemKind::System => "from Muster".to_owned(),
        },
    };
    let flags = [(item.interrupt, ", interrupt"), (taken.redelivered, ", redelivered")];
    let flags: String = flags.into_iter().filter(|(on, _)| *on).map(|(_, flag)| flag).collect();
    let kind = item.kind;
    let id = item.id;
    let at = item.enqueued_at;
    Ok(format!("Input {number}: {kind} {sender}, id {id}, {at}{flags}"))
}

/// A text, or its head and where all of it is (RUNS-PROMPT-3).
fn shortened(view: &View<'_>, item: &InboxItem, text: &str) -> String {
    if text.len() <= INPUT_CHARS_MAX || chars(text) <= INPUT_CHARS_MAX {
        return text.to_owned();
    }
    let head = cut(text, INPUT_HEAD_CHARS);
    match view.source.overflow.get(&item.id) {
        Some(id) => format!("{head}\n(all of it: {})", artifact_reference(*id)),
        None => head,
    }
}

fn handoff(
    view: &View<'_>,
    item: &InboxItem,
    envelope: &HandoffEnvelope,
    detail: Detail,
) -> Lookup<String> {
    let payload = &envelope.payload;
    let mut lines = vec![shortened(view, item, &payload.message)];
    if let Some(status) = &payload.status {
        let word = if status.ok { "ok" } else { "not ok" };
        let reason = status.reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        lines.push(format!("Status: {word}{reason}"));
    }
    if let Some(fields) = &payload.structured {
        let text = serde_json::to_string(fields).unwrap_or_default();
        lines.push(match detail.structured && chars(&text) <= STRUCTURED_CHARS_MAX {
            true => format!("Structured: {text}"),
            false => format!("Structured: {} characters, left out", chars(&text)),
        });
    }
    let links = payload.artifacts.as_deref().unwrap_or_default();
    for link in links.iter().take(detail.links_max) {
        lines.push(artifact(view, &link.kind, &link.reference)?);
    }
    if links.len() > detail.links_max {
        lines.push(format!("and {} more artifacts", links.len() - detail.links_max));
    }
    if let Some(reference) = &envelope.context_ref {
        lines.push(format!("Context: {reference}"));
        let pack = Reference::parse(reference).and_then(|known| view.source.packs.get(&known.id));
        lines.extend(pack.filter(|_| detail.packs).map(|text| cut(text, PACK_CHARS_MAX)));
    }
    Ok(lines.join("\n"))
}

fn artifact(view: &View<'_>, kind: &str, reference: &str) -> Lookup<String> {
    let known = match Reference::parse(reference) {
        Some(known) => lookup::find_artifact(view.docs, known.id)?,
        None => None,
    };
    Ok(match known {
        Some(known) => {
            format!("Artifact: {kind} {reference}, {} bytes, {}", known.size, known.path)
        }
        None => format!("Artifact: {kind} {reference}"),
    })
}

/// Why the turn begins, if the inputs do not show it.
fn note(view: &View<'_>) -> Lookup<Option<String>> {
    let again = match view.node.redeliver_turn_id {
        Some(id) => lookup::find_turn(view.docs, id)?,
        None => None,
    };
    Ok(match view.source.trigger {
        Trigger::Auto => Some(auto(view)?),
        Trigger::Retry => again.map(failed),
        Trigger::Resume => again.map(interrupted),
        Trigger::DocsSync => Some(
            "The run is about to end. Only documentation may be written in this turn.".to_owned(),
        ),
        Trigger::User | Trigger::Handoff | Trigger::ToolResult | Trigger::Start => None,
    })
}

/// The prompt of an orchestrator when nothing arrived (RUNS-AUTO-3).
fn auto(view: &View<'_>) -> Lookup<String> {
    let since = view.last_sent.map_or(0, |turn| turn.seq);
    let changes = super::roster::changes(view, since)?;
    let changes =
        if changes.is_empty() { "Nothing changed in the graph.".to_owned() } else { changes };
    let goal = super::task::head(view).goal;
    Ok(format!(
        "No new input arrived since your last turn, and no other node works for you now.\n{goal}\n\
         {changes}\nContinue with one of these: act yourself, delegate with send_handoff or \
         spawn_node, ask_user when a decision is missing, complete_run when everything is done."
    ))
}

fn failed(turn: &NodeTurn) -> String {
    let reason = turn.reason.map_or("unknown", crate::run::turn::TurnReason::name);
    let detail = turn.detail.as_deref().map(|detail| format!(": {}", cut(detail, 300)));
    format!("The last attempt at these inputs failed ({reason}{}).", detail.unwrap_or_default())
}

fn interrupted(turn: &NodeTurn) -> String {
    let reason = turn.reason.map_or("unknown", crate::run::turn::TurnReason::name);
    let diff =
        turn.artifacts.diff.map(|id| format!(" What it had changed: {}.", artifact_reference(id)));
    format!(
        "Your last turn was interrupted ({reason}).{} Check what is done before repeating it.",
        diff.unwrap_or_default()
    )
}
