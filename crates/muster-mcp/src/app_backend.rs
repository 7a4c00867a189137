//! The product's backend: the rows of the application's registry as tools, plans and tasks as
//! resources, workflows as prompts.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use muster_api::{AnswerEconomy, App, Envelope, OperationEffect, Toolset};
use rmcp::{
    ErrorData,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams,
        CompletionInfo, ContentBlock, GetPromptRequestParams, GetPromptResponse, JsonObject,
        ListResourcesResult, Prompt, ReadResourceRequestParams, ReadResourceResponse,
        ResourceTemplate, ServerConfig, SubscriptionFilter, Tool,
    },
};
use serde_json::Value;
use tokio::{sync::mpsc, task::JoinHandle};

use crate::{
    backend::{Backend, BackendFuture, Following, McpCall},
    catalogue::Catalogue,
    changes::ResourcePosition,
    prompts,
    reader::{self, OperationReader},
    resources::{self, ResourceAddress},
    splice,
};

/// A call that takes longer reports progress this often (MCP-TOOL-7).
const PROGRESS_PERIOD: Duration = Duration::from_secs(1);

/// The application behind the adapter. Creating one is free; tools are built on first use.
pub struct AppBackend {
    app: Arc<App>,
    catalogue: Catalogue,
}

impl AppBackend {
    /// A backend of `app`; the default workspace is the one whose plans and tasks are listed.
    pub fn new(app: Arc<App>, default_workspace: Option<String>) -> Self {
        let catalogue = Catalogue::of(app.registry_handle(), default_workspace);
        Self { app, catalogue }
    }

    /// Whether a call takes less time than handing it to another thread and back. A write does
    /// unless another writer is active.
    fn is_brief(&self, request: &CallToolRequestParams) -> bool {
        let Some(row) = self.app.registry().get(&request.name) else { return false };
        match row.effect {
            OperationEffect::Read => row.is_brief(request.arguments.as_ref()),
            OperationEffect::Write | OperationEffect::Set | OperationEffect::Destroy => {
                self.app.engine().is_free_to_write()
            }
        }
    }
}

impl OperationReader for AppBackend {
    fn read<'a>(&'a self, name: &'a str, arguments: JsonObject) -> BackendFuture<'a, Envelope> {
        Box::pin(async move {
            let app = Arc::clone(&self.app);
            let name = name.to_owned();
            let running = tokio::task::spawn_blocking(move || app.call(&name, arguments));
            running.await.map_err(|error| broken(&error))
        })
    }
}

/// The result of an operation. On a line the transport fills in the structure from the text.
fn tool_result(envelope: &Envelope, on_a_line: bool) -> CallToolResult {
    let structure = (!on_a_line).then(|| envelope.to_json());
    let mut result = enveloped(envelope.to_text(), structure, envelope.success);
    if on_a_line {
        splice::mark(&mut result);
    }
    result
}

/// The same envelope as text and as structure, and always an error flag (TASKS-MCP-5, RUNS-TOOL-2).
pub(crate) fn enveloped(text: String, structure: Option<Value>, success: bool) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = structure;
    result.is_error = Some(!success);
    result
}

/// Calls an operation on this thread; a panic in it fails this call only.
fn in_place(app: &App, request: CallToolRequestParams) -> Result<Envelope, ErrorData> {
    let arguments = request.arguments.unwrap_or_default();
    let call = AssertUnwindSafe(|| app.answer(AnswerEconomy::Brief, &request.name, arguments));
    std::panic::catch_unwind(call).map_err(|_| {
        tracing::error!(tool = %request.name, "operation panicked");
        ErrorData::internal_error("the operation failed inside the server", None)
    })
}

pub(crate) fn broken(error: &tokio::task::JoinError) -> ErrorData {
    tracing::error!(%error, "operation panicked or was cancelled");
    ErrorData::internal_error("the operation failed inside the server", None)
}

