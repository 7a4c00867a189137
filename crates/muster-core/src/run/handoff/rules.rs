//! Handoffs at the end of a turn, and those that Muster sends in its own name.

use crate::{
    ListOrder, ListQuery,
    run::{
        RunDocument,
        artifact::{Artifact, ArtifactLink, artifact_reference, pack_reference},
        command::{CloseTurn, VerifyReport},
        draft::RunDraft,
        edge::{Direction, rules as edge_rules},
        handoff,
        id::{ArtifactId, ItemId, NodeId, TurnId},
        inbox::{
            EnvelopeKind, EnvelopeMeta, HandoffEnvelope, HandoffStatus, Payload,
            rules as inbox_rules,
        },
        limits,
        lookup::{self, Found},
    },
};

/// Artifacts that a documentation handoff names, and paths that it lists.
const CHANGES_SHOWN_MAX: u32 = 50;

/// Sends what a completed turn owes: reports to the nodes that gave it work, and its result along
/// the forwarding edges (RUNS-HAND-4, RUNS-HAND-5).
pub(crate) fn automatic(draft: &mut RunDraft<'_>, id: TurnId, close: &CloseTurn) -> Found<()> {
    let turn = lookup::turn(draft.docs(), id)?.clone();
    let receivers = handoff::due(draft.docs(), &turn)?;
    let mut artifacts: Vec<ArtifactLink> = Vec::new();
    artifacts.extend(turn.artifacts.diff.map(|id| link("diff", id)));
    artifacts.extend(turn.artifacts.transcript.map(|id| link("transcript", id)));
    artifacts.extend(turn.reports.iter().map(|id| link("report", *id)));
    for (to, way) in receivers {
        let pack = close.pack.as_ref().filter(|_| way.direction == Direction::Task);
        let envelope = HandoffEnvelope {
            kind: EnvelopeKind::Handoff,
            id: ItemId(draft.fresh()),
            from_node_id: turn.node_id,
            to_node_id: to,
            created_at: draft.now(),
            payload: Payload {
                message: head(&close.text),
                structured: None,
                artifacts: Some(artifacts.clone()),
                status: Some(HandoffStatus { ok: true, reason: None }),
            },
            context_ref: pack.map(|file| pack_reference(file.id)),
            meta: EnvelopeMeta {
                direction: way.direction,
                auto: true,
                edge_id: Some(way.edge),
                turn_id: Some(id),
                reply_to: None,
                verify: false,
            },
        };
        inbox_rules::deliver(draft, envelope)?;
    }
    Ok(())
}

/// The beginning of a message, cut at a word (RUNS-HAND-6).
fn head(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() {
        return "(no text)".to_owned();
    }
    if crate::text::chars(text) <= limits::AUTO_MESSAGE_CHARS_MAX {
        return text.to_owned();
    }
    let cut: String = text.chars().take(limits::AUTO_MESSAGE_CHARS_MAX - 1).collect();
    let end = cut.rfind(char::is_whitespace).unwrap_or(cut.len());
    format!("{}…", cut[..end].trim_end())
}

/// Notifies the orchestrators of a node that it will not retry automatically (RUNS-TURN-8).
pub(crate) fn failure(draft: &mut RunDraft<'_>, id: NodeId, turn: TurnId) -> Found<()> {
    let turn = lookup::turn(draft.docs(), turn)?.clone();
    let node = draft.node(id)?.clone();
    let reason = turn.reason.map_or("failed", crate::run::turn::TurnReason::name);
    let label = &node.label;
    let message = match node.failed_inputs {
        0 => format!("{label} failed ({reason}) and will not retry automatically."),
        _ => format!(
            "{label} failed ({reason}). What it was given in that turn is set aside until a \
             person sends it again."
        ),
    };
    for to in leads(draft, id)? {
        let notice = Notice {
            message: message.clone(),
            artifacts: turn.artifacts.log.map(|id| link("log", id)).into_iter().collect(),
            status: Some(HandoffStatus { ok: false, reason: Some(reason.to_owned()) }),
            direction: Direction::Report,
            verify: false,
        };
        send(draft, to, notice)?;
    }
    Ok(())
}

