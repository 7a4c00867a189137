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
pub(super) fn control(desk: &mut CommandDraft, control: &SessionControl) -> Decided<()> {
    let aside = Aside { answer: control.key.clone(), ..Aside::default() };
    match &control.order {
        SessionOrder::Stop => stop(desk, aside),
        SessionOrder::Interrupt => interrupt(desk, control.by.clone(), aside),
        SessionOrder::SetModel(model) => {
            let model = Some(field("model", model)?);
            set(desk, &SessionMeta { model, ..SessionMeta::default() }, aside)
        }
        SessionOrder::SetMode(mode) => {
            let mode = Some(field("mode", mode)?);
            set(desk, &SessionMeta { mode, ..SessionMeta::default() }, aside)
        }
        SessionOrder::Decide(answer) => decide(desk, answer, control.by.clone(), aside),
        SessionOrder::Pin { node, pinned } => pin(desk, node, *pinned, aside),
    }
}

fn field(name: &'static str, value: &str) -> Decided<String> {
    let value = check::field(name, value)?;
    check::within(name, crate::text::chars(&value), FIELD_CHARS_MAX)?;
    Ok(value)
}

fn set(desk: &mut CommandDraft, meta: &SessionMeta, aside: Aside) -> Decided<()> {
    let event = meta_event(desk, meta, aside)?;
    desk.record(event)
}

/// Ends the running turn and drops what waits; a session that idles is stopped all the same.
fn stop(desk: &mut CommandDraft, aside: Aside) -> Decided<()> {
    turn::end(desk, "interrupted", Some("stop"))?;
    set(desk, &stopped(), aside)
}

fn interrupt(desk: &mut CommandDraft, by: Option<String>, aside: Aside) -> Decided<()> {
    let Some(turn) = desk.session()?.turns.running.as_ref().map(|turn| turn.number) else {
        return reject(SessionRejection::NothingRunning);
    };
    let event = SessionEvent::of(body::INTERRUPT, desk.here()?, &Interrupt { turn, by });
    desk.record(SessionEvent { aside, ..event })?;
    turn::end(desk, "interrupted", Some("interrupt"))?;
    turn::take_waiting(desk)
}

/// Answers an approval; one of the answers also stops the session.
fn decide(
    desk: &mut CommandDraft,
    answer: &PermissionAnswer,
    by: Option<String>,
    aside: Aside,
) -> Decided<()> {
    let request_id = answer.request_id.clone();
    match desk.docs().get(&SessionKey::permission(&request_id))? {
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
    let mut event = SessionEvent::of(body::PERMISSION_RESPONSE, desk.here()?, &response);
    let redacted = check::redact_body(&mut event.data);
    check::body(&event.data)?;
    desk.record(SessionEvent { aside: Aside { redacted, ..aside }, ..event })?;
    if answer.decision == SessionDecision::DenyStop {
        stop(desk, Aside::default())?;
    }
    Ok(())
}

/// Pins a node. Its score alone changes, so readers are told nothing but the pin itself (CS-2).
fn pin(desk: &mut CommandDraft, node: &NodeId, pinned: bool, aside: Aside) -> Decided<()> {
    if lookup::node(desk.docs(), node)?.is_none() {
        return reject(SessionRejection::UnknownNode { node_id: node.to_string() });
    }
    let pin = Some(Pin { node_id: node.clone(), pinned });
    let snapshot = TreeSnapshotBody { pin, ..TreeSnapshotBody::default() };
    let event = SessionEvent::of(body::CTREE_SNAPSHOT, desk.here()?, &snapshot);
    desk.record_plain(SessionEvent { aside, ..event }).map(drop)
}

/// Notes what drives the session from now on, and tells readers of its tree.
pub(super) fn drive(desk: &mut CommandDraft, driver: Option<&SessionDriver>) -> Decided<()> {
    let driver = match driver {
        Some(SessionDriver { phase, status }) => {
            let (phase, status) = (field("phase", phase)?, field("status", status)?);
            Some(Runner { phase, status })
        }
        None => None,
    };
    let chat = || Runner { phase: "chat".to_owned(), status: String::new() };
    let mut runner = driver.clone().unwrap_or_else(chat);
    if driver.is_none() {
        runner.status = desk.session()?.status.word().to_owned();
    }
    let sections = Sections { runner: Some(runner), ..Sections::default() };
    let snapshot =
        TreeSnapshotBody { sections, driver: Some(driver), ..TreeSnapshotBody::default() };
    desk.record_plain(SessionEvent::of(body::CTREE_SNAPSHOT, desk.here()?, &snapshot)).map(drop)
}
