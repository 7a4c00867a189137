//! `/sessions/{id}/driver`: an outside host drives a session for as long as it renews its lease.

use std::{sync::Arc, time::Duration};

use axum::extract::State;
use muster_api::SessionFault;
use muster_core::{
    Timestamp,
    session::{
        SessionCommand, SessionId, SessionRejection,
        command::{HostClaim, Unclaim},
        limits::{LEASE_MS_DEFAULT, LEASE_MS_MAX, LEASE_MS_MIN},
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    fault::SessionHttpFault,
    request::{SessionsReply, ask},
};
use crate::{
    fault::Fault,
    reply::{NoContent, Reply},
    request::{Asked, Ids, Params, parameters},
    server_state::ServerState,
};

#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct ClaimRequest {
    #[schemars(required)]
    host: Option<String>,
    #[schemars(extend(
        "minimum" = LEASE_MS_MIN / 1_000,
        "maximum" = LEASE_MS_MAX / 1_000,
        "default" = LEASE_MS_DEFAULT / 1_000
    ))]
    lease_seconds: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct ClaimAnswer {
    session_id: SessionId,
    host: String,
    #[schemars(extend("format" = "date-time"))]
    expires_at: String,
    seq: u64,
}

/// Claims a session, or renews the claim.
pub(super) async fn claim(
    State(site): State<Arc<ServerState>>,
    Ids(id): Ids<SessionId>,
    asked: Asked<ClaimRequest>,
) -> SessionsReply<ClaimAnswer> {
    let missing = || SessionHttpFault::invalid("host", "the name of the host is required");
    let host = asked.body.host.ok_or_else(missing)?;
    let lease_ms = asked.body.lease_seconds.map_or(LEASE_MS_DEFAULT, |s| i64::from(s) * 1_000);
    let claim = HostClaim { host: host.clone(), lease_ms, key: asked.once };
    let session = id.clone();
    let claimed =
        ask(&site, move |app| app.sessions().perform(&session, SessionCommand::Claim(claim)));
    let receipt = claimed.await?.receipt;
    let expires_at = Timestamp(receipt.at.0.saturating_add(lease_ms));
    expire_later(&site, id.clone(), expires_at);
    Ok(Reply::of(&ClaimAnswer {
        session_id: id,
        host,
        expires_at: expires_at.rfc3339(),
        seq: receipt.seq,
    }))
}

parameters! {
    pub(super) struct ReleaseQuery {
        /// Only if this host has claimed it; otherwise 409.
        "host" host: Option<String>,
    }
}

/// Releases a session.
pub(super) async fn release(
    State(site): State<Arc<ServerState>>,
    Ids(id): Ids<SessionId>,
    Params(query): Params<ReleaseQuery>,
) -> Result<NoContent, Fault> {
    let release = SessionCommand::Unclaim(Unclaim::Released { host: query.host });
    ask(&site, move |app| app.sessions().perform(&id, release)).await?;
    Ok(NoContent)
}

/// Schedules the expiry of leases that an earlier server granted.
pub(crate) async fn watch_leases(site: Arc<ServerState>) {
    let app = Arc::clone(&site.app);
    match site.run_blocking(move || app.sessions().leases()).await {
        Ok(Ok(leases)) => {
            for (session, expires_at) in leases {
                expire_later(&site, session, expires_at);
            }
        }
        Ok(Err(error)) => tracing::warn!(?error, "could not read the leases of hosts"),
        Err(_) => tracing::warn!("could not read the leases of hosts"),
    }
}

/// Ends a lease when its time is over, unless it was renewed.
fn expire_later(site: &Arc<ServerState>, session: SessionId, expires_at: Timestamp) {
    let left_ms = expires_at.0.saturating_sub(site.app.now().0);
    let left = Duration::from_millis(u64::try_from(left_ms).unwrap_or(0));
    let app = Arc::clone(&site.app);
    let mut closing = site.streams.subscribe();
    tokio::spawn(async move {
        tokio::select! {
            () = tokio::time::sleep(left) => {}
            _ = closing.wait_for(|closing| *closing) => return,
        }
        let named = session.clone();
        let expire = move || app.sessions().expire_lease(&named);
        match tokio::task::spawn_blocking(expire).await {
            Ok(Ok(())) => tracing::debug!(%session, "the lease of a host has expired"),
            Ok(Err(SessionFault::Refused(rejection))) => is_settled(&session, &rejection),
            Ok(Err(SessionFault::Store(error))) => {
                tracing::warn!(%session, %error, "could not expire a lease");
            }
            Err(error) => tracing::warn!(%session, %error, "could not expire a lease"),
        }
    });
}

/// A lease that was renewed or released, or whose session was deleted, is not ended here.
fn is_settled(session: &SessionId, rejection: &SessionRejection) {
    tracing::debug!(%session, ?rejection, "the lease was renewed, released or deleted");
}
