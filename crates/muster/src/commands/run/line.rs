//! Events and approvals of a run as lines for people.

use std::collections::BTreeMap;

use muster_core::{
    Json,
    run::{
        approval::Resolution,
        artifact::{Artifact, ArtifactKind},
        edge::ActorKind,
        event::{RunEvent, RunFact, TurnMoved, TurnStep},
        id::{ApprovalId, NodeId},
        node::NodeStatus,
        record::RunPatch,
        turn::Tool,
        view::snapshot::RunSnapshot,
    },
    text,
};
use serde::Deserialize;

use super::words;
use crate::screen::{Screen, Tone, cut, spelled_out};

/// Columns of a node's name.
const NAME_COLUMNS: usize = 12;
/// Columns before the text: time, number, name, and what is between them.
const LEAD_COLUMNS: usize = 8 + 2 + 6 + 2 + NAME_COLUMNS + 2;

/// The position of an event in the run.
#[derive(Debug, Deserialize)]
pub(super) struct LineStamp {
    pub(super) seq: u64,
    ts: String,
}

/// The names of a run's nodes, collected from its events.
#[derive(Debug, Default)]
pub(super) struct NodeNames(BTreeMap<NodeId, String>);

impl NodeNames {
    /// Adds the names that a run has now.
    pub(super) fn of(run: &RunSnapshot<'_>) -> Self {
        let named = run.nodes.iter().filter_map(|(id, node)| Some((*id, node.label.clone()?)));
        Self(named.collect())
    }

    fn learn(&mut self, event: &RunEvent) {
        if let (Some(id), RunFact::NodePatched(patched)) = (event.node_id, &event.fact)
            && let Some(label) = &patched.patch.label
        {
            self.0.insert(id, label.clone());
        }
    }

    pub(super) fn name(&self, id: NodeId) -> String {
        match self.0.get(&id) {
            Some(name) => text::join_words(name, ' '),
            None if id == NodeId(0) => "muster".to_owned(),
            None => text::short_id(&id.to_string()).to_owned(),
        }
    }
}

/// The line of an event; `None` for events that only programs need.
pub(super) fn event(
    screen: Screen,
    names: &mut NodeNames,
    stamp: &LineStamp,
    event: &RunEvent,
) -> Option<String> {
    names.learn(event);
    let (tone, words) = tone_and_words(names, event)?;
    // The time without the date.
    let clock = stamp.ts.get(11..19).unwrap_or(&stamp.ts);
    let lead = screen.paint(Tone::Faint, &format!("{clock}  {:>6}", stamp.seq));
    let who = if let RunFact::HandoffSent(sent) = &event.fact {
        // The sender of a handoff, not its receiver.
        Some(sent.envelope.from_node_id)
    } else {
        event.node_id
    };
    let who = cut(&who.map(|id| names.name(id)).unwrap_or_default(), NAME_COLUMNS);
    let who = screen.paint(Tone::Strong, &format!("{who:<NAME_COLUMNS$}"));
    let words = laid_out(screen, &event.fact, &words);
    let words = tone.map_or(words.clone(), |tone| screen.paint(tone, &words));
    Some(format!("{lead}  {who}  {words}\n"))
}

/// What a person has to read or decide about is shown in full; the rest is one line each.
fn laid_out(screen: Screen, fact: &RunFact, words: &str) -> String {
    let room = screen.columns().saturating_sub(LEAD_COLUMNS).max(20);
    let indent = " ".repeat(LEAD_COLUMNS);
    if matches!(fact, RunFact::ApprovalRequested(_)) {
        return screen.folded(words, &indent);
    }
    let is_short = matches!(
        fact,
        RunFact::ToolStarted(_)
            | RunFact::ToolCompleted(_)
            | RunFact::MessageQueued(_)
            | RunFact::HandoffSent(_)
    );
    if is_short {
        return cut(&text::join_words(words, ' '), room);
    }
    screen.wrapped(words.trim(), &indent).join("\n").trim_start().to_owned()
}

/// An answer to an approval, with the rule that gave it or that was made with it.
fn resolved(resolution: &Resolution) -> String {
    let status = resolution.status;
    match (&resolution.rule, resolution.by) {
        (Some(rule), ActorKind::Runtime) => format!("✓ {status} by a rule: {}", rule.text),
        (Some(rule), ActorKind::User | ActorKind::Agent) => {
            format!("✓ {status}; from now on: {}", rule.text)
        }
        (None, _) => format!("✓ {status}"),
    }
}

