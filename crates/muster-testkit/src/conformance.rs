//! The fixtures that the official MCP conformance suite calls by name.
//!
//! They are mounted on the product's own adapter, so the suite judges the code that serves Muster's
//! tools. Nothing here is part of the product.

#![expect(deprecated, reason = "revisions before 2026-07-28 have logging and sampling")]

mod contents;
mod dialogue;
mod inputs;
mod jobs;
mod prompts;
mod resources;
mod tools;

use muster_api::Toolset;
use muster_mcp::{Backend, BackendFuture, Following, McpCall};
use rmcp::{
    ErrorData,
    model::{
        CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompletionInfo,
        GetPromptRequestParams, GetPromptResponse, Implementation, ListResourcesResult,
        LoggingLevel, Prompt, ReadResourceRequestParams, ReadResourceResponse, ResourceTemplate,
        ServerCapabilities, ServerConfig, SubscriptionFilter, Tool,
    },
    service::{SubscriptionContext, SubscriptionSendError},
};
use tokio::sync::{broadcast, mpsc};

/// Changes that are kept for a slow subscriber; it misses older ones.
const CHANGES_KEPT: usize = 16;

/// A list that changed.
#[derive(Clone, Copy, Debug)]
enum Change {
    Tools,
    Prompts,
}

/// The suite's server.
pub struct Fixtures {
    changes: broadcast::Sender<Change>,
    seal: inputs::Seal,
}

impl Default for Fixtures {
    fn default() -> Self {
        Self { changes: broadcast::Sender::new(CHANGES_KEPT), seal: inputs::Seal::default() }
    }
}

impl Fixtures {
    fn announce(&self, change: Change) -> CallToolResponse {
        let heard = self.changes.send(change).unwrap_or(0);
        contents::text(&format!("{change:?} changed, heard by {heard}")).into()
    }

    async fn run(
        &self,
        request: CallToolRequestParams,
        call: &McpCall,
    ) -> Result<CallToolResponse, ErrorData> {
        match request.name.as_ref() {
            "test_trigger_tool_change" => Ok(self.announce(Change::Tools)),
            "test_trigger_prompt_change" => Ok(self.announce(Change::Prompts)),
            name if name.starts_with("test_input_required_result") => {
                inputs::answer(&request, call, &self.seal)
            }
            name if jobs::NAMES.contains(&name) => jobs::answer(&request, call).await,
            "test_streaming_elicitation" => Ok(inputs::ask_name().into()),
            _ => match contents::fixed(&request.name) {
                Some(result) => Ok(result.into()),
                None => dialogue::answer(&request, call).await.map(Into::into),
            },
        }
    }
}

impl Backend for Fixtures {
    fn describe(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_completions()
            .enable_logging()
            .enable_tasks()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("muster-conformance", env!("CARGO_PKG_VERSION")))
            .with_instructions("Fixtures for the conformance suite.")
    }

    fn toolset(&self) -> Toolset {
        Toolset::Full
    }

    fn tools(&self, _toolset: Toolset) -> Vec<Tool> {
        tools::all()
    }

    fn tool(&self, name: &str) -> Option<Tool> {
        tools::all().into_iter().find(|tool| tool.name == name)
    }

    fn reads_only(&self, name: &str) -> Option<bool> {
        self.tool(name).map(|_| true)
    }

    fn may_take_long(&self, name: &str) -> bool {
        jobs::NAMES.contains(&name)
    }

    fn nearest_tool(&self, _name: &str) -> String {
        "test_simple_text".to_owned()
    }

    fn call_tool(
        &self,
        request: CallToolRequestParams,
        call: McpCall,
    ) -> BackendFuture<'_, CallToolResponse> {
        Box::pin(async move { self.run(request, &call).await })
    }

    fn resources(&self, _cursor: Option<String>) -> BackendFuture<'_, ListResourcesResult> {
        Box::pin(std::future::ready(Ok(ListResourcesResult::with_all_items(resources::all()))))
    }

    fn resource_templates(&self) -> Vec<ResourceTemplate> {
        resources::templates()
    }

    fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _call: McpCall,
    ) -> BackendFuture<'_, ReadResourceResponse> {
        Box::pin(std::future::ready(resources::read(&request.uri)))
    }

    fn complete(&self, request: CompleteRequestParams) -> BackendFuture<'_, CompletionInfo> {
        let typed = request.argument.value;
        let known = ["paris", "park", "party", "test"];
        let values = known.iter().filter(|value| value.starts_with(&typed));
        let values = values.map(|value| (*value).to_owned()).collect();
        let found = CompletionInfo::with_all_values(values);
        let found = found.map_err(|reason| ErrorData::internal_error(reason, None));
        Box::pin(std::future::ready(found))
    }

    fn prompts(&self) -> Vec<Prompt> {
        prompts::all()
    }

    fn prompt(
        &self,
        request: GetPromptRequestParams,
        _call: McpCall,
    ) -> BackendFuture<'_, GetPromptResponse> {
        Box::pin(std::future::ready(prompts::write(&request)))
    }

    fn accepted_subscriptions(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    fn listen(&self, subscription: SubscriptionContext) -> BackendFuture<'_, ()> {
        Box::pin(async move {
            let mut changes = self.changes.subscribe();
            loop {
                let change = tokio::select! {
                    change = changes.recv() => change,
                    () = subscription.cancelled() => return Ok(()),
                };
                let sent = match change {
                    Ok(Change::Tools) => subscription.sink().notify_tool_list_changed().await,
                    Ok(Change::Prompts) => subscription.sink().notify_prompt_list_changed().await,
                    Err(broadcast::error::RecvError::Lagged(_)) => continue,
                    Err(broadcast::error::RecvError::Closed) => return Ok(()),
                };
                match sent {
                    Ok(()) | Err(SubscriptionSendError::NotificationNotAccepted(_)) => {}
                    Err(_) => return Ok(()),
                }
            }
        })
    }

    fn follow(&self, _uri: String, changed: mpsc::Sender<String>) -> BackendFuture<'_, Following> {
        // Nothing here ever changes.
        let following: Following = Box::pin(async move {
            changed.closed().await;
            Ok(())
        });
        Box::pin(std::future::ready(Ok(following)))
    }

    fn set_log_level(&self, _level: LoggingLevel) -> Option<()> {
        Some(())
    }
}
