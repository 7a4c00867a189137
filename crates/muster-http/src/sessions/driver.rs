//! `/sessions/{id}/driver`: an outside host drives a session for as long as it renews its lease.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Response, StatusCode, Uri},
};
use muster_api::SessionFault;
use muster_core::{
    Timestamp,
    session::{
        SessionCommand, SessionId, SessionRejection,
        command::{HostClaim, Unclaim},
        limits::LEASE_MS_DEFAULT,
    },
};
use serde::Deserialize;
use serde_json::json;

use super::{
    fault::SessionHttpFault,
    request::{SessionPathId, SessionsQuery, SessionsResponse, ask, json as answer, key, parse},
};
use crate::server_state::ServerState;

#[derive(Deserialize)]
struct ClaimRequest {
    host: Option<String>,
    lease_seconds: Option<u32>,
}

/// Claims a session, or renews the claim.
pub(super) async fn claim(
    State(site): State<Arc<ServerState>>,
    SessionPathId(id): SessionPathId,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> SessionsResponse {
    let request: ClaimRequest = parse(&body)?;
    let missing = || SessionHttpFault::invalid("host", "the name of the host is needed");
    let host = request.host.ok_or_else(missing)?;
    let lease_ms = request.lease_seconds.map_or(LEASE_MS_DEFAULT, |s| i64::from(s) * 1_000);
    let claim = HostClaim { host: host.clone(), lease_ms, key: key(&headers, uri.path(), &body)? };
    let session = id.clone();
    let claimed =
        ask(&site, move |app| app.sessions().perform(&session, SessionCommand::Claim(claim)));
    let receipt = claimed.await?.receipt;
    let expires_at = Timestamp(receipt.at.0.saturating_add(lease_ms));
    expire_later(&site, id.clone(), expires_at);
    let body = json!({
        "session_id": id, "host": host, "expires_at": expires_at.rfc3339(), "seq": receipt.seq,
    });
    Ok(answer(StatusCode::OK, &body))
}

/// Releases a session; `host` makes sure that it is the claim of this host.
pub(super) async fn release(
    State(site): State<Arc<ServerState>>,
    SessionPathId(id): SessionPathId,
    parameters: SessionsQuery,
) -> SessionsResponse {
    let host = parameters.text("host").map(str::to_owned);
    let release = SessionCommand::Unclaim(Unclaim::Released { host });
    ask(&site, move |app| app.sessions().perform(&id, release)).await?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}

/// Lets the leases expire that an earlier server has given.
pub(crate) async fn watch_leases(site: Arc<ServerState>) {
    let app = Arc::clone(&site.app);
    match site.run_blocking(move || app.sessions().leases()).await {
        Ok(Ok(leases)) => {
            for (session, expires_at) in leases {
                expire_later(&site, session, expires_at);
            }
        }
        Ok(Err(error)) => tracing::warn!(?error, "leases of hosts could not be read"),
        Err(_) => tracing::warn!("leases of hosts could not be read"),
    }
}

/// Ends a lease when its time is over, unless it was renewed by then.
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
                tracing::warn!(%session, %error, "a lease did not expire in time");
            }
            Err(error) => tracing::warn!(%session, %error, "a lease did not expire in time"),
        }
    });
}

/// A lease that was renewed or released, or whose session is gone, is somebody else's business.
fn is_settled(session: &SessionId, rejection: &SessionRejection) {
    tracing::debug!(%session, ?rejection, "a lease does not expire now");
}
