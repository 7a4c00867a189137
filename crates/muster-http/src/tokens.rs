//! `/api/tokens`: named tokens, for owners. Their secrets are in one answer only.

use std::sync::Arc;

use axum::{
    Extension,
    body::Bytes,
    extract::{FromRequest, Request, State},
};
use muster_api::{MadeToken, NewToken, TokenFault, TokensAnswer};

use crate::{
    describe::{Describe, Described, SchemaSource},
    fault::Fault,
    guard::Requester,
    refusal::{HttpRefusal, RefusalKind},
    reply::{NoContent, Reply},
    request::{Ids, PathPart},
    server_state::ServerState,
};

/// The body of a request for a token.
pub(crate) struct AskedToken(NewToken);

impl<S: Send + Sync> FromRequest<S> for AskedToken {
    type Rejection = Fault;

    async fn from_request(request: Request, state: &S) -> Result<Self, Fault> {
        let body = Bytes::from_request(request, state).await.unwrap_or_default();
        let invalid = |error: serde_json::Error| {
            let recovery = "send {\"name\":\"ada\",\"role\":\"member\"}";
            let message = format!("the body does not describe a token: {error}");
            HttpRefusal::invalid("wrong_type", message, recovery)
        };
        Ok(Self(serde_json::from_slice(&body).map_err(invalid)?))
    }
}

impl Describe for AskedToken {
    fn describe<S: SchemaSource>(route: &mut Described<'_, S>) {
        route.body = Some(route.schemas.asked::<NewToken>());
    }
}

/// The name of a token in a path.
pub(crate) struct TokenName(String);

impl PathPart for TokenName {
    const NAME: &'static str = "name";

    fn read(text: &str) -> Result<Self, Fault> {
        Ok(Self(text.to_owned()))
    }
}

/// `GET /api/tokens`.
pub(crate) async fn list(
    State(site): State<Arc<ServerState>>,
) -> Result<Reply<TokensAnswer>, Fault> {
    let app = Arc::clone(&site.app);
    let listed = site.run_blocking(move || app.tokens().list()).await?;
    Ok(Reply::of(&listed.map_err(refused)?))
}

/// `POST /api/tokens`.
pub(crate) async fn create(
    State(site): State<Arc<ServerState>>,
    Extension(requester): Extension<Requester>,
    AskedToken(new): AskedToken,
) -> Result<Reply<MadeToken, 201>, Fault> {
    let app = Arc::clone(&site.app);
    let made = site.run_writing(move || app.tokens().create(&new, &requester.caller())).await?;
    let made = made.map_err(refused)?;
    tracing::info!(name = made.shown.name, role = %made.shown.role, "a token was created");
    Ok(Reply::of(&made))
}

/// `DELETE /api/tokens/{name}`.
pub(crate) async fn revoke(
    State(site): State<Arc<ServerState>>,
    Extension(requester): Extension<Requester>,
    Ids(TokenName(name)): Ids<TokenName>,
) -> Result<NoContent, Fault> {
    let app = Arc::clone(&site.app);
    let revoked = name.clone();
    let done = site.run_writing(move || app.tokens().revoke(&revoked, &requester.caller())).await?;
    done.map_err(refused)?;
    tracing::info!(name, "a token was revoked");
    Ok(NoContent)
}

fn refused(fault: TokenFault) -> Fault {
    let message = fault.to_string();
    match fault {
        TokenFault::Store(error) => {
            tracing::error!(%error, "could not read or write tokens");
            let recovery = "try again as Retry-After says";
            HttpRefusal::new(RefusalKind::StoreUnavailable, message, recovery).into()
        }
        TokenFault::UnknownToken(_) => {
            let recovery = "GET /api/tokens lists them";
            HttpRefusal::new(RefusalKind::UnknownRoute, message, recovery).into()
        }
        TokenFault::NameTaken(_) | TokenFault::TooMany { .. } => {
            HttpRefusal::invalid("conflict", message, "GET /api/tokens lists them").into()
        }
        TokenFault::BadName | TokenFault::BadGlob(_) | TokenFault::BadExpiry => {
            HttpRefusal::invalid("bad_format", message, "send another value").into()
        }
    }
}
