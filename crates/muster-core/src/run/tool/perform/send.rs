//! Handoffs and reports that agents send.

use crate::run::{
    RunRejection,
    artifact::{
        ArtifactLink, Reference, artifact_reference, pack_reference, rules as artifact_rules,
    },
    bounds::{bad, filled, list, text},
    command::{ArtifactInput, CallFiles, MakeReport, NodeRef, SendHandoff},
    decide::reject,
    draft::RunDraft,
    edge::Direction,
    handoff,
    handoff::rules::link,
    id::{ItemId, NodeId},
    inbox::{
        EnvelopeKind, EnvelopeMeta, HandoffEnvelope, HandoffStatus, Payload, rules as inbox_rules,
    },
    limits,
    lookup::{self, Found},
    node::Node,
    rejection::Limited,
    tool::perform::{Means, Receiver, ToolReply, named},
};

/// A report has no files besides the one that it is.
const NO_FILES: CallFiles = CallFiles { pack: None, overflow: None, report: None };

/// The links of inputs, in their canonical form (RUNS-REF-1).
pub(crate) fn links(draft: &RunDraft<'_>, inputs: &[ArtifactInput]) -> Found<Vec<ArtifactLink>> {
    list("artifacts", inputs, limits::HANDOFF_ARTIFACTS_MAX)?;
    inputs.iter().map(|input| one_link(draft, input)).collect()
}

fn one_link(draft: &RunDraft<'_>, input: &ArtifactInput) -> Found<ArtifactLink> {
    let (kind, reference) = match input {
        ArtifactInput::Reference(reference) => (None, reference),
        ArtifactInput::Link { kind, reference } => (kind.clone(), reference),
    };
    let Some(known) = Reference::parse(reference) else {
        return reject(RunRejection::BadReference { reference: reference.clone() });
    };
    let artifact = lookup::artifact(draft.docs(), known.id)?;
    if !known.fits(artifact) {
        return reject(RunRejection::UnknownArtifact { id: known.id });
    }
    let kind = kind.unwrap_or_else(|| artifact.kind.name().to_owned());
    text("artifacts.type", &kind, limits::EDGE_LABEL_CHARS_MAX)?;
    Ok(ArtifactLink { kind, reference: artifact_reference(artifact.id) })
}

pub(crate) fn handoff(
    draft: &mut RunDraft<'_>,
    node: &Node,
    send: &SendHandoff,
    means: &Means<'_>,
) -> Found<ToolReply> {
    let to = named(draft, &send.to)?;
    let envelope = deliver(draft, node, to, send, means)?;
    let receiver = draft.node(to)?;
    let receiver = Receiver { status: receiver.status, inbox_count: receiver.inbox_count };
    let payload_id = envelope.id;
    let context_ref = envelope.context_ref;
    Ok(ToolReply::Sent { payload_id, context_ref, receiver })
}

/// Sends a handoff along an edge that permits it.
pub(crate) fn deliver(
    draft: &mut RunDraft<'_>,
    node: &Node,
    to: NodeId,
    send: &SendHandoff,
    means: &Means<'_>,
) -> Found<HandoffEnvelope> {
    let Some(way) = handoff::way(draft.docs(), node.id, to)? else {
        return reject(RunRejection::NoEdge { from: node.id, to });
    };
    let turn_id = means.turn.map(|turn| turn.id);
    if let Some(id) = turn_id
        && lookup::turn(draft.docs(), id)?.handoffs >= limits::TURN_HANDOFFS_MAX
    {
        let what = Limited::Handoffs;
        let max = u64::from(limits::TURN_HANDOFFS_MAX);
        return reject(RunRejection::LimitReached { what, max });
    }
    let mut artifacts = links(draft, &send.artifacts)?;
    let message = message(draft, node, &send.message, means, &mut artifacts)?;
    check_parts(send.structured.as_ref(), send.status.as_ref())?;
    if let Some(id) = send.reply_to {
        lookup::item(draft.docs(), id)?;
    }
    let wants_pack = send.context.unwrap_or(way.direction == Direction::Task);
    let pack = means.files.pack.as_ref().filter(|_| wants_pack);
    if let Some(file) = pack {
        artifact_rules::record(draft, node.id, file)?;
    }
    let envelope = HandoffEnvelope {
        kind: EnvelopeKind::Handoff,
        id: ItemId(draft.fresh()),
        from_node_id: node.id,
        to_node_id: to,
        created_at: draft.now(),
        payload: Payload {
            message,
            structured: send.structured.clone(),
            artifacts: (!artifacts.is_empty()).then_some(artifacts),
            status: send.status.clone(),
        },
        context_ref: pack.map(|file| pack_reference(file.id)),
        meta: EnvelopeMeta {
            direction: way.direction,
            auto: false,
            edge_id: Some(way.edge),
            turn_id,
            reply_to: send.reply_to,
            verify: false,
        },
    };
    inbox_rules::deliver(draft, envelope.clone())?;
    Ok(envelope)
}

