//! Which list a call is about (TT-12, TT-13).

use std::sync::{Mutex, PoisonError};

use muster_core::{
    session::{SessionId, SessionRejection},
    text,
};

use crate::{
    ApiError, ErrorCode, SessionFault,
    arguments::{Reason, invalid, invalid_with},
    call::{CallFailure, CheckedCall},
    refusal_words,
};

/// Which session the callers of an application are bound to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SessionBinding {
    /// None: every call names its session.
    #[default]
    Unbound,
    /// This one, which is created at its first write if it does not exist.
    Named(SessionId),
    /// One of their own, which is created at its first write.
    Own,
}

/// A binding, and the session that was created for it.
#[derive(Default)]
pub(crate) struct BoundSession {
    binding: SessionBinding,
    own: Mutex<Option<SessionId>>,
}

/// The session of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// One that the caller named; it must exist.
    Named(SessionId),
    /// The caller's own, created if necessary.
    Standing(SessionId),
    /// The caller's own, which does not exist yet.
    Unmade,
    /// None: the caller has no session and names none.
    Unnamed,
}

impl BoundSession {
    /// The session of callers with this binding.
    pub(crate) fn new(binding: SessionBinding) -> Self {
        Self { binding, own: Mutex::default() }
    }

    /// The session of the callers, once it exists.
    pub(crate) fn session(&self) -> Option<SessionId> {
        match &self.binding {
            SessionBinding::Unbound => None,
            SessionBinding::Named(id) => Some(id.clone()),
            SessionBinding::Own => self.own.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    /// Sets the callers' own session; returns the one that was set first. Only callers whose
    /// session is their own have one to set.
    pub(super) fn take(&self, id: SessionId) -> SessionId {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(id).clone()
    }

    /// Which session a call is about, given the one it names.
    pub(super) fn choose(&self, named: Option<&str>) -> Result<Choice, CallFailure> {
        let bound = self.session();
        match (&self.binding, named, bound) {
            (SessionBinding::Unbound, None, _) => Ok(Choice::Unnamed),
            // A connection without a list may read any, and continue one (EASE-TODO-2).
            (SessionBinding::Unbound, Some(named), _)
            | (SessionBinding::Own, Some(named), None) => {
                SessionId::of(named).map(Choice::Named).ok_or_else(|| unknown(named))
            }
            (SessionBinding::Named(_) | SessionBinding::Own, None, Some(bound)) => {
                Ok(Choice::Standing(bound))
            }
            (SessionBinding::Named(_) | SessionBinding::Own, None, None) => Ok(Choice::Unmade),
            (SessionBinding::Named(_) | SessionBinding::Own, Some(named), Some(bound)) => {
                if bound.as_str() == named {
                    Ok(Choice::Standing(bound))
                } else {
                    Err(mismatch(named, &bound))
                }
            }
            (SessionBinding::Named(_), Some(named), None) => {
                unreachable!("a named binding has its session, also beside {named}")
            }
        }
    }
}

/// Refuses a session of another caller to a token that may only see its own. It looks the same as
/// one that does not exist.
pub(super) fn confirm_own(call: &CheckedCall<'_>, id: &SessionId) -> Result<(), CallFailure> {
    let is_open = call.app.sessions().is_open_to(&call.scene.caller.rights, id);
    if is_open.map_err(|fault| refused(fault, id))? { Ok(()) } else { Err(unknown(id.as_str())) }
}

/// The refusal of a call that has to name its session.
pub(super) fn unnamed() -> CallFailure {
    invalid("session_id", Reason::Missing, "the id of the session")
}

fn unknown(named: &str) -> CallFailure {
    let message = format!("there is no session {:?}", text::echo(named));
    let recovery = "Use an id that GET /sessions or `muster sessions` lists.";
    ApiError::new(ErrorCode::UnknownId, message, recovery).with("id", named).into()
}

fn mismatch(named: &str, bound: &SessionId) -> CallFailure {
    let message =
        format!("this connection is bound to a session other than {:?}", text::echo(named));
    let recovery = "Leave session_id out: the connection has a session of its own.";
    ApiError::new(ErrorCode::SessionMismatch, message, recovery)
        .with("session_id", named)
        .with("bound", bound)
        .into()
}

/// The tool's error for a rejection of a session.
pub(super) fn refused(fault: SessionFault, id: &SessionId) -> CallFailure {
    let rejection = match fault {
        SessionFault::Store(error) => return error.into(),
        SessionFault::Refused(rejection) => *rejection,
    };
    if let SessionRejection::UnknownSession = rejection {
        return unknown(id.as_str());
    }
    if let SessionRejection::SessionEnded = rejection {
        let message = format!("the session {id} was deleted, and its list with it");
        let recovery = "Start a new session; this one accepts no more calls.";
        let error = ApiError::new(ErrorCode::SessionEnded, message, recovery);
        return error.with("session_id", id).into();
    }
    if let SessionRejection::KeyTaken { key } = rejection {
        let message =
            format!("the idempotency key {:?} was used for another list", text::echo(&key));
        let recovery = "Use a new key for a new call.";
        let error = ApiError::new(ErrorCode::IdempotencyConflict, message, recovery);
        return error.with("idempotency_key", &key).into();
    }
    let message = format!("the session rejects the list: {}", refusal_words(&rejection));
    let recovery = "Shorten the list or its lines and call again.".to_owned();
    invalid_with("items", Reason::OutOfRange, "a shorter list", message, recovery)
}
