//! The shared state of the routes, and the router that joins them.

use std::{
    any::Any,
    panic::{self, AssertUnwindSafe},
    sync::Arc,
    time::Instant,
};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::{Method, Uri},
    middleware,
};
use muster_api::{AccessRole, App};
use muster_core::Timestamp;
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::{Semaphore, SemaphorePermit, watch},
    task,
};

use crate::{
    about::{self, CtreeDisplay},
    connect::InstallationPaths,
    describe::SchemaSource,
    docs,
    guard::{self, AccessTable, Identity, RequestGuard},
    health::LastProbe,
    limits::ServerTimes,
    mcp::McpEndpoints,
    operations, page,
    refusal::{HttpRefusal, RefusalKind},
    route::{self, Reach, Route, delete, get, post},
    runs, sessions, sign_in, tokens, work,
};

/// The shared state of the routes.
pub(crate) struct ServerState {
    /// The operations and the store.
    pub(crate) app: Arc<App>,
    /// The state of the security layer; the page signs browsers in with it.
    pub(crate) gate: Arc<RequestGuard>,
    /// How agents reach this installation.
    pub(crate) installation: InstallationPaths,
    /// Which parts of C-Trees the page shows.
    pub(crate) ctrees: CtreeDisplay,
    pub(crate) times: ServerTimes,
    /// Address for agents and people, without a trailing slash.
    pub(crate) base_url: String,
    /// When the server started.
    pub(crate) started: Instant,
    /// The same as a timestamp.
    pub(crate) started_at: Timestamp,
    /// For requests about health.
    pub(crate) last_probe: LastProbe,
    /// Turns true when streams have to end.
    pub(crate) streams: watch::Sender<bool>,
    /// Permits for operations that run at once.
    pub(crate) calls: Semaphore,
    /// Permits for writing operations, which may wait for another process.
    pub(crate) writes: Semaphore,
    /// Permits for WebSockets; all of them are free when none is open.
    pub(crate) sockets: Arc<Semaphore>,
}

impl ServerState {
    /// A link to the page that signs one browser in, once, with the rights of an identity.
    ///
    /// The code is in the fragment, which browsers do not send.
    pub(crate) fn page_link(&self, identity: Identity) -> Result<String, getrandom::Error> {
        let Some(keys) = &self.gate.keys else { return Ok(format!("{}/", self.base_url)) };
        let code = keys.codes.issue(identity, Instant::now())?;
        Ok(format!("{}/#code={code}", self.base_url))
    }

    /// Runs blocking work outside the event loop. A panic in it ends only this request.
    pub(crate) async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, HttpRefusal> {
        run_blocking(&self.calls, work).await
    }

    /// The same for writing work: it leaves permits to readers.
    pub(crate) async fn run_writing<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, HttpRefusal> {
        run_blocking(&self.writes, work).await
    }

    /// The same for short work, on the thread that has read the request: to hand it over and back
    /// would take as long as the work.
    pub(crate) async fn run_here<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, HttpRefusal> {
        run_here(&self.calls, work).await
    }

    /// The same for work that writes.
    pub(crate) async fn write_here<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, HttpRefusal> {
        run_here(&self.writes, work).await
    }

    /// A permit for work that writes.
    pub(crate) async fn place_to_write(&self) -> Result<SemaphorePermit<'_>, HttpRefusal> {
        self.writes.acquire().await.map_err(|error| internal(&error))
    }

    /// Blocks this thread for a caller that has a permit.
    pub(crate) async fn block_here<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, HttpRefusal> {
        if Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread {
            return task::block_in_place(|| catch(work));
        }
        task::spawn_blocking(work).await.map_err(|error| internal(&error))
    }

    /// The same for work that reads much: it waits for others of its kind.
    pub(crate) async fn run_large<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, HttpRefusal> {
        let _place = self.calls.acquire().await.map_err(|error| internal(&error))?;
        let done = self.app.engine().read_large(work).await;
        done.map_err(|error| internal(&error))
    }
}

fn internal(cause: &dyn std::fmt::Display) -> HttpRefusal {
    tracing::error!(%cause, "a request panicked or was cancelled");
    let recovery = "try again; if it happens again, report it with the server's log";
    HttpRefusal::new(
        RefusalKind::Internal,
        "the server failed while handling this request",
        recovery,
    )
}

async fn run_blocking<T: Send + 'static>(
    places: &Semaphore,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, HttpRefusal> {
    let done = run_erased(places, Box::new(move || Box::new(work()))).await?;
    let Ok(done) = done.downcast() else { unreachable!("the work returns a T") };
    Ok(*done)
}

/// Work of any type: a task for each type of result would be a fifth of this crate.
type ErasedWork = Box<dyn FnOnce() -> Box<dyn Any + Send> + Send>;

async fn run_erased(
    places: &Semaphore,
    work: ErasedWork,
) -> Result<Box<dyn Any + Send>, HttpRefusal> {
    let _place = places.acquire().await.map_err(|error| internal(&error))?;
    task::spawn_blocking(work).await.map_err(|error| internal(&error))
}