/// The text of an event and its colour.
fn tone_and_words(names: &NodeNames, event: &RunEvent) -> Option<(Option<Tone>, String)> {
    let (tone, words) = match &event.fact {
        RunFact::RunPatched(patched) => (Tone::Strong, status(&patched.patch.run)?),
        RunFact::PhaseChanged(to) => {
            (Tone::Strong, format!("── {} ({})", to.phase, words::phase_reason(to.reason)))
        }
        RunFact::ModeChanged(to) => (Tone::Strong, format!("── {} {}", to.mode, to.global_mode)),
        RunFact::RunStalled(stalled) => {
            (Tone::Bad, format!("no progress: {}", words::stall(stalled.evidence.rule)))
        }
        RunFact::BudgetReached(reached) => (Tone::Bad, words::budget(reached)),
        RunFact::ViolationFound(found) => {
            (Tone::Bad, format!("changed files it may not change: {}", found.paths.join(", ")))
        }
        RunFact::NodeProgressed(node) if node.status == NodeStatus::Failed => {
            (Tone::Bad, format!("failed: {}", node.summary))
        }
        RunFact::MessageQueued(queued) => (Tone::Active, format!("← {}", queued.message.content)),
        RunFact::TextFinished(text) => return Some((None, text.content.clone())),
        RunFact::HandoffSent(sent) => {
            let receiver = event.node_id.map(|id| names.name(id)).unwrap_or_default();
            (Tone::Active, format!("→ {receiver}: {}", sent.envelope.payload.message))
        }
        RunFact::ToolStarted(started) => (Tone::Faint, call(&started.tool)),
        RunFact::ToolCompleted(completed) if !completed.result.ok => {
            let error = completed.error.as_ref();
            (Tone::Bad, format!("✗ {}", error.map_or("", |error| &error.message)))
        }
        RunFact::ApprovalRequested(asked) => {
            (Tone::Warning, format!("asks: {}", approval(asked.approval_id, &asked.tool)))
        }
        RunFact::ApprovalResolved(answered) => (Tone::Good, resolved(&answered.resolution)),
        RunFact::ArtifactCreated(created) => changes(&created.artifact)?,
        RunFact::TurnMoved(TurnMoved { step: TurnStep::Failed(ended), .. }) => {
            let detail = ended.detail.as_deref().unwrap_or_default();
            (Tone::Bad, format!("✗ {} {detail}", ended.reason.words()).trim_end().to_owned())
        }
        RunFact::RunDeleted(_)
        | RunFact::NodePatched(_)
        | RunFact::NodeProgressed(_)
        | RunFact::NodeConfigured(_)
        | RunFact::NodeReset(_)
        | RunFact::InboxChanged(_)
        | RunFact::NodeDeleted(_)
        | RunFact::NodeLogged(_)
        | RunFact::TurnMoved(_)
        | RunFact::EdgeCreated(_)
        | RunFact::EdgeDeleted(_)
        | RunFact::TextStreamed(_)
        | RunFact::ThoughtStreamed(_)
        | RunFact::ThoughtFinished(_)
        | RunFact::ToolProposed(_)
        | RunFact::ToolCompleted(_)
        | RunFact::ApprovalDetached(_)
        | RunFact::UsageReported(_) => return None,
    };
    Some((Some(tone), words))
}

/// The changes of a turn; `None` if there are none.
fn changes(artifact: &Artifact) -> Option<(Tone, String)> {
    let diff = artifact.metadata.diff.as_ref().filter(|diff| !diff.files_changed.is_empty())?;
    let is_diff = artifact.kind == ArtifactKind::Diff;
    is_diff.then(|| (Tone::Good, format!("± {}", diff.summary)))
}

/// A run's new status, with its reason.
fn status(patch: &RunPatch) -> Option<String> {
    let status = patch.status?;
    let reason = patch.status_reason.as_ref().and_then(Option::as_ref);
    Some(match reason {
        Some(reason) => format!("{status}: {}", reason.message),
        None => status.to_string(),
    })
}

/// The most telling argument of a call, by its name.
const VITAL: [&str; 6] = ["cmd", "command", "path", "to", "label", "summary"];

