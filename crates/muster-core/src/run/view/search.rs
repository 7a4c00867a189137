//! Searches the content of a run: messages, answers, thoughts, handoffs, artifacts and the files
//! that diffs changed. Events are searched one at a time, so a walk over the log needs constant
//! memory. Text that still streams is found when it is complete.

use schemars::JsonSchema;
use serde::Serialize;

use super::history::LoggedEvent;
pub use crate::SearchWords;
use crate::{
    EventStrings, SearchTopic,
    run::{
        RunEvent, RunFact,
        artifact::Artifact,
        id::{ArtifactId, NodeId, RunId, TurnId},
        moment::Moment,
        shape::words,
    },
};

/// Characters of a question at most.
pub const QUESTION_CHARS_MAX: usize = 200;
/// Files of one diff that are listed one by one; the number of the others is given.
pub const FILES_TOLD_MAX: usize = 20;

words! {
    /// What was found.
    HitKind {
        /// A message of a person or the runtime to a node.
        Message = "message",
        /// The text of a node.
        Answer = "answer",
        /// What a node thought.
        Thought = "thought",
        /// What a node handed on.
        Handoff = "handoff",
        /// A file that the run produced, by its name.
        Artifact = "artifact",
        /// A file that a turn changed, by its path.
        File = "file",
    }
}

/// A place in a run that contains all the words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hit {
    /// What was found.
    pub kind: HitKind,
    /// The run.
    pub run_id: RunId,
    /// The event that holds it.
    pub seq: u64,
    /// When it happened.
    pub ts: Moment,
    /// The node; of a handoff, the receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    /// The turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// The artifact; of a file, the diff that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_id: Option<ArtifactId>,
    /// The text around the words, on one line.
    pub excerpt: String,
    /// Further matching paths of the same diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub further: Option<usize>,
}

impl SearchWords {
    /// Matches in an event of the log.
    pub fn hits(&self, run: RunId, line: LoggedEvent<'_>) -> Vec<Hit> {
        if !has_content(line.kind) {
            return Vec::new();
        }
        let event = RunEvent::read(line.body)
            .unwrap_or_else(|error| unreachable!("stored events can be read: {error}"));
        let place = Place { run, line, node: event.node_id, turn: event.turn_id };
        if let RunFact::ArtifactCreated(created) = &event.fact {
            return self.in_artifact(&place, &created.artifact);
        }
        let hit = searchable_text(&event.fact)
            .and_then(|(kind, text)| Some(place.hit(kind, self.excerpt(text)?)));
        hit.into_iter().collect()
    }

    fn in_artifact(&self, place: &Place<'_>, artifact: &Artifact) -> Vec<Hit> {
        let tied = |hit: Hit| Hit { artifact_id: Some(artifact.id), ..hit };
        let files = artifact.metadata.diff.iter().flat_map(|diff| &diff.files_changed);
        let mut fitting = files.filter(|path| self.excerpt(path).is_some());
        let listed = fitting.by_ref().take(FILES_TOLD_MAX);
        let mut hits: Vec<Hit> =
            listed.map(|path| tied(place.hit(HitKind::File, path.clone()))).collect();
        let further = fitting.count();
        if let Some(last) = hits.last_mut().filter(|_| further > 0) {
            last.further = Some(further);
        }
        if self.excerpt(&artifact.name).is_some() {
            hits.push(tied(place.hit(HitKind::Artifact, artifact.name.clone())));
        }
        hits
    }
}

/// Position and subject of an event.
struct Place<'a> {
    run: RunId,
    line: LoggedEvent<'a>,
    node: Option<NodeId>,
    turn: Option<TurnId>,
}

impl Place<'_> {
    fn hit(&self, kind: HitKind, excerpt: String) -> Hit {
        Hit {
            kind,
            run_id: self.run,
            seq: self.line.seq,
            ts: Moment(self.line.at),
            node_id: self.node,
            turn_id: self.turn,
            artifact_id: None,
            excerpt,
            further: None,
        }
    }
}

/// Types of events with searchable content; the others are not even read.
fn has_content(kind: &str) -> bool {
    matches!(
        kind,
        "message.user"
            | "message.assistant.final"
            | "message.assistant.thinking.final"
            | "handoff.sent"
            | "artifact.created"
    )
}

/// Whether an event of this type has strings that it is found by.
pub(in crate::run) fn has_strings(kind: &str) -> bool {
    has_content(kind) || matches!(kind, "run.patch" | "node.patch")
}

/// The strings that an event is found by.
pub(in crate::run) fn strings(event: &RunEvent) -> Option<EventStrings<'_>> {
    if let RunFact::ArtifactCreated(created) = &event.fact {
        let artifact = &created.artifact;
        let files = artifact.metadata.diff.iter().flat_map(|diff| &diff.files_changed);
        let names = [&artifact.name].into_iter().chain(files).map(String::as_str);
        return EventStrings::of(SearchTopic::File, names);
    }
    if let RunFact::RunPatched(patched) = &event.fact {
        let run = &patched.patch.run;
        let goal = run.goal.iter().flatten();
        return EventStrings::of(SearchTopic::Run, run.name.iter().chain(goal).map(String::as_str));
    }
    if let RunFact::NodePatched(patched) = &event.fact {
        let node = &patched.patch;
        let alias = node.alias.iter().flatten();
        let names = node.label.iter().chain(alias).chain(&node.role_template);
        return EventStrings::of(SearchTopic::Node, names.map(String::as_str));
    }
    let (_, text) = searchable_text(&event.fact)?;
    EventStrings::of(SearchTopic::Message, [text])
}

fn searchable_text(fact: &RunFact) -> Option<(HitKind, &str)> {
    if let RunFact::MessageQueued(queued) = fact {
        return Some((HitKind::Message, &queued.message.content));
    }
    if let RunFact::TextFinished(finished) = fact {
        return Some((HitKind::Answer, &finished.content));
    }
    if let RunFact::ThoughtFinished(thought) = fact {
        return Some((HitKind::Thought, &thought.content));
    }
    if let RunFact::HandoffSent(sent) = fact {
        return Some((HitKind::Handoff, &sent.envelope.payload.message));
    }
    None
}
