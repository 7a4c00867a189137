//! Claims of tasks.

use super::{Applied, Moment, change_task, change_workspace};
use crate::{
    Author, CallFacts, ConnectionId,
    tasks::{
        TaskDocs,
        claim::TaskClaim,
        event::{ClaimChange, ClaimSet},
        id::TaskId,
    },
};

pub(super) fn set(
    docs: &mut TaskDocs,
    set: &ClaimSet,
    by: Option<&Author>,
    moment: Moment,
) -> Applied {
    match &set.change {
        ClaimChange::Taken { connection, lease_seconds } => {
            taken(docs, set.task, (by, connection.as_ref()), *lease_seconds, moment)?;
            change_workspace(docs, |workspace| {
                workspace.claimed.insert(set.task);
            })
        }
        ClaimChange::Renewed => change_task(docs, set.task, |task| {
            if let Some(claim) = &mut task.claim {
                claim.renewed_at = moment.at;
            }
        }),
        ClaimChange::Released => release(docs, set.task),
    }
}

/// A holder that takes its own task again keeps the time at which it took it first.
fn taken(
    docs: &mut TaskDocs,
    task: TaskId,
    (by, connection): (Option<&Author>, Option<&ConnectionId>),
    lease_seconds: u32,
    moment: Moment,
) -> Applied {
    let holder =
        CallFacts { by: by.cloned().map(Into::into), connection: connection.cloned(), files: None };
    change_task(docs, task, |task| {
        let own = task
            .claim
            .as_ref()
            .filter(|claim| claim.is_in_force(moment.at) && claim.is_held_by(&holder));
        let since = own.map_or(moment.at, |claim| claim.since);
        task.claim = Some(TaskClaim {
            by: by.cloned(),
            connection: connection.cloned(),
            since,
            renewed_at: moment.at,
            lease_seconds,
        });
    })
}

/// Ends a claim.
pub(super) fn release(docs: &mut TaskDocs, task: TaskId) -> Applied {
    change_task(docs, task, |task| task.claim = None)?;
    change_workspace(docs, |workspace| {
        workspace.claimed.remove(&task);
    })
}
