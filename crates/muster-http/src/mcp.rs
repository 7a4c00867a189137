//! `/mcp`: an endpoint for callers of this machine, and one for each named token.
//!
//! Sessions, subscriptions and handles of calls belong to an endpoint, so a token cannot reach
//! those of another one, whatever ids it knows.

use std::{
    collections::HashMap,
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use axum::{
    body::Body,
    http::{Request, Response},
};
use muster_api::{AccessRights, App, Caller, NamedToken};
use muster_core::{Author, AuthorKind, AuthorSurface};
use muster_mcp::{AppBackend, HttpEndpoint, HttpOptions};
use tower::Service;

use crate::{guard::Requester, limits::QUOTAS_KEPT_MAX};

/// The endpoints. Cheap to clone.
#[derive(Clone)]
pub(crate) struct McpEndpoints(Arc<Endpoints>);

struct Endpoints {
    app: Arc<App>,
    options: HttpOptions,
    /// Of the agents' token and the person's key.
    own: HttpEndpoint,
    /// Of named tokens, by their digest.
    named: Mutex<HashMap<String, HttpEndpoint>>,
}

impl McpEndpoints {
    pub(crate) fn new(app: Arc<App>, options: HttpOptions) -> Self {
        let workspace = app.default_workspace().map(ToString::to_string);
        let backend = AppBackend::new(Arc::clone(&app), workspace);
        let own = muster_mcp::http_endpoint(Arc::new(backend), options.clone());
        Self(Arc::new(Endpoints { app, options, own, named: Mutex::default() }))
    }

    /// Ends all streams and sessions.
    pub(crate) fn shut_down(&self) {
        self.0.own.shut_down();
        self.0.named().values().for_each(HttpEndpoint::shut_down);
    }
}

impl Endpoints {
    fn of(&self, requester: Option<&Requester>) -> HttpEndpoint {
        let Some(token) = requester.and_then(Requester::token) else { return self.own.clone() };
        let mut named = self.named();
        if let Some(known) = named.get(&token.digest) {
            return known.clone();
        }
        if named.len() >= QUOTAS_KEPT_MAX {
            // Their clients get 404 for their session and start another one.
            named.drain().for_each(|(_, endpoint)| endpoint.shut_down());
        }
        let made = self.endpoint_of(token);
        named.insert(token.digest.clone(), made.clone());
        made
    }

    fn endpoint_of(&self, token: &NamedToken) -> HttpEndpoint {
        // Whoever holds the token, an agent speaks MCP (PROOF-WHO-2).
        let by = Author::new(AuthorKind::Agent, &token.name, AuthorSurface::Mcp);
        let rights = AccessRights::of(token);
        let workspace = self.app.default_workspace().map(ToString::to_string);
        let workspace = workspace.filter(|name| rights.workspaces.admits(name));
        let caller = Caller { by: Some(Arc::new(by)), rights, ..Caller::default() };
        let backend = AppBackend::new(Arc::clone(&self.app), workspace).acting_for(caller);
        muster_mcp::http_endpoint(Arc::new(backend), self.options.clone())
    }

    /// Entries are whole, so a poisoned lock is used as it is.
    fn named(&self) -> MutexGuard<'_, HashMap<String, HttpEndpoint>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service<Request<Body>> for McpEndpoints {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let endpoint = self.0.of(request.extensions().get::<Requester>());
        Box::pin(async move { Ok(endpoint.answer(request).await) })
    }
}
