//! Outside hosts that drive a session for as long as they renew their claim.

use super::{CommandDraft, Decided, SessionEvent, check, reject, turn};
use crate::{
    Timestamp,
    session::{
        SessionRejection,
        body::{self, HostChange},
        command::{HostClaim, Unclaim},
        entity::Lease,
        event::Aside,
        limits::{FIELD_CHARS_MAX, LEASE_MS_MAX, LEASE_MS_MIN},
    },
    text,
};

/// Grants a host the session, or extends its lease.
pub(super) fn claim(draft: &mut CommandDraft<'_>, claim: &HostClaim) -> Decided<()> {
    let host = check::field("host", &claim.host)?;
    check::within("host", text::chars(&host), FIELD_CHARS_MAX)?;
    let lease_ms = claim.lease_ms;
    if !(LEASE_MS_MIN..=LEASE_MS_MAX).contains(&lease_ms) {
        return reject(SessionRejection::LeaseOutOfRange { lease_ms });
    }
    if draft.session()?.driver.is_some() {
        return reject(SessionRejection::DrivenByRun);
    }
    if let Some(lease) = alive(draft)?
        && lease.host != host
    {
        return reject(claimed(lease));
    }
    let expires_at_ms = Some(Timestamp(draft.now().0.saturating_add(lease_ms)));
    let change = HostChange { host: Some(host), expires_at_ms, reason: None };
    let aside = Aside { answer: claim.key.clone(), ..Aside::default() };
    let event = SessionEvent::of(body::SESSION_DRIVER, draft.here()?, &change);
    draft.record(SessionEvent { aside, ..event })
}

/// Releases a host. What waited for it ends without an agent.
pub(super) fn unclaim(draft: &mut CommandDraft<'_>, unclaim: &Unclaim) -> Decided<()> {
    let reason = match (unclaim, alive(draft)?) {
        (Unclaim::Released { host }, Some(lease)) => {
            if host.as_ref().is_some_and(|host| *host != lease.host) {
                return reject(claimed(lease));
            }
            "released"
        }
        (Unclaim::Expired, Some(lease)) => return reject(claimed(lease)),
        (Unclaim::Released { .. } | Unclaim::Expired, None) => {
            if draft.session()?.lease.is_none() {
                return reject(SessionRejection::NotClaimed);
            }
            "expired"
        }
    };
    let change = HostChange { host: None, expires_at_ms: None, reason: Some(reason) };
    draft.record(SessionEvent::of(body::SESSION_DRIVER, draft.here()?, &change))?;
    turn::take_waiting(draft)
}

fn alive<'a>(draft: &'a CommandDraft<'_>) -> Decided<Option<&'a Lease>> {
    let now = draft.now();
    Ok(draft.session()?.lease.as_ref().filter(|lease| lease.is_alive(now)))
}

fn claimed(lease: &Lease) -> SessionRejection {
    SessionRejection::ClaimedByHost { host: lease.host.clone(), expires_at: lease.expires_at }
}
