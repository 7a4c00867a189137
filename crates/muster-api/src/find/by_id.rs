//! What has the search as its id: plans and tasks of every workspace, runs and sessions by the
//! beginning of their ids.

use muster_core::{
    MatchGrade,
    run::id::RunId,
    session::SessionId,
    tasks::id::{EntityId, WorkspaceId},
};
use muster_store::StoreError;

use super::{FoundItem, FoundKind, finder::Finder};

/// Characters of the shortest beginning of an id that is looked up.
const ID_CHARS_MIN: usize = 6;

impl Finder<'_> {
    pub(super) fn by_id(&mut self) -> Result<(), StoreError> {
        let text = self.request.words.joined();
        let mut found: Vec<FoundItem> = Vec::new();
        if self.request.run.is_none()
            && let Ok(id) = text.to_uppercase().parse::<EntityId>()
        {
            for workspace in self.workspaces()? {
                found.extend(self.entity(&workspace, id, MatchGrade::Exact)?);
            }
        }
        let is_part_of_id = text.len() >= ID_CHARS_MIN && SessionId::of(&text).is_some();
        if is_part_of_id && self.request.workspace.is_none() && self.request.run.is_none() {
            found.extend(self.streams_by_id(&text)?);
        }
        let kinds = [FoundKind::Task, FoundKind::Plan, FoundKind::Run, FoundKind::Session];
        self.keep(&kinds, found, false);
        Ok(())
    }

    /// The workspaces to look into.
    fn workspaces(&mut self) -> Result<Vec<WorkspaceId>, StoreError> {
        if let Some(workspace) = &self.request.workspace {
            return Ok(vec![workspace.clone()]);
        }
        let streams = self.search.streams("workspace/")?;
        let name = |name: &str| name.strip_prefix("workspace/")?.parse().ok();
        Ok(streams.iter().filter_map(|stream| name(&stream.name)).collect())
    }

    fn streams_by_id(&mut self, text: &str) -> Result<Vec<FoundItem>, StoreError> {
        let mut found = Vec::new();
        let limit = self.request.limit as usize;
        for stream in self.search.streams(&format!("run/{text}"))?.iter().take(limit) {
            if let Some(run) = RunId::of_stream(&stream.name) {
                found.extend(self.run(run, Some(MatchGrade::Exact))?);
            }
        }
        for stream in self.search.streams(&format!("session/{text}"))?.iter().take(limit) {
            if let Some(session) = SessionId::of_stream(&stream.name) {
                found.extend(self.session(&session, Some(MatchGrade::Exact))?);
            }
        }
        Ok(found)
    }
}
