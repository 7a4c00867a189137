//! Parts of requests that only the bridge has: bodies that are read as a whole.

use std::sync::Arc;

use axum::body::Bytes;
use muster_api::App;
use muster_core::schema::Schema;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::fault::SessionHttpFault;
use crate::{
    describe::{DescribedBody, SchemaSource},
    fault::Fault,
    reply::Reply,
    request::RequestBody,
    server_state::ServerState,
};

/// What a handler of the bridge returns.
pub(super) type SessionsReply<T, const STATUS: u16 = 200> = Result<Reply<T, STATUS>, Fault>;

impl<T: DeserializeOwned> RequestBody for T {
    /// An empty body means `{}`.
    fn read(body: &Bytes) -> Result<Self, Fault> {
        let text = if body.trim_ascii().is_empty() { b"{}" } else { &body[..] };
        let value: Value = serde_json::from_slice(text).map_err(|error| {
            SessionHttpFault::unreadable(format!("the body is not JSON: {error}"))
        })?;
        if !value.is_object() {
            return Err(SessionHttpFault::invalid("body", "it must be a JSON object").into());
        }
        serde_path_to_error::deserialize(value).map_err(|error| {
            let path = error.path().to_string();
            SessionHttpFault::invalid(&path, error.into_inner().to_string()).into()
        })
    }
}

impl<T: DeserializeOwned + JsonSchema> DescribedBody for T {
    fn schema<S: SchemaSource>(schemas: &mut S) -> Schema {
        schemas.asked::<T>()
    }
}

/// Calls the application outside the event loop.
pub(super) async fn ask<T: Send + 'static, F: Into<Fault> + Send + 'static>(
    site: &ServerState,
    question: impl FnOnce(&App) -> Result<T, F> + Send + 'static,
) -> Result<T, Fault> {
    let app = Arc::clone(&site.app);
    site.run_blocking(move || question(&app)).await?.map_err(Into::into)
}

/// Calls the application and returns its result as the response.
pub(super) async fn tell<T: serde::Serialize + Send + 'static, F: Into<Fault> + Send + 'static>(
    site: &ServerState,
    question: impl FnOnce(&App) -> Result<T, F> + Send + 'static,
) -> SessionsReply<T> {
    Ok(Reply::of(&ask(site, question).await?))
}
