//! The lines of claude's stream of JSON, as far as they matter to us. Both sides skip unknown
//! fields.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::{ending::ClaudeTurnEnd, limit::OfLimit};
use crate::provider::{
    reading::{items, lenient, readable},
    worded::by_word,
};

/// A line of the program's output.
#[derive(Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
pub(super) enum ClaudeLine {
    System(System),
    StreamEvent {
        event: ClaudeStreamEvent,
        #[serde(default, deserialize_with = "lenient")]
        parent_tool_use_id: Option<String>,
    },
    Assistant {
        message: ClaudeMessage,
        #[serde(default, deserialize_with = "lenient")]
        parent_tool_use_id: Option<String>,
    },
    User {
        message: ClaudeMessage,
        #[serde(default)]
        tool_use_result: Option<Value>,
        #[serde(default, deserialize_with = "items")]
        tool_result_meta: Vec<ResultMeta>,
    },
    Result(Box<ClaudeTurnEnd>),
    ControlRequest {
        request_id: String,
        request: ClaudeRequest,
    },
    ControlResponse {
        response: Response,
    },
    ControlCancelRequest {
        request_id: String,
    },
    ToolProgress {
        #[serde(default, deserialize_with = "lenient")]
        tool_use_id: Option<String>,
        #[serde(default, deserialize_with = "lenient")]
        parent_tool_use_id: Option<String>,
    },
    ConversationReset {},
    RateLimitEvent(OfLimit),
    KeepAlive {},
    AuthStatus {},
    ToolUseSummary {},
    #[serde(other)]
    Unknown,
}

by_word!(
    ClaudeLine => "type",
    ClaudeStreamEvent => "type",
    ClaudeDelta => "type",
    ClaudeBlock => "type",
    ClaudeRequest => "subtype"
);

/// Something about the session.
#[derive(Deserialize)]
pub(super) struct System {
    pub(super) subtype: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) session_id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) tool_use_id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) attempt: Option<u64>,
    #[serde(default)]
    pub(super) error: Option<Value>,
}

/// A piece of a message that is being streamed.
#[derive(Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
pub(super) enum ClaudeStreamEvent {
    MessageStart {},
    ContentBlockStart {},
    ContentBlockDelta {
        delta: ClaudeDelta,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
pub(super) enum ClaudeDelta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(other)]
    Unknown,
}

/// A whole message, or a part of it.
#[derive(Deserialize)]
pub(super) struct ClaudeMessage {
    #[serde(default, deserialize_with = "lenient")]
    content: Content,
}

impl ClaudeMessage {
    /// Its parts.
    pub(super) fn blocks(self) -> Vec<ClaudeBlock> {
        match self.content {
            Content::Blocks(blocks) => blocks,
            Content::Text(text) => vec![ClaudeBlock::Text { text }],
        }
    }
}

enum Content {
    Text(String),
    Blocks(Vec<ClaudeBlock>),
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(source)?;
        if let Value::String(text) = value {
            return Ok(Self::Text(text));
        }
        Ok(Self::Blocks(readable(value)))
    }
}

impl Default for Content {
    fn default() -> Self {
        Self::Blocks(Vec::new())
    }
}

#[derive(Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
pub(super) enum ClaudeBlock {
    Text {
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        #[serde(default, deserialize_with = "lenient")]
        input: Map<String, Value>,
    },
    ToolResult {
        tool_use_id: String,
        #[serde(default, deserialize_with = "lenient")]
        content: Option<Output>,
        #[serde(default, deserialize_with = "lenient")]
        is_error: bool,
    },
    #[serde(other)]
    Unknown,
}

/// The output of a tool.
pub(super) enum Output {
    Text(String),
    Parts(Vec<ClaudePart>),
}

impl<'de> Deserialize<'de> for Output {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(source)?;
        if let Value::String(text) = value {
            return Ok(Self::Text(text));
        }
        Ok(Self::Parts(readable(value)))
    }
}