/// The other tasks of this thread move to another one in the meantime. A runtime with one thread
/// has no other.
async fn run_here<T: Send + 'static>(
    places: &Semaphore,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, HttpRefusal> {
    if Handle::current().runtime_flavor() != RuntimeFlavor::MultiThread {
        return run_blocking(places, work).await;
    }
    let _place = places.acquire().await.map_err(|error| internal(&error))?;
    task::block_in_place(|| catch(work))
}

/// Does work that hardly blocks, on this thread. A panic in it ends only this request.
pub(crate) fn catch<T>(work: impl FnOnce() -> T) -> Result<T, HttpRefusal> {
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    done.map_err(|_| internal(&"the work panicked"))
}

/// The routes beside those of the bridge and of MCP. Those without a summary are left out of the
/// document, or described elsewhere.
pub(crate) fn own_routes<S: SchemaSource>() -> Vec<Route<S>> {
    vec![
        post("/api/ops/{name}", "", operations::call)
            .least(AccessRole::Viewer)
            .reaching(Reach::Checked),
        get("/assets/{file}", "", page::asset).public(),
        get("/docs", "", docs::root).public(),
        get("/docs/", "", docs::index).public(),
        get("/docs/{*page}", "", docs::page).public(),
        get("/api/ops", "List the operations with their schemas", operations::list)
            .reaching(Reach::Checked),
        get("/api/about", "Describe this server", about::show),
        get("/openapi.json", "Return this document", about::openapi).reaching(Reach::Checked),
        get("/", "Return the page", page::index).public(),
        get("/api/session", "Show what the sender may do", sign_in::show).reaching(Reach::Checked),
        post("/api/session", "Sign a browser in", sign_in::sign_in).public(),
        delete("/api/session", "Sign this browser out", sign_in::sign_out)
            .least(AccessRole::Viewer)
            .reaching(Reach::Checked),
        post(
            "/api/session/ticket",
            "Get a ticket for one WebSocket, as `ticket` in its query",
            sign_in::ticket,
        )
        .least(AccessRole::Viewer)
        .reaching(Reach::Runs),
        get("/api/page-sessions", "List the browsers that are signed in", sign_in::list).of_owner(),
        delete("/api/page-sessions/{id}", "Sign any browser out", sign_in::revoke).of_owner(),
        post("/api/page-links", "Get a link that signs one browser in, once", sign_in::link)
            .of_owner(),
        get("/api/tokens", "List the named tokens", tokens::list).of_owner(),
        post("/api/tokens", "Make a named token; its secret is shown once", tokens::create)
            .of_owner(),
        delete("/api/tokens/{name}", "Revoke a named token", tokens::revoke).of_owner(),
    ]
}

/// Every route; those of the bridge also exist with the prefix `/v1`.
pub(crate) fn all_routes<S: SchemaSource>() -> impl Iterator<Item = Route<S>> {
    own_routes()
        .into_iter()
        .chain(sessions::unprefixed())
        .chain(runs::listed())
        .chain(work::listed())
}

/// What every route needs of its caller.
pub(crate) fn access_table() -> AccessTable {
    AccessTable::of(all_routes())
}

/// All routes inside the security layer.
pub(crate) fn router(site: Arc<ServerState>, mcp: McpEndpoints) -> Router {
    let gate = Arc::clone(&site.gate);
    route::router(own_routes())
        .merge(sessions::routes())
        .merge(runs::routes())
        .merge(work::routes())
        .with_state(site)
        .route_service("/mcp", mcp)
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(unknown_route)
        // The layer around it has read the body within the limit of its path; axum's extractors
        // would refuse it above 2 MB.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(gate, guard::guard))
}

async fn unknown_route(uri: Uri) -> HttpRefusal {
    let recovery = "GET /openapi.json lists the routes";
    let message = format!("there is no route {}", uri.path());
    HttpRefusal::new(RefusalKind::UnknownRoute, message, recovery)
}

async fn method_not_allowed(method: Method, uri: Uri) -> HttpRefusal {
    let recovery = "GET /openapi.json lists the methods of each route";
    let message = format!("{} does not support {method}", uri.path());
    HttpRefusal::new(RefusalKind::MethodNotAllowed, message, recovery)
}

#[cfg(test)]
mod tests {
    use tokio::sync::Semaphore;

    use super::run_blocking;
    use crate::refusal::RefusalKind;

    #[tokio::test]
    async fn a_panic_becomes_an_error_and_gives_its_place_back() {
        let places = Semaphore::new(1);
        let broken = run_blocking(&places, || panic!("a call broke")).await;
        assert_eq!(
            broken.map_err(|refusal: _| refusal.kind()),
            Err::<(), _>(RefusalKind::Internal)
        );
        assert_eq!(run_blocking(&places, || 7).await, Ok(7));
    }
}
