//! The product's backend: the rows of the application's registry as tools, plans and tasks as
//! resources, workflows as prompts.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, LazyLock},
    time::Duration,
};

use muster_api::{App, Effect, Envelope, Row, Toolset};
use rmcp::{
    ErrorData,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams,
        CompletionInfo, ContentBlock, GetPromptRequestParams, GetPromptResponse, Implementation,
        ListResourcesResult, Prompt, ReadResourceRequestParams, ReadResourceResponse,
        ResourceTemplate, ServerCapabilities, ServerConfig, SubscriptionFilter, Tool,
        ToolAnnotations,
    },
};
use serde_json::Value;
use tokio::{sync::mpsc, task::JoinHandle};

use crate::{
    backend::{Answer, Backend, Call, Following},
    changes::Place,
    guidance, prompts,
    resources::{self, Page, ResourceAddress, Wanted},
    splice,
};

/// A call that takes longer reports progress this often (MCP-TOOL-7).
const PROGRESS_PERIOD: Duration = Duration::from_secs(1);

/// The application behind the adapter. Making one costs nothing; tools are built on first use.
pub struct AppBackend {
    app: Arc<App>,
    default_workspace: Option<String>,
    tools: LazyLock<Vec<ListedTool>, Box<dyn FnOnce() -> Vec<ListedTool> + Send>>,
}

struct ListedTool {
    toolset: Toolset,
    tool: Tool,
}

impl AppBackend {
    /// A backend of `app`; the default workspace is the one whose plans and tasks are listed.
    pub fn new(app: Arc<App>, default_workspace: Option<String>) -> Self {
        let rows = Arc::clone(&app);
        let tools = move || rows.registry().rows().iter().map(ListedTool::of).collect();
        Self { app, default_workspace, tools: LazyLock::new(Box::new(tools)) }
    }

    /// The current moment.
    pub(crate) fn now(&self) -> String {
        self.app.now().rfc3339()
    }

    fn knows(&self, tool: &str) -> bool {
        self.app.registry().get(tool).is_some()
    }

    /// Whether a call takes less time than handing it to another thread and back. A write does
    /// unless it would have to wait for somebody.
    fn is_brief(&self, request: &CallToolRequestParams) -> bool {
        let Some(row) = self.app.registry().get(&request.name) else { return false };
        match row.effect {
            Effect::Read => row.is_brief(request.arguments.as_ref()),
            Effect::Write | Effect::Set | Effect::Destroy => self.app.engine().is_free_to_write(),
        }
    }

    /// Calls a reading operation and waits for its answer.
    async fn read(&self, name: &str, arguments: Value) -> Result<Envelope, ErrorData> {
        let Value::Object(arguments) = arguments else {
            unreachable!("arguments are an object, got {arguments}");
        };
        let (app, name) = (Arc::clone(&self.app), name.to_owned());
        let running = tokio::task::spawn_blocking(move || app.call(&name, arguments));
        running.await.map_err(|error| broken(&error))
    }

    /// A page of the plans and tasks of a workspace, and the cursor of the next one.
    async fn page(&self, workspace: &str, page: &Page) -> Result<ListResourcesResult, ErrorData> {
        let answer = self.read("tasks_context", page.question(workspace)).await?;
        if let Some(error) = answer.error {
            return Err(ErrorData::invalid_params(error.message, None));
        }
        let (entries, next) = page.read(workspace, &answer.result.read());
        let resources = entries.iter().map(resources::Entry::resource).collect();
        let mut listed = ListResourcesResult::with_all_items(resources);
        listed.next_cursor = next;
        Ok(listed)
    }

    /// The ids of a kind that begin as typed.
    async fn ids(
        &self,
        workspace: &str,
        kind: resources::Kind,
        typed: &str,
    ) -> Result<CompletionInfo, ErrorData> {
        let question = resources::beginning_as(workspace, typed);
        let found = self.read("tasks_context", question).await?.result.read();
        let more = found[format!("{}_pagination", kind.list())]["has_more"] == true;
        let entries = resources::entries(workspace, kind, &found);
        let ids = entries.into_iter().map(|entry| entry.id).collect();
        Ok(resources::completion(ids, typed, more))
    }
}

impl ListedTool {
    fn of(row: &Row) -> Self {
        let tool = Tool::new(row.name, row.description().to_owned(), row.listed_input_schema())
            .with_title(row.title)
            .with_raw_output_schema(Arc::new(row.listed_output_schema()))
            .with_annotations(annotations(row.effect));
        Self { toolset: row.toolset, tool }
    }
}

/// All four hints, always (MCP-TOOL-2).
fn annotations(effect: Effect) -> ToolAnnotations {
    let (reads, destroys, repeatable) = match effect {
        Effect::Read => (true, false, true),
        Effect::Write => (false, false, false),
        Effect::Set => (false, false, true),
        Effect::Destroy => (false, true, false),
    };
    ToolAnnotations::new()
        .read_only(reads)
        .destructive(destroys)
        .idempotent(repeatable)
        .open_world(false)
}

/// What came of an operation. On a line the structure is put in from the text.
fn tool_result(envelope: &Envelope, on_a_line: bool) -> CallToolResult {
    let structure = (!on_a_line).then(|| envelope.to_json());
    let mut result = enveloped(envelope.to_text(), structure, envelope.success);
    if on_a_line {
        splice::mark(&mut result);
    }
    result
}