#[derive(Deserialize)]
pub(super) struct ClaudePart {
    #[serde(default, deserialize_with = "lenient")]
    text: String,
}

impl Output {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Parts(parts) => {
                parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

/// Additional data of a result.
#[derive(Deserialize)]
pub(super) struct ResultMeta {
    pub(super) id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) non_execution_kind: Option<String>,
}

/// A request of the program.
#[derive(Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
pub(super) enum ClaudeRequest {
    CanUseTool {
        tool_name: String,
        #[serde(default, deserialize_with = "lenient")]
        input: Map<String, Value>,
        #[serde(default, deserialize_with = "lenient")]
        description: Option<String>,
        #[serde(default, deserialize_with = "lenient")]
        tool_use_id: Option<String>,
    },
    #[serde(other)]
    Unknown,
}

/// The program's response to one of our requests.
#[derive(Deserialize)]
pub(super) struct Response {
    pub(super) subtype: String,
    pub(super) request_id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) error: Option<String>,
}

/// A line to the program.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Say<'a> {
    ControlRequest { request_id: &'a str, request: ClaudeControl<'a> },
    ControlResponse { response: Answer<'a> },
    User { session_id: &'a str, parent_tool_use_id: Option<&'a str>, message: UserMessage<'a> },
}

impl Say<'_> {
    fn line(&self) -> String {
        serde_json::to_string(self)
            .unwrap_or_else(|error| unreachable!("lines are plain JSON: {error}"))
    }
}

/// Our requests.
#[derive(Serialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub(super) enum ClaudeControl<'a> {
    Initialize { hooks: Map<String, Value> },
    Interrupt,
    SetPermissionMode { mode: &'a str },
}

/// Our responses.
#[derive(Serialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
enum Answer<'a> {
    Success { request_id: &'a str, response: Permission<'a> },
    Error { request_id: &'a str, error: &'a str },
}

#[derive(Serialize)]
#[serde(tag = "behavior", rename_all = "snake_case")]
enum Permission<'a> {
    Allow {
        #[serde(rename = "updatedInput")]
        updated_input: &'a Map<String, Value>,
    },
    Deny {
        message: &'a str,
    },
}

#[derive(Serialize)]
struct UserMessage<'a> {
    role: &'static str,
    content: [TextBlock<'a>; 1],
}

#[derive(Serialize)]
struct TextBlock<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

impl<'a> UserMessage<'a> {
    fn of(text: &'a str) -> Self {
        Self { role: "user", content: [TextBlock { kind: "text", text }] }
    }
}

/// Muster's server in the program's configuration.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct McpConfig<'a> {
    pub(super) mcp_servers: BTreeMap<&'static str, ClaudeMcpServer<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClaudeMcpServer<'a> {
    pub(super) command: &'a str,
    pub(super) args: &'a [String],
    pub(super) env: BTreeMap<&'a str, String>,
    /// Its tools are loaded from the start instead of on demand.
    pub(super) always_load: bool,
}

/// A request of ours.
pub(super) fn control(request_id: &str, request: ClaudeControl<'_>) -> String {
    Say::ControlRequest { request_id, request }.line()
}

/// Allows a call.
pub(super) fn allow(request_id: &str, updated_input: &Map<String, Value>) -> String {
    permit(request_id, Permission::Allow { updated_input })
}

/// Forbids a call.
pub(super) fn deny(request_id: &str, message: &str) -> String {
    permit(request_id, Permission::Deny { message })
}

fn permit(request_id: &str, response: Permission<'_>) -> String {
    let response = Answer::Success { request_id, response };
    Say::ControlResponse { response }.line()
}

/// Rejects a request that we do not serve.
pub(super) fn refuse(request_id: &str, error: &str) -> String {
    let response = Answer::Error { request_id, error };
    Say::ControlResponse { response }.line()
}

/// A message.
pub(super) fn user(text: &str) -> String {
    let message = UserMessage::of(text);
    Say::User { session_id: "", parent_tool_use_id: None, message }.line()
}
