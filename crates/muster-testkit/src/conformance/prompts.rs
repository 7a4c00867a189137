//! Prompts of the suite.

use rmcp::{
    ErrorData,
    model::{
        ContentBlock, GetPromptRequestParams, GetPromptResponse, GetPromptResult, Prompt,
        PromptArgument, PromptMessage, Role,
    },
};
use serde_json::{Value, json};

use super::{contents, inputs};

pub(super) fn all() -> Vec<Prompt> {
    let argument = |name: &str, meaning: &str| {
        PromptArgument::new(name).with_description(meaning).with_required(true)
    };
    let two =
        vec![argument("arg1", "First test argument"), argument("arg2", "Second test argument")];
    let uri = vec![argument("resourceUri", "Address of the resource to embed")];
    vec![
        Prompt::new("test_simple_prompt", Some("A prompt without arguments"), None),
        Prompt::new("test_prompt_with_arguments", Some("A prompt with two arguments"), Some(two)),
        Prompt::new(
            "test_prompt_with_embedded_resource",
            Some("A prompt with a resource"),
            Some(uri),
        ),
        Prompt::new("test_prompt_with_image", Some("A prompt with an image"), None),
        Prompt::new("test_input_required_result_prompt", Some("A prompt that asks first"), None),
    ]
}

/// Writes one prompt out.
pub(super) fn write(request: &GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
    let given = |name: &str| {
        let arguments = request.arguments.as_ref();
        let value = arguments.and_then(|arguments| arguments.get(name)).and_then(Value::as_str);
        value.unwrap_or_default().to_owned()
    };
    let messages = match request.name.as_str() {
        "test_simple_prompt" => vec![said("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let first = given("arg1");
            let second = given("arg2");
            vec![said(&format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
        }
        "test_prompt_with_embedded_resource" => {
            let text = "Embedded resource content for testing.";
            let resource = contents::embedded(&given("resourceUri"), "text/plain", text);
            let resource = PromptMessage::new(Role::User, resource);
            vec![resource, said("Please process the embedded resource above.")]
        }
        "test_prompt_with_image" => {
            let image = ContentBlock::image(contents::IMAGE, "image/png");
            vec![PromptMessage::new(Role::User, image), said("Please analyze the image above.")]
        }
        "test_input_required_result_prompt" => return Ok(ask_first(request)),
        name => return Err(ErrorData::invalid_params(format!("unknown prompt {name:?}"), None)),
    };
    Ok(GetPromptResult::new(messages).into())
}

fn ask_first(request: &GetPromptRequestParams) -> GetPromptResponse {
    let answered = request.input_responses.as_ref().and_then(|given| given.get("user_context"));
    match answered {
        Some(context) => {
            GetPromptResult::new(vec![said(&format!("Use this context: {context}"))]).into()
        }
        None => {
            let fields = json!({"context": {"type": "string"}});
            let question =
                inputs::elicitation("What context should the prompt use?", fields, "context");
            inputs::ask([("user_context", question)], None).into()
        }
    }
}

fn said(text: &str) -> PromptMessage {
    PromptMessage::new_text(Role::User, text)
}
