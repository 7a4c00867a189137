//! Events and approvals of a run as lines for people.

use std::collections::BTreeMap;

use muster_core::text;
use serde_json::Value;

use crate::screen::{Screen, Tone, cut, spelled_out};

/// Columns of a node's name.
const NAME_COLUMNS: usize = 12;
/// Columns before the text: time, number, name, and what is between them.
const LEAD_COLUMNS: usize = 8 + 2 + 6 + 2 + NAME_COLUMNS + 2;

/// What the nodes of a run are called, as its events tell.
#[derive(Debug, Default)]
pub(super) struct NodeNames(BTreeMap<String, String>);

impl NodeNames {
    /// Learns the names that a run has now.
    pub(super) fn of(run: &Value) -> Self {
        let nodes = run["nodes"].as_object().into_iter().flatten();
        let named =
            |(id, node): (&String, &Value)| Some((id.clone(), node["label"].as_str()?.into()));
        Self(nodes.filter_map(named).collect())
    }

    fn learn(&mut self, event: &Value) {
        if let (Some(id), Some(label)) =
            (event["nodeId"].as_str(), event["patch"]["label"].as_str())
        {
            self.0.insert(id.to_owned(), label.to_owned());
        }
    }

    fn name(&self, id: &Value) -> String {
        let id = id.as_str().unwrap_or_default();
        let runtime = || id.chars().all(|letter| matches!(letter, '0' | '-'));
        match self.0.get(id) {
            Some(name) => text::join_words(name, ' '),
            None if id.is_empty() => String::new(),
            None if runtime() => "muster".to_owned(),
            None => text::short_id(id).to_owned(),
        }
    }
}

/// The line of an event; nothing for those that only machines need.
pub(super) fn event(screen: Screen, names: &mut NodeNames, event: &Value) -> Option<String> {
    let kind = event["type"].as_str()?;
    names.learn(event);
    let (tone, words) = told(names, kind, event)?;
    let time = event["ts"].as_str().unwrap_or_default();
    // The clock without the date.
    let clock = time.get(11..19).unwrap_or(time);
    let seq = event["seq"].as_u64().unwrap_or(0);
    let lead = screen.paint(Tone::Faint, &format!("{clock}  {seq:>6}"));
    let who = match kind {
        // The one who hands something over, not the one who gets it.
        "handoff.sent" => names.name(&event["envelope"]["fromNodeId"]),
        _ => names.name(&event["nodeId"]),
    };
    let who = cut(&who, NAME_COLUMNS);
    let who = screen.paint(Tone::Strong, &format!("{who:<NAME_COLUMNS$}"));
    let words = laid_out(screen, kind, &words);
    let words = tone.map_or(words.clone(), |tone| screen.paint(tone, &words));
    Some(format!("{lead}  {who}  {words}\n"))
}

/// What a person has to read or decide about is there to its last word; the rest is one line each.
fn laid_out(screen: Screen, kind: &str, words: &str) -> String {
    let room = screen.columns().saturating_sub(LEAD_COLUMNS).max(20);
    let indent = " ".repeat(LEAD_COLUMNS);
    match kind {
        "approval.requested" => screen.folded(words, &indent),
        "tool.started" | "tool.completed" | "message.user" | "handoff.sent" => {
            cut(&text::join_words(words, ' '), room)
        }
        _ => screen.wrapped(words.trim(), &indent).join("\n").trim_start().to_owned(),
    }
}

/// The words of an event and how they are painted.
fn told(names: &NodeNames, kind: &str, event: &Value) -> Option<(Option<Tone>, String)> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (tone, words) = match kind {
        "run.patch" => (Tone::Strong, status(&event["patch"])?),
        "run.phase" => {
            (Tone::Strong, format!("── {} ({})", word(&event["phase"]), word(&event["reason"])))
        }
        "run.mode" => {
            (Tone::Strong, format!("── {} {}", word(&event["mode"]), word(&event["globalMode"])))
        }
        "run.stalled" => {
            (Tone::Bad, format!("goes in circles: {}", word(&event["evidence"]["rule"])))
        }
        "run.budget" => {
            (Tone::Bad, format!("budget: {} {}", word(&event["metric"]), word(&event["level"])))
        }
        "node.violation" => (Tone::Bad, format!("must not write {}", event["paths"])),
        "node.progress" if event["status"] == "failed" => {
            (Tone::Bad, format!("failed: {}", word(&event["summary"])))
        }
        "message.user" => (Tone::Active, format!("← {}", word(&event["message"]["content"]))),
        "message.assistant.final" => return Some((None, word(&event["content"]))),
        "handoff.sent" => {
            let message = word(&event["envelope"]["payload"]["message"]);
            (Tone::Active, format!("→ {}: {message}", names.name(&event["nodeId"])))
        }
        "tool.started" => (Tone::Faint, call(&event["tool"])),
        "tool.completed" if event["result"]["ok"] == false => {
            (Tone::Bad, format!("✗ {}", word(&event["error"]["message"])))
        }
        "approval.requested" => (Tone::Warning, format!("asks: {}", approval(event))),
        "approval.resolved" => (Tone::Good, format!("✓ {}", word(&event["resolution"]["status"]))),
        "artifact.created" if event["artifact"]["kind"] == "diff" => changes(event)?,
        "turn.status" if event["status"] == "turn.failed" => {
            (Tone::Bad, format!("✗ {} {}", word(&event["reason"]), word(&event["detail"])))
        }
        _ => return None,
    };
    Some((Some(tone), words))
}