/// Orchestrators that a node is connected with; without one, the lead.
fn leads(draft: &RunDraft<'_>, id: NodeId) -> Found<Vec<NodeId>> {
    let mut leads = Vec::new();
    for edge in edge_rules::edges_of(draft, id)? {
        let other = edge.other_end(id);
        if draft.node(other)?.orchestrator && !leads.contains(&other) {
            leads.push(other);
        }
    }
    if leads.is_empty() {
        leads.extend(draft.run()?.root_node_id.filter(|root| *root != id));
    }
    Ok(leads)
}

/// A message that Muster sends to a node in its own name.
struct Notice {
    message: String,
    artifacts: Vec<ArtifactLink>,
    status: Option<HandoffStatus>,
    direction: Direction,
    verify: bool,
}

/// The report of failed checks.
pub(crate) fn verification(
    draft: &mut RunDraft<'_>,
    to: NodeId,
    report: &VerifyReport,
) -> Found<()> {
    let names = report.failed.join(", ");
    let notice = Notice {
        message: format!("Verification failed: {names}. The report has the output of each check."),
        artifacts: vec![link("report", report.report.id)],
        status: Some(HandoffStatus { ok: false, reason: Some("verify_failed".to_owned()) }),
        direction: Direction::Report,
        verify: true,
    };
    send(draft, to, notice)
}

/// What the documentation has to catch up with (RUNS-PH-4).
pub(crate) fn docs_sync(draft: &mut RunDraft<'_>, to: NodeId) -> Found<()> {
    let query = ListQuery {
        statuses: vec!["diff"],
        order: ListOrder::Descending,
        limit: Some(CHANGES_SHOWN_MAX),
        ..ListQuery::of("artifact")
    };
    let diffs: Vec<Artifact> = draft
        .docs()
        .list(&query)?
        .into_iter()
        .filter_map(RunDocument::as_artifact)
        .filter(|artifact| !changed_files(artifact).is_empty())
        .cloned()
        .collect();
    let mut files: Vec<&str> = diffs.iter().flat_map(changed_files).map(String::as_str).collect();
    files.sort_unstable();
    files.dedup();
    let docs = draft.run()?.docs_paths.join(", ");
    let message = format!(
        "The work is verified. Bring the documentation in {docs} in line with it; change nothing \
         else. Changed files:\n{}",
        files.join("\n")
    );
    let notice = Notice {
        message: crate::text::cut(&message, limits::HANDOFF_CHARS_MAX),
        artifacts: diffs.iter().map(|artifact| link("diff", artifact.id)).collect(),
        status: None,
        direction: Direction::Task,
        verify: false,
    };
    send(draft, to, notice)
}

fn changed_files(artifact: &Artifact) -> &[String] {
    artifact.metadata.diff.as_ref().map_or(&[], |diff| &diff.files_changed)
}

/// A link to an artifact of the run.
pub(crate) fn link(kind: &str, id: ArtifactId) -> ArtifactLink {
    ArtifactLink { kind: kind.to_owned(), reference: artifact_reference(id) }
}

fn send(draft: &mut RunDraft<'_>, to: NodeId, notice: Notice) -> Found<()> {
    let envelope = HandoffEnvelope {
        kind: EnvelopeKind::Handoff,
        id: ItemId(draft.fresh()),
        from_node_id: NodeId::RUNTIME,
        to_node_id: to,
        created_at: draft.now(),
        payload: Payload {
            message: notice.message,
            structured: None,
            artifacts: (!notice.artifacts.is_empty()).then_some(notice.artifacts),
            status: notice.status,
        },
        context_ref: None,
        meta: EnvelopeMeta {
            direction: notice.direction,
            auto: true,
            edge_id: None,
            turn_id: None,
            reply_to: None,
            verify: notice.verify,
        },
    };
    inbox_rules::deliver(draft, envelope)
}