/// Waits for a running call; calls `beat` with the elapsed seconds as long as it runs.
pub(crate) async fn with_heartbeat<T, B: Future<Output = ()>>(
    mut running: JoinHandle<T>,
    mut beat: impl FnMut(u32) -> B,
) -> Result<T, ErrorData> {
    let mut seconds = 0;
    loop {
        match tokio::time::timeout(PROGRESS_PERIOD, &mut running).await {
            Ok(ended) => return ended.map_err(|error| broken(&error)),
            Err(_elapsed) => {
                seconds += 1;
                beat(seconds).await;
            }
        }
    }
}

impl Backend for AppBackend {
    fn describe(&self) -> ServerConfig {
        self.catalogue.describe()
    }

    fn toolset(&self) -> Toolset {
        self.app.toolset()
    }

    fn tools(&self, toolset: Toolset) -> Vec<Tool> {
        self.catalogue.tools(toolset)
    }

    fn tool(&self, name: &str) -> Option<Tool> {
        self.catalogue.tool(name)
    }

    fn reads_only(&self, name: &str) -> Option<bool> {
        self.catalogue.reads_only(name)
    }

    fn nearest_tool(&self, name: &str) -> String {
        self.catalogue.nearest_tool(name)
    }

    fn call_tool(
        &self,
        request: CallToolRequestParams,
        call: McpCall,
    ) -> BackendFuture<'_, CallToolResponse> {
        Box::pin(async move {
            let on_a_line = call.is_on_a_line();
            if on_a_line && self.is_brief(&request) {
                return Ok(tool_result(&in_place(&self.app, request)?, on_a_line).into());
            }
            let app = Arc::clone(&self.app);
            let held = call.clone();
            let running = tokio::task::spawn_blocking(move || {
                let arguments = request.arguments.unwrap_or_default();
                let answer = app.answer(AnswerEconomy::Brief, &request.name, arguments);
                drop(held);
                tool_result(&answer, on_a_line)
            });
            let beat = |seconds| call.report(f64::from(seconds), None, "still working");
            Ok(with_heartbeat(running, beat).await?.into())
        })
    }

    fn resources(&self, cursor: Option<String>) -> BackendFuture<'_, ListResourcesResult> {
        let workspace = self.catalogue.workspace();
        Box::pin(async move { reader::list(self, workspace, cursor.as_deref()).await })
    }

    fn resource_templates(&self) -> Vec<ResourceTemplate> {
        resources::templates()
    }

    fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _call: McpCall,
    ) -> BackendFuture<'_, ReadResourceResponse> {
        Box::pin(async move { reader::read(self, &request).await })
    }

    fn complete(&self, request: CompleteRequestParams) -> BackendFuture<'_, CompletionInfo> {
        let workspace = self.catalogue.workspace();
        Box::pin(async move { reader::complete(self, workspace, &request).await })
    }

    fn accepted_subscriptions(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let uris = requested.resource_subscriptions.iter().flatten();
        let known = uris.filter(|uri| ResourceAddress::parse(uri).is_some()).cloned();
        Some(SubscriptionFilter::builder().resource_subscriptions(known).build())
    }

    fn follow(&self, uri: String, changed: mpsc::Sender<String>) -> BackendFuture<'_, Following> {
        Box::pin(async move {
            let address = ResourceAddress::parse(&uri).ok_or_else(|| resources::not_found(&uri))?;
            let place = ResourcePosition::now(Arc::clone(&self.app), address).await?;
            let following: Following = Box::pin(place.follow(uri, changed));
            Ok(following)
        })
    }

    fn prompts(&self) -> Vec<Prompt> {
        prompts::all()
    }

    fn prompt(
        &self,
        request: GetPromptRequestParams,
        _call: McpCall,
    ) -> BackendFuture<'_, GetPromptResponse> {
        let workspace = self.catalogue.workspace().map(String::as_str);
        let written = prompts::write(&request, workspace, &|tool| self.catalogue.knows(tool));
        Box::pin(std::future::ready(written.map(GetPromptResponse::from)))
    }
}
