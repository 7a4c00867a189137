//! Errors of each dialect, as components of the document.

use muster_api::runs::RunCode;
use muster_core::schema::{JsonType, Keyword, NamedSchemas, Schema};

use super::any_of;
use crate::refusal::RefusalKind;

pub(super) fn errors() -> NamedSchemas {
    [("HttpError", http_error()), ("BridgeError", bridge_error()), ("RunError", run_error())].into()
}

fn http_error() -> Schema {
    let error = Schema::object([
        ("code", Schema::word_of(RefusalKind::ALL.iter().map(|kind| kind.code()))),
        ("message", JsonType::String.into()),
        ("recovery", JsonType::String.into()),
        ("details", JsonType::Object.into()),
    ]);
    let fields = [
        ("success", Schema::from([Keyword::Const(false.into())])),
        ("intent", JsonType::String.into()),
        ("result", JsonType::Object.into()),
        ("warnings", JsonType::Array.into()),
        ("suggestions", JsonType::Array.into()),
        ("context", JsonType::Object.into()),
        ("error", error),
        ("timestamp", JsonType::String.into()),
    ];
    let about = "An answer of the HTTP surface itself, with the keys of every answer.";
    let required = fields.iter().map(|(name, _)| (*name).to_owned()).collect();
    Schema::from([
        JsonType::Object.into(),
        Keyword::Description(about.to_owned()),
        Keyword::Properties(fields.into()),
        Keyword::Required(required),
    ])
}

fn bridge_error() -> Schema {
    let codes = [
        "invalid_request",
        "unknown_command",
        "unauthorized",
        "forbidden",
        "forbidden_role",
        "not_found",
        "method_not_allowed",
        "conflict",
        "revision_mismatch",
        "resume_window_exceeded",
        "payload_too_large",
        "unsupported_media_type",
        "too_many_requests",
        "busy",
        "store_unavailable",
        "internal",
    ];
    let detail = Schema::either([JsonType::String, JsonType::Object, JsonType::Null]);
    error(codes, detail).described(
        "Why the bridge refused; `path` names the field or parameter to blame, if one is.",
    )
}

fn run_error() -> Schema {
    error(RunCode::ALL.iter().map(|code| code.name()), JsonType::String.into())
}

fn error<'a>(codes: impl IntoIterator<Item = &'a str>, detail: Schema) -> Schema {
    Schema::object([
        ("error", Schema::word_of(codes)),
        ("detail", detail),
        ("path", any_of([JsonType::String.into(), JsonType::Null.into()])),
    ])
}
