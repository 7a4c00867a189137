//! The sessions of the older protocol revisions, bounded in number.
//!
//! Clients rarely close their session, and each session holds memory. When there are too many, the
//! one that was used least recently makes room; its client gets 404 and initializes again, as the
//! protocol demands.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use http::{HeaderMap, HeaderName};
use rmcp::transport::streamable_http_server::session::{
    SessionManager, local::LocalSessionManager,
};

pub(crate) const SESSIONS_MAX: usize = 256;

/// A session that was idle for this long is closed.
const SESSION_IDLE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// The open sessions and when each was last used.
pub(crate) struct HttpSessions {
    open: Arc<LocalSessionManager>,
    used: Mutex<HashMap<Box<str>, Instant>>,
}

impl HttpSessions {
    /// No sessions yet.
    pub(crate) fn new() -> Self {
        let mut open = LocalSessionManager::default();
        open.session_config.keep_alive = Some(SESSION_IDLE_MAX);
        Self { open: Arc::new(open), used: Mutex::default() }
    }

    /// The SDK's storage of its sessions.
    pub(crate) fn open(&self) -> Arc<LocalSessionManager> {
        Arc::clone(&self.open)
    }

    /// Records the session that a response opened.
    pub(crate) fn opened(&self, answer: &HeaderMap) {
        if let Some(id) = session_of(answer) {
            self.lock().insert(id.into(), Instant::now());
        }
    }

    /// Records that the session of a request is in use.
    pub(crate) fn used(&self, request: &HeaderMap) {
        let mut used = self.lock();
        if let Some(time) = session_of(request).and_then(|id| used.get_mut(id)) {
            *time = Instant::now();
        }
    }

    /// Makes room for one more session.
    pub(crate) async fn make_room(&self) {
        let open = self.open.sessions.read().await;
        let is_full = open.len() >= SESSIONS_MAX;
        let oldest = {
            let mut used = self.lock();
            used.retain(|id, _| open.contains_key(&**id));
            let oldest = used.iter().min_by_key(|(_, time)| **time);
            oldest.map(|(id, _)| Arc::<str>::from(&**id))
        };
        drop(open);
        let Some(oldest) = oldest.filter(|_| is_full) else { return };
        tracing::info!(
            session = %oldest,
            "closed the least recently used session to make room for another"
        );
        if let Err(error) = self.open.close_session(&oldest).await {
            tracing::warn!(%error, "could not close a session");
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Instant>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn session_of(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION_ID)?.to_str().ok()
}
