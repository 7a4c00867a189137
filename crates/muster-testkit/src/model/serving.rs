//! The server: finds the language of a question and the step that answers it.

use std::{convert::Infallible, net::TcpListener, time::Duration};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use serde_json::Value;

use super::{
    Memory, Progress, generate, messages, responses,
    script::{Call, Conversation, Reply, Step},
};

const QUESTION_BYTES_MAX: usize = 64 * 1024 * 1024;
/// What is said to a question that no script is for.
const ASIDE: &str = "There is no script for this.";

/// A language in which agents ask models.
pub(super) struct Language {
    /// Reads a question; nothing when it is none.
    pub(super) read: fn(&[u8]) -> Option<Conversation>,
    /// The parts of an answer, as they are sent.
    pub(super) frames: fn(&Conversation, &Reply) -> Frames,
    pub(super) refusal: fn(u16, &str) -> Value,
}

/// The parts of an answer.
#[derive(Default)]
pub(super) struct Frames {
    /// Before anything is said.
    pub(super) head: Vec<String>,
    /// One for each piece of text.
    pub(super) pieces: Vec<String>,
    /// What ends the answer.
    pub(super) tail: Vec<String>,
}

/// A part of a stream of events.
pub(super) fn frame(event: Option<&str>, body: &Value) -> String {
    match event {
        Some(event) => format!("event: {event}\ndata: {body}\n\n"),
        None => format!("data: {body}\n\n"),
    }
}

/// Serves until it is dropped.
pub(super) async fn serve(listener: TcpListener, memory: Memory) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let router = Router::new().fallback(answer).with_state(memory);
    if let Err(error) = axum::serve(listener, router).await {
        tracing::warn!(%error, "the scripted model has ended");
    }
}

async fn answer(State(memory): State<Memory>, request: Request) -> Response {
    let method = request.method().clone();
    let uri = request.uri().clone();
    let path = uri.path().to_owned();
    let body = axum::body::to_bytes(request.into_body(), QUESTION_BYTES_MAX).await;
    let body = body.unwrap_or_default();
    let language = match path.as_str() {
        path if path.ends_with("/responses") => responses::LANGUAGE,
        path if path.ends_with("/messages") => messages::LANGUAGE,
        path if path.ends_with(":streamGenerateContent") => generate::LANGUAGE,
        path => return aside(&memory, path, &format!("{method} {uri}")),
    };
    reply(&memory, &language, (&path, &body))
}

/// What agents ask besides: small questions that want any answer, and what is not ours at all.
fn aside(memory: &Memory, path: &str, asked: &str) -> Response {
    if path.ends_with("/count_tokens") || path.ends_with(":countTokens") {
        return json(&serde_json::json!({"input_tokens": 1, "totalTokens": 1}));
    }
    if path.ends_with(":generateContent") {
        return json(&generate::aside());
    }
    memory.lock().strangers.push(asked.to_owned());
    (StatusCode::FORBIDDEN, "only a model is here\n").into_response()
}

fn json(body: &Value) -> Response {
    ([(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

fn reply(memory: &Memory, language: &Language, (path, body): (&str, &Bytes)) -> Response {
    let Some(mut conversation) = (language.read)(body) else {
        return (StatusCode::BAD_REQUEST, "this cannot be read\n").into_response();
    };
    if let Some((_, name)) = path.rsplit_once("/models/") {
        conversation.model = name.split(':').next().unwrap_or_default().to_owned();
    }
    match step(memory, &conversation) {
        Step::Refuse { status, message } => {
            let refusal = json(&(language.refusal)(status, &message));
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
            (status, refusal).into_response()
        }
        Step::Reply(reply) => {
            let frames = (language.frames)(&conversation, &reply);
            streamed(frames, &reply)
        }
    }
}

/// The step that answers a conversation. Agents that ask without offering a tool want a title or
/// a summary; no script is for that.
fn step(memory: &Memory, conversation: &Conversation) -> Step {
    let sent = conversation.standing().filter(|_| !conversation.tools.is_empty());
    let Some(sent) = sent else { return Step::say(ASIDE) };
    let mut known = memory.lock();
    let steps = known.scripts.get(&sent.script);
    let step = steps.and_then(|steps| steps.get(sent.step)).cloned();
    known.told.push(sent);
    step.unwrap_or_else(|| Step::say("Nothing is left of the script."))
}

/// Sends the parts of an answer one by one; one that hangs stays open until the agent leaves.
fn streamed(frames: Frames, reply: &Reply) -> Response {
    let pause = reply.pause;
    let hangs = reply.hangs;
    let Frames { head, pieces, tail } = frames;
    let at_once = |frame| (frame, Duration::ZERO);
    let tail = if hangs { Vec::new() } else { tail };
    let parts = head
        .into_iter()
        .map(at_once)
        .chain(pieces.into_iter().map(move |piece| (piece, pause)))
        .chain(tail.into_iter().map(at_once));
    let parts = stream::unfold(parts, move |mut parts| async move {
        let Some((part, pause)) = parts.next() else {
            if hangs {
                std::future::pending::<()>().await;
            }
            return None;
        };
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        Some((Ok::<_, Infallible>(part), parts))
    });
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(parts)).into_response()
}

/// The tool that takes a patch.
const APPLY_PATCH: &str = "apply_patch";

/// Names the tool that reports a plan, and makes its arguments.
type PlanWords = fn(&[(String, Progress)]) -> (&'static str, Value);

/// The tool and the arguments of a call in the words of one family of agents.
pub(super) struct Words {
    /// The tool that runs commands, and the name of its argument.
    pub(super) shell: (&'static str, &'static str),
    /// The tool that reports a plan.
    pub(super) plan: PlanWords,
}

impl Words {
    /// The name and the arguments of the tool that a call is for.
    pub(super) fn of(&self, call: &Call) -> (String, Value) {
        match call {
            Call::Shell(command) => {
                let (tool, argument) = self.shell;
                (tool.to_owned(), serde_json::json!({argument: command}))
            }
            Call::Patch(patch) => (APPLY_PATCH.to_owned(), serde_json::json!({"input": patch})),
            Call::Plan(entries) => {
                let (tool, args) = (self.plan)(entries);
                (tool.to_owned(), args)
            }
            Call::Tool { name, args } => (name.clone(), Value::Object(args.clone())),
        }
    }
}
