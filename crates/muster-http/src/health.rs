//! The health of the server, for `GET /health` and `GET /status`. Open to monitors, so it names
//! no paths and no workspaces.
//!
//! Monitors ask often and in large numbers, so a request costs a look at the name of the store's
//! file. The store itself is read once a second at most, on a thread that may block.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use axum::http::StatusCode;
use muster_api::{App, StoreError};
use muster_core::session::PROTOCOL_VERSION;
use schemars::JsonSchema;
use serde::Serialize;

use crate::server_state::ServerState;

/// A store that could be read this long ago counts as one that can be read.
const READ_AGE_MAX: Duration = Duration::from_secs(1);

#[derive(Serialize, JsonSchema)]
pub(crate) struct Health {
    status: HealthStatus,
    #[schemars(extend("const" = PROTOCOL_VERSION))]
    protocol_version: &'static str,
    version: &'static str,
    engine_version: &'static str,
    #[schemars(extend("format" = "date-time"))]
    started_at: String,
    #[schemars(with = "u64")]
    started_at_unix: i64,
    pid: u32,
    uptime_seconds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<StoreHealth>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum HealthStatus {
    Ok,
    Failing,
}

#[derive(Clone, Serialize, JsonSchema)]
#[schemars(inline)]
struct StoreHealth {
    engine: String,
    schema_version: u32,
}

/// When the store was last read for a request about health, and what it said.
#[derive(Default)]
pub(crate) struct LastProbe(Mutex<Option<(Instant, StoreHealth)>>);

impl LastProbe {
    fn recent(&self) -> Option<StoreHealth> {
        let last = self.last();
        last.as_ref().filter(|(at, _)| at.elapsed() < READ_AGE_MAX).map(|(_, store)| store.clone())
    }

    /// Values are replaced whole, so a panic elsewhere cannot leave them half changed.
    fn last(&self) -> MutexGuard<'_, Option<(Instant, StoreHealth)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// 200 when the store can be used and 503 when it cannot, with the details.
pub(crate) async fn examine(site: &Arc<ServerState>) -> (StatusCode, Health) {
    let is_in_place = || site.app.engine().store().confirm_in_place().is_ok();
    let store = match site.last_probe.recent().filter(|_| is_in_place()) {
        Some(store) => Some(store),
        None => probe_soon(site).await,
    };
    let (code, status) = match store {
        Some(_) => (StatusCode::OK, HealthStatus::Ok),
        None => (StatusCode::SERVICE_UNAVAILABLE, HealthStatus::Failing),
    };
    let health = Health {
        status,
        protocol_version: PROTOCOL_VERSION,
        version: env!("CARGO_PKG_VERSION"),
        engine_version: env!("CARGO_PKG_VERSION"),
        started_at: site.started_at.rfc3339(),
        started_at_unix: site.started_at.0 / 1_000,
        pid: std::process::id(),
        uptime_seconds: site.started.elapsed().as_secs(),
        store,
    };
    (code, health)
}

/// Reads the store on a thread that may block.
async fn probe_soon(site: &Arc<ServerState>) -> Option<StoreHealth> {
    let probed = Arc::clone(site);
    match site.run_blocking(move || probe(&probed.app, &probed.last_probe)).await {
        Ok(Ok(store)) => Some(store),
        Ok(Err(error)) => {
            tracing::error!(%error, "the store cannot be used");
            None
        }
        // Already logged where it failed.
        Err(_) => None,
    }
}

/// The smallest access to the store that shows whether it can be used.
fn probe(app: &App, last: &LastProbe) -> Result<StoreHealth, StoreError> {
    let store = app.engine().store();
    store.position()?;
    // Deleted files can still be read through an open handle.
    store.confirm_in_place()?;
    // An open store keeps its engine and its layout, so they are asked for once.
    let known = last.last().take().map(|(_, known)| known);
    let health = known.unwrap_or_else(|| {
        let described = store.describe();
        StoreHealth { engine: described.engine, schema_version: described.schema_version }
    });
    *last.last() = Some((Instant::now(), health.clone()));
    Ok(health)
}
