//! Events and approvals of a run as lines for people.

use muster_core::text;
use serde_json::Value;

use crate::screen::{Screen, Tone, cut};

/// Columns before the text: time, number, type.
const LEAD_COLUMNS: usize = 46;
/// Columns of a type.
const KIND_COLUMNS: usize = 22;

/// The line of an event; nothing for those that only machines need.
pub(super) fn event(screen: Screen, event: &Value) -> Option<String> {
    let kind = event["type"].as_str()?;
    let (tone, words) = told(kind, event)?;
    let time = event["ts"].as_str().unwrap_or_default();
    // The clock without the date.
    let clock = time.get(11..19).unwrap_or(time);
    let seq = event["seq"].as_u64().unwrap_or(0);
    let lead = screen.paint(Tone::Faint, &format!("{clock}  {seq:>6}"));
    let kind = screen.paint(tone, &format!("{kind:<KIND_COLUMNS$}"));
    let room = screen.columns().saturating_sub(LEAD_COLUMNS).max(20);
    Some(format!("{lead}  {kind}  {}\n", cut(&plain(&words), room)))
}

/// One line without control characters, so that no text of an agent moves the cursor.
fn plain(words: &str) -> String {
    let shown = |character: char| if character.is_control() { ' ' } else { character };
    text::join_words(&words.chars().map(shown).collect::<String>(), ' ')
}

fn told(kind: &str, event: &Value) -> Option<(Tone, String)> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let node = || word(&event["nodeId"]).chars().take(8).collect::<String>();
    Some(match kind {
        "run.phase" => {
            (Tone::Strong, format!("{} ({})", word(&event["phase"]), word(&event["reason"])))
        }
        "run.mode" => {
            (Tone::Strong, format!("{} {}", word(&event["mode"]), word(&event["globalMode"])))
        }
        "run.stalled" => {
            (Tone::Bad, format!("goes in circles: {}", word(&event["evidence"]["rule"])))
        }
        "run.budget" => {
            (Tone::Bad, format!("{} {}", word(&event["metric"]), word(&event["level"])))
        }
        "node.progress" => {
            let tone = if event["status"] == "failed" { Tone::Bad } else { Tone::Faint };
            (tone, format!("{} {}: {}", node(), word(&event["status"]), word(&event["summary"])))
        }
        "node.violation" => (Tone::Bad, format!("{} {}", node(), event["paths"])),
        "message.user" => {
            (Tone::Strong, format!("{} ← {}", node(), word(&event["message"]["content"])))
        }
        "message.assistant.final" => {
            (Tone::Strong, format!("{} → {}", node(), word(&event["content"])))
        }
        "handoff.sent" => {
            let from: String = word(&event["envelope"]["fromNodeId"]).chars().take(8).collect();
            let message = word(&event["envelope"]["payload"]["message"]);
            (Tone::Active, format!("{from} → {}: {message}", node()))
        }
        "tool.started" => (
            Tone::Active,
            format!("{} {} {}", node(), word(&event["tool"]["name"]), event["tool"]["args"]),
        ),
        "tool.completed" if event["result"]["ok"] == false => {
            (Tone::Bad, format!("{} {}", node(), word(&event["error"]["message"])))
        }
        "approval.requested" => (Tone::Bad, approval(event)),
        "approval.resolved" => {
            (Tone::Good, format!("{} {}", node(), word(&event["resolution"]["status"])))
        }
        "artifact.created" if event["artifact"]["kind"] == "diff" => {
            (Tone::Good, format!("{} {}", node(), word(&event["artifact"]["metadata"]["summary"])))
        }
        "turn.status" if event["status"] == "turn.failed" => {
            (Tone::Bad, format!("{} {} {}", node(), word(&event["reason"]), word(&event["detail"])))
        }
        "run.patch" => (Tone::Strong, status(&event["patch"])?),
        _ => return None,
    })
}

/// A run's new status, with its reason.
fn status(patch: &Value) -> Option<String> {
    let status = patch["status"].as_str()?;
    let message = patch["statusReason"]["message"].as_str();
    Some(message.map_or_else(|| status.to_owned(), |message| format!("{status}: {message}")))
}

/// What is to be approved, with the command that does it.
pub(super) fn approval(approval: &Value) -> String {
    let id = approval["approvalId"].as_str().unwrap_or_default();
    let tool = &approval["tool"];
    let name = tool["name"].as_str().unwrap_or_default();
    format!("{name} {}: muster run approve {id}\n", tool["args"])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::event;
    use crate::screen::Screen;

    #[test]
    fn events_become_lines_and_patches_of_machines_do_not() {
        let said = json!({"type": "message.assistant.final", "seq": 7, "nodeId": "0123456789",
            "ts": "2026-01-01T10:11:12.000Z", "content": "All\n12 \u{1b}[2J pass."});
        let line = event(Screen::PLAIN, &said).unwrap();
        assert_eq!(
            line,
            "10:11:12       7  message.assistant.final  01234567 → All 12 [2J pass.\n"
        );
        let patch = json!({"type": "node.patch", "seq": 1, "ts": "", "patch": {}});
        assert_eq!(event(Screen::PLAIN, &patch), None);
    }
}
