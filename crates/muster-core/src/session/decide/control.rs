//! The commands of HB-12, and what drives a session.

use super::{CommandDraft, Decided, SessionEvent, check, meta_event, reject, stopped, turn};
use crate::{
    ctree::{NodeId, Runner, Sections},
    session::{
        SessionDocument, SessionKey, SessionRejection,
        body::{self, Interrupt, PermissionResponse, Pin, SessionMeta, TreeSnapshotBody},
        command::{PermissionAnswer, SessionControl, SessionDecision, SessionOrder},
        entity::SessionDriver,
        event::Aside,
        limits::FIELD_CHARS_MAX,
        lookup,
    },
};

/// Carries out an order.
pub(super) fn control(draft: &mut CommandDraft<'_>, control: &SessionControl) -> Decided<()> {
    let aside = Aside { answer: control.key.clone(), ..Aside::default() };
    match &control.order {
        SessionOrder::Stop => stop(draft, aside),
        SessionOrder::Interrupt => interrupt(draft, control.by.clone(), aside),
        SessionOrder::SetModel(model) => {
            let model = Some(field("model", model)?);
            set(draft, &SessionMeta { model, ..SessionMeta::default() }, aside)
        }
        SessionOrder::SetMode(mode) => {
            let mode = Some(field("mode", mode)?);
            set(draft, &SessionMeta { mode, ..SessionMeta::default() }, aside)
        }
        SessionOrder::Decide(answer) => decide(draft, answer, control.by.clone(), aside),
        SessionOrder::Pin { node, pinned } => pin(draft, node, *pinned, aside),
    }
}

fn field(name: &'static str, value: &str) -> Decided<String> {
    let value = check::field(name, value)?;
    check::within(name, crate::text::chars(&value), FIELD_CHARS_MAX)?;
    Ok(value)
}

fn set(draft: &mut CommandDraft<'_>, meta: &SessionMeta, aside: Aside) -> Decided<()> {
    let event = meta_event(draft, meta, aside)?;
    draft.record(event)
}

/// Ends the running turn and drops waiting inputs; an idle session is stopped all the same.
fn stop(draft: &mut CommandDraft<'_>, aside: Aside) -> Decided<()> {
    turn::end(draft, "interrupted", Some("stop"))?;
    set(draft, &stopped(), aside)
}

fn interrupt(draft: &mut CommandDraft<'_>, by: Option<String>, aside: Aside) -> Decided<()> {
    let Some(turn) = draft.session()?.turns.running.as_ref().map(|turn| turn.number) else {
        return reject(SessionRejection::NothingRunning);
    };
    let event = SessionEvent::of(body::INTERRUPT, draft.here()?, &Interrupt { turn, by });
    draft.record(SessionEvent { aside, ..event })?;
    turn::end(draft, "interrupted", Some("interrupt"))?;
    turn::take_waiting(draft)
}

/// Resolves an approval; one of the decisions also stops the session.
fn decide(
    draft: &mut CommandDraft<'_>,
    answer: &PermissionAnswer,
    by: Option<String>,
    aside: Aside,
) -> Decided<()> {
    let request_id = answer.request_id.clone();
    match draft.docs().get(&SessionKey::permission(&request_id))? {
        Some(SessionDocument::Permission(permission)) => {
            if let Some(decision) = permission.decision.clone() {
                return reject(SessionRejection::AlreadyAnswered { request_id, decision });
            }
        }
        _ => return reject(SessionRejection::UnknownRequest { request_id }),
    }
    let response = PermissionResponse {
        request_id,
        decision: answer.decision.word(),
        note: answer.note.clone(),
        rule: answer.rule.clone(),
        scope: answer.scope.clone(),
        by,
    };
    let mut event = SessionEvent::of(body::PERMISSION_RESPONSE, draft.here()?, &response);
    let redacted = check::redact_body(&mut event.data);
    check::body(&event.data)?;
    draft.record(SessionEvent { aside: Aside { redacted, ..aside }, ..event })?;
    if answer.decision == SessionDecision::DenyStop {
        stop(draft, Aside::default())?;
    }
    Ok(())
}

/// Pins a node. Only its score changes, so readers get nothing but the pin itself (CS-2).
fn pin(draft: &mut CommandDraft<'_>, node: &NodeId, pinned: bool, aside: Aside) -> Decided<()> {
    if lookup::node(draft.docs(), node)?.is_none() {
        return reject(SessionRejection::UnknownNode { node_id: node.to_string() });
    }
    let pin = Some(Pin { node_id: node.clone(), pinned });
    let snapshot = TreeSnapshotBody { pin, ..TreeSnapshotBody::default() };
    let event = SessionEvent::of(body::CTREE_SNAPSHOT, draft.here()?, &snapshot);
    draft.record_plain(SessionEvent { aside, ..event }).map(drop)
}

/// Records what drives the session from now on, and notifies readers of its tree.
pub(super) fn drive(draft: &mut CommandDraft<'_>, driver: Option<&SessionDriver>) -> Decided<()> {
    let driver = match driver {
        Some(SessionDriver { phase, status }) => {
            let phase = field("phase", phase)?;
            let status = field("status", status)?;
            Some(Runner { phase, status })
        }
        None => None,
    };
    let mut runner = driver
        .clone()
        .unwrap_or_else(|| Runner { phase: "chat".to_owned(), status: String::new() });
    if driver.is_none() {
        runner.status = draft.session()?.status.word().to_owned();
    }
    let sections = Sections { runner: Some(runner), ..Sections::default() };
    let snapshot =
        TreeSnapshotBody { sections, driver: Some(driver), ..TreeSnapshotBody::default() };
    draft.record_plain(SessionEvent::of(body::CTREE_SNAPSHOT, draft.here()?, &snapshot)).map(drop)
}
