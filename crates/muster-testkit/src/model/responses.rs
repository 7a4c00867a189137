//! The language of codex: OpenAI's Responses.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Progress,
    script::{Call, Conversation, Entry, Offered, Reply, outcome},
    serving::{Frames, Language, Words, frame},
};

pub(super) const LANGUAGE: Language = Language { read, frames, refusal };

const WORDS: Words = Words { shell: ("exec_command", "cmd"), plan };

#[derive(Deserialize)]
struct Question {
    #[serde(default)]
    model: String,
    #[serde(default)]
    input: Vec<Item>,
    #[serde(default)]
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item {
    Message {
        role: String,
        #[serde(default)]
        content: Vec<Part>,
    },
    #[serde(alias = "custom_tool_call")]
    FunctionCall {},
    #[serde(alias = "custom_tool_call_output")]
    FunctionCallOutput { output: Value },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
struct Tool {
    #[serde(default)]
    name: String,
    #[serde(default)]
    tools: Vec<Tool>,
}

fn read(body: &[u8]) -> Option<Conversation> {
    let question: Question = serde_json::from_slice(body).ok()?;
    let entries = question.input.into_iter().filter_map(entry).collect();
    let tools = question.tools.into_iter().flat_map(offered).collect();
    Some(Conversation { model: question.model, entries, tools })
}

fn entry(item: Item) -> Option<Entry> {
    match item {
        Item::Message { role, content } if role == "user" => {
            let texts: Vec<String> = content.into_iter().map(|part| part.text).collect();
            Some(Entry::Asked(texts.join("\n")))
        }
        Item::Message { role, .. } if role == "assistant" => Some(Entry::Answered),
        Item::FunctionCall {} => Some(Entry::Answered),
        Item::FunctionCallOutput { output } => Some(outcome(&output)),
        Item::Message { .. } | Item::Unknown => None,
    }
}

fn offered(tool: Tool) -> Vec<Offered> {
    if tool.tools.is_empty() {
        return vec![Offered::plain(&tool.name)];
    }
    let namespace = tool.name;
    let inside = tool.tools.into_iter();
    inside.map(|inner| Offered { namespace: Some(namespace.clone()), name: inner.name }).collect()
}

fn plan(entries: &[(String, Progress)]) -> (&'static str, Value) {
    let step =
        |(text, progress): &(String, Progress)| json!({"step": text, "status": progress.word()});
    ("update_plan", json!({"plan": entries.iter().map(step).collect::<Vec<_>>()}))
}

fn frames(conversation: &Conversation, reply: &Reply) -> Frames {
    let event = |name: &str, mut body: Value| {
        body["type"] = name.into();
        frame(Some(name), &body)
    };
    let number = conversation.entries.len();
    let answer = format!("resp_{number}");
    let message = format!("msg_{number}");
    let said = |text: &str, status: &str| {
        let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
        json!({"type": "message", "role": "assistant", "id": message, "status": status,
               "content": content})
    };
    let mut frames = Frames::default();
    frames.head.push(event("response.created", json!({"response": {"id": answer}})));
    let mut begun = said("", "in_progress");
    begun["content"] = json!([]);
    let added = json!({"output_index": 0, "item": begun});
    frames.head.push(event("response.output_item.added", added));
    frames.pieces.extend(reply.pieces.iter().map(|piece| {
        let at = json!({"item_id": message, "output_index": 0, "content_index": 0, "delta": piece});
        event("response.output_text.delta", at)
    }));
    let whole = said(&reply.pieces.concat(), "completed");
    let done = json!({"output_index": 0, "item": whole});
    frames.tail.push(event("response.output_item.done", done));
    if let Some(call) = &reply.call {
        let (name, args) = WORDS.of(call);
        let tool = conversation.tool(&name);
        let mut item = json!({"type": "function_call", "id": format!("fc_{number}"),
            "call_id": format!("call_{number}"), "name": tool.name, "arguments": args.to_string()});
        if let Some(namespace) = tool.namespace {
            item["namespace"] = namespace.into();
        }
        // A patch is plain text, not an object.
        if let Call::Patch(patch) = call {
            item = json!({"type": "custom_tool_call", "id": format!("ctc_{number}"),
                "call_id": format!("call_{number}"), "name": name, "input": patch});
        }
        let done = json!({"output_index": 1, "item": item});
        frames.tail.push(event("response.output_item.done", done));
    }
    let usage = json!({"input_tokens": 100, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 120});
    let done = json!({"response": {"id": answer, "usage": usage}});
    frames.tail.push(event("response.completed", done));
    frames
}

fn refusal(status: u16, message: &str) -> Value {
    json!({"error": {"message": message, "type": "scripted", "code": status.to_string()}})
}