/// A call of a tool, shortened to its most telling argument.
fn call(Tool { name, args, .. }: &Tool) -> String {
    match VITAL.into_iter().find_map(|key| args.get(key)?.as_str()) {
        Some(vital) => format!("{name} {vital}"),
        None => format!("{name} {}", Json::of(args)),
    }
}

/// A call of a tool with all of its arguments.
pub(super) fn whole_call(tool: &Tool) -> String {
    if tool.args.len() > 1 {
        return format!("{} {}", tool.name, Json::of(&tool.args));
    }
    call(tool)
}

/// An approval, with the command that gives it.
fn approval(id: ApprovalId, tool: &Tool) -> String {
    // On one line: nothing in the call can look like a line of ours.
    let call = whole_call(tool);
    // The end of the id is enough, and is not broken between lines.
    format!("{}\nmuster run approve {}", spelled_out(&call), text::short_id(&id.to_string()))
}

#[cfg(test)]
mod tests {
    use muster_core::run::id::NodeId;
    use serde_json::{Value, json};

    use super::NodeNames;
    use crate::screen::Screen;

    const NIL: &str = "00000000-0000-0000-0000-000000000000";
    const ID: &str = "00000000-0000-0000-0000-0000000000ab";
    const TIME: &str = "2026-01-01T10:11:12.000Z";

    fn line(screen: Screen, names: &mut NodeNames, event: &Value) -> Option<String> {
        let place = serde_json::from_value(event.clone()).unwrap();
        super::event(screen, names, &place, &serde_json::from_value(event.clone()).unwrap())
    }

    #[test]
    fn events_become_lines_and_patches_of_machines_do_not() {
        let mut names = NodeNames([(NodeId(0xab), "Coder".to_owned())].into());
        let said = json!({"type": "message.assistant.final", "seq": 7, "nodeId": ID,
            "ts": TIME, "content": "All\n12 pass.", "status": "final"});
        let shown = line(Screen::PLAIN, &mut names, &said).unwrap();
        let below = " ".repeat(super::LEAD_COLUMNS);
        assert_eq!(shown, format!("10:11:12       7  Coder         All\n{below}12 pass.\n"));
        let patch = json!({"type": "node.patch", "seq": 1, "ts": "", "patch": {}});
        assert_eq!(line(Screen::PLAIN, &mut names, &patch), None);
    }

    #[test]
    fn what_is_to_be_approved_is_there_to_its_last_word() {
        let command = format!("{} && rm  -rf ~/work", "git fetch ".repeat(20));
        let tool = json!({"id": ID, "name": "shell", "args": {"command": command}});
        let asked = json!({"type": "approval.requested", "seq": 9, "nodeId": ID, "ts": "",
            "approvalId": ID, "tool": tool, "kind": "tool", "canModify": true});
        let screen = Screen::of_stdout(crate::screen::Color::Never);
        let shown = line(screen, &mut NodeNames::default(), &asked).unwrap();
        let below = format!("\n{}", " ".repeat(super::LEAD_COLUMNS));
        let joined = shown.replace(&below, "");
        assert!(
            joined.contains(&command) && joined.ends_with("muster run approve 000000ab\n"),
            "{shown}"
        );
        let two = json!({"id": ID, "name": "shell", "args": {"command": "ls", "cwd": "/"}});
        let two = serde_json::from_value(two).unwrap();
        assert_eq!(super::whole_call(&two), r#"shell {"command":"ls","cwd":"/"}"#);
    }

    #[test]
    fn a_node_is_called_by_its_name_from_the_event_on_that_tells_it() {
        let mut names = NodeNames::default();
        let made = json!({"type": "node.patch", "seq": 8, "ts": TIME, "nodeId": ID,
            "patch": {"label": "Tester"}});
        assert_eq!(line(Screen::PLAIN, &mut names, &made), None);
        let sent = json!({"type": "handoff.sent", "seq": 9, "nodeId": ID, "ts": TIME, "order": 1,
            "envelope": {"kind": "handoff", "id": ID, "fromNodeId": NIL, "toNodeId": ID,
                "createdAt": TIME, "payload": {"message": "it fails"},
                "meta": {"direction": "report", "auto": false}}});
        let shown = line(Screen::PLAIN, &mut names, &sent).unwrap();
        assert_eq!(shown, "10:11:12       9  muster        → Tester: it fails\n");
    }
}
