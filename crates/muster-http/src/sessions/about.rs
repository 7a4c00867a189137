//! About the server itself: health, status, models, and provider keys, which it does not accept.

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, State},
    http::request::Parts,
};
use muster_core::AnyObject;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::request::{SessionsReply, ask};
use crate::{
    describe::{Describe, Described, SchemaSource},
    fault::Fault,
    health::{self, Health},
    reply::Reply,
    server_state::ServerState,
};

/// `GET /health` (HB-5).
pub(super) async fn health(State(site): State<Arc<ServerState>>) -> Reply<Health> {
    let (status, health) = health::examine(&site).await;
    Reply::of(&health).with_status(status)
}

#[derive(Serialize)]
pub(super) struct StatusAnswer {
    #[serde(flatten)]
    health: Health,
    #[serde(flatten)]
    load: Load,
}

/// What status has besides health.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Load {
    uptime_s: u64,
    sessions: usize,
}

impl JsonSchema for StatusAnswer {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "StatusAnswer".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let parts = [generator.subschema_for::<Health>(), generator.subschema_for::<Load>()];
        json_schema!({"allOf": parts})
    }
}

/// `GET /status` (HB-6).
pub(super) async fn status(State(site): State<Arc<ServerState>>) -> SessionsReply<StatusAnswer> {
    let sessions = ask(&site, |app| app.sessions().count()).await?;
    let (status, health) = health::examine(&site).await;
    let load = Load { uptime_s: site.started.elapsed().as_secs(), sessions };
    Ok(Reply::of(&StatusAnswer { health, load }).with_status(status))
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct ModelsAnswer {
    models: Vec<Model>,
    default_model: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Model {
    id: String,
    provider: String,
    name: String,
}

/// `GET /models`: sessions without a driver have none.
pub(super) async fn models() -> Reply<ModelsAnswer> {
    Reply::of(&ModelsAnswer { models: Vec::new(), default_model: None })
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct ProviderKeys {
    attached: Vec<String>,
}

/// `GET /provider-auth/status`.
pub(super) async fn provider_status() -> Reply<ProviderKeys> {
    Reply::of(&ProviderKeys { attached: Vec::new() })
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct KeyRefused {
    #[schemars(extend("const" = false))]
    ok: bool,
    detail: &'static str,
}

/// A body that is ignored.
pub(super) struct IgnoredBody;

impl<S: Sync> FromRequestParts<S> for IgnoredBody {
    type Rejection = Fault;

    async fn from_request_parts(_head: &mut Parts, _state: &S) -> Result<Self, Fault> {
        Ok(Self)
    }
}

impl Describe for IgnoredBody {
    fn describe<S: SchemaSource>(route: &mut Described<'_, S>) {
        route.body = Some(route.schemas.asked::<AnyObject>());
    }
}

/// `POST /provider-auth/attach` and `detach` (HB-6, PF-40).
pub(super) async fn provider_refused(_body: IgnoredBody) -> Reply<KeyRefused> {
    let detail = "keys stay with the agent programs: sign in there, Muster accepts none";
    Reply::of(&KeyRefused { ok: false, detail })
}
