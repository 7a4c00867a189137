//! Muster's server for the agent of one node of a run: the tools of its run in addition to those of
//! tasks and todos.
//!
//! Every call goes to the server that drives the run, which identifies the node by its token,
//! writes the call into the log of the run and records task tools in the node's session. Resources
//! and completions are built from such calls, too. No store is opened: a sandboxed agent could not.
//! What is deliberately not here: notifications about resources, which the server does not send to
//! nodes.

use std::sync::{Arc, Mutex, PoisonError};

use muster_api::{CallWatch, Clock as _, Envelope, Registry, SystemClock, Toolset};
use rmcp::{
    ErrorData,
    model::{
        CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompletionInfo,
        GetPromptRequestParams, GetPromptResponse, JsonObject, ListResourcesResult, Prompt,
        ReadResourceRequestParams, ReadResourceResponse, ResourceTemplate, ServerConfig,
        SubscriptionFilter, Tool,
    },
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::{
    answer::ResultForm,
    backend::{Backend, BackendFuture, Following, McpCall},
    blocking::{self, broken},
    catalogue::Catalogue,
    prompts,
    reader::{self, OperationReader},
    resources,
};

/// The `max_chars` that asks for everything.
const NO_LIMIT: i64 = -1;

/// Added to the instructions.
const INSTRUCTIONS: &str = "You are a node of a run: send_handoff and report reach other nodes, \
     list_nodes shows them. Task tools without a target are about the task that you work on.\n";

/// A tool of a run, as the server that drives it describes it.
#[derive(Clone, Debug)]
pub struct RunTool {
    pub name: String,
    pub description: String,
    /// What arguments it takes.
    pub schema: JsonObject,
}

/// Client of the server that drives the run. Its calls block.
pub trait RunServerClient: Send + Sync + 'static {
    /// The tools of the run that the node may use now.
    fn tools(&self) -> Result<Vec<RunTool>, String>;

    /// Calls a tool; returns its envelope.
    fn call(&self, name: &str, arguments: JsonObject) -> Result<Value, String>;

    /// Reads with a tool on behalf of the agent's client. The agent made no call, so none is logged
    /// in the run.
    fn read(&self, name: &str, arguments: JsonObject) -> Result<Value, String>;
}

pub struct NodeBackend {
    catalogue: Catalogue,
    toolset: Toolset,
    server: Arc<dyn RunServerClient>,
    /// The tools of the run as last listed by the server.
    known: Mutex<Vec<Tool>>,
}

impl NodeBackend {
    /// The backend of a node whose run is driven by a server.
    pub fn new(
        toolset: Toolset,
        workspace: Option<String>,
        server: Arc<dyn RunServerClient>,
    ) -> Self {
        let catalogue = Catalogue::of(Arc::new(Registry::default()), workspace, (toolset, true));
        Self { catalogue, toolset, server, known: Mutex::default() }
    }

    /// The tools of the run, listed again; if the server does not respond, the last list is used.
    fn refreshed(&self) -> Vec<Tool> {
        let listed_tools = self.server.tools();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match listed_tools {
            Ok(tools) => *known = tools.into_iter().map(listed).collect(),
            Err(error) => tracing::warn!(error, "could not list the tools of the run"),
        }
        known.clone()
    }

    /// A tool of the run, according to the last list.
    fn of_run(&self, name: &str) -> Option<Tool> {
        let find = |tools: &[Tool]| tools.iter().find(|tool| tool.name == name).cloned();
        let known = find(&self.known.lock().unwrap_or_else(PoisonError::into_inner));
        known.or_else(|| find(&self.refreshed()))
    }
}

fn listed(tool: RunTool) -> Tool {
    Tool::new(tool.name, tool.description, tool.schema)
}

/// The envelope of a call that did not reach the server, or not as this node.
fn unreached(tool: &str, message: &str, timestamp: &str) -> Value {
    json!({
        "success": false, "intent": tool, "result": {}, "warnings": [], "suggestions": [],
        "context": {},
        "error": {
            "code": "RUN_UNREACHABLE",
            "message": message,
            "recovery": "End the turn: the server that drives the run does not know this agent.",
            "details": {},
        },
        "timestamp": timestamp,
    })
}

impl Backend for NodeBackend {
    fn describe(&self) -> ServerConfig {
        let mut config = self.catalogue.describe();
        if let Some(resources) = config.capabilities.resources.as_mut() {
            resources.subscribe = None;
        }
        let rest = config.instructions.take().unwrap_or_default();
        config.with_instructions(format!("{INSTRUCTIONS}{rest}"))
    }

    fn toolset(&self) -> Toolset {
        self.toolset
    }

    fn tools(&self, toolset: Toolset) -> Vec<Tool> {
        let mut tools = self.refreshed();
        tools.extend(self.catalogue.tools(toolset));
        tools
    }

    fn tool(&self, name: &str) -> Option<Tool> {
        self.catalogue.tool(name).or_else(|| self.of_run(name))
    }

    /// Tools that are not listed stay callable and report why they are refused (RUNS-TOOL-6), so no
    /// tool is unknown here; only the server can tell.
    fn reads_only(&self, name: &str) -> Option<bool> {
        Some(self.catalogue.reads_only(name).unwrap_or(false))
    }

    fn may_take_long(&self, name: &str) -> bool {
        self.catalogue.may_take_long(name)
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
            let server = Arc::clone(&self.server);
            let form = ResultForm::of(&call);
            let work = move |_: &CallWatch| {
                let answer = server.call(&request.name, request.arguments.unwrap_or_default());
                let unreached = |error: String| unreached(&request.name, &error, &now());
                form.foreign_result(answer.unwrap_or_else(unreached))
            };
            Ok(blocking::run(&call, work).await?.into())
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

    fn prompts(&self) -> Vec<Prompt> {
        prompts::all(&|tools| self.catalogue.best_of(tools))
    }

    fn prompt(
        &self,
        request: GetPromptRequestParams,
        _call: McpCall,
    ) -> BackendFuture<'_, GetPromptResponse> {
        let workspace = self.catalogue.workspace().map(String::as_str);
        let written = prompts::write(&request, workspace, &|tools| self.catalogue.best_of(tools));
        Box::pin(std::future::ready(written.map(GetPromptResponse::from)))
    }

    fn accepted_subscriptions(&self, _: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        None
    }

    fn follow(&self, uri: String, _: mpsc::Sender<String>) -> BackendFuture<'_, Following> {
        let message = format!("an agent of a run cannot follow {uri}: read it again instead");
        Box::pin(std::future::ready(Err(ErrorData::invalid_params(message, None))))
    }
}

impl OperationReader for NodeBackend {
    /// A resource is whole, whatever an agent's own calls cost.
    fn read<'a>(&'a self, name: &'a str, mut arguments: JsonObject) -> BackendFuture<'a, Envelope> {
        arguments.entry("max_chars").or_insert(NO_LIMIT.into());
        Box::pin(async move {
            let server = Arc::clone(&self.server);
            let name = name.to_owned();
            let running = tokio::task::spawn_blocking(move || server.read(&name, arguments));
            let envelope = running.await.map_err(|error| broken(&error))?;
            let envelope = envelope.map_err(|error| ErrorData::internal_error(error, None))?;
            serde_json::from_value(envelope).map_err(|error| {
                tracing::warn!(%error, "could not parse a response of the server");
                ErrorData::internal_error("the answer of the server cannot be read", None)
            })
        })
    }
}

fn now() -> String {
    SystemClock.now().rfc3339()
}