/// What a turn changed, unless it was nothing.
fn changes(event: &Value) -> Option<(Tone, String)> {
    let metadata = &event["artifact"]["metadata"];
    let changed = metadata["filesChanged"].as_array().is_some_and(|files| !files.is_empty());
    let summary = metadata["summary"].as_str().unwrap_or_default();
    changed.then(|| (Tone::Good, format!("± {summary}")))
}

/// A run's new status, with its reason.
fn status(patch: &Value) -> Option<String> {
    let status = patch["status"].as_str()?;
    let message = patch["statusReason"]["message"].as_str();
    Some(message.map_or_else(|| status.to_owned(), |message| format!("{status}: {message}")))
}

/// The argument that tells most of a call, by its names.
const VITAL: [&str; 6] = ["cmd", "command", "path", "to", "label", "summary"];

/// A call of a tool, by what matters most of it.
fn call(tool: &Value) -> String {
    let name = tool["name"].as_str().unwrap_or_default();
    match VITAL.into_iter().find_map(|key| tool["args"][key].as_str()) {
        Some(vital) => format!("{name} {vital}"),
        None => format!("{name} {}", tool["args"]),
    }
}

/// A call of a tool with all of its arguments.
fn whole_call(tool: &Value) -> String {
    let others = tool["args"].as_object().is_some_and(|arguments| arguments.len() > 1);
    if others {
        let name = tool["name"].as_str().unwrap_or_default();
        return format!("{name} {}", tool["args"]);
    }
    call(tool)
}

/// What is to be approved, with the command that does it.
pub(super) fn approval(approval: &Value) -> String {
    let id = approval["approvalId"].as_str().unwrap_or_default();
    // On one line: nothing of the call can look like a line of ours.
    let call = whole_call(&approval["tool"]);
    format!("{}\nmuster run approve {}", spelled_out(&call), spelled_out(id))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{NodeNames, event};
    use crate::screen::Screen;

    #[test]
    fn events_become_lines_and_patches_of_machines_do_not() {
        let mut names = NodeNames::of(&json!({"nodes": {"0123456789": {"label": "Coder"}}}));
        let said = json!({"type": "message.assistant.final", "seq": 7, "nodeId": "0123456789",
            "ts": "2026-01-01T10:11:12.000Z", "content": "All\n12 pass."});
        let line = event(Screen::PLAIN, &mut names, &said).unwrap();
        let below = " ".repeat(super::LEAD_COLUMNS);
        assert_eq!(line, format!("10:11:12       7  Coder         All\n{below}12 pass.\n"));
        let patch = json!({"type": "node.patch", "seq": 1, "ts": "", "patch": {}});
        assert_eq!(event(Screen::PLAIN, &mut names, &patch), None);
    }

    #[test]
    fn what_is_to_be_approved_is_there_to_its_last_word() {
        let command = format!("{} && rm  -rf ~/work", "git fetch ".repeat(20));
        let asked = json!({"type": "approval.requested", "seq": 9, "nodeId": "ab", "ts": "",
            "approvalId": "0199", "tool": {"name": "shell", "args": {"command": command}}});
        let screen = Screen::of_stdout(crate::screen::Color::Never);
        let line = event(screen, &mut NodeNames::default(), &asked).unwrap();
        let below = format!("\n{}", " ".repeat(super::LEAD_COLUMNS));
        let joined = line.replace(&below, "");
        assert!(
            joined.contains(&command) && joined.ends_with("muster run approve 0199\n"),
            "{line}"
        );
        let two = json!({"name": "shell", "args": {"command": "ls", "cwd": "/"}});
        assert_eq!(super::whole_call(&two), r#"shell {"command":"ls","cwd":"/"}"#);
    }

    #[test]
    fn a_node_is_called_by_its_name_from_the_event_on_that_tells_it() {
        let mut names = NodeNames::default();
        let made = json!({"type": "node.patch", "nodeId": "ab", "patch": {"label": "Tester"}});
        assert_eq!(event(Screen::PLAIN, &mut names, &made), None);
        let nil = "00000000-0000-0000-0000-000000000000";
        let sent = json!({"type": "handoff.sent", "seq": 9, "nodeId": "ab",
            "ts": "2026-01-01T10:11:12.000Z",
            "envelope": {"fromNodeId": nil, "payload": {"message": "it fails"}}});
        let line = event(Screen::PLAIN, &mut names, &sent).unwrap();
        assert_eq!(line, "10:11:12       9  muster        → Tester: it fails\n");
    }
}