/// The message, or the head of a longer one whose full text is in an artifact.
fn message(
    draft: &mut RunDraft<'_>,
    node: &Node,
    message: &str,
    means: &Means<'_>,
    artifacts: &mut Vec<ArtifactLink>,
) -> Found<String> {
    let Some(file) = &means.files.overflow else {
        filled("message", message, limits::HANDOFF_CHARS_MAX)?;
        return Ok(message.to_owned());
    };
    filled("message", message, limits::MESSAGE_CHARS_MAX)?;
    artifact_rules::record(draft, node.id, file)?;
    artifacts.push(link("transcript", file.id));
    Ok(message.chars().take(limits::HANDOFF_HEAD_CHARS).collect())
}

fn check_parts(
    structured: Option<&serde_json::Map<String, serde_json::Value>>,
    status: Option<&HandoffStatus>,
) -> Found<()> {
    let size = structured.and_then(|fields| serde_json::to_string(fields).ok());
    if size.is_some_and(|text| text.len() > limits::STRUCTURED_BYTES_MAX) {
        let field = "structured".to_owned();
        let max = limits::STRUCTURED_BYTES_MAX;
        return reject(RunRejection::TooLong { field, max });
    }
    let reason = status.and_then(|status| status.reason.as_deref()).unwrap_or("");
    text("status.reason", reason, limits::STATUS_REASON_CHARS_MAX)
}

/// Stores a report and sends it to the lead (10.2 of the rules).
pub(crate) fn report(
    draft: &mut RunDraft<'_>,
    node: &Node,
    report: &MakeReport,
    means: &Means<'_>,
) -> Found<ToolReply> {
    let Some(file) = &means.files.report else {
        return bad("report", "the file that was written for it");
    };
    let receivers = match &report.to {
        Some(name) => vec![named(draft, name)?],
        None => leads(draft, node.id)?,
    };
    artifact_rules::record(draft, node.id, file)?;
    let mut artifacts = report.artifacts.clone();
    artifacts.push(ArtifactInput::Reference(artifact_reference(file.id)));
    let means = Means { files: &NO_FILES, ..*means };
    let mut payload_ids = Vec::new();
    for to in receivers {
        let send = SendHandoff {
            to: NodeRef(to.to_string()),
            message: crate::text::cut(&report.message, limits::HANDOFF_CHARS_MAX),
            structured: report.structured.clone(),
            artifacts: artifacts.clone(),
            status: report.status.clone(),
            context: Some(false),
            reply_to: None,
        };
        payload_ids.push(deliver(draft, node, to, &send, &means)?.id);
    }
    Ok(ToolReply::Reported { artifact_id: file.id, payload_ids })
}

/// Orchestrators that a node may send to.
fn leads(draft: &RunDraft<'_>, from: NodeId) -> Found<Vec<NodeId>> {
    let nodes = lookup::nodes(draft.docs())?;
    let mut leads = Vec::new();
    for node in nodes.iter().filter(|node| node.orchestrator && node.id != from) {
        if handoff::way(draft.docs(), from, node.id)?.is_some() {
            leads.push(node.id);
        }
    }
    Ok(leads)
}
