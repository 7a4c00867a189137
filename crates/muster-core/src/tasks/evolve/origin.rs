//! Where imported plans, tasks and steps came from.

use super::{Applied, Moment, change_meta, touch_task};
use crate::tasks::{TaskDocs, event::OriginNoted, id::EntityId};

pub(super) fn noted(docs: &mut TaskDocs, noted: &OriginNoted, moment: Moment) -> Applied {
    change_meta(docs, noted.subject.id, |meta| {
        meta.origin = Some(Box::new(noted.origin.clone()));
        meta.free.clone_from(&noted.meta);
        meta.revision = noted.subject.revision;
        meta.updated_at = moment.at;
    })?;
    let EntityId::Task(id) = noted.subject.id else { return Ok(()) };
    touch_task(docs, id, |task| {
        for part in &noted.steps {
            if let Some(step) = task.steps.at_mut(&part.path) {
                step.origin = Some(Box::new(part.origin.clone()));
                step.free.clone_from(&part.meta);
            }
        }
    })
}
