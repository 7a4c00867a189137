//! The few rows above the input line (UI-2, UI-3).

use serde::{Deserialize, Serialize};

use super::Header;
use crate::todo::{ScopeState, TodoCounts, TodoItem, TodoStatus};

/// Which rows are shown when not all fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// In progress, todo, blocked, done, canceled.
    #[default]
    ActiveFirst,
    /// What is neither done nor canceled, then the rest.
    IncompleteFirst,
    /// The first of the list.
    FirstN,
}

/// A list as the preview sees it.
#[derive(Clone, Copy, Debug)]
pub struct List<'a> {
    /// The text shown for it.
    pub label: &'a str,
    /// Whether updates may be missing.
    pub stale: bool,
    /// The list.
    pub items: &'a [TodoItem],
}

impl<'a> From<&'a ScopeState> for List<'a> {
    fn from(scope: &'a ScopeState) -> Self {
        Self { label: &scope.label, stale: scope.stale, items: &scope.items }
    }
}

/// The lines above the input line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Preview<'a> {
    /// The rows, from the top.
    pub rows: Vec<&'a TodoItem>,
    /// How many items are not shown.
    pub hidden: usize,
    /// The line above the rows.
    pub header: Header,
}

/// The preview of a list; `None` for an empty one.
pub fn preview(list: List<'_>, strategy: Strategy, rows_max: usize) -> Option<Preview<'_>> {
    if list.items.is_empty() {
        return None;
    }
    let rows = rows(list.items, strategy, rows_max);
    let hidden = list.items.len() - rows.len();
    let counts = TodoCounts::of(list.items);
    let header = Header::of(list.label, counts.done, counts.total)
        .with_hidden(hidden)
        .with_stale(list.stale);
    Some(Preview { rows, hidden, header })
}

/// How many rows a terminal of this height has room for; `None` where only the status line counts
/// (UI-2).
pub const fn preview_rows_max(terminal_lines: u16) -> Option<usize> {
    match terminal_lines {
        0..=9 => None,
        10..=13 => Some(3),
        14..=19 => Some(5),
        20.. => Some(7),
    }
}

/// All in list order if they fit, else the first of the strategy's order.
fn rows(items: &[TodoItem], strategy: Strategy, max: usize) -> Vec<&TodoItem> {
    let mut rows: Vec<&TodoItem> = items.iter().collect();
    if rows.len() > max {
        match strategy {
            // Sorting is stable, so list order holds inside a rank.
            Strategy::ActiveFirst => rows.sort_by_key(|item| rank(item.status)),
            Strategy::IncompleteFirst => rows.sort_by_key(|item| item.status.is_settled()),
            Strategy::FirstN => {}
        }
        rows.truncate(max);
    }
    rows
}

const fn rank(status: TodoStatus) -> u8 {
    match status {
        TodoStatus::InProgress => 0,
        TodoStatus::Todo => 1,
        TodoStatus::Blocked => 2,
        TodoStatus::Done => 3,
        TodoStatus::Canceled => 4,
    }
}
