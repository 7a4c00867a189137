//! The one bridge between the SDK's server trait and a [`Backend`].
//!
//! It holds what every backend shares: negotiation, the toolset of a listing, the order of calls on
//! a connection, unknown tools, malformed parameters. Per connection it keeps only the resources
//! that its client follows.

#![expect(deprecated, reason = "revisions before 2026-07-28 have log levels and subscriptions")]

use std::{borrow::Cow, sync::Arc};

use muster_api::echo;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
        CompleteResult, CustomRequest, CustomResult, ErrorCode, GetPromptRequestParams,
        GetPromptResponse, GetTaskParams, GetTaskResult, InitializeRequestParams, InitializeResult,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
        PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
        ServerConfig, SetLevelRequestMethod, SetLevelRequestParams, SubscribeRequestParams,
        SubscriptionFilter, Tool, UnsubscribeRequestParams, UpdateTaskParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde_json::json;

use crate::{
    backend::{Backend, McpCall},
    follow::{self, Followed},
    lane::LaneTurn,
    long_calls::{LongCalls, cancelled},
    toolset_choice,
};

/// The supported revisions.
///
/// 2025-03-26 is not among them: it requires JSON-RPC batches, which the revisions before and after
/// it do not have and which the SDK does not parse.
const VERSIONS: [ProtocolVersion; 4] = [
    ProtocolVersion::V_2024_11_05,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// Methods that the revision 2026-07-28 removed.
const RETIRED_METHODS: [&str; 5] =
    ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

/// Methods that the SDK reports as unknown when their parameters do not parse.
const METHODS_WITH_PARAMETERS: [&str; 11] = [
    "tools/call",
    "tools/list",
    "prompts/get",
    "prompts/list",
    "resources/read",
    "resources/list",
    "completion/complete",
    "subscriptions/listen",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
];

/// A [`Backend`] as the SDK sees it; one for each connection.
pub struct McpAdapter {
    backend: Arc<dyn Backend>,
    long_calls: Arc<LongCalls>,
    followed: Followed,
}

impl McpAdapter {
    /// Mounts a backend; the handles are shared by all connections of an endpoint.
    pub(crate) fn new(backend: Arc<dyn Backend>, long_calls: Arc<LongCalls>) -> Self {
        Self { backend, long_calls, followed: Followed::default() }
    }

    /// TASKS-MCP-3.
    fn unknown_tool(&self, name: &str) -> ErrorData {
        let nearest = self.backend.nearest_tool(name);
        let name = echo(name);
        let message = format!("unknown tool {name:?}; the nearest one is {nearest:?}");
        ErrorData::invalid_params(
            message,
            Some(json!({"code": "UNKNOWN_TOOL", "nearest": nearest})),
        )
    }
}

fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}

impl ServerHandler for McpAdapter {
    fn get_info(&self) -> ServerConfig {
        // The fallback for a client that requests an unknown revision.
        self.backend.describe().with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&VERSIONS)
    }

    async fn initialize(
        &self,
        mut request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        if request.protocol_version == ProtocolVersion::V_2025_03_26 {
            // Its clients know the revision before it, and possibly none after it.
            request.protocol_version = ProtocolVersion::V_2024_11_05;
        }
        let mut answer = self.negotiate_initialize(&request)?;
        // Extensions belong to the stateless revision.
        answer.capabilities.extensions = None;
        request.protocol_version = answer.protocol_version.clone();
        context.peer.set_peer_info(request);
        Ok(answer)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let toolset = toolset_choice::chosen(&context.extensions, self.backend.toolset())?;
        let has_roots = McpCall::new(context).has_roots();
        Ok(ListToolsResult::with_all_items(match has_roots {
            true => self.backend.tools_of_roots(toolset),
            false => self.backend.tools(toolset),
        }))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.backend.tool(name)
    }

    async fn call_tool(
        &self,
        mut request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.backend.reads_only(&request.name).is_none() {
            return Err(self.unknown_tool(&request.name));
        }
        request.arguments.get_or_insert_default();
        let turn = context.extensions.get::<LaneTurn>().cloned();
        let call = McpCall::new(context);
        let place = match turn {
            Some(turn) => tokio::select! {
                place = turn.wait() => place,
                () = call.cancelled() => return Err(cancelled()),
            },
            None => None,
        };
        let call = call.in_place(place);
        let question = tokio::select! {
            question = self.backend.ask_client(&request, &call) => question?,
            () = call.cancelled() => return Err(cancelled()),
        };
        if let Some(question) = question {
            return Ok(question.into());
        }
        if self.backend.may_take_long(&request.name)
            && call.takes_handles()
            && let Some(room) = self.long_calls.room()
        {
            let backend = Arc::clone(&self.backend);
            return self.long_calls.call(backend, request, call, room).await;
        }
        tokio::select! {
            answer = self.backend.call_tool(request, call.clone()) => answer,
            () = call.cancelled() => Err(cancelled()),
        }
    }

    async fn on_roots_list_changed(&self, _context: NotificationContext<RoleServer>) {
        self.backend.forget_roots();
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.long_calls.get(&request.task_id)?))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // No call with a handle asks for input, so there is nothing that a response could be for.
        self.long_calls.get(&request.task_id).map(drop)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.long_calls.cancel(&request.task_id)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.backend.resources(request.and_then(|request| request.cursor)).await
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(self.backend.resource_templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.backend.read_resource(request, McpCall::new(context)).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Ok(CompleteResult::new(self.backend.complete(request).await?))
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(self.backend.prompts()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.backend.prompt(request, McpCall::new(context)).await
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.backend.accepted_subscriptions(requested)
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let uris = subscription.accepted().resource_subscriptions.clone().unwrap_or_default();
        let sink = subscription.sink().clone();
        tokio::select! {
            ended = self.backend.listen(subscription) => ended,
            ended = follow::listen(&*self.backend, &uris, &sink) => ended,
        }
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.followed.add(&*self.backend, request.uri, context.peer).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.followed.remove(&request.uri);
        Ok(())
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let accepted = self.backend.set_log_level(request.level);
        accepted.ok_or_else(ErrorData::method_not_found::<SetLevelRequestMethod>)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method.as_str();
        let retired = RETIRED_METHODS.contains(&method);
        let known = METHODS_WITH_PARAMETERS.contains(&method) || (retired && !is_modern(&context));
        if known {
            let message = format!("the parameters of {method} do not have the shape it needs");
            return Err(ErrorData::invalid_params(message, None));
        }
        let message = format!("unknown method {:?}", echo(method));
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None))
    }
}
