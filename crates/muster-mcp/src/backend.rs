//! What the adapter needs to know of a server: its tools, resources and prompts.
//!
//! The trait uses the SDK's model types, so that no second model has to be kept in step with the
//! protocol; only backends and the adapter see them.

#![expect(deprecated, reason = "revisions before 2026-07-28 have log levels")]

use std::{
    mem,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};

use muster_api::Toolset;
use muster_core::{Author, AuthorKind, AuthorSurface};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompletionInfo,
        GetPromptRequestParams, GetPromptResponse, InputRequiredResult, ListResourcesResult,
        LoggingLevel, ProgressNotificationParam, Prompt, ReadResourceRequestParams,
        ReadResourceResponse, ResourceTemplate, ServerConfig, SubscriptionFilter, Tool,
    },
    service::{RequestContext, SubscriptionContext},
};
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::{lane::LaneTurn, line::InFlight, long_calls::CallStatus};

/// A boxed result, or a JSON-RPC error for what is not a rejection (MCP-TOOL-4).
pub type BackendFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, ErrorData>> + Send + 'a>>;

/// A resource that is being followed; see [`Backend::follow`].
pub type Following = BackendFuture<'static, ()>;

/// The request a backend is answering: its metadata, its client, its cancellation.
///
/// A clone keeps the request's place among the calls of its connection, so work that continues
/// after a cancellation holds one, and no later call overtakes it.
#[derive(Clone, Debug)]
pub struct McpCall {
    context: RequestContext<RoleServer>,
    place: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
    /// Where progress goes instead, once the client waits for a handle.
    status: Option<CallStatus>,
}

impl McpCall {
    pub(crate) fn new(context: RequestContext<RoleServer>) -> Self {
        Self { context, place: Arc::default(), status: None }
    }

    pub(crate) fn in_place(self, place: Option<OwnedSemaphorePermit>) -> Self {
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = place;
        self
    }

    /// Lets later calls of the connection run.
    pub(crate) fn leave_place(&self) {
        self.place.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Makes the call independent of its request, whose reply may be a handle: it has its own
    /// cancellation and keeps its status instead of sending progress. Returns the request as it
    /// was, for its cancellation, and the status.
    pub(crate) fn detach(&mut self) -> (Self, CallStatus) {
        let asker = self.clone();
        let status = CallStatus::new();
        mem::take(&mut self.context.ct);
        // Its result may be sent as part of another one, so no transport can complete it.
        self.context.extensions.remove::<LaneTurn>();
        self.context.extensions.remove::<InFlight>();
        self.status = Some(status.clone());
        (asker, status)
    }

    /// Whether its client has, or will get, a handle.
    pub(crate) fn is_detached(&self) -> bool {
        self.status.is_some()
    }

    /// Whether the request is of the stateless revision or a later one.
    pub(crate) fn is_modern(&self) -> bool {
        self.context.protocol_version().is_some_and(|version| !version.has_initialize())
    }

    /// Whether the client can be given a handle instead of a result.
    pub(crate) fn takes_handles(&self) -> bool {
        let declared = self.context.client_capabilities();
        self.is_modern() && declared.is_some_and(|client| client.supports_tasks())
    }

    /// Whether the client can list its roots.
    pub(crate) fn has_roots(&self) -> bool {
        self.context.client_capabilities().is_some_and(|client| client.roots.is_some())
    }

    pub(crate) fn cancel(&self) {
        self.context.ct.cancel();
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.context.ct.is_cancelled()
    }

    /// Whether the request came over stdio, whose transport can copy the text into the structure
    /// and whose client waits for this reply anyway.
    pub(crate) fn is_on_a_line(&self) -> bool {
        self.context.extensions.get::<LaneTurn>().is_some()
    }

    /// The program at the other end: what it called itself in its handshake or in this request.
    pub(crate) fn author(&self) -> Author {
        let client = self.context.client_info();
        let name = client.map(|client| format!("{} {}", client.name, client.version));
        let name = name.unwrap_or_else(|| "unnamed client".to_owned());
        Author::new(AuthorKind::Agent, &name, AuthorSurface::Mcp)
    }

    /// The SDK's view of the request.
    pub fn context(&self) -> &RequestContext<RoleServer> {
        &self.context
    }

    /// Waits until the client cancels the request or disconnects.
    pub async fn cancelled(&self) {
        self.context.ct.cancelled().await;
    }

    /// Sends progress to the client if it asked for it, or makes it the status of a handle.
    pub async fn report(&self, done: f64, total: Option<f64>, message: &str) {
        if let Some(status) = &self.status {
            status.set(message);
            return;
        }
        let Some(token) = self.context.meta.get_progress_token() else { return };
        let mut progress = ProgressNotificationParam::new(token, done).with_message(message);
        if let Some(total) = total {
            progress = progress.with_total(total);
        }
        if let Err(error) = self.context.peer.notify_progress(progress).await {
            tracing::debug!(%error, "could not deliver progress");
        }
    }
}

/// A server behind the adapter. Listings are in a fixed order and do not depend on the connection.
pub trait Backend: Send + Sync + 'static {
    /// Identity, capabilities and instructions.
    fn describe(&self) -> ServerConfig;

