//! The health of the server, for `GET /health` and `GET /status`. Open to monitors, so it names
//! no paths and no workspaces.

use std::sync::Arc;

use axum::http::StatusCode;
use muster_api::{App, Description, StoreError};
use muster_core::session::PROTOCOL_VERSION;
use schemars::JsonSchema;
use serde::Serialize;

use crate::server_state::ServerState;

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

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct StoreHealth {
    engine: String,
    schema_version: u32,
}

/// 200 when the store can be used and 503 when it cannot, with the details.
pub(crate) async fn examine(site: &ServerState) -> (StatusCode, Health) {
    let app = Arc::clone(&site.app);
    let store = match site.run_blocking(move || probe(&app)).await {
        Ok(Ok(store)) => Some(store),
        Ok(Err(error)) => {
            tracing::error!(%error, "the store cannot be used");
            None
        }
        // Already logged where it failed.
        Err(_) => None,
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
        store: store.map(|store| StoreHealth {
            engine: store.engine,
            schema_version: store.schema_version,
        }),
    };
    (code, health)
}

/// The smallest access to the store that shows whether it can be used.
fn probe(app: &App) -> Result<Description, StoreError> {
    let store = app.engine().store();
    store.position()?;
    // Deleted files can still be read through an open handle.
    store.confirm_in_place()?;
    Ok(store.describe())
}
