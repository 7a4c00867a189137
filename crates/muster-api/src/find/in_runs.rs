//! Runs, their nodes, files and messages; and sessions.

use muster_core::{
    MatchGrade, SearchTopic,
    run::{
        RunAggregate, RunDocument, RunEvent, RunKey,
        id::{NodeId, RunId},
        view::search::{Hit, HitKind},
    },
    session::{SessionAggregate, SessionDocument, SessionId, SessionKey, entity::Standing},
};
use muster_store::{LogPlace, StoreError};

use super::{FoundItem, FoundKind, FoundPlace, finder::Finder};
use crate::runs::logged;

impl Finder<'_> {
    pub(super) fn runs_and_sessions(&mut self) -> Result<(), StoreError> {
        let stream = self.request.run.map(RunId::stream);
        let nodes = (&[FoundKind::Node][..], stream.as_deref());
        self.gather(SearchTopic::Node, nodes, |finder, place| {
            Ok(Vec::from_iter(finder.node(place)?))
        })?;
        if self.request.run.is_some() {
            return Ok(());
        }
        self.gather(SearchTopic::Run, (&[FoundKind::Run], None), |finder, place| {
            match RunId::of_stream(&place.stream) {
                Some(run) => Ok(Vec::from_iter(finder.run(run, None)?)),
                None => Ok(Vec::new()),
            }
        })?;
        self.gather(SearchTopic::Session, (&[FoundKind::Session], None), |finder, place| {
            match SessionId::of_stream(&place.stream) {
                Some(session) => Ok(Vec::from_iter(finder.session(&session, None)?)),
                None => Ok(Vec::new()),
            }
        })
    }

    pub(super) fn content_of_runs(&mut self) -> Result<(), StoreError> {
        let stream = self.request.run.map(RunId::stream);
        let files = (&[FoundKind::File, FoundKind::Artifact][..], stream.as_deref());
        self.gather(SearchTopic::File, files, Self::content)?;
        let messages = (&[FoundKind::Message][..], stream.as_deref());
        self.gather(SearchTopic::Message, messages, Self::content)
    }

    /// A run as a result, graded by its name and goal unless the grade is known.
    pub(super) fn run(
        &mut self,
        id: RunId,
        grade: Option<MatchGrade>,
    ) -> Result<Option<FoundItem>, StoreError> {
        let document = self.search.document::<RunAggregate>(&id.stream(), &RunKey::Run)?;
        let Some(RunDocument::Run(run)) = document else { return Ok(None) };
        let words = &self.request.words;
        let goal = run.goal.as_deref();
        let others = Vec::from_iter(goal);
        let Some(matched) = grade.or_else(|| words.grade(&run.name, &others)) else {
            return Ok(None);
        };
        let excerpt = goal.filter(|_| matched == MatchGrade::Text);
        Ok(Some(FoundItem {
            kind: FoundKind::Run,
            id: id.to_string(),
            title: run.name.clone(),
            matched,
            excerpt: excerpt.and_then(|goal| words.excerpt(goal)),
            status: Some(run.status.name().to_owned()),
            said: None,
            place: FoundPlace { run_id: Some(id), ..FoundPlace::default() },
        }))
    }

    /// A session as a result, graded by its title unless the grade is known.
    pub(super) fn session(
        &mut self,
        id: &SessionId,
        grade: Option<MatchGrade>,
    ) -> Result<Option<FoundItem>, StoreError> {
        let key = SessionKey::Session;
        let document = self.search.document::<SessionAggregate>(&id.stream(), &key)?;
        let Some(SessionDocument::Session(Standing::Open(session))) = document else {
            return Ok(None);
        };
        let title = session.title.unwrap_or_default();
        let Some(matched) = grade.or_else(|| self.request.words.grade(&title, &[])) else {
            return Ok(None);
        };
        Ok(Some(FoundItem {
            kind: FoundKind::Session,
            id: id.to_string(),
            title: if title.is_empty() { id.to_string() } else { title },
            matched,
            excerpt: None,
            status: Some(session.status.word().to_owned()),
            said: None,
            place: FoundPlace::default(),
        }))
    }

    /// The node that an event names, as it is now.
    fn node(&mut self, at: &LogPlace) -> Result<Option<FoundItem>, StoreError> {
        let Some(run) = RunId::of_stream(&at.stream) else { return Ok(None) };
        let Some(row) = self.search.event(at)? else { return Ok(None) };
        let id = RunEvent::read(&row.body).ok().and_then(|event| event.node_id);
        let Some(id) = id else { return Ok(None) };
        let key = RunKey::Node(id);
        let document = self.search.document::<RunAggregate>(&at.stream, &key)?;
        let Some(RunDocument::Node(node)) = document else { return Ok(None) };
        let mut others = vec![node.role_template.as_str()];
        others.extend(node.alias.as_deref());
        let Some(matched) = self.request.words.grade(&node.label, &others) else {
            return Ok(None);
        };
        let Some(run_name) = self.run_name(run)? else { return Ok(None) };
        Ok(Some(FoundItem {
            kind: FoundKind::Node,
            id: id.to_string(),
            title: node.label.clone(),
            matched,
            excerpt: Some(node.role_template.clone()).filter(|_| matched == MatchGrade::Text),
            status: Some(node.status.name().to_owned()),
            said: None,
            place: FoundPlace {
                run_id: Some(run),
                run_name: Some(run_name),
                node_id: Some(id),
                ..FoundPlace::default()
            },
        }))
    }

    /// What an event of a run says.
    fn content(&mut self, at: &LogPlace) -> Result<Vec<FoundItem>, StoreError> {
        let Some(run) = RunId::of_stream(&at.stream) else { return Ok(Vec::new()) };
        let Some(row) = self.search.event(at)? else { return Ok(Vec::new()) };
        let hits = self.request.words.hits(run, logged(&row));
        let mut found = Vec::new();
        for hit in hits {
            let Some(run_name) = self.run_name(run)? else { break };
            let node_label = match hit.node_id {
                Some(node) => self.node_label(run, node)?,
                None => None,
            };
            found.push(self.item(hit, run_name, node_label));
        }
        Ok(found)
    }

    fn item(&self, hit: Hit, run_name: String, node_label: Option<String>) -> FoundItem {
        let kind = match hit.kind {
            HitKind::File => FoundKind::File,
            HitKind::Artifact => FoundKind::Artifact,
            HitKind::Message | HitKind::Answer | HitKind::Thought | HitKind::Handoff => {
                FoundKind::Message
            }
        };
        let id = match (hit.kind, hit.artifact_id) {
            (HitKind::File, _) => hit.excerpt.clone(),
            (HitKind::Artifact, Some(artifact)) => artifact.to_string(),
            (_, _) => hit.seq.to_string(),
        };
        let is_named = kind != FoundKind::Message;
        let matched = if is_named { self.request.words.grade(&hit.excerpt, &[]) } else { None };
        FoundItem {
            kind,
            id,
            title: hit.excerpt,
            matched: matched.unwrap_or(MatchGrade::Text),
            excerpt: None,
            status: None,
            said: (kind == FoundKind::Message).then_some(hit.kind),
            place: FoundPlace {
                run_id: Some(hit.run_id),
                run_name: Some(run_name),
                node_id: hit.node_id,
                node_label,
                artifact_id: hit.artifact_id,
                seq: Some(hit.seq),
                ..FoundPlace::default()
            },
        }
    }

    fn node_label(&mut self, run: RunId, node: NodeId) -> Result<Option<String>, StoreError> {
        let key = RunKey::Node(node);
        let document = self.search.document::<RunAggregate>(&run.stream(), &key)?;
        Ok(if let Some(RunDocument::Node(node)) = document { Some(node.label) } else { None })
    }
}
