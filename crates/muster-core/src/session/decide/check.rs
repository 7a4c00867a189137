//! Sizes and secrets: checks before anything is written.

use super::{Decided, reject};
use crate::{
    is_deeper_than, redact,
    session::{
        SessionRejection,
        body::SessionMeta,
        command::Create,
        entity::SessionStatus,
        event::EventBody,
        limits::{EVENT_BYTES_MAX, EVENT_DEPTH_MAX, FIELD_CHARS_MAX, METADATA_BYTES_MAX},
    },
    text,
};

/// Rejects what is longer than its limit.
pub(super) fn within(field: &'static str, actual: usize, limit: usize) -> Decided<()> {
    if actual <= limit {
        Ok(())
    } else {
        reject(SessionRejection::TooLong { field, limit, actual })
    }
}

/// A short, non-blank string without secrets.
pub(super) fn field(name: &'static str, value: &str) -> Decided<String> {
    if text::is_blank(value) {
        return reject(SessionRejection::Blank { field: name });
    }
    Ok(redacted_text(value).0)
}

/// A string without secrets, and whether it had one.
pub(super) fn redacted_text(given: &str) -> (String, bool) {
    match redact::text(given) {
        Some(clean) => (clean, true),
        None => (given.to_owned(), false),
    }
}

/// Replaces secrets in a body; returns whether there was one.
pub(super) fn redact_body(data: &mut EventBody) -> bool {
    redact::object(data)
}

/// Rejects a body that is too large or too deep to be read back.
pub(super) fn body(data: &EventBody) -> Decided<()> {
    if data.values().any(|value| is_deeper_than(value, EVENT_DEPTH_MAX - 1)) {
        return reject(SessionRejection::TooDeep { limit: EVENT_DEPTH_MAX });
    }
    within("data", json_bytes(data), EVENT_BYTES_MAX)
}

fn json_bytes(data: &EventBody) -> usize {
    serde_json::to_string(data).map_or(usize::MAX, |json| json.len())
}

/// The first event's body: everything that the session was created with, and whether it had a
/// secret.
pub(super) fn meta(create: &Create) -> Decided<(SessionMeta, bool)> {
    let mut redacted = false;
    let mut short = |name: &'static str, value: &Option<String>| -> Decided<Option<String>> {
        let Some(value) = value else { return Ok(None) };
        within(name, text::chars(value), FIELD_CHARS_MAX)?;
        let (clean, found) = redacted_text(value);
        redacted |= found;
        Ok(Some(clean))
    };
    let mut meta = SessionMeta {
        model: short("model", &create.model)?,
        mode: short("mode", &create.mode)?,
        permission_mode: short("permission_mode", &create.permission_mode)?,
        title: short("title", &create.title)?,
        workspace: short("workspace", &create.workspace)?,
        config_path: short("config_path", &create.config_path)?,
        status: Some(SessionStatus::Idle.word()),
        overrides: create.overrides.clone(),
        metadata: create.metadata.clone(),
        max_steps: create.max_steps,
        made_by: create.made_by.clone(),
    };
    if let Some(metadata) = &mut meta.metadata {
        redacted |= redact_body(metadata);
        body(metadata)?;
        within("metadata", json_bytes(metadata), METADATA_BYTES_MAX)?;
    }
    if let Some(overrides) = &mut meta.overrides {
        redacted |= redact::value(overrides);
        body(&EventBody::from_iter([("overrides".to_owned(), overrides.clone())]))?;
    }
    Ok((meta, redacted))
}
