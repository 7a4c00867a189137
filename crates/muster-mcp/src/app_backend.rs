//! The product's backend: the rows of the application's registry as tools, plans and tasks as
//! resources, workflows as prompts.

use std::{panic::AssertUnwindSafe, sync::Arc};

use muster_api::{AnswerEconomy, App, CallWatch, Caller, Envelope, OperationEffect, Toolset};
use rmcp::{
    ErrorData,
    model::{
        CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompletionInfo,
        GetPromptRequestParams, GetPromptResponse, InputRequiredResult, JsonObject,
        ListResourcesResult, Prompt, ReadResourceRequestParams, ReadResourceResponse,
        ResourceTemplate, ServerConfig, SubscriptionFilter, Tool,
    },
};
use tokio::sync::mpsc;

use crate::{
    answer::ResultForm,
    backend::{Backend, BackendFuture, Following, McpCall},
    blocking::{self, broken},
    catalogue::Catalogue,
    changes::ResourcePosition,
    prompts,
    reader::{self, OperationReader},
    resources::{self, ResourceAddress},
    roots::{ClientRoots, FindInRoots},
};

/// The application behind the adapter. Creating one is free; tools are built on first use.
pub struct AppBackend {
    app: Arc<App>,
    catalogue: Catalogue,
    /// What decides the workspace of calls that name none, if nothing stronger did.
    roots: Option<ClientRoots>,
    /// Who makes all calls, if that is known before a client connects.
    caller: Option<Caller>,
}

impl AppBackend {
    /// A backend of `app`; the default workspace is the one whose plans and tasks are listed.
    pub fn new(app: Arc<App>, default_workspace: Option<String>) -> Self {
        let listing = (app.toolset(), app.default_workspace().is_some());
        let catalogue = Catalogue::of(app.registry_handle(), default_workspace, listing);
        Self { app, catalogue, roots: None, caller: None }
    }

    /// The same for clients that all act for one caller, whatever they call themselves.
    #[must_use]
    pub fn acting_for(self, caller: Caller) -> Self {
        Self { caller: Some(caller), ..self }
    }

    /// The same for one client whose roots decide the workspace of calls that name none.
    #[must_use]
    pub fn following_roots(self, find: Arc<FindInRoots>) -> Self {
        let catalogue = self.catalogue.following_roots();
        Self { catalogue, roots: Some(ClientRoots::new(find)), ..self }
    }

    /// The application as the client sees it from where it works.
    fn app(&self) -> Arc<App> {
        let moved = self.roots.as_ref().and_then(ClientRoots::app);
        moved.unwrap_or_else(|| Arc::clone(&self.app))
    }

    /// The workspace whose plans and tasks are listed.
    fn workspace(&self) -> Option<String> {
        let moved = self.roots.as_ref().and_then(ClientRoots::app);
        let moved = moved.as_ref().and_then(|app| app.default_workspace());
        moved.map(ToString::to_string).or_else(|| self.catalogue.workspace().cloned())
    }

    /// The caller as the server's settings name it, else as its program does.
    fn caller(&self, app: &App, call: &McpCall) -> Caller {
        let mut caller = self.caller.as_ref().unwrap_or_else(|| app.caller()).clone();
        caller.by.get_or_insert_with(|| call.author().into());
        caller.is_patient = call.is_detached();
        caller.economy = AnswerEconomy::Brief;
        caller
    }

    /// Whether a call takes less time than handing it to another thread and back. A write does
    /// unless another writer is active.
    fn is_brief(&self, request: &CallToolRequestParams) -> bool {
        let Some(row) = self.app.registry().get(&request.name) else { return false };
        if row.may_take_long {
            return false;
        }
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
            let caller = self.caller.as_ref().unwrap_or_else(|| app.caller()).clone();
            let call = move || app.call_as(&caller, &name, arguments);
            let running = tokio::task::spawn_blocking(call);
            running.await.map_err(|error| broken(&error))
        })
    }
}

