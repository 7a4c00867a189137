//! Leaves out rows that a size limit has no room for, before they are encoded.
//!
//! A limit takes the details of rows first, then tasks from the last one on, then plans. Encoding a
//! hundred rows only to cut most of them away would be most of the work of a short answer.

use super::ContextView;
use crate::redact;

/// The least that is left of a row while there are rows, without its title.
const ROW_CHARS_MIN: usize =
    r#"{"id":"PLAN-001","kind":"plan","title":"","revision":0,"status":"TODO"}"#.len();
/// Characters of a title that stay as long as its row.
const TITLE_CHARS: usize = 80;

impl ContextView {
    /// The view without rows that have no room in `max_chars`. Of what would be cut one row of each
    /// list is left: cutting it corrects the pagination.
    #[must_use]
    pub fn within(mut self, max_chars: u64) -> Self {
        let mut room = Some(usize::try_from(max_chars).unwrap_or(usize::MAX));
        let plans = rows_started(self.plans.iter().map(|plan| &*plan.title), &mut room);
        self.plans.truncate(plans);
        let tasks = rows_started(self.tasks.iter().map(|task| &*task.title), &mut room);
        self.tasks.truncate(tasks.max(1));
        self
    }
}

/// Counts the rows that begin while there is room, which each of them takes; `None` is none.
fn rows_started<'a>(titles: impl Iterator<Item = &'a str>, room: &mut Option<usize>) -> usize {
    let mut started = 0;
    for title in titles {
        let Some(left) = *room else { break };
        started += 1;
        *room = left.checked_sub(chars_min(title));
    }
    started
}

fn chars_min(title: &str) -> usize {
    // A secret may be longer than what replaces it.
    let clean = redact::text(title);
    let chars = clean.as_deref().unwrap_or(title).chars().count();
    ROW_CHARS_MIN + chars.min(TITLE_CHARS)
}
