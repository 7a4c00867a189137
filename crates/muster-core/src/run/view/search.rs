//! Searches the content of a run: messages, answers, thoughts, handoffs, artifacts and the files
//! that diffs changed. Events are searched one at a time, so a walk over the log needs constant
//! memory. Text that still streams is found when it is complete.

use schemars::JsonSchema;
use serde::Serialize;

use super::history::LoggedEvent;
use crate::{
    run::{
        RunEvent, RunFact,
        artifact::Artifact,
        id::{ArtifactId, NodeId, RunId, TurnId},
        moment::Moment,
        shape::words,
    },
    text,
};

/// Characters of a question at most.
pub const QUESTION_CHARS_MAX: usize = 200;
/// Files of one diff that are listed one by one; the number of the others is given.
pub const FILES_TOLD_MAX: usize = 20;
/// Characters of an excerpt before and after the match.
const EXCERPT_CHARS_BEFORE: usize = 40;
const EXCERPT_CHARS_BEHIND: usize = 160;

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

/// The search: words that must all occur, in any order and case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchWords(Vec<String>);

impl SearchWords {
    /// The words of a text; nothing when it has none.
    pub fn of(text: &str) -> Option<Self> {
        let words = text.split(text::is_whitespace).filter(|word| !word.is_empty());
        let words: Vec<String> = words.map(folded).collect();
        (!words.is_empty()).then_some(Self(words))
    }

    /// The text around the first word, if all of them occur.
    fn excerpt(&self, text: &str) -> Option<String> {
        let folded = folded(text);
        let first = folded.find(self.0.first()?)?;
        if !self.0.iter().all(|word| folded.contains(word)) {
            return None;
        }
        let at = text::chars(&folded[..first]);
        let begin = at.saturating_sub(EXCERPT_CHARS_BEFORE);
        let mut rest = text.chars().skip(begin);
        let wanted = at - begin + EXCERPT_CHARS_BEHIND;
        let piece: String = rest.by_ref().take(wanted).collect();
        let mark = |is: bool| if is { "…" } else { "" };
        let piece = text::join_words(&piece, ' ');
        Some(format!("{}{piece}{}", mark(begin > 0), mark(rest.next().is_some())))
    }

    /// Matches in an event of the log.
    pub fn hits(&self, run: RunId, line: LoggedEvent<'_>) -> Vec<Hit> {
        if !is_searchable(line.kind) {
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

/// Types of events with searchable text; the others are not even read.
fn is_searchable(kind: &str) -> bool {
    matches!(
        kind,
        "message.user"
            | "message.assistant.final"
            | "message.assistant.thinking.final"
            | "handoff.sent"
            | "artifact.created"
    )
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

/// The text in lower case, character for character, so that positions in both are the same.
fn folded(text: &str) -> String {
    let small = |character: char| {
        let mut small = character.to_lowercase();
        match (small.next(), small.next()) {
            (Some(one), None) => one,
            (_, _) => character,
        }
    };
    text.chars().map(small).collect()
}