/// The same envelope as text and as structure, and always a verdict (TASKS-MCP-5, RUNS-TOOL-2).
pub(crate) fn enveloped(text: String, structure: Option<Value>, success: bool) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = structure;
    result.is_error = Some(!success);
    result
}

/// Calls an operation here and now; a defect in it costs this answer and nothing else.
fn in_place(app: &App, request: CallToolRequestParams) -> Result<Envelope, ErrorData> {
    let arguments = request.arguments.unwrap_or_default();
    let call = AssertUnwindSafe(|| app.call(&request.name, arguments));
    std::panic::catch_unwind(call).map_err(|_| {
        tracing::error!(tool = %request.name, "an operation did not end");
        ErrorData::internal_error("the operation failed inside the server", None)
    })
}

fn broken(error: &tokio::task::JoinError) -> ErrorData {
    tracing::error!(%error, "an operation did not end");
    ErrorData::internal_error("the operation failed inside the server", None)
}

/// Waits for a running call; calls `beat` with the seconds gone by as long as it runs.
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
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_prompts()
            .enable_completions()
            .build();
        let identity =
            Implementation::new("muster", env!("CARGO_PKG_VERSION")).with_title("Muster");
        let workspace = self.default_workspace.as_deref();
        ServerConfig::new(capabilities)
            .with_server_info(identity)
            .with_instructions(guidance::instructions(&|tool| self.knows(tool), workspace))
    }

    fn toolset(&self) -> Toolset {
        self.app.toolset()
    }

    fn tools(&self, toolset: Toolset) -> Vec<Tool> {
        let listed = self.tools.iter().filter(|listed| listed.toolset <= toolset);
        listed.map(|listed| listed.tool.clone()).collect()
    }

    fn tool(&self, name: &str) -> Option<Tool> {
        let found = self.tools.iter().find(|listed| listed.tool.name == name);
        found.map(|listed| listed.tool.clone())
    }

    fn reads_only(&self, name: &str) -> Option<bool> {
        self.app.registry().get(name).map(|row| row.effect == Effect::Read)
    }

    fn nearest_tool(&self, name: &str) -> String {
        self.app.registry().nearest(name).to_owned()
    }

    fn call_tool(
        &self,
        request: CallToolRequestParams,
        call: Call,
    ) -> Answer<'_, CallToolResponse> {
        Box::pin(async move {
            let on_a_line = call.is_on_a_line();
            if on_a_line && self.is_brief(&request) {
                return Ok(tool_result(&in_place(&self.app, request)?, on_a_line).into());
            }
            let (app, held) = (Arc::clone(&self.app), call.clone());
            let running = tokio::task::spawn_blocking(move || {
                let answer = app.call(&request.name, request.arguments.unwrap_or_default());
                drop(held);
                tool_result(&answer, on_a_line)
            });
            let beat = |seconds| call.report(f64::from(seconds), None, "still working");
            Ok(with_heartbeat(running, beat).await?.into())
        })
    }

    fn resources(&self, cursor: Option<String>) -> Answer<'_, ListResourcesResult> {
        Box::pin(async move {
            let page = Page::of(cursor.as_deref())?;
            match &self.default_workspace {
                Some(workspace) => self.page(workspace, &page).await,
                None => Ok(ListResourcesResult::with_all_items(Vec::new())),
            }
        })
    }

    fn resource_templates(&self) -> Vec<ResourceTemplate> {
        resources::templates()
    }

    fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _call: Call,
    ) -> Answer<'_, ReadResourceResponse> {
        Box::pin(async move {
            let Some(address) = ResourceAddress::parse(&request.uri) else {
                return Err(resources::not_found(&request.uri));
            };
            let (tool, arguments) = address.question();
            let answer = self.read(tool, arguments).await?;
            address.contents(&answer).map(ReadResourceResponse::from)
        })
    }

    fn complete(&self, request: CompleteRequestParams) -> Answer<'_, CompletionInfo> {
        Box::pin(async move {
            let named = request.context.as_ref().and_then(|given| given.get_argument("workspace"));
            let workspace = named.or(self.default_workspace.as_ref());
            let typed = &request.argument.value;
            match (Wanted::of(&request), workspace) {
                (Some(Wanted::Workspace), _) => {
                    let known = self.default_workspace.iter().cloned().collect();
                    Ok(resources::completion(known, typed, false))
                }
                (Some(Wanted::Id(kind)), Some(workspace)) => self.ids(workspace, kind, typed).await,
                (Some(Wanted::Id(_)), None) | (None, _) => Ok(CompletionInfo::default()),
            }
        })
    }

    fn accepted_subscriptions(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let uris = requested.resource_subscriptions.iter().flatten();
        let known = uris.filter(|uri| ResourceAddress::parse(uri).is_some()).cloned();
        Some(SubscriptionFilter::builder().resource_subscriptions(known).build())
    }

    fn follow(&self, uri: String, changed: mpsc::Sender<String>) -> Answer<'_, Following> {
        Box::pin(async move {
            let address = ResourceAddress::parse(&uri).ok_or_else(|| resources::not_found(&uri))?;
            let place = Place::now(Arc::clone(&self.app), address).await?;
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
        _call: Call,
    ) -> Answer<'_, GetPromptResponse> {
        let workspace = self.default_workspace.as_deref();
        let written = prompts::write(&request, workspace, &|tool| self.knows(tool));
        Box::pin(std::future::ready(written.map(GetPromptResponse::from)))
    }
}
