//! A small backend with one tool of each kind.

use std::sync::{Arc, Mutex, mpsc};

use muster_api::{CallWatch, Toolset};
use rmcp::{
    ErrorData,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams,
        CompletionInfo, ContentBlock, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
        Implementation, ListResourcesResult, Prompt, PromptMessage, ReadResourceRequestParams,
        ReadResourceResponse, ResourceTemplate, Role, ServerCapabilities, ServerConfig, Tool,
        ToolAnnotations,
    },
};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use super::wire::PATIENCE;
use crate::{Backend, BackendFuture, McpCall, blocking};

/// Records what happened to it.
#[derive(Default)]
pub(super) struct Fixture {
    /// Names of finished `append` calls and values that `tally` saw, in order.
    pub(super) journal: Arc<Mutex<Vec<String>>>,
    /// Notified when a `wait` or `linger` call has begun.
    pub(super) waiting: Notify,
    /// Notified when a `wait` call was cancelled.
    pub(super) given_up: Arc<Notify>,
    /// Lets one `wait` or `linger` call finish.
    pub(super) released: Arc<Notify>,
    /// Ends a `ponder` call each.
    pondering: Arc<Mutex<Vec<mpsc::Sender<bool>>>>,
}

struct GivenUp(Arc<Notify>);

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl Fixture {
    /// Lets all `ponder` calls that have begun finish; returns how many there were.
    pub(super) fn enough(&self) -> usize {
        let pondering = std::mem::take(&mut *self.pondering.lock().expect("pondering"));
        for one in &pondering {
            // A cancelled one has ended.
            one.send(true).unwrap_or_default();
        }
        pondering.len()
    }

    fn tools_all() -> Vec<(Toolset, Tool)> {
        let tool = |name: &'static str, reads: bool| {
            let schema = json!({"type": "object", "properties": {}, "required": []});
            let Value::Object(schema) = schema else { unreachable!("an object") };
            let hints = ToolAnnotations::new().read_only(reads).open_world(false);
            Tool::new(name, "Does what its name says.", schema).with_annotations(hints)
        };
        vec![
            (Toolset::Core, tool("echo", true)),
            (Toolset::Daily, tool("append", false)),
            (Toolset::Daily, tool("tally", true)),
            (Toolset::Full, tool("refuse", false)),
            (Toolset::Full, tool("wait", true)),
            (Toolset::Full, tool("linger", false)),
            (Toolset::Full, tool("ponder", false)),
        ]
    }

    async fn run(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        call: &McpCall,
    ) -> CallToolResult {
        match name {
            "append" => {
                // A writer that yields in the middle: a second one would overtake it here.
                let text = arguments["text"].as_str().expect("text").to_owned();
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                }
                self.journal.lock().expect("journal").push(text.clone());
                answer(json!({"appended": text}), false)
            }
            "tally" => {
                let count = self.journal.lock().expect("journal").len();
                answer(json!({"count": count}), false)
            }
            "refuse" => answer(json!({"success": false}), true),
            "wait" => {
                let guard = GivenUp(Arc::clone(&self.given_up));
                self.waiting.notify_one();
                call.report(1.0, Some(2.0), "half way").await;
                self.released.notified().await;
                std::mem::forget(guard);
                answer(json!({"waited": true}), false)
            }
            "linger" => {
                // Work that a cancellation does not stop.
                let journal = Arc::clone(&self.journal);
                let released = Arc::clone(&self.released);
                let held = call.clone();
                let work = tokio::spawn(async move {
                    released.notified().await;
                    journal.lock().expect("journal").push("lingered".to_owned());
                    drop(held);
                });
                self.waiting.notify_one();
                work.await.expect("no panic");
                answer(json!({"lingered": true}), false)
            }
            "ponder" => {
                let pondering = Arc::clone(&self.pondering);
                let quick = arguments.contains_key("quick");
                let work = move |watch: &CallWatch| ponder(watch, &pondering, quick);
                blocking::run(call, work).await.expect("no panic")
            }
            _ => answer(json!({"arguments": arguments}), false),
        }
    }
}

/// Blocks until it is enough or cancelled.
fn ponder(
    watch: &CallWatch,
    pondering: &Mutex<Vec<mpsc::Sender<bool>>>,
    quick: bool,
) -> CallToolResult {
    let (end, ended) = mpsc::channel();
    let cancel = end.clone();
    watch.on_cancel(move || cancel.send(false).unwrap_or_default());
    watch.report("pondering");
    if quick {
        end.send(true).expect("it waits");
    } else {
        pondering.lock().expect("pondering").push(end);
    }
    let finished = ended.recv_timeout(PATIENCE).expect("in time");
    answer(json!({"pondered": finished}), !finished)
}

fn answer(structure: Value, failed: bool) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(structure.to_string())]);
    result.structured_content = Some(structure);
    result.is_error = Some(failed);
    result
}

impl Backend for Fixture {
    fn describe(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_prompts().enable_tasks().build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("fixture", "1"))
    }

    fn toolset(&self) -> Toolset {
        Toolset::Daily
    }

    fn tools(&self, toolset: Toolset) -> Vec<Tool> {
        let listed = Self::tools_all().into_iter().filter(|(least, _)| *least <= toolset);
        listed.map(|(_, tool)| tool).collect()
    }

    fn tool(&self, name: &str) -> Option<Tool> {
        Self::tools_all().into_iter().map(|(_, tool)| tool).find(|tool| tool.name == name)
    }

    fn reads_only(&self, name: &str) -> Option<bool> {
        self.tool(name)?.annotations?.read_only_hint
    }

    fn may_take_long(&self, name: &str) -> bool {
        name == "ponder"
    }

    fn nearest_tool(&self, _name: &str) -> String {
        "echo".to_owned()
    }

    fn call_tool(
        &self,
        request: CallToolRequestParams,
        call: McpCall,
    ) -> BackendFuture<'_, CallToolResponse> {
        Box::pin(async move {
            let arguments = request.arguments.expect("the adapter fills arguments in");
            Ok(self.run(&request.name, arguments, &call).await.into())
        })
    }

    fn resources(&self, _cursor: Option<String>) -> BackendFuture<'_, ListResourcesResult> {
        Box::pin(std::future::ready(Ok(ListResourcesResult::default())))
    }

    fn resource_templates(&self) -> Vec<ResourceTemplate> {
        Vec::new()
    }

    fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _call: McpCall,
    ) -> BackendFuture<'_, ReadResourceResponse> {
        let facts = json!({"uri": request.uri});
        let missing = ErrorData::resource_not_found("no such resource", Some(facts));
        Box::pin(std::future::ready(Err(missing)))
    }

    fn complete(&self, request: CompleteRequestParams) -> BackendFuture<'_, CompletionInfo> {
        let echoed = CompletionInfo::new(vec![request.argument.value]);
        Box::pin(std::future::ready(Ok(echoed.expect("one value"))))
    }

    fn prompts(&self) -> Vec<Prompt> {
        Vec::new()
    }

    fn prompt(
        &self,
        request: GetPromptRequestParams,
        _call: McpCall,
    ) -> BackendFuture<'_, GetPromptResponse> {
        let message = PromptMessage::new_text(Role::User, request.name);
        Box::pin(std::future::ready(Ok(GetPromptResult::new(vec![message]).into())))
    }
}
