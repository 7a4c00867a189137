//! The language of gemini: streamed generation of contents.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Progress,
    script::{Conversation, Entry, Offered, Reply, outcome},
    serving::{Frames, Language, Words, frame},
};

pub(super) const LANGUAGE: Language = Language { read, frames, refusal };

const WORDS: Words = Words { shell: ("run_shell_command", "command"), plan };

#[derive(Deserialize)]
struct Question {
    #[serde(default)]
    contents: Vec<Content>,
    #[serde(default)]
    tools: Vec<Tools>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tools {
    #[serde(default)]
    function_declarations: Vec<Tool>,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
}

#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    role: String,
    #[serde(default)]
    parts: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    function_response: Option<FunctionResponse>,
}

#[derive(Deserialize)]
struct FunctionResponse {
    #[serde(default)]
    response: Value,
}

fn read(body: &[u8]) -> Option<Conversation> {
    let question: Question = serde_json::from_slice(body).ok()?;
    let entries = question.contents.into_iter().flat_map(entries).collect();
    let tools = question.tools.into_iter().flat_map(|tools| tools.function_declarations);
    let tools = tools.map(|tool| Offered::plain(&tool.name)).collect();
    // Its name is in the path.
    Some(Conversation { model: String::new(), entries, tools })
}

fn entries(content: Content) -> Vec<Entry> {
    if content.role == "model" {
        return vec![Entry::Answered];
    }
    let entry = |part: Part| match (part.function_response, part.text) {
        (Some(answer), _) => Some(outcome(&answer.response)),
        (None, Some(text)) => Some(Entry::Asked(text)),
        (None, None) => None,
    };
    content.parts.into_iter().filter_map(entry).collect()
}

fn plan(entries: &[(String, Progress)]) -> (&'static str, Value) {
    let todo = |(text, progress): &(String, Progress)| {
        let status = progress.word();
        json!({"description": text, "status": status})
    };
    ("write_todos", json!({"todos": entries.iter().map(todo).collect::<Vec<_>>()}))
}

fn frames(conversation: &Conversation, reply: &Reply) -> Frames {
    let part = |part: Value, reason: Option<&str>| {
        let content = json!({"role": "model", "parts": [part]});
        let mut candidate = json!({"content": content, "index": 0});
        if let Some(reason) = reason {
            candidate["finishReason"] = reason.into();
        }
        let usage = json!({"promptTokenCount": 100, "candidatesTokenCount": 20,
            "totalTokenCount": 120});
        frame(None, &json!({"candidates": [candidate], "usageMetadata": usage}))
    };
    let pieces = reply.pieces.iter().map(|piece| part(json!({"text": piece}), None)).collect();
    let end = match &reply.call {
        Some(call) => {
            let (name, args) = WORDS.of(call);
            let name = conversation.tool(&name).name;
            json!({"functionCall": {"name": name, "args": args}})
        }
        None => json!({"text": ""}),
    };
    Frames { head: Vec::new(), pieces, tail: vec![part(end, Some("STOP"))] }
}

/// The answer to a small question, such as which model fits a prompt.
pub(super) fn aside() -> Value {
    let text = json!({"reasoning": "scripted", "model_choice": "pro"}).to_string();
    let content = json!({"role": "model", "parts": [{"text": text}]});
    json!({"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]})
}

fn refusal(status: u16, message: &str) -> Value {
    json!({"error": {"code": status, "message": message, "status": "SCRIPTED"}})
}
