//! Claims of tasks.

use super::{Applied, Moment, change_task, change_workspace};
use crate::{
    Author, CallFacts,
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
        ClaimChange::Taken { connection, lease_seconds, directory } => {
            let claim = TaskClaim {
                by: by.cloned(),
                connection: connection.clone(),
                since: moment.at,
                renewed_at: moment.at,
                lease_seconds: *lease_seconds,
                directory: directory.clone(),
            };
            taken(docs, set.task, claim)?;
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
fn taken(docs: &mut TaskDocs, task: TaskId, mut claim: TaskClaim) -> Applied {
    let holder = CallFacts {
        by: claim.by.clone().map(Into::into),
        connection: claim.connection.clone(),
        files: None,
    };
    change_task(docs, task, |task| {
        let own = task
            .claim
            .as_ref()
            .filter(|known| known.is_in_force(claim.since) && known.is_held_by(&holder));
        claim.since = own.map_or(claim.since, |known| known.since);
        task.claim = Some(claim);
    })
}

/// Ends a claim.
pub(super) fn release(docs: &mut TaskDocs, task: TaskId) -> Applied {
    change_task(docs, task, |task| task.claim = None)?;
    change_workspace(docs, |workspace| {
        workspace.claimed.remove(&task);
    })
}
