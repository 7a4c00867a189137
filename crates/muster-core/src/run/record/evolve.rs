//! The run itself, its approvals and its artifacts.

use crate::run::{
    RunDocument, RunKey,
    approval::{Approval, ApprovalStatus},
    artifact::{Artifact, ArtifactKind},
    event::{ApprovalRequested, ApprovalResolved, RunPatched},
    evolve::{Applied, FactPlace, RunDocs, change_pulse},
    id::ApprovalId,
    turn::evolve as turn_evolve,
};

pub(crate) fn run_patched(docs: &mut RunDocs, patched: &RunPatched) -> Applied {
    let patch = patched.patch.run.clone();
    if let Some(RunDocument::Run(run)) = docs.edit(&RunKey::Run)? {
        patch.apply(run);
    } else if let Some(run) = patch.into_whole() {
        docs.put(RunKey::Run, RunDocument::Run(Box::new(run)));
    }
    Ok(())
}

pub(crate) fn requested(
    docs: &mut RunDocs,
    place: FactPlace<'_>,
    requested: &ApprovalRequested,
) -> Applied {
    let (Some(node_id), Some(turn_id)) = (place.event.node_id, place.event.turn_id) else {
        return Ok(());
    };
    let Some(RunDocument::Run(run)) = docs.get(&RunKey::Run)? else { return Ok(()) };
    let run_id = run.id;
    let mut number = 0;
    change_pulse(docs, |pulse| {
        pulse.approvals += 1;
        pulse.pending_approvals += 1;
        number = pulse.approvals;
    })?;
    let approval = Approval {
        approval_id: requested.approval_id,
        run_id,
        node_id,
        turn_id,
        kind: requested.kind,
        tool: requested.tool.clone(),
        provider_approval_id: requested.provider_approval_id.clone(),
        context: requested.context.clone(),
        can_modify: requested.can_modify,
        detached: false,
        requested_at: place.at,
        status: ApprovalStatus::Pending,
        resolution: None,
        resolved_at: None,
        resolved_by: None,
        number,
    };
    let key = RunKey::Approval(requested.approval_id);
    docs.create(key, RunDocument::Approval(Box::new(approval)));
    turn_evolve::tool_waits(docs, turn_id, requested.tool.id, Some(requested.approval_id))
}

pub(crate) fn resolved(
    docs: &mut RunDocs,
    place: FactPlace<'_>,
    resolved: &ApprovalResolved,
) -> Applied {
    let key = RunKey::Approval(resolved.approval_id);
    let Some(RunDocument::Approval(approval)) = docs.edit(&key)? else { return Ok(()) };
    approval.status = resolved.resolution.status.into();
    approval.resolved_at = Some(place.at);
    approval.resolved_by = Some(resolved.resolution.by);
    approval.resolution = Some(resolved.resolution.clone());
    let turn_id = approval.turn_id;
    let tool_id = approval.tool.id;
    change_pulse(docs, |pulse| pulse.pending_approvals -= 1)?;
    turn_evolve::tool_waits(docs, turn_id, tool_id, None)
}

pub(crate) fn detached(docs: &mut RunDocs, place: FactPlace<'_>, id: ApprovalId) -> Applied {
    let Some(RunDocument::Approval(approval)) = docs.edit(&RunKey::Approval(id))? else {
        return Ok(());
    };
    approval.detached = true;
    let tool_id = approval.tool.id;
    turn_evolve::tool_left(docs, place, tool_id)
}

pub(crate) fn artifact_created(
    docs: &mut RunDocs,
    place: FactPlace<'_>,
    artifact: &Artifact,
) -> Applied {
    change_pulse(docs, |pulse| pulse.artifacts += 1)?;
    docs.create(RunKey::Artifact(artifact.id), RunDocument::Artifact(Box::new(artifact.clone())));
    let id = artifact.id;
    turn_evolve::change(docs, place, |turn| {
        let files = &mut turn.artifacts;
        match (artifact.kind, artifact.name.as_str()) {
            (ArtifactKind::Prompt, "prompt.full.txt") => files.prompt_full = Some(id),
            (ArtifactKind::Prompt, _) => files.prompt_blocks = Some(id),
            (ArtifactKind::Diff, _) => files.diff = Some(id),
            (ArtifactKind::Transcript, "transcript.md") => files.transcript = Some(id),
            (ArtifactKind::Log, "provider.log") => files.log = Some(id),
            (ArtifactKind::Report, _) => turn.reports.push(id),
            (ArtifactKind::Transcript | ArtifactKind::Log | ArtifactKind::Contextpack, _) => {}
        }
    })
}
