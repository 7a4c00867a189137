//! The list that the todo tool takes: whole, in order, with what the caller gives for each item.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    ItemId, TodoItem, TodoMetadata, TodoStatus,
    update::{redacted, redacted_id},
};
use crate::{tasks::id::StepId, text};

/// Key of an item's metadata: how it reads while it is being worked on.
const ACTIVE_FORM: &str = "activeForm";
/// Key of an item's metadata: the step that it belongs to.
const STEP_ID: &str = "step_id";

/// A status in the words of the tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ToolStatus {
    Pending,
    InProgress,
    Completed,
    Cancelled,
}

impl ToolStatus {
    /// The word for a status. The tool has none for a blocked item, which is still to be done.
    pub fn of(status: TodoStatus) -> Self {
        match status {
            TodoStatus::Todo | TodoStatus::Blocked => Self::Pending,
            TodoStatus::InProgress => Self::InProgress,
            TodoStatus::Done => Self::Completed,
            TodoStatus::Canceled => Self::Cancelled,
        }
    }

    fn status(self) -> TodoStatus {
        match self {
            Self::Pending => TodoStatus::Todo,
            Self::InProgress => TodoStatus::InProgress,
            Self::Completed => TodoStatus::Done,
            Self::Cancelled => TodoStatus::Canceled,
        }
    }
}

/// What a write does to the link between an item and a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StepLink {
    /// An item of the present list keeps its link.
    #[default]
    Kept,
    Removed,
    To(StepId),
}

/// An item to write; what is left out stays as it is in the present list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WrittenTodo {
    /// What is to be done; trimmed, never blank.
    pub title: String,
    pub id: Option<ItemId>,
    pub status: Option<ToolStatus>,
    /// How it reads while it is being worked on.
    pub active_form: Option<String>,
    pub step: StepLink,
}

impl WrittenTodo {
    /// The item under this id, given the one of the present list that it continues.
    pub(super) fn item(&self, id: ItemId, known: Option<&TodoItem>) -> TodoItem {
        let present = known.map_or(TodoStatus::Todo, |known| known.status);
        // A status that the tool calls by the same word is not changed.
        let changed = self.status.filter(|status| *status != ToolStatus::of(present));
        TodoItem {
            id,
            title: self.title.clone(),
            status: changed.map_or(present, ToolStatus::status),
            raw_status: match changed {
                Some(_) => None,
                None => known.and_then(|known| known.raw_status.clone()),
            },
            priority: known.and_then(|known| known.priority.clone()),
            metadata: self.metadata(known.and_then(|known| known.metadata.as_ref())),
        }
    }

    fn metadata(&self, known: Option<&TodoMetadata>) -> Option<TodoMetadata> {
        let mut metadata = known.cloned().unwrap_or_default();
        if let Some(active_form) = &self.active_form {
            metadata.insert(ACTIVE_FORM.to_owned(), active_form.as_str().into());
        }
        match self.step {
            StepLink::Kept => {}
            StepLink::Removed => {
                metadata.shift_remove(STEP_ID);
            }
            StepLink::To(step) => {
                metadata.insert(STEP_ID.to_owned(), step.to_string().into());
            }
        }
        (known.is_some() || !metadata.is_empty()).then_some(metadata)
    }

    fn redact(&mut self) -> bool {
        self.id.as_mut().is_some_and(redacted_id)
            | redacted(Some(&mut self.title))
            | redacted(self.active_form.as_mut())
    }
}

impl TodoItem {
    /// How it reads while it is being worked on.
    pub fn active_form(&self) -> Option<&str> {
        self.metadata.as_ref()?.get(ACTIVE_FORM)?.as_str()
    }

    /// The step that it belongs to.
    pub fn step(&self) -> Option<StepId> {
        self.metadata.as_ref()?.get(STEP_ID)?.as_str()?.parse().ok()
    }
}

/// A checked list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WrittenList(Vec<WrittenTodo>);

/// Why a value is not a list of titles; the first fault from the front (TT-5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TitleFault {
    /// The value is not an array.
    NotAnArray,
    /// The entry at this index is not a string.
    NotAString(usize),
    /// The entry at this index is blank.
    Blank(usize),
}

impl WrittenList {
    /// Parses a list of titles; nothing is coerced (TT-6).
    pub fn read(value: &Value) -> Result<Self, TitleFault> {
        let entries = value.as_array().ok_or(TitleFault::NotAnArray)?;
        let title = |(at, entry): (usize, &Value)| match entry.as_str() {
            None => Err(TitleFault::NotAString(at)),
            Some(title) => titled(at, title),
        };
        entries.iter().enumerate().map(title).collect::<Result<_, _>>().map(Self)
    }

    /// Checks a list of titles.
    pub fn of_titles(entries: &[String]) -> Result<Self, TitleFault> {
        let title = |(at, entry): (usize, &String)| titled(at, entry);
        entries.iter().enumerate().map(title).collect::<Result<_, _>>().map(Self)
    }

    /// A list of checked items.
    pub fn of(entries: Vec<WrittenTodo>) -> Self {
        Self(entries)
    }

    /// The items, in order.
    pub fn as_slice(&self) -> &[WrittenTodo] {
        &self.0
    }

    /// The steps that it links items to.
    pub fn steps(&self) -> impl Iterator<Item = StepId> {
        self.0.iter().filter_map(|entry| match entry.step {
            StepLink::To(step) => Some(step),
            StepLink::Kept | StepLink::Removed => None,
        })
    }

    /// Replaces secrets; returns whether there was one. Must be called before the list is written.
    pub fn redact(&mut self) -> bool {
        self.0.iter_mut().fold(false, |found, entry| entry.redact() | found)
    }
}

fn titled(at: usize, title: &str) -> Result<WrittenTodo, TitleFault> {
    match text::trim(title) {
        "" => Err(TitleFault::Blank(at)),
        title => Ok(WrittenTodo { title: title.to_owned(), ..WrittenTodo::default() }),
    }
}

impl TitleFault {
    /// Index of the entry at fault, if it is about one.
    pub fn index(self) -> Option<usize> {
        match self {
            Self::NotAnArray => None,
            Self::NotAString(at) | Self::Blank(at) => Some(at),
        }
    }

    /// Where the fault is: `items` or `items[2]`.
    pub fn path(self) -> String {
        match self.index() {
            None => "items".to_owned(),
            Some(at) => format!("items[{at}]"),
        }
    }
}
