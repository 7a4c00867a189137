//! Whether the server works, as `GET /health` and `GET /status` say. Open to monitors, so it names
//! no paths and no workspaces.

use std::sync::Arc;

use axum::http::StatusCode;
use muster_api::{App, Description, StoreError};
use serde_json::{Value, json};

use crate::server_state::ServerState;

/// 200 when the store can be used and 503 when it cannot, and what there is to say about it.
pub(crate) async fn examine(site: &ServerState) -> (StatusCode, Value) {
    let app = Arc::clone(&site.app);
    let store = site.run_blocking(move || probe(&app)).await;
    let version = env!("CARGO_PKG_VERSION");
    let uptime = site.started.elapsed().as_secs();
    match store {
        Ok(Ok(store)) => {
            let store = json!({"engine": store.engine, "schema_version": store.schema_version});
            let body = json!({
                "status": "ok", "version": version, "uptime_seconds": uptime, "store": store,
            });
            return (StatusCode::OK, body);
        }
        Ok(Err(error)) => tracing::error!(%error, "the store cannot be used"),
        // Already logged where it broke.
        Err(_) => {}
    }
    let body = json!({"status": "failing", "version": version, "uptime_seconds": uptime});
    (StatusCode::SERVICE_UNAVAILABLE, body)
}

/// Does as little with the store as shows that it can be used.
fn probe(app: &App) -> Result<Description, StoreError> {
    let store = app.engine().store();
    store.position()?;
    // Files that were removed can still be read.
    store.confirm_in_place()?;
    Ok(store.describe())
}
