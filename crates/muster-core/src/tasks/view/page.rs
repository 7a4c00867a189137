//! Pages of the steps of a task and of the tasks of a plan.

use std::{str::FromStr, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{brief::TaskBrief, context::Pagination};
use crate::{
    ListQuery, PageCursor, WorkRefusal,
    tasks::{
        TaskDocs, TaskRejection, TaskResult,
        entity::{Plan, TaskStatus},
        path::StepPath,
        rejection::FieldFault,
        step::Step,
    },
};

type Paged<T> = TaskResult<(Vec<T>, Pagination)>;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageQuery {
    /// Name of the argument that holds the cursor.
    pub argument: &'static str,
    /// The last element shown, and its list; `None` is the beginning.
    pub cursor: Option<PageCursor<String, String>>,
    pub limit: u32,
}

/// Where a page is and whether another follows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CursorPage<C> {
    /// Cursor this page was asked with.
    pub cursor: Option<C>,
    /// Cursor of the next page.
    pub next_cursor: Option<C>,
    /// Whether there is one.
    pub has_more: bool,
    /// Entries it could hold.
    pub limit: u32,
    /// Entries on this page.
    pub count: usize,
}

impl PageQuery {
    /// The element after which the page of this list starts.
    pub(super) fn after<T: FromStr>(&self, list: &str) -> TaskResult<Option<T>> {
        let Some(cursor) = &self.cursor else { return Ok(None) };
        // A page that could hold nothing continues where it began: at no element.
        if cursor.of == list && cursor.at.is_empty() {
            return Ok(None);
        }
        let after = (cursor.of == list).then(|| cursor.at.parse().ok()).flatten();
        after.map(Some).ok_or_else(|| {
            WorkRefusal::rejected(TaskRejection::BadField {
                field: self.argument.to_owned(),
                fault: FieldFault::BadFormat,
                expected: format!("a next_cursor of {list}"),
            })
        })
    }

    fn pagination(&self, list: &str, page: &Page) -> Pagination {
        let next = || PageCursor { at: &page.last, of: list }.to_string();
        Pagination {
            cursor: self.cursor.as_ref().map(ToString::to_string),
            next_cursor: page.has_more.then(next),
            has_more: page.has_more,
            total: page.total,
            count: page.count,
            limit: self.limit,
        }
    }
}

/// The result of cutting a page.
struct Page {
    total: u64,
    count: usize,
    has_more: bool,
    /// The last element shown, else the one the page started after.
    last: String,
}

/// A page of steps in path order; `list` names the task or the part of it.
pub(super) fn steps<'a>(
    all: impl Iterator<Item = &'a Step>,
    list: &str,
    query: &PageQuery,
) -> Paged<&'a Step> {
    let after: Option<StepPath> = query.after(list)?;
    let mut total = 0;
    let mut remaining = 0;
    let mut shown: Vec<&Step> = Vec::new();
    for step in all {
        total += 1;
        if after.as_ref().is_some_and(|after| step.path <= *after) {
            continue;
        }
        remaining += 1;
        if shown.len() < query.limit as usize {
            shown.push(step);
        }
    }
    let last = shown.last().map(|step| &step.path).or(after.as_ref());
    let page = Page {
        total,
        count: shown.len(),
        has_more: remaining > shown.len(),
        last: last.map(ToString::to_string).unwrap_or_default(),
    };
    Ok((shown, query.pagination(list, &page)))
}

/// A page of the tasks of a plan, by id number.
pub(super) fn tasks(docs: &TaskDocs, plan: &Plan, query: &PageQuery) -> Paged<Arc<TaskBrief>> {
    let list = plan.id.to_string();
    let after: Option<u64> = query.after(&list)?;
    let mut shown = docs.briefs(&ListQuery {
        parent: Some(list.clone()),
        statuses: TaskStatus::ALL.map(TaskStatus::name).to_vec(),
        after,
        limit: Some(query.limit + 1),
        ..ListQuery::of("task")
    })?;
    let has_more = shown.len() > query.limit as usize;
    shown.truncate(query.limit as usize);
    let last = shown.last().map(|task| task.id.0).or(after);
    let page = Page {
        total: plan.sums.tasks.total(),
        count: shown.len(),
        has_more,
        last: last.map(|number| number.to_string()).unwrap_or_default(),
    };
    Ok((shown, query.pagination(&list, &page)))
}
