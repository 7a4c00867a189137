//! The language of claude, and of opencode in these tests: Anthropic's Messages.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Progress,
    script::{Call, Conversation, Entry, Offered, Reply, outcome},
    serving::{Frames, Language, Words, frame},
};

pub(super) const LANGUAGE: Language = Language { read, frames, refusal };

const WORDS: Words = Words { shell: ("Bash", "command"), plan };

#[derive(Deserialize)]
struct Question {
    #[serde(default)]
    model: String,
    #[serde(default)]
    messages: Vec<Message>,
    #[serde(default)]
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
struct Tool {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: Content,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Blocks(Vec<Block>),
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        text: String,
    },
    ToolResult {
        #[serde(default)]
        content: Value,
    },
    #[serde(other)]
    Unknown,
}

fn read(body: &[u8]) -> Option<Conversation> {
    let question: Question = serde_json::from_slice(body).ok()?;
    let entries = question.messages.into_iter().flat_map(entries).collect();
    let tools = question.tools.iter().map(|tool| Offered::plain(&tool.name)).collect();
    Some(Conversation { model: question.model, entries, tools })
}

fn entries(message: Message) -> Vec<Entry> {
    if message.role == "assistant" {
        return vec![Entry::Answered];
    }
    let blocks = match message.content {
        Content::Text(text) => vec![Block::Text { text }],
        Content::Blocks(blocks) => blocks,
    };
    let entry = |block| match block {
        Block::Text { text } => Some(Entry::Asked(text)),
        Block::ToolResult { content } => Some(outcome(&content)),
        Block::Unknown => None,
    };
    blocks.into_iter().filter_map(entry).collect()
}

fn plan(entries: &[(String, Progress)]) -> (&'static str, Value) {
    let todo = |(text, progress): &(String, Progress)| {
        let status = progress.word();
        json!({"content": text, "activeForm": text, "status": status})
    };
    ("TodoWrite", json!({"todos": entries.iter().map(todo).collect::<Vec<_>>()}))
}

const OPENCODE: Words = Words { shell: ("bash", "command"), plan: todo_list };

fn todo_list(entries: &[(String, Progress)]) -> (&'static str, Value) {
    let todo = |(text, progress): &(String, Progress)| {
        let status = progress.word();
        json!({"content": text, "status": status, "priority": "medium"})
    };
    ("todowrite", json!({"todos": entries.iter().map(todo).collect::<Vec<_>>()}))
}

/// The words of the agent that asks, known by its tools. The newest of claude's keep their plan
/// entry by entry.
fn words(conversation: &Conversation, call: &Call) -> (String, Value) {
    match call {
        Call::Shell(_) | Call::Plan(_) if conversation.offers(OPENCODE.shell.0) => {
            let (name, mut args) = OPENCODE.of(call);
            if matches!(call, Call::Shell(_)) {
                args["description"] = "What the script says".into();
            }
            (name, args)
        }
        Call::Plan(entries) if !conversation.offers("TodoWrite") => {
            let subject = entries.first().map(|(text, _)| text.as_str()).unwrap_or_default();
            ("TaskCreate".to_owned(), json!({"subject": subject, "description": subject}))
        }
        Call::Plan(_) | Call::Patch(_) | Call::Shell(_) | Call::Tool { .. } => WORDS.of(call),
    }
}

fn frames(conversation: &Conversation, reply: &Reply) -> Frames {
    let event = |name: &str, mut body: Value| {
        body["type"] = name.into();
        frame(Some(name), &body)
    };
    let number = conversation.entries.len();
    let usage = json!({"input_tokens": 100, "output_tokens": 1,
        "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
    let message = json!({"id": format!("msg_{number}"), "type": "message", "role": "assistant",
        "model": "scripted", "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": usage});
    let mut frames = Frames::default();
    frames.head.push(event("message_start", json!({"message": message})));
    let block = json!({"index": 0, "content_block": {"type": "text", "text": ""}});
    frames.head.push(event("content_block_start", block));
    frames.pieces.extend(reply.pieces.iter().map(|piece| {
        let delta = json!({"type": "text_delta", "text": piece});
        event("content_block_delta", json!({"index": 0, "delta": delta}))
    }));
    frames.tail.push(event("content_block_stop", json!({"index": 0})));
    if let Some(call) = &reply.call {
        let (name, args) = words(conversation, call);
        let name = conversation.tool(&name).name;
        let block = json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": name,
            "input": {}});
        let delta = json!({"type": "input_json_delta", "partial_json": args.to_string()});
        let begun = json!({"index": 1, "content_block": block});
        frames.tail.push(event("content_block_start", begun));
        frames.tail.push(event("content_block_delta", json!({"index": 1, "delta": delta})));
        frames.tail.push(event("content_block_stop", json!({"index": 1})));
    }
    let reason = if reply.call.is_some() { "tool_use" } else { "end_turn" };
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    let end = json!({"delta": delta, "usage": {"output_tokens": 20}});
    frames.tail.push(event("message_delta", end));
    frames.tail.push(event("message_stop", json!({})));
    frames
}

fn refusal(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        429 => "rate_limit_error",
        _ => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": message}})
}