    /// The toolset listed when neither the request nor its URL names one.
    fn toolset(&self) -> Toolset;

    /// The tools that a toolset lists.
    fn tools(&self, toolset: Toolset) -> Vec<Tool>;

    /// The same for a client whose roots may decide the workspace of calls that name none.
    fn tools_of_roots(&self, toolset: Toolset) -> Vec<Tool> {
        self.tools(toolset)
    }

    /// A tool by name, whatever the toolset lists.
    fn tool(&self, name: &str) -> Option<Tool>;

    /// Whether calls of this tool write nothing and so may overtake each other; `None` for an
    /// unknown one.
    fn reads_only(&self, name: &str) -> Option<bool>;

    /// Whether calls of this tool may take longer than a client likes to wait. A call with a handle
    /// is not dropped when it is cancelled: it sees [`McpCall::cancelled`] and ends early.
    fn may_take_long(&self, name: &str) -> bool {
        let _unused = name;
        false
    }

    /// The existing tool name closest to a mistyped one.
    fn nearest_tool(&self, name: &str) -> String;

    /// Asks the client for what a call needs from it first; a result is the question that it has to
    /// answer by repeating the call.
    fn ask_client<'a>(
        &'a self,
        request: &'a CallToolRequestParams,
        call: &'a McpCall,
    ) -> BackendFuture<'a, Option<InputRequiredResult>> {
        let _unused = (request, call);
        Box::pin(std::future::ready(Ok(None)))
    }

    /// The client has other roots than before.
    fn forget_roots(&self) {}

    fn call_tool(
        &self,
        request: CallToolRequestParams,
        call: McpCall,
    ) -> BackendFuture<'_, CallToolResponse>;

    /// The resources worth listing.
    fn resources(&self, cursor: Option<String>) -> BackendFuture<'_, ListResourcesResult>;

    /// The shapes of resource addresses.
    fn resource_templates(&self) -> Vec<ResourceTemplate>;

    fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        call: McpCall,
    ) -> BackendFuture<'_, ReadResourceResponse>;

    /// Proposes values for an argument of a prompt or a resource template.
    fn complete(&self, request: CompleteRequestParams) -> BackendFuture<'_, CompletionInfo>;

    fn prompts(&self) -> Vec<Prompt>;

    /// Renders one prompt.
    fn prompt(
        &self,
        request: GetPromptRequestParams,
        call: McpCall,
    ) -> BackendFuture<'_, GetPromptResponse>;

    /// Which change notifications a `subscriptions/listen` may request; `None` rejects the method.
    fn accepted_subscriptions(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let _unused = requested;
        None
    }

    /// Feeds one accepted subscription with changed lists until it is cancelled; changed resources
    /// come from [`Backend::follow`].
    fn listen(&self, subscription: SubscriptionContext) -> BackendFuture<'_, ()> {
        Box::pin(async move {
            subscription.cancelled().await;
            Ok(())
        })
    }

    /// Follows a resource. Once the outer future has resolved, no change is missed; the inner one
    /// sends the URI after each change, for as long as it is polled.
    fn follow(&self, uri: String, changed: mpsc::Sender<String>) -> BackendFuture<'_, Following> {
        let _unused = changed;
        let facts = Some(json!({"uri": uri}));
        let refusal = ErrorData::resource_not_found("this resource cannot be followed", facts);
        Box::pin(std::future::ready(Err(refusal)))
    }

    /// Sets the log level of the connection (revisions before 2026-07-28); `None` rejects it.
    fn set_log_level(&self, level: LoggingLevel) -> Option<()> {
        let _unused = level;
        None
    }
}
