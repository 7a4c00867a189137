//! The commands of HB-12, and what drives a session.

use super::{Decided, Desk, Event, check, meta_event, reject, stopped, turn};
use crate::{
    ctree::{NodeId, Runner, Sections},
    session::{
        Document, Key, Rejection,
        body::{self, Interrupt, PermissionResponse, Pin, SessionMeta, TreeSnapshot},
        command::{Control, Decision, Order, PermissionAnswer},
        entity::Driver,
        event::Aside,
        limits::FIELD_CHARS_MAX,
        lookup,
    },
};

/// Carries out an order.
pub(super) fn control(desk: &mut Desk, control: &Control) -> Decided<()> {
    let aside = Aside { answer: control.key.clone(), ..Aside::default() };
    match &control.order {
        Order::Stop => stop(desk, aside),
        Order::Interrupt => interrupt(desk, control.by.clone(), aside),
        Order::SetModel(model) => {
            let model = Some(field("model", model)?);
            set(desk, &SessionMeta { model, ..SessionMeta::default() }, aside)
        }
        Order::SetMode(mode) => {
            let mode = Some(field("mode", mode)?);
            set(desk, &SessionMeta { mode, ..SessionMeta::default() }, aside)
        }
        Order::Decide(answer) => decide(desk, answer, control.by.clone(), aside),
        Order::Pin { node, pinned } => pin(desk, node, *pinned, aside),
    }
}

fn field(name: &'static str, value: &str) -> Decided<String> {
    let value = check::field(name, value)?;
    check::within(name, crate::text::chars(&value), FIELD_CHARS_MAX)?;
    Ok(value)
}

fn set(desk: &mut Desk, meta: &SessionMeta, aside: Aside) -> Decided<()> {
    let event = meta_event(desk, meta, aside)?;
    desk.record(event)
}

/// Ends the running turn and drops what waits; a session that idles is stopped all the same.
fn stop(desk: &mut Desk, aside: Aside) -> Decided<()> {
    turn::end(desk, "interrupted", Some("stop"))?;
    set(desk, &stopped(), aside)
}

fn interrupt(desk: &mut Desk, by: Option<String>, aside: Aside) -> Decided<()> {
    let Some(turn) = desk.session()?.turns.running.as_ref().map(|turn| turn.number) else {
        return reject(Rejection::NothingRunning);
    };
    let event = Event::of(body::INTERRUPT, desk.here()?, &Interrupt { turn, by });
    desk.record(Event { aside, ..event })?;
    turn::end(desk, "interrupted", Some("interrupt"))?;
    turn::take_waiting(desk)
}

/// Answers an approval; one of the answers also stops the session.
fn decide(
    desk: &mut Desk,
    answer: &PermissionAnswer,
    by: Option<String>,
    aside: Aside,
) -> Decided<()> {
    let request_id = answer.request_id.clone();
    match desk.docs().get(&Key::permission(&request_id))? {
        Some(Document::Permission(permission)) => {
            if let Some(decision) = permission.decision.clone() {
                return reject(Rejection::AlreadyAnswered { request_id, decision });
            }
        }
        _ => return reject(Rejection::UnknownRequest { request_id }),
    }
    let response = PermissionResponse {
        request_id,
        decision: answer.decision.word(),
        note: answer.note.clone(),
        rule: answer.rule.clone(),
        scope: answer.scope.clone(),
        by,
    };
    let mut event = Event::of(body::PERMISSION_RESPONSE, desk.here()?, &response);
    let redacted = check::redact_body(&mut event.data);
    check::body(&event.data)?;
    desk.record(Event { aside: Aside { redacted, ..aside }, ..event })?;
    if answer.decision == Decision::DenyStop {
        stop(desk, Aside::default())?;
    }
    Ok(())
}

/// Pins a node. Its score alone changes, so readers are told nothing but the pin itself (CS-2).
fn pin(desk: &mut Desk, node: &NodeId, pinned: bool, aside: Aside) -> Decided<()> {
    if lookup::node(desk.docs(), node)?.is_none() {
        return reject(Rejection::UnknownNode { node_id: node.to_string() });
    }
    let pin = Some(Pin { node_id: node.clone(), pinned });
    let snapshot = TreeSnapshot { pin, ..TreeSnapshot::default() };
    let event = Event::of(body::CTREE_SNAPSHOT, desk.here()?, &snapshot);
    desk.record_plain(Event { aside, ..event }).map(drop)
}

/// Notes what drives the session from now on, and tells readers of its tree.
pub(super) fn drive(desk: &mut Desk, driver: Option<&Driver>) -> Decided<()> {
    let driver = match driver {
        Some(Driver { phase, status }) => {
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
    let snapshot = TreeSnapshot { sections, driver: Some(driver), ..TreeSnapshot::default() };
    desk.record_plain(Event::of(body::CTREE_SNAPSHOT, desk.here()?, &snapshot)).map(drop)
}
