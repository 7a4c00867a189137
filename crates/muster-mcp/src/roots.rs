//! The workspace of a client's roots (HOST-INIT-2). A call that names no workspace asks for the
//! roots once, unless something stronger has decided already.
//!
//! ```text
//!   revisions with a handshake    call ──► roots/list to the client ──► answer
//!   the stateless revision        call ──► input_required; the client repeats the call with roots
//! ```

#![expect(deprecated, reason = "clients of all supported revisions have roots")]

use std::{
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use muster_api::{App, WorkspaceId};
use rmcp::model::{
    CallToolRequestParams, InputRequest, InputRequests, InputRequiredResult, ListRootsRequest,
    ListRootsResult,
};
use tokio::{sync::Mutex, time::timeout};

use crate::{backend::McpCall, resources::percent_decoded};

/// How long a client may take to list its roots.
const ANSWER_WAIT: Duration = Duration::from_secs(3);
/// Roots that are looked at.
const ROOTS_MAX: usize = 16;
/// The name of the question in `input_required`.
const QUESTION: &str = "roots";
const WORKSPACE: &str = "workspace";

/// A workspace and the root that it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootWorkspace {
    pub workspace: WorkspaceId,
    pub directory: PathBuf,
}

/// Finds the workspace of the first root that has one. Reads files, so it runs on a thread of its
/// own.
pub type FindInRoots = dyn Fn(&[PathBuf]) -> Option<RootWorkspace> + Send + Sync;

/// What is known of the roots of one client.
pub(crate) struct ClientRoots {
    find: Arc<FindInRoots>,
    /// One question at a time: the calls that wait for it use the same answer.
    asking: Mutex<()>,
    known: RwLock<KnownRoots>,
}

enum KnownRoots {
    NotAsked,
    /// None of them has a workspace.
    Nothing,
    /// The application as callers in that workspace see it.
    Found(Arc<App>),
}

impl ClientRoots {
    pub(crate) fn new(find: Arc<FindInRoots>) -> Self {
        Self { find, asking: Mutex::default(), known: RwLock::new(KnownRoots::NotAsked) }
    }

    /// The application in the workspace of the roots, once that is known.
    pub(crate) fn app(&self) -> Option<Arc<App>> {
        match &*self.known.read().unwrap_or_else(PoisonError::into_inner) {
            KnownRoots::Found(app) => Some(Arc::clone(app)),
            KnownRoots::NotAsked | KnownRoots::Nothing => None,
        }
    }

    /// Asks again at the next call.
    pub(crate) fn forget(&self) {
        self.learn(KnownRoots::NotAsked);
    }

    /// Finds the workspace for a call that names none. A result is the question that the client
    /// has to answer first.
    pub(crate) async fn ask(
        &self,
        app: &App,
        request: &CallToolRequestParams,
        call: &McpCall,
    ) -> Option<InputRequiredResult> {
        if names_workspace(request) || !call.has_roots() {
            return None;
        }
        let _one_at_a_time = self.asking.lock().await;
        if !self.is_open() {
            return None;
        }
        let roots = match (call.is_modern(), &request.input_responses) {
            (false, _) => requested(call).await,
            (true, None) => return Some(question()),
            (true, Some(answers)) => {
                let answer = answers.get(QUESTION).cloned().unwrap_or_default();
                serde_json::from_value(answer).map_err(|error| error.to_string())
            }
        };
        let roots = roots.unwrap_or_else(|error| {
            tracing::warn!(%error, "the client could not list its roots");
            ListRootsResult::default()
        });
        self.decide(app, directories(&roots)).await;
        None
    }

    fn is_open(&self) -> bool {
        matches!(*self.known.read().unwrap_or_else(PoisonError::into_inner), KnownRoots::NotAsked)
    }

    async fn decide(&self, app: &App, directories: Vec<PathBuf>) {
        let find = Arc::clone(&self.find);
        let found = tokio::task::spawn_blocking(move || find(&directories)).await;
        let found = found.unwrap_or_else(|error| {
            tracing::error!(%error, "looking for the workspace of the roots failed");
            None
        });
        self.learn(match found {
            Some(RootWorkspace { workspace, directory }) => {
                tracing::info!(%workspace, root = %directory.display(), "workspace of a root");
                KnownRoots::Found(Arc::new(app.moved_to(workspace, directory)))
            }
            None => KnownRoots::Nothing,
        });
    }

    fn learn(&self, known: KnownRoots) {
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
    }
}

fn names_workspace(request: &CallToolRequestParams) -> bool {
    let named = request.arguments.as_ref().and_then(|arguments| arguments.get(WORKSPACE));
    named.is_some_and(|workspace| !workspace.is_null())
}

/// Asks a client that takes requests.
async fn requested(call: &McpCall) -> Result<ListRootsResult, String> {
    match timeout(ANSWER_WAIT, call.context().peer.list_roots()).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_elapsed) => Err(format!("no answer within {} s", ANSWER_WAIT.as_secs())),
    }
}

/// Asks a client that takes none.
fn question() -> InputRequiredResult {
    let request = InputRequest::ListRoots(ListRootsRequest::default());
    InputRequiredResult::from_input_requests(InputRequests::from([(QUESTION.to_owned(), request)]))
}

/// The roots that are directories of this machine.
fn directories(answer: &ListRootsResult) -> Vec<PathBuf> {
    answer.roots.iter().take(ROOTS_MAX).filter_map(|root| directory(&root.uri)).collect()
}

fn directory(uri: &str) -> Option<PathBuf> {
    let place = uri.strip_prefix("file://")?;
    let path = place.strip_prefix("localhost").unwrap_or(place);
    let path = PathBuf::from(percent_decoded(path)?);
    path.is_absolute().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::directory;

    #[test]
    fn only_files_of_this_machine_are_directories() {
        let found = |uri: &str| directory(uri).map(|path| path.display().to_string());
        assert_eq!(found("file:///srv/my%20app"), Some("/srv/my app".to_owned()));
        assert_eq!(found("file://localhost/srv"), Some("/srv".to_owned()));
        for uri in ["file://elsewhere/srv", "https://example.org/", "/srv", "file:///%zz", ""] {
            assert_eq!(found(uri), None, "{uri}");
        }
    }
}
