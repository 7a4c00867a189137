//! Messages of codex's app server, as far as they matter to us.

use muster_core::run::{
    event::TokenUsage,
    node::{NodeTodo, NodeTodoStatus},
};
use serde::Deserialize;
use serde_json::Value;

use crate::provider::{
    reading::{Count, items, lenient},
    worded::by_word,
};

/// An item of the agent's work.
#[derive(Deserialize)]
#[serde(remote = "Self", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum CodexItem {
    AgentMessage {
        id: String,
        #[serde(default, deserialize_with = "lenient")]
        text: String,
    },
    CommandExecution {
        id: String,
        command: String,
        #[serde(default, deserialize_with = "lenient")]
        cwd: Option<String>,
        #[serde(default)]
        process_id: Option<Value>,
        #[serde(default, deserialize_with = "lenient")]
        status: String,
        #[serde(default, deserialize_with = "lenient")]
        aggregated_output: Option<String>,
        #[serde(default, deserialize_with = "lenient")]
        exit_code: Option<i32>,
        #[serde(default, deserialize_with = "lenient")]
        duration_ms: Count,
    },
    FileChange {
        id: String,
        #[serde(default, deserialize_with = "lenient")]
        changes: Vec<Value>,
        #[serde(default, deserialize_with = "lenient")]
        status: String,
    },
    McpToolCall {
        id: String,
        server: String,
        tool: String,
        #[serde(default)]
        arguments: Value,
        #[serde(default, deserialize_with = "lenient")]
        status: String,
        #[serde(default, deserialize_with = "lenient")]
        result: Option<McpResult>,
        #[serde(default, deserialize_with = "lenient")]
        error: Option<CodexMessage>,
        #[serde(default, deserialize_with = "lenient")]
        duration_ms: Count,
    },
    WebSearch {
        id: String,
        #[serde(default, deserialize_with = "lenient")]
        query: String,
    },
    UserMessage {},
    Reasoning {},
    Plan {},
    #[serde(other)]
    Unknown,
}

by_word!(CodexItem => "type");

#[derive(Deserialize)]
pub(super) struct McpResult {
    #[serde(default, deserialize_with = "items")]
    content: Vec<McpPart>,
}

#[derive(Deserialize)]
struct McpPart {
    #[serde(default, deserialize_with = "lenient")]
    text: String,
}

impl McpResult {
    pub(super) fn text(&self) -> String {
        self.content.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n")
    }
}

/// Something with a message.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodexMessage {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) message: String,
    /// The kind of a failure: a word, or an object with one.
    #[serde(default)]
    pub(super) codex_error_info: Value,
}

#[derive(Deserialize)]
pub(super) struct OfItem {
    pub(super) item: CodexItem,
}

/// A piece of a message or of an output.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodexPiece {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) item_id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) delta: String,
}

/// A question before something is done.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodexQuestion {
    pub(super) item_id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) reason: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) command: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) cwd: Option<String>,
}

/// A question of a tool server.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Elicitation {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) server_name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodexResolved {
    pub(super) request_id: Value,
}

#[derive(Deserialize)]
pub(super) struct OfThread {
    pub(super) thread: CodexThread,
}

#[derive(Deserialize)]
pub(super) struct CodexThread {
    pub(super) id: String,
}

#[derive(Deserialize)]
pub(super) struct CodexOfTurn {
    pub(super) turn: CodexTurn,
}

#[derive(Deserialize)]
pub(super) struct CodexTurn {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) status: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) error: Option<CodexMessage>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodexFailure {
    pub(super) error: CodexMessage,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) will_retry: bool,
}

#[derive(Deserialize)]
pub(super) struct CodexPlan {
    #[serde(default, deserialize_with = "items")]
    plan: Vec<PlannedStep>,
}

#[derive(Deserialize)]
struct PlannedStep {
    step: String,
    #[serde(default, deserialize_with = "lenient")]
    status: String,
}

impl CodexPlan {
    /// The plan as a node shows it.
    pub(super) fn todos(self) -> Vec<NodeTodo> {
        let todo = |step: PlannedStep| {
            let status = match step.status.as_str() {
                "inProgress" => NodeTodoStatus::InProgress,
                "completed" => NodeTodoStatus::Completed,
                _ => NodeTodoStatus::Pending,
            };
            NodeTodo { active_form: step.step.clone(), content: step.step, status }
        };
        self.plan.into_iter().map(todo).collect()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Used {
    token_usage: LastUsed,
}

#[derive(Deserialize)]
struct LastUsed {
    last: Tokens,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "camelCase", default)]
struct Tokens {
    total_tokens: Count,
    input_tokens: Count,
    output_tokens: Count,
}

impl Used {
    /// Usage of the last call of the model.
    pub(super) fn last(&self) -> TokenUsage {
        let Tokens { total_tokens, input_tokens, output_tokens } = self.token_usage.last;
        TokenUsage {
            prompt_tokens: input_tokens.number(),
            completion_tokens: output_tokens.number(),
            total_tokens: total_tokens.number(),
            cost_usd: None,
        }
    }
}
