//! Parts of requests that only runs have: bodies read field by field, and rights of senders.

use std::{marker::PhantomData, sync::Arc};

use axum::{body::Bytes, extract::FromRequestParts, http::request::Parts};
use muster_api::{
    AccessRights, App, Caller, Json, WorkspaceGlob,
    runs::{
        RunCode, RunFault, RunTold,
        request::{JsonFields, RunBody},
    },
};
use muster_core::schema::Schema;
use serde_json::Value;

use crate::{
    describe::{Describe, DescribedBody, SchemaSource},
    fault::Fault,
    guard::Requester,
    reply::Reply,
    request::{Asked, PathPart, RequestBody},
    server_state::ServerState,
};

/// What a handler returns: a serialized `T`.
pub(crate) type RunsReply<T> = Result<Reply<T>, Fault>;

/// Calls the application outside the event loop.
pub(crate) async fn ask<T: Send + 'static>(
    site: &ServerState,
    question: impl FnOnce(&App) -> RunTold<T> + Send + 'static,
) -> Result<T, Fault> {
    let app = Arc::clone(&site.app);
    Ok(site.run_blocking(move || question(&app)).await??)
}

/// Calls the application and returns its result as the response.
pub(crate) async fn tell<T>(
    site: &ServerState,
    question: impl FnOnce(&App) -> RunTold<Json> + Send + 'static,
) -> RunsReply<T> {
    Ok(Reply::written(ask(site, question).await?))
}

/// The same for a call that writes, and may wait: it leaves permits to readers.
pub(crate) async fn tell_writing<T>(
    site: &ServerState,
    question: impl FnOnce(&App) -> RunTold<Json> + Send + 'static,
) -> RunsReply<T> {
    let app = Arc::clone(&site.app);
    Ok(Reply::written(site.run_writing(move || question(&app)).await??))
}

/// Calls the application for a result that may have megabytes.
pub(super) async fn ask_large<T: Send + 'static>(
    site: &ServerState,
    question: impl FnOnce(&App) -> RunTold<T> + Send + 'static,
) -> Result<T, Fault> {
    let app = Arc::clone(&site.app);
    Ok(site.run_large(move || question(&app)).await??)
}

/// The sender of a request about runs.
#[derive(Clone)]
pub(super) struct Sender(Requester);

impl Describe for Sender {}

impl<S: Sync> FromRequestParts<S> for Sender {
    type Rejection = Fault;

    async fn from_request_parts(head: &mut Parts, _state: &S) -> Result<Self, Fault> {
        Ok(Self(head.extensions.get::<Requester>().cloned().unwrap_or(Requester::Stranger)))
    }
}

impl Sender {
    /// Whom the events of the request name.
    pub(super) fn caller(&self) -> Caller {
        self.0.caller()
    }

    pub(super) fn rights(&self) -> AccessRights {
        self.0.rights()
    }

    /// The workspaces whose runs it may see.
    pub(super) fn workspaces(&self) -> WorkspaceGlob {
        self.0.rights().workspaces
    }

    /// Refuses an allow rule of a token for some workspaces: a rule may hold for other runs, too.
    pub(super) fn may_rule(&self) -> RunTold<()> {
        if self.workspaces().is_everything() {
            return Ok(());
        }
        let detail = "a token for some workspaces cannot make rules: answer without one";
        Err(RunFault::new(RunCode::ForbiddenRole, detail).at("rule"))
    }

    /// Refuses a field that only a person may set, unless a person sent the request.
    pub(super) fn may_set(&self, field: Option<String>) -> RunTold<()> {
        match field {
            Some(field) if !self.0.is_person() => {
                let detail =
                    format!("only a person may set {field}: use the page or the command line");
                Err(RunFault::new(RunCode::PersonRequired, detail).at(field))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// The name of a tool in the path.
pub(super) struct ToolName(pub(super) String);

impl PathPart for ToolName {
    const NAME: &'static str = "tool";

    fn read(text: &str) -> Result<Self, Fault> {
        Ok(Self(text.to_owned()))
    }
}

/// The name of a template in the path.
pub(super) struct TemplateName(pub(super) String);

impl PathPart for TemplateName {
    const NAME: &'static str = "template";

    fn read(text: &str) -> Result<Self, Fault> {
        Ok(Self(text.to_owned()))
    }
}

/// A request with the fields of a `B`. The handler reads them, because an unknown run
/// is reported before wrong fields.
pub(crate) type AskedRun<B> = Asked<Unread<B>>;

/// The fields of a body; an empty body has none.
pub(crate) struct Unread<B> {
    pub(crate) fields: JsonFields,
    described_by: PhantomData<fn() -> B>,
}

impl<B> RequestBody for Unread<B> {
    fn read(body: &Bytes) -> Result<Self, Fault> {
        Ok(Self { fields: fields(body)?, described_by: PhantomData })
    }
}

impl<B: RunBody> DescribedBody for Unread<B> {
    fn schema<S: SchemaSource>(_schemas: &mut S) -> Schema {
        B::schema()
    }
}

fn fields(body: &[u8]) -> RunTold<JsonFields> {
    if body.trim_ascii().is_empty() {
        return Ok(JsonFields::new());
    }
    let unreadable = |error: serde_json::Error| {
        RunFault::new(RunCode::BadJson, format!("the body is not JSON: {error}"))
    };
    if let Value::Object(fields) = serde_json::from_slice(body).map_err(unreadable)? {
        Ok(fields)
    } else {
        Err(RunFault::new(RunCode::BadValue, "the body must be a JSON object"))
    }
}
