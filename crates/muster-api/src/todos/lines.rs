//! Items with a status, as agents write them in their own todo tools (EASE-TODO-1).

use std::collections::BTreeSet;

use muster_core::{
    text,
    todo::{ItemId, StepLink, ToolStatus, WrittenList, WrittenTodo},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    arguments::{Reason, invalid},
    call::CallFailure,
};

/// An item to write.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct TodoInput {
    /// What is to be done.
    content: Option<String>,
    /// Same as content.
    title: Option<String>,
    /// Default: as it is; pending for a new item.
    status: Option<ToolStatus>,
    /// How it reads while in progress.
    #[serde(rename = "activeForm")]
    active_form: Option<String>,
    id: Option<String>,
    /// Step it belongs to; null unlinks.
    step_id: Option<String>,
}

/// Nulls count as left out everywhere else, but a null step removes a link.
pub(super) fn keep_null_steps(arguments: &mut Map<String, Value>) {
    let entries = arguments.get_mut("todos").and_then(Value::as_array_mut).into_iter().flatten();
    for step in entries.filter_map(|entry| entry.get_mut("step_id")) {
        if step.is_null() {
            *step = "".into();
        }
    }
}

/// The list that these items make.
pub(super) fn read(entries: Vec<TodoInput>) -> Result<WrittenList, CallFailure> {
    let mut ids = BTreeSet::new();
    let mut list = Vec::with_capacity(entries.len());
    for (at, entry) in entries.into_iter().enumerate() {
        let todo = entry.written(at)?;
        if let Some(id) = &todo.id
            && !ids.insert(id.clone())
        {
            let expected = "an id that no other item of the list has";
            return Err(invalid(&format!("todos[{at}].id"), Reason::Conflict, expected));
        }
        list.push(todo);
    }
    Ok(WrittenList::of(list))
}

impl TodoInput {
    fn written(self, at: usize) -> Result<WrittenTodo, CallFailure> {
        let path = |field: &str| format!("todos[{at}].{field}");
        let title = match (self.content, self.title) {
            (Some(given), None) | (None, Some(given)) => given,
            (Some(_), Some(_)) => {
                let expected = "left out beside content";
                return Err(invalid(&path("title"), Reason::Conflict, expected));
            }
            (None, None) => {
                return Err(invalid(&path("content"), Reason::Missing, "what is to be done"));
            }
        };
        let title = text::trim(&title).to_owned();
        if title.is_empty() {
            let expected = "a string that is not blank";
            return Err(invalid(&path("content"), Reason::BadFormat, expected));
        }
        let id = self.id.map(|id| {
            let blank = || invalid(&path("id"), Reason::BadFormat, "an id that is not blank");
            ItemId::of(id).ok_or_else(blank)
        });
        let step = match self.step_id.as_deref() {
            None => StepLink::Kept,
            Some("") => StepLink::Removed,
            Some(given) => StepLink::To(given.parse().map_err(|_bad| {
                let expected = "a step id such as STEP-0000000A";
                invalid(&path("step_id"), Reason::BadFormat, expected)
            })?),
        };
        let active_form = self.active_form.filter(|text| !text::is_blank(text));
        Ok(WrittenTodo { title, id: id.transpose()?, status: self.status, active_form, step })
    }
}
