//! Sessions of agents that people start: the reports of their hooks are recorded, and what waits
//! for a person in them is listed.

use std::{collections::BTreeMap, io, path::Path, sync::Arc};

use muster_agents::watched::{WaitingReports, process};
use muster_core::{
    Author, AuthorKind, AuthorSurface, CallFacts, Draft,
    session::{
        SessionAggregate, SessionCommand, SessionId, SessionRejection, lookup,
        watched::{WaitingSession, WatchReport},
    },
    watched::AgentReport,
};
use muster_engine::{ExecuteError, GrowthListener};
use muster_store::{CatalogueQuery, StoreError};

use super::{SessionDesk, SessionFault};

/// Finds the workspace of a directory.
pub type WorkspaceOfDirectory<'a> = dyn Fn(&Path) -> Option<String> + 'a;

/// Why reports were not recorded; they wait for the next time.
#[derive(Debug, thiserror::Error)]
pub enum ReportsFault {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the files of reports: {0}")]
    Files(#[from] io::Error),
}

impl SessionDesk<'_> {
    /// Whether hooks have left reports.
    pub fn has_reports(self) -> bool {
        WaitingReports::of(self.0.storage_dir()).may_exist()
    }

    /// Records what hooks have reported since the last time, in the order in which they did.
    pub fn record_reports(
        self,
        workspace_of: &WorkspaceOfDirectory<'_>,
    ) -> Result<(), ReportsFault> {
        let mut known = BTreeMap::new();
        WaitingReports::of(self.0.storage_dir()).take(|batch| {
            let commands = batch.into_iter().map(|(place, report)| {
                let id = report.session_id();
                let workspace = workspace(&report, &mut known, workspace_of);
                let max_chars = self.0.ctree_max_chars();
                let place = Some(place);
                (id, WatchReport { report, workspace, place, max_chars })
            });
            self.record(commands.collect()).map_err(ReportsFault::from)
        })
    }

    /// Records reports; those of one session that follow each other share a transaction.
    fn record(self, reports: Vec<(SessionId, WatchReport)>) -> Result<(), StoreError> {
        let mut left = reports.into_iter().peekable();
        while let Some((id, first)) = left.next() {
            let mut group = vec![command(first)];
            while let Some((_, next)) = left.next_if(|(other, _)| *other == id) {
                group.push(command(next));
            }
            self.record_group(&id, group)?;
        }
        Ok(())
    }

    fn record_group(self, id: &SessionId, group: Vec<SessionCommand>) -> Result<(), StoreError> {
        let singles = if group.len() > 1 { group.clone() } else { Vec::new() };
        match self.record_at_once(id, group) {
            Err(ExecuteError::Store(failure)) => return Err(failure.0),
            Err(ExecuteError::Rejected(rejection)) if singles.is_empty() => {
                tracing::warn!(session = %id, ?rejection, "a report of a hook was left out");
            }
            // One of them was refused: the others are recorded without it.
            Err(ExecuteError::Rejected(_)) => {
                for single in singles {
                    self.record_group(id, vec![single])?;
                }
            }
            Ok(()) => {}
        }
        Ok(())
    }

    fn record_at_once(
        self,
        id: &SessionId,
        group: Vec<SessionCommand>,
    ) -> Result<(), ExecuteError<SessionRejection>> {
        let by = group.iter().find_map(author);
        let facts = CallFacts { by, ..CallFacts::default() };
        let work = move |draft: &mut Draft<'_, SessionAggregate>| {
            for report in &group {
                muster_core::session::take_report(draft, report)?;
            }
            Ok(())
        };
        self.0.engine().execute_for::<SessionAggregate, ()>(facts, id.stream(), work)
    }

    /// Ends the sessions whose agents are gone without a report.
    pub fn end_lost(self) -> Result<(), StoreError> {
        let query = CatalogueQuery { kind: "process", below: None, limit: None };
        for (stream, document) in self.0.engine().catalogue::<SessionAggregate>(&query)? {
            let Some(id) = SessionId::of_stream(&stream) else { continue };
            let Some(process) = document.as_process().filter(|known| !process::is_alive(*known))
            else {
                continue;
            };
            let agent = match self.read(&id, |docs| Ok(lookup::session(docs)?.watched.clone())) {
                Ok(Some(agent)) => agent,
                // It was deleted meanwhile.
                Ok(None) | Err(SessionFault::Refused(_)) => continue,
                Err(SessionFault::Store(error)) => return Err(error),
            };
            let report = AgentReport::lost(agent.host, &agent.native_id, (self.0.now(), process));
            let lost = WatchReport { report, workspace: None, place: None, max_chars: None };
            self.record_group(&id, vec![command(lost)])?;
        }
        Ok(())
    }

    /// Hears of every session that grows.
    pub fn grown(self) -> GrowthListener {
        self.0.engine().grown("session/")
    }

    /// Sessions whose agents wait for their person.
    pub fn waiting(self) -> Result<Vec<(SessionId, WaitingSession)>, StoreError> {
        let query = CatalogueQuery { kind: "waiting", below: None, limit: None };
        let found = self.0.engine().catalogue::<SessionAggregate>(&query)?.into_iter();
        let waiting = found.filter_map(|(stream, document)| {
            Some((SessionId::of_stream(&stream)?, document.as_waiting()?.clone()))
        });
        Ok(waiting.collect())
    }
}

fn command(report: WatchReport) -> SessionCommand {
    SessionCommand::Watch(Box::new(report))
}

fn author(report: &SessionCommand) -> Option<Arc<Author>> {
    let SessionCommand::Watch(watch) = report else { return None };
    let name = watch.report.program.name();
    Some(Arc::new(Author::new(AuthorKind::Agent, name, AuthorSurface::Hook)))
}

/// The workspace that the hook was set up for, else that of the agent's directory.
fn workspace(
    report: &AgentReport,
    known: &mut BTreeMap<String, Option<String>>,
    workspace_of: &WorkspaceOfDirectory<'_>,
) -> Option<String> {
    if report.workspace.is_some() {
        return report.workspace.clone();
    }
    let directory = report.directory.as_ref()?;
    let find = || workspace_of(Path::new(directory));
    known.entry(directory.clone()).or_insert_with(find).clone()
}
