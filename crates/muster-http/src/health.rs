//! `GET /health`: whether the server works. Open to monitors, so it names no paths and no
//! workspaces.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::State,
    http::{Response, StatusCode},
};
use muster_api::{App, Description, StoreError};
use serde_json::json;

use crate::{refusal::json_response, site::Site};

/// Answers 200 when the store can be read and 503 when it cannot.
pub(crate) async fn health(State(site): State<Arc<Site>>) -> Response<Body> {
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
            return json_response(StatusCode::OK, body.to_string());
        }
        Ok(Err(error)) => tracing::error!(%error, "the store cannot be read"),
        // Already logged where it broke.
        Err(_) => {}
    }
    let body = json!({"status": "failing", "version": version, "uptime_seconds": uptime});
    json_response(StatusCode::SERVICE_UNAVAILABLE, body.to_string())
}

/// Reads from the store as little as shows that it can be read.
fn probe(app: &App) -> Result<Description, StoreError> {
    let store = app.engine().store();
    store.position()?;
    Ok(store.describe())
}