/// Calls an operation on this thread; a panic in it fails this call only.
fn in_place(
    app: &App,
    caller: &Caller,
    request: CallToolRequestParams,
) -> Result<Envelope, ErrorData> {
    let arguments = request.arguments.unwrap_or_default();
    let call = AssertUnwindSafe(|| app.call_as(caller, &request.name, arguments));
    std::panic::catch_unwind(call).map_err(|_| {
        tracing::error!(tool = %request.name, "operation panicked");
        ErrorData::internal_error("the operation failed inside the server", None)
    })
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

    fn tools_of_roots(&self, toolset: Toolset) -> Vec<Tool> {
        self.catalogue.tools_of_roots(toolset)
    }

    fn tool(&self, name: &str) -> Option<Tool> {
        self.catalogue.tool(name)
    }

    fn reads_only(&self, name: &str) -> Option<bool> {
        self.catalogue.reads_only(name)
    }

    fn may_take_long(&self, name: &str) -> bool {
        self.catalogue.may_take_long(name)
    }

    fn nearest_tool(&self, name: &str) -> String {
        self.catalogue.nearest_tool(name)
    }

    fn ask_client<'a>(
        &'a self,
        request: &'a CallToolRequestParams,
        call: &'a McpCall,
    ) -> BackendFuture<'a, Option<InputRequiredResult>> {
        Box::pin(async move {
            Ok(match &self.roots {
                Some(roots) => roots.ask(&self.app, request, call).await,
                None => None,
            })
        })
    }

    fn forget_roots(&self) {
        if let Some(roots) = &self.roots {
            roots.forget();
        }
    }

    fn call_tool(
        &self,
        request: CallToolRequestParams,
        call: McpCall,
    ) -> BackendFuture<'_, CallToolResponse> {
        Box::pin(async move {
            let form = ResultForm::of(&call);
            let app = self.app();
            let caller = self.caller(&app, &call);
            if call.is_on_a_line() && self.is_brief(&request) {
                return Ok(form.result(&in_place(&app, &caller, request)?).into());
            }
            let work = move |watch: &CallWatch| {
                let arguments = request.arguments.unwrap_or_default();
                let caller = Caller { watch: watch.clone(), ..caller };
                form.result(&app.call_as(&caller, &request.name, arguments))
            };
            Ok(blocking::run(&call, work).await?.into())
        })
    }

    fn resources(&self, cursor: Option<String>) -> BackendFuture<'_, ListResourcesResult> {
        let workspace = self.workspace();
        Box::pin(async move { reader::list(self, workspace.as_ref(), cursor.as_deref()).await })
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
        let workspace = self.workspace();
        Box::pin(async move { reader::complete(self, workspace.as_ref(), &request).await })
    }

    fn accepted_subscriptions(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let uris = requested.resource_subscriptions.iter().flatten();
        let known = uris.filter(|uri| ResourceAddress::parse(uri).is_some()).cloned();
        Some(SubscriptionFilter::builder().resource_subscriptions(known).build())
    }

    fn follow(&self, uri: String, changed: mpsc::Sender<String>) -> BackendFuture<'_, Following> {
        Box::pin(async move {
            let address = ResourceAddress::parse(&uri).ok_or_else(|| resources::not_found(&uri))?;
            let caller = self.caller.as_ref().unwrap_or_else(|| self.app.caller());
            if !caller.rights.workspaces.admits(address.workspace()) {
                return Err(resources::not_found(&uri));
            }
            let place = ResourcePosition::now(Arc::clone(&self.app), address).await?;
            let following: Following = Box::pin(place.follow(uri, changed));
            Ok(following)
        })
    }

    fn prompts(&self) -> Vec<Prompt> {
        prompts::all(&|tools| self.catalogue.best_of(tools))
    }

    fn prompt(
        &self,
        request: GetPromptRequestParams,
        _call: McpCall,
    ) -> BackendFuture<'_, GetPromptResponse> {
        let workspace = self.workspace();
        let best = |tools: &[&str]| self.catalogue.best_of(tools);
        let written = prompts::write(&request, workspace.as_deref(), &best);
        Box::pin(std::future::ready(written.map(GetPromptResponse::from)))
    }
}
