//! Tools of the stateless revision that need input: they answer with what they need, and are called
//! again with it.

use std::hash::{BuildHasher, RandomState};

use muster_mcp::McpCall;
use rmcp::{
    ErrorData,
    model::{
        CallToolRequestParams, CallToolResponse, InputRequest, InputRequests, InputRequiredResult,
        InputResponses,
    },
};
use serde_json::{Value, json};

use super::contents::text;

/// Signs the state that travels through the client, with a key of this process.
#[derive(Default)]
pub(super) struct Seal(RandomState);

impl Seal {
    fn close(&self, state: &str) -> String {
        format!("{state}.{:016x}", self.0.hash_one(state))
    }

    fn open<'a>(&self, sealed: Option<&'a str>) -> Result<&'a str, ErrorData> {
        let sealed =
            sealed.ok_or_else(|| ErrorData::invalid_params("requestState is missing", None))?;
        let state = sealed.rsplit_once('.').map_or("", |(state, _)| state);
        if self.close(state) == sealed {
            Ok(state)
        } else {
            Err(ErrorData::invalid_params("requestState was changed", None))
        }
    }
}

/// Answers an input-requiring tool.
pub(super) fn answer(
    request: &CallToolRequestParams,
    call: &McpCall,
    seal: &Seal,
) -> Result<CallToolResponse, ErrorData> {
    let given = request.input_responses.as_ref();
    let sealed = request.request_state.as_deref();
    match request.name.trim_start_matches("test_input_required_result_") {
        "elicitation" => Ok(once(given, "user_name", ask_name())),
        "sampling" => {
            let question = sampling("What is the capital of France?");
            Ok(once(given, "capital_question", ask([("capital_question", question)], None)))
        }
        "list_roots" => Ok(once(given, "client_roots", ask([("client_roots", roots())], None))),
        "request_state" | "tampered_state" => {
            let Some(given) = given else {
                let fields = json!({"ok": {"type": "boolean"}});
                let confirm = elicitation("Please confirm", fields, "ok");
                return Ok(ask([("confirm", confirm)], Some(seal.close("confirm"))).into());
            };
            seal.open(sealed)?;
            Ok(done("state-ok", given))
        }
        "multiple_inputs" => match given {
            Some(given) if given.len() >= 3 => {
                seal.open(sealed)?;
                Ok(done("all inputs", given))
            }
            Some(_) | None => Ok(ask_three(seal).into()),
        },
        "multi_round" => rounds(given, sealed, seal),
        "capabilities" => Ok(within_capabilities(call).into()),
        other => Err(ErrorData::internal_error(format!("{other} has no fixture"), None)),
    }
}

pub(super) fn ask_name() -> InputRequiredResult {
    let fields = json!({"name": {"type": "string"}});
    ask([("user_name", elicitation("What is your name?", fields, "name"))], None)
}

fn once(
    given: Option<&InputResponses>,
    key: &str,
    question: InputRequiredResult,
) -> CallToolResponse {
    let answered = given.and_then(|given| given.get(key)).filter(|answer| answer.is_object());
    match (answered, given) {
        (Some(_), Some(given)) => done("Hello", given),
        _ => question.into(),
    }
}

fn done(label: &str, given: &InputResponses) -> CallToolResponse {
    text(&format!("{label}: {}", json!(given))).into()
}

fn rounds(
    given: Option<&InputResponses>,
    sealed: Option<&str>,
    seal: &Seal,
) -> Result<CallToolResponse, ErrorData> {
    let name =
        || elicitation("Step 1: What is your name?", json!({"name": {"type": "string"}}), "name");
    let color = || {
        let fields = json!({"color": {"type": "string"}});
        elicitation("Step 2: What is your favorite color?", fields, "color")
    };
    let Some(given) = given else {
        return Ok(ask([("step1", name())], Some(seal.close("round-1"))).into());
    };
    match seal.open(sealed)? {
        "round-1" => Ok(ask([("step2", color())], Some(seal.close("round-2"))).into()),
        _ => Ok(done("finished", given)),
    }
}

fn ask_three(seal: &Seal) -> InputRequiredResult {
    let name = elicitation("What is your name?", json!({"name": {"type": "string"}}), "name");
    let questions = [
        ("user_name", name),
        ("greeting", sampling("Generate a greeting")),
        ("client_roots", roots()),
    ];
    ask(questions, Some(seal.close("three")))
}

/// Asks only for what the client said it can give.
fn within_capabilities(call: &McpCall) -> InputRequiredResult {
    let declared = call.context().client_capabilities().unwrap_or_default();
    let mut questions = Vec::new();
    if declared.elicitation.is_some() {
        let fields = json!({"name": {"type": "string"}});
        questions.push(("user_name", elicitation("What is your name?", fields, "name")));
    }
    if declared.sampling.is_some() {
        questions.push(("greeting", sampling("Generate a greeting")));
    }
    if declared.roots.is_some() {
        questions.push(("client_roots", roots()));
    }
    ask(questions, None)
}

/// An elicitation of one required field; also what a prompt asks with.
pub(super) fn elicitation(message: &str, fields: impl Into<Value>, required: &str) -> Value {
    let fields = fields.into();
    let schema = json!({"type": "object", "properties": fields, "required": [required]});
    let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
    json!({"method": "elicitation/create", "params": params})
}

fn sampling(question: &str) -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": question}});
    json!({"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 100}})
}

fn roots() -> Value {
    json!({"method": "roots/list", "params": {}})
}

/// A result that asks these questions.
pub(super) fn ask<'a>(
    questions: impl IntoIterator<Item = (&'a str, Value)>,
    state: Option<String>,
) -> InputRequiredResult {
    let question = |(key, value): (&str, Value)| {
        let request: InputRequest = serde_json::from_value(value)
            .unwrap_or_else(|error| unreachable!("{key} is a well-formed question: {error}"));
        (key.to_owned(), request)
    };
    let questions: InputRequests = questions.into_iter().map(question).collect();
    InputRequiredResult::new(Some(questions), state)
}
