//! Items, patches and ids, one by one; unusable ones are left out.

use serde_json::Value;

use super::{
    ID, Malformed,
    fields::{self, Object, first, first_object, first_text},
};
use crate::{
    text,
    todo::{GivenStatus, ItemId, TodoEntry, TodoMetadata, TodoPatch, TodoPriority, TodoStatus},
};

/// The usable items of a list. An empty list is a list; one without a usable item is not (TD-16).
pub(super) fn items(list: &[Value]) -> Result<Vec<TodoEntry>, Malformed> {
    let entries: Vec<TodoEntry> =
        list.iter().filter_map(Value::as_object).filter_map(item).collect();
    if entries.is_empty() && !list.is_empty() {
        return Err(Malformed::NoUsableItem);
    }
    Ok(entries)
}

/// An item; `None` without a title.
pub(super) fn item(object: &Object) -> Option<TodoEntry> {
    Some(TodoEntry {
        id: first(object, &ID, fields::id),
        title: title(object)?,
        progress: progress(object).unwrap_or_default(),
        priority: priority(object),
        metadata: metadata(object),
    })
}

/// The usable entries of a patch. Fields next to the operation are ignored (TD-20).
pub(super) fn patches(envelope: &Object) -> Result<Vec<TodoPatch>, Malformed> {
    let default = first(envelope, &ID, fields::id);
    let given = first(envelope, &["patches", "patch"], |value| match value {
        Value::Array(list) => Some(list.as_slice()),
        Value::Object(_) => Some(std::slice::from_ref(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    });
    let given = given.unwrap_or_default().iter().filter_map(Value::as_object);
    let patches: Vec<TodoPatch> =
        given.filter_map(|entry| patch(entry, default.as_ref())).collect();
    if patches.is_empty() { Err(Malformed::NoUsablePatch) } else { Ok(patches) }
}

/// One entry; if it has an object `patch`, its fields are read from there only.
fn patch(entry: &Object, default: Option<&ItemId>) -> Option<TodoPatch> {
    let nested = first_object(entry, &["patch"]);
    let id = first(entry, &ID, fields::id)
        .or_else(|| nested.and_then(|nested| first(nested, &ID, fields::id)))
        .or_else(|| default.cloned())?;
    let source = nested.unwrap_or(entry);
    let progress = progress(source);
    let patch = TodoPatch {
        id,
        title: title(source),
        status: progress.as_ref().map(|progress| progress.status),
        raw_status: progress.and_then(|progress| progress.raw),
        priority: priority(source),
        metadata: metadata(source),
    };
    (!patch.is_empty()).then_some(patch)
}

/// The ids to delete (TD-22).
pub(super) fn ids(envelope: &Object) -> Result<Vec<ItemId>, Malformed> {
    let listed: Vec<ItemId> = match envelope.get("ids") {
        Some(Value::Array(list)) => list.iter().filter_map(fields::id).collect(),
        Some(one) => fields::id(one).into_iter().collect(),
        None => Vec::new(),
    };
    if !listed.is_empty() {
        return Ok(listed);
    }
    first(envelope, &ID, fields::id).map(|id| vec![id]).ok_or(Malformed::NoId)
}

/// The first string decides, also a blank one: then there is no title (TD-4).
fn title(object: &Object) -> Option<String> {
    let given = first(object, &["title", "content", "text"], Value::as_str)?;
    let title = text::trim(given);
    (!title.is_empty()).then(|| title.to_owned())
}

/// The status, and the word it was given as if that differs (TD-6).
///
/// The server sends them separately (TS-2); such a `raw_status` is accepted if it means the status
/// next to it.
fn progress(object: &Object) -> Option<GivenStatus> {
    let word = first_text(object, &["status", "state"])?;
    let status = TodoStatus::of_word(word);
    let is_another = |word: &&str| *word != status.as_str();
    let raw = Some(word).filter(is_another).or_else(|| {
        let kept = first_text(object, &["raw_status"])?;
        Some(kept).filter(is_another).filter(|kept| TodoStatus::of_word(kept) == status)
    });
    Some(GivenStatus { status, raw: raw.map(str::to_owned) })
}

/// A number or a string that is not blank, as given (TD-7).
fn priority(object: &Object) -> Option<TodoPriority> {
    match object.get("priority")? {
        Value::Number(number) => Some(TodoPriority::Number(number.clone())),
        Value::String(given) if !text::is_blank(given) => Some(TodoPriority::Text(given.clone())),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    }
}

fn metadata(object: &Object) -> Option<TodoMetadata> {
    object.get("metadata")?.as_object().cloned()
}
